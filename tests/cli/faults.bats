#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Guests and QEMUs that come to grief: what is said, what is kept, that the others go on.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
}

# one_fails MODE REASON...: of two kernels with $boots boots each the new one fails as MODE says; the
# old one's boots go on, the table is printed, and each REASON is stored with each failed boot.
boots=2 timeout=30s
one_fails()
{
	local reason
	run -3 --separate-stderr fake_vm -e x --boots "$boots" --boot-timeout "$timeout" \
		--silence-timeout "$timeout" old=old "new=new,append=FAKE_QEMU=$1"
	echo "$stderr"
	grep -qE '^mock +\* +old ' <<<"$output"
	grep -qE '^ +new +- +-$' <<<"$output"
	[ "$(grep -cE '^boot ./. new failed: ' <<<"$stderr")" = "$boots" ]
	[ "$(grep -cE '^boot ./. old: ' <<<"$stderr")" = "$boots" ]
	run -0 --separate-stderr kdelta compare --format json
	jq -e --argjson n "$boots" '[.kernels[] | [.boots, .failed]] == [[$n, 0], [0, $n]]' <<<"$output"
	jq -e '.rows[0].values.new == null and .rows[0].pairs == []' <<<"$output"
	for reason in "${@:2}"; do
		[ "$(exported boot 'select(.state == "failed") | .reason' | grep -cF -- "$reason")" = "$boots" ]
	done
}

# console TEXT...: of a failed boot of "new".
console()
{
	local text
	run -0 kdelta show new --console
	for text; do
		grep -qF -- "$text" <<<"$output"
	done
}

@test "panic" {
	one_fails panic panicked 'Attempted to kill init! exitcode=0x00000700'
	console 'Kernel panic - not syncing: Attempted to kill init!' 'Run /init as init process'
}

@test "hang behind the first record" {
	boots=1 timeout=2s
	one_fails hang 'hung: no record for 2 s' 'Run /init as init process'
	console 'Run /init as init process'
}

@test "never a sign of life" {
	boots=1 timeout=2s
	one_fails silent 'hung: booting: no record in 2 s; the console is empty'
}

@test "early exit" {
	one_fails early-exit 'exited early' "without 'done'"
	console 'reboot: Power down'
}

@test "another kernel than the one that was given" {
	one_fails wrong-kernel 'another kernel booted' "$(printf '00%.0s' {1..20})" "$NEW_ID"
}

@test "QEMU refuses its arguments" {
	one_fails refuse-args 'qemu failed' 'exit 1' 'invalid accelerator tcg'
	console 'invalid accelerator tcg'
}

@test "QEMU fails in mid-run" {
	one_fails exit-nonzero 'qemu failed' 'exit 3' 'out of luck'
	console 'out of luck'
}

@test "QEMU does not answer" {
	boots=1 timeout=2s
	one_fails no-qmp 'QEMU did not answer on its control socket in 2 s'
}

@test "a channel full of garbage" {
	one_fails garbage-lines 'the channel carried no record'
	! exported boot . | grep -q $'\e'
}

@test "a line without an end" {
	one_fails overlong 'a line of more than 4194304 bytes'
}

@test "init finds no channel" {
	one_fails no-channel 'exited early' 'init said: no channel: nothing to send through'
	console 'kdelta-agent: no channel'
}

@test "init cannot load a module" {
	one_fails module-fails 'the module 01-none.ko cannot be loaded: Exec format error (ENOEXEC)'
}

@test "the runner is killed for want of memory" {
	one_fails oom 'the runner was killed by signal 9, Killed: the guest is out of memory'
}

@test "noise on the serial line beside records on the port" {
	run -0 --separate-stderr fake_vm --boots 1 --format json old=old,append=FAKE_QEMU=two-channels new=new
	jq -e '[.kernels[] | [.boots, .failed]] == [[1, 0], [1, 0]]' <<<"$output"
}

# package CONFIG-LINE...: kernel.deb, the old kernel with this configuration.
package()
{
	mkdir -p boot
	cp old boot/vmlinuz-6.1.0-old
	printf '%s=y\n' CONFIG_64BIT CONFIG_BINFMT_ELF CONFIG_BLK_DEV_INITRD "$@" >boot/config-6.1.0-old
	printf '2.0\n' >debian-binary
	printf 'Package: linux-image-6.1.0-old\nVersion: 6.1-1\nArchitecture: amd64\n' >control
	tar cJf control.tar.xz ./control
	tar cJf data.tar.xz ./boot
	ar rc kernel.deb debian-binary control.tar.xz data.tar.xz
}

@test "a kernel without a second serial line and virtio-serial: refused before a boot, with what it lacks" {
	package CONFIG_VIRTIO_PCI
	run -2 --separate-stderr fake_vm k=kernel.deb new
	says "'k'" 'CONFIG_SERIAL_8250_CONSOLE (not set)' 'CONFIG_SERIAL_8250 (not set)' \
		'CONFIG_VIRTIO_CONSOLE (not set)'
	[[ $stderr != *VIRTIO_PCI* ]]
	[ ! -e "$KDELTA_STORE" ]
}

@test "a package with a damaged module: said, and measured through the serial line" {
	mkdir -p lib/modules/6.1.0-old/kernel/drivers
	echo garbage | tee lib/modules/6.1.0-old/kernel/drivers/virtio_{pci,console}.ko >/dev/null
	package CONFIG_SERIAL_8250 CONFIG_SERIAL_8250_CONSOLE CONFIG_VIRTIO_PCI
	tar cJf data.tar.xz ./boot ./lib
	rm kernel.deb
	ar rc kernel.deb debian-binary control.tar.xz data.tar.xz
	run -0 --separate-stderr fake_vm --boots 1 k=kernel.deb
	[[ $stderr = *"k: no module is loaded: "*virtio_* ]]
	# Without that line it has nothing to send through.
	package
	tar cJf data.tar.xz ./boot ./lib
	rm kernel.deb
	ar rc kernel.deb debian-binary control.tar.xz data.tar.xz
	run -2 --separate-stderr fake_vm --boots 1 k=kernel.deb
	says "'k'" virtio_ 'CONFIG_VIRTIO_CONSOLE (not set)'
}

@test "a kernel without a serial console: said once, and measured" {
	package CONFIG_VIRTIO_PCI CONFIG_VIRTIO_CONSOLE
	run -0 --separate-stderr fake_vm --boots 2 k=kernel.deb new
	[ "$(grep -c 'k has no serial console (CONFIG_SERIAL_8250_CONSOLE)' <<<"$stderr")" = 1 ]
}

# Records leave by a port there, so neither a second serial line nor virtio is asked for.
@test "exact mode: without a serial console it is said, without an initramfs refused" {
	package
	run --separate-stderr kdelta vm --exact --qemu "$tests/vm/fake-qemu" -w getppid k=kernel.deb new
	[ "$(grep -c 'k has no serial console (CONFIG_SERIAL_8250_CONSOLE)' <<<"$stderr")" = 1 ]
	[[ $stderr != *'CONFIG_SERIAL_8250 (not set)'* && $stderr != *VIRTIO* ]]
	echo CONFIG_64BIT=y >boot/config-6.1.0-old
	tar cJf data.tar.xz ./boot
	ar r kernel.deb data.tar.xz
	rm -rf "$HOME"/.cache/kdelta "$KDELTA_STORE"
	run -2 --separate-stderr kdelta vm --exact --qemu "$tests/vm/fake-qemu" -w getppid k=kernel.deb new
	says "'k'" '(not set)'
	[[ $stderr = *CONFIG_BINFMT_ELF* || $stderr = *CONFIG_BLK_DEV_INITRD* ]]
	[ ! -e "$KDELTA_STORE" ]
}

@test "a failed boot has no numbers, its invocations none either" {
	one_fails panic panicked
	[ "$(exported sample .metric | sort -u)" = time ]
	[ "$(exported sample .inv | sort -u | wc -l)" = 2 ]
	[ "$(exported fail .reason | grep -c '^unfinished: panicked')" = 2 ]
}

@test "panic in the middle: what was complete before it stays" {
	FAKE_QEMU_LINES=$(kdelta-agent run -w mock:place=same | grep -n '"k":"usage"' | cut -d: -f1)
	export FAKE_QEMU_LINES
	run -3 fake_vm -e x --boots 1 --invocations 2 new=new,append=FAKE_QEMU=panic
	[ "$(exported boot .state)" = failed ]
	[ "$(exported usage .inv | wc -l)" = 1 ]
	[ "$(exported fail .inv | wc -l)" = 1 ]
}

@test "an oops with done: the boot counts, flagged" {
	run -0 fake_vm --boots 2 --format json old=old new=new,append=FAKE_QEMU=oops-but-done
	[ "$(kdelta compare --format json | jq -c '.rows[0].pairs[0].flags | index("kernel warned") != null')" = true ]
	run -0 kdelta compare
	prints 'kernel warned'
}

@test "a panic behind done: the boot counts, flagged" {
	run -0 fake_vm --boots 2 old=old new=new,append=FAKE_QEMU=panic-after-done
	prints 'kernel warned'
}

@test "all boots fail: clear words, 3, and what is stored can be seen" {
	run -3 --separate-stderr fake_vm -e x --boots 2 old=old,append=FAKE_QEMU=panic new=new,append=FAKE_QEMU=early-exit
	[ -z "$output" ]
	[[ $stderr = *"nothing was measured"*"--console"* ]]
	run -0 kdelta show old --console
	prints 'Kernel panic'
	run -3 kdelta compare
	prints '2 failed' panicked 'exited early'
	[[ $output != *nan* ]]
}

@test "one side always fails: Fisher's p, and no word for it" {
	run -3 fake_vm --boots 4 old=old new=new,append=FAKE_QEMU=early-exit
	prints 'failed 0 of 4 in old, 4 of 4 in new: p = .029'
}
