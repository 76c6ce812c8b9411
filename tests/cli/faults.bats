#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Guests, QEMUs and kdeltas that come to grief: what is said, what is kept, what the exit code is.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
	export FAKE_QEMU_PID=$BATS_TEST_TMPDIR/qemu.pid
}

teardown()
{
	local pid
	for pid in $BACKGROUND; do
		kill -9 "$pid" 2>/dev/null || true
	done
	[ -z "${MOUNTED-}" ] || umount "$MOUNTED"
}

# one_fails MODE REASON...: of two kernels with two boots each the new one fails as MODE says; the
# old one's boots go on, the table is printed, and each REASON is stored with both boots.
one_fails()
{
	local reason
	run -3 --separate-stderr fake_vm -e x --boots 2 --boot-timeout 1s --silence-timeout 1s \
		old=old "new=new,append=FAKE_QEMU=$1"
	echo "$stderr"
	grep -qE '^mock +\* +old ' <<<"$output"
	grep -qE '^ +new +- +- ' <<<"$output"
	[ "$(grep -c '^boot ./4 new failed: ' <<<"$stderr")" = 2 ]
	[ "$(grep -c '^boot ./4 old: ' <<<"$stderr")" = 2 ]
	run -0 kdelta compare --format json
	jq -e '[.kernels[] | [.boots, .failed]] == [[2, 0], [0, 2]]' <<<"$output"
	jq -e '.rows[0].values.new == null and .rows[0].pairs == []' <<<"$output"
	for reason in "${@:2}"; do
		[ "$(exported boot 'select(.state == "failed") | .reason' | grep -cF -- "$reason")" = 2 ]
	done
}

# console TEXT...: of a failed boot of "new".
console()
{
	local text
	run -0 kdelta show new --console
	for text; do
		grep -qF -- "$text" <<<"$output"
	done
}

@test "panic" {
	one_fails panic panicked 'Attempted to kill init! exitcode=0x00000700'
	console 'Kernel panic - not syncing: Attempted to kill init!' 'Run /init as init process'
}

@test "hang behind the first record" {
	one_fails hang 'hung: no record for 1 s' 'Run /init as init process'
	console 'Run /init as init process'
}

@test "never a sign of life" {
	one_fails silent 'hung: booting: no record in 1 s; the console is empty'
}

@test "early exit" {
	one_fails early-exit 'exited early' "without 'done'"
	console 'reboot: Power down'
}

@test "another kernel than the one that was given" {
	one_fails wrong-kernel 'another kernel booted' "$(printf '00%.0s' {1..20})" "$NEW_ID"
}

@test "QEMU refuses its arguments" {
	one_fails refuse-args 'qemu failed' 'exit 1' 'invalid accelerator tcg'
	console 'invalid accelerator tcg'
}

@test "QEMU fails in mid-run" {
	one_fails exit-nonzero 'qemu failed' 'exit 3' 'out of luck'
	console 'out of luck'
}

@test "QEMU does not answer" {
	one_fails no-qmp 'QEMU did not answer on its control socket in 1 s'
}

@test "a channel full of garbage" {
	one_fails garbage-lines 'the channel carried no record'
	! exported boot . | grep -q $'\e'
}

@test "a line without an end" {
	one_fails overlong 'a line of more than 4194304 bytes'
}

@test "a failed boot has no numbers, its invocations none either" {
	one_fails panic panicked
	[ "$(exported sample .metric | sort -u)" = time ]
	[ "$(exported sample .inv | sort -u | wc -l)" = 2 ]
	[ "$(exported fail .reason | grep -c '^unfinished: panicked')" = 2 ]
}

@test "panic in the middle: what was complete before it stays" {
	FAKE_QEMU_LINES=$(kdelta-agent run -w mock:place=same | grep -n '"k":"usage"' | cut -d: -f1)
	export FAKE_QEMU_LINES
	run -3 fake_vm -e x --boots 1 --invocations 2 new=new,append=FAKE_QEMU=panic
	[ "$(exported boot .state)" = failed ]
	[ "$(exported usage .inv | wc -l)" = 1 ]
	[ "$(exported fail .inv | wc -l)" = 1 ]
}

@test "an oops with done: the boot counts, flagged" {
	run -0 fake_vm --boots 2 --format json old=old new=new,append=FAKE_QEMU=oops-but-done
	[ "$(kdelta compare --format json | jq -c '.rows[0].pairs[0].flags | index("kernel warned") != null')" = true ]
	run -0 kdelta compare
	prints 'kernel warned'
	console 'BUG: kernel NULL pointer dereference'
}

@test "a panic behind done: the boot counts, flagged" {
	run -0 fake_vm --boots 2 old=old new=new,append=FAKE_QEMU=panic-after-done
	prints 'kernel warned'
}

@test "all boots fail: clear words, 3, and what is stored can be seen" {
	run -3 --separate-stderr fake_vm -e x --boots 2 old=old,append=FAKE_QEMU=panic new=new,append=FAKE_QEMU=early-exit
	[ -z "$output" ]
	[[ $stderr = *"nothing was measured"*"--console"* ]]
	run -0 kdelta show old --console
	prints 'Kernel panic'
	run -0 kdelta compare
	prints '2 failed' panicked 'exited early'
	[[ $output != *nan* ]]
}

@test "one side always fails: Fisher's p, and no word for it" {
	run -3 fake_vm --boots 4 old=old new=new,append=FAKE_QEMU=early-exit
	prints 'failed 0 of 4 in old, 4 of 4 in new: p = .029'
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
		--boots 2 old=old
	until_true 10 test -s "$FAKE_QEMU_PID"
	qemu=$(cat "$FAKE_QEMU_PID")
	until_true 10 eval '[ "$(sqlite3 "$KDELTA_STORE" "SELECT count(*) FROM hello")" = 2 ]'
}

@test "kill -9 of kdelta: no QEMU outlives it, what was stored is there" {
	hanging
	kill -9 "$child"
	wait "$child" || [ $? = 137 ]
	until_true 3 gone "$qemu"
	run -0 kdelta compare --format json
	jq -e '.kernels[0] | .boots == 1 and .failed == 1' <<<"$output"
	jq -e '.rows[0].values.old.mean == 100' <<<"$output"
	[ "$(exported boot 'select(.state == "failed") | .reason')" = 'kdelta was killed' ]
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
	FAKE_QEMU=ok fake_vm -q -e x --boots 1 old=old >/dev/null
	[ "$(kdelta compare --format json | jq '.kernels[0].boots')" = 2 ]
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
		run -0 kdelta compare --format json
		jq -e '.kernels[0] | .boots == 1 and .failed == 1' <<<"$output"
		[ "$(exported boot 'select(.state == "failed") | .reason | startswith("stopped")')" = true ]
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

# small_disk: an empty tmpfs of 16 MiB at ./small
small_disk()
{
	mkdir small
	mount -t tmpfs -o size=16m kdelta-test small 2>/dev/null || skip 'may not mount'
	MOUNTED=$BATS_TEST_TMPDIR/small
	export KDELTA_STORE=$MOUNTED/store.db
}

# fill [BYTES]: leaves that much on it
fill()
{
	dd if=/dev/zero of=small/filler bs=64K 2>/dev/null || true
	dd if=/dev/zero of=small/filler bs=4K oflag=append conv=notrunc 2>/dev/null || true
	[ -z "${1-}" ] || truncate -s "-$1" small/filler
}

@test "the store's disk is full: said, and what was stored is intact" {
	small_disk
	fake_vm -q -e x --boots 1 old=old new=new >/dev/null
	kdelta compare >before.out
	fill
	run --separate-stderr fake_vm -q -e x --boots 1 old=old new=new
	[ "$status" = 3 ] || [ "$status" = 2 ]
	[[ $stderr = *"full"* && $stderr = *"$KDELTA_STORE"* ]]
	rm small/filler
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
	kdelta compare | diff before.out -
	fake_vm -q -e x --boots 1 old=old new=new >/dev/null
	[ "$(kdelta compare --format json | jq -c '[.kernels[].boots]')" = '[2,2]' ]
}

@test "the disk fills up in mid-run: what was stored stays, done in part" {
	small_disk
	fake_vm -q -e x --boots 1 old=old new=new >/dev/null
	fill 512K
	run --separate-stderr fake_vm -q -e x --boots 8 old=old new=new
	echo "$stderr"
	[ "$status" = 3 ]
	[[ $stderr = *full* ]]
	rm small/filler
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
	boots=$(kdelta compare --format json | jq '.kernels[0].boots')
	[ "$boots" -ge 1 ] && [ "$boots" -lt 9 ]
}

@test "a store that cannot be, or is none" {
	run -2 --separate-stderr kdelta compare
	says "$KDELTA_STORE" 'no store yet' 'kdelta vm'
	KDELTA_STORE=/proc/nosuch/store.db run -2 --separate-stderr fake_vm old
	says /proc/nosuch/store.db
	echo 'Not a database, but a letter.' >letter
	KDELTA_STORE=letter run -2 --separate-stderr kdelta compare
	says letter 'not a store'
	KDELTA_STORE=letter run -2 --separate-stderr fake_vm old
	[ "$(cat letter)" = 'Not a database, but a letter.' ]
	sqlite3 other.db 'CREATE TABLE boot(n)'
	KDELTA_STORE=other.db run -2 --separate-stderr fake_vm old
	says other.db 'not a store'
	[ "$(sqlite3 other.db .tables)" = boot ]
	KDELTA_STORE=. run -2 --separate-stderr kdelta compare
	says 'not a regular file'
}

@test "a store of a newer kdelta is left alone" {
	fake_vm -q --boots 1 old >/dev/null 2>&1
	sqlite3 "$KDELTA_STORE" 'PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	before=$(sha256sum <"$KDELTA_STORE")
	run -2 --separate-stderr kdelta compare
	says "$KDELTA_STORE" 'newer kdelta' 99
	run -2 --separate-stderr fake_vm old
	says 'newer kdelta'
	[ "$(sha256sum <"$KDELTA_STORE")" = "$before" ]
}

@test "a store on a file system that cannot be written" {
	small_disk
	fake_vm -q --boots 1 old=old new=new >/dev/null
	kdelta compare >before.out
	mount -o remount,ro small
	run -2 --separate-stderr fake_vm old
	says "$KDELTA_STORE"
	KDELTA_STORE=$PWD/small/new.db run -2 --separate-stderr fake_vm old
	says small/new.db
}

@test "stdout is closed, full, or read by head" {
	fake_vm -q -e x --boots 2 old=old new=new >/dev/null
	run -3 --separate-stderr bash -c 'kdelta compare >&-'
	says stdout
	run -3 --separate-stderr bash -c 'kdelta compare >/dev/full'
	says stdout 'No space left'
	run -3 --separate-stderr bash -c 'kdelta --help >/dev/full'
	run -3 --separate-stderr bash -c 'kdelta list workloads >/dev/full'
	run -3 --separate-stderr bash -c 'kdelta export >/dev/full'
	run -3 --separate-stderr bash -c 'kdelta-agent list >/dev/full'
	run -0 --separate-stderr bash -c 'set -o pipefail; kdelta compare | head -n 1'
	[ -z "$stderr" ]
	[ "${#lines[@]}" = 1 ]
	run -0 --separate-stderr bash -c 'set -o pipefail; kdelta export | head -n 1'
	[ -z "$stderr" ]
}

@test "stdout is closed: vm keeps what it measured" {
	run -3 --separate-stderr bash -c '"$@" >&-' - kdelta vm -q --qemu "$tests/vm/fake-qemu" \
		-w mock:place=same --boots 1 old=old new=new
	says stdout
	[ "$(kdelta compare --format json | jq -c '[.kernels[].boots]')" = '[1,1]' ]
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
}

@test "all standard descriptors are closed: the store is not written into" {
	bash -c '"$@" <&- >&- 2>&-' - kdelta vm --qemu "$tests/vm/fake-qemu" \
		-w mock:place=same --boots 1 old=old new=new || [ $? = 3 ]
	[ "$(kdelta compare --format json | jq -c '[.kernels[].boots]')" = '[1,1]' ]
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
}

@test "the language changes no number and no byte" {
	fake_vm -q -e x --boots 2 old=old,append=KDELTA_MOCK=time=1234.5,1235.5 new=new,append=KDELTA_MOCK=time=1300.25 >/dev/null
	locales=made_UP.UTF-8
	if localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null; then
		export LOCPATH=$PWD
		locales+=' de_DE.UTF-8'
		[ "$(LC_ALL=de_DE.UTF-8 printf %.1f 1 2>/dev/null)" != 1.0 ]
	fi
	everything()
	{
		kdelta compare --margin 2.5%
		kdelta compare --format json
		kdelta compare --format csv
		kdelta compare --format md
		kdelta show old
		kdelta export
		kdelta list workloads
		KDELTA_MOCK=time=1.5 kdelta-agent run -w mock:place=same | grep '"k":"sample"'
		kdelta vm -n --time 1.5s old
	}
	everything >C.out
	grep -q '1\.053' C.out
	for l in $locales; do
		LC_ALL=$l everything >other.out
		cmp C.out other.out
	done
}

# barren COMMAND...: where neither /proc nor /sys has anything.
barren()
{
	unshare -rm bash -c 'mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec "$@"' - "$@"
}

@test "no /proc, no /sys: the agent measures, and says what it could not read" {
	barren true 2>/dev/null || skip 'may not unshare'
	run -0 --separate-stderr barren kdelta-agent run -w getppid:place=same --time 50ms
	grep '"k":"sample"' <<<"$output" >/dev/null
	jq -se '.[0] | .k == "hello" and .build_id == null and .boot_id == null and .release != null' <<<"$output"
	jq -se 'map(select(.k == "fact" and .value == null)) | length > 5 and all(.why | length > 0)' <<<"$output"
	kdelta import -e x -l bare - <<<"$output"
	run -0 kdelta compare -e x --format json
	jq -e '.rows[] | select(.metric == "time") | .values.bare.mean > 0' <<<"$output"
}

@test "no /proc, no /sys: kdelta run works or says what it lacks" {
	barren true 2>/dev/null || skip 'may not unshare'
	run -2 --separate-stderr barren kdelta run -w mock:place=same
	says kdelta-agent KDELTA_AGENT
	export KDELTA_AGENT=$build/kdelta-agent
	run -0 --separate-stderr barren kdelta run -q -w mock:place=same -l bare
	[ "$(kdelta show bare --format json | jq -r '.. | .build_id? // empty' | head -n 1)" = "" ]
}

@test "no /sys/kernel/notes: a kernel without build-id" {
	unshare -rm bash -c 'mount -t tmpfs none /sys' 2>/dev/null || skip 'may not unshare'
	run -0 --separate-stderr unshare -rm bash -c 'mount -t tmpfs none /sys && exec "$@"' - \
		kdelta run -q -w mock:place=same -l bare
	prints "build-id unknown" || prints bare
	[ "$(exported kernel '.build_id // "none"')" = none ]
	[ "$(exported hello '.build_id // "none"')" = none ]
}
