/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of workloads share: one run in a fake runner, and peers that die. Include it once
 * a program. A test ends with `end`, so something must have begun.
 */
#ifndef KDELTA_TESTS_WORKLOAD_FIXTURE_H
#define KDELTA_TESTS_WORKLOAD_FIXTURE_H

#include <dirent.h>

#include "fake_run.h"

#define TEST(f) cmocka_unit_test_teardown(f, end)

static struct run run;

static inline int end(void **state)
{
	(void)state;
	fake_done(&run);
	unsetenv("KDELTA_MOCK");
	return chdir("/");
}

static inline size_t descriptors(void)
{
	size_t n = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static inline void begin(const struct workload *w, const char *params)
{
	fake_init(&run, w, params);
	if (w->setup && w->setup(&run) < 0)
		fail_msg("%s: %s", w->name, run.reason);
	if (w->parties)
		fake_parties(&run);
	if (w->before)
		assert_int_equal(w->before(&run), 0);
}

static inline void a_dead_party_fails(const struct workload *w, const char *params, size_t victim)
{
	begin(w, params);
	assert_int_equal(w->batch(&run, 10), 0);
	kill(run.party[victim], SIGKILL);
	waitpid(run.party[victim], NULL, 0);
	assert_int_equal(w->batch(&run, 10), -EPIPE);
	assert_non_null(strstr(run.reason, "the peer is gone"));
	fake_done(&run);
}

/* It dies while the leader waits for its answer. */
static inline void a_party_dying_fails(const struct workload *w, const char *params, size_t victim)
{
	pid_t killer;
	int status;

	begin(w, params);
	kill(run.party[victim], SIGSTOP);
	waitpid(run.party[victim], &status, WUNTRACED);
	killer = fork();
	if (killer == 0) {
		/* What it inherited must not keep anything open. */
		for (int fd = 3; fd < 300; fd++)
			close(fd);
		usleep(50000);
		_exit(kill(run.party[victim], SIGKILL) < 0);
	}
	assert_int_equal(w->batch(&run, 10), -EPIPE);
	assert_string_equal(run.reason, "read: the peer is gone");
	assert_int_equal(kit_wait(&run, killer), 0);
	fake_done(&run);
}

/* Twice a few operations end well and leave no descriptor open. */
static inline void it_works(const struct workload *w, const char *params)
{
	size_t before;

	begin(w, params);
	assert_non_null(w->family);
	assert_non_null(w->doc);
	assert_true(w->version >= 1);
	before = descriptors();
	for (int twice = 0; twice < 2; twice++) {
		if (w->overhead)
			assert_int_equal(w->overhead(&run, 3), 0);
		if (w->batch(&run, 3) != 0)
			fail_msg("%s %s: %s", w->name, params, run.reason);
	}
	assert_int_equal(descriptors(), before);
	fake_done(&run);
}

/* What its setup says where it cannot be done here; 0 if it can. */
static inline int setup_of(const struct workload *w, const char *params)
{
	fake_init(&run, w, params);
	return w->setup(&run);
}

#endif
