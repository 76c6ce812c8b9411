#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The modules of a real package, $KDELTA_TEST_KERNEL: which are needed, in which order.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	: "${KDELTA_TEST_KERNEL:?names the kernel to look into, see tools/test-kernel}"
}

# order MODULE...: "a b c"
order()
{
	"$build/tests/test_modules" "$KDELTA_TEST_KERNEL" "$@" | cut -d' ' -f1 | paste -sd' '
}

@test "virtio drivers and a file system, with what they depend on before them" {
	got=$(order virtio_console virtio-pci btrfs)
	echo "$got"
	if [[ $KDELTA_TEST_KERNEL = *6.1.*-cloud-amd64* ]]; then
		# None of them is built into Debian's 6.1 cloud kernel.
		[ "$got" = "virtio_ring virtio virtio_console virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci $(order btrfs)" ]
	fi
	[[ $(order btrfs) = *libcrc32c\ btrfs || $(order btrfs) = *xor*btrfs || -z $(order btrfs) ]]
}

@test "a module that there is not" {
	run -1 "$build/tests/test_modules" "$KDELTA_TEST_KERNEL" no_such_module
	prints 'no_such_module is neither among the modules of' 'nor built in'
}
