#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Stores and outputs that cannot be written: what is said, what stays.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
}

teardown()
{
	[ -z "${MOUNTED-}" ] || umount "$MOUNTED"
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
	[ "$status" -ge 2 ]
	[[ $stderr = *"$KDELTA_STORE: no space left"* ]]
	rm small/filler
	[ "$(sqlite3 "$KDELTA_STORE" 'PRAGMA integrity_check')" = ok ]
	kdelta compare | diff before.out -
	fake_vm -q -e x --boots 2 old=old new=new >/dev/null
	[ "$(kdelta compare --format json | jq -c '[.kernels[].boots]')" = '[2,2]' ]
}

@test "the disk fills up in mid-run: what was stored stays, done in part" {
	small_disk
	fake_vm -q -e x --boots 1 old=old new=new >/dev/null
	fill 512K
	run --separate-stderr fake_vm -q -e x --boots 8 old=old new=new
	echo "$stderr"
	[ "$status" = 3 ]
	[[ $stderr = *"$KDELTA_STORE: no space left; what was stored before stays"* ]]
	grep -qE '^mock \* old' <<<"$output"
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
	run --separate-stderr bash -c 'kdelta-agent list >/dev/full'
	[ "$status" != 0 ]
	says stdout 'No space left'
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
