#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Our figures beside those of another tool, perf bench, on the same CPU, taken in turn.
# KDELTA_ACCEPTANCE_TURNS: how many times (default 21).

setup() {
	agent=${KDELTA_BUILD:-build}/kdelta-agent
	turns=${KDELTA_ACCEPTANCE_TURNS:-21}
	cd "$BATS_TEST_DIRNAME/../.."
	# The first CPU that we may use, not the first there is.
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
}

# Median of the samples of one invocation, in nanoseconds.
ours() {
	taskset -c "$cpu" "$agent" run -w "$1" --time 300ms |
		jq -s '[.[] | select(.k == "sample") | .ns / .ops] | sort | .[length / 2 | floor]'
}

theirs() {
	LC_ALL=C taskset -c "$cpu" perf bench "$@" |
		awk '$2 == "usecs/op" { printf "%.3f\n", $1 * 1000 }'
}

in_turn() {
	local ours=$1 i
	shift
	for ((i = 0; i < turns; i++)); do
		echo "$(ours "$ours") $(theirs "$@")"
	done >"$BATS_TEST_TMPDIR/pairs"
	cat "$BATS_TEST_TMPDIR/pairs"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/pairs")" = "$turns" ]
	awk -f tests/acceptance/ratio.awk "$BATS_TEST_TMPDIR/pairs" >"$BATS_TEST_TMPDIR/said"
	sed "s/^/# $BATS_TEST_DESCRIPTION: /" "$BATS_TEST_TMPDIR/said" >&3
}

@test "pipe on one CPU agrees with perf bench sched pipe" {
	in_turn pipe:place=same sched pipe -l 50000
}

@test "getppid agrees with perf bench syscall basic" {
	in_turn getppid syscall basic -l 3000000
}

@test "the harness itself costs at most 2 ns an operation" {
	ns=$(ours nop)
	echo "# nop: $ns ns" >&3
	awk -v ns="$ns" 'BEGIN { exit !(ns > 0 && ns <= 2) }'
}

@test "the judge of these tests can say no" {
	# A quarter slower, and the same.
	for i in 1 2 3 4 5 6 7 8 9; do echo "13$i 10$i"; done >"$BATS_TEST_TMPDIR/slower"
	run awk -f tests/acceptance/ratio.awk "$BATS_TEST_TMPDIR/slower"
	[ "$status" = 1 ]
	for i in 1 2 3 4 5 6 7 8 9; do echo "10$i 10$i"; done >"$BATS_TEST_TMPDIR/same"
	awk -f tests/acceptance/ratio.awk "$BATS_TEST_TMPDIR/same"
	echo "100" >>"$BATS_TEST_TMPDIR/same"
	run awk -f tests/acceptance/ratio.awk "$BATS_TEST_TMPDIR/same"
	[ "$status" = 1 ]
}
