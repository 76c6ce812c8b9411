#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta show
load common

setup()
{
	home_here
}

# after NAME VALUE: in a stream, what a fact is afterwards.
after()
{
	jq -c --arg n "$1" --arg v "$2" \
		'if .k == "fact" and .name == $n and .when == "after" then .value = $v | del(.why) else . end'
}

# One experiment: boots 1 and 3 are old's, 2 and 4 new's; in boot 4 much goes wrong.
four_boots()
{
	mock_boot old o1 time=100 6.1.1
	mock_boot new n1 time=100 6.1.2
	mock_boot old o2 time=100 6.1.1
	mock_records n2 time=fail 6.1.2 | after clocksource hpet | after load '9 9 9' |
		kdelta import -e mock -l new - >/dev/null
}

@test "identity, boots, failures, facts by class" {
	four_boots
	run -0 --separate-stderr kdelta show new
	[ -z "$stderr" ]
	fits
	[ "${lines[0]}" = new ]
	prints 'release 6.1.2' 'version #1 mock' 'command line quiet' 'config hash unknown' \
		'source the kernel that ran' 'Boots in experiment mock' \
		'boot 4: mock:samples=3,place=same failed: scripted failure'
	grep -E '^  build-id +[0-9a-f]{40}$' <<<"$output"
	grep -E '^ +2 +1 +ok +20..-..-.. ..:.. +1 +0 +0 +0$' <<<"$output"
	grep -E '^ +4 +1 +ok +20..-..-.. ..:.. +0 +1 +0 +0$' <<<"$output"
	[ "$(grep '^Facts: ' <<<"$output" | tr '\n' ' ')" = \
		"Facts: identity Facts: derived Facts: environment Facts: state Facts: volatile " ]
	grep -E "^  machine +$(uname -m)$" <<<"$output"
}

@test "what changed is marked, with its boots; what is volatile is not" {
	four_boots
	was=$(mock_records x time=1 | jq -r 'select(.k == "fact" and .name == "clocksource" and .when == "before") | .value')
	run -0 kdelta show new
	prints "clocksource $was [boot 2] $was -> hpet (changed) [boot 4]" '-> 9 9 9 [boot 4]'
	[ "$(grep -c '(changed)' <<<"$output")" = 1 ]
	run -0 kdelta show old
	[[ $output != *'(changed)'* ]]
}

@test "what could not be read says why" {
	mock_records o1 time=100 | jq -c 'if .k == "fact" and .name == "hz" then
		.value = null | .why = "no tick here" else . end' | kdelta import -l x - >/dev/null
	run -0 kdelta show x
	prints 'hz unreadable (no tick here)'
	run -0 kdelta show x --format json
	jq -e '.kernels[0].boots[0].facts[] | select(.name == "hz") |
		.before == null and .after == null and .why == "no tick here" and .changed == false' <<<"$output"
}

@test "JSON holds the same" {
	four_boots
	run -0 kdelta show new --format json
	jq -e '.label == "new" and (.kernels | length) == 1' <<<"$output"
	jq -e '.kernels[0] | .label == "new" and .release == "6.1.2" and .source == null and
		.config_hash == null and .cmdline == "quiet"' <<<"$output"
	jq -e '[.kernels[0].boots[] | [.boot, .block, .boot_id, .state, .invocations, .failed, .kernel_warnings]] ==
		[[2, 1, "n1", "ok", 1, 0, 0], [4, 1, "n2", "ok", 0, 1, 0]]' <<<"$output"
	jq -e '.kernels[0].boots[1].failures == [{ workload: "mock", params: "samples=3,place=same",
		state: "failed", implied: false, reason: "scripted failure" }]' <<<"$output"
	jq -e '.kernels[0].boots[1].facts | map(select(.changed and .class != "volatile") | .name) == ["clocksource"]' <<<"$output"
	jq -e '.kernels[0].boots[0].facts | map(.class) | unique ==
		["derived", "environment", "identity", "state", "volatile"]' <<<"$output"
	jq -e '.kernels[0].boots[0] | has("console") | not' <<<"$output"
}

# Boot o1 as a VM's that panicked.
panicked()
{
	mock_boot "$1" o1 time=100 6.1.1
	kdelta export | jq -c 'if .k == "boot" then .state = "failed" | .reason = "kernel panic: \u001b]0;x" |
		.console = "[    1.0] one\r\n[    1.1] Kernel panic\u001b[2J\n" | .kernel_warnings = 2 else . end' >p.jsonl
	export KDELTA_STORE=$BATS_TEST_TMPDIR/panicked.db
	kdelta import p.jsonl >/dev/null
}

@test "a failed boot: reason, warnings, and with --console its last lines, made safe" {
	panicked sick
	run -0 kdelta show sick
	fits
	grep -E '^ +1 +1 +failed .* 2$' <<<"$output"
	prints 'kernel panic: \x1b]0;x' '--console shows'
	[[ $output != *'[    1.0] one'* ]]
	run -0 kdelta show sick --console
	grep -xF '  | [    1.0] one' <<<"$output"
	grep -xF '  | [    1.1] Kernel panic\x1b[2J' <<<"$output"
	! grep -q $'[\e\r]' <<<"$output"
	run -0 kdelta show sick --console --format json
	jq -e '.kernels[0].boots[0] | .state == "failed" and (.console | contains("\u001b[2J"))' <<<"$output"
}

@test "--console of boots that went well" {
	mock_boot old o1 time=100
	run -0 kdelta show old --console
	prints 'No console was kept'
}

@test "a label is its latest experiment, LABEL~1 the one before, -e any" {
	mock_records o1 time=100 6.1.1 | kdelta import -e first -l old - >/dev/null
	mock_records o2 time=100 6.1.1 | kdelta import -e second -l old - >/dev/null
	run -0 kdelta show old --format json
	jq -e '[.kernels[].boots[] | .experiment] == ["second"]' <<<"$output"
	run -0 kdelta show old~1 --format json
	jq -e '[.kernels[].boots[] | .experiment] == ["first"] and .kernels[0].label == "old~1"' <<<"$output"
	run -0 kdelta show old -e first
	prints 'Boots in experiment first'
	run -0 kdelta show old -e first -e second
	prints 'experiment first' 'experiment second'
	run -2 --separate-stderr kdelta show old~2
	says old 2
	run -2 --separate-stderr kdelta show old -e third
	says "'third'"
}

@test "an unknown label: those that there are" {
	four_boots
	run -2 --separate-stderr kdelta show nwe
	says "'nwe'" old new
	[ -z "$output" ]
}

@test "no label, two labels, no store" {
	run -2 --separate-stderr kdelta show
	says LABEL
	run -2 --separate-stderr kdelta show a b
	says LABEL
	run -2 --separate-stderr kdelta show a
	says "$KDELTA_STORE"
	[ ! -e "$KDELTA_STORE" ]
}

@test "a label with everything in it" {
	mock_boot "$HOSTILE" o1 time=100 6.1.1
	run -0 kdelta show "$HOSTILE"
	[ "${lines[0]}" = "$HOSTILE_SHOWN" ]
	run -0 kdelta show "$HOSTILE" --format json
	jq -e --arg h "$HOSTILE" '.label == $h and .kernels[0].label == $h' <<<"$output"
	run -2 --separate-stderr kdelta show $'no\e[31m'
	says '../x'
	[[ $stderr != *$'\e'* ]]
}

@test "stdout closed, full, left; the locale" {
	mock_boot old o1 time=100
	run -3 --separate-stderr bash -c 'kdelta show old >&-'
	says stdout
	run -3 --separate-stderr bash -c 'kdelta show old >/dev/full'
	says stdout
	run -0 --separate-stderr bash -c 'set -o pipefail; kdelta show old | head -n 1'
	[ "$output" = old ] && [ -z "$stderr" ]
	diff <(kdelta show old) <(LC_ALL=de_DE.UTF-8 kdelta show old)
}
