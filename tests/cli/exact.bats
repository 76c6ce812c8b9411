#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What `kdelta vm --exact` refuses, and says, before it boots anything.
load common
load guests

setup()
{
	guests_here "$BATS_TEST_TMPDIR"
}

refuses()
{
	local words=$1
	shift
	run -2 --separate-stderr kdelta vm --exact "$@" old new
	[ -z "$output" ]
	echo "$stderr"
	[[ $stderr = "kdelta: "*"$words"* ]]
	[ "$(wc -l <<<"$stderr")" -le 2 ]
	[ ! -e store.db ]
}

@test "options of other modes are refused with what to give instead" {
	refuses '--exact has one boot a kernel: leave --boots out (--perturb' --boots 4 -w getppid
	refuses 'leave --seed out' --seed 4 -w getppid
	refuses '--time has no meaning' --time 3s -w getppid
	refuses '--invocations has no meaning' --invocations 3 -w getppid
	refuses 'leave --accel out' --accel kvm -w getppid
	refuses '--smp 2 shows code paths' --cpus 2 -w getppid
	refuses 'exact results are more, fewer or within' --fail-on worse -w getppid
	run -2 kdelta vm --fail-on more -w getppid old new
	prints 'go with --exact'
	run -2 kdelta vm --perturb 4 -w getppid old new
	prints 'go with --exact'
}

@test "a workload that cannot be exact is refused with the reason" {
	refuses 'mock samples=3,place=same cannot be exact: it plays numbers' -w mock:place=same
	refuses 'cannot be exact: place=spread wants 2 CPUs' -w pipe:place=spread
	refuses "cannot be exact: the program's own windows are not counted yet" -w cmd:run=true,windows=marked
}

@test "a metric that exact mode does not have is refused with those it has" {
	refuses "exact mode has no metric 'time' (it has instructions kernel user" -m time -w getppid
}

@test "no QEMU, one without plugins, one that is too old for --smp" {
	refuses 'qemu-none (qemu-system-x86_64 is in the package qemu-system-x86): No such file' --qemu ./qemu-none -w getppid
	printf '#!/bin/sh\necho "QEMU emulator version 7.2.22"\n' >plain
	chmod +x plain
	refuses 'without plugins' --qemu ./plain -w getppid
	printf '#!/bin/sh\necho "QEMU emulator version 7.2.22"; echo "-plugin [file=]<file>[,<argname>=<argvalue>]"\n' >plain
	refuses '9.0' --qemu ./plain --smp 2 -w getppid
}

@test "no plugin: where it was looked for" {
	KDELTA_PLUGIN=/nonexistent/plugin.so refuses '/nonexistent/plugin.so' -w getppid
}

@test "a dry run says how many boots and runs" {
	run -0 --separate-stderr kdelta vm --exact -n -w getppid -w pipe:place=same old new
	prints 'Would boot 2 kernels, once each, and count 16 runs' 'A old' 'B new' \
		'Each: 2 points under 8 perturbations' 'pipe place=same'
	[ ! -e store.db ]
}
