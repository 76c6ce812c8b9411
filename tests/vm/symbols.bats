#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The symbols of a real kernel, $KDELTA_TEST_KERNEL, out of its own tables.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	: "${KDELTA_TEST_KERNEL:?names the kernel to look into, see tools/test-kernel}"
	cd "$BATS_TEST_TMPDIR"
}

@test "all symbols, sorted, with the functions that exact mode needs" {
	"$build/tests/test_symbol" "$KDELTA_TEST_KERNEL" >map
	[ "$(wc -l <map)" -gt 5000 ]
	LC_ALL=C sort -s -c -k1,1 map
	for name in _stext schedule __switch_to_asm asm_sysvec_apic_timer_interrupt irqentry_exit; do
		grep -qx "ffffffff8[0-9a-f]* [tT] $name" map
	done
	run ! grep -vqE '^[0-9a-f]{16} [A-Za-z] [!-~]+$' map
	# They agree with themselves, and not when one address is another.
	"$build/tests/test_symbol" "$KDELTA_TEST_KERNEL" map
	sed '/ schedule$/s/^f/e/' map >other
	run -1 "$build/tests/test_symbol" "$KDELTA_TEST_KERNEL" other
	prints 'without nokaslr?' 'T schedule'
}
