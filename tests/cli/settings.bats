#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --set: on sysctls and offloads of a network namespace of the test's own, so that nothing of the
# machine is changed whatever happens.
load common
load guests

setup()
{
	home_here
	guests_here "$BATS_TEST_TMPDIR"
	export KDELTA_STATE=$BATS_TEST_TMPDIR/state KDELTA_MOCK=time=100,101
	unshare -rn true 2>/dev/null || skip 'may not unshare'
	printf '%s\n' "$helpers" >helpers.bash
}

# What scripts in the namespace may use.
export tests
helpers=$(
	cat <<'END'
sack() { cat /proc/sys/net/ipv4/tcp_sack; }
journal=$KDELTA_STATE/settings.json

# until_sack VALUE: waits for it; a measurement is going on then.
until_sack()
{
	for _ in {1..200}; do
		[ "$(sack)" != "$1" ] || return 0
		sleep .05
	done
	echo "tcp_sack never became $1"
	return 1
}

# plan MS SETTINGS...: each of them one item.
plan()
{
	local ms=$1 n=0 s sep=
	shift
	printf '{"protocol":1,"items":['
	for s; do
		printf '%s{"id":"%d","workload":"getppid","time_ns":%d,"settings":%s}' \
			"$sep" $((++n)) $((ms * 1000000)) "$s"
		sep=,
	done
	echo ']}'
}

# What became of items: kind, params, reason.
ends()
{
	jq -r 'select(.k | test("^(invocation|skip|fail)$")) | [.k, .params, .reason // ""] | @tsv' "$@"
}

# What the agent itself said.
said() { jq -r 'select(.k == "log" and .source == "agent") | .level + ": " + .text' "$@"; }

# mock_run OPTION...
mock_run() { kdelta run -q -w mock:place=same --invocations 1 "$@"; }
END
)

# in_ns: runs the script on stdin in a network namespace of its own, and fails where it fails.
in_ns()
{
	unshare -rn bash -euo pipefail -c \
		'. ./helpers.bash; BASH_XTRACEFD=9; set -x; . /dev/stdin' 3>&- 9>&2
}

@test "a sysctl: applied, read back, in the key, put back" {
	in_ns <<'END'
	[ "$(sack)" = 1 ]
	mock_run -e x -l a --set net/ipv4/tcp_sack=1+0x0 >text
	[ "$(sack)" = 1 ]
	[ ! -e "$journal" ]
	grep -E '^net\.ipv4\.tcp_sack=1 \* +0?\.?1' text
	grep -E '^net\.ipv4\.tcp_sack=0 ' text
	grep -F 'Next: kdelta run -e x -w mock:place=same --set net/ipv4/tcp_sack=1+0x0' text
END
	[ "$(exported invocation '[.params, .headline] | @tsv')" = \
		$'samples=3,place=same,set:net.ipv4.tcp_sack=1\ttrue
samples=3,place=same,set:net.ipv4.tcp_sack=0\tfalse' ]
	# It filters like a parameter.
	run -0 --separate-stderr kdelta compare -w mock:set:net.ipv4.tcp_sack=0 --format json
	jq -e '[.rows[].params] == ["samples=3,place=same,set:net.ipv4.tcp_sack=0"]' <<<"$output"
	run -2 kdelta compare -w mock:set:net.ipv4.tcp_sack=2
}

@test "the kernel really has the value meanwhile" {
	in_ns <<'END'
	plan 3000 '[["net.ipv4.tcp_sack","0"],["net.ipv4.ip_default_ttl","63"]]' >p
	kdelta-agent run --plan p >out &
	until_sack 0
	[ "$(cat /proc/sys/net/ipv4/ip_default_ttl)" = 63 ]
	[ "$(jq -r '.entries[] | .name + "=" + .old' "$journal")" = $'net.ipv4.ip_default_ttl=64\nnet.ipv4.tcp_sack=1' ]
	wait $!
	[ "$(sack) $(cat /proc/sys/net/ipv4/ip_default_ttl)" = '1 64' ]
	[ "$(ends out)" = $'invocation\tset:net.ipv4.ip_default_ttl=63,set:net.ipv4.tcp_sack=0\t' ]
END
}

@test "results with different settings are never compared with each other" {
	in_ns <<<'mock_run -e x -l a --set net.ipv4.tcp_sack=0 >/dev/null; mock_run -e x -l b --set net.ipv4.tcp_sack=1 >/dev/null; mock_run -e x -l b >/dev/null'
	run -0 --separate-stderr kdelta compare -e x --format json
	jq -e '(.rows | length) == 3 and all(.rows[]; .pairs == [])' <<<"$output"
}

@test "killed with -9: the next start puts it back and says so" {
	in_ns <<'END'
	kdelta run -q -e x -l a -w getppid --time 8s --set net.ipv4.tcp_sack=0 >out 2>err &
	until_sack 0
	agent=$(jq .pid "$journal")
	kill -9 "$agent"
	rc=0; wait $! || rc=$?
	[ $rc = 3 ]
	[ "$(sack)" = 0 ]
	# Any start: here one that sets nothing.
	mock_run -e x -l b >text 2>err
	[ "$(sack)" = 1 ]
	[ ! -e "$journal" ]
	want="an agent that was killed (process $agent) had left net.ipv4.tcp_sack at '0': put back to '1'"
	grep -qxF "kdelta-agent: $want" err
	[ "$(kdelta export | said)" = "warning: $want" ]
	mock_run -e x -l c >text 2>err
	[ ! -s err ] || { cat err; exit 1; }
END
}

@test "kdelta killed with -9: its agent puts it back" {
	in_ns <<'END'
	kdelta run -q -l a -w getppid --time 8s --set net.ipv4.tcp_sack=0 >out 2>err &
	until_sack 0
	kill -9 $!
	wait $! || true
	until_sack 1
	for _ in {1..100}; do [ -e "$journal" ] || break; sleep .05; done
	[ ! -e "$journal" ]
END
}

@test "SIGTERM, SIGHUP and SIGINT put it back, and still end it" {
	in_ns <<'END'
	plan 20000 '[["net.ipv4.tcp_sack","0"]]' >p
	for signal in TERM HUP INT; do
		# A shell's background job would ignore SIGINT.
		python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' kdelta-agent run --plan p >out &
		until_sack 0
		kill -$signal $!
		rc=0; wait $! || rc=$?
		[ $rc = $((128 + $(kill -l $signal))) ]
		[ "$(sack)" = 1 ]
		[ ! -e "$journal" ]
		[[ $(ends out) = $'fail\tset:net.ipv4.tcp_sack=0\tinterrupted by '* ]] || ends out | grep interrupted
		[ "$(grep -c '"k":"done"' out)" = 0 ]
	done
END
}

@test "interrupted by hand: kdelta waits until all is put back" {
	in_ns <<'END'
	kdelta run -q -l a -w getppid --time 8s --set net.ipv4.tcp_sack=0 >out 2>err &
	until_sack 0
	kill -TERM $!
	rc=0; wait $! || rc=$?
	[ $rc = 3 ]
	[ "$(sack)" = 1 ]
END
}

@test "two agents at once: the second changes nothing, and says who is first" {
	in_ns <<'END'
	plan 4000 '[["net.ipv4.tcp_sack","0"]]' >p
	plan 50 '[["net.ipv4.tcp_sack","0"]]' '[["net.ipv4.ip_default_ttl","63"]]' '[]' >q
	kdelta-agent run --plan p >first &
	until_sack 0
	kdelta-agent run --plan q >second
	ends second >ends
	for name in tcp_sack=0 ip_default_ttl=63; do
		grep -qxF "skip	set:net.ipv4.$name	another kdelta-agent changes settings (process $!)" ends
	done
	# Nothing of its own, but on a machine that is not as it seems: no number either.
	grep -qxF "skip		another agent (pid $!) has settings changed: net.ipv4.tcp_sack; wait for it" ends
	[ "$(grep -c '"k":"sample"' second)" = 0 ]
	[ -z "$(said second)" ]
	# In another network namespace tcp_sack is another one.
	plan 50 '[]' >r
	unshare -n kdelta-agent run --plan r >third
	[ "$(ends third | cut -f 1)" = invocation ]
	wait $!
	[ "$(ends first | cut -f 1)" = invocation ]
	[ "$(sack)" = 1 ]
END
}

@test "another agent that begins while one without settings measures: no number" {
	in_ns <<'END'
	plan 3000 '[]' >p
	plan 6000 '[["net.ipv4.tcp_sack","0"]]' >q
	kdelta-agent run --plan p >plain &
	plain=$!
	until grep -q '"k":"fact"' plain; do sleep .05; done
	sleep 1
	kdelta-agent run --plan q >other &
	until_sack 0
	rc=0; wait $plain || rc=$?
	[ $rc = 3 ]
	ends plain | grep -qxF "fail		another agent (pid $!) has settings changed: net.ipv4.tcp_sack; wait for it"
	[ "$(grep -c '"k":"sample"' plain)" = 0 ]
	wait $!
	[ "$(sack)" = 1 ]
END
}

@test "the folder of a user's state makes no difference for root" {
	[ "$(id -u)" = 0 ] && [ -w /run ] || skip 'not root'
	in_ns <<'END'
	# A /run of this test's own.
	unshare -m bash -euo pipefail -c '. ./helpers.bash; mount -t tmpfs none /run; unset KDELTA_STATE
	plan 20000 "[[\"net.ipv4.tcp_sack\",\"0\"]]" >p
	plan 50 "[]" >q
	XDG_STATE_HOME=$PWD/a kdelta-agent run --plan p >first &
	until_sack 0
	XDG_STATE_HOME=$PWD/b kdelta-agent run --plan q >second
	ends second | grep -F "another agent (pid $!) has settings changed"
	kill -9 $!
	wait $! || true
	XDG_STATE_HOME=$PWD/b kdelta-agent run --plan q >third
	[ "$(ends third | cut -f 1)" = invocation ]
	said third | grep -F "had left net.ipv4.tcp_sack"
	[ "$(sack)" = 1 ]
	[ ! -e a ] && [ ! -e b ]'
END
}

@test "the kernel's spelling of a list is the same list" {
	in_ns <<'END'
	plan 50 '[["net.ipv4.ip_local_reserved_ports","8081,8080"]]' >p
	kdelta-agent run --plan p >out
	[ "$(ends out)" = $'invocation\tset:net.ipv4.ip_local_reserved_ports=8080-8081\t' ]
	[ -z "$(cat /proc/sys/net/ipv4/ip_local_reserved_ports)" ]
END
}

@test "what the old value would not undo is refused" {
	in_ns <<'END'
	plan 50 '[["net.ipv4.ip_forward","1"]]' '[["net.ipv4.conf.all.rp_filter","2"]]' >p
	kdelta-agent run --plan p >out
	[ "$(ends out | grep -c '^skip.*a change of it cannot be undone$')" = 2 ]
	[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ]
END
}

@test "what the kernel refuses, and what is not there" {
	in_ns <<'END'
	plan 50 '[["net.ipv4.ip_default_ttl","300"]]' '[["kernel.osrelease","7"]]' '[["net.ipv4.nothing","1"]]' \
		'[["vm.drop_caches","3"]]' '[["offload:nosuch:tso","off"]]' '[["nosuch","1"]]' \
		'[["net.ipv4.tcp_sack","0"],["net.ipv4.ip_default_ttl","0"]]' '[["net.ipv4.tcp_sack","1"]]' >p
	rc=0; kdelta-agent run --plan p >out || rc=$?
	[ $rc = 3 ]
	ends out >ends
	[ "$(cut -f 1 ends | tr '\n' ' ')" = 'fail skip skip skip skip skip fail invocation ' ]
	grep -F 'setting net.ipv4.ip_default_ttl=300 is refused: /proc/sys/net/ipv4/ip_default_ttl: Invalid argument' ends
	grep -F 'setting kernel.osrelease=7: /proc/sys/kernel/osrelease: Permission denied' ends
	grep -F 'setting net.ipv4.nothing=1: /proc/sys/net/ipv4/nothing: No such file or directory' ends
	grep -F 'setting offload:nosuch:tso=off: device nosuch: No such device' ends
	# No samples of any that failed.
	[ "$(jq -r 'select(.k == "sample") | .inv' out | sort -u)" = 8 ]
	[ "$(sack) $(cat /proc/sys/net/ipv4/ip_default_ttl)" = '1 64' ]
END
}

@test "changed by somebody else while it ran: failed, not measured under the wrong value" {
	in_ns <<'END'
	plan 1500 '[["net.ipv4.tcp_sack","0"]]' >p
	kdelta-agent run --plan p >out &
	until_sack 0
	echo 2 >/proc/sys/net/ipv4/tcp_sack
	rc=0; wait $! || rc=$?
	[ $rc = 3 ]
	ends out | grep -F "setting net.ipv4.tcp_sack=0 did not stay: it reads '2'"
	[ "$(grep -c '"k":"sample"' out)" = 0 ]
	[ "$(sack)" = 1 ]
END
}

@test "left in another network namespace: put back there" {
	in_ns <<'END'
	plan 20000 '[["net.ipv4.tcp_sack","0"]]' >p
	plan 50 '[]' >q
	unshare -n bash -c 'kdelta-agent run --plan p >out & echo $! >pid; sleep 60 & wait %1; wait' &
	holder=$!
	for _ in {1..100}; do [ -e "$journal" ] && break; sleep .05; done
	sleep .3
	kill -9 "$(cat pid)"
	there() { nsenter -t "$holder" -n cat /proc/sys/net/ipv4/tcp_sack; }
	[ "$(there) $(sack)" = '0 1' ]
	echo 2 >/proc/sys/net/ipv4/tcp_sack
	kdelta-agent run --plan q >out2 2>err
	[ "$(there) $(sack)" = '1 2' ]
	said out2 | grep -F "had left net.ipv4.tcp_sack at '0': put back to '1'"
	kill -9 $(pgrep -P "$holder") "$holder"
END
}

@test "offloads of a veth, several together" {
	in_ns <<'END'
	ip link add v0 type veth peer name v1
	plan 3000 '[["offload:v0:tso","off"],["offload:v0:gso","off"]]' >p
	kdelta-agent run --plan p >out &
	for _ in {1..100}; do [ -e "$journal" ] && break; sleep .05; done
	[ "$(jq -r '.entries[] | .name + "=" + .old' "$journal")" = $'offload:v0:gso=on\noffload:v0:tso=on' ]
	wait $!
	[ "$(ends out)" = $'invocation\tset:offload:v0:gso=off,set:offload:v0:tso=off\t' ]
	# A second one finds them on again: it remembers them as on.
	kdelta run -l a -w mock:place=same --invocations 1 --set offload:v0:tso,gso=off+on --format json >json
	jq -e '[.rows[].params | sub("^samples=3,place=same,"; "")] | sort ==
		["set:offload:v0:gso=off,set:offload:v0:tso=off", "set:offload:v0:gso=on,set:offload:v0:tso=on"]' json
END
}

@test "--dry-run tells the combinations, and changes nothing" {
	run -0 --separate-stderr kdelta run -n -w mock:place=same --set net.ipv4.tcp_sack=1+0 --set offload:lo:tso,gso=on+off
	[[ ${lines[0]} = *' 8 invocations, about '* ]]
	prints 'Each point with 4 combinations of settings: net.ipv4.tcp_sack=1 offload:lo:gso=on offload:lo:tso=on net'
	[ ! -e "$KDELTA_STORE" ]
	[ ! -e "$KDELTA_STATE" ]
	run -0 --separate-stderr kdelta vm -n --boots 1 --seed 1 --set boot:a=1+2 --set thp=never old new
	prints 'Would boot 4 kernels, 1 time each' 'A old with a=1 B old with a=2 C new with a=1 D new with a=2' \
		'Each point with 1 combination of settings: thp=never'
	run -2 --separate-stderr kdelta vm --qemu "$tests/vm/fake-qemu" --set boot:a=1+2 old,append=a=0 new
	says 'append' '--set boot:'
}

@test "unknown settings, and those that a run cannot make: 2 and the known kinds" {
	run -2 --separate-stderr kdelta run --set foo=1
	says "--set foo=1: unknown setting 'foo'" net.ipv4.tcp_sack offload:DEV:FEATURE governor thp cpus boot:PARAM
	run -2 --separate-stderr kdelta run --set boot:mitigations=off
	says 'boot:mitigations' 'kdelta vm'
	run -2 --separate-stderr kdelta vm --set thp=sometimes old new
	says 'always|madvise|never'
	run -2 --separate-stderr kdelta run --set thp=never --set thp=always
	says "'thp' is given twice"
	[ ! -e "$KDELTA_STORE" ]
}

@test "in a guest: settings and boot parameters, side by side and reproducible" {
	in_ns <<'END'
	kdelta vm --qemu "$tests/vm/fake-qemu" --accel tcg -w mock:place=same --invocations 1 --boots 2 --seed 3 \
		--set boot:KDELTA_MOCK=time=100,101+time=90,91 --set net.ipv4.tcp_sack=1+0 old=old >out 2>err
	grep -c '^boot ./4 old KDELTA_MOCK=time=' err | grep -x 4
	grep -F 'A = old KDELTA_MOCK=time=100,101: 6.1.0-old' out
	grep -E '^net\.ipv4\.tcp_sack=1 \* A ' out
	grep -E '^ +B .* 0\.900 ' out
	[ "$(sack)" = 1 ]
	command=$(sed -n 's/^Reproduce: //p' out)
	[[ $command = *' --set boot:KDELTA_MOCK=time=100,101+time=90,91 --set net.ipv4.tcp_sack=1+0 '*' old=old' ]]
	rm "$KDELTA_STORE"
	eval "$command" >again 2>err
	diff <(sed -n '/^mock,/,/^$/p' out) <(sed -n '/^mock,/,/^$/p' again)
END
	[ "$(exported kernel '[.label, .source] | @tsv')" = \
		$'old KDELTA_MOCK=time=100,101\told,append=KDELTA_MOCK=time=100,101
old KDELTA_MOCK=time=90,91\told,append=KDELTA_MOCK=time=90,91' ]
	# One boot of each in each block.
	[ "$(exported boot '[.block, .kernel] | @tsv' | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" = '1 1 1 1 ' ]
	run -0 kdelta compare 'old KDELTA_MOCK=time=90,91' 'old KDELTA_MOCK=time=100,101' --format json
	jq -e '[.kernels[].label] == ["old KDELTA_MOCK=time=90,91", "old KDELTA_MOCK=time=100,101"]' <<<"$output"
}
