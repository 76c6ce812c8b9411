#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is true of machine and kernel: told, shown, and held against a verdict.
load common

setup()
{
	home_here
}

teardown()
{
	[ -z "${group-}" ] || rmdir "$group" 2>/dev/null || true
}

# fact NAME: its value before, in a stream on stdin.
fact()
{
	jq -r --arg n "$1" 'select(.k == "fact" and .name == $n and .when == "before") | .value'
}

# with NAME VALUE ...: in a stream, what facts are, before and after; those that are not there are
# added.
with()
{
	jq -cn --args '[$ARGS.positional | _nwise(2) | { (.[0]): .[1] }] | add as $f |
		inputs | if .k == "fact" and $f[.name] then empty
			elif .k == "done" then ($f | to_entries[] | .key as $n | .value as $v |
				{ k: "fact", when: ("before", "after"), class: "environment", name: $n, value: $v }), .
			else . end' "$@"
}

# boot LABEL RELEASE N SCRIPT FACTS: one of experiment mock, the Nth in time; FACTS are NAME=VALUE parted
# by "|".
boot()
{
	local pair pairs words=()
	IFS='|' read -ra pairs <<<"$5"
	for pair in "${pairs[@]}"; do
		words+=("${pair%%=*}" "${pair#*=}")
	done
	mock_records "$1$3" "$4" "$2" | with "${words[@]}" |
		jq -c --argjson n "$3" 'if .k == "hello" then .time_ns = (1000 + 60 * $n) * 1000000000 else . end' |
		kdelta import -e mock -l "$1" - >/dev/null
}

# two_kernels FACTS FACTS: three boots each of old (14.84 us) and new (16.29 us), in turn.
two_kernels()
{
	local n
	for n in 0 3 4; do
		boot old 6.1.1 "$n" "time=14844,1484$n" "$1"
	done
	for n in 1 2 5; do
		boot new 6.1.2 "$n" "time=16290,1629$n" "$2"
	done
}

# quota PERCENT COMMAND...: under a quota of its own, of either version of control groups.
quota()
{
	local parent
	if [ -w /sys/fs/cgroup/cpu/cgroup.procs ]; then
		parent=/sys/fs/cgroup/cpu
	elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		parent=/sys/fs/cgroup
	fi
	[ -n "${parent-}" ] && mkdir "$parent/kdelta-test.$$" 2>/dev/null || skip 'may not make a control group'
	group=$parent/kdelta-test.$$
	if [ -e "$group/cpu.max" ]; then
		echo "$(($1 * 200)) 20000" >"$group/cpu.max"
	else
		echo 20000 >"$group/cpu.cfs_period_us"
		echo "$(($1 * 200))" >"$group/cpu.cfs_quota_us"
	fi
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "${@:2}")
}

@test "a quota of a quarter of a CPU: told, and what it held up is flagged" {
	quota 25 kdelta-agent run -w getppid --time 400ms >stream
	[ "$(fact cgroup.cpu_quota <stream)" = '0.25 CPUs' ]
	[ "$(fact cpus.allowed_count <stream)" = "$(nproc)" ]
	jq -se 'any(.[]; .k == "usage" and .values.throttled_count > 3)' stream
	kdelta import -e x -l new stream
	jq -c 'if .k == "hello" then .boot_id = "other" | .build_id = "00" else . end' stream |
		kdelta import -e x -l old -
	run -0 kdelta compare -e x old new --format json
	jq -e '.rows[0].pairs[0].flags | index("throttled")' <<<"$output"
	run -0 kdelta compare -e x
	prints 'throttled: held up by a CPU quota'
}

@test "a quota of a CPU and a half" {
	quota 150 kdelta-agent run -w mock:place=same >stream
	[ "$(fact cgroup.cpu_quota <stream)" = '1.5 CPUs' ]
}

@test "one CPU of several: what is online, what is allowed, what is used" {
	last=$(($(nproc --all) - 1))
	[ "$last" -gt 0 ] || skip 'one CPU'
	taskset -c "$last" kdelta-agent run -w getppid --time 20ms >stream
	[ "$(fact cpus.allowed <stream)" = "$last" ]
	[ "$(fact cpus.allowed_count <stream)" = 1 ]
	[ "$(fact cpus.online <stream)" = "$(cat /sys/devices/system/cpu/online)" ]
	[ "$(fact invocation.cpus <stream)" = "$last" ]
}

@test "a sysctl of this machine, and how far perf may be used, as the kernel tells them" {
	kdelta-agent run -w mock:place=same >stream
	[ "$(fact vm.swappiness <stream)" = "$(cat /proc/sys/vm/swappiness)" ]
	[ "$(fact net.ipv4.tcp_mem <stream)" = "$(tr '\t' ' ' </proc/sys/net/ipv4/tcp_mem)" ]
	[ "$(fact perf_event_paranoid <stream)" = "$(cat /proc/sys/kernel/perf_event_paranoid)" ]
	kdelta import -l here - <stream
	run -0 kdelta show here
	grep -E "^  perf_event_paranoid +$(cat /proc/sys/kernel/perf_event_paranoid)$" <<<"$output"
	fits
}

@test "a vulnerability that is answered otherwise stands beside the verdict" {
	two_kernels 'vulnerability.spectre_v2=Mitigation: Retpolines|vulnerability.mds=Not affected' \
		'vulnerability.spectre_v2=Mitigation: IBRS|vulnerability.mds=Not affected'
	run -0 kdelta compare
	[[ ${lines[0]} = 'Confounded: between old and new '* ]]
	prints 'the environment differs, not only the kernel: vulnerability.spectre_v2.' \
		'environment vulnerability.spectre_v2: Mitigation: Retpolines in old, Mitigation: IBRS in new' \
		'1 worse'
	grep -E '^ +new +16\.29 .* 1\.09[78] \[.*\] .* -$' <<<"$output"
	[[ $output != *vulnerability.mds* ]]
	run -0 kdelta compare --format json
	jq -e '.rows[0].pairs[0] | .verdict == "worse" and (.flags | index("confounded"))' <<<"$output"
}

@test "a kernel that knows of more vulnerabilities, or words them anew, is not confounded by that" {
	two_kernels 'vulnerability.spectre_v2=Mitigation: Retpolines, STIBP: disabled' \
		'vulnerability.spectre_v2=Mitigation: Retpolines; STIBP: disabled; BHI: Not affected|vulnerability.made_up=Vulnerable'
	run -0 kdelta compare
	prints 'derived vulnerability.made_up: unknown in old, Vulnerable in new' \
		'derived vulnerability.spectre_v2: Mitigation: Retpolines, STIBP: disabled in old'
	[[ $output != *[Cc]onfounded* ]]
}

@test "a clock that is slow is flagged, two different ones are a confounder" {
	two_kernels 'clocksource=acpi_pm' 'clocksource=acpi_pm'
	run -0 kdelta compare --format json
	jq -e '.rows[0].pairs[0] | .verdict == "worse" and (.flags | index("slow clock")) and
		(.flags | index("confounded") | not)' <<<"$output"
	run -0 kdelta compare
	prints 'slow clock: reading it takes a microsecond or more'
	export KDELTA_STORE=$BATS_TEST_TMPDIR/other.db
	two_kernels 'clocksource=tsc' 'clocksource=hpet'
	run -0 kdelta compare
	prints 'environment clocksource: tsc in old, hpet in new'
	run -0 kdelta compare --format json
	jq -e '.rows[0].pairs[0].flags | index("slow clock") and index("confounded")' <<<"$output"
}

@test "latencies that are hardly longer than reading the clock are refused" {
	run -3 --separate-stderr env KDELTA_MOCK='hist=clock*1000' kdelta run -q -e x -l a -w mock:place=same
	prints "refused: half of the latencies 'latency' are shorter than 10 readings of the clock"
	# Beside others they are left out, with a word; those of old are long enough.
	mock_records n 'time=100 hist=clock*1000' 6.1.2 >new.jsonl
	jq -se 'any(.[]; .k == "log" and (.text | startswith("refused: "))) and
		any(.[]; .k == "usage" and .values.refused_count == 1) and all(.[]; .k != "hist")' new.jsonl
	mock_records o 'time=100 hist=5000*100' 6.1.1 | kdelta import -e y -l old -
	kdelta import -e y -l new new.jsonl
	run -0 kdelta compare -e y
	prints 'p50' 'refused: hardly longer than reading the clock takes'
	run -0 kdelta compare -e y --format json
	jq -e '.rows[] | select(.metric == "p50") | .values.old.mean > 4000 and .values.new == null' <<<"$output"
}

@test "kernels that count CPU time differently: said" {
	mock_boot old o1 time=100 6.1.1
	mock_boot new n1 time=100 6.1.2
	kdelta export | jq -c 'if .k == "kernel" then .config = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_SMP=y\n" +
		(if .label == "new" then "CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_SCHED_SMT=y\n" else "" end) else . end' >x.jsonl
	export KDELTA_STORE=$BATS_TEST_TMPDIR/other.db
	kdelta import x.jsonl
	run -0 kdelta compare
	prints 'derived cputime: tick in old, tick, irq-time in new; user and system times cannot be compared' \
		'derived sched_smt: off in old, on in new'
	run -0 kdelta show new
	grep -E '^  cputime +tick, irq-time$' <<<"$output"
}
