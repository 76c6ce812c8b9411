/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of the runner by themselves, and the agent as a program with each scripted fault. */
#include "runner/runner.h"

#include "runner_fixture.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "runner/internal.h"

/* ---- pieces ---- */

static void the_first_cause_is_kept(void **state)
{
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char big[2000], first[8] = "";
	int i;

	(void)state;
	assert_true(sh != MAP_FAILED);
	assert_int_equal(shared_end(sh, SHARED_SKIPPED, ENOTSUP, "no %s", "room"), -ENOTSUP);
	/* The caller's own code comes back, the words stay. */
	assert_int_equal(shared_end(sh, SHARED_FAILED, EIO, "later"), -EIO);
	assert_int_equal(atomic_load(&sh->ended), SHARED_SKIPPED);
	assert_string_equal(sh->reason, "no room");
	assert_int_equal(atomic_load(&sh->worded), 1);
	memset(sh, 0, sizeof(*sh));
	assert_true(shared_end(sh, SHARED_FAILED, 0, "x") < 0); /* an end is no success */
	memset(sh, 0, sizeof(*sh));
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	shared_end(sh, SHARED_FAILED, EIO, "%s", big);
	assert_int_equal(strlen(sh->reason), sizeof(sh->reason) - 1);
	shared_phase(sh, "%s", big);
	assert_int_equal(strlen(sh->phase), sizeof(sh->phase) - 1);
	memset(sh, 0, sizeof(*sh));
	/* Many at once: one of them, and whole. */
	for (i = 0; i < 8; i++)
		if (!fork())
			_exit(shared_end(sh, SHARED_FAILED, 10 + i, "by %d%d%d", i, i, i) !=
			      -10 - i);
	for (i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	snprintf(first, sizeof(first), "by %c%c%c", sh->reason[3], sh->reason[3], sh->reason[3]);
	assert_string_equal(sh->reason, first);
	munmap(sh, sizeof(*sh));
}

static const struct param params[] = {
	{ .name = "procs", .type = PARAM_UINT, .def = "4", .help = "" },
	{ .name = "place",
	  .type = PARAM_CHOICE,
	  .def = "same",
	  .choices = "same|spread|free",
	  .help = "" },
	{ .name = NULL },
};
static const struct party_role ring[] = {
	{ .role = "passer", .count = "procs", .count_less = 1 },
	{ .role = NULL },
};
static const struct party_role pairs[] = {
	{ .role = "client", .count = "procs", .paired = true },
	{ .role = "server", .count = "procs", .paired = true },
	{ .role = NULL },
};
static const struct metric none[] = { { .name = NULL } };

static void placed(const struct party_role *roles, const char *text, unsigned cpus,
		   const char *want)
{
	unsigned all[] = { 1, 3, 4, 7 };
	struct cpulist allowed = { all, cpus }, *l;
	struct workload w = { .name = "x", .params = params, .metrics = none, .parties = roles };
	struct arena a = ARENA_INIT;
	struct error e = ERROR_INIT;
	struct str s = STR_INIT;
	struct args args;
	size_t i;

	assert_int_equal(args_parse(params, text, &a, &args, &e), 0);
	if (place_choose(place_of(&w, &args), &allowed, &w, &args, &a, &l, &e) < 0)
		str_add(&s, e.text);
	else
		for (i = 0; i < crew_size(&w, &args) + 1; i++)
			str_printf(&s, "%c", l[i].n ? '0' + (char)l[i].cpu[0] : '-');
	assert_string_equal(str_get(&s), want);
	str_done(&s);
	arena_done(&a);
}

/* From the last allowed CPU down; pairs share, or are apart. */
static void placement_is_as_asked(void **state)
{
	(void)state;
	placed(NULL, "", 4, "7");
	placed(ring, "", 4, "7777");
	placed(ring, "place=spread", 4, "7431");
	placed(ring, "place=spread,procs=7", 4, "7431743");
	placed(ring, "place=spread", 2, "3131");
	placed(ring, "place=spread", 1, "place=spread wants 2 CPUs, 1 is allowed here");
	placed(ring, "place=free", 1, "----");
	placed(pairs, "procs=3", 4, "7743743");
	placed(pairs, "procs=3,place=spread", 4, "7743431");
	placed(ring, "procs=1", 4, "7");
	placed(ring, "procs=0", 4, "7"); /* less than none is none */
}

static void absurd_counts_do_not_wrap(void **state)
{
	static const char *const counts[] = { "procs=4294967298", "procs=9223372036854775809",
					      "procs=18446744073709551615" };
	struct workload w = { .name = "x", .params = params, .metrics = none, .parties = ring };
	struct arena a = ARENA_INIT;
	struct args args;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_int_equal(args_parse(params, counts[i], &a, &args, NULL), 0);
		assert_true(crew_size(&w, &args) > SHARED_SLOTS);
	}
	arena_done(&a);
}

static void the_clock_is_plausible(void **state)
{
	struct clock_cost c;
	struct window w;

	(void)state;
	clock_cost(&c);
	assert_true(c.resolution_ns >= 1 && c.resolution_ns < NSEC_PER_SEC);
	assert_true(c.overhead_ns > 0 && c.overhead_ns < 1e8);
	assert_true(c.loop_ns > 0 && c.loop_ns < 1e6);
	window_open(&w);
	window_close(&w);
	assert_true(w.end_ns >= w.start_ns);
}

/* ---- the agent ---- */

static int agent(const char *mock, const char *const *words)
{
	CLEANUP_FREE char *script = mem_printf("KDELTA_MOCK=%s", mock ? mock : "time=1");
	const char *env[] = { script, NULL };
	const char *argv[16] = { TEST_BUILD_DIR "/kdelta-agent", "run" };
	const struct proc_opts o = { .env = env, .timeout_ns = 60 * NSEC_PER_SEC };
	struct proc_result out;
	struct error e = ERROR_INIT;
	size_t n = 2;
	int status;

	while (*words)
		argv[n++] = *words++;
	if (proc_run(argv, &o, &out, &e) < 0)
		fail_msg("%s", e.text);
	status = out.status;
	if (status == 0 || status == 3)
		got_text(out.out, out.out_len);
	proc_result_done(&out);
	nothing_is_left();
	return status;
}

#define AGENT(mock, ...) agent(mock, (const char *const[]){ __VA_ARGS__, NULL })

static void scripted_values_arrive(void **state)
{
	size_t i, samples = 0;
	double sum = 0;

	(void)state;
	assert_int_equal(AGENT("time=100,102,99 faults=7 hist=10*98,5000*2", "-w",
			       "mock:place=same,samples=5"),
			 0);
	for (i = 0; i < got.n; i++) {
		if (got.r[i].kind != RECORD_SAMPLE)
			continue;
		samples++;
		if (str_eq(got.r[i].sample.metric, "time"))
			sum += got.r[i].sample.value;
	}
	assert_int_equal(samples, 10); /* and no timed batch beside them */
	assert_true(sum == 100 + 102 + 99 + 100 + 102);
	assert_int_equal(count(RECORD_HIST), 1);
	assert_int_equal(count(RECORD_INVOCATION), 1);
	assert_int_equal(usage_of(0, "suspended_ns"), 0);
	assert_true(usage_of(0, "elapsed_ns") > 0);
}

static void faulty(const char *mock, enum record_kind kind, const char *words)
{
	int want = kind == RECORD_FAIL ? 3 : 0;

	assert_int_equal(AGENT(mock, "-w", "mock:place=same", "-w", "nop", "--time", "1ms",
			       "--heartbeat", "1s"),
			 want);
	assert_int_equal(count(kind), 1);
	if (!strstr(got.reason, words))
		fail_msg("\"%s\" without \"%s\"", got.reason, words);
	/* The next one runs, and is none the worse for it. */
	assert_int_equal(count(RECORD_USAGE), 1);
}

static void each_fault_is_a_record(void **state)
{
	(void)state;
	faulty("time=100,fail", RECORD_FAIL, "scripted failure");
	faulty("time=100,crash", RECORD_FAIL, "killed by signal 6, Aborted (sample 1)");
	faulty("time=100,hang", RECORD_FAIL, "no sign of life for 1.0 s (sample 1)");
	faulty("time=100,100,partydie", RECORD_FAIL, "party waiter");
	faulty("time=partydie,100,100", RECORD_FAIL, "party waiter");
	faulty("time=100,nan", RECORD_FAIL, "time is not a finite number");
	faulty("time=100 hist=5,skip", RECORD_SKIP, "scripted skip");
	faulty("time=skip", RECORD_SKIP, "scripted skip");
	faulty("nonsense=1", RECORD_FAIL, "KDELTA_MOCK: \"nonsense\"");
	faulty("time=1e999", RECORD_FAIL, "neither a number");
}

static void what_is_asked_wrongly_is_refused(void **state)
{
	(void)state;
	assert_int_equal(AGENT(NULL, "-w", "nosuch"), 2);
	assert_int_equal(AGENT(NULL, "-w", "mock:samples=0"), 2);
	assert_int_equal(AGENT(NULL, "--plan", "/no/such/plan"), 2);
	assert_int_equal(AGENT(NULL, "--plan", "/dev/null"), 2);
	assert_int_equal(AGENT(NULL, "-w", "nop", "--nonsense"), 2);
	assert_int_equal(AGENT(NULL, "--time", "1s"), 2);
	assert_int_equal(AGENT(NULL, "nop"), 2);
}

static void a_plan_is_followed(void **state)
{
	static const char plan[] =
		"{\"protocol\":1,\"class\":\"emulated\",\"context\":{\"mem\":\"512\"},"
		"\"warmup_ns\":0,\"items\":["
		"{\"id\":\"a\",\"workload\":\"mock\",\"params\":\"samples=2\",\"headline\":true},"
		"{\"id\":\"b\",\"workload\":\"of the future\",\"params\":\"x=1\"},"
		"{\"id\":\"c\",\"workload\":\"mock\",\"params\":\"samples=none\"},"
		"{\"id\":\"d\",\"workload\":\"mock\",\"params\":\"\",\"implied\":true}]}";
	CLEANUP_FREE char *path = mem_printf("%s.plan", tmp);
	CLEANUP_FREE char *context = NULL;
	const struct record *v = NULL;
	size_t i;

	(void)state;
	assert_int_equal(file_replace(path, plan, strlen(plan), NULL), 0);
	assert_int_equal(AGENT(NULL, "--plan", path), 3);
	assert_int_equal(unlink(path), 0);
	for (i = 0; i < got.n; i++) {
		if (got.r[i].kind == RECORD_INVOCATION && str_eq(got.r[i].inv, "a"))
			v = &got.r[i];
		if (got.r[i].kind != RECORD_FAIL)
			continue;
		if (str_eq(got.r[i].inv, "b"))
			assert_string_equal(got.r[i].fail.reason,
					    "this agent has no such workload");
		else
			assert_string_equal(got.r[i].fail.reason,
					    "samples: 'none' is not a whole number");
	}
	assert_int_equal(count(RECORD_FAIL), 2);
	assert_int_equal(count(RECORD_USAGE), 2);
	assert_non_null(v);
	assert_string_equal(v->invocation.class, "emulated");
	assert_string_equal(v->invocation.params, "samples=2,place=same");
	assert_true(v->invocation.headline);
	context = json_line(v->invocation.context);
	assert_string_equal(context, "{\"mem\":\"512\"}");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_cause_is_kept),
		cmocka_unit_test(placement_is_as_asked),
		cmocka_unit_test(absurd_counts_do_not_wrap),
		cmocka_unit_test(the_clock_is_plausible),
		cmocka_unit_test(scripted_values_arrive),
		cmocka_unit_test(each_fault_is_a_record),
		cmocka_unit_test(what_is_asked_wrongly_is_refused),
		cmocka_unit_test(a_plan_is_followed),
	};

	return cmocka_run_group_tests(tests, tmp_make, tmp_remove);
}
