#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kdelta bisect with results that are stored already, so that no QEMU is needed: what it asks for
# is looked up, and what is not there cannot be booted. The policy is in tests/unit/test_bisect.c,
# real boots in tests/acceptance.
load common

setup_file()
{
	local i
	export KERNELS=$BATS_FILE_TMPDIR
	for i in {0..8}; do
		"$tests/vm/make-kernel" "$KERNELS/k$i" "6.1.$i-test" "#1 SMP build $i" "$(build_id "k$i")"
	done
	cat >"$KERNELS/qemu" <<'END'
#!/bin/sh
case $1 in
--version) echo 'QEMU emulator version 7.2.0 (fake)' ;;
--help) printf 'usage: qemu\n-plugin file\n' ;;
*)
	[ -z "$STARTED" ] || echo "$*" >>"$STARTED"
	echo 'this one boots nothing' >&2
	exit 1
	;;
esac
END
	chmod +x "$KERNELS/qemu"
	# Stand-ins for what a kernel's build is asked to have: none here comes as far as to use them.
	mkdir "$KERNELS/bin"
	for i in flex bison bc; do
		ln -s /bin/true "$KERNELS/bin/$i"
	done
	export PATH=$KERNELS/bin:$PATH
}

setup()
{
	home_here
	cp "$BATS_FILE_TMPDIR"/k? .
	export KDELTA_CACHE=$PWD/cache STARTED=$PWD/started
}

build_id()
{
	sha1sum <<<"$1" | cut -c1-40
}

# known EXPERIMENT REPRODUCE: stores the lines LABEL SOURCE BUILD_ID WHAT of stdin as boots of that
# experiment. WHAT: values of the 8 perturbations, V or V,V,V...; boot=REASON; fail=REASON.
known()
{
	grep . >lines.known || return 0
	jq -Rnc --arg name "$1" --arg reproduce "$2" \
		--arg agent "${AGENT:-$(kdelta-agent list --format json | jq -r .agent_build_id)}" '
		def uuid(n): "00000000-0000-4000-\($name | explode[0] + 8000)-\(1000000000000 + n | tostring[1:])";
		def of($k; $i): {
			k: "invocation", inv: uuid(1000 + $k * 100 + $i), workload: "getppid",
			workload_version: 1, family: "syscall", op: "call", params: "",
			class: "exact", headline: true, implied: false,
			context: { agent: $agent, qemu: "7.2.0 (fake)", cpus: 1 },
			metrics: [ { name: "instructions", unit: "instructions", per: "op",
				better: "neither", kind: "count", from: "reported", headline: true } ] };
		[inputs | split(" ") | { label: .[0], source: .[1], id: .[2], what: (.[3:] | join(" ")) }]
		| to_entries as $all
		| ($all[] | { k: "kernel", id: uuid(.key + 1), label: .value.label,
			release: "6.1-\(.value.label)", version: "#1", build_id: .value.id,
			source: .value.source, created_ns: 1767225600000000000 }),
		{ k: "experiment", id: uuid(999), name: $name, subject: "kernel", seed: "1", blocks: 1,
			reproduce: $reproduce, created_ns: 1767225600000000000,
			kernels: [$all[] | uuid(.key + 1)] },
		($all[] | .key as $k | .value as $v | ($v.what | startswith("boot=")) as $dead |
			{ k: "boot", id: uuid(500 + $k), experiment: uuid(999), kernel: uuid($k + 1),
				block: 0, position: $k, boot_id: uuid(700 + $k),
				state: (if $dead then "failed" else "ok" end),
				reason: (if $dead then $v.what[5:] else null end),
				started_ns: 1767225600000000000, ended_ns: 1767225601000000000,
				kernel_warnings: 0 },
			(if $dead then empty else
			{ k: "hello", in_boot: uuid(500 + $k), protocol: 1, agent: "0.1.0",
				agent_build_id: $agent, release: "6.1-\($v.label)", version: "#1",
				machine: "x86_64", build_id: $v.id, boot_id: uuid(700 + $k),
				cmdline: "quiet", init: true, time_ns: 1767225600000000000 },
			(range(8) as $i | of($k; $i) as $o | $o,
			if ($v.what | startswith("fail=")) then
				{ k: "fail", inv: $o.inv, reason: $v.what[5:] }
			else
				{ k: "fact", inv: $o.inv, when: "before", class: "volatile",
					name: "perturbation", value: "\($i): played" },
				($v.what | split(",") | .[$i % length] | tonumber) as $value |
				{ k: "sample", inv: $o.inv, metric: "instructions", value: $value },
				{ k: "window", inv: $o.inv, contexts: true, rows: [ [ 0, 1024, $value * 1024,
					0, 0, 0, 0, ($value - 10) * 1024, 10240, 0, 0, 0 ] ] },
				{ k: "profile", inv: $o.inv, ops: [ 1024, 0 ], windows: [ 1, 0 ], edges: [],
					symbols: [ [ "[user]", null, "0", 10240, 0, 0, 0, 0, 0 ],
						[ "changed", null, "ffffffff81000000",
							($value - 10) * 1024, 0, 1024, 0, 0, 0 ] ] },
				{ k: "usage", inv: $o.inv, values: { n: 1024 } }
			end),
			{ k: "done", invocations: 8, failed: 0, skipped: 0 } end))
		| with_entries(select(.value != null))' lines.known | kdelta import - >import.out 2>&1 || { cat import.out; return 1; }
}

# list WHAT...: the kernels k0, k1 ... were measured so; "-": not at all. `bisect` is told so.
list()
{
	local i=0 what
	kernels=()
	for what; do
		kernels+=("k$i=./k$i")
		[ "$what" = - ] || echo "k$i ./k$i $(build_id "k$i") $what"
		i=$((i + 1))
	done >lines
	known b "kdelta bisect --exact -w getppid${THRESHOLD:+ --threshold $THRESHOLD} --qemu $KERNELS/qemu ${kernels[*]}" <lines
}

bisect()
{
	kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" -e b ${THRESHOLD:+--threshold "$THRESHOLD"} "$@" "${kernels[@]}"
}

@test "the step is found, and only log2 of the kernels are asked for" {
	list 335 - 335 335 337 337 337 - 337
	run -0 --separate-stderr bisect
	prints 'getppid, instructions per call, moved here: last good 335.0 k3 first bad 337.0 k4 +2.0 more' \
		'5 of 9 kernels were measured.' 'Reproduce: kdelta bisect --exact'
	grep -qx '1 of about 5: k0: 335.0 (the good end, was stored)' <<<"$stderr"
	grep -qx '2 of about 5: k8: 337.0 (the bad end, was stored)' <<<"$stderr"
	grep -qx '3 of about 5: k4: 337.0 (bad, was stored)' <<<"$stderr"
	grep -qx '4 of about 5: k2: 335.0 (good, was stored)' <<<"$stderr"
	grep -qx '5 of about 5: k3: 335.0 (good, was stored)' <<<"$stderr"
	[ ! -e started ]
}

@test "each place of the step" {
	for step in 1 2 5 8; do
		rm -f "$KDELTA_STORE"*
		mapfile -t values < <(for i in {0..8}; do [ "$i" -lt "$step" ] && echo 335 || echo 334.5; done)
		list "${values[@]}"
		run -0 --separate-stderr bisect -q
		[ -z "$stderr" ]
		prints "last good 335.0 k$((step - 1)) first bad 334.5 k$step -0.5 fewer"
	done
}

@test "what failed is skipped, not tried again, and its neighbours are asked" {
	list 335 335 335 335 'boot=panic: no working init' 335 337 337 337
	run -0 --separate-stderr bisect
	grep -q '^3 of about 6: k4: skipped, as before: panic: no working init' <<<"$stderr"
	prints 'last good 335.0 k5 first bad 337.0 k6' '1 skipped.'
	[ ! -e started ]
}

@test "a range where the step lies among skipped ones, exit 3" {
	list 335 335 335 'boot=panic: no working init' 'fail=too little memory' 337 337 337 337
	run -3 --separate-stderr bisect -q
	prints 'moved at one of these 3, all but the last of which were skipped:' 'last good 335.0 k2' \
		'skipped - k3 panic: no working init' 'skipped - k4 too little memory' 'bad 337.0 k5' \
		'2 skipped.'
}

@test "ends that are the same: nothing to find" {
	list 335 - 335
	run -0 --separate-stderr bisect -q
	[ "$output" = "There is nothing to find: getppid, instructions per call, is 335.0 at k0 and 335.0 at k2: the same." ]
}

@test "ends that overlap, and ends that are no more than the threshold apart" {
	list 335,337 - 336
	run -0 --separate-stderr bisect -q
	prints 'is 336.0 at k0 and 336.0 at k2: within perturbation.'
	rm "$KDELTA_STORE"
	THRESHOLD=2
	list 335 - 337
	run -0 --separate-stderr bisect -q
	prints 'nothing to find' 'no more than 2 apart'
}

@test "a threshold finds the step that is large enough" {
	THRESHOLD=5
	list 335 336 337 338 339 347 348 349 350
	run -0 --separate-stderr bisect -q
	prints 'last good 339.0 k4 first bad 347.0 k5'
}

@test "what overlaps with both ends is neither" {
	list 335 335 335 335 335,337 337 337 337 337
	run -3 --separate-stderr bisect
	grep -q 'k4: 336.0 (undecided, was stored): within perturbation of both ends' <<<"$stderr"
	prints 'skipped 336.0 k4 within perturbation of both ends' 'last good 335.0 k3' 'bad 337.0 k5'
}

@test "a kernel that cannot be booted is skipped, and that is stored" {
	list 335 335 335 335 - 337 337 337 337
	run -3 --separate-stderr bisect
	[[ $stderr = *'k4: skipped: '* ]]
	[ -e started ]
	rm started
	run -3 --separate-stderr bisect
	[[ $stderr = *'k4: skipped, as before: '* ]]
	[ ! -e started ]
}

@test "an end that cannot be measured is said, exit 3" {
	list 335 335 'boot=panic: no working init'
	run -3 --separate-stderr bisect -q
	says 'k2 is an end and cannot be measured (panic: no working init): give another one'
	[ -z "$output" ]
}

@test "without a name the same command finds its experiment again, another one does not" {
	kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" ./k0 ./k1 2>one || [ $? = 3 ]
	kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" ./k0 ./k1 2>again || [ $? = 3 ]
	kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" ./k0 ./k2 2>other || [ $? = 3 ]
	name=$(sed -n 's/^experiment //p' one)
	[[ $name =~ ^bisect-getppid-[0-9a-f]{8}$ ]]
	grep -qx "experiment $name, which goes on" again
	run ! grep -q "$name" other
	# The same path, another kernel.
	cp k5 k1
	kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" ./k0 ./k1 2>other || [ $? = 3 ]
	run ! grep -q "$name" other
}

@test "an experiment of another command, of another agent: refused" {
	list 335 - 337
	run -2 --separate-stderr bisect --perturb 9
	says '-e b: that experiment was made by another command' 'kdelta bisect --exact'
	rm "$KDELTA_STORE"
	AGENT=$(build_id other) list 335 - 337
	run -2 --separate-stderr bisect -q
	says 'k0 was measured there with another kdelta-agent' 'use another name'
}

@test "a dry run tells how many and which first, and leaves nothing behind" {
	list - - - - - - - - -
	rm -f "$KDELTA_STORE"
	run -0 --separate-stderr bisect -n
	prints 'Would seek where this moves: getppid, instructions per call.' \
		'Would boot about 5 of 9 kernels, each once, with 8 perturbations' \
		'good end k0 bad end k8 then k4'
	[ ! -e "$KDELTA_STORE" ]
	[ ! -e started ]
}

@test "bad usage is one line that says what to type" {
	run -2 --separate-stderr kdelta bisect -w getppid k0 k1
	says 'bisecting by time is not there yet' --exact
	run -2 --separate-stderr kdelta bisect git -w getppid --good a --bad b
	says 'bisecting by time is not there yet'
	run -2 --separate-stderr kdelta bisect --exact -w getppid k0
	says 'the good one first'
	run -2 --separate-stderr kdelta bisect --exact k0 k1
	says '-w is missing' 'kdelta list workloads'
	run -2 --separate-stderr kdelta bisect --exact -w 'ctx:procs=2+8' k0 k1
	says 'one is wanted'
	run -2 --separate-stderr kdelta bisect --exact -w mock k0 k1
	says 'cannot be exact'
	run -2 --separate-stderr kdelta bisect --exact -w getppid -m tme k0 k1
	says "no metric 'tme'" instructions
	run -2 --separate-stderr kdelta bisect --exact -w getppid -m hardirq k0 k1
	says 'hardirq is evidence'
	run -2 --separate-stderr kdelta bisect --exact -w getppid --threshold x k0 k1
	says --threshold "'x'"
	run -2 --separate-stderr kdelta bisect --exact -w getppid --threshold -1 k0 k1
	says --threshold
	run -2 --separate-stderr kdelta bisect --exact -w getppid --perturb 1 k0 k1
	says --perturb
	run -2 --separate-stderr kdelta bisect --exact -w getppid --qemu "$KERNELS/qemu" ./k0 ./nothing
	says nothing
	run -2 --separate-stderr kdelta bisect --exact -w getppid --qemu /nonexistent k0 k1
	says /nonexistent
	run -2 --separate-stderr kdelta bisect git --exact -w getppid --good a
	says --bad
	run -2 --separate-stderr kdelta bisect git --exact -w getppid --good a --bad b c
	says "'c'"
}

# ---- commits ----

# A repository with a merge; its commits cannot be built, so what is not stored is skipped.
#   one - two - three ------ merge - four - five
#     \                     /
#      side1 - side2 ------+
history()
{
	git init -q -b main tree
	cd tree
	git config user.name n
	git config user.email n@example.org
	mkdir -p arch/x86
	touch Kconfig arch/x86/Kconfig Makefile
	git add .
	commit one
	git checkout -q -b side
	commit side1
	commit side2
	git checkout -q main
	commit two
	commit three
	GIT_AUTHOR_DATE=@1700000010 GIT_COMMITTER_DATE=@1700000010 git merge -q --no-ff -m merge side
	git tag merge
	commit four
	commit five
	cd ..
}

commit()
{
	GIT_AUTHOR_DATE=@1700000000 GIT_COMMITTER_DATE=@1700000000 git commit -q --allow-empty -m "$1"
	git tag "$1"
}

id()
{
	git -C tree rev-parse --short=12 "$1"
}

# commits TAG=WHAT...
commits()
{
	local c
	for c; do
		[ "${c#*=}" = - ] || echo "$(id "${c%%=*}") git:$(id "${c%%=*}") $(build_id "$c") ${c#*=}"
	done | known b "kdelta bisect git --exact -w getppid --qemu $KERNELS/qemu --tree tree --good $(id one) --bad $(id five)"
}

bisect_git()
{
	kdelta bisect git --exact -w getppid --qemu "$KERNELS/qemu" -e b --tree tree --good one --bad five "$@"
}

@test "git: the commit that moved it, also on a side that was merged" {
	history
	before=$(git -C tree for-each-ref; git -C tree rev-parse HEAD; sha1sum tree/.git/index; find tree | sort)
	commits one=335 two=335 three=335 side1=335 side2=337 merge=337 four=337 five=337
	run -0 --separate-stderr bisect_git
	prints "last good 335.0 $(id side1) (\"side1\")" "first bad 337.0 $(id side2) (\"side2\")"
	rm "$KDELTA_STORE"
	commits one=335 two=335 three=337 side1=335 side2=335 merge=337 four=337 five=337
	run -0 --separate-stderr bisect_git
	prints "last good 335.0 $(id two) (\"two\")" "first bad 337.0 $(id three) (\"three\")"
	rm "$KDELTA_STORE"
	commits one=335 two=335 three=335 side1=335 side2=335 merge=337 four=337 five=337
	run -0 --separate-stderr bisect_git
	prints "first bad 337.0 $(id merge) (\"merge\")"
	[ "$before" = "$(git -C tree for-each-ref; git -C tree rev-parse HEAD; sha1sum tree/.git/index; find tree | sort)" ]
}

@test "git: a dry run, and commits that are none" {
	history
	run -0 bisect_git -n
	prints 'Would build and boot about' "good end $(id one) (\"one\")" "bad end $(id five) (\"five\")"
	[ ! -e "$KDELTA_STORE" ]
	git=(kdelta bisect git --exact -w getppid --qemu "$KERNELS/qemu" --tree tree)
	run -2 --separate-stderr "${git[@]}" --good nope --bad five
	says "no commit 'nope' in tree"
	run -2 --separate-stderr "${git[@]}" --good five --bad main
	says 'the same commit'
	run -2 --separate-stderr "${git[@]}" --good side2 --bad three
	says 'is no ancestor' "--good $(id one)"
	run -2 --separate-stderr "${git[@]}" --good --output=x --bad five
	says 'is no commit'
	mkdir empty
	run -2 --separate-stderr kdelta bisect git --exact -w getppid --qemu "$KERNELS/qemu" --tree /tmp --good a --bad b
	says 'in no git repository' --tree
}

# ---- judge ----

judge()
{
	kdelta bisect judge --exact -w getppid --qemu "$KERNELS/qemu" "$@"
}

# The kernel k1 has these values.
judged()
{
	echo "k1 ./k1 $(build_id k1) $1" |
		known j "kdelta bisect judge --exact -w getppid${THRESHOLD:+ --threshold $THRESHOLD} --qemu $KERNELS/qemu"
}

@test "judge: 0 good, 1 bad, 125 undecided, against a number" {
	judged 335
	run -0 --separate-stderr judge -e j --good 335 k1=./k1
	[ "$output" = 'good: k1: getppid, instructions per call: 335.0, and 335.0: 0.0, same' ]
	run -1 --separate-stderr judge -e j --good 334.5 k1=./k1
	[ "$output" = 'bad: k1: getppid, instructions per call: 335.0, and 334.5: +0.5, more' ]
	run -1 judge -e j --good 336 k1=./k1
	prints fewer
	THRESHOLD=1
	rm "$KDELTA_STORE"
	judged 335,339
	run -0 judge -e j --threshold 1 --good 336.5 k1=./k1
	prints 'within perturbation'
	run -125 judge -e j --threshold 1 --good 338.5 k1=./k1
	prints 'undecided: k1' 'more than the threshold apart'
	run -1 judge -e j --threshold 1 --good 334.5 k1=./k1
}

@test "judge: against a label, whatever experiment it is in" {
	list 335 337
	judged 335
	run -0 judge -e j --good k0 k1=./k1
	prints 'good: k1' 'and 335.0 at k0: 0.0, same'
	run -129 --separate-stderr judge -e j --good nobody k1=./k1
	says nobody
}

@test "judge: 125 where the kernel does not boot, 128 and more for what is an error" {
	run -125 --separate-stderr judge --good 335 ./k1
	prints 'undecided: 6.1.1-test'
	run -129 --separate-stderr judge ./k1
	says --good
	run -129 --separate-stderr judge --nonsense
	says --nonsense
	run -129 --separate-stderr kdelta bisect judge -w getppid --good 335
	says 'bisecting by time is not there yet'
	run -129 --separate-stderr judge --good 335 ./nothing
	says nothing
	run -129 --separate-stderr judge --good 335 ./k1 ./k2
	says 'one kernel'
	run -129 --separate-stderr judge --good 335
	says 'in no git repository'
	KDELTA_PLUGIN=/nonexistent run -129 --separate-stderr judge --good 335 ./k1
	says /nonexistent
	run -0 judge --help
}

@test "an experiment in which nothing was measured yet goes on" {
	history
	for _ in 1 2; do
		run -125 judge -e empty --good 335 --tree tree git:two
		prints 'does not build'
	done
}

@test "judge: git bisect run ends at an error, and skips what is undecided" {
	history
	cd tree
	git bisect start five one >/dev/null
	run ! git bisect run kdelta bisect judge --exact -w getppid --qemu "$KERNELS/qemu"
	git bisect log >log
	run ! grep -qE '^git bisect (good|bad|skip) ' log
	run ! git bisect run kdelta bisect judge --exact -w getppid --qemu "$KERNELS/qemu" --good 335
	git bisect log >log
	grep -qE '^git bisect skip ' log
	run ! grep -qE '^git bisect (good|bad) ' log
}
