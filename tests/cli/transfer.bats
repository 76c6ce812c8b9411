#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta import, kdelta export
load common

setup()
{
	home_here
}

# three_invocations BOOTID: a stream with as many.
three_invocations()
{
	mock_records "$1" 'time=100 hist=10*3' 6.1.1 mock:samples=2+3+4,place=same
}

# line_of FILE PATTERN [NTH]: the number of the line.
line_of()
{
	grep -nE "$2" "$1" | sed -n "${3:-1}p" | cut -d: -f1
}

samples()
{
	exported sample .inv | sort -u | wc -l
}

@test "an agent's stream, from a pipe: what came in, what to type next" {
	run -0 --separate-stderr bash -c 'kdelta-agent run -w mock:place=same | kdelta import -e patch -l board -'
	[ -z "$stderr" ]
	[ "${lines[0]}" = 'stdin: 1 boot, 1 result' ]
	prints 'Next:' 'kdelta show board' 'kdelta import -e patch -l OTHER FILE' 'kdelta compare -e patch'
	[ "$(exported kernel .release)" = "$(uname -r)" ]
	[ "$(exported boot .boot_id)" = "$(cat /proc/sys/kernel/random/boot_id)" ]
	kdelta compare -e patch
}

@test "what to type next can be typed" {
	mkdir 'my stores'
	store="$PWD/my stores/a'b.db"
	mock_records o1 time=100 6.1.1 >o1
	mock_records n1 time=110 6.1.2 >n1
	kdelta import -e "the patch" -l "it's old" --store "$store" o1
	run -0 kdelta import -e "the patch" -l new --store "$store" n1
	command=$(grep -oE 'kdelta compare .*' <<<"$output")
	run -0 bash -c "$command --format json"
	jq -e '[.kernels[].label] == ["it'\''s old", "new"]' <<<"$output"
	[ ! -e "$KDELTA_STORE" ]
}

@test "without -l the release is the label, without -e the experiment is a new one" {
	mock_records o1 time=100 6.1.1 | kdelta import - >/dev/null
	mock_records o2 time=100 6.1.1 | kdelta import - >/dev/null
	[ "$(exported kernel .label)" = 6.1.1 ]
	[ "$(exported experiment .id | wc -l)" = 2 ]
}

@test "files of one command are one experiment" {
	for i in 1 2 3; do mock_records o$i time=100 6.1.$((i % 2)) >b$i; done
	run -0 kdelta import b1 b2 b3
	[ "${lines[2]}" = 'b3: 1 boot, 1 result' ]
	[ "$(exported experiment .id | wc -l)" = 1 ]
	[ "$(exported boot .boot_id | tr '\n' ' ')" = 'o1 o2 o3 ' ]
	run -0 kdelta import b1 b2 b3
	[ "$(exported boot .boot_id | tr '\n' ' ')" = 'o1 o2 o3 ' ]
}

@test "streams one behind the other are boots each" {
	{ mock_records o1 time=100; mock_records o2 time=100; } >both
	run -0 kdelta import -l old both
	[ "${lines[0]}" = 'both: 2 boots, 2 results' ]
	[ "$(exported boot .boot_id | wc -l)" = 2 ]
}

@test "the same stream twice changes nothing" {
	# When an import ended is not what was measured.
	all()
	{
		kdelta export | jq -c 'del(.ended_ns)'
	}
	three_invocations o1 >s
	kdelta import -l old s >/dev/null
	all >before
	run -0 kdelta import -l old s
	all | diff before -
	kdelta import -l old - <s
	all | diff before -
}

@test "export and import into another store: the same export" {
	three_invocations o1 | kdelta import -e mock -l "$HOSTILE" - >/dev/null
	mock_boot new n1 'time=fail' 6.1.2
	mock_boot new n2 'time=skip' 6.1.2
	kdelta export >a.jsonl
	run -0 --separate-stderr kdelta import --store other.db a.jsonl
	prints 'a.jsonl: 3 boots, 3 results, 1 failed, 1 skipped' 'kdelta compare -e mock --store other.db'
	kdelta export --store other.db | diff a.jsonl -
	kdelta import --store other.db a.jsonl >/dev/null
	kdelta export --store other.db | diff a.jsonl -
	[ "$(jq -r 'select(.k == "kernel") | .label' a.jsonl | head -c -1)" = "$HOSTILE"$'\nnew' ]
	diff <(kdelta compare --format json) <(kdelta compare --format json --store other.db)
}

@test "a name is never a path" {
	mkdir deep
	cd deep
	mock_boot ../x o1 time=100
	mock_records o2 time=100 | kdelta import -e ../../y -l "$HOSTILE" - >/dev/null
	cd ..
	[ "$(find . -newer deep/../stream ! -name 'store.db*' -type f | wc -l)" = 0 ]
	[ -z "$(ls deep)" ]
	[ "$(kdelta export -e ../../y | jq -r 'select(.k == "experiment") | .name')" = ../../y ]
}

@test "export: an experiment, a label" {
	mock_boot old o1 time=100 6.1.1
	mock_boot new n1 time=100 6.1.2
	mock_records o2 time=100 6.1.1 | kdelta import -e more -l old - >/dev/null
	boots()
	{
		kdelta export "$@" | jq -r 'select(.k == "boot") | .boot_id' | sort | tr '\n' ' '
	}
	[ "$(boots)" = 'n1 o1 o2 ' ]
	[ "$(boots old)" = 'o1 o2 ' ]
	[ "$(boots -e mock)" = 'n1 o1 ' ]
	[ "$(boots -e more -e mock)" = 'n1 o1 o2 ' ]
	[ "$(boots -e mock old)" = 'o1 ' ]
	run -2 --separate-stderr kdelta export nwe
	says "'nwe'" old new
	run -2 --separate-stderr kdelta export -e none
	says "'none'"
	run -2 --separate-stderr kdelta export --store nowhere
	says nowhere
	[ ! -e nowhere ]
}

@test "a bad line is named, what was complete stays" {
	three_invocations o1 >s
	bad=$(line_of s '"k":"sample"' 3)
	sed "${bad}s/.*/{\"k\":\"sample\",\"inv\":/" s >t
	run -2 --separate-stderr kdelta import -e mock -l old t
	says t "line $bad"
	[ "${lines[0]}" = 't: 1 boot, 2 results, 1 failed' ]
	[ "$(samples)" = 2 ]
	run -0 kdelta show old
	prints "line $bad"
}

@test "many bad lines: one line and how many" {
	{ mock_records o1 time=100; printf 'noise %s\n' 1 2 3; } >s
	run -2 --separate-stderr kdelta import -l old s
	[ "$(grep -c . <<<"$stderr")" = 2 ]
	[[ $stderr = *"s: line $(line_of s noise):"* ]]
	[[ $stderr = *'3 lines in all'* ]]
	[ "$(samples)" = 1 ]
}

@test "one file that cannot be read does not keep the others out" {
	mock_records o1 time=100 >s
	run -2 --separate-stderr kdelta import -l old nothing s
	says nothing 'No such file'
	[ "$(samples)" = 1 ]
}

@test "a stream that was cut: exit 3, what was complete stays" {
	three_invocations o1 >s
	# behind an invocation, in one, in a line
	head -n "$(line_of s '"k":"usage"' 2)" s >behind
	head -n "$(line_of s '"k":"sample"' 3)" s >within
	head -c $(($(head -n "$(line_of s '"k":"sample"' 3)" s | wc -c) + 9)) s >in-line
	for how in behind within in-line; do
		export KDELTA_STORE=$PWD/$how.db
		run -3 --separate-stderr kdelta import -l old $how
		says $how 'end before done'
		[ "$(samples)" = "$([ $how = behind ] && echo 2 || echo 1)" ]
		# The whole of it, later: nothing is there twice, nothing is missing.
		run -0 kdelta import -l old s
	done
	export KDELTA_STORE=$PWD/behind.db
	[ "$(samples)" = 3 ]
}

@test "cut at any byte: never more than was complete, never a crash" {
	three_invocations o1 >s
	size=$(wc -c <s)
	for ((at = 1; at < size - 1; at += size / 23)); do
		head -c $at s >t
		complete=$(grep -c '"k":"usage".*}}$' t || true)
		export KDELTA_STORE=$PWD/cut.db
		rm -f cut.db*
		run kdelta import -l old t
		[ "$status" = 2 ] || [ "$status" = 3 ]
		[ "$(samples)" = "$complete" ]
	done
}

@test "nothing, a folder, no records, no end of line" {
	: >empty
	run -2 --separate-stderr kdelta import empty
	says empty 'no records'
	run -2 --separate-stderr bash -c 'true | kdelta import -'
	says stdin 'no records'
	run -2 --separate-stderr kdelta import .
	says .:
	run -2 --separate-stderr kdelta import "$(command -v kdelta-agent)"
	[ "$(grep -c . <<<"$stderr")" -le 2 ]
	[[ $stderr = *kdelta-agent*'line 1'* ]]
	[[ ! $stderr =~ $'\e' ]]
	head -c 6000000 /dev/zero | tr '\0' x >long
	run -2 --separate-stderr kdelta import long
	says long 'line 1' longer
	printf '{"k":"sample","inv":"1","metric":"time","value":1}\n' >headless
	run -2 --separate-stderr kdelta import headless
	says headless 'line 1' hello
	printf '{"k":"\\u001b[31mred"}\n' >escape
	run -2 --separate-stderr kdelta import escape
	says escape 'line 1' red
	[[ $stderr != *$'\e'* ]]
	[ "$(samples)" = 0 ]
}

@test "no file, an empty label, another kernel under a label" {
	run -2 --separate-stderr kdelta import
	says FILE stdin
	mock_records o1 time=100 6.1.1 >s
	run -2 --separate-stderr kdelta import -l '' s
	says empty label
	run -2 --separate-stderr kdelta import -e '' s
	says empty experiment
	[ ! -e "$KDELTA_STORE" ]
	mock_boot old o1 time=100 6.1.1
	mock_records o2 time=100 6.1.2 >t
	run -2 --separate-stderr kdelta import -e mock -l old t
	[[ $stderr = *"t: line 1: "*"'old'"* ]]
	[ "$(samples)" = 1 ]
}

@test "a kind of record that is not known is kept" {
	mock_records o1 time=100 | sed '2i {"k":"of-tomorrow","x":[1,2]}' >s
	run -0 --separate-stderr kdelta import -l old s
	[ -z "$stderr" ]
	[ "$(exported of-tomorrow .x)" = '[1,2]' ]
}

@test "lines that end like those of other systems, blank ones, no last end of line" {
	three_invocations o1 | sed 's/$/\r/; 3i \\r' | head -c -2 >s
	run -0 --separate-stderr kdelta import -l old s
	[ -z "$stderr" ]
	[ "${lines[0]}" = 's: 1 boot, 3 results' ]
}

@test "interrupted: what came so far is kept" {
	three_invocations o1 >s
	mkfifo pipe
	kdelta import -l old - <pipe >out 2>err 3>&- &
	pid=$!
	exec 9>pipe
	head -n "$(line_of s '"k":"usage"' 1)" s >&9
	for _ in {1..100}; do
		[ "$(sqlite3 -readonly "$KDELTA_STORE" 'SELECT count(*) FROM sample' 2>/dev/null)" != 2 ] || break
		sleep 0.05
	done
	kill -INT $pid
	rc=0
	wait $pid || rc=$?
	exec 9>&-
	[ $rc = 3 ]
	grep interrupted err
	[ "$(samples)" = 1 ]
}

@test "export: stdout closed, full, left; the locale" {
	three_invocations o1 | kdelta import -l old - >/dev/null
	run -3 --separate-stderr bash -c 'kdelta export >&-'
	says stdout
	run -3 --separate-stderr bash -c 'kdelta export >/dev/full'
	says stdout 'No space'
	run -0 --separate-stderr bash -c 'set -o pipefail; kdelta export | head -n 1'
	[ -z "$stderr" ]
	jq -e '.k == "kernel"' <<<"$output"
	diff <(kdelta export) <(LC_ALL=de_DE.UTF-8 kdelta export)
}

@test "import: stdout closed or full, the records are in all the same" {
	mock_records o1 time=100 >s
	run -3 --separate-stderr bash -c 'kdelta import -l old s >&-'
	says stdout
	[ "$(samples)" = 1 ]
	run -3 --separate-stderr bash -c 'kdelta import -l old s >/dev/full'
	says stdout
}
