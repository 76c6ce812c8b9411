#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta run: the kernel that is running, boot after boot.
load common

setup()
{
	home_here
	export KDELTA_MOCK=time=100,101
}

mock_run()
{
	kdelta run -w mock:place=same "$@"
}

@test "results, and what to type next" {
	run -0 --separate-stderr mock_run -e patch -l old
	[ -z "$stderr" ]
	fits
	[[ ${lines[0]} = "old: $(uname -r)"*"1 boot" ]]
	grep -qE '^mock +\* +0\.100' <<<"$output"
	grep -qxF 'Next: kdelta run -e patch -w mock:place=same -l OTHER' <<<"$output"
	grep -qxF 'Next: kdelta compare -e patch' <<<"$output"
	! grep -qE 'ratio|\bnan\b' <<<"$output"
}

@test "what is to be typed next can be typed" {
	mock_run -e 'my patch' -l old --time 1s >out
	eval "$(sed -n 's/^Next: \(kdelta run .*\) OTHER$/\1/p' out) new" >/dev/null
	eval "$(sed -n 's/^Next: \(kdelta compare .*\)/\1/p' out)" >compared
	# Two labels of the kernel that runs.
	grep -q '^A/A' compared
}

@test "without -l the kernel's release is the label, without -e a name is wanted next" {
	run -0 mock_run
	[[ ${lines[0]} = *"$(uname -r): $(uname -r)"* ]]
	grep -qF "Next: kdelta run -e NAME -l $(uname -r) -w mock:place=same" <<<"$output"
}

@test "twice in one boot is one boot" {
	mock_run -e x -l old >/dev/null
	KDELTA_MOCK=time=110 mock_run -e x -l old >/dev/null
	[ "$(exported boot .boot_id)" = "$(cat /proc/sys/kernel/random/boot_id)" ]
	[ "$(exported experiment .name)" = x ]
	[ "$(exported usage .inv | wc -l)" = 4 ]
	run -0 --separate-stderr kdelta compare -e x --format json
	jq -e '.kernels[0].boots == 1 and .rows[0].values.old.boots == 1' <<<"$output"
	jq -e '.rows[0].values.old | .cv_boot == null and .cv_invocation > 0' <<<"$output"
}

@test "another boot of another kernel becomes the other side" {
	mock_run -e x -l old >/dev/null
	mock_boot_x()
	{
		mock_records 11111111-1111-4111-8111-111111111111 time=110 6.1.9 |
			kdelta import -e x -l new - >/dev/null
	}
	mock_boot_x
	run -0 kdelta compare -e x --format json
	jq -e '[.kernels[] | [.label, .boots]] == [["old", 1], ["new", 1]]' <<<"$output"
}

@test "the identity is the running kernel's" {
	mock_run -l old >/dev/null
	[ "$(exported kernel .release)" = "$(uname -r)" ]
	[ "$(exported kernel .version)" = "$(uname -v)" ]
	[[ $(exported invocation .class | sort -u) =~ ^(native|kvm|emulated)$ ]]
	if [ -r /sys/kernel/notes ]; then
		[ "$(exported kernel '.build_id | length')" -ge 32 ]
	fi
}

@test "the kernel under a label of the experiment is another one: refused" {
	mock_records 11111111-1111-4111-8111-111111111111 time=110 6.1.9 |
		kdelta import -e x -l old - >/dev/null
	run -2 --separate-stderr mock_run -e x -l old
	says "'old'" experiment
}

@test "json and csv: nothing else on stdout" {
	run -0 --separate-stderr mock_run --format json
	jq -e '.rows | length == 1' <<<"$output"
	run -0 --separate-stderr mock_run --format csv
	[ "${#lines[@]}" = 2 ]
}

@test "-n says what it would do, and does nothing" {
	run -0 --separate-stderr kdelta run -n -w pipe -w ctx:procs=2+8 -l old
	[[ ${lines[0]} = "Would measure the running kernel as 'old': "*" invocations, about "* ]]
	prints 'pipe place=same' 'ctx procs=8'
	! grep -q ' $' <<<"$output"
	[ ! -e "$KDELTA_STORE" ]
}

@test "--time and --invocations are kept to" {
	from=$(date +%s%N)
	run -0 kdelta run -w getppid -w read --time 1s --invocations 3 --format json
	[ $((($(date +%s%N) - from) / 1000000)) -lt 6000 ]
	[ "$(exported invocation .workload | sort | uniq -c | tr -s ' \n' ' ')" = ' 3 getppid 3 read ' ]
}

@test "one CPU: what only a default wanted is skipped, with the reason, and all is well" {
	run -0 taskset -c "$(taskset -pc $$ | sed 's/.*[: ]\([0-9]*\).*/\1/')" \
		kdelta run -w pipe --time 200ms --invocations 1 -l one
	prints Skipped 'pipe:place=spread, 1 of 1: place=spread wants 2 CPUs, 1 is allowed here'
	run -0 --separate-stderr kdelta compare --format json
	jq -e '.skips[0].implied and .failures == []' <<<"$output"
	jq -e '[.rows[] | select(.metric == "time") | .params] == ["place=same"]' <<<"$output"
}

@test "one CPU: what was asked for is done in part" {
	run -3 taskset -c "$(taskset -pc $$ | sed 's/.*[: ]\([0-9]*\).*/\1/')" \
		kdelta run -w pipe:place=same -w pipe:place=spread --time 200ms --invocations 1 -l one
	prints 'wants 2 CPUs, 1 is allowed here'
	grep -qE '^pipe' <<<"$output"
}

@test "a workload that fails: 3, the reason, no number" {
	KDELTA_MOCK=time=100,fail run -3 --separate-stderr mock_run -w getppid --time 200ms -l x
	[[ $stderr = *"failed: mock samples=3,place=same: scripted failure"* ]]
	prints 'x, mock:samples=3,place=same, 2 of 2: scripted failure'
	grep -qE '^getppid +\*' <<<"$output"
	[ "$(exported sample .inv | sort -u | wc -l)" = 2 ]
}

@test "a workload that crashes, that loses a party, that reports nonsense" {
	for word in crash partydie nan; do
		rm -f store.db*
		KDELTA_MOCK=time=100,$word run -3 mock_run --invocations 1 -l x
		[ -z "$(exported sample .metric)" ]
		[ "$(exported fail '.reason | length > 5')" = true ]
	done
}

@test "a workload that hangs fails after its heartbeat" {
	SECONDS=0
	KDELTA_MOCK=time=hang run -3 mock_run --heartbeat 500ms --invocations 1 -l x
	[ "$SECONDS" -lt 8 ]
	prints 'no sign of life for 500 ms'
}

@test "a workload that skips: asked for, so done in part" {
	KDELTA_MOCK=time=skip run -3 mock_run -l x
	prints Skipped 'scripted skip'
}

@test "an agent that is killed: the boot failed, what was complete stays" {
	cat >agent <<-END
		#!/bin/bash
		[ "\$1" = run ] || exec "$build/kdelta-agent" "\$@"
		"$build/kdelta-agent" "\$@" | sed '/"k":"usage"/q'
		kill -9 \$\$
	END
	chmod +x agent
	KDELTA_AGENT=$PWD/agent run -3 --separate-stderr mock_run -e x -l old
	[[ $stderr = *"this boot failed: the agent was killed by signal 9"* ]]
	[ "$(exported boot .state)" = failed ]
	[ "$(exported usage .inv | wc -l)" = 1 ]
	[ "$(exported fail .reason | grep -c '^unfinished: the agent was killed by signal 9')" = 1 ]
}

@test "an agent that ends early, one that talks nonsense" {
	for line in '' 'Hello?' '{"k":"usage","inv":"1","values":{}}'; do
		rm -f store.db*
		cat >agent <<-END
			#!/bin/sh
			[ "\$1" = run ] || exec "$build/kdelta-agent" "\$@"
			echo '$line'
		END
		chmod +x agent
		KDELTA_AGENT=$PWD/agent run -3 --separate-stderr mock_run -l old
		[[ $stderr = *"this boot failed: "* ]]
		[ "$(exported boot .state)" = failed ]
	done
}

@test "interrupted: 3, and an earlier run in this boot is not lost" {
	mock_run -e x -l old --invocations 1 >/dev/null
	KDELTA_MOCK=time=hang kdelta run -w mock:place=same -e x -l old >out 2>err 3>&- &
	child=$!
	for _ in {1..100}; do
		[ "$(sqlite3 "$KDELTA_STORE" 'SELECT count(*) FROM hello')" = 2 ] && break
		sleep .05
	done
	pgrep -P "$child" >agent.pid
	kill -INT "$child"
	wait "$child" || rc=$?
	[ "$rc" = 3 ]
	! kill -0 "$(cat agent.pid)" 2>/dev/null
	run -0 --separate-stderr kdelta compare -e x --format json
	jq -e '.kernels[0].boots == 1 and .rows[0].values.old.samples == 3' <<<"$output"
}
