#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The forms of KERNEL: build trees, installed and running ones, versions that apt does not have.
load common
load guests

setup()
{
	home_here
	export KDELTA_ROOT=$BATS_TEST_TMPDIR/root KDELTA_CACHE=$BATS_TEST_TMPDIR/cache
	mkdir -p root/boot cache
}

CONFIG='CONFIG_64BIT=y
CONFIG_BINFMT_ELF=y
CONFIG_BLK_DEV_INITRD=y
CONFIG_SERIAL_8250=y
CONFIG_SERIAL_8250_CONSOLE=y
CONFIG_SERIAL_8250_RUNTIME_UARTS=4
CONFIG_HZ=250'

# tree FOLDER RELEASE BUILD_ID [CONFIG-LINE]...
tree()
{
	mkdir -p "$1/arch/x86/boot"
	printf '%s\n' "$CONFIG" "${@:4}" >"$1/.config"
	"$tests/vm/make-kernel" "$1/arch/x86/boot/bzImage" "$2" '#1 SMP x' "$3"
}

# apt_here: an apt that offers 6.1.0-9-amd64 in two versions and downloads nothing.
apt_here()
{
	mkdir -p bin
	cat >bin/apt-cache <<-'END'
		#!/bin/sh
		[ "$1" = show ] || { echo linux-image-6.1.0-9-amd64 - Linux; exit; }
		for name; do :; done
		show()
		{
			printf '%s\n' 'Package: linux-image-6.1.0-9-amd64' "Version: $1" 'Architecture: amd64' \
				'Filename: pool/x.deb' 'Size: 26700000' ''
		}
		case $name in
		linux-image-6.1.0-9-amd64) show 6.1.9-2; [ "$2" != --all-versions ] || show 6.1.9-1 ;;
		*) exit 100 ;;
		esac
	END
	chmod +x bin/apt-cache
	export PATH=$PWD/bin:$PATH
}

@test "debian: a version that is not offered any more, a release that is not" {
	apt_here
	run -2 --separate-stderr kdelta vm debian:6.1.0-9-amd64=6.1.8-1
	says 'debian:6.1.0-9-amd64=6.1.8-1' 'apt offers 6.1.9-2, 6.1.9-1' "$KDELTA_CACHE has none"
	: >"cache/linux-image-6.1.0-9-amd64_6.1.7-1_$(printf 'a%.0s' {1..64}).deb"
	run -2 --separate-stderr kdelta vm debian:6.1.0-9-amd64=6.1.8-1
	says 'apt offers 6.1.9-2, 6.1.9-1' "$KDELTA_CACHE has 6.1.7-1"
	run -2 --separate-stderr kdelta vm debian:6.1.0-8-amd64
	says 'close ones on offer: 6.1.0-9-amd64'
	[ ! -e "$KDELTA_STORE" ]
}

@test "installed and running kernels are listed, in the order of versions" {
	for r in 6.12 6.9 '6.1 my build' 6.12-rc3 6.12+ 6.12-dirty; do
		"$tests/vm/make-kernel" "root/boot/vmlinuz-$r" "$r" '#1 SMP x' "$OLD_ID"
	done
	run -0 kdelta list kernels
	fits
	prints "running: $(uname -r)" 'is not installed here' 'installed kernel'
	[ "$(grep -o 'installed:.*[^ ]  ' <<<"$output" | sed 's/  .*//')" = \
		"$(printf 'installed:%s\n' '6.1 my build' 6.9 6.12-rc3 6.12 6.12+ 6.12-dirty)" ]
	run -0 kdelta list kernels --format json
	jq -e '.[0] | .where == "running" and .kernel == null and (.why_not | length > 0)' <<<"$output"
	jq -e 'map(select(.where == "installed" and .size_bytes > 0)) | length == 6' <<<"$output"
	jq -e '.[1].kernel == "installed:6.1 my build"' <<<"$output"
}

@test "running: not installed, another one installed, the very one" {
	run -2 --separate-stderr kdelta vm running
	says "$(uname -r)" 'not installed here'
	"$tests/vm/make-kernel" "root/boot/vmlinuz-$(uname -r)" "$(uname -r)" '#1 SMP other' "$OLD_ID"
	run -2 --separate-stderr kdelta vm running
	says 'another kernel than the one that runs' "installed:$(uname -r)"
	id=$(kdelta-agent run -w nop --time 1ms 2>/dev/null | jq -r 'select(.k == "hello") | .build_id // empty') || :
	[ ${#id} = 40 ] || id=$OLD_ID
	"$tests/vm/make-kernel" "root/boot/vmlinuz-$(uname -r)" "$(uname -r)" "$(uname -v)" "$id"
	run -0 kdelta list kernels --format json
	jq -e '.[0] | .kernel == "running" and .why_not == null' <<<"$output"
}

@test "installed: what is not there names what is" {
	"$tests/vm/make-kernel" root/boot/vmlinuz-6.1 6.1 '#1 SMP x' "$OLD_ID"
	run -2 --separate-stderr kdelta vm installed:6.2
	says 'installed:6.2' 'there are: 6.1'
	run -2 --separate-stderr kdelta vm installed:../6.1
	says 'not a release'
}

@test "build trees and an installed kernel boot, with their configurations" {
	tree tree 6.1.0-tree "$NEW_ID"
	"$tests/vm/make-kernel" root/boot/vmlinuz-6.1 6.1 '#1 SMP x' "$OLD_ID"
	printf '%s\n' "$CONFIG" >root/boot/config-6.1
	run -0 --separate-stderr fake_vm -q --boots 1 --format json installed:6.1 tree
	jq -e '[.kernels[] | [.label, .build_id, .config_known]] == [["6.1", "'"$OLD_ID"'", true],
		["6.1.0-tree", "'"$NEW_ID"'", true]]' <<<"$output"
	[ "$(exported kernel .source | sort | paste -sd' ')" = "installed:6.1 tree" ]
}

@test "two kernels of one release are two kernels" {
	tree a 5.7.0-rc7 "$OLD_ID"
	tree b 5.7.0-rc7 "$NEW_ID"
	run -0 fake_vm -q --boots 2 a b
	[[ $output != *A/A* ]]
	run -0 kdelta compare --format json
	jq -e '[.kernels[] | [.label, .release, .build_id, .boots]] == [
		["5.7.0-rc7", "5.7.0-rc7", "'"$OLD_ID"'", 2],
		["5.7.0-rc7_2", "5.7.0-rc7", "'"$NEW_ID"'", 2]] and .kernels[1].same_as_base == false' <<<"$output"
	run -2 --separate-stderr kdelta compare 5.7.0-rc7 5.7.0-rc7
	says 5.7.0-rc7
}

@test "the label says one kernel, its configuration another" {
	tree a 6.1.0-zen "$OLD_ID" CONFIG_PROVE_LOCKING=y
	tree b 6.1.0-zen "$NEW_ID"
	run -0 fake_vm -q --boots 2 fast=a plain=b
	[[ ${lines[0]} = 'Debugging options differ between fast and plain: '* ]]
	prints 'only in fast: CONFIG_PROVE_LOCKING=y.' 'one release string and are not one kernel'
	run -0 kdelta compare --format json
	jq -e '.rows[0].pairs[0].flags | index("debug")' <<<"$output"
	jq -e '.differences[0] | .class == "debug" and .name == "CONFIG_PROVE_LOCKING" and
		.in_base == "y" and .in_new == null' <<<"$output"
}
