/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of records as a runner wrote it, checked line by line: what every stream must keep,
 * whatever happened in it. Include it once a program.
 */
#ifndef KDELTA_TESTS_RUNNER_FIXTURE_H
#define KDELTA_TESTS_RUNNER_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/record.h"

static struct {
	struct record *r;
	size_t n, cap;
	const char *reason; /* of the last skip or fail */
} got;

static char tmp[32]; /* $TMPDIR: nothing may be left in it */

static inline void got_clear(void)
{
	size_t i;

	for (i = 0; i < got.n; i++)
		record_done(&got.r[i]);
	free(got.r);
	memset(&got, 0, sizeof(got));
}

static inline size_t count(enum record_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < got.n; i++)
		n += got.r[i].kind == kind;
	return n;
}

static inline bool closes(const struct record *r)
{
	return r->kind == RECORD_USAGE || r->kind == RECORD_SKIP || r->kind == RECORD_FAIL;
}

/* hello; facts and logs of the boot; bursts, each in one piece and closed once; facts; done. */
static inline void check_stream(void)
{
	uint64_t ok = 0, failed = 0, skipped = 0;
	const char *open = NULL;
	bool head = false;
	size_t i, numbers = 0;

	assert_true(got.n >= 2);
	assert_int_equal(got.r[0].kind, RECORD_HELLO);
	assert_int_equal(got.r[got.n - 1].kind, RECORD_DONE);
	for (i = 1; i < got.n - 1; i++) {
		const struct record *r = &got.r[i];

		assert_int_not_equal(r->kind, RECORD_UNKNOWN);
		assert_true(r->kind != RECORD_HELLO && r->kind != RECORD_DONE);
		if (!r->inv) {
			assert_null(open);
			assert_true(r->kind == RECORD_FACT || r->kind == RECORD_LOG);
			continue;
		}
		if (open)
			assert_string_equal(r->inv, open);
		else
			head = false;
		open = r->inv;
		if (r->kind == RECORD_INVOCATION) {
			assert_false(head);
			head = true;
		} else if (!closes(r) || r->kind == RECORD_USAGE) {
			assert_true(head);
		}
		numbers += r->kind == RECORD_SAMPLE || r->kind == RECORD_HIST;
		if (!closes(r))
			continue;
		/* No number of a run that did not go well, and none that went well without. */
		assert_int_equal(numbers > 0, r->kind == RECORD_USAGE);
		ok += r->kind == RECORD_USAGE;
		failed += r->kind == RECORD_FAIL;
		skipped += r->kind == RECORD_SKIP;
		if (r->kind == RECORD_FAIL)
			got.reason = r->fail.reason;
		if (r->kind == RECORD_SKIP)
			got.reason = r->skip.reason;
		open = NULL;
		numbers = 0;
	}
	assert_null(open);
	assert_int_equal(got.r[got.n - 1].done.invocations, ok);
	assert_int_equal(got.r[got.n - 1].done.failed, failed);
	assert_int_equal(got.r[got.n - 1].done.skipped, skipped);
}

static inline void got_text(const char *text, size_t len)
{
	const char *at = text, *end;

	got_clear();
	while ((end = memchr(at, '\n', (size_t)(text + len - at)))) {
		struct error e = ERROR_INIT;

		got.r = mem_grow(got.r, got.n, &got.cap, sizeof(*got.r));
		if (record_decode(at, (size_t)(end - at), &got.r[got.n], &e) < 0)
			fail_msg("%s: %.*s", e.text, (int)(end - at), at);
		got.n++;
		at = end + 1;
	}
	assert_ptr_equal(at, text + len);
	check_stream();
}

static inline double usage_of(size_t nth, const char *name)
{
	size_t i;

	for (i = 0; i < got.n; i++)
		if (got.r[i].kind == RECORD_USAGE && !nth--)
			return json_opt_num(got.r[i].usage.values, name, -1);
	return -1;
}

/* We are the reaper of all that our children leave behind: there must be nothing. */
static inline void nothing_is_left(void)
{
	int status;

	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	if (rmdir(tmp) < 0)
		fail_msg("%s: %s", tmp, strerror(errno));
	assert_int_equal(mkdir(tmp, 0700), 0);
}

static inline int tmp_make(void **state)
{
	(void)state;
	strcpy(tmp, "/tmp/kd-runner-XXXXXX");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return mkdtemp(tmp) ? setenv("TMPDIR", tmp, 1) : -1;
}

static inline int tmp_remove(void **state)
{
	(void)state;
	got_clear();
	return rmdir(tmp);
}

#endif
