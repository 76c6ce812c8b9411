/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measured parties, processes and threads: barriers, sums, histograms, parts with their own. */
#include "runner/runner.h"

#include "runner_tally.h"

#include "model/hist.h"

/* ---- measured parties, processes and threads, COUNTED, TIMED and ONCE ---- */

static const struct param crew_params[] = {
	{ .name = "procs", .type = PARAM_UINT, .def = "3", .max = 8, .help = "" },
	{ .name = "threads", .type = PARAM_UINT, .def = "2", .max = 8, .help = "" },
	{ .name = "samples", .type = PARAM_UINT, .def = "3", .min = 1, .max = 100, .help = "" },
	{ .name = NULL },
};

struct own {
	unsigned at;
	uint64_t *memory;
};

static int crew_start_one(struct party *p)
{
	/* Threads ask for memory at the same time: it must not be the same. */
	struct own *o = run_alloc(p->run, sizeof(*o));
	unsigned i;

	o->at = p->index + (p->role->kind == PARTY_THREAD ? 8 : 0);
	if (p->role->kind == PARTY_THREAD)
		napping(3 * NSEC_PER_MSEC); /* until all are there */
	for (i = 0; i < 20000; i++) {
		o->memory = run_alloc(p->run, 24);
		if (o->memory[0] || o->memory[2])
			return run_fail(p->run, EIO, "memory of somebody else");
		o->memory[0] = o->memory[2] = o->at + 1;
	}
	p->state = o;
	atomic_fetch_add(&tally_of(p->run)->starts, 1);
	return 0;
}

static int crew_batch(struct party *p, uint64_t n)
{
	struct own *o = p->state;
	struct tally *t = tally_of(p->run);

	if (o->memory[0] != o->at + 1)
		return run_fail(p->run, EIO, "memory was written to");
	run_hist(p->run, "latency", 10 + o->at);
	if (n > 1)
		napping(n < 1000 ? n * 1000 : 1000000); /* a batch grows with n */
	atomic_fetch_add(&t->did[o->at], n);
	return 0;
}

static int crew_batch_timed(struct party *p, uint64_t n)
{
	struct own *o = p->state;
	struct tally *t = tally_of(p->run);

	(void)n;
	run_hist(p->run, "latency", 10 + o->at);
	while (!run_stopping(p->run)) {
		run_did(p->run, o->at + 1);
		atomic_fetch_add(&t->did[o->at], o->at + 1);
		napping(200000);
	}
	return 0;
}

static void crew_stop_one(struct party *p)
{
	atomic_fetch_add(&tally_of(p->run)->stops, 1);
}

/* All parties have done the same number of rounds when the leader looks. */
static int crew_collect(struct run *run, const struct batch *b)
{
	struct tally *t = tally_of(run);
	uint64_t each = b->ops / (run_u64(run, "procs") + run_u64(run, "threads")), i;

	for (i = 0; i < run_u64(run, "procs"); i++)
		if (atomic_load(&t->did[i]) != atomic_load(&t->did[0]))
			return run_fail(run, EIO, "a party is ahead of the barrier");
	if (!each)
		return run_fail(run, EIO, "no operation");
	return same_ops(run, b);
}

static const struct metric crew_metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_TIME },
	{ .name = "p50",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_QUANTILE,
	  .hist = "latency",
	  .quantile = 0.5 },
	{ .name = "p99",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_QUANTILE,
	  .hist = "latency",
	  .quantile = 0.99 },
	{ .name = NULL },
};

#define CREW_ROLES(batch_fn)                                                                       \
	{                                                                                          \
		{ .role = "proc",                                                                  \
		  .kind = PARTY_PROCESS,                                                           \
		  .count = "procs",                                                                \
		  .start = crew_start_one,                                                         \
		  .batch = batch_fn,                                                               \
		  .stop = crew_stop_one },                                                         \
			{ .role = "thread",                                                        \
			  .kind = PARTY_THREAD,                                                    \
			  .count = "threads",                                                      \
			  .start = crew_start_one,                                                 \
			  .batch = batch_fn,                                                       \
			  .stop = crew_stop_one },                                                 \
			{ .role = "poller", .kind = PARTY_THREAD, .serve = poll_serve },           \
			{ .role = NULL },                                                          \
	}

static const struct party_role crew_roles[] = CREW_ROLES(crew_batch);
static const struct party_role crew_timed_roles[] = CREW_ROLES(crew_batch_timed);

static const struct workload crew_counted = {
	.name = "crew_counted",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = crew_params,
	.metrics = crew_metrics,
	.parties = crew_roles,
	.setup = tally_setup,
	.collect = crew_collect,
};

static const struct workload crew_timed = {
	.name = "crew_timed",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_TIMED,
	.params = crew_params,
	.metrics = crew_metrics,
	.parties = crew_timed_roles,
	.setup = tally_setup,
	.collect = same_ops,
};

static const struct workload crew_once = {
	.name = "crew_once",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_ONCE,
	.params = crew_params,
	.metrics = crew_metrics,
	.parties = crew_roles,
	.setup = tally_setup,
	.collect = crew_collect,
};

/* ---- parts: a walk over loads, each part with parties of its own ---- */

static int loads_next(struct run *run, struct part *part)
{
	static const char *const names[] = { "1", "2", "4" };
	struct tally *t = tally_of(run);

	if (t->part >= ARRAY_SIZE(names))
		return 0;
	/* All parties of the part before have ended, and said so. */
	if (atomic_load(&t->starts) != atomic_load(&t->stops))
		return run_fail(run, EIO, "parties of another part live on");
	snprintf(part->name, sizeof(part->name), "%s", names[t->part]);
	part->share = 0.3;
	t->party_at = 1u << t->part++;
	return 1;
}

static unsigned loads_now(const struct run *run)
{
	const struct tally *t = run_state(run);

	return t->party_at;
}

static const struct party_role loads_roles[] = {
	{ .role = "load",
	  .kind = PARTY_THREAD,
	  .fixed = 4,
	  .now = loads_now,
	  .start = crew_start_one,
	  .batch = crew_batch,
	  .stop = crew_stop_one },
	{ .role = NULL },
};

static const struct workload loads = {
	.name = "loads",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = crew_metrics,
	.parties = loads_roles,
	.setup = tally_setup,
	.next_part = loads_next,
	.collect = same_ops,
};

const struct workload *const workload_registry[] = {
	&crew_counted, &crew_timed, &crew_once, &loads, NULL,
};

/* ---- the tests ---- */

static void parties_are_added_up(void **state)
{
	size_t i;

	(void)state;
	run_one("crew_counted", "place=free", 30 * NSEC_PER_MSEC);
	for (i = 0; i < count(RECORD_SAMPLE); i++)
		assert_true(ops_of(i, "") == 5 * (uint64_t)usage_of(0, "n"));
	run_one("crew_counted", "place=same,threads=0", 20 * NSEC_PER_MSEC);
	assert_true(ops_of(0, "") == 3 * (uint64_t)usage_of(0, "n"));
	run_one("crew_counted", "place=same,procs=0,threads=8", 20 * NSEC_PER_MSEC);
	assert_true(ops_of(0, "") == 8 * (uint64_t)usage_of(0, "n"));
	run_one("crew_timed", "place=free", 50 * NSEC_PER_MSEC);
	run_one("crew_once", "samples=2,procs=1,threads=1", 1);
	assert_int_equal(count(RECORD_SAMPLE), 2);
	assert_int_equal(ops_of(0, ""), 2);
}

/* Of samples alone, of all parties, once a batch each. */
static void histograms_are_of_all_parties(void **state)
{
	struct hist *h = mem_alloc(sizeof(*h));
	size_t i;

	(void)state;
	run_one("crew_once", "samples=7,procs=3,threads=2", 1);
	assert_int_equal(count(RECORD_HIST), 1); /* two metrics, one histogram */
	for (i = 0; got.r[i].kind != RECORD_HIST; i++)
		;
	assert_string_equal(got.r[i].hist.name, "latency");
	assert_int_equal(hist_decode(got.r[i].hist.hist, h, NULL), 0);
	assert_int_equal(h->count, 7 * 5);
	assert_int_equal(h->min, 10);
	assert_int_equal(h->max, 19);
	assert_int_equal(h->bucket[12], 7);
	assert_int_equal(h->bucket[18], 7);
	free(h);
}

static void parts_are_apart(void **state)
{
	static const char *const names[] = { "1", "2", "4" };
	struct hist *h = mem_alloc(sizeof(*h));
	size_t i, k, hists = 0, samples[3] = { 0 };

	(void)state;
	run_one("loads", "place=free", 30 * NSEC_PER_MSEC);
	for (i = 0; i < got.n; i++) {
		const struct record *r = &got.r[i];

		for (k = 0; k < 3; k++) {
			unsigned parties = 1u << k;

			if (r->kind == RECORD_SAMPLE && str_eq(r->sample.part, names[k])) {
				samples[k]++;
				assert_int_equal(r->sample.ops % parties, 0);
			}
			if (r->kind != RECORD_HIST || !str_eq(r->hist.part, names[k]))
				continue;
			hists++;
			assert_int_equal(hist_decode(r->hist.hist, h, NULL), 0);
			assert_int_equal(h->count, samples[k] * parties);
			assert_int_equal(h->max, 18 + parties - 1);
		}
	}
	free(h);
	assert_int_equal(hists, 3);
	assert_true(samples[0] && samples[1] && samples[2]);
	assert_int_equal(samples[0] + samples[1] + samples[2], count(RECORD_SAMPLE));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parties_are_added_up),
		cmocka_unit_test(histograms_are_of_all_parties),
		cmocka_unit_test(parts_are_apart),
	};

	return cmocka_run_group_tests(tests, tmp_make, tmp_remove);
}
