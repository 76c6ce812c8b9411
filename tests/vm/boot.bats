#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The real thing: QEMU boots $KDELTA_TEST_KERNEL, a KERNEL as `kdelta vm` takes it (tools/test-kernel
# finds one), with the agent as init.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	# The kernel may have been downloaded: its cache is not this test's own.
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	cd "$BATS_TEST_TMPDIR"
	: "${KDELTA_TEST_KERNEL:?names the kernel to boot, see tools/test-kernel}"
}

@test "a kernel boots, measures, and says who it is" {
	run -0 --separate-stderr kdelta vm --accel tcg --boots 1 --time 2s -w getppid -w pipe:place=same \
		--format json "k=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	jq -e '[.rows[] | select(.headline) | .workload] | sort == ["getppid", "pipe"]' <<<"$output"
	jq -e '.rows | all(.class == "emulated" and .values.k.mean > 0)' <<<"$output"
	jq -e '.kernels[0] | .boots == 1 and .failed == 0 and .build_id != null' <<<"$output"
	# What runs there is the agent of this build, as init, in the kernel that was given.
	[ "$(exported hello '[.init, .release == "'"$(exported kernel .release)"'"] | @tsv')" = "true	true" ]
	[ "$(exported hello .agent_build_id)" = "$(kdelta-agent list --format json | jq -r .agent_build_id)" ]
	[[ $(exported hello .cmdline) = *"console=ttyS0 panic=-1"* ]]
	[ "$(exported usage .inv | wc -l)" = 4 ]
	# Something was read in there, and it is the guest's.
	[ "$(exported fact 'select(.name == "cpus.online" and .when == "before") | .value')" = 0 ]
	[ "$(exported boot .state)" = ok ]
}

@test "programs of the user's are not in there: skipped, with words; the shell is where it is asked for" {
	run -3 --separate-stderr kdelta vm --accel tcg --boots 1 --time 1s --invocations 1 -w cmd:run=make \
		-w 'cmd:run="/bin/sh -c :",samples=2' --format json "k=$KDELTA_TEST_KERNEL"
	[[ $(exported skip .reason) = "make cannot be run in this guest, which holds the agent and "* ]]
	[ -z "$(exported fail .reason)" ]
	jq -e '[.rows[] | select(.metric == "time" or .metric.name? == "time")] | length == 1' <<<"$output"
}

@test "a kernel that panics: failed, with the reason and the console" {
	run -3 --separate-stderr kdelta vm --accel tcg --boots 1 --time 1s -w getppid \
		"k=$KDELTA_TEST_KERNEL,append=rdinit=/nonexistent"
	[ -z "$output" ]
	[[ $stderr = *"boot 1/1 k failed: panicked: kernel panic: "*"nothing was measured"* ]]
	run -0 kdelta show k --console
	prints 'panicked: kernel panic' 'Kernel panic - not syncing'
	[ "$(exported boot '.console | split("\n") | length <= 51')" = true ]
	[ -z "$(exported sample .metric)" ]
}

@test "a kernel with and without slub_debug=FZPU: only in one, and no verdict on one boot" {
	run -0 --separate-stderr kdelta vm --accel tcg --boots 1 --time 1s -w fork \
		"A=$KDELTA_TEST_KERNEL" "B=$KDELTA_TEST_KERNEL,append=slub_debug=FZPU"
	prints 'only in B: slub_debug=FZPU' 'emulated' 'no verdict on 1 result'
	[[ $output != A/A* ]]
	run -0 --separate-stderr kdelta compare --format json
	jq -e '.rows[] | select(.headline) | .class == "emulated" and .pairs[0].verdict == null' <<<"$output"
	# How much dearer, in counts: tests/acceptance/exact.bats.
	jq -e '.rows[] | select(.headline) | .pairs[0].ratio > 0' <<<"$output"
}
