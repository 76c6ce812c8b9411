#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What cannot be understood or read: exit code 2 and one line that names it, before anything is done.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
}

# refused WORD... -- COMMAND...: the one line says each WORD.
refused()
{
	local words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	run -2 --separate-stderr "${@:2}" </dev/null
	says "${words[@]}"
	[ -z "$output" ]
	[ ! -e "$KDELTA_STORE" ]
}

# A store with one experiment of old and new.
measured()
{
	fake_vm -q -e x --boots 1 old=old new=new >/dev/null
}

@test "a KERNEL that is none: what it is, and what is wanted" {
	echo 'Dear kernel,' >letter
	: >empty
	refused letter 'not a kernel' bzImage vmlinux .deb -- fake_vm letter
	refused empty 'is empty' -- fake_vm empty
	refused nosuch 'no such file' debian:RELEASE -- fake_vm nosuch
	refused . folder bzImage -- fake_vm .
	head -c 700 old >short
	refused short 'cut short, 700 bytes of' -- fake_vm old short
	head -c 300 old >shorter
	refused shorter -- fake_vm shorter
}

@test "a package that is cut short or holds no kernel" {
	printf '2.0\n' >debian-binary
	printf 'Package: hello\nVersion: 1\nArchitecture: amd64\n' >control
	mkdir -p usr
	echo hello >usr/hello
	tar cJf control.tar.xz control
	tar cJf data.tar.xz usr
	ar rc hello.deb debian-binary control.tar.xz data.tar.xz
	refused hello.deb -- fake_vm hello.deb
	for n in 8 100 200 "$(($(stat -c %s hello.deb) - 20))"; do
		head -c "$n" hello.deb >cut.deb
		refused cut.deb -- fake_vm cut.deb
	done
	mkdir -p boot
	cp old boot/vmlinuz-6.1.0-old
	printf 'Package: linux-image-6.1.0-old\nVersion: 6.1-1\nArchitecture: amd64\n' >control
	tar cJf control.tar.xz ./control
	tar cJf data.tar.xz ./boot
	rm hello.deb
	ar rc kernel.deb debian-binary control.tar.xz data.tar.xz
	head -c "$(($(stat -c %s kernel.deb) - 100))" kernel.deb >cut.deb
	refused cut.deb 'cut short' -- fake_vm cut.deb
	run -0 fake_vm -q --boots 1 --format csv kernel.deb
}

@test "debian: what apt does not offer" {
	refused debian: 'kdelta list kernels' -- fake_vm debian:
	if command -v apt-get >/dev/null; then
		export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
		refused debian:0.0.0-none -- fake_vm debian:0.0.0-none
	fi
}

@test "no kernel, a label twice" {
	refused 'kdelta vm OLD NEW' -- fake_vm
	refused "'a'" 'two kernels' -- fake_vm a=old a=new
}

@test "a workload, a parameter, a unit, a choice, a suite, a metric that are not known" {
	refused "'nosuch'" getppid -- fake_vm -w nosuch old
	refused mock "'speed'" samples -- fake_vm -w mock:speed=1 old
	refused ctx size "'K'" KiB -- fake_vm -w ctx:size=1K old
	refused ctx procs "'2q'" -- fake_vm -w ctx:procs=2q old
	refused ctx place 'same|spread|free' -- fake_vm -w ctx:place=nowhere old
	refused procs -- fake_vm -w ctx:procs=1000000 old
	refused "'nosuch'" demo -- fake_vm -s nosuch old
	refused "'nosuch'" 'time' -- fake_vm -m nosuch old
	refused nofile -- fake_vm -w @nofile old
	refused "'nosuch'" getppid -- kdelta run -w nosuch
	refused "'nosuch'" time -- kdelta run -w nop -m nosuch
}

@test "a list of workloads in a file names file and line where it is wrong" {
	printf '# mine\nmock:place=same\nnosuch\n' >mine
	refused nosuch mine -- fake_vm -w @mine old
}

@test "options of vm: a mistyped one, a value that is none" {
	refused --bots --boots -- fake_vm --bots 4 old
	refused --boots "0" 1000 -- fake_vm --boots 0 old
	refused --boots "'x'" -- fake_vm --boots x old
	refused --time "5 parsecs" -- fake_vm --time '5 parsecs' old
	refused --mem 64MiB -- fake_vm --mem 5 old
	refused --seed -1 -- fake_vm --seed -1 old
	refused --margin '9x' -- fake_vm --margin 9x old
	refused --format 'xml' json -- fake_vm --format xml old
	refused --margin -- fake_vm --margin 300% old
}

@test "a QEMU that is not there" {
	refused /nonexistent qemu-system-x86 -- kdelta vm --qemu /nonexistent -w mock:place=same old
	refused "$PWD/old" -- kdelta vm --qemu "$PWD/old" -w mock:place=same old
}

@test "an agent that is not there, or is none" {
	KDELTA_AGENT=/nonexistent refused KDELTA_AGENT /nonexistent -- fake_vm old
	KDELTA_AGENT=/nonexistent refused KDELTA_AGENT /nonexistent -- kdelta run
	KDELTA_AGENT=/nonexistent refused KDELTA_AGENT /nonexistent -- kdelta list workloads
	KDELTA_AGENT=/bin/true refused /bin/true -- kdelta run
	KDELTA_AGENT=/bin/false refused /bin/false -- kdelta run
	mkdir bin
	cp "$build/kdelta" bin
	refused "$PWD/bin/kdelta-agent" KDELTA_AGENT -- bin/kdelta run
}

@test "another agent than the one that was asked answers: nothing is believed" {
	cat >other-agent <<-END
		#!/bin/sh
		"$build/kdelta-agent" "\$@" | sed 's/"agent_build_id":"../&00/'
	END
	chmod +x other-agent
	FAKE_QEMU_AGENT=$PWD/other-agent run -3 --separate-stderr fake_vm --boots 1 old
	[[ $stderr = *"another agent answered"* ]]
}

@test "a label, an experiment, a metric, a workload that the store does not have" {
	measured
	known()
	{
		run -2 --separate-stderr "${@:2}"
		says "'$1'"
		[ -z "$output" ]
	}
	known nosuch kdelta compare nosuch
	[[ $stderr = *old* && $stderr = *new* ]]
	known nosuch kdelta compare old nosuch
	known nosuch kdelta compare -e nosuch
	known nosuch kdelta compare -m nosuch
	known nosuch kdelta compare -w nosuch
	known nosuch kdelta show nosuch
	known nosuch kdelta label rm nosuch
	known nosuch kdelta export nosuch
	run -2 --separate-stderr kdelta compare old~9
	says "'old'" '9 earlier experiments'
}

@test "run takes no arguments, and labels have rules" {
	refused "'fast'" '-l fast' -- kdelta run fast
	refused label -- kdelta run -l '' -w nop
	refused label -- kdelta run -l $'\xff' -w nop
}

@test "records that are none" {
	echo 'Dear store,' >letter
	run -2 --separate-stderr kdelta import letter
	[[ $stderr = *letter*"line 1"* ]]
	run -2 --separate-stderr kdelta import nosuch
	says nosuch
}

@test "the agent alone" {
	run -2 --separate-stderr kdelta-agent run -w nosuch
	says "'nosuch'" getppid
	run -2 --separate-stderr kdelta-agent run --plan nosuch
	says nosuch
	echo '{}' >plan
	run -2 --separate-stderr kdelta-agent run --plan plan
	says plan
	run -2 --separate-stderr kdelta-agent run
	[ -n "$stderr" ]
}
