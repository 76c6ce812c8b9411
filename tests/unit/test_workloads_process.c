/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes, threads, programs and page faults: what was asked for has happened, or it fails. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "workload_fixture.h"

extern const struct workload workload_vfork, workload_posix_spawn, workload_sh, workload_thread,
	workload_pagefault;

static void all_work(void **state)
{
	(void)state;
	it_works(&workload_vfork, "");
	it_works(&workload_thread, "");
	it_works(&workload_posix_spawn, "");
	it_works(&workload_sh, "");
	it_works(&workload_pagefault, "");
	it_works(&workload_pagefault, "kind=file");
}

static uint64_t faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_minflt;
}

/* Each page is a fault: also the second time, and in pieces that do not fit the mapping. */
static void each_page_is_a_fault(void **state)
{
	static const char *const params[] = { "kind=anon", "kind=file", "kind=file,size=64KiB",
					      "kind=anon,size=64KiB" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint64_t at;

		begin(&workload_pagefault, params[i]);
		for (int twice = 0; twice < 2; twice++) {
			at = faults();
			assert_int_equal(workload_pagefault.batch(&run, 2500), 0);
			assert_true(faults() - at >= 2500);
			assert_true(faults() - at < 2600);
		}
		fake_done(&run);
	}
	assert_int_equal(setup_of(&workload_pagefault, "size=5000"), -EINVAL);
	assert_non_null(strstr(run.reason, "size must be a multiple of"));
}

struct mapping {
	volatile char *map;
	size_t size, page;
};

/* Pages that cannot be given back fault once only. */
static void pages_that_stay_fail(void **state)
{
	struct mapping *m;

	(void)state;
	begin(&workload_pagefault, "size=64KiB");
	m = run.state; /* it begins so */
	m->page = 1;   /* many touches of one page */
	m->size = 4096;
	assert_int_equal(workload_pagefault.batch(&run, 4096), -EIO);
	assert_non_null(strstr(run.reason, "faults on 4096 pages"));
}

static void a_missing_program_fails(void **state)
{
	(void)state;
	begin(&workload_posix_spawn, "");
	assert_int_equal(unlink("true"), 0);
	assert_int_equal(workload_posix_spawn.batch(&run, 1), -ENOENT);
	assert_string_equal(run.reason, "posix_spawn: No such file or directory");
	fake_done(&run);
	begin(&workload_sh, "");
	assert_int_equal(unlink("true"), 0);
	assert_int_equal(workload_sh.batch(&run, 1), -ECHILD);
	assert_string_equal(run.reason, "a child exited with 127");
}

static void the_shell_is_in_the_key(void **state)
{
	(void)state;
	begin(&workload_sh, "");
	assert_non_null(strstr(run.context, "shell="));
	assert_true(strlen(run.context) > 16 + strlen("shell= "));
	assert_int_equal(workload_sh.needs, NEED_SHELL | NEED_TMPDIR);
}

static bool put(const char *file, const char *text)
{
	FILE *f = fopen(file, "w");
	bool done = f && fputs(text, f) >= 0;

	return f && fclose(f) == 0 && done;
}

/* As root, or as one who plays root. */
static bool mounts_of_its_own(void)
{
	char uids[40], gids[40];

	snprintf(uids, sizeof(uids), "0 %u 1\n", getuid());
	snprintf(gids, sizeof(gids), "0 %u 1\n", getgid());
	return unshare(CLONE_NEWNS) == 0 ||
	       (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
		put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids));
}

/* In a namespace of its own; 77: there is none here. */
static int in_noexec(void)
{
	char dir[] = "/tmp/kd-noexec-XXXXXX";

	if (!mounts_of_its_own())
		return 77;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(dir) ||
	    mount("none", dir, "tmpfs", MS_NOEXEC, NULL) < 0)
		return 77;
	setenv("TMPDIR", dir, 1);
	for (size_t i = 0; i < 2; i++) {
		const struct workload *w = i ? &workload_sh : &workload_posix_spawn;
		char want[200];

		snprintf(want, sizeof(want),
			 "a program in %s cannot be executed, it is mounted noexec (Permission "
			 "denied): set TMPDIR to a folder where it can",
			 dir);
		if (setup_of(w, "") >= 0 || !run.skipped || strcmp(run.reason, want) != 0) {
			print_message("%s: %s\n", w->name, run.reason);
			return 1;
		}
		fake_done(&run);
	}
	return chdir("/") < 0 || umount2(dir, MNT_DETACH) < 0 || rmdir(dir) < 0;
}

static void noexec_is_a_skip(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(in_noexec());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	begin(&workload_vfork, "");
	if (WEXITSTATUS(status) == 77) {
		print_message("no namespaces of one's own here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* No more tasks: an error with words, not a number. */
static void no_more_tasks_fail(void **state)
{
	static const struct workload *const all[] = { &workload_vfork, &workload_thread,
						      &workload_posix_spawn };
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };

		for (size_t i = 0; i < 3; i++)
			if (all[i]->setup && setup_of(all[i], "") < 0)
				_exit(1);
		/* The limit does not bind root. */
		if (setrlimit(RLIMIT_NPROC, &none) < 0 ||
		    (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)))
			_exit(77);
		for (size_t i = 0; i < 3; i++) {
			char path[] = "./true";

			fake_init(&run, all[i], "");
			run.state = path;
			if (all[i]->batch(&run, 1) != -EAGAIN ||
			    !strstr(run.reason, "Resource temporarily unavailable")) {
				print_message("%s: %s\n", all[i]->name, run.reason);
				_exit(2);
			}
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	kit_tmpdir_sweep(NULL, pid);
	begin(&workload_vfork, "");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_page_is_a_fault),    TEST(pages_that_stay_fail),
		TEST(a_missing_program_fails), TEST(the_shell_is_in_the_key),
		TEST(noexec_is_a_skip),	       TEST(no_more_tasks_fail),
		cmocka_unit_test(all_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
