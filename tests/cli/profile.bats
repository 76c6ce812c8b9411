#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta profile on exact results made by hand: an agent's streams, imported.
load common

setup()
{
	home_here
}

# stream LABEL SYMBOLS [K [WORKLOAD [CONTEXT]]]: a boot of a kernel of that name and K perturbations.
# SYMBOLS: [[name, address, instructions per op, calls per op, steps a perturbation], ...] and edges
# after them as {"from": N, "to": N, "calls": PER_OP}. Windows: ten clean ones and a tick.
stream()
{
	local id
	id=$(sha1sum <<<"$1" | cut -c1-40)
	jq -nc --arg name "$1" --argjson code "$2" --argjson k "${3:-8}" --arg w "${4:-getppid}" \
		--argjson context "${5:-{\"cpus\":1\}}" --arg id "$id" '
	100 as $ops
	| [ $code[] | select(type == "array") ] as $s
	| [ $code[] | select(type == "object") ] as $e
	| { k: "hello", protocol: 1, agent: "0.1.0", release: $name, version: "#1", build_id: $id,
	    cmdline: "quiet", machine: "x86_64", time_ns: 1767225600000000000,
	    boot_id: "00000000-0000-4000-8000-\($id[0:12])" },
	  ( range($k) as $i | "\($w)\($i)" as $inv
	    | [ $s[] | [ .[0], null, (.[1] | tostring), .[2] * $ops * 10 + .[4] * $i,
			 .[2] * $ops, .[3] * $ops * 10, .[3] * $ops, 0, 0 ] ] as $rows
	    | ([ $rows[][3] ] | add // 0) as $clean | ([ $rows[][4] ] | add // 0) as $tick
	    | ($clean - 9 * ($clean / 10 | floor)) as $first
	    | ($clean / 10 | floor) as $each
	    | { k: "invocation", inv: $inv, workload: $w, workload_version: 1, family: "syscall",
		op: "call", params: "", class: "exact", context: $context, headline: true,
		metrics: [ [ "instructions", true ], [ "total", false ] | {
			name: .[0], unit: "instructions", per: "op", better: "neither",
			kind: "count", from: "reported", headline: .[1], doc: "-" } ] },
	      { k: "fact", inv: $inv, when: "before", class: "volatile", name: "perturbation",
		value: "\($i): idle \($i) ms" },
	      { k: "sample", inv: $inv, metric: "instructions", value: ($clean / ($ops * 10)) },
	      { k: "sample", inv: $inv, metric: "total", value: (($clean + $tick) / ($ops * 11)) },
	      { k: "window", inv: $inv, contexts: true, rows: (
		[ [ 0, $ops, $first, 0, 0, 0, 0, $first, 0, 0, 0, 0 ] ]
		+ [ range(9) | [ 0, $ops, $each, 0, 0, 0, 0, $each, 0, 0, 0, 0 ] ]
		+ [ [ 0, $ops, $tick, 0, 0, 0, 0, $tick, 0, 0, 1, 0 ] ]) },
	      { k: "profile", inv: $inv, ops: [ $ops * 10, $ops ], windows: [ 10, 1 ],
		symbols: $rows,
		edges: [ $e[] | [ .from, .to, .calls * $ops * 10, .calls * $ops ] ] },
	      { k: "usage", inv: $inv, values: { elapsed_ns: 1000 } } ),
	  { k: "done", invocations: $k, failed: 0, skipped: 0 }'
}

# take EXPERIMENT LABEL SYMBOLS [K [WORKLOAD [CONTEXT]]]
take()
{
	stream "${@:2}" | kdelta import -e "$1" -l "$2" - >/dev/null
}

# output of `run` has no line like this.
lacks()
{
	if grep -E -- "$1" <<<"$output"; then
		echo "there is a '$1'"
		return 1
	fi
}

OLD='[["do_syscall_64","1000",30,1,0], ["__x64_sys_getppid","2000",13,1,0], ["noisy","3000",50,1,90],
      ["rcu_read","4000",7,2,0], ["gone","5000",4,1,0],
      {"from":0,"to":1,"calls":1}, {"from":1,"to":3,"calls":0.5}]'
NEW='[["do_syscall_64","1000",31,1,0], ["__x64_sys_getppid.isra.0","2000",13,1,0], ["noisy","3000",50.1,1,90],
      ["rcu_read","4000",14,4,0],
      {"from":0,"to":1,"calls":1}, {"from":1,"to":3,"calls":2.5}]'

both()
{
	take x old "$OLD" "${1:-8}"
	take x new "$NEW" "${1:-8}"
}

@test "two kernels: by function, what differs and why" {
	both
	run -0 --separate-stderr kdelta profile
	fits
	[ -z "$stderr" ]
	same_as_golden cli/profile.txt
	# Named, the other way round, and of that experiment: the same numbers with other signs.
	run -0 kdelta profile new old -e x
	prints '+4.0 more' 'gone: only in B' '-7.0 fewer' 'rcu_read: called less often'
}

@test "the sum of the rows is the metric that compare shows" {
	both
	for windows in "" --total; do
		kdelta profile --format json $windows >p.json
		metric=instructions
		[ -z "$windows" ] || metric=total
		kdelta compare --format json -m $metric --all >c.json
		jq -ne --slurpfile p p.json --slurpfile c c.json '
			def near($a; $b): ($a - $b) | . < 1e-6 and . > -1e-6;
			$p[0].profiles[0] as $t | $c[0].rows[0].values as $v
			| near([ $t.symbols[].base.instructions // 0 ] | add; $v.old.mean)
			and near([ $t.symbols[].new.instructions // 0 ] | add; $v.new.mean)
			and near($t.total.base.instructions; $v.old.mean)
			and near([ $t.symbols[].difference ] | add; $t.total.difference)'
	done
}

@test "one kernel, and the forms of 2003" {
	both
	run -0 kdelta profile new
	fits
	same_as_golden cli/profile_one.txt
	run -0 kdelta profile old new --classic
	same_as_golden cli/profile_classic.txt
	run -0 kdelta profile old --classic
	same_as_golden cli/profile_classic_one.txt
}

@test "--classic shows each pair of several kernels" {
	both
	take x newest "$OLD"
	run -0 kdelta profile -e x --classic
	[ "$(grep '^Going' <<<"$output")" = "Going from old to new (+ worse, - better)
Going from old to newest (+ worse, - better)
Going from new to newest (+ worse, - better)" ]
}

@test "callers, folded names as well" {
	both
	run -0 kdelta profile --callers rcu_read
	fits
	same_as_golden cli/profile_callers.txt
	run -0 kdelta profile --callers __x64_sys_getppid.isra.0
	prints 'do_syscall_64' '1.00 1.00 total'
	run -2 --separate-stderr kdelta profile --callers rcu_raed
	says rcu_raed 'did you mean rcu_read?'
	run -2 --separate-stderr kdelta profile --callers '[user]'
	says 'no function'
}

@test "--no-fold keeps what a compiler made apart, and marks the likely pair" {
	both
	run -0 kdelta profile
	lacks isra
	run -0 kdelta profile --no-fold
	prints '__x64_sys_getppid.isra.0' 'only in B, renamed?' \
		'__x64_sys_getppid to __x64_sys_getppid.isra.0 (suffix)'
}

@test "--min and --top say what they cut" {
	both
	run -0 kdelta profile --min 2
	prints '1 symbol under 2 (--min): +1.0 in all'
	lacks do_syscall_64
	run -0 kdelta profile --top 1
	prints '2 symbols more (--top): -3.0 in all' rcu_read
	run -0 kdelta profile --top 1 --format json
	jq -e '.profiles[0] | .left_out.symbols == 4 and (.symbols | length) == 1' <<<"$output"
	run -2 --separate-stderr kdelta profile --top 0
	says --top
}

@test "fewer than 8 perturbations: no marks, and that is said" {
	both 3
	run -0 kdelta profile
	prints 'Too few perturbations' '3 and 3 perturbations'
	lacks '[0-9] +(more|fewer) '
	run -0 kdelta profile --format json
	jq -e '.profiles[0] | .judged == false and ([ .symbols[].word ] | unique) == [null, "same"]' <<<"$output"
}

@test "the same kernel twice: nothing differs" {
	take x old "$OLD"
	take y old "$OLD"
	run -0 kdelta profile old~1 old
	prints '5 symbols the same' '0.0 same'
	run -0 kdelta profile old~1 old --format json
	jq -e '[ .profiles[0].symbols[].word ] | unique == ["same"]' <<<"$output"
}

@test "csv, folded, json" {
	both
	run -0 kdelta profile --format csv
	[ "$(grep -c , <<<"$output")" = 7 ]
	grep -q '^getppid,1,,1,typical,old,new,symbol,rcu_read,,7,more,' <<<"$output"
	grep -q ',total,total,,4' <<<"$output"
	run -0 kdelta profile --format folded
	[ "${lines[0]}" = "getppid;rcu_read 7 14" ]
	run -0 kdelta profile old --format folded
	[ "${lines[1]}" = "getppid;do_syscall_64 30" ]
	run -0 kdelta profile --format json
	jq -e '.unit == "instructions per operation" and .windows == "typical"' <<<"$output"
	take x newest "$OLD"
	run -2 --separate-stderr kdelta profile -e x --format folded
	says 'one kernel or two'
}

@test "a workload that one kernel has not, or has of another context" {
	take x old "$OLD"
	take x new "$NEW" 8 getpid
	run -3 kdelta profile
	prints 'Nothing to show: new has no profile of it' 'Nothing to show: old has no profile of it'
	take y old "$OLD"
	take y new "$NEW" 8 getppid '{"cpus":1,"qemu":"10.0"}'
	run -3 --separate-stderr kdelta profile -e y --format csv
	[[ $stderr = *"new was measured in another way"* ]]
}

@test "several CPUs: code paths only" {
	spin='["native_queued_spin_lock_slowpath","9000",500,1,0]'
	take x old "$(jq -c ". + [$spin]" <<<"$OLD")" 8 munmap '{"cpus":2}'
	take x new "$NEW" 8 munmap '{"cpus":2}'
	run -0 kdelta profile
	prints 'Several CPUs: code paths only' 'waiting for another CPU' native_queued_spin_lock_slowpath
	lacks '[0-9] +(more|fewer) '
}

@test "no symbols: one kernel by address, two by their total alone" {
	bare='[["0xffffffff81000000","ffffffff81000000",40,0,0]]'
	take x old "$bare"
	take x new "$NEW"
	run -0 kdelta profile
	prints "Most of a kernel's code has no symbols" '+68.4 more'
	lacks rcu_read
	run -0 kdelta profile old
	prints 0xffffffff81000000 '1 piece of code without a symbol: 40.0 instructions'
}

@test "a profile that is not the sum of its windows is an error" {
	stream old "$OLD" | jq -c 'if .k == "profile" then .symbols[0][3] += 1 else . end' |
		kdelta import -e x -l old - >/dev/null
	run -2 --separate-stderr kdelta profile
	says getppid 'does not agree with its windows'
	[ -z "$output" ]
	stream new "$NEW" | jq -c 'if .metric == "total" then .value += 1 else . end' |
		kdelta import -e y -l new - >/dev/null
	run -2 --separate-stderr kdelta profile
	says getppid 'does not agree with its total'
}

@test "what cannot be asked says what to do" {
	run -2 --separate-stderr kdelta profile
	says 'no store yet'
	mock_boot old 00000000-0000-4000-8000-000000000001 time=100
	run -2 --separate-stderr kdelta profile
	says 'no exact results' 'kdelta vm --exact'
	both
	run -2 --separate-stderr kdelta profile nosuch
	says nosuch
	run -2 --separate-stderr kdelta profile -e x -w pipe
	says "'pipe'" getppid
	run -2 --separate-stderr kdelta profile --classic --format json
	says --classic
	run -2 --separate-stderr kdelta profile --classic --callers f
	says --classic callers
	run -2 --separate-stderr kdelta profile --callers f --format folded
	says --callers
}

@test "names from kernels cannot drive the terminal" {
	take x old "$(jq -nc '[["a\u001b[31m;b\n","1000",30,1,0]]')"
	take x new "$(jq -nc '[["a\u001b[31m;b\n","1000",31,1,0]]')"
	for form in "" --classic "--format folded"; do
		# shellcheck disable=SC2086
		run -0 kdelta profile $form
		[[ $output = *'\x1b[31m'* ]]
		[[ $output != *$'\e'* ]]
	done
	grep -q 'getppid;a\\x1b\[31m\\x3bb\\x0a 30 31' <<<"$output"
}
