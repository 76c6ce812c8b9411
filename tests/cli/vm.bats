#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta vm against the fake QEMU: what it plans, stores, and prints.
load common
load guests

setup_file()
{
	guests_here "$BATS_FILE_TMPDIR"
	fake_vm -e base --boots 4 --seed 7 \
		old=old,append=KDELTA_MOCK=time=100,101,99 \
		new=new,append=KDELTA_MOCK=time=110,111,109 >text.out 2>text.err
}

setup()
{
	cd "$BATS_FILE_TMPDIR"
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db
}

# A store of this test's own.
alone()
{
	guests_here "$BATS_TEST_TMPDIR"
}

@test "two kernels become one table with the right ratio" {
	grep -E '^mock \* old +0\.1000? ' text.out
	grep -E '^ +new +0\.1100? .*1\.100 \[1\.100 1\.100\]' text.out
	grep -E '^Summary: no verdict on 1 result\.' text.out
	[ "$(grep -c '^boot ./8' text.err)" = 8 ]
	[ "$(awk 'length > 80' text.out | grep -vc '^Reproduce:')" = 0 ]
}

@test "identities stand first, what differs before the tables, summary and Reproduce last" {
	run cat text.out
	[[ ${lines[0]} = "old: 6.1.0-old, build-id a1a1a1a1a1a1, 4 boots"* ]]
	prints 'new: 6.1.0-new, build-id b2b2b2b2b2b2, 4 boots' '#1 SMP old build' '#1 SMP new build'
	order=$(grep -oE '^(What else differs|mock, |Summary|Scope|Flags|Reproduce)' text.out | tr '\n' ' ')
	[ "$order" = "What else differs mock,  Summary Scope Flags Reproduce " ]
	grep -F 'only in old: KDELTA_MOCK=time=100,101,99' text.out
	grep -F 'only in new: KDELTA_MOCK=time=110,111,109' text.out
	grep -F 'smaller is better' text.out
}

@test "the whole of it" {
	run cat text.out
	output=${output//"$tests"/TESTS}
	same_as_golden cli/vm.txt
}

@test "on a terminal: a bar with the time left, on a line of its own" {
	alone
	script -qec "kdelta vm --qemu '$tests/vm/fake-qemu' -w mock:place=same --boots 2 -e t a=old b=new >table.out" /dev/null >bar.out
	grep -qE '\[#+\.*\] +[0-9]+ %  boot [1-4]/4 [ab] +[0-9]+ (ms|s|m)[^ ]* left' <(tr '\r' '\n' <bar.out)
	grep -q '^mock \* a' table.out
	! grep -q $'\e' table.out
}

@test "boots come in blocks of one of each, and the order is recorded with its seed" {
	[ "$(exported experiment .seed)" = 7 ]
	[ "$(exported experiment .blocks)" = 4 ]
	old=$(exported kernel 'select(.label == "old") | .id')
	exported boot "[.position, .block, .kernel == \"$old\"] | @tsv" | sort -n >boots.tsv
	[ "$(wc -l <boots.tsv)" = 8 ]
	# Each block has the old one once, at places 2 * block and 2 * block + 1.
	[ "$(awk '{ if (int($1 / 2) != $2) bad++; n[$2] += $3 == "true" }
		END { print bad + 0, n[0], n[1], n[2], n[3] }' boots.tsv)" = "0 1 1 1 1" ]
	[ "$(exported experiment .order)" = \
		"$(awk '{ printf "%s%s", $1 && $1 % 2 == 0 ? " " : "", $3 == "true" ? "A" : "B" }' boots.tsv)" ]
}

@test "--seed repeats the order, another seed gives another" {
	run -0 kdelta vm -n --boots 8 --seed 7 old new
	seven=$(grep -oE '\([AB]{2}( [AB]{2})+\)' <<<"$output")
	[[ $seven = "($(exported experiment .order) "* ]]
	run -0 kdelta vm -n --boots 8 --seed 7 old new
	[ "$(grep -oE '\([AB]{2}( [AB]{2})+\)' <<<"$output")" = "$seven" ]
	run -0 kdelta vm -n --boots 8 --seed 8 old new
	[ "$(grep -oE '\([AB]{2}( [AB]{2})+\)' <<<"$output")" != "$seven" ]
}

@test "the Reproduce line is a command that repeats it" {
	command=$(sed -n 's/^Reproduce: //p' text.out)
	[[ $command = "kdelta vm "* ]]
	export KDELTA_STORE=$BATS_TEST_TMPDIR/again.db
	eval "$command" >"$BATS_TEST_TMPDIR/again.out"
	[ "$(exported experiment '[.seed, .order, .blocks] | @tsv')" = \
		"$(KDELTA_STORE=$BATS_FILE_TMPDIR/store.db exported experiment '[.seed, .order, .blocks] | @tsv')" ]
	diff <(sed -n '/^mock,/,/^$/p' text.out) <(sed -n '/^mock,/,/^$/p' "$BATS_TEST_TMPDIR/again.out")
	grep -qxF "Reproduce: $command" "$BATS_TEST_TMPDIR/again.out"
}

@test "compare alone repeats what vm printed" {
	kdelta compare | diff text.out -
	kdelta compare -e base | diff text.out -
	kdelta compare old new | diff text.out -
}

@test "the class is emulated: a ratio, an interval, and no verdict" {
	run -0 kdelta compare --format json
	pair=$(jq -c '.rows[0].pairs[0]' <<<"$output")
	[ "$(jq -r '.rows[0].class' <<<"$output")" = emulated ]
	jq -e '.verdict == null and .p_adjusted == null and .boots_needed == null' <<<"$pair"
	jq -e '.ratio > 1.0999 and .ratio < 1.1001 and .ci[0] <= .ratio and .ci[1] >= .ratio' <<<"$pair"
	jq -e '.flags | index("emulated")' <<<"$pair"
	jq -e '.summary | .worse + .better + .no_change + .cant_tell == 0 and .no_verdict == 1' <<<"$output"
}

@test "emulated results have no --fail-on" {
	alone
	run -2 --separate-stderr fake_vm --fail-on worse --boots 1 old new
	says --fail-on emulated
	[ -z "$output" ]
	[ ! -e store.db ]
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db
	run -2 --separate-stderr kdelta compare --fail-on worse
	says --fail-on emulated
	[ "$(grep -o -- --fail-on <<<"$stderr" | wc -l)" = 1 ]
}

@test "JSON has what the schema promises, null where there is nothing" {
	run -0 kdelta compare --format json
	jq -e '.kernels | length == 2' <<<"$output"
	jq -e '.kernels[] | has("label") and has("release") and has("version") and has("build_id")
		and .boots == 4 and .failed == 0' <<<"$output"
	jq -e '.rows[] | (["workload", "params", "part", "metric", "unit", "better", "headline", "class",
		"values", "pairs"] - keys) == []' <<<"$output"
	jq -e '.rows[].values | keys == ["new", "old"]' <<<"$output"
	jq -e '.rows[].values[] | (["boots", "mean", "cv_boot", "cv_invocation", "cv_sample"] - keys) == []' <<<"$output"
	jq -e '.rows[].values[] | .cv_invocation == null' <<<"$output"
	jq -e '.rows[].pairs[] | (["base", "new", "ratio", "ci", "level", "p", "p_adjusted", "verdict",
		"boots_needed", "flags"] - keys) == []' <<<"$output"
	jq -e '.differences | map(select(.name == "KDELTA_MOCK=time=100,101,99")) | length == 1' <<<"$output"
	jq -e 'has("summary")' <<<"$output"
	! grep -qiE '\b(nan|inf|infinity)\b|1e99' <<<"$output"
}

# misfits FILE: where it does not keep to the schema.
misfits()
{
	jq -nr --slurpfile schema "$tests/../docs/compare.schema.json" --slurpfile data "$1" \
		-f "$tests/cli/schema.jq"
}

@test "JSON validates against docs/compare.schema.json" {
	kdelta compare --format json >c.json
	run -0 misfits c.json
	[ -z "$output" ]
	# A check that cannot fail is none.
	jq 'del(.rows[0].pairs[0].verdict) | .rows[0].values.old.mean = "fast" | .kernels[0].boots = -1' c.json >d.json
	run -0 misfits d.json
	[ "${#lines[@]}" -ge 3 ]
}

@test "csv and md hold the same numbers" {
	run -0 kdelta compare --format csv
	[ "${#lines[@]}" = 2 ]
	columns=$(awk -F, '{ print NF }' <<<"${lines[0]}")
	field()
	{
		local n
		n=$(tr , '\n' <<<"${lines[0]}" | grep -nxF "$1" | cut -d: -f1)
		cut -d, -f"$n" <<<"$(sed 's/"[^"]*"/quoted/g' <<<"${lines[1]}")"
	}
	[ "$(field workload)" = mock ]
	[ "$(field base_boots)" = 4 ]
	[ "$(field base_mean)" = 100 ]
	[ "$(field new_mean)" = 110 ]
	[ "$(field ratio)" = 1.1 ]
	[ -z "$(field verdict)" ]
	run -0 kdelta compare --format md
	grep -E '^\|.*\| new \|.*1\.100' <<<"$output"
}

@test "--format goes for vm itself, and stdout holds nothing else" {
	alone
	run -0 --separate-stderr fake_vm --boots 1 --format json old new
	jq -e '.rows[0].pairs | length == 1' <<<"$output"
	[[ $stderr = *"boot 2/2"* ]]
	run -0 --separate-stderr fake_vm -q --boots 1 --format csv old new
	[ "${#lines[@]}" = 2 ]
	[ -z "$stderr" ]
}

@test "--dry-run boots nothing, downloads nothing, writes nothing" {
	alone
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache FAKE_QEMU_PID=$BATS_TEST_TMPDIR/pid
	run -0 fake_vm -n --boots 3 old new
	prints 'Would boot 2 kernels, 3 times each' mock
	run -2 --separate-stderr fake_vm -n --boots 3 old debian:6.1.0-0-none
	says debian:6.1.0-0-none 'kdelta list kernels'
	run -2 --separate-stderr fake_vm -n old no-such-file
	says no-such-file
	[ ! -e store.db ] && [ ! -e cache ] && [ ! -e pid ]
}

@test "-e goes on with an experiment: the same order, up to so many boots" {
	alone
	fake_vm -q -e more --boots 2 --seed 7 old=old new=new,append=KDELTA_MOCK=time=105 >/dev/null
	run -2 --separate-stderr fake_vm -q -e more --seed 8 old=old new=new
	says seed 7
	run -0 fake_vm -q -e more --boots 3 --format json old=old new=new,append=KDELTA_MOCK=time=105
	jq -e '[.kernels[].boots] == [3, 3]' <<<"$output"
	[ "$(exported experiment .name | wc -l)" = 1 ]
	[ "$(exported boot .id | wc -l)" = 6 ]
	[ "$(exported experiment '[.seed, .blocks]' | jq -c .)" = '["7",3]' ]
	run -0 fake_vm -q -e more old=old new=new,append=KDELTA_MOCK=time=105
	[ "$(exported boot .id | wc -l)" = 6 ]
}

@test "-e with another kernel under a label of the experiment is refused" {
	alone
	fake_vm -q -e more --boots 1 old=old new=new >/dev/null
	run -2 --separate-stderr fake_vm -q -e more --boots 1 old=new new=old
	says 'another command' experiment
	run -2 --separate-stderr fake_vm -q -e more --boots 1 --cpus 2 old=old new=new
	says 'another command' experiment
	run -2 --separate-stderr fake_vm -q -e more --boots 1 --set kernel.panic=0+5 old=old new=new
	says 'another command' experiment
	[ "$(exported boot .id | wc -l)" = 2 ]
}

@test "one boot each gives no word and says so" {
	alone
	run -0 fake_vm -q --boots 1 old new
	prints 'n=1' 'no verdict on 1 result'
	run -0 kdelta compare --format json
	jq -e '.rows[0].pairs[0] | .verdict == null and .ci == null and .p == null and .ratio != null' <<<"$output"
}

@test "one kernel alone: its values, no ratio" {
	alone
	run -0 --separate-stderr fake_vm -q --boots 2 --format json only=old,append=KDELTA_MOCK=time=50
	jq -e '.rows[0].pairs == [] and .rows[0].values.only.mean == 50' <<<"$output"
	run -0 kdelta compare
	prints 'only' '0.05' || prints 'only' '50'
}

@test "three kernels: two ratios to the first" {
	alone
	run -0 fake_vm -q --boots 2 --format json a=old b=new,append=KDELTA_MOCK=time=110 c=new,append=KDELTA_MOCK=time=50
	jq -e '[.rows[0].pairs[] | [.base, .new, .ratio]] == [["a", "b", 1.1], ["a", "c", 0.5]]' <<<"$output"
	[ "$(exported experiment '.order | gsub(" "; "") | length')" = 6 ]
}

@test "one kernel under two labels is headed A/A" {
	alone
	run -0 fake_vm -q --boots 2 one=old two=old
	[[ ${lines[0]} = *A/A* ]]
	run -0 kdelta compare --format json
	jq -e '.kernels[1].same_as_base and .rows[0].pairs[0].verdict == null' <<<"$output"
}

@test "labels are made from file names, and two equal ones are kept apart" {
	alone
	mkdir -p x y
	cp old x/bzImage
	cp new y/bzImage
	run -0 fake_vm -q --boots 1 --format json x/bzImage y/bzImage
	jq -e '[.kernels[].label] | unique | length == 2' <<<"$output"
}
