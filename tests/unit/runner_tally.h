/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs workloads of the test's own through the runner: the program defines `workload_registry`
 * itself. They count for themselves what they do, in memory that all parties share, and compare
 * that with what the runner makes of it in `collect`: a difference is a failure. Nothing here asks
 * for seconds.
 */
#ifndef KDELTA_TESTS_RUNNER_TALLY_H
#define KDELTA_TESTS_RUNNER_TALLY_H

#include "runner_fixture.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "runner/registry.h"
#include "runner/runner.h"
#include "workload/kit.h"

#define CREW_MAX 16

/* What all processes of a run see. */
struct tally {
	_Atomic uint64_t did[CREW_MAX]; /* of each party, all batches */
	_Atomic uint64_t before, batches, starts, stops;
	uint64_t seen; /* sum of `did` at the last collect */
	uint64_t last_before;
	int link[2];
	unsigned part, party_at;
};

static inline struct tally *tally_of(struct run *run)
{
	return run_state(run);
}

static inline int tally_setup(struct run *run)
{
	struct tally *t = run_alloc_shared(run, sizeof(*t));

	t->link[0] = t->link[1] = -1;
	run_set_state(run, t);
	return 0;
}

static inline uint64_t tally_sum(struct tally *t)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < CREW_MAX; i++)
		sum += atomic_load(&t->did[i]);
	return sum;
}

/* The runner's count of a batch against the parties' own. */
static inline int same_ops(struct run *run, const struct batch *b)
{
	struct tally *t = tally_of(run);
	uint64_t sum = tally_sum(t), mine = sum - t->seen;

	t->seen = sum;
	if (mine != b->ops)
		return run_fail(run, EIO, "%llu operations, the runner says %llu",
				(unsigned long long)mine, (unsigned long long)b->ops);
	return 0;
}

static const struct metric time_only[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_TIME },
	{ .name = NULL },
};

static inline void napping(uint64_t ns)
{
	struct timespec t = { 0, (long)ns };

	nanosleep(&t, NULL);
}

/* Looks for its end. */
static inline int poll_serve(struct party *p)
{
	while (!run_stopping(p->run))
		napping(50000);
	return 0;
}

static inline int run_plan(struct plan_item *items, size_t n, uint64_t heartbeat_ns)
{
	struct plan p = { .class = "native",
			  .batch_ns = NSEC_PER_MSEC,
			  .heartbeat_ns = heartbeat_ns,
			  .items = items,
			  .n = n };
	struct runner_config c = { .self = -1 };
	CLEANUP_CLOSE int out = -1;
	CLEANUP_FREE char *text = NULL;
	struct error e = ERROR_INIT;
	size_t len;
	int r;

	assert_int_equal(file_memfd("records", "", 0, &out, &e), 0);
	c.out = out;
	r = runner_run(&c, &p, &e);
	if (r < 0)
		fail_msg("%s", e.text);
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(file_read_fd(out, "records", 64 << 20, &text, &len, &e), 0);
	got_text(text, len);
	nothing_is_left();
	return r;
}

static inline void run_one(const char *name, const char *args, uint64_t time_ns)
{
	struct plan_item item = { .id = "1", .workload = name, .params = args, .time_ns = time_ns };

	if (run_plan(&item, 1, 20 * NSEC_PER_SEC))
		fail_msg("%s: %s", name, got.reason);
	assert_int_equal(count(RECORD_USAGE), 1);
	assert_true(count(RECORD_SAMPLE) > 0);
}

static inline uint64_t ops_of(size_t nth, const char *part)
{
	size_t i;

	for (i = 0; i < got.n; i++)
		if (got.r[i].kind == RECORD_SAMPLE && !got.r[i].sample.metric &&
		    str_eq(got.r[i].sample.part, part) && !nth--)
			return got.r[i].sample.ops;
	return 0;
}

#endif
