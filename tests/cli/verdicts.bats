#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# From boots with known numbers to words: kdelta compare on native results of the mock workload.
load common
load imports

setup()
{
	cd "$BATS_TEST_TMPDIR"
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
}

# The mark that stands behind the interval of "new" in the text's table.
mark()
{
	kdelta compare -e "$1" | sed -nE 's/^ +new .*\] +[<.0-9]+ ([-+=?].*)$/\1/p'
}

# Exchanging base and new exchanges better and worse and turns the ratio over, and nothing else.
mirrors()
{
	local there back
	there=$(kdelta compare -e "$1" old new --format json | jq -c '.rows[0].pairs[0]')
	back=$(kdelta compare -e "$1" new old --format json | jq -c '.rows[0].pairs[0]')
	jq -ne --argjson t "$there" --argjson b "$back" '
		def near($x; $y): ($x - $y) | . < 1e-6 and . > -1e-6;
		{ worse: "better", better: "worse" } as $other
		| ($other[$t.verdict] // $t.verdict) == $b.verdict
		  and near($t.ratio * $b.ratio; 1) and near($t.ci[0] * $b.ci[1]; 1) and near($t.p; $b.p)
		  and $t.beyond_margin == $b.beyond_margin and $t.small_real_shift == $b.small_real_shift
		  and $t.boots_needed == $b.boots_needed'
}

@test "worse by more than the margin" {
	interleaved x "100 101 99 100" "110 111 109 110"
	[ "$(word x)" = "worse true false" ]
	[ "$(mark x)" = - ]
	mirrors x
	run -0 kdelta compare -e x
	prints '1 worse (1 by more than 2 %), 0 better' 'Holm on 1 headline'
}

@test "better by more than the margin" {
	interleaved x "100 101 99 100" "90 91 89 90"
	[ "$(word x)" = "better true false" ]
	[ "$(mark x)" = + ]
	mirrors x
}

@test "worse and better, not surely by more than the margin" {
	interleaved x "100.5 99.5 100.5 99.5" "103 102 103 102"
	[ "$(word x)" = "worse false false" ]
	mirrors x
	interleaved y "103 102 103 102" "100.5 99.5 100.5 99.5"
	[ "$(word y)" = "better false false" ]
}

@test "more is better where the metric says so" {
	interleaved x "rate=100 rate=101 rate=99 rate=100" "rate=110 rate=111 rate=109 rate=110"
	[ "$(word x rate)" = "better true false" ]
	run -0 kdelta compare -e x
	prints 'bigger is better' '1 better (1 by more than 2 %)'
}

@test "no change within the margin" {
	interleaved x "100.5 99.5 100.5 99.5" "100.5 99.5 100.4 99.5"
	[ "$(word x)" = "no change false false" ]
	[ "$(mark x)" = = ]
	mirrors x
}

@test "a small real shift is no change within the margin, and said" {
	interleaved x "100.1 99.9 100.1 99.9" "101.1 100.9 101.1 100.9"
	[ "$(word x)" = "no change false true" ]
	mirrors x
	[ "$(mark x)" = '=~' ]
}

@test "the margin is the user's: the same boots, three words" {
	interleaved x "100.5 99.5 100.5 99.5" "103 102 103 102"
	[ "$(word x time --margin 1%)" = "worse true false" ]
	[ "$(word x time --margin 2%)" = "worse false false" ]
	[ "$(word x time --margin 5%)" = "no change false true" ]
	[ "$(word x time --margin 0)" = "worse true false" ]
}

@test "can't tell yet, with the boots that could" {
	interleaved x "101.2 98.8 101.2 98.8" "102.2 99.8 102.2 99.8"
	[ "$(word x)" = "can't tell false false" ]
	needed=$(row x time '.pairs[0].boots_needed')
	[ "$needed" -gt 4 ] && [ "$needed" -le 20 ]
	[ "$(mark x)" = "? $needed" ]
	mirrors x
}

@test "can't tell within the budget" {
	interleaved x "110 90 110 90" "112 92 112 92"
	[ "$(word x)" = "can't tell false false" ]
	[ "$(row x time '.pairs[0] | [.boots_needed, .over_budget]')" = '[null,true]' ]
	[[ $(mark x) = "? >20" ]]
}

@test "one kernel under two labels: A/A, no word however different" {
	boots 6.1.0 "$A_ID" {0,2,4,6}=time=100 | kdelta import -e x -l one -
	boots 6.1.0 "$A_ID" {1,3,5,7}=time=110 | kdelta import -e x -l two -
	run -0 kdelta compare -e x
	[[ ${lines[0]} = "A/A: one and two are one kernel."* ]]
	[ "$(row x time '.pairs[0] | [.verdict, .blocked_by]')" = '[null,["same kernel"]]' ]
	[ "$(row x time '.pairs[0].ratio')" = 1.1 ]
	run -0 kdelta compare -e x --fail-on worse
}

@test "one boot each: no word, no interval, and why" {
	a_boots x 0=time=100,101,102
	b_boots x 1=time=150,151,152
	[ "$(row x time '.pairs[0] | [.verdict, .ci, .p, .blocked_by]')" = '[null,null,null,["n=1"]]' ]
	run -0 kdelta compare -e x
	prints "one boot each: the kernel's effect cannot be told from the boot's" 'n=1' 'no verdict'
	[[ $output != *nan* ]]
}

@test "many samples and invocations of one boot are still one boot" {
	SPEC=mock:place=same,samples=50
	a_boots x 0=time=100,101,102
	b_boots x 1=time=150,151,152
	[ "$(row x time '.values.old | [.boots, .samples]')" = '[1,50]' ]
	[ "$(row x time '.pairs[0].verdict')" = null ]
}

@test "AAAA BBBB is flagged as not interleaved, AB BA is not" {
	a_boots x 0=time=100 1=time=101 2=time=99 3=time=100
	b_boots x 4=time=110 5=time=111 6=time=109 7=time=110
	[ "$(row x time '.pairs[0].flags')" = '["not interleaved"]' ]
	run -0 kdelta compare -e x
	prints 'not interleaved'
	interleaved y "100 101 99 100" "110 111 109 110"
	[ "$(row y time '.pairs[0].flags')" = '[]' ]
}

@test "drift is flagged, and taken out" {
	interleaved x "100 103 104 107" "111 112 115.5 116.2"
	[ "$(row x time '.pairs[0].flags')" = '["drift"]' ]
	[ "$(word x)" = "worse true false" ]
	[ "$(row x time '.pairs[0] | .drift > .009 and .drift < .01 and .drift_p < .05')" = true ]
	# Raw means differ by 9.83 %; the interval is narrower than the drift alone would leave it.
	[ "$(row x time '.pairs[0] | .ci[1] - .ci[0] < .01')" = true ]
	run -0 kdelta compare -e x
	prints 'drift: a trend over the boots' '% a boot'
}

@test "pooled experiments are flagged as not interleaved" {
	a_boots x 0=time=100 3=time=101
	b_boots x 1=time=110 2=time=111
	a_boots y 10=time=100 13=time=101
	b_boots y 11=time=110 12=time=111
	run -0 kdelta compare -e x -e y --format json
	jq -e '.kernels | map(.boots) == [4, 4]' <<<"$output"
	jq -e '.rows[0].pairs[0].flags | index("not interleaved")' <<<"$output"
}

@test "a metric without a direction has a ratio and no word" {
	interleaved x "temp=40 temp=41 temp=40 temp=41" "temp=50 temp=51 temp=50 temp=52"
	[ "$(row x temp '[.better, .pairs[0].verdict]')" = '["neither",null]' ]
	[ "$(row x temp '.pairs[0].ratio > 1.2')" = true ]
	run -0 kdelta compare -e x
	prints 'neither direction is better' 'no verdict on 1 result'
}

@test "equal counts are an exact difference, without p" {
	interleaved x "faults=3 faults=3 faults=3 faults=3" "faults=5 faults=5 faults=5 faults=5"
	[ "$(row x faults '.pairs[0] | [.exact, .p, .verdict]')" = '[true,null,"worse"]' ]
	run -0 kdelta compare -e x
	prints '1.667 exact'
	interleaved y "faults=3 faults=3 faults=3 faults=3" "faults=3 faults=3 faults=3 faults=3"
	[ "$(row y faults '.pairs[0] | [.exact, .ratio, .verdict]')" = '[true,1,"no change"]' ]
}

@test "a value of 0 is a value: compared by difference" {
	interleaved x "faults=0 faults=0 faults=0 faults=0" "faults=2 faults=2 faults=2 faults=2"
	[ "$(row x faults '[.values.old.mean, .pairs[0].ratio, .pairs[0].diff]')" = '[0,null,2]' ]
}

@test "what failed is counted and never a number" {
	interleaved x "100 101 99 100" "110 time=fail time=999,crash 110"
	[ "$(row x time '[.values.new.boots, .values.new.mean, .values.new.samples]')" = '[2,110,6]' ]
	[ "$(row x time '.pairs[0].flags')" = '["failed"]' ]
	run -0 kdelta compare -e x --format json
	jq -e '[.failures[] | .reason] | sort | .[1] == "scripted failure" and (.[0] | contains("Abort"))' <<<"$output"
	jq -e '.failures | all(.kernel == "new" and .of == 4 and .count == 1)' <<<"$output"
	jq -e '.failure_tests[0] | [.base_failed, .base_good, .new_failed, .new_good] == [0, 4, 2, 2]' <<<"$output"
	jq -e '.failure_tests[0].p > .42 and .failure_tests[0].p < .43' <<<"$output"
	run -0 kdelta compare -e x
	prints 'scripted failure' 'failed 0 of 4 in old, 2 of 4 in new' 'Fisher'
	[[ $output != *999* ]]
}

@test "a value that is not a number, a party that dies: failed, with the reason" {
	interleaved x "100 101 99 100" "110 time=nan time=partydie 110"
	[ "$(row x time '.values.new | [.boots, .mean]')" = '[2,110]' ]
	run -0 kdelta compare -e x --format json
	jq -e '.failures | length == 2 and all(.reason | length > 5)' <<<"$output"
	! grep -qi '\bnan\b' <<<"$(jq 'del(.failures)' <<<"$output")"
}

@test "a skip is no failure" {
	interleaved x "100 101 99 100" "time=skip time=skip time=skip time=skip"
	run -0 kdelta compare -e x --format json
	jq -e '.failures == [] and .skips[0].reason == "scripted skip" and .skips[0].count == 4' <<<"$output"
	jq -e '.rows[0].values.new == null and .rows[0].pairs == []' <<<"$output"
}

@test "missing on one side is null, - and an empty field, never 0" {
	interleaved x "time=100;rate=5 time=101;rate=5 time=100;rate=5 time=101;rate=5" "100 101 100 101"
	[ "$(row x rate '[.values.new, .pairs]')" = '[null,[]]' ]
	run -0 kdelta compare -e x
	grep -E '^ +new +- +- +-$' <<<"$output"
	prints 'only in old: mock:samples=3,place=same rate'
	kdelta compare -e x --format csv | grep -qE ',rate,.*,old,4,5,0,,0,,,,,,,,'
	[ "$(kdelta compare -e x --format json | jq -r .summary.unmatched)" = 1 ]
}

@test "other parameters are another row, never pooled" {
	SPEC=mock:place=same,samples=3
	a_boots x 0=time=100 3=time=100
	SPEC=mock:place=same,samples=4
	b_boots x 1=time=100 2=time=100
	run -0 kdelta compare -e x --format json
	jq -e '.rows | length == 2 and all(.pairs == [])' <<<"$output"
	run -1 kdelta compare -e x --fail-on worse
}

@test "another workload version, agent, class or context is never compared" {
	a_boots x 0=time=100 3=time=100
	for change in '.workload_version = 2' '.class = "kvm"' '.context = {"agent": "other"}'; do
		export KDELTA_STORE=$BATS_TEST_TMPDIR/${change//[^a-z]/}.db
		a_boots x 0=time=100 3=time=100
		boots 6.1.0-new "$B_ID" 1=time=100 2=time=100 |
			jq -c "if .k == \"invocation\" then $change else . end" | kdelta import -e x -l new -
		run -0 kdelta compare -e x --format json
		jq -e '.rows | length == 2 and all(.pairs == [])' <<<"$output"
		run -0 kdelta compare -e x
		prints 'Not compared'
	done
}

@test "percentiles are those of a boot's whole histogram" {
	interleaved x "hist=10*98,5000*2 hist=10*98,5000*2 hist=10*98,5000*2 hist=10*98,5000*2" \
		"hist=10*98,9000*2 hist=10*98,9000*2 hist=10*98,9000*2 hist=10*98,9000*2"
	[ "$(row x p50 '.values.old.mean == 10 and .values.new.mean == 10')" = true ]
	# Within the histogram's resolution.
	[ "$(row x p99 '.pairs[0].ratio > 1.78 and .pairs[0].ratio < 1.82')" = true ]
}

@test "many metrics: chance alone is said, and corrected for" {
	interleaved x "time=100;rate=50;faults=3 time=101;rate=51;faults=4 time=99;rate=49;faults=3 time=100;rate=50;faults=3" \
		"time=100;rate=50;faults=3 time=101;rate=51;faults=3 time=99;rate=49;faults=4 time=100;rate=50;faults=3"
	run -0 kdelta compare -e x
	prints '3 tests at 5 %, chance alone would have shown 0.15 differences' 'Holm on 1 headline, Benjamini-Hochberg on 2 others'
}

@test "--fail-on: 1 for its words, 0 else" {
	interleaved worse "100 101 99 100" "110 111 109 110"
	interleaved better "100 101 99 100" "90 91 89 90"
	interleaved dunno "110 90 110 90" "112 92 112 92"
	run -1 kdelta compare -e worse --fail-on worse
	prints '1 worse'
	run -0 kdelta compare -e worse --fail-on cant-tell
	run -0 kdelta compare -e better --fail-on worse,cant-tell
	run -0 kdelta compare -e dunno --fail-on worse
	run -1 kdelta compare -e dunno --fail-on cant-tell
	run -1 kdelta compare -e dunno --fail-on worse,cant-tell
	run -0 kdelta compare -e worse
	run -2 --separate-stderr kdelta compare -e worse --fail-on better
	says --fail-on better worse cant-tell
}

@test "--fail-on: what was not compared has not passed" {
	a_boots x 0=time=100
	b_boots x 1=time=100
	run -1 kdelta compare -e x --fail-on worse
	a_boots y 0=time=100 3=time=100
	b_boots y 1=time=fail 2=time=fail
	run -1 kdelta compare -e y --fail-on worse
}

@test "exit codes: 2 before 1 before 3" {
	interleaved worse "100 101 99 100" "110 111 109 110"
	run -2 kdelta compare -e worse --fail-on worse -m nosuch
	run -2 kdelta compare -e worse --fail-on worse --margin 300%
	if [ -e /dev/full ]; then
		run -1 --separate-stderr bash -c 'kdelta compare -e worse --fail-on worse >/dev/full'
		says stdout
		run -3 --separate-stderr bash -c 'kdelta compare -e worse >/dev/full'
		says stdout
	fi
}

@test "the whole of it, as text, md and csv" {
	interleaved x "time=100;rate=50;temp=40;faults=3 time=101;rate=51;temp=41;faults=3 time=99;rate=49;temp=40;faults=3 time=100;rate=50;temp=41;faults=3" \
		"time=110;rate=50.4;temp=50;faults=5 time=111;rate=51;temp=51;faults=5 time=fail time=110;rate=50.1;temp=52;faults=5"
	for format in text md csv; do
		run -0 --separate-stderr kdelta compare --format "$format"
		[ -z "$stderr" ]
		output=$(grep -v '^Experiment ' <<<"$output")
		same_as_golden "cli/compare.${format/text/txt}"
	done
}

@test "LABEL~1 is the label's previous experiment" {
	interleaved x "100 100 100 100" "110 110 110 110"
	a_boots y 20=time=100 21=time=100
	boots 6.1.0-new "$B_ID" 22=time=120 23=time=120 | kdelta import -e y -l new -
	run -0 kdelta compare new~1 new --format json
	jq -e '[.kernels[].label] == ["new~1", "new"]' <<<"$output"
	jq -e '.rows[0].values | [.["new~1"].mean, .new.mean] == [110, 120]' <<<"$output"
}

@test "-w, -m and --all choose rows" {
	interleaved x "time=100;rate=5 time=101;rate=5 time=100;rate=5 time=101;rate=5" \
		"time=100;rate=5 time=101;rate=5 time=100;rate=5 time=101;rate=5"
	[ "$(kdelta compare -e x --format json | jq '.rows | length')" = 2 ]
	[ "$(kdelta compare -e x -m rate --format json | jq -r '.rows[].metric')" = rate ]
	[ "$(kdelta compare -e x -w mock:place=same --format json | jq '.rows | length')" = 2 ]
}

@test "numbers do not depend on the language, the colour or the terminal" {
	interleaved x "100.5 99.5 100.5 99.5" "103 102 103 102"
	kdelta compare >plain.out
	LC_ALL=C NO_COLOR=1 TERM=dumb kdelta compare | diff plain.out -
	! grep -q $'\e' plain.out
}
