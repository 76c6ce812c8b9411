#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The workload cmd: programs of a person's own, as wholes and by the windows that they mark.
load common

setup_file()
{
	local root=${BATS_TEST_DIRNAME%/*/*}
	export MARKED=$BATS_FILE_TMPDIR/marked
	# The build line of the header, warnings and all.
	cc -O2 -Wall -Wextra -Werror -I "$root/include" -o "$MARKED" "$root/examples/marked.c"
}

setup()
{
	home_here
}

# agent SPEC [OPTION]...: records in $output.
agent()
{
	kdelta-agent run -w "cmd:$1" "${@:2}"
}

# of KIND FILTER: from the records in $output.
of()
{
	jq -r "select(.k == \"$1\") | $2" <<<"$output"
}

# values METRIC [PART]: of its samples, in their order.
values()
{
	of sample "select(.metric == \"$1\" and (.part // \"\") == \"${2-}\") | .value"
}

# program NAME: C on stdin, with the header, becomes ./NAME.
program()
{
	{ echo '#include <kdelta.h>'; cat; } |
		cc -O1 -Wall -Wextra -Werror -pthread -I "$tests/../include" -o "$1" -x c -
}

@test "whole runs: as many samples as asked, each metric, none of windows" {
	run -0 --separate-stderr agent run=/bin/true
	[ "$(values time | wc -l)" = 5 ]
	[ "$(of sample .metric | sort | uniq -c | tr -s ' ')" = "$(printf ' 5 %s\n' \
		involuntary maxrss system time user voluntary)" ]
	[ "$(of sample 'select(.metric == "time" and .value < 1000)' | wc -l)" = 0 ]
	[ "$(values maxrss | awk '$1 < 4096')" = '' ]
	[ -z "$(of hist .name)" ]
	run -0 --separate-stderr agent run=true,samples=2,warmup=0
	[ "$(values time | wc -l)" = 2 ]
}

@test "a run takes what it takes, and only so many runs are made" {
	run -0 --separate-stderr agent 'run="sh -c \"echo run >>runs; sleep .05\"",samples=3,warmup=2'
	[ "$(wc -l <runs)" = 5 ]
	[ "$(values time | awk '$1 < 50e6' | wc -l)" = 0 ]
	[ "$(values time | wc -l)" = 3 ]
}

@test "words, quotes, environment, standard streams, working directory" {
	cat >args <<-'EOF2'
		#!/bin/sh
		{ printf '<%s>' "$@"; printf '%s' " $LC_ALL $MINE $KDELTA_WINDOWS"; } >said
		echo to stdout; echo to stderr >&2
		read -r line && exit 7
		ls -l /proc/$$/fd >fds
		exit 0
	EOF2
	chmod +x args
	MINE=kept LC_ALL=C.UTF-8 run -0 --separate-stderr agent \
		'run="./args one '"'two  words'"' \"a|b>c\" $x * \"\"end",samples=1,windows=whole' 7<args
	[ -z "$(of fail .reason)" ]
	[ "$(cat said)" = '<one><two  words><a|b>c><$x><*><end> C kept ' ] || { cat said; false; }
	[ -z "$stderr" ]
	# Not one line of the program in the records.
	! grep -q 'to std' <<<"$output"
	# Nothing else came along but what the shell reads.
	[ "$(awk '$10 == "->"' fds | wc -l)" -ge 3 ]
	[ -z "$(awk '$10 == "->" && $9 > 2 && $11 !~ "/args$|^/dev/null$" || $9 == 7' fds)" ]
}

@test "failures, with the reason" {
	chmod -x "$(mktemp ./script.XXX)"
	printf '#!/no/such/interpreter\n' >bad
	chmod +x bad
	check()
	{
		run -3 --separate-stderr agent "$1"
		[[ $(of fail .reason) = $2 ]] || { of fail .reason; return 1; }
		[ -z "$(of sample .k)" ]
	}
	check run=false 'false: exit status 1'
	check 'run="sh -c \"echo first >&2; echo last >&2; exit 3\""' 'sh: exit status 3: last'
	check 'run="sh -c \"kill -SEGV $$\""' 'sh: ended by signal 11 (Segmentation fault)'
	check run=no-such-program 'cannot run no-such-program: there is no such program in PATH'
	check run=./no-such-program 'cannot run ./no-such-program: there is no such program'
	check run=./bad 'cannot run ./bad: the interpreter or dynamic linker that it names is not there'
	check "run=$(echo ./script.*)" 'cannot run ./script.*: Permission denied'
	check 'run="make | tee log"' "the command line: there is no shell for \"| tee log\": *'...'"
	check "run=\"echo 'x\"" 'the command line: the quote at "'"'"'x" does not end'
	check run=true,windows=marked 'it marked no window: *'
	# What fails only now and then has failed.
	check 'run="sh -c \"echo >>n; test $(wc -l <n) -lt 4\""' 'sh: exit status 1'
}

@test "a parameter that must be given" {
	run -2 --separate-stderr kdelta run -w cmd
	says "the parameter 'run' must be given"
	run -2 --separate-stderr kdelta-agent run -w cmd:samples=2
	says "the parameter 'run' must be given"
}

@test "timeout: killed with its children, failed" {
	SECONDS=0
	run -3 --separate-stderr agent \
		'run="sh -c \"sleep 61.5 & echo $! >pid; wait\"",timeout=300ms'
	[ "$(of fail .reason)" = 'sh: not done after 0.3 s, killed' ]
	[ "$SECONDS" -lt 20 ]
	! kill -0 "$(cat pid)" 2>/dev/null
}

@test "what stays in the background is killed, and the run is good" {
	run -0 --separate-stderr agent \
		'run="sh -c \"setsid sleep 62.5 & echo $! >>pids; sleep 62.5 & echo $! >>pids\"",samples=2'
	[ "$(values time | wc -l)" = 2 ]
	[ "$(wc -l <pids)" = 6 ]
	for pid in $(cat pids); do
		! kill -0 "$pid" 2>/dev/null
	done
}

@test "the agent is stopped or killed: nothing of the program stays" {
	for sig in TERM HUP KILL; do
		rm -f pids
		setsid kdelta-agent run -w 'cmd:run="sh -c \"sleep 63.5 & echo $! $$ >pids; wait\""' >records 2>&1 3>&- &
		agent=$!
		for _ in {1..500}; do
			[ ! -s pids ] || break
			sleep .02
		done
		kill -$sig "$agent"
		wait "$agent" || true
		for pid in $(cat pids); do
			for _ in {1..300}; do
				kill -0 "$pid" 2>/dev/null || break
				sleep .02
			done
			! kill -0 "$pid" 2>/dev/null
		done
	done
}

@test "silence of the heartbeat is no hang: it beats while it waits" {
	run -0 --separate-stderr agent 'run="sleep 1.5",samples=1,warmup=0' --heartbeat 1s
	[ "$(values time | wc -l)" = 1 ]
}

@test "windows: counted by number, their lengths a histogram, and no whole runs" {
	run -0 --separate-stderr agent "run=$MARKED 200,samples=3"
	[ "$(values windows)" = "$(printf '%s\n' 200 200 200)" ]
	[ "$(values windows 'window 1')" = "$(printf '%s\n' 200 200 200)" ]
	[ "$(values mean | wc -l)" = 3 ]
	[ "$(values mean | awk '$1 <= 0' | wc -l)" = 0 ]
	[ "$(values time | wc -l)" = 0 ]
	[ "$(values lost | wc -l)" = 0 ]
	[ "$(of hist 'select(.part == "window 1") | [.hist.buckets[][1]] | add')" = 600 ]
	# The same program as a whole.
	run -0 --separate-stderr agent "run=$MARKED 200,samples=3,windows=whole"
	[ "$(values time | wc -l)" = 3 ]
	[ "$(values windows | wc -l)" = 0 ]
	# Without a runner it runs as ever, also with nonsense in the variable.
	"$MARKED" 10
	KDELTA_WINDOWS=0,/dev/zero "$MARKED" 10
	KDELTA_WINDOWS=junk "$MARKED" 10
}

@test "windows of threads, of processes, and of one whose descriptors were closed on the way" {
	program threads <<-'EOF2'
		#include <pthread.h>
		static void *work(void *arg)
		{
			for (int i = 0; i < 500; i++) {
				KDELTA_START(0);
				KDELTA_STOP(0);
			}
			return arg;
		}
		int main(void)
		{
			pthread_t t[8];
			for (int i = 0; i < 8; i++)
				pthread_create(&t[i], NULL, work, NULL);
			for (int i = 0; i < 8; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	EOF2
	run -0 --separate-stderr agent run=./threads,samples=2
	[ "$(values windows)" = "$(printf '%s\n' 4000 4000)" ]
	run -0 --separate-stderr agent "run=\"sh -c '$MARKED 20 & $MARKED 30; wait'\",samples=1"
	[ "$(values windows)" = 50 ]
	program forks <<-'EOF2'
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			(void)argc;
			KDELTA_START(0);
			KDELTA_STOP(0);
			for (int i = 0; i < 4; i++)
				if (!fork()) {
					KDELTA_START(0);
					usleep(20000);
					KDELTA_STOP(0);
					_exit(0);
				}
			while (wait(NULL) > 0)
				;
			if (argv[1])
				return execl(argv[0], argv[0], (char *)0);
			return 0;
		}
	EOF2
	run -0 --separate-stderr agent 'run=./forks again,samples=1'
	[ "$(values windows)" = 10 ]
	run -0 --separate-stderr agent "run=\"bash -c 'for ((fd = 3; fd < 300; fd++)); do eval \\\"exec \$fd<&-\\\"; done; exec $MARKED 20'\",samples=1"
	[ -z "$(of fail .reason)" ]
	[ "$(values windows)" = 20 ]
}

@test "windows that do not pair: failed, with words" {
	while IFS='|' read -r code words; do
		program bad <<<"#include <unistd.h>
			int main(void) { KDELTA_START(9); KDELTA_STOP(9); $code return 0; }"
		run -3 --separate-stderr agent run=./bad
		[[ $(of fail .reason) = "$words"* ]] || { echo "$code: $(of fail .reason)"; false; }
		[ -z "$(of sample .k)" ]
	done <<-'EOF2'
		KDELTA_START(0);|window 0 was started and never stopped
		KDELTA_STOP(0);|window 0 was stopped by a thread that had not started it
		KDELTA_START(1); KDELTA_START(2); KDELTA_STOP(2); KDELTA_STOP(1);|window 2 was started within window 1
		KDELTA_START(1); KDELTA_START(1); KDELTA_STOP(1);|window 1 was started within window 1
		KDELTA_START(1); KDELTA_STOP(15);|window 15 was stopped within window 1
		KDELTA_START(1); if (!fork()) KDELTA_STOP(1); else { usleep(99000); KDELTA_STOP(1); }|window 1 was stopped by a thread that had not
		if (!fork()) { KDELTA_START(3); pause(); } usleep(99000);|window 3 was started and never stopped
	EOF2
}

@test "more windows than there is room for: counted" {
	program many <<-'EOF2'
		int main(void)
		{
			for (int i = 0; i < 262144 + 1000; i++) {
				KDELTA_START(0);
				KDELTA_STOP(0);
			}
			return 0;
		}
	EOF2
	run -0 --separate-stderr agent run=./many,samples=2,warmup=0
	[ "$(values windows)" = "$(printf '%s\n' 262144 262144)" ]
	[ "$(values lost)" = "$(printf '%s\n' 1000 1000)" ]
}

@test "the header: C and C++, strict and not, alone and twice; bad numbers do not compile" {
	local head=$'#include <kdelta.h>\n#include <kdelta.h>\n#include <time.h>\n'
	local body=$'int main(void)\n{\n\tif (1)\n\t\tKDELTA_START(0);\n\telse\n\t\tKDELTA_STOP(0);\n\tKDELTA_STOP(15);\n\treturn 0;\n}\n'
	for std in c99 c11 gnu11; do
		cc -std=$std -O0 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Werror \
			-I "$tests/../include" -c -o x.o -x c - <<<"$head$body"
	done
	if command -v c++; then
		for std in c++98 c++17; do
			c++ -std=$std -O2 -Wall -Wextra -Wshadow -Wundef -Werror \
				-I "$tests/../include" -c -o x.o -x c++ - <<<"$head$body"
		done
	fi
	for n in 16 -1 variable; do
		run ! cc -I "$tests/../include" -c -o x.o -x c - <<<"#include <kdelta.h>
			void f(int variable); void f(int variable) { (void)variable; KDELTA_START($n); }"
	done
	# The marker of exact mode: nopl with KDL and the number, 16 more for a stop.
	cc -O2 -I "$tests/../include" -c -o x.o -x c - <<<'#include <kdelta.h>
		void f(void); void f(void) { KDELTA_START(5); KDELTA_STOP(5); }'
	[ "$(objdump -d x.o | grep -c '0f 1f 84 00 4b 44 4c')" = 2 ]
	objdump -d x.o --insn-width=8 | grep -q '0f 1f 84 00 4b 44 4c 05'
	objdump -d x.o --insn-width=8 | grep -q '0f 1f 84 00 4b 44 4c 15'
}

@test "make install: the header is there, and the example builds with it" {
	DESTDIR=$PWD/root meson install -C "$build" --no-rebuild >/dev/null
	header=$(find root -name kdelta.h)
	[ "$(basename "$(dirname "$header")")" = include ]
	cc -I "$(dirname "$header")" -o m "$tests/../examples/marked.c"
	./m 3
}

# boot LABEL ID SPEC: one boot of it, of a kernel that is called as its label.
boot()
{
	kdelta-agent run -w "$3" |
		jq -c --arg id "$2" --arg l "$1" 'if .k == "hello" then
			.boot_id = $id | .release = $l | .build_id = ($l | @base64) else . end' |
		kdelta import -e x -l "$1" - >/dev/null
}

@test "run and compare: two labels, long command lines cut in the table, whole in the data" {
	local n
	for n in 1 2; do
		boot old "$n-old" "cmd:run=\"$MARKED 7 a-long-argument\"+\"$MARKED 7 another-argument\",samples=2"
		boot new "$n-new" "cmd:run=\"$MARKED 7 a-long-argument\"+\"$MARKED 7 another-argument\",samples=2"
	done
	run -0 kdelta compare old new
	prints 'program: cmd, samples=2' '...long-argument window 1 p99' '...ther-argument mean' 'ratio: new / old'
	run -0 kdelta compare old new --format json
	[ "$(jq -r '[.rows[] | .params] | unique | .[]' <<<"$output")" = "$(printf \
		'run=%s 7 %s,samples=2,warmup=1,windows=auto,timeout=600s\n' "$MARKED" a-long-argument \
		"$MARKED" another-argument)" ]
	cp "$MARKED" m
	run -0 --separate-stderr kdelta run -q -w "cmd:run=./m 50" -l here
	prints 'window 1 p99' 'windows' '*'
	fits
}

@test "another program of the same name is not compared" {
	for n in 1 2; do
		program bench <<<'int main(void) { return 0; }'
		boot old "$n-old" cmd:run=./bench,samples=2
		program bench <<<'int main(void) { return 0 * (int)sizeof(int); } int other = 1;'
		boot new "$n-new" cmd:run=./bench,samples=2
	done
	run kdelta compare old new --format json
	[ "$(jq '[.rows[] | select(.pairs | length > 0)] | length' <<<"$output")" = 0 ]
	run kdelta compare old new
	prints 'Not compared' 'program'
}
