#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every help text, word for word.
load common

setup()
{
	home_here
}

# help_of NAME COMMAND...
help_of()
{
	run -0 --separate-stderr "${@:2}" --help
	[ -z "$stderr" ]
	fits
	same_as_golden "help/$1.txt"
}

@test "kdelta --help" { help_of kdelta kdelta; }
@test "kdelta vm --help" { help_of vm kdelta vm; }
@test "kdelta run --help" { help_of run kdelta run; }
@test "kdelta compare --help" { help_of compare kdelta compare; }
@test "kdelta profile --help" { help_of profile kdelta profile; }
@test "kdelta bisect --help" { help_of bisect kdelta bisect; }
@test "kdelta bisect git --help" { help_of bisect-git kdelta bisect git; }
@test "kdelta bisect judge --help" { help_of bisect-judge kdelta bisect judge; }
@test "kdelta list --help" { help_of list kdelta list; }
@test "kdelta show --help" { help_of show kdelta show; }
@test "kdelta label --help" { help_of label kdelta label; }
@test "kdelta gc --help" { help_of gc kdelta gc; }
@test "kdelta import --help" { help_of import kdelta import; }
@test "kdelta export --help" { help_of export kdelta export; }
@test "kdelta-agent --help" { help_of agent kdelta-agent; }
@test "kdelta-agent run --help" { help_of agent-run kdelta-agent run; }
@test "kdelta-agent list --help" { help_of agent-list kdelta-agent list; }

@test "no golden without its command" {
	[ "$(find "$tests/golden/help" -type f | wc -l)" = \
		"$(grep -c '^@test.*{ help_of' "$BATS_TEST_FILENAME")" ]
}

@test "help needs no store and makes none" {
	for c in vm run compare profile bisect list show label gc import export; do
		kdelta $c -h >/dev/null
	done
	[ ! -e "$KDELTA_STORE" ]
}

@test "no command, an unknown one, a mistyped one" {
	run -2 --separate-stderr kdelta
	[ -z "$output" ] && [[ $stderr = Usage:* ]]
	run -2 --separate-stderr kdelta compre
	says "'compre'" 'kdelta compare'
	run -2 --separate-stderr kdelta xyzzy
	says "'xyzzy'" --help
	run -2 --separate-stderr kdelta-agent xyzzy
	[[ $stderr = *"'xyzzy'"* ]]
}

@test "an unknown or mistyped option, a value that is missing or wrong" {
	run -2 --separate-stderr kdelta list --formt json suites
	says --formt 'did you mean --format?'
	run -2 --separate-stderr kdelta list suites --format yaml
	says yaml 'text|json'
	run -2 --separate-stderr kdelta list suites --format
	says --format
	run -2 --separate-stderr kdelta export -Z
	says -Z
}
