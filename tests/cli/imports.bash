# SPDX-License-Identifier: GPL-2.0-or-later
# Experiments of the mock workload with known numbers, of class native, made by importing: the
# agent runs once for each boot; its hello is rewritten to be another boot of another kernel.

# boots RELEASE ID [N=SCRIPT]...: the streams of boots; N is its place in time. What this machine adds
# (facts, stolen time) is left out, so that only the script speaks.
boots()
{
	local release=$1 id=$2 boot
	shift 2
	for boot; do
		echo "{\"k\":\"boot-number\",\"n\":${boot%%=*}}"
		KDELTA_MOCK=${boot#*=} kdelta-agent run -w "${SPEC:-mock:place=same}" || true
	done | jq -c --arg release "$release" --arg id "$id" '
		foreach (., inputs) as $r ({ n: 0 };
			if $r.k == "boot-number" then { n: $r.n } else .out = $r end;
			if $r.k == "boot-number" or $r.k == "fact" then empty else .n as $n | .out
			| if .k == "hello" then .release = $release | .version = "#1" | .cmdline = "quiet"
				| .build_id = $id
				| .boot_id = "00000000-0000-4000-8000-\($id[0:8])\(10000 + $n | tostring[1:])"
				| .time_ns = 1767225600000000000 + $n * 60000000000
			  elif .k == "usage" then .values |= { n, clock_resolution_ns, elapsed_ns }
			  elif .k == "invocation" then del(.time_ns) | .class = "native"
			  else . end end)'
}

A_ID=$(printf 'a1%.0s' {1..20})
B_ID=$(printf 'b2%.0s' {1..20})

# a_boots EXPERIMENT [N=SCRIPT]..., b_boots ...: kernels "old" and "new".
a_boots()
{
	boots 6.1.0-old "$A_ID" "${@:2}" | kdelta import -e "$1" -l old - >/dev/null 2>&1
}

b_boots()
{
	boots 6.1.0-new "$B_ID" "${@:2}" | kdelta import -e "$1" -l new - >/dev/null 2>&1
}

# interleaved EXPERIMENT "A..." "B...": four or more boots each, in the order AB BA AB BA; a word of
# A and B is a script, or a bare number: that time.
interleaved()
{
	local x=$1 i=0 v a=() b=()
	for v in $2; do
		[[ $v = *=* ]] || v=time=$v
		a+=("$((2 * i + i % 2))=${v//;/ }")
		i=$((i + 1))
	done
	i=0
	for v in $3; do
		[[ $v = *=* ]] || v=time=$v
		b+=("$((2 * i + 1 - i % 2))=${v//;/ }")
		i=$((i + 1))
	done
	a_boots "$x" "${a[@]}"
	b_boots "$x" "${b[@]}"
}

# row EXPERIMENT METRIC FILTER [OPTION]...
row()
{
	kdelta compare -e "$1" --format json "${@:4}" |
		jq -rc ".rows[] | select(.metric == \"$2\") | $3"
}

# word EXPERIMENT [METRIC]: verdict, whether beyond the margin, small real shift
word()
{
	row "$1" "${2:-time}" '.pairs[0] | [.verdict // "none", .beyond_margin, .small_real_shift] | map(tostring) | join(" ")' "${@:3}"
}
