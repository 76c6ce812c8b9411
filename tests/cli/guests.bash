# SPDX-License-Identifier: GPL-2.0-or-later
# Two kernels that cannot boot and a QEMU that plays their guest: `kdelta vm` without a VM.
bats_require_minimum_version 1.5.0

tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
build=$(cd "${KDELTA_BUILD:-$tests/../build}" && pwd)
export LC_ALL=C.UTF-8 PATH=$build:$PATH
export FAKE_QEMU_AGENT=$build/kdelta-agent

OLD_ID=$(printf 'a1%.0s' {1..20})
NEW_ID=$(printf 'b2%.0s' {1..20})

# guests_here FOLDER: the kernels "old" and "new" in it, its store; goes there.
guests_here()
{
	cd "$1"
	export KDELTA_STORE=$1/store.db
	[ -f old ] || "$tests/vm/make-kernel" old 6.1.0-old '#1 SMP old build' "$OLD_ID"
	[ -f new ] || "$tests/vm/make-kernel" new 6.1.0-new '#1 SMP new build' "$NEW_ID"
}

# fake_vm OPTION... KERNEL...
fake_vm()
{
	kdelta vm --qemu "$tests/vm/fake-qemu" -w mock:place=same --invocations 1 "$@"
}

# What `kdelta export` holds of one kind: jq's FILTER on each.
exported()
{
	kdelta export | jq -rc "select(.k == \"$1\") | $2"
}

# The program's one line on stderr; it says each of these.
says()
{
	local word
	[ "$(grep -c . <<<"$stderr")" = 1 ] || { echo "not one line: $stderr"; return 1; }
	for word; do
		grep -qF -- "$word" <<<"$stderr" || { echo "no '$word' in: $stderr"; return 1; }
	done
}

# output_has TEXT...: stdout or stderr of `run` says each of these; lines that were wrapped count.
output_has()
{
	local word text
	text=$(tr -s ' \n' '  ' <<<"$output ${stderr-}")
	for word; do
		grep -qF -- "$word" <<<"$text" || { echo "no '$word' in: $output ${stderr-}"; return 1; }
	done
}
