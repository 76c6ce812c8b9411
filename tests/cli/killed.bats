#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta and QEMU killed, stopped, and beside each other.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
	export FAKE_QEMU_PID=$BATS_TEST_TMPDIR/qemu.pid BACKGROUND=
}

teardown()
{
	local pid
	for pid in $BACKGROUND; do
		kill -9 "$pid" 2>/dev/null || true
	done
}

# in_background COMMAND...: its process id in $child, its output in child.out and child.err.
in_background()
{
	"$@" >child.out 2>child.err 3>&- &
	child=$!
	BACKGROUND="$BACKGROUND $child"
}

# until_true SECONDS COMMAND...
until_true()
{
	local end=$((SECONDS + $1))
	until "${@:2}" 2>/dev/null; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep .02
	done
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

# A boot that was measured, then a kdelta in whose boot nothing more comes.
hanging()
{
	FAKE_QEMU=ok fake_vm -q -e x --boots 1 old=old >/dev/null 2>&1
	rm "$FAKE_QEMU_PID"
	export FAKE_QEMU=hang
	in_background kdelta vm -e x --qemu "$tests/vm/fake-qemu" -w mock:place=same --invocations 1 \
		--boots 3 old=old
	until_true 10 test -s "$FAKE_QEMU_PID"
	qemu=$(cat "$FAKE_QEMU_PID")
	until_true 10 eval '[ "$(sqlite3 "$KDELTA_STORE" "SELECT count(*) FROM hello")" = 2 ]'
}

@test "kill -9 of kdelta: no QEMU outlives it, what was stored is there" {
	hanging
	kill -9 "$child"
	wait "$child" || [ $? = 137 ]
	until_true 3 gone "$qemu"
	run -0 --separate-stderr kdelta compare --format json
	jq -e '.kernels[0] | .boots == 1 and .failed == 0' <<<"$output"
	jq -e '.rows[0].values.old.mean == 100' <<<"$output"
	[ "$(exported boot 'select(.state == "stopped") | .reason')" = 'kdelta was killed' ]
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
	FAKE_QEMU=ok fake_vm -q -e x --boots 1 old=old >/dev/null
	[ "$(kdelta compare --format json | jq '.kernels[0].boots')" = 3 ]
}

@test "kill of QEMU: that boot failed, the others go on" {
	hanging
	kill -9 "$qemu"
	until_true 10 eval '[ "$(cat "$FAKE_QEMU_PID")" != "$qemu" ]'
	qemu=$(cat "$FAKE_QEMU_PID")
	until_true 10 eval '[ "$(sqlite3 "$KDELTA_STORE" "SELECT count(*) FROM hello")" = 3 ]'
	kill -TERM "$qemu"
	wait "$child" || rc=$?
	[ "$rc" = 3 ]
	[ "$(exported boot 'select(.state == "failed") | .reason' | grep -c 'qemu failed: QEMU ended with signal')" = 2 ]
}

@test "SIGINT and SIGTERM: it stops soon, keeps what it has, 3" {
	for signal in INT TERM; do
		rm -f store.db*
		hanging
		kill -s "$signal" "$child"
		until_true 3 gone "$child"
		wait "$child" || rc=$?
		[ "$rc" = 3 ]
		grep -q 'interrupted; what was measured is kept' child.err
		gone "$qemu"
		run -0 --separate-stderr kdelta compare --format json
		jq -e '.kernels[0] | .boots == 1 and .failed == 0' <<<"$output"
		[ "$(exported boot 'select(.state == "stopped") | .reason | startswith("stopped")')" = true ]
	done
}

@test "a live kdelta's boot is left alone by another one" {
	hanging
	kdelta compare >/dev/null
	[ "$(sqlite3 "$KDELTA_STORE" "SELECT group_concat(state) FROM (SELECT state FROM boot ORDER BY n)")" = ok,running ]
	kill -TERM "$child"
	wait "$child" || true
}

@test "two kdeltas write at once" {
	in_background kdelta vm -q -e one --qemu "$tests/vm/fake-qemu" -w mock:place=same --boots 3 a=old b=new
	first=$child
	in_background kdelta vm -q -e two --qemu "$tests/vm/fake-qemu" -w mock:place=same --boots 3 a=old b=new
	wait "$first"
	wait "$child"
	for x in one two; do
		[ "$(kdelta compare -e $x --format json | jq -c '[.kernels[] | [.boots, .failed]]')" = '[[3,0],[3,0]]' ]
	done
}
