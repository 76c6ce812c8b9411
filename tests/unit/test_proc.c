/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/proc.h"

#define SH(script)                                                                                 \
	{                                                                                          \
		"sh", "-c", script, NULL                                                           \
	}

static void output_and_status(void **state)
{
	const char *const argv[] = SH("echo out; echo err >&2; exit 7");
	struct proc_result r;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(proc_run(argv, NULL, &r, &e), 0);
	assert_int_equal(r.status, 7);
	assert_int_equal(r.signal, 0);
	assert_string_equal(r.out, "out\n");
	assert_string_equal(r.err, "err\n");
	assert_int_equal(r.out_len, 4);
	proc_result_done(&r);
	assert_int_equal(proc_run_ok(argv, NULL, &r, &e), -EIO);
	assert_string_equal(e.text, "sh: exit status 7: err");
	proc_result_done(&r);
}

static void into_a_descriptor(void **state)
{
	const char *const argv[] = SH("echo out; echo err >&2; exit 7");
	char buf[20] = "";
	FILE *f = tmpfile();
	struct proc_opts o = { .out_fd = fileno(f) };
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, &o, &r, NULL), 0);
	assert_int_equal(r.status, 7);
	assert_string_equal(r.out, "");
	assert_string_equal(r.err, "");
	proc_result_done(&r);
	/* It is still ours. */
	assert_int_equal(pread(fileno(f), buf, sizeof(buf) - 1, 0), 8);
	assert_string_equal(buf, "out\nerr\n");
	fclose(f);
}

static void the_end_of_stderr(void **state)
{
	const char *const argv[] = SH("seq 1 5000; seq 1 50000 >&2; echo the end >&2; exit 1");
	const char *const killed[] = SH("echo last words >&2; kill -9 $$");
	const struct proc_opts o = { .max_output = 20, .keep_end = true, .no_out = true };
	struct error e = ERROR_INIT;
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run_ok(argv, &o, &r, &e), -EIO);
	assert_string_equal(e.text, "sh: exit status 1: the end");
	assert_string_equal(r.err, "49999\n50000\nthe end\n");
	assert_string_equal(r.out, "");
	assert_true(r.truncated);
	proc_result_done(&r);
	error_clear(&e);
	assert_int_equal(proc_run_ok(killed, &o, &r, &e), -EIO);
	assert_string_equal(e.text, "sh: ended by signal 9 (Killed): last words");
	proc_result_done(&r);
}

static void what_it_used(void **state)
{
	const char *const argv[] = SH("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done");
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, NULL, &r, NULL), 0);
	assert_true(r.usage.ru_utime.tv_sec + r.usage.ru_utime.tv_usec + r.usage.ru_stime.tv_sec +
			    r.usage.ru_stime.tv_usec >
		    0);
	assert_true(r.usage.ru_maxrss > 100);
	proc_result_done(&r);
}

static void ended_by_signal(void **state)
{
	const char *const argv[] = SH("kill -TERM $$");
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, NULL, &r, NULL), 0);
	assert_int_equal(r.status, -1);
	assert_int_equal(r.signal, SIGTERM);
	proc_result_done(&r);
}

static void environment_and_folder(void **state)
{
	const char *const argv[] =
		SH("echo \"$LC_ALL $KD_A $KD_B $LANGUAGE\"; pwd; read x; echo $?");
	const char *const env[] = { "KD_B=new", NULL };
	const char *const env_lc[] = { "LC_ALL=POSIX", "KD_B=", NULL };
	struct proc_opts o = { .env = env, .cwd = "/usr" };
	struct proc_result r;

	(void)state;
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	setenv("LANGUAGE", "de", 1);
	setenv("KD_A", "kept", 1);
	setenv("KD_B", "old", 1);
	assert_int_equal(proc_run(argv, &o, &r, NULL), 0);
	assert_string_equal(r.out, "C kept new \n/usr\n1\n"); /* 1: stdin is at its end */
	proc_result_done(&r);
	o.env = env_lc;
	assert_int_equal(proc_run(argv, &o, &r, NULL), 0);
	assert_string_equal(r.out, "POSIX kept  \n/usr\n1\n");
	proc_result_done(&r);
}

static void cannot_start(void **state)
{
	const char *const none[] = { "kdelta-no-such-command", NULL };
	const char *const argv[] = { "true", NULL };
	const struct proc_opts o = { .cwd = "/no/such/folder" };
	struct error e = ERROR_INIT;
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(none, NULL, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "kdelta-no-such-command"));
	proc_result_done(&r);
	error_clear(&e);
	assert_int_equal(proc_run(argv, &o, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/no/such/folder"));
	proc_result_done(&r);
}

static void output_is_bounded(void **state)
{
	const char *const argv[] = SH("head -c 300000 /dev/zero; echo end >&2");
	const struct proc_opts o = { .max_output = 1000 };
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, &o, &r, NULL), 0);
	assert_int_equal(r.out_len, 1000);
	assert_true(r.truncated);
	assert_int_equal(r.status, 0); /* it was read to the end, not blocked or broken */
	assert_string_equal(r.err, "end\n");
	proc_result_done(&r);
	assert_int_equal(proc_run(argv, NULL, &r, NULL), 0);
	assert_int_equal(r.out_len, 300000);
	assert_false(r.truncated);
	proc_result_done(&r);
}

static void timeout_kills_the_group(void **state)
{
	const char *const argv[] = SH("sleep 100 & echo $!; wait");
	const struct proc_opts o = { .timeout_ns = 300 * NSEC_PER_MSEC };
	uint64_t start = clock_mono_ns();
	struct error e = ERROR_INIT;
	struct proc_result r;
	pid_t grandchild;

	(void)state;
	assert_int_equal(proc_run(argv, &o, &r, &e), -ETIMEDOUT);
	assert_true(clock_mono_ns() - start < 20 * NSEC_PER_SEC);
	assert_non_null(strstr(e.text, "0.3 s"));
	grandchild = atoi(r.out);
	assert_true(grandchild > 0);
	/* Nobody of ours reaps it: it may stay a zombie for a moment, but it does not live. */
	for (int i = 0; i < 100 && !kill(grandchild, 0); i++) {
		char path[64], buf[256];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", grandchild);
		f = fopen(path, "re");
		if (f && fgets(buf, sizeof(buf), f) && strstr(buf, ") Z ")) {
			fclose(f);
			break;
		}
		if (f)
			fclose(f);
		assert_int_not_equal(i, 99);
		usleep(10000);
	}
	proc_result_done(&r);
}

static void a_grandchild_is_not_waited_for(void **state)
{
	const char *const argv[] = SH("sleep 5 & echo done");
	uint64_t start = clock_mono_ns();
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, NULL, &r, NULL), 0);
	assert_true(clock_mono_ns() - start < 4 * NSEC_PER_SEC);
	assert_string_equal(r.out, "done\n");
	proc_result_done(&r);
}

static int stop_at_second(void *arg)
{
	return ++*(int *)arg == 2;
}

static void tick_cancels(void **state)
{
	const char *const argv[] = { "sleep", "100", NULL };
	int calls = 0;
	const struct proc_opts o = { .tick = stop_at_second, .arg = &calls };
	struct proc_result r;

	(void)state;
	assert_int_equal(proc_run(argv, &o, &r, NULL), -ECANCELED);
	assert_int_equal(calls, 2);
	proc_result_done(&r);
}

/* A parent killed by SIGKILL cannot clean up: the kernel has to. */
static void dies_with_parent(const char *const *argv, const struct proc_opts *o)
{
	struct proc_result r;
	char text[32] = "";
	int fds[2], i;
	pid_t parent, child;

	assert_int_equal(pipe(fds), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		dup2(fds[1], 9); /* not close-on-exec: handed down on purpose */
		proc_run(argv, o, &r, NULL);
		_exit(0);
	}
	close(fds[1]);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	close(fds[0]);
	child = atoi(text);
	assert_true(child > 0);
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(kill(parent, SIGKILL), 0);
	waitpid(parent, NULL, 0);
	for (i = 0; i < 500; i++) {
		char path[64], buf[256] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		f = fopen(path, "re");
		if (!f)
			break;
		if (!fgets(buf, sizeof(buf), f) || strstr(buf, ") Z ")) {
			fclose(f);
			break;
		}
		fclose(f);
		usleep(10000);
	}
	assert_true(i < 500);
}

static void child_dies_with_its_parent(void **state)
{
	const char *const argv[] = SH("echo $$ >&9; exec 9>&-; exec sleep 100");

	(void)state;
	dies_with_parent(argv, NULL);
}

static void grandchild_dies_with_the_guarded(void **state)
{
	const char *const argv[] = SH("sleep 100 9>&- & echo $! >&9; exec 9>&-; wait");
	const char *const quick[] = SH("exit 3");
	const struct proc_opts o = { .guard = true };
	struct proc_result r;

	(void)state;
	dies_with_parent(argv, &o);
	/* And where nobody dies, the guard is gone with the command. */
	assert_int_equal(proc_run(quick, &o, &r, NULL), 0);
	assert_int_equal(r.status, 3);
	proc_result_done(&r);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_and_status),
		cmocka_unit_test(into_a_descriptor),
		cmocka_unit_test(the_end_of_stderr),
		cmocka_unit_test(what_it_used),
		cmocka_unit_test(ended_by_signal),
		cmocka_unit_test(environment_and_folder),
		cmocka_unit_test(cannot_start),
		cmocka_unit_test(output_is_bounded),
		cmocka_unit_test(timeout_kills_the_group),
		cmocka_unit_test(a_grandchild_is_not_waited_for),
		cmocka_unit_test(tick_cancels),
		cmocka_unit_test(child_dies_with_its_parent),
		cmocka_unit_test(grandchild_dies_with_the_guarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
