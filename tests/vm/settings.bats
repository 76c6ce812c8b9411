#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --set in a real guest: sysctls of its kernel, and its command line.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db KDELTA_STATE=$BATS_TEST_TMPDIR/state
	cd "$BATS_TEST_TMPDIR"
	: "${KDELTA_TEST_KERNEL:?names the kernel to boot, see tools/test-kernel}"
}

@test "a sysctl in the guest, a boot parameter as a kernel of its own" {
	run -3 --separate-stderr kdelta vm --boots 1 --time 2s -w getppid --invocations 1 \
		--set vm.swappiness=60+7 --set boot:mitigations=auto+off --set vm.nosuch=1 \
		--format json "k=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	jq -e '.rows == []' <<<"$output"
	run -0 --separate-stderr kdelta vm --boots 1 --time 2s -w getppid --invocations 1 \
		--set vm.swappiness=60+7 --set boot:mitigations=auto+off --set net.ipv4.tcp_rmem="4096 70000 80000" \
		--format json "k=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	jq -e '[.kernels[].label] == ["k mitigations=auto", "k mitigations=off"]' <<<"$output"
	jq -e '[.rows[] | [.params, .headline]] | sort == [
		["set:net.ipv4.tcp_rmem=4096 70000 80000,set:vm.swappiness=60", true],
		["set:net.ipv4.tcp_rmem=4096 70000 80000,set:vm.swappiness=7", false]]' <<<"$output"
	jq -e 'all(.rows[].values[]; .mean > 0)' <<<"$output"
	[ "$(exported hello .cmdline | grep -oE 'mitigations=[a-z]+' | sort -u | tr '\n' ' ')" = \
		'mitigations=auto mitigations=off ' ]
	# The guest is its own machine: no journal here.
	[ ! -e "$KDELTA_STATE" ]
}
