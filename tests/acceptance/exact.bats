#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Exact mode at length: the digits repeat, harmless changes are called nothing, one instruction is
# found, and what was seen between Debian's kernels is still there (exact-records.tsv).
# About 25 minutes on two cores; 5 GB in the temporary folder.

bats_require_minimum_version 1.5.0

all=(-w getppid -w read -w stat -w open_close -w pipe:place=same -w unix:place=same -w udp:place=same
	-w tcp:place=same -w ctx:procs=2,size=0,place=same -w ctx:procs=8,size=16KiB,place=same
	-w ring:place=same -w fork -w exec -w sh -w pagefault:kind=anon -w poll:call=poll,handles=10
	-w thread)
release='^linux-image-6[.]1[.]0-[0-9]+-cloud-amd64$'

setup_file()
{
	export PATH=${KDELTA_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db KDELTA_CACHE=$BATS_FILE_TMPDIR/cache
	mapfile -t offered < <(apt-cache search --names-only "$release" |
		sed 's/^linux-image-\([^ ]*\) .*/\1/' | sort -V)
	export OLDEST=${offered[0]} NEWEST=${offered[-1]}
	NEWEST_612=$(apt-cache search --names-only '^linux-image-6[.]12[.][0-9]+[+]deb12-cloud-amd64$' |
		sed 's/^linux-image-\([^ ]*\) .*/\1/' | sort -V | tail -n 1)
	export NEWEST_612
}

# What keeps the host busy ends with its test, however that ends.
teardown()
{
	[ ! -f "$BATS_FILE_TMPDIR/loads" ] || xargs -r kill <"$BATS_FILE_TMPDIR/loads" 2>/dev/null || true
	rm -f "$BATS_FILE_TMPDIR/loads"
}

# counted EXPERIMENT: all windows, profiles and perturbations by workload, without ids, sorted.
counted()
{
	kdelta export -e "$1" | jq -cS -n '
		[foreach inputs as $r ({};
			if $r.k == "invocation" then {w: $r.workload, p: $r.params} else . end; [., $r])
		| select(.[1].k | IN("window", "profile"))
			// select(.[1].k == "fact" and .[1].name == "perturbation" and .[1].inv)
		| [.[0], (.[1] | del(.inv))]] | sort | .[]'
}

# words EXPERIMENT...: how often each word stands there, of all metrics.
words()
{
	kdelta compare -e "$1" --all --format json | jq -r '.rows[].pairs[].verdict' | sort | uniq -c | xargs
}

@test "17 workloads, one kernel twice: no digit differs; nor on a busy host, in another order" {
	kdelta vm --exact --perturb 2 -e idle "${all[@]}" "a=debian:$NEWEST" "b=debian:$NEWEST" >/dev/null
	counted idle | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c >"$BATS_FILE_TMPDIR/times"
	# 17 workloads, 2 perturbations, 3 records of each: all twice.
	[ "$(xargs <"$BATS_FILE_TMPDIR/times")" = "102 2" ]
	[ -z "$(kdelta export -e idle | jq -c 'select(.k == "fail" or .k == "skip")')" ]
	back=()
	for ((i = ${#all[@]} - 2; i >= 0; i -= 2)); do
		back+=("${all[i]}" "${all[i + 1]}")
	done
	for _ in 1 2; do
		(exec 3>&- && while :; do :; done) &
		echo $! >>"$BATS_FILE_TMPDIR/loads"
	done
	kdelta vm --exact --perturb 2 -e busy "${back[@]}" "c=debian:$NEWEST" >/dev/null
	teardown
	diff <(counted idle | sort -u) <(counted busy | sort -u)
}

@test "14 workloads, 8 perturbations, two kernels: where the time goes" {
	# Seconds are for reading: how many cores are free is not known here.
	kdelta vm --exact --timing "${all[@]:0:28}" "a=debian:$OLDEST" "b=debian:$NEWEST" 2>&1 >/dev/null |
		sed 's/^/# /' >&3
	kdelta vm --exact --timing --perturb 1 "${all[@]:0:28}" "a=debian:$OLDEST" "b=debian:$NEWEST" 2>&1 >/dev/null |
		sed 's/^/# /' >&3
}

@test "one kernel, other perturbations: no row is called more or fewer" {
	kdelta vm --exact -e seed1 "${all[@]}" "s1=debian:$NEWEST" >/dev/null
	kdelta vm --exact -e seed2 --perturb-seed 2 "${all[@]}" "s2=debian:$NEWEST" >/dev/null
	kdelta compare -e seed1 -e seed2 --all --format json >"$BATS_FILE_TMPDIR/null"
	jq -r '.rows[].pairs[].verdict' "$BATS_FILE_TMPDIR/null" | sort | uniq -c | sed 's/^/# /' >&3
	jq -e '[.rows[].pairs[].verdict] | length > 30 and all(. != "more" and . != "fewer")' \
		"$BATS_FILE_TMPDIR/null"
}

# A tiny kernel and four that differ from it by one thing each.
tiny_kernels()
{
	mkdir "$BATS_FILE_TMPDIR/linux"
	cd "$BATS_FILE_TMPDIR/linux"
	tar -xf "$(printf '%s\n' /usr/src/linux-source-*.tar.xz | sort -V | tail -n 1)" --strip-components=1
	git init -q -b base .
	git config user.name acceptance
	git config user.email acceptance@example.org
	git config gc.auto 0
	git add -A -f .
	git commit -q -m base
	for n in 1 7; do
		git checkout -q -b "plus$n" base
		nops=$(printf 'nop; %.0s' $(seq "$n"))
		sed -i '/^SYSCALL_DEFINE0(getppid)/,/^}/s/rcu_read_lock();/asm volatile("'"$nops"'");\n\t&/' kernel/sys.c
		git commit -q -a -m "$n instructions in getppid"
	done
	git checkout -q -b call base
	sed -i '/^pipe_write(/,/^}/s/\tbool wake_next_writer = false;/&\n\n\t(void)is_vmalloc_addr(iocb);/' fs/pipe.c
	git commit -q -a -m 'a call in pipe_write'
	# The same functions, linked in another order.
	git checkout -q -b relink base
	for file in kernel/Makefile fs/Makefile; do
		awk '/^obj-y[ \t]*:?=/ && !done { collect = 1; done = 1 }
		collect { line = $0; more = sub(/\\$/, "", line); sub(/^obj-y[ \t]*:?=/, "", line)
			n = split(line, o, /[ \t]+/)
			for (i = 1; i <= n; i++) if (o[i] != "") list = o[i] " " list
			if (!more) { print "obj-y := " list; collect = 0 }
			next }
		{ print }' "$file" >"$file.new"
		mv "$file.new" "$file"
	done
	git commit -q -a -m 'another order of functions'
	git checkout -q base
}

# verdict KERNEL WORKLOAD [METRIC]: "+1.000 more" against base.
verdict()
{
	kdelta compare -e tiny --format json | jq -r --arg k "$1" --arg w "$2" --arg m "${3-instructions}" '
		.rows[] | select(.workload == $w and .metric == $m) | .pairs[] | select(.new == $k)
		| "\(.diff * 1000 | round / 1000) \(.verdict)"'
}

# moved KERNEL WORKLOAD: the functions that are really called more or fewer: "SYMBOL DIFFERENCE".
moved()
{
	kdelta profile base "$1" -e tiny -w "$2" --format json | jq -r '
		.profiles[].symbols[] | select(.word == "more" or .word == "fewer")
		| "\(.symbol) \(.difference * 100 | round / 100)"' | sort
}

@test "one instruction, seven, a call, another order of functions: found, and nothing else" {
	tiny_kernels
	kdelta vm --exact -e tiny -w getppid -w pipe:place=same git:base git:plus1 git:plus7 git:call git:relink \
		>"$BATS_FILE_TMPDIR/tiny"
	sed -n '/^syscall/,/^value/s/^/# /p' "$BATS_FILE_TMPDIR/tiny" >&3
	[ "$(verdict plus1 getppid)" = '1 more' ]
	[ "$(verdict plus7 getppid)" = '7 more' ]
	[ "$(moved plus1 getppid)" = '__x64_sys_getppid 1' ]
	[ "$(moved plus7 getppid)" = '__x64_sys_getppid 7' ]
	for other in plus1 plus7 relink; do
		[[ $(verdict $other pipe) = *' same' || $(verdict $other pipe) = *' within perturbation' ]]
		[ -z "$(moved $other pipe)" ]
	done
	[[ $(verdict relink getppid) = '0 '* ]]
	# Two writes a round trip: two calls of the function that was not called before.
	[[ $(verdict call pipe) = *' more' ]]
	kdelta profile base call -e tiny -w pipe --format json | jq -e '
		.profiles[].symbols[] | select(.symbol == "is_vmalloc_addr")
		| (.base == null) and (.new.calls > 1.99 and .new.calls < 2.01)'
}

@test "the oldest and the newest 6.1 on offer: what was seen before" {
	kdelta vm --exact -e debian -w getppid -w pipe:place=same "A=debian:$OLDEST" "B=debian:$NEWEST" >/dev/null
	version() { apt-cache policy "linux-image-$1" | awk '/Candidate:/ { print $2 }'; }
	qemu=$(kdelta export -e debian | jq -r 'select(.k == "invocation") | .context.qemu' | head -n 1 | cut -d' ' -f1)
	cpu=$(kdelta export -e debian | jq -r 'select(.k == "invocation") | .context.cpu' | head -n 1)
	key="$(version "$OLDEST")	$(version "$NEWEST")	$qemu	$cpu"
	{
		kdelta compare -e debian --format json | jq -r '.rows[] | select(.metric == "instructions")
			| .workload as $w | .pairs[] | "\($w)\tinstructions\t\(.diff | round)\t\(.verdict)"'
		kdelta profile A B -e debian --format json | jq -r '.profiles[] | .workload as $w | .symbols[]
			| select(.word == "more" or .word == "fewer")
			| "\($w)\t\(.symbol)\t\(.difference * 10 | round / 10)\t\(.word)"' | sort
	} | sed "s/^/$key	/" >"$BATS_FILE_TMPDIR/seen"
	sed 's/^/# /' "$BATS_FILE_TMPDIR/seen" >&3
	grep -F "$key	" "$BATS_TEST_DIRNAME/exact-records.tsv" >"$BATS_FILE_TMPDIR/record" ||
		skip "no record of these packages, this QEMU and CPU: add the lines above to exact-records.tsv"
	diff "$BATS_FILE_TMPDIR/record" "$BATS_FILE_TMPDIR/seen"
}

@test "6.1 and 6.12: no self-test of crypto in any profile, modes are shown" {
	kdelta vm --exact -e new "${all[@]}" "A=debian:$NEWEST" "C=debian:$NEWEST_612" >"$BATS_FILE_TMPDIR/612"
	kdelta export -e new | jq -r 'select(.k == "profile") | .symbols[][0]' | sort -u >"$BATS_FILE_TMPDIR/symbols"
	[ "$(wc -l <"$BATS_FILE_TMPDIR/symbols")" -gt 500 ]
	run ! grep -E '^(vli_|mpihelp_|mpi_|ecc_|crypto_|alg_test|ecdsa_|rsa_)' "$BATS_FILE_TMPDIR/symbols"
	[ "$(kdelta export -e new | jq -r 'select(.k == "quiet") | .quiet' | sort -u)" = true ]
	grep -E '^(ipc|pipe|  *A |  *C |.*mode)' "$BATS_FILE_TMPDIR/612" | head -n 40 | sed 's/^/# /' >&3
}
