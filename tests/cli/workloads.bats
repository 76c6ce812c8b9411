#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The base workloads in the real agent: what they need, what their parties' end does, what is left.
load common

setup()
{
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

# agent WORKLOAD...: a moment of each; records in $output.
agent()
{
	local w words=()
	for w; do
		words+=(-w "$w")
	done
	kdelta-agent run "${words[@]}" --time 100ms
}

# own KIND COMMAND...: in a namespace of its own (-n network, -m mounts).
own()
{
	if unshare "$1" true 2>/dev/null; then
		unshare "$@"
	elif unshare -r "$1" true 2>/dev/null; then
		unshare -r "$@"
	else
		skip "no namespaces of one's own here"
	fi
}

# of KIND FILTER: from the records in $output.
of()
{
	jq -r "select(.k == \"$1\") | $2" <<<"$output"
}

@test "a moment of each" {
	run -0 --separate-stderr kdelta-agent run --time 300ms -w unix:place=same -w udp:place=same \
		-w tcp:place=same -w tcp:size=64KiB,nodelay=on,place=same -w ring:place=same \
		-w poll:call=poll,handles=500 -w poll:call=select,handles=500,kind=tcp \
		-w poll:call=epoll,handles=10,wait=yes -w pagefault:kind=anon -w pagefault:kind=file \
		-w thread -w vfork -w posix_spawn -w sh
	[ -z "$(of fail .reason)" ]
	[ -z "$(of skip .reason)" ]
	[ "$(of sample .inv | sort -u | wc -l)" = 14 ]
	[ "$(of sample 'select(.ns < 1 or .ops < 1)' | wc -l)" = 0 ]
	[ "$(of invocation 'select(.workload == "tcp") | .context.address_family' | sort -u)" = ipv4 ]
	[[ $(of invocation 'select(.workload == "sh") | .context.shell') =~ ^[^\ ]+\ [0-9a-f]{16}$ ]]
	[ -z "$(ls "$TMPDIR")" ]
}

@test "a party that is killed: failed, with the reason, and nobody is left" {
	for w in pipe: unix: udp: tcp: ring: ring:procs=40,; do
		SECONDS=0
		kdelta-agent run -w "${w}place=same" --time 20s >records 2>/dev/null 3>&- &
		agent=$!
		party=
		for _ in {1..200}; do
			leader=$(pgrep -P "$agent") && party=$(pgrep -n -P "$leader") && break
			sleep .02
		done
		[ -n "$party" ]
		sleep .2
		kill -9 "$party"
		wait "$agent" || true
		[ "$SECONDS" -lt 10 ]
		output=$(<records)
		[[ $(of fail .reason) =~ ^(party (echo|member) died|(read|write|send|recv): the peer is gone) ]]
		[ -z "$(of sample .inv)" ]
		! kill -0 "$leader" 2>/dev/null
	done
}

@test "loopback is down: skipped, and what wants none is measured" {
	run -0 --separate-stderr own -n "$build/kdelta-agent" run --time 100ms -w udp:place=same \
		-w tcp:place=same -w poll:call=poll,kind=tcp,handles=10 -w unix:place=same
	[ "$(of skip '.workload + ": " + .reason' | sed 's/\(down\): .*/\1/')" = "$(printf '%s: loopback is down\n' udp tcp poll)" ]
	[ "$(of sample .inv | sort -u | wc -l)" = 1 ]
	[ -z "$(of fail .reason)" ]
}

@test "only 127.0.0.1, only ::1: measured over what is there, and the key says so" {
	for family in ipv4 ipv6; do
		if [ $family = ipv4 ]; then
			lacks='::1/128'
		else
			lacks='127.0.0.1/8'
			[ -d /proc/sys/net/ipv6 ] || continue
		fi
		run -0 --separate-stderr own -n bash -c "ip link set lo up && { ip addr del $lacks dev lo || true; } &&
			exec $build/kdelta-agent run --time 100ms -w udp:place=same -w tcp:place=same \
				-w poll:kind=tcp,call=poll,handles=10"
		[ -z "$(of fail .reason)$(of skip .reason)" ]
		[ "$(of sample .inv | sort -u | wc -l)" = 3 ]
		[ "$(of invocation .context.address_family | sort -u)" = $family ]
	done
}

@test "an address that was asked for and is not there is a skip" {
	run -0 --separate-stderr own -n bash -c "ip link set lo up && { ip addr del 127.0.0.1/8 dev lo; } &&
		exec $build/kdelta-agent run --time 100ms -w tcp:family=ipv4,place=same"
	if [ -d /proc/sys/net/ipv6 ]; then
		[ "$(of skip .reason)" = 'loopback has no 127.0.0.1 here (family=ipv4)' ]
	else
		[[ $(of skip .reason) = 'loopback is down'* ]]
	fi
	[ -z "$(of sample .inv)" ]
}

@test "a temporary folder without exec, one that cannot be written: skips that say what to set" {
	run -0 --separate-stderr own -m bash -c "mount -t tmpfs -o noexec none '$TMPDIR' &&
		exec $build/kdelta-agent run --time 100ms -w sh -w posix_spawn -w exec -w stat"
	[ "$(of skip .reason | sort -u)" = "a program in $TMPDIR cannot be executed, it is mounted noexec (Permission denied): set TMPDIR to a folder where it can" ]
	[ "$(of skip .workload)" = "$(printf '%s\n' sh posix_spawn)" ]
	[ "$(of sample .inv | sort -u | wc -l)" = 2 ]
	run -0 --separate-stderr own -m bash -c "mount -t tmpfs -o ro none '$TMPDIR' &&
		exec $build/kdelta-agent run --time 100ms -w sh -w posix_spawn"
	[ "$(of skip .reason | sort -u)" = "cannot write to $TMPDIR: set TMPDIR" ]
	TMPDIR=/nonexistent run -0 --separate-stderr agent posix_spawn
	[ "$(of skip .reason)" = 'cannot write to /nonexistent: set TMPDIR' ]
}

@test "no shell: a skip" {
	run -0 --separate-stderr own -m bash -c "mount --bind /dev/null '$(realpath /bin/sh)' &&
		exec $build/kdelta-agent run --time 100ms -w sh -w exec"
	[ "$(of skip '.workload + ": " + .reason')" = 'sh: there is no /bin/sh' ]
	[ "$(of sample .inv | sort -u | wc -l)" = 1 ]
}

@test "too few descriptors, too few tasks: skips before anything is started" {
	run -0 --separate-stderr bash -c "ulimit -n 200; kdelta-agent run --time 100ms \
		-w poll:call=poll,handles=500 -w ring:procs=150,place=same -w unix:place=same"
	[ "$(of skip '.workload + ": " + .reason' | sed 's/[0-9]\+/N/g')" = "$(printf \
		'%s: wants N descriptors, N left here: raise `ulimit -n`\n' poll ring)" ]
	[ "$(of sample .inv | sort -u | wc -l)" = 1 ]
}

@test "the listing says what each needs" {
	run -0 kdelta-agent list --format json
	[ "$(jq -c '[.workloads[] | select(.name == ("sh", "tcp", "getppid")) | .needs]' <<<"$output")" = \
		'[[],["tmpdir","shell"],["loopback"]]' ]
}

@test "the suites ipc and process name what there is" {
	export KDELTA_STORE=$PWD/store.db HOME=$PWD
	run -0 kdelta run -n -s ipc -s process -l x
	prints 'tcp size=1' 'udp size=4' 'unix size=1' 'ring procs=8' 'poll call=epoll' 'sh' \
		'thread' 'vfork' 'posix_spawn' 'pagefault kind=file'
}
