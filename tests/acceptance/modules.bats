#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Modules of Debian's 6.12, which are packed one by one (.ko.xz); downloads its cloud kernel.

@test "6.12: virtio is built in but for virtio_rng, a file system is not" {
	cd "$BATS_TEST_DIRNAME/../.."
	tool=$PWD/${KDELTA_BUILD:-build}/tests/test_modules
	[ -x "$tool" ] || tool=$KDELTA_BUILD/tests/test_modules
	kernel=${KDELTA_TEST_KERNEL_612:-debian:$(apt-cache search --names-only '^linux-image-6[.]12[.].*-cloud-amd64$' |
		sed 's/^linux-image-\([^ ]*\) .*/\1/' | sort -V | tail -n 1)}
	echo "$kernel"
	[ -z "$("$tool" "$kernel" virtio virtio_ring virtio_pci virtio_console)" ]
	[ "$("$tool" "$kernel" virtio-rng virtio_console | cut -d' ' -f1)" = virtio_rng ]
	# Not packed any more: an ELF file each.
	"$tool" "$kernel" btrfs | awk '$2 < 4096 { bad = 1 } END { exit bad || $1 != "btrfs" || NR < 3 }'
}
