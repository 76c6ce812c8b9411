#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta label mv, kdelta label rm
load common

setup()
{
	home_here
	mock_boot old o1 time=100 6.1.1
	mock_boot new n1 time=100 6.1.2
}

labels()
{
	kdelta list labels --format json | jq -c 'map(.label) | sort'
}

@test "mv renames in all experiments, and back" {
	mock_records n2 time=100 6.1.2 | kdelta import -e other -l new - >/dev/null
	before=$(kdelta export)
	run -0 --separate-stderr kdelta label mv new "$HOSTILE"
	[ "$output" = "renamed 'new' to '$HOSTILE_SHOWN'" ]
	[ -z "$stderr" ]
	[ "$(labels)" = "$(jq -nc --arg h "$HOSTILE" '[$h, "old"] | sort')" ]
	[ "$(kdelta list experiments --format json | jq -r --arg h "$HOSTILE" \
		'map(select(.labels | index($h)) | .name) | sort | join(" ")')" = "mock other" ]
	kdelta label mv "$HOSTILE" new
	[ "$(kdelta export)" = "$before" ]
}

@test "mv of nothing, onto something, to nothing" {
	run -2 --separate-stderr kdelta label mv nwe newer
	says "'nwe'" old new
	run -2 --separate-stderr kdelta label mv new old
	says "'old'" exists
	run -2 --separate-stderr kdelta label mv new ''
	says empty
	run -2 --separate-stderr kdelta label mv new $'\xff'
	says UTF-8
	[ "$(labels)" = '["new","old"]' ]
}

@test "rm hides, and the data stay" {
	results=$(sqlite3 "$KDELTA_STORE" 'SELECT count(*) FROM sample')
	[ "$results" -gt 0 ]
	run -0 --separate-stderr kdelta label rm new --yes
	prints "'new' (1 boots, 1 results) is hidden; its data stay in the store"
	[ "$(labels)" = '["old"]' ]
	[ "$(exported kernel .label)" = old ]
	run -2 --separate-stderr kdelta show new
	says "'new'" old
	run -2 --separate-stderr kdelta label rm new --yes
	says "'new'" old
	[ "$(sqlite3 "$KDELTA_STORE" 'SELECT count(*) FROM sample')" = "$results" ]
}

@test "rm asks nobody where nobody is" {
	run -2 --separate-stderr kdelta label rm new </dev/null
	says --yes "'new'"
	[ "$(labels)" = '["new","old"]' ]
}

@test "rm asks on a terminal: only yes is yes" {
	for answer in '' n nope Y; do
		run script -qec 'kdelta label rm new' /dev/null <<<"$answer"
		[[ $output = *"Hide 'new' (1 boots, 1 results)"*'[y/N]'*'nothing was hidden'* ]]
		[ "$(labels)" = '["new","old"]' ]
	done
	run -0 script -qec 'kdelta label rm new' /dev/null <<<y
	[[ $output = *'is hidden'* ]]
	[ "$(labels)" = '["old"]' ]
}

@test "what is typed wrong" {
	run -2 --separate-stderr kdelta label
	says mv rm
	run -2 --separate-stderr kdelta label mv new
	says OLD NEW
	run -2 --separate-stderr kdelta label rm
	says LABEL
	run -2 --separate-stderr kdelta label rm new old --yes
	says LABEL
	run -2 --separate-stderr kdelta label rn new
	says "'rn'"
	run -2 --separate-stderr kdelta label mv new newer --store nowhere
	says nowhere
	[ ! -e nowhere ]
	[ "$(labels)" = '["new","old"]' ]
}
