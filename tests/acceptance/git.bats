#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# git:REV of a real kernel: the source of the package linux-source, two commits, config=tiny.
# About six minutes on two cores; 5 GB in the temporary folder.

setup_file()
{
	export PATH=${KDELTA_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	export KDELTA_STORE=$BATS_FILE_TMPDIR/store.db KDELTA_CACHE=$BATS_FILE_TMPDIR/cache
	mkdir "$BATS_FILE_TMPDIR/linux"
	cd "$BATS_FILE_TMPDIR/linux"
	tar -xf "$(printf '%s\n' /usr/src/linux-source-*.tar.xz | sort -V | tail -n 1)" --strip-components=1
	git init -q .
	git config user.name acceptance
	git config user.email acceptance@example.org
	git add -A -f .
	git commit -q -m base
	# Where every workload passes: what the second build compiles is this file and what links it.
	sed -i '/^SYSCALL_DEFINE0(getppid)/,/^}/s/rcu_read_lock();/asm volatile("nop; nop; nop");\n\t&/' kernel/sys.c
	git commit -q -a -m 'three nops in getppid'
}

setup()
{
	cd "$BATS_FILE_TMPDIR/linux"
}

# "built git:REV: RELEASE, N files in S s": N S
built()
{
	sed -n "s/^built git:$1: .*, \([0-9]*\) files in \([0-9]*\) s$/\1 \2/p" "$BATS_FILE_TMPDIR/err"
}

@test "two commits of a kernel: built, booted, compared; the second in seconds" {
	kdelta vm git:HEAD~1 git:HEAD -s demo --boots 2 >"$BATS_FILE_TMPDIR/out" 2>"$BATS_FILE_TMPDIR/err"
	read -r files seconds < <(built HEAD~1)
	read -r files2 seconds2 < <(built HEAD)
	echo "# first: $files files in $seconds s; second: $files2 files in $seconds2 s" >&3
	[ "$files" -gt 500 ]
	[ "$files2" -lt 50 ]
	[ $((seconds2 * 4)) -lt "$seconds" ]
	[ -z "$(git status --porcelain)" ]
	# All ran everywhere.
	[ "$(kdelta export | jq -r 'select(.k == "boot") | .state' | sort | uniq -c | xargs)" = "4 ok" ]
	[ -z "$(kdelta export | jq -c 'select(.k == "fail" or .k == "skip")')" ]
	[ "$(kdelta export | jq -r 'select(.k == "kernel") | .config_hash' | sort -u | wc -l)" = 1 ]
	cut -c1-100 "$BATS_FILE_TMPDIR/out" | sed 's/^/# /' >&3
}

@test "the small configuration has what all workloads ask for" {
	kdelta vm --boots 1 --cpus 2 --time 30s git:HEAD >"$BATS_FILE_TMPDIR/all"
	[ -z "$(kdelta export | jq -c 'select(.k == "fail" or .k == "skip")')" ]
}

@test "built in steps or at once, the bytes are the same" {
	commit=$(git rev-parse HEAD)
	in_steps=$(sha256sum <"$KDELTA_CACHE/git/$commit"-*/arch/x86/boot/bzImage)
	rm -rf "$KDELTA_CACHE"
	kdelta vm --boots 1 -w nop git:HEAD >/dev/null
	[ "$(sha256sum <"$KDELTA_CACHE/git/$commit"-*/arch/x86/boot/bzImage)" = "$in_steps" ]
}
