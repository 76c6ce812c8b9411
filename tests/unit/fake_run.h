/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runner for tests of kit and workloads: the run_*() of the contract without processes, clock
 * or placement. It remembers the first reason and what was reported. Include it once a program.
 */
#ifndef KDELTA_TESTS_FAKE_RUN_H
#define KDELTA_TESTS_FAKE_RUN_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "workload/kit.h"

#define FAKE_MAX 128

struct run {
	const struct workload *w;
	struct arena arena;
	struct args args;
	void *state;
	uint64_t ops_per_n;
	int code; /* of the first run_fail() */
	bool skipped, stopping;
	char reason[400];
	int sample;
	unsigned beats;
	char reported[400]; /* "time=100 rate=3 " */
	char context[400];  /* "address_family=ipv4 ", a name once */
	pid_t party[FAKE_MAX];
	size_t parties;
};

uint64_t run_u64(const struct run *run, const char *param)
{
	return args_u64(&run->args, param);
}

const char *run_text(const struct run *run, const char *param)
{
	return args_text(&run->args, param);
}

void *run_state(const struct run *run)
{
	return run->state;
}

void run_set_state(struct run *run, void *state)
{
	run->state = state;
}

void *run_alloc(struct run *run, size_t size)
{
	return arena_alloc(&run->arena, size);
}

void run_ops_per_n(struct run *run, uint64_t ops)
{
	run->ops_per_n = ops;
}

bool run_stopping(const struct run *run)
{
	return run->stopping;
}

static void fake_note(struct run *run, const char *name, double value)
{
	size_t len = strlen(run->reported);

	snprintf(run->reported + len, sizeof(run->reported) - len, "%s=%g ", name, value);
}

int run_report(struct run *run, const char *metric, double value)
{
	if (!isfinite(value))
		return run_fail(run, EDOM, "%s is not finite", metric);
	fake_note(run, metric, value);
	return 0;
}

void run_hist(struct run *run, const char *hist, uint64_t value)
{
	fake_note(run, hist, (double)value);
}

uint64_t run_clock_ns(const struct run *run)
{
	(void)run;
	return clock_raw_ns();
}

void run_context(struct run *run, const char *name, const char *value)
{
	size_t len = strlen(run->context);

	if (!strstr(run->context, name))
		snprintf(run->context + len, sizeof(run->context) - len, "%s=%s ", name, value);
}

void run_beat(struct run *run)
{
	run->beats++;
}

int run_sample_index(const struct run *run)
{
	return run->sample;
}

int run_fail(struct run *run, int code, const char *fmt, ...)
{
	va_list ap;

	if (run->code || run->skipped)
		return -run->code;
	run->code = code;
	va_start(ap, fmt);
	vsnprintf(run->reason, sizeof(run->reason), fmt, ap);
	va_end(ap);
	return -code;
}

int run_skip(struct run *run, const char *fmt, ...)
{
	va_list ap;

	run->skipped = true;
	va_start(ap, fmt);
	vsnprintf(run->reason, sizeof(run->reason), fmt, ap);
	va_end(ap);
	return -ENOTSUP;
}

const char *run_env(const struct run *run, const char *name)
{
	(void)run;
	return getenv(name);
}

static inline void fake_init(struct run *run, const struct workload *w, const char *params)
{
	static const struct param none[] = { { .name = NULL } };
	struct error e = ERROR_INIT;

	memset(run, 0, sizeof(*run));
	run->w = w;
	run->ops_per_n = 1;
	if (args_parse(w && w->params ? w->params : none, params, &run->arena, &run->args, &e) < 0)
		fail_msg("%s", e.text);
}

/* Forks every party of the workload's only role, as the runner does between setup and before. */
static inline void fake_parties(struct run *run)
{
	const struct party_role *role = run->w->parties;
	unsigned n =
		role->count ? (unsigned)run_u64(run, role->count) - (unsigned)role->count_less : 1;

	for (unsigned i = 0; i < n; i++) {
		struct party p = { .run = run, .role = role, .index = i, .count = n };
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(role->start(&p) < 0 || role->serve(&p) < 0);
		run->party[run->parties++] = pid;
	}
}

static inline void fake_done(struct run *run)
{
	for (size_t i = 0; i < run->parties; i++) {
		kill(run->party[i], SIGKILL);
		waitpid(run->party[i], NULL, 0);
	}
	kit_tmpdir_sweep(getenv("TMPDIR"), getpid());
	arena_done(&run->arena);
}

#endif
