/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics, and how samples become the values that are compared. */
#include "model/dataset.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- metrics ---- */

static const struct metric all_from[] = {
	{ "time", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, true, METRIC_FROM_TIME, NULL, 0, 0,
	  "" },
	{ "rate", UNIT_OPS, "s", METRIC_MORE, METRIC_MEASURE, false, METRIC_FROM_RATE, NULL, 0, 0,
	  NULL },
	{ "over", UNIT_NS, "op", METRIC_LESS, METRIC_EVIDENCE, false, METRIC_FROM_OVERHEAD, NULL, 0,
	  0, NULL },
	{ "net", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, false, METRIC_FROM_NET, NULL, 0, 0,
	  NULL },
	{ "p99", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, false, METRIC_FROM_QUANTILE, "lat",
	  0.99, 0, NULL },
	{ "temp", UNIT_NONE, NULL, METRIC_NEITHER, METRIC_MEASURE, false, METRIC_FROM_REPORTED,
	  NULL, 0, 0.5, NULL },
	{ .name = NULL },
};

static void metrics_come_back(void **state)
{
	CLEANUP_JSON json_t *j = metric_encode_all(all_from), *again = NULL;
	struct arena a = ARENA_INIT;
	struct metric *m = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(metric_decode_all(j, &a, &m, &n, NULL), 0);
	assert_int_equal(n, 6);
	assert_null(m[6].name);
	again = metric_encode_all(m);
	assert_true(json_equal(j, again));
	assert_int_equal(m[1].better, METRIC_MORE);
	assert_true(m[4].quantile == 0.99);
	arena_done(&a);
}

#define GOOD "\"name\":\"m\",\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"measure\","

/* A direction is declared, never guessed; so is all the rest. Case D08. */
static void wrong_metrics_are_refused(void **state)
{
	static const char *const bad[] = {
		"{\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"measure\",\"from\":\"time\"}",
		"{\"name\":\"m\",\"better\":\"less\",\"kind\":\"measure\",\"from\":\"time\"}",
		"{\"name\":\"m\",\"unit\":\"furlong\",\"better\":\"less\",\"kind\":\"measure\","
		"\"from\":\"time\"}",
		"{\"name\":\"m\",\"unit\":\"ns\",\"kind\":\"measure\",\"from\":\"time\"}",
		"{\"name\":\"m\",\"unit\":\"ns\",\"better\":\"\",\"kind\":\"measure\","
		"\"from\":\"time\"}",
		"{\"name\":\"m\",\"unit\":\"ns\",\"better\":\"fewer\",\"kind\":\"measure\","
		"\"from\":\"time\"}",
		"{\"name\":\"m\",\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"guess\","
		"\"from\":\"time\"}",
		"{" GOOD "\"from\":\"thin air\"}",
		"{" GOOD "\"from\":\"quantile\",\"quantile\":0.5}",
		"{" GOOD "\"from\":\"quantile\",\"hist\":\"h\"}",
		"{" GOOD "\"from\":\"quantile\",\"hist\":\"h\",\"quantile\":0}",
		"{" GOOD "\"from\":\"quantile\",\"hist\":\"h\",\"quantile\":1}",
		"{" GOOD "\"from\":\"quantile\",\"hist\":\"h\",\"quantile\":99}",
		"{" GOOD "\"from\":\"time\",\"resolution\":-1}",
		"5",
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_FREE char *text = mem_printf("[%s]", bad[i]);
		CLEANUP_JSON json_t *j = NULL;
		struct error e = ERROR_INIT;
		struct metric *m;

		assert_int_equal(json_parse(text, strlen(text), "bad", &j, &e), 0);
		if (metric_decode_all(j, &a, &m, NULL, &e) >= 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(str_starts(e.text, "metric"));
	}
	arena_done(&a);
}

/* ---- the dataset ---- */

static struct dataset d;

static int clear(void **state)
{
	(void)state;
	dataset_done(&d);
	return 0;
}

static struct ds_invocation invocation(unsigned boot)
{
	return (struct ds_invocation){ .id = "i",
				       .boot = boot,
				       .workload = "ctx",
				       .family = "ctx",
				       .op = "hand-over",
				       .params = "procs=2",
				       .class = "native",
				       .context = "{}",
				       .workload_version = 1,
				       .headline = true,
				       .state = DS_OK };
}

static unsigned add_invocation(const struct ds_invocation *v, double clock_ns)
{
	unsigned i = dataset_invocation(&d, v, all_from);

	dataset_usage(&d, i, "clock_resolution_ns", clock_ns);
	return i;
}

static const struct ds_series *series(const char *metric)
{
	size_t i;

	for (i = 0; i < d.n_series; i++)
		if (!strcmp(d.series[i].metric.name, metric))
			return &d.series[i];
	return NULL;
}

static void batch(unsigned inv, uint64_t ops, uint64_t ns, uint64_t over_ops, uint64_t over_ns)
{
	struct record_sample s = { .part = "",
				   .ops = ops,
				   .ns = ns,
				   .has_overhead = over_ops > 0,
				   .over_ops = over_ops,
				   .over_ns = over_ns };

	dataset_sample(&d, inv, &s);
}

static bool about(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static void batches_become_values(void **state)
{
	struct ds_invocation v = invocation(0);
	unsigned i = add_invocation(&v, 10);
	const struct ds_point *p;

	(void)state;
	batch(i, 10, 1000, 5, 200);
	batch(i, 10, 2000, 10, 600);
	batch(i, 10, 400, 10, 400); /* all of it was overhead */
	p = series("time")->points;
	assert_int_equal(p->n, 3);
	assert_true(p->values[0] == 100 && p->values[1] == 200 && p->values[2] == 40);
	assert_true(about(p->resolution, 10.0 / 400));
	assert_true(isnan(p->overhead));
	assert_true(about(series("rate")->points->values[0], 1e7));
	p = series("over")->points;
	assert_true(p->values[0] == 40 && p->values[1] == 60 && p->values[2] == 40);
	/* Net: kept also where nothing is left, and counted. Case B01. */
	p = series("net")->points;
	assert_int_equal(p->n, 3);
	assert_true(p->values[0] == 60 && p->values[1] == 140 && p->values[2] == 0);
	assert_int_equal(p->below, 1);
	assert_true(about(p->overhead, (40.0 + 60 + 40) / 3));
	/* The clock's tick weighs more on what is left: 10 ns of 600 ns, or of 0 net of 400. */
	assert_true(about(p->resolution, 10.0 / 400));
	assert_null(series("temp"));
	assert_null(series("p99"));
	assert_true(series("time")->headline);
	assert_false(series("rate")->headline);
}

static void without_overhead_there_is_no_net(void **state)
{
	struct ds_invocation v = invocation(0);
	unsigned i = add_invocation(&v, 0);
	struct record_sample s = { .part = "" };

	(void)state;
	batch(i, 1, 100, 0, 0);
	assert_null(series("net"));
	assert_null(series("over"));
	assert_true(series("time")->points->resolution == 0); /* the clock's is not known */
	/* What is no batch is none. */
	batch(i, 0, 100, 0, 0);
	batch(i, 1, 0, 0, 0);
	s.metric = "temp";
	s.value = (double)NAN;
	dataset_sample(&d, i, &s);
	s.metric = "nobody declared this";
	s.value = 1;
	dataset_sample(&d, i, &s);
	s.metric = "time"; /* declared, but not as reported */
	dataset_sample(&d, i, &s);
	assert_int_equal(series("time")->points->n, 1);
	assert_int_equal(series("rate")->points->n, 1);
	assert_null(series("temp"));
	s.metric = "temp";
	s.value = -2;
	dataset_sample(&d, i, &s);
	assert_true(series("temp")->points->values[0] == -2);
	assert_true(series("temp")->points->resolution == 0.25);
}

static void histograms_are_merged_in_an_invocation(void **state)
{
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h));
	struct ds_invocation v = invocation(0);
	unsigned i = add_invocation(&v, 0);
	double q;

	(void)state;
	dataset_hist(&d, i, "", "lat", h); /* empty: no point */
	assert_null(series("p99"));
	hist_add(h, 100);
	dataset_hist(&d, i, "", "lat", h);
	dataset_hist(&d, i, "", "other", h);
	dataset_hist(&d, i, "", "lat", h);
	assert_int_equal(series("p99")->n, 1);
	assert_int_equal(series("p99")->points->hist->count, 2);
	assert_int_equal(series("p99")->points->n, 0);
	assert_int_equal(hist_quantile(series("p99")->points->hist, 0.99, &q), 0);
	assert_true(q == 100);
	assert_true(series("p99")->points->resolution > 0);
	dataset_hist(&d, i, "64KiB", "lat", h); /* another part */
	assert_int_equal(d.n_series, 2);
}

/* Whatever state it is in but ok: no number of it. */
static void failures_leave_no_number(void **state)
{
	CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h));
	static const enum ds_state states[] = { DS_FAILED, DS_SKIPPED, (enum ds_state)0 };
	struct record_sample reported = { .part = "", .metric = "temp", .value = 1 };
	size_t i;

	(void)state;
	hist_add(h, 5);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct ds_invocation v = invocation(0);
		unsigned at;

		v.state = states[i];
		at = add_invocation(&v, 1);
		batch(at, 1, 1, 1, 1);
		dataset_sample(&d, at, &reported);
		dataset_hist(&d, at, "", "lat", h);
	}
	assert_int_equal(d.n_series, 0);
	assert_int_equal(d.n_invocations, 3);
}

/* Two results whose keys differ in anything are never in one series. */
static void keys_are_never_mixed(void **state)
{
	struct ds_invocation v = invocation(0);
	struct metric other[2] = { all_from[0], { .name = NULL } };
	struct record_sample part = { .part = "seq", .ops = 1, .ns = 1 };
	size_t i, want = 1;
	struct metric variants[5];

	(void)state;
#define ANOTHER(change)                                                                            \
	do {                                                                                       \
		v = invocation(0);                                                                 \
		change;                                                                            \
		i = dataset_invocation(&d, &v, other);                                             \
		batch((unsigned)i, 1, 1, 0, 0);                                                    \
		assert_int_equal(d.n_series, want++);                                              \
	} while (0)
	ANOTHER((void)0);
	ANOTHER(v.params = "procs=3");
	ANOTHER(v.workload = "ctx2");
	ANOTHER(v.workload_version = 2);
	ANOTHER(v.class = "emulated");
	ANOTHER(v.context = "{\"cpu\":\"other\"}");
	for (i = 0; i < ARRAY_SIZE(variants); i++)
		variants[i] = all_from[0];
	variants[0].unit = UNIT_COUNT;
	variants[1].per = NULL;
	variants[2].better = METRIC_MORE;
	variants[3].kind = METRIC_COUNT;
	variants[4].name = "time2";
	for (size_t k = 0; k < ARRAY_SIZE(variants); k++) {
		other[0] = variants[k];
		ANOTHER((void)0);
	}
	dataset_sample(&d, 0, &part);
	assert_int_equal(d.n_series, want++);
	/* The same again is in the first one, as a point of its own. */
	other[0] = all_from[0];
	want = d.n_series;
	ANOTHER(v.boot = 1);
	assert_int_equal(d.series[0].n, 2);
	assert_int_equal(d.series[0].points[1].boot, 1);
	assert_int_equal(d.series[0].points[0].n, 1);
}

static void boots_are_numbered_by_their_start(void **state)
{
	static const struct {
		unsigned experiment;
		uint64_t start;
		unsigned want;
	} boots[] = { { 0, 50, 2 }, { 0, 10, 0 }, { 1, 5, 0 },
		      { 0, 20, 1 }, { 1, 90, 1 }, { 0, 50, 3 } };
	struct ds_fact f = { FACT_BEFORE, FACT_STATE, "swap", NULL, "why" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(boots); i++) {
		struct ds_boot b = { .id = "b",
				     .experiment = boots[i].experiment,
				     .started_ns = boots[i].start,
				     .state = DS_OK };

		assert_int_equal(dataset_boot(&d, &b), i);
	}
	dataset_boot_fact(&d, 1, &f);
	dataset_finish(&d);
	for (i = 0; i < ARRAY_SIZE(boots); i++)
		assert_int_equal(d.boots[i].index, boots[i].want);
	assert_null(dataset_fact_of(&d.boots[0], FACT_BEFORE, "swap"));
	assert_null(dataset_fact_of(&d.boots[1], FACT_AFTER, "swap"));
	assert_null(dataset_fact_of(&d.boots[1], FACT_BEFORE, "swap")->value);
	dataset_done(&d);
	dataset_done(NULL);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_come_back),
		cmocka_unit_test(wrong_metrics_are_refused),
		TEST(batches_become_values),
		TEST(without_overhead_there_is_no_net),
		TEST(histograms_are_merged_in_an_invocation),
		TEST(failures_leave_no_number),
		TEST(keys_are_never_mixed),
		TEST(boots_are_numbered_by_their_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
