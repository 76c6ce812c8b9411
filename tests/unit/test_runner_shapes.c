/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract at work: COUNTED, ONCE and TIMED by a leader alone or with parties that serve. */
#include "runner/runner.h"

#include "runner_tally.h"

#include <fcntl.h>
#include <sys/socket.h>

/* ---- COUNTED: the leader alone; calibration; before; overhead ---- */

/* Each n is 3 operations of 1 us; the third batch is held up, as by a noisy neighbour. */
static int counted_batch(struct run *run, uint64_t n)
{
	struct tally *t = tally_of(run);
	uint64_t until = run_clock_ns(run) + n * 1000;

	if (atomic_fetch_add(&t->batches, 1) == 2)
		until += 30 * NSEC_PER_MSEC;
	while (run_clock_ns(run) < until)
		;
	atomic_fetch_add(&t->did[0], 3 * n);
	return 0;
}

static int counted_before(struct run *run)
{
	atomic_fetch_add(&tally_of(run)->before, 1);
	return 0;
}

static int counted_overhead(struct run *run, uint64_t n)
{
	/* `before` comes before the overhead, which comes before the batch. */
	struct tally *t = tally_of(run);

	if (atomic_load(&t->before) != ++t->last_before)
		return run_fail(run, EIO, "overhead out of turn");
	(void)n;
	return 0;
}

static int counted_collect(struct run *run, const struct batch *b)
{
	if (b->over_ops != b->ops)
		return run_fail(run, EIO, "the overhead is of %llu",
				(unsigned long long)b->over_ops);
	return same_ops(run, b);
}

static int counted_setup(struct run *run)
{
	run_ops_per_n(run, 3);
	return tally_setup(run);
}

static const struct metric net_metrics[] = {
	{ .name = "net",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_NET },
	{ .name = NULL },
};

static const struct workload counted = {
	.name = "counted",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = net_metrics,
	.setup = counted_setup,
	.before = counted_before,
	.batch = counted_batch,
	.overhead = counted_overhead,
	.collect = counted_collect,
};

/* ---- ONCE ---- */

static const struct param once_params[] = {
	{ .name = "samples", .type = PARAM_UINT, .def = "4", .min = 1, .max = 100, .help = "" },
	{ .name = NULL },
};

static const struct metric once_metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_TIME },
	{ .name = "pid",
	  .unit = UNIT_NONE,
	  .better = METRIC_NEITHER,
	  .kind = METRIC_EVIDENCE,
	  .from = METRIC_FROM_REPORTED },
	{ .name = NULL },
};

static int once_batch(struct run *run, uint64_t n)
{
	struct tally *t = tally_of(run);
	int index = run_sample_index(run);

	if (n != 1 || index < 0 || (uint64_t)index != atomic_fetch_add(&t->batches, 1) ||
	    atomic_load(&t->before) != (uint64_t)index + 1)
		return run_fail(run, EIO, "sample %d of n %llu", index, (unsigned long long)n);
	return run_report(run, "pid", (double)getpid());
}

static int once_setup(struct run *run)
{
	run_ops_per_n(run, 5);
	run_fact(run, FACT_STATE, "test.fact", "found");
	run_context(run, "compiler", "one of these");
	return tally_setup(run);
}

static const struct workload once = {
	.name = "once",
	.family = "test",
	.op = "run",
	.doc = "",
	.version = 1,
	.shape = SHAPE_ONCE,
	.params = once_params,
	.metrics = once_metrics,
	.setup = once_setup,
	.before = counted_before,
	.batch = once_batch,
};

/* ---- TIMED: the leader alone, and with servers that outlive each batch ---- */

static int timed_batch(struct run *run, uint64_t n)
{
	struct tally *t = tally_of(run);

	(void)n;
	while (!run_stopping(run)) {
		run_did(run, 7);
		atomic_fetch_add(&t->did[0], 7);
		napping(100000);
	}
	return 0;
}

static const struct workload timed = {
	.name = "timed",
	.family = "test",
	.op = "nap",
	.doc = "",
	.version = 1,
	.shape = SHAPE_TIMED,
	.metrics = time_only,
	.setup = tally_setup,
	.batch = timed_batch,
	.collect = same_ops,
};

static int served_setup(struct run *run)
{
	int r = tally_setup(run);

	return r < 0 ? r : kit_socketpair(run, SOCK_STREAM, tally_of(run)->link);
}

/* Blocks in its reads: its end comes from outside. */
static int echo_serve(struct party *p)
{
	struct tally *t = tally_of(p->run);
	char byte;
	int r;

	while ((r = kit_read_or_eof(p->run, t->link[1], &byte, 1)) == 0) {
		r = kit_write_all(p->run, t->link[1], &byte, 1);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

static int served_batch(struct run *run, uint64_t n)
{
	struct tally *t = tally_of(run);
	char byte = 'x';
	int r = 0;

	(void)n;
	while (!run_stopping(run) && !r) {
		r = kit_write_all(run, t->link[0], &byte, 1);
		if (!r)
			r = kit_read_all(run, t->link[0], &byte, 1);
		run_did(run, 1);
		atomic_fetch_add(&t->did[0], 1);
	}
	return r;
}

static const struct party_role thread_servers[] = {
	{ .role = "echo", .kind = PARTY_THREAD, .serve = echo_serve },
	{ .role = "poller", .kind = PARTY_PROCESS, .fixed = 2, .serve = poll_serve },
	{ .role = "watcher", .kind = PARTY_THREAD, .fixed = 2, .serve = poll_serve },
	{ .role = NULL },
};

static const struct party_role process_servers[] = {
	{ .role = "echo", .kind = PARTY_PROCESS, .serve = echo_serve },
	{ .role = NULL },
};

static const struct workload served = {
	.name = "served",
	.family = "test",
	.op = "echo",
	.doc = "",
	.version = 1,
	.shape = SHAPE_TIMED,
	.metrics = time_only,
	.parties = thread_servers,
	.setup = served_setup,
	.batch = served_batch,
	.collect = same_ops,
};

static const struct workload served_by_process = {
	.name = "served_by_process",
	.family = "test",
	.op = "echo",
	.doc = "",
	.version = 1,
	.shape = SHAPE_TIMED,
	.metrics = time_only,
	.parties = process_servers,
	.setup = served_setup,
	.batch = served_batch,
	.collect = same_ops,
};

const struct workload *const workload_registry[] = {
	&counted, &once, &timed, &served, &served_by_process, NULL,
};

/* ---- the tests ---- */

/* One interruption must not end the search for n. */
static void counted_is_calibrated_and_counted(void **state)
{
	double n = 0;
	int tries;
	size_t i;

	(void)state;
	for (tries = 0; tries < 3 && n < 300; tries++) {
		run_one("counted", "", 20 * NSEC_PER_MSEC);
		n = usage_of(0, "n");
	}
	assert_true(n >=
		    300); /* 1000 would be a millisecond; the third batch had n = 100 at most */
	for (i = 0; i < count(RECORD_SAMPLE); i++) {
		const uint64_t ops = ops_of(i, "");

		assert_true(ops == 3 * (uint64_t)n);
	}
	for (i = 0; i < got.n; i++)
		if (got.r[i].kind == RECORD_SAMPLE)
			assert_true(got.r[i].sample.has_overhead);
}

static void once_is_once(void **state)
{
	struct plan_item two[2] = {
		{ .id = "1", .workload = "once", .params = "samples=4", .time_ns = 1 },
		{ .id = "2", .workload = "once", .params = "samples=1", .time_ns = 1 },
	};
	double pid[2] = { 0, 0 };
	size_t i, timed_n = 0, facts = 0;

	(void)state;
	if (run_plan(two, 2, 20 * NSEC_PER_SEC))
		fail_msg("%s", got.reason);
	for (i = 0; i < got.n; i++) {
		const struct record *r = &got.r[i];

		if (r->kind == RECORD_SAMPLE && r->sample.metric)
			pid[r->inv[0] - '1'] = r->sample.value;
		else if (r->kind == RECORD_SAMPLE)
			timed_n += r->sample.ops == 5;
		else if (r->kind == RECORD_FACT && r->inv && str_eq(r->fact.name, "test.fact"))
			facts += str_eq(r->fact.value, "found");
		else if (r->kind == RECORD_INVOCATION)
			assert_string_equal(json_opt_str(r->invocation.context, "compiler", ""),
					    "one of these");
	}
	assert_int_equal(timed_n, 5);
	assert_int_equal(facts, 2);
	/* Each in a process of its own. */
	assert_true(pid[0] > 0 && pid[1] > 0 && pid[0] != pid[1]);
	assert_true(pid[0] != getpid());
}

static void timed_counts_its_operations(void **state)
{
	size_t i, n;

	(void)state;
	run_one("timed", "", 100 * NSEC_PER_MSEC);
	n = count(RECORD_SAMPLE);
	assert_true(n >= 5 && n <= 100);
	for (i = 0; i < n; i++)
		assert_true(ops_of(i, "") > 0 && ops_of(i, "") % 7 == 0);
	/* A slice is never so long that it looks like a hang: 10 of 200 ms would be. */
	{
		struct plan_item item = {
			.id = "1", .workload = "timed", .params = "", .time_ns = 2 * NSEC_PER_SEC
		};

		if (run_plan(&item, 1, 400 * NSEC_PER_MSEC))
			fail_msg("%s", got.reason);
		assert_true(count(RECORD_SAMPLE) > 12);
	}
}

/* A server is told to stop when the part is over, not when a batch is. */
static void servers_outlive_a_batch(void **state)
{
	(void)state;
	run_one("served", "place=free", 100 * NSEC_PER_MSEC);
	assert_true(count(RECORD_SAMPLE) >= 5);
	run_one("served", "place=same", 20 * NSEC_PER_MSEC);
	run_one("served_by_process", "place=same", 20 * NSEC_PER_MSEC);
}

static void a_broken_channel_ends_the_run(void **state)
{
	struct plan_item item = { .id = "1", .workload = "once", .params = "", .time_ns = 1 };
	struct plan p = { .class = "native", .heartbeat_ns = NSEC_PER_SEC, .items = &item, .n = 1 };
	struct runner_config c = { .self = -1 };
	struct error e = ERROR_INIT;
	int fd[2];

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	close(fd[0]);
	c.out = fd[1];
	assert_int_equal(runner_run(&c, &p, &e), -EPIPE);
	close(fd[1]);
	nothing_is_left();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted_is_calibrated_and_counted),
		cmocka_unit_test(once_is_once),
		cmocka_unit_test(timed_counts_its_operations),
		cmocka_unit_test(servers_outlive_a_batch),
		cmocka_unit_test(a_broken_channel_ends_the_run),
	};

	return cmocka_run_group_tests(tests, tmp_make, tmp_remove);
}
