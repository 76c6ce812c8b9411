# SPDX-License-Identifier: GPL-2.0-or-later
# Input: lines "OURS THEIRS", figures taken in turn. Prints the ratio of the medians with a 95 %
# interval (percentile bootstrap, fixed seed), and exits with 0 if the interval meets 1 +- 7 % or
# lies below it: ours is faster.
function median(a, n,    i, j, v)
{
	for (i = 2; i <= n; i++) {
		v = a[i]
		for (j = i - 1; j >= 1 && a[j] > v; j--)
			a[j + 1] = a[j]
		a[j + 1] = v
	}
	return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

$1 > 0 && $2 > 0 && NF == 2 {
	n++
	ours[n] = $1
	theirs[n] = $2
	next
}

{
	print "not a pair of figures: " $0
	broken = 1
	exit 1
}

END {
	if (broken || n < 5)
		exit 1
	srand(1)
	rounds = 2000
	for (r = 1; r <= rounds; r++) {
		for (i = 1; i <= n; i++) {
			a[i] = ours[1 + int(rand() * n)]
			b[i] = theirs[1 + int(rand() * n)]
		}
		ratio[r] = median(a, n) / median(b, n)
	}
	median(ratio, rounds)
	lo = ratio[int(rounds * 0.025) + 1]
	hi = ratio[int(rounds * 0.975)]
	ours_median = median(ours, n)
	theirs_median = median(theirs, n)
	printf "ours %.1f ns, theirs %.1f ns, ratio %.4f [%.4f, %.4f], n = %d\n", ours_median,
		theirs_median, ours_median / theirs_median, lo, hi, n
	if (hi < 0.93)
		print "ours is faster"
	exit lo > 1.07
}
