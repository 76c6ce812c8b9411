/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The objects that a perturbation keeps from the workload's calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "runner/perturb.h"

static unsigned entries(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	unsigned n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Our only child, or 0. */
static pid_t child(void)
{
	CLEANUP_FREE char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
	CLEANUP_FREE char *text = file_line(path);

	if (!text)
		skip(); /* CONFIG_PROC_CHILDREN */
	return (pid_t)atoi(text);
}

static int temporary(void **state)
{
	static char folder[] = "/tmp/test_runner_perturb.XXXXXX";

	*state = mkdtemp(folder);
	return !*state || setenv("TMPDIR", folder, 1) < 0 ? -1 : 0;
}

static int removed(void **state)
{
	return rmdir(*state);
}

static pid_t prepared(void)
{
	struct error e = ERROR_INIT;
	pid_t pid;

	if (perturb_prepare(&e) < 0)
		fail_msg("%s", e.text);
	pid = child();
	assert_true(pid > 0);
	return pid;
}

static void over(pid_t pid, const char *folder)
{
	CLEANUP_FREE char *fifo = mem_printf("%s/kdelta-hold-%d", folder, (int)pid);

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(unlink(fifo), 0);
}

static void nothing_is_held(void **state)
{
	struct plan_perturb none = { .sixteenths = 16 }, some = { .sixteenths = 16, .slab = 13 };
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *tasks = NULL;
	pid_t pid;

	/* Not prepared, as outside of a guest. */
	assert_int_equal(perturb_hold(&some, &e), 0);
	assert_int_equal(child(), 0);
	pid = prepared();
	tasks = mem_printf("/proc/%d/task", (int)pid);
	assert_int_equal(perturb_hold(&none, &e), 0);
	assert_int_equal(entries(tasks), 1);
	over(pid, *state);
}

/* 13: a set of buffers and five names, each in a call that does not return. */
static void names_are_held(void **state)
{
	struct plan_perturb p = { .index = 1, .sixteenths = 16, .slab = 13 };
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *tasks = NULL;
	pid_t pid = prepared();

	assert_int_equal(perturb_hold(&p, &e), 0);
	tasks = mem_printf("/proc/%d/task", (int)pid);
	assert_int_equal(entries(tasks), 1 + 5);
	clock_sleep_ns(20 * NSEC_PER_MSEC);
	assert_int_equal(entries(tasks), 1 + 5);
	over(pid, *state);
}

static void what_cannot_be_held_is_said(void **state)
{
	struct error e = ERROR_INIT;

	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(perturb_prepare(&e), -ENOENT);
	assert_non_null(strstr(e.text, "objects cannot be held"));
	while (waitpid(-1, NULL, 0) > 0)
		;
	setenv("TMPDIR", *state, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_held),
		cmocka_unit_test(names_are_held),
		cmocka_unit_test(what_cannot_be_held_is_said),
	};

	return cmocka_run_group_tests(tests, temporary, removed);
}
