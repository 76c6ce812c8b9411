#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# git:REV on the command line, with a toy tree and the fake QEMU. What a build does and does not is
# in tests/unit/test_kbuild.c; a real kernel is built in tests/acceptance/git.bats.
load common
load guests

setup_file()
{
	"$tests/kbuild/toy-kernel" "$BATS_FILE_TMPDIR"
	export KDELTA_CACHE=$BATS_FILE_TMPDIR/cache PATH=$BATS_FILE_TMPDIR/bin:$PATH
}

setup()
{
	export KDELTA_CACHE=$BATS_FILE_TMPDIR/cache KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	tree=$BATS_FILE_TMPDIR/tree
	cd "$tree"
}

mock=append=KDELTA_MOCK=time=100,101,99

# The commit of a tag as the results have it.
commit()
{
	git -C "$tree" rev-parse --short=12 "$1"
}

@test "two commits of the tree in this folder are built, booted and compared" {
	run -0 --separate-stderr fake_vm --boots 2 git:one,$mock git:two,$mock
	grep -F "built git:one: 6.1.0-g$(commit one), 4 files in " <<<"$stderr"
	grep -F "built git:two: 6.1.0-g$(commit two), 1 files in " <<<"$stderr"
	prints "6.1.0-g$(commit one)" "6.1.0-g$(commit two)" 'Reproduce: '
	[ "$(exported kernel '.release')" = "6.1.0-g$(commit one)"$'\n'"6.1.0-g$(commit two)" ]
	[ "$(exported kernel '.source' | head -n 1)" = "git:$(commit one),$mock" ]
	[ -z "$(git status --porcelain)" ]
}

@test "what was built is not built again; Reproduce names the commits, not what moves" {
	first=$BATS_TEST_TMPDIR/first
	cd /
	fake_vm --boots 1 --seed 7 --tree "$tree" "old=git:main~1,$mock" "git:main,$mock" >"$first"
	run -0 --separate-stderr fake_vm --boots 1 --seed 7 --tree "$tree" "old=git:main~1,$mock" "git:main,$mock"
	[[ $stderr != *compil* && $stderr != *built* ]]
	command=$(sed -n 's/^Reproduce: //p' "$first")
	[[ $command = *" --tree $tree "*"git:$(commit one),append"*"git:$(commit two),append"* ]]
	[[ $command = *'"old"='* && $command = *'"main'*'"='* ]]
	[[ $command != *main~1,* ]]
	eval "$command" >"$BATS_TEST_TMPDIR/again"
	diff <(sed -n '/^mock,/,/^$/p' "$first") <(sed -n '/^mock,/,/^$/p' "$BATS_TEST_TMPDIR/again")
}

@test "the same commit twice is two kernels of one identity" {
	run -0 --separate-stderr fake_vm --boots 1 "git:one,$mock" "git:one,$mock"
	prints 'A/A'
	[ "$(exported kernel '.label' | wc -l)" = 2 ]
}

@test "a commit that does not build is skipped, with the end of its log" {
	run -3 --separate-stderr fake_vm --boots 1 "git:one,$mock" "git:broken,$mock" "git:two,$mock"
	[[ $stderr = *'#error "b is broken"'* ]]
	[[ $stderr = *"kdelta: git:broken: commit $(commit broken) does not build; the log: /"* ]]
	[ "$(exported kernel '.label' | xargs)" = "one+KDELTA_MOCK two+KDELTA_MOCK" ]
	prints 'mock'
}

@test "with fewer than two left, nothing is booted" {
	run -3 --separate-stderr fake_vm --boots 1 "git:one,$mock" "git:broken,$mock"
	[ -z "$output" ]
	[ "$(tail -n 1 <<<"$stderr")" = "kdelta: too few kernels are left to compare" ]
	[ ! -e "$KDELTA_STORE" ]
}

@test "what cannot be found is one line, exit 2" {
	run -2 --separate-stderr fake_vm git:nope git:two
	says 'git:nope: no such commit in'
	run -2 --separate-stderr fake_vm --tree "$BATS_FILE_TMPDIR/bin" git:one git:two
	says 'is in no git repository' '--tree'
	run -2 --separate-stderr fake_vm git:other git:two
	says 'git:other: not a Linux kernel'
	run -2 --separate-stderr fake_vm git:one,config=/nonexistent git:two
	says 'git:one: /nonexistent: No such file'
}

@test "a dry run builds nothing" {
	export KDELTA_CACHE=$BATS_TEST_TMPDIR/none
	run -0 fake_vm -n git:one git:two
	prints 'git:one (built if not in the cache'
	[ ! -e "$KDELTA_CACHE" ]
}

@test "the tree's .config is taken, another on request" {
	fake_vm --boots 1 "git:one,$mock" >/dev/null
	rm "$KDELTA_STORE"
	{ cat "$KDELTA_CACHE/git/$(git rev-parse one)"-*/.config; echo CONFIG_MINE=y; } >.config
	run -0 fake_vm --boots 1 "git:one,$mock" "tiny=git:one,config=tiny,$mock"
	rm .config
	prints 'only in one' 'CONFIG_MINE=y'
	[ "$(exported kernel '.config_hash' | sort -u | wc -l)" = 2 ]
}

@test "Ctrl-C ends a build at once, and leaves nothing running" {
	(exec env KDELTA_STORE="$KDELTA_STORE" kdelta vm git:one git:slow >out.txt 2>err.txt) 3>&- &
	pid=$!
	for _ in {1..100}; do
		cat "$KDELTA_CACHE"/git/work-*/pid >"$BATS_TEST_TMPDIR/pid" 2>/dev/null && break
		sleep 0.1
	done
	kill -INT $pid
	code=0
	wait $pid || code=$?
	[ "$code" = 3 ]
	[ "$(tail -n 1 err.txt)" = 'kdelta: git:slow: interrupted' ]
	! kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
	rm out.txt err.txt
}

@test "kill -9 of kdelta ends the build, all of it" {
	export KDELTA_CACHE=$BATS_TEST_TMPDIR/cache
	(exec env KDELTA_STORE="$KDELTA_STORE" kdelta vm git:one git:slow >/dev/null 2>&1) 3>&- &
	pid=$!
	for _ in {1..100}; do
		[ -s "$(echo "$KDELTA_CACHE"/git/work-*/pid)" ] && break
		sleep 0.1
	done
	compiler=$(cat "$KDELTA_CACHE"/git/work-*/pid)
	kill -0 "$compiler"
	kill -9 $pid
	wait $pid || true
	# The lock is inherited by all of make: that it is free says that none is left.
	flock -w 5 "$KDELTA_CACHE"/git/work-*/lock true
	# Nobody may have waited for it yet.
	[[ ! -e /proc/$compiler || $(cat "/proc/$compiler/stat") = *') Z '* ]]
	for _ in {1..50}; do
		left=$(grep -lsF "$KDELTA_CACHE" /proc/[0-9]*/cmdline || true)
		[ -z "$left" ] && break
		sleep 0.1
	done
	[ -z "$left" ]
}
