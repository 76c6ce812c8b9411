#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta bisect git over 32 commits of a real kernel: the source of the package linux-source, tiny
# kernels. One commit adds an instruction to getppid, some before the middle do not build.
# About ten minutes on two cores; 5 GB in the temporary folder.

bats_require_minimum_version 1.5.0

setup_file()
{
	export PATH=${KDELTA_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db KDELTA_CACHE=$BATS_FILE_TMPDIR/cache
	mkdir "$BATS_FILE_TMPDIR/linux"
	cd "$BATS_FILE_TMPDIR/linux"
	tar -xf "$(printf '%s\n' /usr/src/linux-source-*.tar.xz | sort -V | tail -n 1)" --strip-components=1
	git init -q -b main .
	git config user.name acceptance
	git config user.email acceptance@example.org
	git config gc.auto 0
	git add -A -f .
	git commit -q -m base
	git tag base
	for i in {1..32}; do
		# All are compiled, and only one of them executes anything else.
		echo "/* change $i */" >>kernel/sys.c
		[ "$i" != 15 ] || echo '#error "from 15 to 17 it does not build"' >>kernel/sys.c
		[ "$i" != 18 ] || sed -i '/^#error "from 15/d' kernel/sys.c
		[ "$i" != 21 ] ||
			sed -i '/^SYSCALL_DEFINE0(getppid)/,/^}/s/rcu_read_lock();/asm volatile("nop");\n\t&/' kernel/sys.c
		git commit -q -a -m "change $i"
		git tag "c$i"
	done
}

setup()
{
	cd "$BATS_FILE_TMPDIR/linux"
	bisect=(kdelta bisect git --exact -w getppid --good base --bad HEAD)
}

id()
{
	git rev-parse --short=12 "$1"
}

@test "the commit that added one instruction, in about log2 boots, with the function" {
	"${bisect[@]}" >"$BATS_FILE_TMPDIR/out" 2>"$BATS_FILE_TMPDIR/err"
	grep -E '^[0-9]+ of about ' "$BATS_FILE_TMPDIR/err" | sed 's/^/# /' >&3
	sed 's/^/# /' "$BATS_FILE_TMPDIR/out" >&3
	grep -qE "^  last good +[0-9.]+  $(id c20) \(\"change 20\"\)$" "$BATS_FILE_TMPDIR/out"
	grep -qE "^  first bad +[0-9.]+  $(id c21) \(\"change 21\"\)$" "$BATS_FILE_TMPDIR/out"
	# Two ends, five halves, and what did not build.
	[ "$(grep -cE '^[0-9]+ of about ' "$BATS_FILE_TMPDIR/err")" -le 9 ]
	grep -qE '^[0-9]+ of about .*\("change 1[5-7]"\): skipped: does not build$' "$BATS_FILE_TMPDIR/err"
	# Exactly one function, by exactly one instruction.
	[ "$(grep -cE '^ +[+-][0-9.]+ (more|fewer) .* total$' "$BATS_FILE_TMPDIR/out")" = 1 ]
	[ "$(grep -E '^ +[+-][0-9.]+ (more|fewer) ' "$BATS_FILE_TMPDIR/out" | grep -vc ' total$')" = 1 ]
	grep -qE '^ +\+1\.0 more .* __(do|x64)_sys_getppid' "$BATS_FILE_TMPDIR/out"
	[ -z "$(git status --porcelain)" ]
	[ "$(git rev-parse --abbrev-ref HEAD)" = main ]
}

@test "repeated it builds and boots nothing, and says the same" {
	"${bisect[@]}" >"$BATS_FILE_TMPDIR/again" 2>"$BATS_FILE_TMPDIR/err2"
	diff "$BATS_FILE_TMPDIR/out" "$BATS_FILE_TMPDIR/again"
	run ! grep -qE "^built|^boot" "$BATS_FILE_TMPDIR/err2"
	[ "$(grep -E '^[0-9]+ of about ' "$BATS_FILE_TMPDIR/err2" | grep -vcE 'was stored|skipped')" = 0 ]
}

@test "git bisect run with kdelta bisect judge comes to the same commit" {
	git bisect start HEAD base >/dev/null
	git bisect run kdelta bisect judge --exact -w getppid --good "$(id base)" >"$BATS_FILE_TMPDIR/run" 2>&1
	git bisect log | sed 's/^/# /' >&3
	[ "$(git rev-parse --short=12 refs/bisect/bad)" = "$(id c21)" ]
	git bisect reset >"$BATS_FILE_TMPDIR/reset" 2>&1
}
