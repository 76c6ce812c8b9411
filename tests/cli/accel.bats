#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# KVM or TCG, which QEMU, and what it is started with. The fake QEMU plays both; KDELTA_KVM is a file
# that passes for /dev/kvm.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
	export KDELTA_KVM=/dev/null FAKE_QEMU_PIDS=$BATS_TEST_TMPDIR/pids FAKE_QEMU_ARGS=$BATS_TEST_TMPDIR/args
	export KDELTA_KVM_TIMEOUT=1000
	cache=$HOME/.cache/kdelta/kvm.json
	key='7.2.0 (fake), /dev/null'
}

auto_vm()
{
	fake_vm --boots 1 "$@"
}

# How many QEMUs there were.
boots()
{
	grep -c . pids
}

@test "KVM that works: tried once, remembered, the class is kvm" {
	run -0 --separate-stderr auto_vm --format json old new
	[ "$(grep -c '^trying KVM' <<<"$stderr")" = 1 ]
	[[ $stderr != *emulating* ]]
	jq -e '.rows | all(.class == "kvm")' <<<"$output"
	[ "$(boots)" = 3 ]
	jq -e --arg k "$key" '.qemu[$k].works == true' "$cache"
	[ "$(jq -r '.boot_id' "$cache")" = "$(cat /proc/sys/kernel/random/boot_id)" ]
	[ "$(exported invocation '.context | [.accel, .cpu] | @tsv' | sort -u)" = "kvm	host" ]
	[ "$(exported invocation .context.host_cpu | sort -u)" = \
		"$(sed -n '/^model name/{s/.*: //p;q}' /proc/cpuinfo)" ] || ! grep -q '^model name' /proc/cpuinfo
	grep -qx kvm args
	run -0 --separate-stderr auto_vm old new
	[[ $stderr != *trying* ]]
	[ "$(boots)" = 5 ]
	# Another QEMU is another question, and its answer forgets none.
	FAKE_QEMU_VERSION=8.0.0 run -0 --separate-stderr auto_vm old
	[[ $stderr = *trying* ]]
	[ "$(jq -c '.qemu | keys' "$cache")" = '["7.2.0 (fake), /dev/null","8.0.0 (fake), /dev/null"]' ]
	# So is another device.
	ln -s /dev/null kvm2
	KDELTA_KVM=$PWD/kvm2 run -0 --separate-stderr auto_vm old
	[[ $stderr = *trying* ]]
	[ "$(jq '.qemu | length' "$cache")" = 3 ]
	# So is another boot of this machine, and that forgets all.
	sed -i 's/"boot_id": "./&x/' "$cache"
	run -0 --separate-stderr auto_vm old
	[[ $stderr = *trying* ]]
	[ "$(jq -c '.qemu | keys' "$cache")" = '["7.2.0 (fake), /dev/null"]' ]
}

@test "KVM that is there and dead: emulated, said once, remembered" {
	export FAKE_QEMU=dead-kvm
	run -0 --separate-stderr auto_vm --format json old new
	[ "$(grep -c 'emulating (TCG): /dev/kvm is there' <<<"$stderr")" = 1 ]
	[[ $stderr = *"hung: booting: no record in 1 s"*"--accel kvm insists"* ]]
	jq -e '.rows | all(.class == "emulated")' <<<"$output"
	[ "$(boots)" = 4 ]
	jq -e --arg k "$key" '.qemu[$k] | .works == false and (.why | startswith("hung")) and .time > 1e9' "$cache"
	[ "$(exported invocation '.context | [.accel, .cpu] | @tsv' | sort -u)" = "tcg	max" ]
	# Said again where it is not tried again.
	run -0 --separate-stderr auto_vm old new
	[ "$(grep -c 'emulating (TCG)' <<<"$stderr")" = 1 ]
	[[ $stderr != *trying* ]]
	[ "$(boots)" = 6 ]
	run -3 --separate-stderr fake_vm --accel kvm --boots 1 --boot-timeout 1s old
	[[ $stderr = *"hung: booting: no record in 1 s"* ]]
	jq -e --arg k "$key" '.qemu[$k].works == false' "$cache"
	# A day later it is tried again.
	jq --arg k "$key" '.qemu[$k].time -= 86401' "$cache" >later.json
	cp later.json "$cache"
	FAKE_QEMU=ok run -0 --separate-stderr auto_vm old new
	[[ $stderr = *trying* && $stderr != *emulating* ]]
}

@test "a dead KVM that works when it is insisted on is dead no more" {
	FAKE_QEMU=dead-kvm auto_vm -q old >/dev/null
	jq -e --arg k "$key" '.qemu[$k].works == false' "$cache"
	run -0 fake_vm --accel kvm --boots 1 old
	jq -e --arg k "$key" '.qemu[$k].works == true' "$cache"
	run -0 --separate-stderr auto_vm -e later old
	[[ $stderr != *emulating* && $stderr != *trying* ]]
}

@test "a guest that hangs: the next is asked, and what the user's settings may cause is not remembered" {
	# KVM is well, one kernel is not, and the timeout is too short for any.
	run -3 --separate-stderr auto_vm --boot-timeout 10ms old=old,append=FAKE_QEMU=silent new
	[[ $stderr != *emulating* ]]
	jq -e --arg k "$key" '.qemu[$k].works == true' "$cache"
	rm "$cache"
	run -3 --separate-stderr auto_vm --boot-timeout 1s old=old,append=FAKE_QEMU=silent
	[[ $stderr = *emulating* ]]
	[ ! -e "$cache" ]
	for args in '--mem 256MiB' '--cpus 2' '--cpu EPYC'; do
		FAKE_QEMU=dead-kvm run -0 --separate-stderr auto_vm -e "${args//[^a-z]/}" $args old
		[[ $stderr = *emulating* ]]
		[ ! -e "$cache" ]
	done
	# A QEMU that says nothing at all may be a slow one.
	FAKE_QEMU=no-qmp run -3 --separate-stderr auto_vm --boot-timeout 1s old=old
	[[ $stderr = *emulating*"did not answer"* ]]
	[ ! -e "$cache" ]
}

@test "KVM that QEMU cannot use; a user's own settings may be why" {
	export FAKE_QEMU=no-kvm
	run -0 --separate-stderr auto_vm --cpu EPYC old
	[[ $stderr = *"emulating (TCG)"*"Could not access KVM kernel module"* ]]
	[ ! -e "$cache" ]
	run -0 --separate-stderr auto_vm old
	[[ $stderr = *"emulating (TCG)"*"Could not access KVM kernel module"* ]]
	jq -e --arg k "$key" '.qemu[$k].works == false' "$cache"
}

@test "a kernel that fails by itself says nothing about KVM: the next is asked, nothing remembered" {
	FAKE_QEMU_AGENT= run -3 --separate-stderr auto_vm old=old,append=FAKE_QEMU=panic new=new
	[ "$(boots)" = 4 ]
	[[ $stderr = *"emulating (TCG)"*"exited early"* ]]
	[ ! -e "$cache" ]
	# One that says hello has come up, whatever becomes of it.
	run -3 --separate-stderr auto_vm --format json old=old,append=FAKE_QEMU=panic new=new
	jq -e '.rows[0].class == "kvm"' <<<"$output"
	[ "$(boots)" = 7 ]
}

@test "no /dev/kvm: emulated without a word, and an error where KVM was asked for" {
	export KDELTA_KVM=$PWD/none
	run -0 --separate-stderr auto_vm -q --format json old
	jq -e '.rows[0].class == "emulated"' <<<"$output"
	[ "$stderr" = "kdelta: one kernel: values, and nothing to compare them with" ]
	run -2 --separate-stderr fake_vm --accel kvm old
	says '--accel kvm' "$PWD/none" 'No such file'
}

@test "--accel tcg asks nobody" {
	run -0 --separate-stderr fake_vm --accel tcg --boots 1 old
	[ "$(boots)" = 1 ]
	[[ $stderr != *KVM* ]]
	[ ! -e "$cache" ]
	run -2 --separate-stderr fake_vm --accel hvf old
	says --accel "'hvf'" 'auto|kvm|tcg'
}

@test "kvm has verdicts, and --fail-on goes by them" {
	slow=new,append=KDELTA_MOCK=time=150,151,149
	run -1 --separate-stderr auto_vm --boots 4 --fail-on worse old=old,append=KDELTA_MOCK=time=100,101,99 new="$slow"
	[[ $output = *worse* ]]
	run -0 --separate-stderr auto_vm --boots 4 --fail-on worse old="$slow" new=old,append=KDELTA_MOCK=time=100,101,99
	# Where the answer is TCG it is refused before there is an experiment.
	rm -r "$cache" "$KDELTA_STORE"
	FAKE_QEMU=dead-kvm run -2 --separate-stderr auto_vm --boot-timeout 1s --fail-on worse old new
	[[ $stderr = *--fail-on*emulated* ]]
	[ ! -e "$KDELTA_STORE" ]
}

@test "the Reproduce line has the accelerator, the CPU and QEMU's arguments" {
	run -0 fake_vm --boots 1 --cpu 'EPYC,-avx' --qemu-args '-rtc "base=2000-01-01 x" -name '\''a"b'\''' old new
	command=$(sed -n 's/^Reproduce: //p' <<<"$output")
	[[ $command = *" --accel kvm --cpu EPYC,-avx "* ]]
	[ "$(tail -n 4 args)" = $'-rtc\nbase=2000-01-01 x\n-name\na"b' ]
	[ "$(exported invocation .context.qemu_args | sort -u)" = '["-rtc","base=2000-01-01 x","-name","a\"b"]' ]
	export KDELTA_STORE=$BATS_TEST_TMPDIR/again.db
	eval "$command" >/dev/null
	[ "$(tail -n 4 args)" = $'-rtc\nbase=2000-01-01 x\n-name\na"b' ]
}

@test "--qemu-args: numbers with and without are never compared; a quote that does not end" {
	fake_vm -q -e x --accel tcg --boots 1 old new >/dev/null
	run -0 fake_vm -q -e y --accel tcg --boots 1 --qemu-args '-name x' old new
	run -0 kdelta compare -e x -e y --format json
	[ "$(exported invocation .context.qemu_args | sort -u)" = $'["-name","x"]\nnull' ]
	jq -e '.rows | length == 2' <<<"$output"
	run -2 --separate-stderr fake_vm --qemu-args "-name 'x" old
	says --qemu-args 'quote' "'x"
	run -3 --separate-stderr fake_vm --accel tcg --boots 1 --qemu-args '-no-such-option' old
	[[ $stderr = *"-no-such-option: invalid option"* ]]
}

@test "a QEMU that is too old, no program, no QEMU" {
	FAKE_QEMU_VERSION=6.2.0 run -2 --separate-stderr fake_vm old
	says fake-qemu 'QEMU 6.2.0 (fake)' '7.2 or newer'
	run -2 --separate-stderr kdelta vm --qemu "$PWD/old" -w mock:place=same old
	says "$PWD/old" 'not executable' qemu-system-x86
	run -2 --separate-stderr kdelta vm --qemu /bin/true -w mock:place=same old
	says /bin/true 'not a QEMU'
	run -2 --separate-stderr env "PATH=$build" kdelta vm -w mock:place=same old
	says 'qemu-system-x86_64 not found' 'install qemu-system-x86'
	[ ! -e "$KDELTA_STORE" ]
}

@test "a workload that needs a shell brings this machine's into the guest, and into the key" {
	run -0 --separate-stderr fake_vm --accel tcg --boots 1 -w sh old
	[[ "$(exported invocation 'select(.workload == "sh") | .context.shell_build_id' | head -n 1)" =~ ^([0-9a-f]{16,64}|\?)(\+([0-9a-f]{16,64}|\?))*$ ]]
	[[ $(exported boot .console) = *'there is a shell'* ]]
	run -0 --separate-stderr fake_vm --accel tcg --boots 1 none=old
	[ "$(kdelta export none | jq -rc 'select(.k == "invocation") | .context.shell_build_id' | sort -u)" = null ]
	[[ $(kdelta export none | jq -r 'select(.k == "boot") | .console') != *'there is a shell'* ]]
}

@test "fifty boots leave no process, no file and no boot unfinished" {
	mkdir tmp
	export TMPDIR=$PWD/tmp
	before=$(find . -type f | sort)
	run -0 fake_vm -q --accel tcg --boots 25 --format json old new
	jq -e '[.kernels[] | [.boots, .failed]] == [[25, 0], [25, 0]]' <<<"$output"
	[ "$(boots)" = 50 ]
	while read -r pid; do
		[ ! -e "/proc/$pid" ]
	done <pids
	find . -type f | sort | comm -13 <(echo "$before") - | diff - <(printf './%s\n' args pids store.db)
}
