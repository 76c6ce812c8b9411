# SPDX-License-Identifier: GPL-2.0-or-later
# What the command line tests share: the built programs first in PATH, a home and a store of
# each test's own, mock boots to fill it with.
bats_require_minimum_version 1.5.0

tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
build=$(cd "${KDELTA_BUILD:-$tests/../build}" && pwd)
export LC_ALL=C.UTF-8 TZ=UTC PATH=$build:$PATH
unset KDELTA_MOCK KDELTA_STATE KDELTA_AGENT KDELTA_CACHE KDELTA_ROOT XDG_CACHE_HOME XDG_DATA_HOME

# Commas, slashes, quotes, another script, what a terminal and printf would obey.
HOSTILE=$'a,b/c "d" \u00fc\\n%s\n\e[31m../x'
HOSTILE_SHOWN='a,b/c "d" ü\n%s\x0a\x1b[31m../x'

# Call it from setup().
home_here()
{
	export HOME=$BATS_TEST_TMPDIR/home KDELTA_STORE=$BATS_TEST_TMPDIR/store.db
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR"
}

# mock_records BOOTID SCRIPT [RELEASE [SPEC]]: the agent's stream of a boot that was never booted.
# Equal releases are equal kernels, others differ in their build-id, too.
mock_records()
{
	local release=${3:-6.1.0} id
	id=$(sha1sum <<<"$release" | cut -c1-40)
	KDELTA_MOCK=$2 kdelta-agent run -w "${4:-mock:place=same}" >"$BATS_TEST_TMPDIR/stream" || [ $? = 3 ]
	jq -c --arg boot "$1" --arg release "$release" --arg id "$id" '
		def fact(n; v): if .k == "fact" and .name == n then .value = v else . end;
		if .k == "hello" then .boot_id = $boot | .release = $release | .build_id = $id |
			.version = "#1 mock" | .cmdline = "quiet" else . end |
		fact("release"; $release) | fact("build_id"; $id) | fact("version"; "#1 mock") |
		fact("cmdline"; "quiet")' "$BATS_TEST_TMPDIR/stream"
}

# mock_boot LABEL BOOTID SCRIPT [RELEASE]: adds it to the experiment "mock".
mock_boot()
{
	mock_records "${@:2}" | kdelta import -e mock -l "$1" - >/dev/null
}

# What `kdelta export` holds of one kind: jq's FILTER on each.
exported()
{
	kdelta export | jq -rc "select(.k == \"$1\") | $2"
}

# stderr of `run --separate-stderr` is one line, and says each of these.
says()
{
	local word
	[ "$(grep -c . <<<"$stderr")" = 1 ] || { echo "not one line: $stderr"; return 1; }
	for word; do
		grep -qF -- "$word" <<<"$stderr" || { echo "no '$word' in: $stderr"; return 1; }
	done
}

# output of `run` says each of these; how its lines are wrapped does not count.
prints()
{
	local word text
	text=$(tr -s ' \n' '  ' <<<"$output")
	for word; do
		grep -qF -- "$word" <<<"$text" || { echo "no '$word' in: $output"; return 1; }
	done
}

# No line of output is wider than a mail, but where a single word is.
fits()
{
	local wide
	wide=$(awk 'length > 80 && NF > 1' <<<"$output")
	[ -z "$wide" ] || { echo "wider than 80: $wide"; return 1; }
}

# same_as_golden FILE: output against tests/golden/FILE.
same_as_golden()
{
	local file=$tests/golden/$1
	if [ -n "${UPDATE_GOLDEN-}" ]; then
		mkdir -p "${file%/*}"
		printf '%s\n' "$output" >"$file"
	fi
	diff -u "$file" - <<<"$output" || {
		echo "if that is as it should be: UPDATE_GOLDEN=1 bats ${BATS_TEST_FILENAME#"${tests%/*}/"}"
		return 1
	}
}
