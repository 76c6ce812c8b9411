#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Exact mode with $KDELTA_TEST_KERNEL in the installed QEMU: the digits repeat.
set_aside_cache=${KDELTA_CACHE-} set_aside_xdg=${XDG_CACHE_HOME-}
load ../cli/common

setup()
{
	[ -z "$set_aside_cache" ] || export KDELTA_CACHE=$set_aside_cache
	[ -z "$set_aside_xdg" ] || export XDG_CACHE_HOME=$set_aside_xdg
	# The second test repeats what the first one counted.
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db
	cd "$BATS_TEST_TMPDIR"
	: "${KDELTA_TEST_KERNEL:?names the kernel to boot, see tools/test-kernel}"
}

# What keeps the host busy ends with its test, however that ends.
teardown()
{
	[ ! -f loads ] || xargs -r kill <loads 2>/dev/null || true
	rm -f loads
}

# counted LABEL [WORKLOAD]: all that was counted of it, without ids and times, in a fixed order.
counted()
{
	kdelta export -e "$1" | jq -cS --arg w "${2-}" '
		if .k == "boot" then {boot: .id} elif .k == "invocation" then {inv, w: .workload, p: .params}
		elif .k == "window" or .k == "profile" or (.k == "fact" and .name == "perturbation")
		then . else empty end' |
		jq -cS -n --arg w "${2-}" '
		[foreach inputs as $r ({}; if $r.w then {w: $r.w, p: $r.p} else . end; [., $r])
			| select(.[1].k) | select($w == "" or .[0].w == $w) | [.[0], (.[1] | del(.inv))]]
		| sort | .[]'
}

@test "one kernel under two labels: every count and every profile is the same" {
	run -0 --separate-stderr kdelta vm --exact --perturb 2 -e first --format json --timing \
		-w getppid -w pipe:place=same -w fork "a=$KDELTA_TEST_KERNEL" "b=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	[[ $stderr = *"Timing: "*"2 at once"*"runs "* ]] || [[ $stderr = *"Timing: "*"runs "* ]]
	jq -e '[.rows[] | select(.headline) | .workload] | sort == ["fork", "getppid", "pipe"]' <<<"$output"
	jq -e '.rows | length >= 6 and all(.class == "exact" and .pairs[0].verdict == "same")' <<<"$output"
	[ "$(exported boot .state | sort | uniq -c | xargs)" = "2 ok" ]
	# Twelve invocations, two of each: all windows and all profiles, digit for digit.
	counted first | sort | uniq -c >twice
	[ "$(wc -l <twice)" = 18 ]
	[ -z "$(awk '$1 != 2' twice)" ]
	# It was quiet, its symbols are known and agree with the guest's.
	[ "$(exported quiet .quiet | sort -u)" = true ]
	[[ $(exported fact 'select(.name == "symbols") | .value') = "from the image, "*" verified"* ]]
	[ -z "$(exported fail .reason)" ]
}

@test "what is counted adds up, by window and by function" {
	# Contexts, and kernel and user, are two ways to cut the same sum, which the profile has, too.
	exported window '[.rows[] | select(.[0] == 0 or .[0] == false)
		| [.[2] + .[3] + .[4] + .[5] + .[6], .[7] + .[8]]] | transpose | map(add) | @tsv' >windows
	exported profile '[.symbols[] | .[3] + .[4]] | add' >profiles
	[ "$(wc -l <windows)" = 12 ]
	[ -z "$(awk '$1 != $2 || $1 <= 0' windows)" ]
	diff <(cut -f 1 windows) profiles
	# QEMU's own count, the guest's clock, agrees to what one reading of that clock takes.
	exported window '[.rows[] | .[2] + .[3] + .[4] + .[5] + .[6] + .[9]] | [add, length] | @tsv' >counts
	exported usage .values.guest_ns >clock
	[ -z "$(paste clock counts | awk '{ rest = ($1 - $2) / $3; if (rest < 0 || rest > 300) print }')" ]
	# A system call is one call of each of these; the workload's are counted at its windows' ends, too.
	run -0 kdelta profile a -e first -w getppid --format json
	jq -e '[.. | objects | select(.symbol? == "__x64_sys_getppid" or .name? == "__x64_sys_getppid")] | length > 0' <<<"$output"
	# What was there before fork calls shows: nothing of the workload's warm-up ran in its windows.
	run -0 kdelta profile a b -e first -w fork
	prints 'same'
}

@test "a busy host, kdelta held up, fewer workloads: the same digits as before" {
	for _ in 1 2; do
		(exec 3>&- && while :; do :; done) &
		echo $! >>loads
	done
	kdelta vm --exact --perturb 2 -e second --format json -w pipe:place=same \
		"c=$KDELTA_TEST_KERNEL" >out 2>err & vm=$!
	for _ in 1 2 3 4 5 6; do
		sleep 1
		kill -STOP $vm || break
		sleep 1
		kill -CONT $vm
	done
	wait $vm
	teardown
	cat err
	counted first pipe | sort -u >before
	counted second pipe | sort >after
	[ "$(wc -l <after)" = 6 ]
	diff before after
}

@test "a kernel that panics before the quiet point: failed, with the reason" {
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	run -3 --separate-stderr kdelta vm --exact --perturb 1 -w getppid \
		"k=$KDELTA_TEST_KERNEL,append=rdinit=/nonexistent"
	[[ $stderr = *"boot of k failed: panicked: kernel panic: "*"nothing was measured"* ]]
	[ -z "$(exported sample .metric)" ]
}

@test "another CPU model: another context, never compared with the first" {
	kdelta vm --exact --perturb 1 -e skylake --cpu Skylake-Client -w getppid "s=$KDELTA_TEST_KERNEL" >/dev/null
	[ "$(kdelta export -e skylake | jq -r 'select(.k == "invocation") | .context.cpu')" = \
		Skylake-Client,-rdrand,-rdseed ]
	run -0 kdelta compare -e first -e skylake a s -w getppid --format json
	jq -e '[.rows[].pairs[]] | length == 0' <<<"$output"
}

@test "the shell is there, and a program is counted whole" {
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	run -0 --separate-stderr kdelta vm --exact --perturb 1 -w sh \
		-w 'cmd:run="/bin/sh -c :",samples=3' --format json "k=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	jq -e '[.rows[] | select(.metric == "total") | .workload] | sort == ["cmd", "sh"]' <<<"$output"
}

# The installed one, or the command in KDELTA_QEMU2 (options may follow), if it can --smp.
qemu_of_several_cpus()
{
	local command words version
	for command in qemu-system-x86_64 "${KDELTA_QEMU2-}"; do
		read -ra words <<<"$command"
		[ "${#words[@]}" != 0 ] || continue
		version=$("${words[@]}" --version | sed -n 's/.*version \([0-9]*\)[.].*/\1/p')
		[ "$version" -ge 9 ] || continue
		printf '#!/bin/sh\nexec %s "$@"\n' "$command" >qemu
		chmod +x qemu
		return 0
	done
	return 1
}

@test "several CPUs: code paths, and no word" {
	# An older QEMU is refused with the reason.
	if ! qemu_of_several_cpus; then
		run -2 --separate-stderr kdelta vm --exact --smp 2 -w getppid "a=$KDELTA_TEST_KERNEL"
		[[ $stderr = *'9.0'* ]]
		return 0
	fi
	export KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	run -0 --separate-stderr kdelta vm --exact --smp 2 --perturb 2 --qemu ./qemu --format json \
		-w getppid -w pipe:place=spread "a=$KDELTA_TEST_KERNEL" "b=$KDELTA_TEST_KERNEL"
	echo "$stderr"
	jq -e '[.rows[] | select(.headline or .workload == "pipe") | .workload] | unique
		== ["getppid", "pipe"]' <<<"$output"
	jq -e '.rows | length >= 4 and all(.pairs[0].verdict == null
		and (.pairs[0].flags | index("smp")))' <<<"$output"
	run -0 kdelta profile b -w pipe
	prints '__flush_smp_call_function_queue'
}
