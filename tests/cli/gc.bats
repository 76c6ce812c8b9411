#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta gc: which packages of the cache go, and which stay.
load common

setup()
{
	home_here
	export KDELTA_CACHE=$BATS_TEST_TMPDIR/cache
	mkdir "$KDELTA_CACHE"
}

# cached RELEASE VERSION [BYTES]
cached()
{
	head -c "${3:-1000000}" /dev/zero >"$KDELTA_CACHE/linux-image-$1_${2}_$(sha256sum <<<"$1$2" | cut -c1-64).deb"
}

# from SOURCE LABEL RELEASE: a boot, in an experiment of its own, of a kernel that came from there.
from()
{
	mock_records "boot-$3" time=100 "$3" | kdelta import -e "of $3" -l "$2" - >/dev/null
	sqlite3 "$KDELTA_STORE" "UPDATE kernel SET source = nullif('$1', '') WHERE label = '$2' AND release = '$3'"
}

# The packages that are there: "RELEASE VERSION, ..."
there()
{
	(cd "$KDELTA_CACHE" && find . -name 'linux-image-*') |
		sed -E 's|./linux-image-(.*)_(.*)_.*|\1 \2|' | sort | paste -sd,
}

@test "what no label came from goes, what one came from stays" {
	cached 6.1.0-1-amd64 6.1.1-1
	cached 6.1.0-2-amd64 6.1.2-1 2000000
	cached 6.1.0-3-amd64 6.1.3-1
	cached 6.1.0-3-amd64 6.1.3-2
	cached 6.1.0-4-amd64 6.1.4-1
	cached 6.1.0-4-amd64 6.1.4-2
	from debian:6.1.0-1-amd64 one 6.1.0-1-amd64
	from debian:6.1.0-3-amd64=6.1.3-2,append=quiet three 6.1.0-3-amd64
	from debian:6.1.0-4-amd64 four 6.1.0-4-amd64
	run -0 --separate-stderr kdelta gc -n
	[ -z "$stderr" ]
	fits
	prints 'Would drop 2 kernels, 3.00 MB, that no label came from:' \
		'linux-image-6.1.0-2-amd64 6.1.2-1, 2.00 MB' 'linux-image-6.1.0-3-amd64 6.1.3-1, 1.00 MB' \
		'Kept: 4 kernels, 4.00 MB.'
	[ "$(find "$KDELTA_CACHE" -type f | wc -l)" = 6 ]
	run -0 --separate-stderr kdelta gc --yes
	prints 'Dropped 2 kernels, 3.00 MB' 'Kept: 4 kernels, 4.00 MB.'
	# Of the release alone, any version may have been meant.
	[ "$(there)" = "6.1.0-1-amd64 6.1.1-1,6.1.0-3-amd64 6.1.3-2,6.1.0-4-amd64 6.1.4-1,6.1.0-4-amd64 6.1.4-2" ]
	run -0 kdelta gc --yes
	[ "$output" = "Nothing to drop. Kept: 4 kernels, 4.00 MB." ]
	run -0 kdelta gc </dev/null
}

@test "a label that stood for an earlier kernel keeps that one, too" {
	cached 6.1.0-1-amd64 6.1.1-1
	cached 6.1.0-2-amd64 6.1.2-1
	from debian:6.1.0-1-amd64 x 6.1.0-1-amd64
	from debian:6.1.0-2-amd64 x 6.1.0-2-amd64
	run -0 kdelta gc --yes
	[ "$output" = "Nothing to drop. Kept: 2 kernels, 2.00 MB." ]
}

@test "in doubt it stays: no source known, a path into the cache" {
	cached 6.1.0-1-amd64 6.1.1-1
	cached 6.1.0-2-amd64 6.1.2-1
	cached 6.1.0-3-amd64 6.1.3-1
	from '' one 6.1.0-1-amd64
	from "$(find "$KDELTA_CACHE" -name '*-2-amd64*')" two 6.1.0-2-amd64
	from ./bzImage three 6.1.0-3-amd64
	run -0 kdelta gc --yes
	[ "$(there)" = "6.1.0-1-amd64 6.1.1-1,6.1.0-2-amd64 6.1.2-1" ]
}

@test "a hidden label lets its package go" {
	cached 6.1.0-1-amd64 6.1.1-1
	from debian:6.1.0-1-amd64 one 6.1.0-1-amd64
	kdelta gc --yes
	[ "$(there)" = "6.1.0-1-amd64 6.1.1-1" ]
	kdelta label rm one --yes
	kdelta gc --yes
	[ -z "$(there)" ]
	# And the results stay.
	[ "$(sqlite3 "$KDELTA_STORE" 'SELECT count(*) > 0 FROM sample')" = 1 ]
}

@test "files that are no packages of ours are left alone" {
	mock_boot x b1 time=100
	echo mine >"$KDELTA_CACHE/notes"
	echo mine >"$KDELTA_CACHE/linux-image-6.1_1.deb"
	mkdir "$KDELTA_CACHE/linux-image-6.1_1_$(printf 'a%.0s' {1..64}).deb"
	run -0 kdelta gc --yes
	[ "$output" = "Nothing to drop. Kept: 0 kernels." ]
	[ "$(find "$KDELTA_CACHE" -mindepth 1 | wc -l)" = 3 ]
	rm -r "$KDELTA_CACHE"
	run -0 kdelta gc --yes
	[ ! -e "$KDELTA_CACHE" ]
}

# built COMMIT-DIGIT RELEASE: a kernel of the commit of forty such digits.
built()
{
	dir=$KDELTA_CACHE/git/$(printf "$1%.0s" {1..40})-0123456789abcdef
	mkdir -p "$dir/arch/x86/boot"
	printf 'commit %s\nrelease %s\n' "$1" "$2" >"$dir/build"
	head -c 1000000 /dev/zero >"$dir/arch/x86/boot/bzImage"
}

@test "kernels of commits that no label names go, and the folders where nothing builds" {
	built a 6.1.0-ga
	built b 6.1.0-gb
	built c 6.1.0-gc
	built d 6.1.0-gd
	built e 6.1.0-ge
	from git:aaaaaaaaaaaa,config=/gone,append=quiet a 6.1.0-ga
	from git:main b 6.1.0-gb
	from '' c 6.1.0-gc
	from "$dir/arch/x86/boot/bzImage" e 6.1.0-other
	work=$KDELTA_CACHE/git/work-fedcba9876543210
	mkdir -p "$work/src" "$KDELTA_CACHE/git/mine"
	head -c 3000000 /dev/zero >"$work/failed-aaaaaaaaaaaa.log"
	: >"$work/lock"
	# Something builds.
	run -0 flock "$work/lock" kdelta gc --yes
	[[ $output = 'Nothing to drop. Kept: 5 kernels, '*'; 1 work folder, 3.00 MB.' ]]
	run -0 --separate-stderr kdelta gc -n
	fits
	prints 'Would drop 1 kernel, 1.00 MB, that no label came from:' 'git:dddddddddddd 6.1.0-gd, 1.00 MB' \
		'Would drop 1 work folder, 3.00 MB, that the next build makes again:' \
		'git/work-fedcba9876543210, 3.00 MB' 'Kept: 4 kernels, 4.00 MB.'
	[ "$(find "$KDELTA_CACHE/git" -mindepth 1 -maxdepth 1 | wc -l)" = 7 ]
	run -0 kdelta gc --yes
	prints 'Dropped 1 kernel, 1.00 MB' 'Dropped 1 work folder, 3.00 MB' 'Kept: 4 kernels, 4.00 MB.'
	[ "$(cd "$KDELTA_CACHE/git" && echo * | tr ' ' '\n' | cut -c1-4 | paste -sd,)" = aaaa,bbbb,cccc,eeee,mine ]
	kdelta label rm a --yes
	run -0 kdelta gc --yes
	prints 'git:aaaaaaaaaaaa 6.1.0-ga'
}

@test "it asks on a terminal, where only yes is yes, and nobody elsewhere" {
	mock_boot x b1 time=100
	cached 6.1.0-1-amd64 6.1.1-1
	run -2 --separate-stderr kdelta gc </dev/null
	says --yes -n
	for answer in '' n nope Y; do
		run script -qec 'kdelta gc' /dev/null <<<"$answer"
		[[ $output = *"linux-image-6.1.0-1-amd64 6.1.1-1"*"$KDELTA_CACHE"*'[y/N]'*'nothing was dropped'* ]]
		[ "$(there)" = "6.1.0-1-amd64 6.1.1-1" ]
	done
	run -0 script -qec 'kdelta gc' /dev/null <<<y
	[ -z "$(there)" ]
}

@test "without a store nothing is dropped" {
	cached 6.1.0-1-amd64 6.1.1-1
	run -2 --separate-stderr kdelta gc --yes
	says "$KDELTA_STORE"
	run -2 --separate-stderr kdelta gc --yes --store nowhere
	says nowhere
	[ "$(there)" = "6.1.0-1-amd64 6.1.1-1" ]
	[ ! -e "$KDELTA_STORE" ] && [ ! -e nowhere ]
}

@test "a file that cannot be deleted is named, and is kept" {
	[ "$(id -u)" = 0 ] || skip 'a read-only folder is mounted by root only'
	mock_boot x b1 time=100
	cached 6.1.0-1-amd64 6.1.1-1
	run -3 --separate-stderr unshare -m sh -c \
		'mount --bind "$KDELTA_CACHE" "$KDELTA_CACHE" && mount -o remount,bind,ro "$KDELTA_CACHE" && kdelta gc --yes'
	says 6.1.0-1-amd64 'Read-only'
	[[ $output != *Dropped* ]]
	prints 'Kept: 1 kernel, 1.00 MB.'
}

@test "what is typed wrong" {
	run -2 --separate-stderr kdelta gc all
	says "'all'"
	run -2 --separate-stderr kdelta gc --dry
	says --dry
}
