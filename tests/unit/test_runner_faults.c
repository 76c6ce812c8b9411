/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that can go wrong in an invocation ends as a record with words, in a bounded time,
 * with no number, process or file left. One workload; its parameter says what breaks.
 */
#include "runner/runner.h"

#include "runner_tally.h"

#include <fcntl.h>
#include <math.h>
#include <sys/socket.h>

#include "runner/internal.h"

static const struct param params[] = {
	{ .name = "how", .type = PARAM_TEXT, .def = "", .help = "what goes wrong" },
	{ .name = NULL },
};

static const struct metric metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_TIME },
	{ .name = "temp",
	  .unit = UNIT_NONE,
	  .better = METRIC_NEITHER,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_REPORTED },
	{ .name = "p50",
	  .unit = UNIT_NS,
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_QUANTILE,
	  .hist = "latency",
	  .quantile = 0.5 },
	{ .name = NULL },
};

static bool is(const struct run *run, const char *how)
{
	return str_eq(run_text(run, "how"), how);
}

/* In the measured part of the run, not in calibration: later is harder to notice. */
static bool now(const struct run *run, const char *how)
{
	return is(run, how) && run_sample_index(run) >= 1;
}

static int fault_demand(const struct args *args, struct demand *d)
{
	const char *how = args_text(args, "how");

	if (str_eq(how, "demand"))
		return -EOVERFLOW;
	d->tasks = str_eq(how, "tasks") ? UINT64_MAX / 2 : 0;
	d->descriptors = str_eq(how, "descriptors") ? UINT64_MAX / 2 : 0;
	d->memory_bytes = str_eq(how, "memory") ? UINT64_MAX / 2 : 0;
	d->disk_bytes = str_eq(how, "disk") ? UINT64_MAX / 2 : 0;
	return 0;
}

static int fault_setup(struct run *run)
{
	const char *dir;

	run_set_state(run, run_alloc_shared(run, 4096));
	if (kit_tmpdir(run, &dir) < 0) /* must be gone afterwards, however it ends */
		return -EIO;
	if (is(run, "setup"))
		return -EBUSY;
	if (is(run, "setup says"))
		return run_fail(run, EBUSY, "setup said so");
	if (is(run, "setup forgets"))
		run_fail(run, EBUSY, "setup returned 0 all the same");
	if (is(run, "setup skips"))
		return run_skip(run, "not on a %s", "Sunday");
	if (is(run, "setup crashes"))
		raise(SIGSEGV);
	if (is(run, "setup exits"))
		_exit(0);
	return 0;
}

static int fault_before(struct run *run)
{
	return now(run, "before") ? -ENOSPC : 0;
}

static int fault_overhead(struct run *run, uint64_t n)
{
	(void)n;
	return now(run, "overhead") ? -EIO : 0;
}

static int fault_collect(struct run *run, const struct batch *b)
{
	(void)b;
	if (now(run, "nan"))
		return run_report(run, "temp", (double)NAN);
	if (now(run, "undeclared"))
		return run_report(run, "humidity", 1);
	if (now(run, "not reported"))
		return run_report(run, "time", 1);
	if (now(run, "histogram"))
		run_hist(run, "humidity", 1);
	if (now(run, "leader crashes"))
		abort();
	if (now(run, "leader exits"))
		_exit(7);
	if (now(run, "leader hangs"))
		for (;;)
			pause();
	return now(run, "collect") ? -EPROTO : 0;
}

static int proc_start(struct party *p)
{
	if (is(p->run, "proc start") && p->index == 1)
		return -ENOMEM;
	if (is(p->run, "proc start dies") && p->index == 1)
		raise(SIGKILL);
	return 0;
}

static int proc_batch(struct party *p, uint64_t n)
{
	struct timespec t = { 0, n < 100 ? (long)n * 10000 : 1000000 };

	nanosleep(&t, NULL);
	run_did(p->run, 1); /* for TIMED */
	if (p->index != 1)
		return 0;
	if (now(p->run, "proc fails"))
		return -EIO;
	if (now(p->run, "proc says"))
		return run_fail(p->run, EIO, "a disk is gone");
	if (now(p->run, "proc dies"))
		raise(SIGKILL);
	if (now(p->run, "proc exits"))
		_exit(0);
	if (now(p->run, "proc hangs"))
		for (;;)
			pause();
	if (now(p->run, "party reports"))
		return run_report(p->run, "temp", 1);
	return 0;
}

static int thread_start(struct party *p)
{
	return is(p->run, "thread start") ? -EACCES : 0;
}

static int thread_batch(struct party *p, uint64_t n)
{
	(void)n;
	if (now(p->run, "thread facts"))
		run_fact(p->run, FACT_STATE, "x", "y");
	return now(p->run, "thread fails") ? -EIO : 0;
}

static int server_serve(struct party *p)
{
	while (!run_stopping(p->run)) {
		napping(200000);
		if (now(p->run, "server leaves"))
			return 0;
		if (now(p->run, "server fails"))
			return -ECONNRESET;
		if (now(p->run, "server exits"))
			_exit(3);
		if (now(p->run, "server dies"))
			raise(SIGSEGV);
	}
	return 0;
}

static int stuck_serve(struct party *p)
{
	/* A thread that does not look, and cannot be killed alone. */
	while (!run_stopping(p->run) || is(p->run, "thread stays"))
		napping(200000);
	return 0;
}

static unsigned too_many(const struct run *run)
{
	return is(run, "too many") ? 3 : 2;
}

static const struct party_role roles[] = {
	{ .role = "server", .kind = PARTY_PROCESS, .serve = server_serve },
	{ .role = "proc",
	  .kind = PARTY_PROCESS,
	  .fixed = 2,
	  .now = too_many,
	  .start = proc_start,
	  .batch = proc_batch },
	{ .role = "thread", .kind = PARTY_THREAD, .start = thread_start, .batch = thread_batch },
	{ .role = "stuck", .kind = PARTY_THREAD, .serve = stuck_serve },
	{ .role = NULL },
};

#define COMMON                                                                                     \
	.family = "test", .op = "turn", .doc = "", .version = 1, .params = params,                 \
	.metrics = metrics, .demand = fault_demand, .setup = fault_setup, .before = fault_before,  \
	.collect = fault_collect

static const struct workload crew = {
	.name = "crew",
	.shape = SHAPE_COUNTED,
	.parties = roles,
	.overhead = fault_overhead,
	COMMON,
};

static const struct workload timed = {
	.name = "timed",
	.shape = SHAPE_TIMED,
	.parties = roles,
	COMMON,
};

/* A leader with servers: it is in a read when they go. */
static int alone_batch(struct run *run, uint64_t n)
{
	char byte;
	int fd[2];

	napping(n < 100 ? n * 10000 : 1000000);
	if (now(run, "fails"))
		return -EIO;
	if (!now(run, "waits for ever"))
		return 0;
	if (kit_pipe(run, fd) < 0)
		return -EIO;
	return kit_read_all(run, fd[0], &byte, 1);
}

static const struct party_role servers[] = {
	{ .role = "server", .kind = PARTY_PROCESS, .serve = server_serve },
	{ .role = "stuck", .kind = PARTY_THREAD, .serve = stuck_serve },
	{ .role = NULL },
};

static const struct workload alone = {
	.name = "alone",
	.shape = SHAPE_COUNTED,
	.parties = servers,
	.batch = alone_batch,
	COMMON,
};

/* TIMED without an operation; nothing measured at all; nobody to measure. */
static int idle_batch(struct run *run, uint64_t n)
{
	(void)n;
	while (!run_stopping(run))
		napping(200000);
	return 0;
}

static const struct workload idle = {
	.name = "idle",
	.shape = SHAPE_TIMED,
	.batch = idle_batch,
	COMMON,
};

static int quiet_batch(struct run *run, uint64_t n)
{
	(void)run;
	(void)n;
	return 0;
}

static const struct metric only_reported[] = {
	{ .name = "temp",
	  .unit = UNIT_NONE,
	  .better = METRIC_NEITHER,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_REPORTED },
	{ .name = NULL },
};

static const struct workload quiet = {
	.name = "quiet",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_ONCE,
	.metrics = only_reported,
	.batch = quiet_batch,
};

static const struct param counts[] = {
	{ .name = "procs", .type = PARAM_UINT, .def = "0", .help = "" },
	{ .name = NULL },
};

static const struct party_role nobody_roles[] = {
	{ .role = "proc", .kind = PARTY_PROCESS, .count = "procs", .batch = thread_batch },
	{ .role = NULL },
};

static const struct workload nobody = {
	.name = "nobody",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = counts,
	.metrics = metrics,
	.parties = nobody_roles,
};

static const struct workload needy = {
	.name = "needy",
	.family = "test",
	.op = "turn",
	.doc = "",
	.version = 1,
	.needs = NEED_TMPDIR | NEED_SHELL,
	.shape = SHAPE_ONCE,
	.metrics = only_reported,
	.batch = quiet_batch,
};

const struct workload *const workload_registry[] = {
	&crew, &timed, &alone, &idle, &quiet, &nobody, &needy, NULL,
};

/* ---- the tests ---- */

static void ends(const char *name, const char *how, enum record_kind kind, const char *words)
{
	CLEANUP_FREE char *text = *how ? mem_printf("how=\"%s\"", how) : mem_strdup("");
	struct plan_item item = {
		.id = "1", .workload = name, .params = text, .time_ns = 10 * NSEC_PER_MSEC
	};
	uint64_t start = clock_mono_ns();
	/* A thread has 2 s to stop; all else that hangs is to be seen as soon as possible. */
	int failed = run_plan(&item, 1, (str_eq(how, "thread stays") ? 5 : 1) * NSEC_PER_SEC);

	assert_int_equal(failed, kind == RECORD_FAIL);
	if (kind == RECORD_USAGE && !count(kind))
		fail_msg("%s %s: %s", name, how, got.reason);
	assert_int_equal(count(kind), 1);
	if (words && !strstr(got.reason, words))
		fail_msg("%s %s: \"%s\" without \"%s\"", name, how, got.reason, words);
	/* A hang would be the whole test's 120 s; this is the heartbeat and all graces, twice. */
	assert_true(clock_mono_ns() - start < 20 * NSEC_PER_SEC);
}

static void without_a_fault_it_goes_well(void **state)
{
	(void)state;
	ends("crew", "", RECORD_USAGE, NULL);
	ends("alone", "", RECORD_USAGE, NULL);
}

static void the_leader_fails(void **state)
{
	(void)state;
	ends("crew", "setup", RECORD_FAIL, "setup: Device or resource busy");
	ends("crew", "setup says", RECORD_FAIL, "setup said so");
	ends("crew", "setup forgets", RECORD_FAIL, "setup returned 0 all the same");
	ends("crew", "setup skips", RECORD_SKIP, "not on a Sunday");
	ends("crew", "setup crashes", RECORD_FAIL, "killed by signal 11");
	ends("crew", "setup exits", RECORD_FAIL, "its records are incomplete");
	ends("crew", "before", RECORD_FAIL, "before: No space left on device");
	ends("crew", "overhead", RECORD_FAIL, "overhead: Input/output error");
	ends("crew", "collect", RECORD_FAIL, "collect: Protocol error");
	ends("crew", "leader crashes", RECORD_FAIL, "killed by signal 6");
	ends("crew", "leader exits", RECORD_FAIL, "exited with 7");
	ends("crew", "leader hangs", RECORD_FAIL, "no sign of life");
	ends("alone", "fails", RECORD_FAIL, "turn: Input/output error");
	ends("alone", "waits for ever", RECORD_FAIL, "no sign of life");
}

static void what_is_reported_is_checked(void **state)
{
	(void)state;
	ends("crew", "nan", RECORD_FAIL, "temp is not a finite number");
	ends("crew", "undeclared", RECORD_FAIL, "reports 'humidity', which it does not declare");
	ends("crew", "not reported", RECORD_FAIL, "reports 'time', which it does not declare");
	ends("crew", "histogram", RECORD_FAIL, "histogram 'humidity' that no metric names");
	ends("crew", "party reports", RECORD_FAIL, "a party reports 'temp': the leader must");
	ends("crew", "thread facts", RECORD_FAIL, "a party states the fact x");
}

static void a_party_fails(void **state)
{
	(void)state;
	ends("crew", "proc start", RECORD_FAIL, "party proc 1: Cannot allocate memory");
	ends("crew", "proc start dies", RECORD_FAIL, "party proc died");
	ends("crew", "thread start", RECORD_FAIL, "party thread 0: Permission denied");
	ends("crew", "too many", RECORD_FAIL, "3 of party proc, 2 at most");
	ends("crew", "proc fails", RECORD_FAIL, "party proc 1: Input/output error");
	ends("crew", "proc says", RECORD_FAIL, "a disk is gone");
	ends("crew", "proc dies", RECORD_FAIL, "party proc died");
	ends("crew", "proc exits", RECORD_FAIL, "party proc died");
	ends("crew", "proc hangs", RECORD_FAIL, "no sign of life");
	ends("crew", "thread fails", RECORD_FAIL, "party thread 0: Input/output error");
	ends("timed", "proc dies", RECORD_FAIL, "party proc died");
	ends("timed", "thread fails", RECORD_FAIL, "party thread 0: Input/output error");
}

static void a_server_fails(void **state)
{
	(void)state;
	ends("alone", "server leaves", RECORD_FAIL, "party server 0 ended before its time");
	ends("alone", "server fails", RECORD_FAIL, "party server 0: Connection reset by peer");
	ends("alone", "server exits", RECORD_FAIL, "party server");
	ends("alone", "server dies", RECORD_FAIL, "party server");
	ends("crew", "server dies", RECORD_FAIL, "party server");
	ends("alone", "thread stays", RECORD_FAIL, "party stuck 0 does not stop");
}

static void nothing_is_no_measurement(void **state)
{
	(void)state;
	ends("idle", "", RECORD_FAIL, "no operation was done");
	ends("quiet", "", RECORD_FAIL, "it measured nothing");
	ends("nobody", "", RECORD_FAIL, "there is no party to measure");
}

static void what_is_not_here_is_skipped(void **state)
{
	struct plan_item many = {
		.id = "1", .workload = "nobody", .params = "procs=5000", .time_ns = 1
	};

	(void)state;
	ends("crew", "demand", RECORD_SKIP, "its demand cannot be computed");
	ends("crew", "tasks", RECORD_SKIP, "wants 9223372036854775807 tasks");
	ends("crew", "descriptors", RECORD_SKIP, "wants 9223372036854775807 descriptors");
	ends("crew", "memory", RECORD_SKIP, "wants 9223372036854775807 bytes of memory");
	ends("crew", "disk", RECORD_SKIP, "wants 9223372036854775807 bytes of disk");
	assert_int_equal(run_plan(&many, 1, NSEC_PER_SEC), 0);
	assert_int_equal(count(RECORD_SKIP), 1);
	assert_true(strstr(got.reason, "room for") || strstr(got.reason, "tasks"));
	setenv("TMPDIR", "/no/such/folder", 1);
	ends("needy", "", RECORD_SKIP, "cannot write to /no/such/folder: set TMPDIR");
	setenv("TMPDIR", tmp, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_fault_it_goes_well),
		cmocka_unit_test(the_leader_fails),
		cmocka_unit_test(what_is_reported_is_checked),
		cmocka_unit_test(a_party_fails),
		cmocka_unit_test(a_server_fails),
		cmocka_unit_test(nothing_is_no_measurement),
		cmocka_unit_test(what_is_not_here_is_skipped),
	};

	return cmocka_run_group_tests(tests, tmp_make, tmp_remove);
}
