#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Channels and faults of real guests: $KDELTA_TEST_KERNEL comes with the modules of virtio-serial.
# What can be played is in tests/cli/faults.bats.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	cd "$BATS_TEST_TMPDIR"
	: "${KDELTA_TEST_KERNEL:?names the kernel to boot, see tools/test-kernel}"
}

teardown()
{
	[ -z "${child-}" ] || kill -9 "$child" 2>/dev/null || true
}

# boot APPEND OPTION...
boot()
{
	kdelta vm --accel tcg --boots 1 --time 200ms --invocations 1 -w getppid "${@:2}" \
		"k=$KDELTA_TEST_KERNEL,append=$1"
}

@test "a kernel without a second serial line: the records come through virtio-serial" {
	run -0 --separate-stderr boot 8250.nr_uarts=1
	[ "$(exported boot .state)" = ok ]
	[ "$(exported usage .inv | wc -l)" = 1 ]
}

@test "a module that cannot be loaded is a failure that names it, through the serial line" {
	run -3 --separate-stderr boot module_blacklist=virtio_console
	[[ $stderr = *"the module "*"-virtio_console.ko cannot be loaded: Operation not permitted (EPERM)"* ]]
	[ "$(exported boot .state)" = failed ]
}

@test "a guest whose clock is stopped has hung" {
	boot quiet -w ctx --time 20s --silence-timeout 3s \
		--qemu-args '-qmp unix:q.sock,server=on,wait=off' >out 2>err 3>&- &
	child=$!
	end=$((SECONDS + 60))
	until [ "$(sqlite3 "$KDELTA_STORE" 'SELECT count(*) FROM hello' 2>/dev/null)" = 1 ]; do
		[ "$SECONDS" -lt "$end" ]
		sleep .1
	done
	python3 - <<-END
		import socket
		s = socket.socket(socket.AF_UNIX)
		s.connect("q.sock")
		f = s.makefile("rw")
		f.readline()
		for command in "qmp_capabilities", "stop":
		    f.write('{"execute": "%s"}\n' % command)
		    f.flush()
		    f.readline()
	END
	rc=0
	wait "$child" || rc=$?
	[ "$rc" = 3 ]
	[ "$(exported boot .reason)" = "$(exported boot .reason | grep '^hung: no record for 3 s; ')" ]
	[ -z "$(pgrep -f 'qemu-system.*unix:q[.]sock')" ]
}
