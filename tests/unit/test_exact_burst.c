/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the agent's burst and the plugin's counts to the burst that is stored, by hand. */
#include "counts_fixture.h"

#include <errno.h>

#include "base/json.h"
#include "model/record.h"

#define INVOCATION                                                                                 \
	"{\"k\":\"invocation\",\"inv\":\"1\",\"workload\":\"ctx\",\"workload_version\":2,"         \
	"\"family\":\"ctx\",\"op\":\"hand-over\",\"params\":\"procs=2\",\"class\":\"emulated\","   \
	"\"context\":{\"toolchain\":\"x\",\"cpu\":\"old\"},\"metrics\":[],\"headline\":true,"      \
	"\"time_ns\":5,\"later\":[1]}\n"
#define FACT                                                                                       \
	"{\"k\":\"fact\",\"inv\":\"1\",\"when\":\"before\",\"class\":\"volatile\","                \
	"\"name\":\"invocation.cpus\",\"value\":\"0 0\"}\n"
#define SAMPLE(ops, ns, over_ops, over_ns)                                                         \
	"{\"k\":\"batches\",\"inv\":\"1\",\"part\":\"\",\"rows\":[[" #ops "," #ns "," #over_ops    \
	"," #over_ns "]]}\n"
#define PLAIN(part, ops, ns)                                                                       \
	"{\"k\":\"batches\",\"inv\":\"1\",\"part\":\"" part "\",\"rows\":[[" #ops "," #ns "]]}\n"
#define USAGE                                                                                      \
	"{\"k\":\"usage\",\"inv\":\"1\",\"values\":{\"n\":10,\"steal_ns\":null,"                   \
	"\"batches_count\":3}}\n"

static const struct plan_perturb third = { 3, 7121000, 19, 640, 24 };

/* Four windows as of two samples with an overhead, the second with a tick in its batch. */
static struct exact_window windows[] = {
	{ true, 0, 40000, 0, 0, 0, 0, 30000, 10000, 0, 0, 0 },
	{ false, 0, 300000, 0, 5000, 0, 0, 255000, 50000, 7000, 0, 20 },
	{ true, 0, 41000, 900, 0, 0, 0, 31900, 10000, 0, 1, 0 },
	{ false, 0, 301000, 4000, 6000, 0, 0, 261000, 50000, 8000, 1, 24 },
};

static struct exact_count list[] = {
	{ 0, { 50000, 50000 }, { 0, 0 }, 0 },
	{ BASE + 0x100, { 1000, 2000 }, { 7000, 8000 }, BASE + 0x200 },
	{ BASE + 0x200, { 254000, 259000 }, { 0, 0 }, 0 },
};

static struct exact_counts counts_of(void)
{
	return (struct exact_counts){ 4, { windows, 4, true }, list, ARRAY_SIZE(list) };
}

#define GOOD INVOCATION FACT SAMPLE(100, 312100, 100, 40050) SAMPLE(100, 319100, 100, 41950) USAGE

static int run(const char *burst, const struct exact_counts *c, struct str *out, struct error *e)
{
	CLEANUP_JSON json_t *context = json_pack("{s:s,s:i}", "cpu", "max", "mem_mib", 512);
	struct symbols *s = symbols_of(few, ARRAY_SIZE(few));
	int r = exact_burst(burst, strlen(burst), c, s, context, &third, out, e);

	symbols_free(s);
	return r;
}

/* The records that came out. */
struct made {
	struct record r[64];
	size_t n;
};

static void take_apart(const struct str *out, struct made *m)
{
	const char *line = str_get(out);

	m->n = 0;
	while (*line) {
		size_t n = strcspn(line, "\n");

		assert_true(line[n] == '\n' && m->n < ARRAY_SIZE(m->r));
		OK(record_decode(line, n, &m->r[m->n++], e));
		line += n + 1;
	}
}

static void made_done(struct made *m)
{
	while (m->n)
		record_done(&m->r[--m->n]);
}

static const struct record *of_kind(const struct made *m, enum record_kind kind, size_t i)
{
	for (size_t k = 0; k < m->n; k++)
		if (m->r[k].kind == kind && !i--)
			return &m->r[k];
	fail_msg("no %s", record_kind_name(kind));
	return NULL;
}

static void has_value(const struct made *m, const char *part, const char *metric, double want)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct record_sample *s = &m->r[i].sample;

		if (m->r[i].kind != RECORD_SAMPLE || strcmp(s->metric, metric) != 0 ||
		    strcmp(s->part, part) != 0)
			continue;
		if (s->value != want)
			fail_msg("%s is %.17g, not %.17g", metric, s->value, want);
		return;
	}
	fail_msg("no %s", metric);
}

static size_t values_of(const struct made *m, const char *metric)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->r[i].kind == RECORD_SAMPLE &&
		     (!metric || !strcmp(m->r[i].sample.metric, metric));
	return n;
}

static void burst_becomes_exact(void **state)
{
	struct exact_counts c = counts_of();
	struct arena a = ARENA_INIT;
	struct str out = STR_INIT;
	struct exact_windows w;
	struct exact_profile p;
	const struct record *r;
	struct metric *metrics;
	struct made m;
	size_t n;

	(void)state;
	str_add(&out, "before\n");
	OK(run(GOOD, &c, &out, e));
	assert_true(str_starts(out.s, "before\n"));
	memmove(out.s, out.s + 7, out.len - 6);
	out.len -= 7;
	take_apart(&out, &m);

	/* The order of a burst; one value for each metric. */
	assert_int_equal(m.r[0].kind, RECORD_INVOCATION);
	assert_int_equal(m.r[m.n - 1].kind, RECORD_USAGE);
	assert_int_equal(m.r[m.n - 2].kind, RECORD_PROFILE);
	assert_int_equal(m.r[m.n - 3].kind, RECORD_WINDOW);
	assert_int_equal(values_of(&m, NULL), EXACT_METRICS);
	assert_int_equal(m.n, 1 + 2 + EXACT_METRICS + 2 + 1);

	r = &m.r[0];
	assert_string_equal(r->invocation.class, "exact");
	assert_string_equal(r->invocation.params, "procs=2");
	assert_true(r->invocation.headline && r->invocation.time_ns == 5);
	assert_string_equal(json_opt_str(r->invocation.context, "toolchain", ""), "x");
	assert_string_equal(json_opt_str(r->invocation.context, "cpu", ""), "max");
	assert_int_equal(json_opt_u64(r->invocation.context, "mem_mib", 0), 512);
	assert_non_null(json_object_get(r->raw, "later"));
	OK(metric_decode_all(r->invocation.metrics, &a, &metrics, &n, e));
	assert_int_equal(n, EXACT_METRICS);
	assert_true(metrics[0].headline);

	r = of_kind(&m, RECORD_FACT, 0);
	assert_string_equal(r->fact.name, EXACT_FACT);
	assert_string_equal(r->fact.value, "3: idle 7.121 ms, batch 19/16, env 640, slab 24");
	assert_int_equal(r->fact.class, FACT_VOLATILE);
	assert_int_equal(r->fact.when, FACT_BEFORE);
	assert_string_equal(of_kind(&m, RECORD_FACT, 1)->fact.name, "invocation.cpus");

	has_value(&m, "", "instructions", 3050);
	has_value(&m, "", "kernel", 2550);
	has_value(&m, "", "user", 500);
	has_value(&m, "", "rep_iterations", 70);
	has_value(&m, "", "total", 3080);
	has_value(&m, "", "total_rep_iterations", 75);
	has_value(&m, "", "overhead", 409.5);
	has_value(&m, "", "hardirq", 20);
	has_value(&m, "", "interrupts", .005);
	has_value(&m, "", "switches", .22);

	OK(exact_windows_decode(of_kind(&m, RECORD_WINDOW, 0)->raw, &a, &w, e));
	assert_true(w.contexts && w.n == 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w.list[i].ops, 100);
	assert_int_equal(windows[1].ops, 0); /* the caller's are untouched */
	OK(exact_profile_decode(of_kind(&m, RECORD_PROFILE, 0)->raw, &a, &p, e));
	assert_int_equal(p.n, 3);
	assert_int_equal(p.ops[EXACT_CLEAN], 100);
	assert_int_equal(p.ops[EXACT_OTHER], 100);
	assert_string_equal(p.symbols[1].name, "f");
	assert_int_equal(p.n_edges, 1);

	r = &m.r[m.n - 1];
	assert_int_equal(json_opt_num(r->usage.values, "windows_count", 0), 2);
	assert_int_equal(json_opt_num(r->usage.values, "clean_windows_count", 0), 1);
	assert_int_equal(json_opt_num(r->usage.values, "api", 0), 4);
	assert_int_equal(json_opt_num(r->usage.values, "n", 0), 10);
	assert_true(json_is_null(json_object_get(r->usage.values, "steal_ns")));
	made_done(&m);
	str_done(&out);
	arena_done(&a);
}

/* The workload's own numbers are in guest time, which is none here; the rest is kept. */
static void only_numbers_are_replaced(void **state)
{
	static const char burst[] = INVOCATION
		"{\"k\":\"log\",\"inv\":\"1\",\"text\":\"hi\"}\n"
		"{\"k\":\"comet\",\"inv\":\"1\",\"tail\":1}\n"
		"{\"k\":\"sample\",\"inv\":\"1\",\"metric\":\"mbps\",\"value\":7}\n"
		"{\"k\":\"hist\",\"inv\":\"1\",\"name\":\"lat\",\"hist\":{}}\n"
		"{\"k\":\"fact\",\"inv\":\"1\",\"when\":\"before\",\"class\":\"volatile\","
		"\"name\":\"perturbation\",\"value\":\"9: other\"}\n" SAMPLE(
			100, 312100, 100, 40050) SAMPLE(100, 319100, 100, 41950) USAGE;
	struct exact_counts c = counts_of();
	struct str out = STR_INIT;
	struct made m;

	(void)state;
	OK(run(burst, &c, &out, e));
	take_apart(&out, &m);
	assert_int_equal(values_of(&m, NULL), EXACT_METRICS);
	assert_int_equal(values_of(&m, "mbps"), 0);
	of_kind(&m, RECORD_LOG, 0);
	of_kind(&m, RECORD_UNKNOWN, 0);
	assert_int_equal(m.n, 1 + 3 + EXACT_METRICS + 2 + 1);
	assert_null(strstr(out.s, "9: other"));
	made_done(&m);
	str_done(&out);
}

static void parts_have_values_of_their_own(void **state)
{
	static const char burst[] = INVOCATION PLAIN("seq", 10, 1100) PLAIN("rand", 10, 2200)
		PLAIN("seq", 30, 3500) USAGE;
	struct exact_window three[] = {
		{ false, 0, 1000, 0, 0, 0, 0, 900, 100, 0, 0, 0 },
		{ false, 0, 2000, 0, 0, 0, 0, 1900, 100, 0, 0, 0 },
		{ false, 0, 3400, 0, 0, 0, 0, 3300, 100, 0, 0, 0 },
	};
	struct exact_counts c = { 1, { three, 3, true }, NULL, 0 };
	struct str out = STR_INIT;
	struct made m;

	(void)state;
	OK(run(burst, &c, &out, e));
	take_apart(&out, &m);
	has_value(&m, "seq", "instructions", 110);
	has_value(&m, "rand", "instructions", 200);
	assert_int_equal(values_of(&m, "total"), 2);
	assert_int_equal(values_of(&m, "overhead"), 0); /* there was none: missing */
	made_done(&m);
	str_done(&out);
}

/* Where nobody knew an interrupt from a task, all windows are alike and nothing is 0. */
static void without_contexts_they_are_missing(void **state)
{
	static const char burst[] = INVOCATION PLAIN("", 10, 900000) USAGE;
	struct exact_window one = { false, 0, 1000, 0, 0, 0, 0, 900, 100, 0, 0, 0 };
	struct exact_counts c = { 1, { &one, 1, false }, NULL, 0 };
	struct str out = STR_INIT;
	struct made m;

	(void)state;
	OK(run(burst, &c, &out, e)); /* the time may have passed idle: nobody knows */
	take_apart(&out, &m);
	assert_int_equal(values_of(&m, NULL), EXACT_OVERHEAD);
	has_value(&m, "", "instructions", 100);
	has_value(&m, "", "total", 100);
	made_done(&m);
	str_done(&out);
}

static void without_a_clean_window_typical_is_missing(void **state)
{
	static const char burst[] = INVOCATION PLAIN("", 10, 1000) USAGE;
	struct exact_window one = { false, 0, 900, 100, 0, 0, 0, 900, 100, 0, 1, 0 };
	struct exact_counts c = { 1, { &one, 1, true }, NULL, 0 };
	struct str out = STR_INIT;
	struct made m;

	(void)state;
	OK(run(burst, &c, &out, e));
	take_apart(&out, &m);
	assert_int_equal(values_of(&m, "instructions") + values_of(&m, "kernel") +
				 values_of(&m, "user") + values_of(&m, "rep_iterations"),
			 0);
	has_value(&m, "", "total", 100);
	has_value(&m, "", "idle", 0); /* seen, and nothing: that is 0 */
	assert_int_equal(json_opt_num(m.r[m.n - 1].usage.values, "clean_windows_count", 9), 0);
	made_done(&m);
	str_done(&out);
}

static void failures_are_handed_on(void **state)
{
	static const char *const bursts[] = {
		INVOCATION "{\"k\":\"fail\",\"inv\":\"1\",\"reason\":\"died\"}\n",
		"{\"k\":\"skip\",\"inv\":\"1\",\"workload\":\"ctx\",\"reason\":\"no\"}\n",
		INVOCATION FACT "{\"k\":\"skip\",\"inv\":\"1\",\"reason\":\"no\"}",
	};
	struct str out = STR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bursts); i++) {
		size_t n = strlen(bursts[i]);

		str_reset(&out);
		OK(exact_burst(bursts[i], n, NULL, NULL, NULL, &third, &out, e));
		assert_memory_equal(out.s, bursts[i], n);
		assert_int_equal(out.len, n + (bursts[i][n - 1] != '\n'));
		assert_int_equal(out.s[out.len - 1], '\n');
	}
	str_done(&out);
}

static void what_does_not_agree_is_refused(void **state)
{
	struct exact_counts c = counts_of(), fewer = counts_of(), none = { .api = 1 };
	struct exact_window crossed[4] = { windows[1], windows[0], windows[2], windows[3] };
	struct exact_window late[4] = { windows[0], windows[1], windows[3], windows[2] };
	struct str out = STR_INIT;

	(void)state;
	str_add(&out, "x");
	fewer.windows.n = 2;
	FAILS(EBADMSG, "2 samples, 2 with an overhead; windows of 1 batches and of 1 overheads",
	      run(GOOD, &fewer, &out, e));
	FAILS(EBADMSG, "2 samples", run(GOOD, &none, &out, e));
	FAILS(EBADMSG, "no samples", run(INVOCATION USAGE, &none, &out, e));
	FAILS(EBADMSG, "no samples", run(INVOCATION USAGE, &c, &out, e));
	FAILS(EBADMSG, "no counts", run(GOOD, NULL, &out, e));
	FAILS(EBADMSG, "1 samples, 1 with",
	      run(INVOCATION SAMPLE(100, 312100, 100, 40050) USAGE, &c, &out, e));
	FAILS(EBADMSG, "2 samples, 1 with",
	      run(INVOCATION SAMPLE(100, 312100, 100, 40050) PLAIN("", 100, 319100) USAGE, &c, &out,
		  e));
	fewer.windows = (struct exact_windows){ crossed, 4, true };
	FAILS(EBADMSG, "sample 1: the windows do not alternate", run(GOOD, &fewer, &out, e));
	fewer.windows = (struct exact_windows){ late, 4, true };
	FAILS(EBADMSG, "sample 2: the windows do not alternate", run(GOOD, &fewer, &out, e));
	assert_string_equal(out.s, "x");
	str_done(&out);
}

static void bad_bursts_are_refused(void **state)
{
	static const struct {
		const char *burst, *why;
	} bad[] = {
		{ "", "no records" },
		{ "\n\n", "no records" },
		{ "x\n", "line 1" },
		{ INVOCATION "{\"k\":\"log\",\"inv\":\"1\"}\n" USAGE, "line 2" },
		{ INVOCATION PLAIN("", 0, 1) USAGE, "batches: row 1: no operations" },
		{ INVOCATION SAMPLE(1, 1, 0, 1) USAGE, "batches: row 1: no operations" },
		{ INVOCATION PLAIN("", 1, -1) USAGE, "batches: row 1" },
		{ INVOCATION "{\"k\":\"batches\",\"inv\":\"1\",\"part\":\"\",\"rows\":"
			     "[[1,2],[1,2,3]]}\n" USAGE,
		  "batches: row 2" },
		{ INVOCATION "{\"k\":\"batches\",\"inv\":\"1\",\"rows\":[]}\n" USAGE, "part" },
		{ USAGE, "from usage to usage" },
		{ FACT INVOCATION USAGE, "from fact to usage" },
		{ INVOCATION FACT, "from invocation to fact" },
		{ INVOCATION INVOCATION USAGE, "record 2 is out of place" },
		{ INVOCATION USAGE USAGE, "record 2 is out of place" },
		{ INVOCATION "{\"k\":\"log\",\"text\":\"of the boot\"}\n" USAGE,
		  "record 2 is out of place" },
		{ INVOCATION "{\"k\":\"log\",\"inv\":\"2\",\"text\":\"hi\"}\n" USAGE,
		  "record 2 is out of place" },
	};
	struct exact_counts c = counts_of();
	struct str out = STR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error e = ERROR_INIT;

		if (run(bad[i].burst, &c, &out, &e) != -EINVAL || !strstr(e.text, bad[i].why))
			fail_msg("%s: %s", bad[i].burst, e.text);
		assert_int_equal(out.len, 0);
	}
	str_done(&out);
}

/* Guest time is instructions: what does not add up was counted wrongly. */
static void time_and_counts_must_agree(void **state)
{
	static const struct {
		uint64_t ns, idle;
		bool ok;
	} cases[] = {
		/*
		 * 1,000,000 instructions and 500,000 iterations: 1 % and 2000 are 17,000. One may
		 * be later by an interrupt, 200,000.
		 */
		{ 1500000, 0, true }, { 1717000, 0, true },  { 1717001, 0, false },
		{ 1483000, 0, true }, { 1482999, 0, false }, { 1000000, 0, false },
		{ 9999999, 1, true }, { 1482998, 1, false }, { 1483000, 1, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct exact_window w = { false,
					  0,
					  1000000 - cases[i].idle,
					  0,
					  0,
					  0,
					  cases[i].idle,
					  900000,
					  100000,
					  500000,
					  0,
					  0 };
		struct exact_window two[] = { w, w };
		struct exact_counts c = { 1, { two, 2, true }, NULL, 0 };
		CLEANUP_FREE char *burst = mem_printf(
			"%s%s{\"k\":\"batches\",\"inv\":\"1\",\"part\":\"\","
			"\"rows\":[[1,%llu]]}\n%s",
			INVOCATION, PLAIN("", 1, 1500000), (unsigned long long)cases[i].ns, USAGE);
		struct str out = STR_INIT;

		if (cases[i].ok)
			OK(run(burst, &c, &out, e));
		else
			FAILS(EBADMSG, "sample 2 took", run(burst, &c, &out, e));
		str_done(&out);
	}
	{
		/* An interrupt between the clock and the marker is rare: not in both. */
		struct exact_window w = { false, 0,	 1000000, 0,	  0, 0,
					  0,	 900000, 100000,  500000, 0, 0 };
		struct exact_window two[] = { w, w };
		struct exact_counts c = { 1, { two, 2, true }, NULL, 0 };
		CLEANUP_FREE char *burst = mem_printf("%s%s%s%s", INVOCATION, PLAIN("", 1, 1520000),
						      PLAIN("", 1, 1520000), USAGE);
		struct str out = STR_INIT;

		FAILS(EBADMSG, "2 of 2 samples took longer", run(burst, &c, &out, e));
		str_done(&out);
	}
	{
		struct exact_counts c = counts_of();
		struct str out = STR_INIT;

		FAILS(EBADMSG, "sample 1's overhead took 290000 ns, its window has 40000 instr",
		      run(INVOCATION SAMPLE(100, 312100, 100, 290000)
				  SAMPLE(100, 319100, 100, 41950) USAGE,
			  &c, &out, e));
		str_done(&out);
	}
}

/* A reader would refuse the line, and with it more than this invocation. */
static void profiles_have_a_longest_line(void **state)
{
	const size_t n = 80000;
	CLEANUP_FREE struct exact_count *many = mem_array(n, sizeof(*many));
	struct exact_counts c = counts_of();
	struct str out = STR_INIT;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		many[i].addr = BASE + i * EXACT_UNKNOWN_BYTES;
		many[i].count[EXACT_CLEAN] = 1000000000;
	}
	c.list = many;
	c.n = n;
	FAILS(EFBIG, "80000 symbols",
	      exact_burst(GOOD, strlen(GOOD), &c, NULL, NULL, &third, &out, e));
	assert_int_equal(out.len, 0);
	str_done(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(burst_becomes_exact),
		cmocka_unit_test(only_numbers_are_replaced),
		cmocka_unit_test(parts_have_values_of_their_own),
		cmocka_unit_test(without_contexts_they_are_missing),
		cmocka_unit_test(without_a_clean_window_typical_is_missing),
		cmocka_unit_test(failures_are_handed_on),
		cmocka_unit_test(what_does_not_agree_is_refused),
		cmocka_unit_test(bad_bursts_are_refused),
		cmocka_unit_test(time_and_counts_must_agree),
		cmocka_unit_test(profiles_have_a_longest_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
