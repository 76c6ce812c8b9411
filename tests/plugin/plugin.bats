#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the plugin counts of a guest whose instructions were counted by hand: fixture.S. With
# KDELTA_QEMU2, a second QEMU (a command, options may follow), all of it is done with that, too.
load ../cli/common

plugin=$build/kdelta-plugin.so
fixture=$build/tests/plugin/fixture

setup()
{
	cd "$BATS_TEST_TMPDIR"
	nm "$fixture" >symbols
}

teardown()
{
	[ -z "${child-}" ] || kill -9 "$child" 2>/dev/null || true
}

# Each QEMU there is: calls the function it is given, with the QEMU in $qemu.
each_qemu()
{
	local command
	for command in qemu-system-x86_64 "${KDELTA_QEMU2-}"; do
		[ -n "$command" ] || continue
		read -ra qemu <<<"$command"
		version=$("${qemu[@]}" --version | sed -n 's/.*version \([0-9]*\)[.]\([0-9]*\).*/\1 \2/p')
		major=${version% *} minor=${version#* }
		echo "--- $command, $major.$minor"
		"$@"
	done
}

# guest OPTION...: QEMU's machine with the fixture; ACCEL is added to -accel.
guest()
{
	timeout 60 "${qemu[@]}" -accel "tcg,thread=single${ACCEL-}" -icount shift=0,sleep=off \
		-machine pc -cpu max -m 64 -display none -nodefaults -no-reboot \
		-device isa-debug-exit,iobase=0xf4,iosize=4 -kernel "$fixture" "$@"
}

# counted NAME OPTION...: runs it to its end; the plugin's `out` is NAME, FROM an option more.
counted()
{
	local rc=0
	guest -plugin "file=$plugin,out=$1,contexts=contexts${FROM-}" "${@:2}" || rc=$?
	[ $rc = 11 ] || { echo "the guest ended with $rc"; return 1; }
}

addr()
{
	awk -v name="$1" '$3 == name { print $1 }' symbols
}

# The addresses at which the fixture's contexts change.
contexts()
{
	local name
	echo "hardirq_enter $(addr hard_enter)"
	echo "hardirq_exit $(addr hard_exit)"
	for name in soft soft_2 soft_3; do
		echo "softirq $(addr ${name}_start) $(addr ${name}_end)"
	done
	echo "switch $(addr switch_start) $(addr switch_end)"
	echo "idle $(addr idle_code)"
	echo "kworker $(addr kworker_code)"
	echo "kworker $(addr reused_code)"
	echo "rcu $(addr rcu_code)"
}

# section NAME WORDS: what is expected, a line for each record of WORDS words, in hexadecimal.
section()
{
	objcopy -O binary -j "$1" --set-section-flags "$1=alloc" "$fixture" section
	od -An -v -t x8 -w$(($2 * 8)) section
}

# The windows that are expected, the name of the function behind each.
expected_windows()
{
	local words word
	while read -ra words; do
		printf 'window %s' "$([ $((16#${words[0]})) = 0 ] && echo batch || echo overhead)"
		for word in "${words[@]:1:10}"; do
			printf ' %d' "$((16#$word))"
		done
		echo " $(awk -v addr="${words[11]}" '$1 == addr { print $3; exit }' symbols)"
	done < <(section .windows 12)
}

# Likewise the lines of some addresses.
expected_counts()
{
	local a c o cr or t
	while read -r a c o cr or t; do
		[ $((16#$t)) != 0 ] || t=-
		echo "count $a $((16#$c)) $((16#$o)) $((16#$cr)) $((16#$or)) $t"
	done < <(section .counts 6)
}

# The same names behind what was counted, so that a difference says where.
named_windows()
{
	grep '^window' "$1" | paste -d ' ' - <(expected_windows | sed 's/.* //')
}

as_by_hand()
{
	contexts >contexts
	counted out
	[ "$(head -n 1 out)" = "kdelta-plugin 1 api $((major < 9 ? 1 : 2)) contexts yes" ]
	[ "$(tail -n 1 out)" = end ]
	expected_windows >want
	[ "$(wc -l <want)" -gt 80 ]
	named_windows out | diff -u want -
	expected_counts | sort >want
	[ "$(wc -l <want)" -gt 30 ]
	awk 'NR == FNR { wanted[$2]; next } $1 == "count" && $2 in wanted' want out | sort | diff -u want -
}

@test "each window, and each address that was looked at: as counted by hand" {
	each_qemu as_by_hand
}

sums_agree()
{
	contexts >contexts
	counted out
	awk '
	$1 == "window" {
		if ($3 + $4 + $5 + $6 + $7 != $8 + $9)
			bad = bad "\n" $0
		if ($2 == "batch") {
			kernel += $8
			user += $9
			rep += $10
		}
	}
	$1 == "count" {
		if ($2 == "0")
			user -= $3 + $4
		else
			kernel -= $3 + $4
		rep -= $5 + $6
		if (last != "" && $2 <= last)
			bad = bad "\nnot ascending: " $0
		last = $2
		n++
	}
	END {
		if (bad != "" || kernel || user || rep || n < 200)
			print "kernel", kernel, "user", user, "rep", rep, "lines", n, bad
		exit bad != "" || kernel || user || rep || n < 200
	}' out
}

@test "the sums by context, by space and by address are one" {
	each_qemu sums_agree
}

one_at_a_time()
{
	local option=()
	contexts >contexts
	counted out
	if [ $((major * 100 + minor)) -ge 801 ]; then
		ACCEL=,one-insn-per-tb=on counted single
	else
		counted single -singlestep
	fi
	[ "$(tail -n 1 out)" = end ]
	# But for the instruction that changes the one behind it: QEMU gives up a longer piece of code
	# there and begins it anew.
	diff -u <(all_but_patched out) <(all_but_patched single)
}

all_but_patched()
{
	named_windows "$1" | grep -v ' patches_itself$'
	grep -v "^window\|^count $(addr patches_itself_store) " "$1"
}

@test "translated one instruction at a time: the same to the byte" {
	each_qemu one_at_a_time
}

without_contexts()
{
	local rc=0
	contexts >contexts
	counted out
	: >empty
	guest -plugin "file=$plugin,out=none" || rc=$?
	[ $rc = 11 ]
	rc=0
	guest -plugin "file=$plugin,out=of_empty,contexts=empty" || rc=$?
	[ $rc = 11 ]
	cmp none of_empty
	[[ $(head -n 1 none) = *' contexts no' ]]
	# All is the task's, nothing is known of interrupts; the other figures are the same.
	diff -u <(awk '$1 == "window" { print $1, $2, $8 + $9, 0, 0, 0, 0, $8, $9, $10, 0, 0 }' out) \
		<(grep '^window' none)
	diff -u <(awk '$1 == "count" { print $1, $2, $3 + $4, 0, $5 + $6, 0, $7 }' out) \
		<(grep '^count' none)
}

@test "without contexts: all is the task's" {
	each_qemu without_contexts
}

# The fixture's first marker is the one that asks for it; code of the windows ran before.
from_the_marker()
{
	contexts >contexts
	counted out
	FROM=,from=marker counted marked
	cmp out marked
}

@test "counted from the marker on, all code translated anew: the same to the byte" {
	each_qemu from_the_marker
}

# refused WORDS PLUGIN-OPTIONS [OPTION]...: QEMU does not start, and one line of ours says why.
refused()
{
	local rc=0
	guest -plugin "file=$plugin$2" "${@:3}" 2>err || rc=$?
	[ $rc = 1 ] || { echo "ended with $rc"; cat err; return 1; }
	[ "$(grep -c '^kdelta-plugin: ' err)" = 1 ]
	grep -qF -- "kdelta-plugin: $1" err || { cat err; return 1; }
}

refusals()
{
	printf 'idle 1\nhardirq 2\n' >word
	printf 'softirq 20 10\n' >range
	printf 'idle 11112222333344445\n' >long
	printf 'idle 1 2\n' >more
	printf 'idle 1' >cut
	refused 'contexts: word:2: unknown word' ,out=o,contexts=word
	refused 'contexts: range:1: no range' ,out=o,contexts=range
	refused 'contexts: long:1: no address' ,out=o,contexts=long
	refused 'contexts: more:1: no end of the line' ,out=o,contexts=more
	refused 'contexts: cut:1: no end of the line' ,out=o,contexts=cut
	refused 'contexts: nowhere: No such file or directory' ,out=o,contexts=nowhere
	refused 'out: no/where: No such file or directory' ,out=no/where
	refused 'into=x: not known: say out=FILE, contexts=FILE and from=marker' ,into=x
	[ "$major" -ge 9 ] || refused '2 CPUs: at most 1 with this QEMU' ,out=o -smp 2
}

@test "what it cannot do it refuses in one line" {
	each_qemu refusals
}

# Whose instruction it was cannot be told then: the contexts are not looked at. The second CPU sleeps,
# so the sums are the first one's.
two_cpus()
{
	contexts >contexts
	[ "$major" -ge 9 ] || return 0
	counted two -smp 2
	guest -plugin "file=$plugin,out=none" || [ $? = 11 ]
	cmp none two
	counted three -smp 3
	cmp none three
}

@test "several CPUs: one sum, no contexts" {
	each_qemu two_cpus
}

killed()
{
	local rc=0
	contexts >contexts
	echo old >out
	"${qemu[@]}" -accel tcg -display none -nodefaults -S -kernel "$fixture" \
		-plugin "file=$plugin,out=out,contexts=contexts" 3>&- &
	child=$!
	end=$((SECONDS + 60))
	while [ -s out ]; do
		[ "$SECONDS" -lt "$end" ]
		sleep .1
	done
	kill -9 "$child"
	wait "$child" 2>/dev/null || true
	[ -f out ]
	[ ! -s out ]
	# A full disk: said, and there is no end.
	guest -plugin "file=$plugin,out=/dev/full,contexts=contexts" 2>err || rc=$?
	[ $rc = 11 ]
	# QEMU may warn of other things.
	[ "$(grep '^kdelta-plugin' err)" = 'kdelta-plugin: cannot write the counts: No space left on device' ]
}

@test "a guest that never finishes leaves nothing; what cannot be written is said" {
	each_qemu killed
}

@test "the file needs libc and QEMU, and shows two names" {
	[ "$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sort | xargs)" = \
		'qemu_plugin_install qemu_plugin_version' ]
	[ -z "$(nm -D --undefined-only "$plugin" | awk '$1 == "U" && $2 !~ /@GLIBC_/')" ]
	[ "$(readelf -d "$plugin" | grep -o 'Shared library: .*')" = 'Shared library: [libc.so.6]' ]
	run ! grep -q TEXTREL <<<"$(readelf -d "$plugin")"
}
