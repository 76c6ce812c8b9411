#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Other languages, no /proc, no /sys.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
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
	run -0 --separate-stderr barren kdelta-agent run -w getppid --time 50ms
	grep '"k":"sample"' <<<"$output" >/dev/null
	jq -se '.[0] | .k == "hello" and .build_id == null and .boot_id == null and .release != null' <<<"$output"
	jq -se 'map(select(.k == "fact" and .value == null)) | length > 5 and all(.why | length > 0)' <<<"$output"
	kdelta import -e x -l bare - <<<"$output"
	run -0 --separate-stderr kdelta compare -e x --format json
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
