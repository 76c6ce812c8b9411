#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta list
load common

setup()
{
	home_here
}

json_of()
{
	kdelta list "$1" --format json "${@:2}"
}

@test "workloads: what the agent says of itself" {
	run -0 --separate-stderr kdelta list workloads
	[ -z "$stderr" ]
	fits
	prints 'Scripted samples' 'op: sample' 'samples=3 1 to 100000; samples of an invocation' \
		'time* ns/op less' 'rate ops/s more' 'temp count neither' 'place=same same|spread|free'
	diff <(json_of workloads | jq -S .) <(kdelta-agent list --format json | jq -S .workloads)
	[ "$(json_of workloads | jq -r '.[].name')" = "$(grep -oE '^[a-z_0-9]+ ' <<<"$output" | tr -d ' ')" ]
}

@test "metrics: unit, direction, kind, headline" {
	run -0 kdelta list metrics
	fits
	grep -E '^mock +time\* +ns/op +less +measure +scripted time$' <<<"$output"
	grep -E '^mock +faults +count +less +count +scripted count$' <<<"$output"
	grep -E '^ctx +overhead +ns/op +less +evidence ' <<<"$output"
	json_of metrics | jq -e '.[] | select(.workload == "mock" and .name == "rate") |
		.unit == "ops" and .per == "s" and .better == "more" and .kind == "measure"'
	# One a workload; cmd has one of whole runs and one of windows, and gives either.
	json_of metrics | jq -e 'map(select(.headline and .workload != "cmd")) | length > 0 and (map(.workload) | unique | length) == length'
}

@test "suites: each of their words names a workload" {
	run -0 kdelta list suites
	fits
	prints default demo
	names=$(json_of workloads | jq -c 'map(.name)')
	json_of suites | jq -e --argjson names "$names" \
		'length > 1 and all(.[].specs[]; split(":")[0] | IN($names[]))'
}

@test "kernels: in the cache, and with --offered from apt" {
	mkdir bin cache
	export KDELTA_CACHE=$PWD/cache
	printf '%01234567d' 0 >"cache/linux-image-6.1.0-9-cloud-amd64_6.1.99-1_$(printf 'a%.0s' {1..64}).deb"
	cat >bin/apt-cache <<-'END'
		#!/bin/sh
		[ "$1" = show ] || { echo linux-image-6.1.0-10-cloud-amd64 - Linux; exit; }
		cat <<-X
			Package: linux-image-6.1.0-10-cloud-amd64
			Version: 6.1.100-1
			Architecture: amd64
			Filename: pool/x.deb
			Size: 26700000
			SHA256: $(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)$(printf 'b%.0s' 1 2 3 4 5 6 7 8)
		X
	END
	chmod +x bin/apt-cache
	export PATH=$PWD/bin:$PATH
	run -0 kdelta list kernels
	fits
	prints installed cached 'debian:6.1.0-9-cloud-amd64=6.1.99-1 6.1.99-1 1.23 MB' '--offered'
	[[ $output != *6.1.100* ]]
	run -0 kdelta list kernels --offered
	fits
	prints 'debian:6.1.0-10-cloud-amd64 6.1.100-1 26.7 MB'
	json_of kernels --offered | jq -e 'map(select(.where == "offered")) ==
		[{ where: "offered", release: "6.1.0-10-cloud-amd64", kernel: "debian:6.1.0-10-cloud-amd64",
		   package: "linux-image-6.1.0-10-cloud-amd64", version: "6.1.100-1", size_bytes: 26700000 }]'
	json_of kernels | jq -e 'all(.[]; .where != "offered") and any(.[]; .where == "cached")'
}

@test "labels: the latest first, made safe in text, exact in JSON" {
	mock_boot old o1 time=100 6.1.1
	mock_boot old o2 time=fail 6.1.1
	mock_boot "$HOSTILE" n1 time=100 6.1.2
	run -0 kdelta list labels
	fits
	grep -E '^label +release +boots +failed +results +last$' <<<"$output"
	grep -E '^old +6\.1\.1 +2 +0 +1 +20..-..-.. ..:..$' <<<"$output"
	[ "${lines[1]}" = "$HOSTILE_SHOWN" ]
	[[ ${lines[2]} =~ ^\ +6\.1\.2\ +1\ +0\ +1\  ]]
	[ "${#lines[@]}" = 4 ]
	run -0 json_of labels
	jq -e --arg h "$HOSTILE" '.[0].label == $h and .[0].release == "6.1.2"' <<<"$output"
	jq -e '.[1] | .label == "old" and .boots == 2 and .failed == 0 and .invocations == 1 and
		.experiments == 1 and .source == null and (.build_id | length) == 40' <<<"$output"
	jq -e '.[].last | fromdate > 1700000000' <<<"$output"
}

@test "a label too wide for the table has a line of its own, uncut" {
	long=$(printf 'long-%.0s' {1..12})
	mock_boot "$long" o1 time=100 6.1.1
	run -0 kdelta list labels
	fits
	grep -xF "$long" <<<"$output"
	grep -E '^ +6\.1\.1 +1 +0 +1 ' <<<"$output"
}

@test "experiments: labels in the order of comparison" {
	mock_boot old o1 time=100 6.1.1
	mock_boot 'a, b' n1 time=100 6.1.2
	mock_boot "$HOSTILE" n2 time=100 6.1.3
	mock_records x1 time=100 6.1.4 | kdelta import -l alone - >/dev/null
	run -0 kdelta list experiments
	fits
	grep -E '^mock +3 +0 +3 +20' <<<"$output"
	grep -xF "    old, a, b, $HOSTILE_SHOWN" <<<"$output"
	grep -E '^[0-9a-f]{8}-[0-9a-f-]{27} +1 +0 +1 ' <<<"$output"
	run -0 json_of experiments
	jq -e --arg h "$HOSTILE" '.[1] | .name == "mock" and .labels == ["old", "a, b", $h] and
		.boots == 3 and .failed == 0 and .open == 0 and .invocations == 3' <<<"$output"
	jq -e '.[0] | .name == null and .labels == ["alone"]' <<<"$output"
}

@test "without a word, with an unknown one, a close one, two" {
	run -2 --separate-stderr kdelta list
	says workloads metrics suites settings kernels labels experiments
	run -2 --separate-stderr kdelta list xyzzy
	says "'xyzzy'" workloads experiments
	run -2 --separate-stderr kdelta list workload
	says 'did you mean `kdelta list workloads`?'
	run -2 --separate-stderr kdelta list suites metrics
	says "'metrics'"
	run -2 --separate-stderr kdelta list suites --offered
	says --offered kernels
}

@test "no store yet, no agent" {
	run -2 --separate-stderr kdelta list labels
	says "$KDELTA_STORE" import
	run -2 --separate-stderr kdelta list experiments --store nowhere
	says nowhere
	[ ! -e "$KDELTA_STORE" ] && [ ! -e nowhere ]
	KDELTA_AGENT=/nonexistent run -2 --separate-stderr kdelta list workloads
	says KDELTA_AGENT=/nonexistent
}

@test "what is no store is left as it is" {
	echo hello >"$KDELTA_STORE"
	run -2 --separate-stderr kdelta list labels
	says "$KDELTA_STORE"
	[ "$(cat "$KDELTA_STORE")" = hello ]
}

@test "stdout closed or full is said, a reader that left is not" {
	run -3 --separate-stderr bash -c 'kdelta list metrics >&-'
	says stdout
	run -3 --separate-stderr bash -c 'kdelta list metrics --format json >/dev/full'
	says stdout 'No space'
	run -0 --separate-stderr bash -c 'set -o pipefail; kdelta list metrics | head -n 1'
	[ -z "$stderr" ]
	[ "${#lines[@]}" = 1 ]
}

@test "the locale changes nothing" {
	for what in workloads metrics suites settings kernels; do
		diff <(kdelta list $what) <(LC_ALL=de_DE.UTF-8 kdelta list $what)
	done
}
