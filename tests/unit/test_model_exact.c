/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact mode's data: metrics out of windows, and the records of windows and profiles. */
#include "model/exact.h"

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
#include "model/dataset.h"

/* ---- metrics ---- */

static void metrics_are_as_declared(void **state)
{
	static const char *const names[] = {
		"instructions", "kernel",	"user",	      "rep_iterations",
		"total",	"total_kernel", "total_user", "total_rep_iterations",
		"overhead",	"task",		"hardirq",    "softirq",
		"kworker",	"idle",		"interrupts", "switches",
	};
	CLEANUP_JSON json_t *j = metric_encode_all(exact_metrics);
	struct arena a = ARENA_INIT;
	struct metric *m;
	size_t n, i;

	(void)state;
	assert_int_equal(ARRAY_SIZE(names), EXACT_METRICS);
	assert_int_equal(metric_decode_all(j, &a, &m, &n, NULL), 0);
	assert_int_equal(n, EXACT_METRICS);
	for (i = 0; i < n; i++) {
		bool counted = i == EXACT_REP_ITERATIONS || i == EXACT_TOTAL_REP_ITERATIONS ||
			       i == EXACT_INTERRUPTS || i == EXACT_SWITCHES;

		assert_string_equal(m[i].name, names[i]);
		assert_string_equal(m[i].per, "op");
		assert_int_equal(m[i].unit, counted ? UNIT_COUNT : UNIT_INSTRUCTIONS);
		assert_int_equal(m[i].kind, i < EXACT_OVERHEAD ? METRIC_COUNT : METRIC_EVIDENCE);
		assert_int_equal(m[i].better, METRIC_NEITHER);
		assert_int_equal(m[i].from, METRIC_FROM_REPORTED);
		assert_int_equal(m[i].headline, i == EXACT_INSTRUCTIONS);
		assert_non_null(m[i].doc);
	}
	arena_done(&a);
}

/* ---- values ---- */

/* An overhead, a clean batch, one with a tick and one beside a kworker. */
static struct exact_window four[] = {
	{ true, 10, 40, 0, 0, 0, 0, 0, 40, 3, 0, 0 },
	{ false, 10, 3000, 0, 50, 0, 0, 2550, 500, 7, 0, 2 },
	{ false, 10, 3000, 400, 60, 0, 0, 2960, 500, 7, 1, 4 },
	{ false, 20, 6000, 0, 0, 90, 10, 5100, 1000, 15, 0, 6 },
};

static void values_are_sums_by_operations(void **state)
{
	const struct exact_windows w = { four, ARRAY_SIZE(four), true };
	static const double want[EXACT_METRICS] = {
		305, 255, 50, .7,	  12610.0 / 40, 10610.0 / 40, 2000.0 / 40, 29.0 / 40,
		4,   300, 10, 110.0 / 40, 90.0 / 40,	.25,	      1.0 / 40,	   12.0 / 40,
	};
	double got[EXACT_METRICS];
	size_t i;

	(void)state;
	assert_int_equal(exact_windows_count(&w, false), 3);
	assert_int_equal(exact_windows_count(&w, true), 1);
	assert_int_equal(exact_windows_count(NULL, true), 0);
	assert_int_equal(exact_window_sum(&four[2]), 3460);
	exact_values(&w, got);
	for (i = 0; i < EXACT_METRICS; i++)
		if (got[i] != want[i])
			fail_msg("%s: %.17g, not %.17g", exact_metrics[i].name, got[i], want[i]);
}

static void what_cannot_be_had_is_missing(void **state)
{
	struct exact_windows w = { &four[2], 2, true };
	double got[EXACT_METRICS];
	size_t i;

	(void)state;
	/* No clean window, no overhead. */
	exact_values(&w, got);
	for (i = 0; i < EXACT_METRICS; i++)
		assert_int_equal(isnan(got[i]), i < EXACT_TOTAL || i == EXACT_OVERHEAD);
	/* Nothing at all. */
	w.n = 0;
	exact_values(&w, got);
	for (i = 0; i < EXACT_METRICS; i++)
		assert_true(isnan(got[i]));
	/* Contexts were not told apart: that nothing was seen there is no 0. */
	w = (struct exact_windows){ four, 2, false };
	exact_values(&w, got);
	for (i = 0; i < EXACT_METRICS; i++)
		assert_int_equal(isnan(got[i]), i > EXACT_OVERHEAD);
	assert_true(got[EXACT_INSTRUCTIONS] == 305 && got[EXACT_TOTAL] == 305);
}

/* ---- records ---- */

static struct exact_symbol three[] = {
	{ EXACT_USER_NAME, NULL, 0, { 500, 1500 }, { 0, 0 }, { 0, 0 } },
	{ "pipe_write", NULL, 0xffffffff81000000, { 2550, 8000 }, { 10, 30 }, { 7, 22 } },
	{ "xt_init", "x_tables", UINT64_MAX, { 0, 60 }, { 0, 1 }, { 0, 0 } },
};
static struct exact_edge two[] = { { 1, 1, { 0, 4 } }, { 1, 2, { 0, 1 } } };
static const struct exact_profile whole = { { 10, 30 }, { 1, 2 }, three, 3, two, 2 };

static json_t *through_text(json_t *j)
{
	CLEANUP_FREE char *line = json_line(j);
	json_t *again;

	json_decref(j);
	assert_int_equal(json_parse(line, strlen(line), "record", &again, NULL), 0);
	return again;
}

static void windows_come_back(void **state)
{
	const struct exact_windows w = { four, ARRAY_SIZE(four), true };
	CLEANUP_JSON json_t *j = through_text(exact_windows_encode("17", &w));
	CLEANUP_FREE char *line = json_line(j);
	struct arena a = ARENA_INIT;
	struct exact_windows got;
	struct record r;

	(void)state;
	assert_int_equal(record_decode(line, strlen(line), &r, NULL), 0);
	assert_int_equal(r.kind, RECORD_WINDOW);
	assert_string_equal(r.inv, "17");
	record_done(&r);
	assert_int_equal(exact_windows_decode(j, &a, &got, NULL), 0);
	assert_true(got.contexts);
	assert_int_equal(got.n, w.n);
	for (size_t i = 0; i < w.n; i++) {
		CLEANUP_JSON json_t *x = NULL, *y = NULL;
		const struct exact_windows one = { &w.list[i], 1, true };
		const struct exact_windows other = { &got.list[i], 1, true };

		x = exact_windows_encode("17", &one);
		y = exact_windows_encode("17", &other);
		assert_true(json_equal(x, y));
		assert_int_equal(got.list[i].overhead, w.list[i].overhead);
		assert_int_equal(got.list[i].switches, w.list[i].switches);
		assert_int_equal(got.list[i].kernel, w.list[i].kernel);
	}
	arena_done(&a);
}

static void batches_come_back(void **state)
{
	static struct exact_batch list[] = {
		{ 10, 3000, true, 10, 0 },
		{ 20, UINT64_MAX / 2, false, 0, 0 },
	};
	const struct exact_batches b = { "a part", list, ARRAY_SIZE(list) };
	CLEANUP_JSON json_t *j = through_text(exact_batches_encode("17", &b));
	CLEANUP_FREE char *line = json_line(j);
	struct arena a = ARENA_INIT;
	struct exact_batches got;
	struct record r;

	(void)state;
	/* It is stored by nobody, so that a record does not know it. */
	assert_int_equal(record_decode(line, strlen(line), &r, NULL), 0);
	assert_int_equal(r.kind, RECORD_UNKNOWN);
	assert_string_equal(r.inv, "17");
	assert_string_equal(json_opt_str(r.raw, "k", ""), EXACT_BATCHES);
	record_done(&r);
	assert_int_equal(exact_batches_decode(j, &a, &got, NULL), 0);
	assert_string_equal(got.part, "a part");
	assert_int_equal(got.n, 2);
	for (size_t i = 0; i < got.n; i++) {
		assert_true(got.list[i].ops == list[i].ops && got.list[i].ns == list[i].ns);
		assert_int_equal(got.list[i].has_overhead, list[i].has_overhead);
		assert_true(got.list[i].over_ops == list[i].over_ops);
		assert_true(got.list[i].over_ns == list[i].over_ns);
	}
	arena_done(&a);
}

static void profiles_come_back(void **state)
{
	CLEANUP_JSON json_t *j = through_text(exact_profile_encode("17", &whole));
	CLEANUP_FREE char *line = json_line(j);
	struct arena a = ARENA_INIT;
	struct exact_profile got;
	struct record r;

	(void)state;
	assert_int_equal(record_decode(line, strlen(line), &r, NULL), 0);
	assert_int_equal(r.kind, RECORD_PROFILE);
	record_done(&r);
	assert_int_equal(exact_profile_decode(j, &a, &got, NULL), 0);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.n_edges, 2);
	assert_memory_equal(got.ops, whole.ops, sizeof(got.ops));
	assert_memory_equal(got.windows, whole.windows, sizeof(got.windows));
	assert_memory_equal(got.edges, two, sizeof(two));
	for (size_t i = 0; i < got.n; i++) {
		assert_string_equal(got.symbols[i].name, three[i].name);
		assert_true(str_eq(got.symbols[i].module, three[i].module));
		assert_true(got.symbols[i].addr == three[i].addr);
		assert_memory_equal(got.symbols[i].count, three[i].count, 3 * 2 * 8);
	}
	assert_false(exact_symbol_has_calls(&got.symbols[0]));
	assert_true(exact_symbol_has_calls(&got.symbols[1]));
	arena_done(&a);
}

static void empty_lists_are_taken(void **state)
{
	static const struct exact_windows none;
	static const struct exact_profile nothing;
	CLEANUP_JSON json_t *w = through_text(exact_windows_encode("1", &none));
	CLEANUP_JSON json_t *p = through_text(exact_profile_encode("1", &nothing));
	struct arena a = ARENA_INIT;
	struct exact_windows windows;
	struct exact_profile profile;

	(void)state;
	assert_int_equal(exact_windows_decode(w, &a, &windows, NULL), 0);
	assert_int_equal(exact_profile_decode(p, &a, &profile, NULL), 0);
	assert_int_equal(windows.n + profile.n + profile.n_edges, 0);
	assert_false(windows.contexts);
	arena_done(&a);
}

#define HALF "4611686018427387904" /* 2^62 */

static void wrong_windows_are_refused(void **state)
{
	static const struct {
		const char *json, *why;
	} bad[] = {
		{ "5", "contexts" },
		{ "{\"rows\":[]}", "contexts" },
		{ "{\"contexts\":1,\"rows\":[]}", "contexts" },
		{ "{\"contexts\":true}", "rows" },
		{ "{\"contexts\":true,\"rows\":{}}", "rows" },
		{ "{\"contexts\":true,\"rows\":[7]}", "row 1" },
		{ "{\"contexts\":true,\"rows\":[[0,1,0,0,0,0,0,0,0,0,0]]}", "array of 12" },
		{ "{\"contexts\":true,\"rows\":[[0,1,0,0,0,0,0,0,0,0,0,0,0]]}", "array of 12" },
		{ "{\"contexts\":true,\"rows\":[[0,1,1.5,0,0,0,0,1,0,0,0,0]]}", "element 3" },
		{ "{\"contexts\":true,\"rows\":[[0,1,-1,0,0,0,0,0,0,0,0,0]]}", "element 3" },
		{ "{\"contexts\":true,\"rows\":[[0,1,null,0,0,0,0,0,0,0,0,0]]}", "element 3" },
		{ "{\"contexts\":true,\"rows\":[[true,1,0,0,0,0,0,0,0,0,0,0]]}", "element 1" },
		{ "{\"contexts\":true,\"rows\":[[2,1,0,0,0,0,0,0,0,0,0,0]]}", "0 nor 1" },
		{ "{\"contexts\":true,\"rows\":[[0,0,0,0,0,0,0,0,0,0,0,0]]}", "operations" },
		{ "{\"contexts\":true,\"rows\":[[0,1,2,1,0,0,0,1,1,0,0,0]]}",
		  "3 instructions by context, 2 by address" },
		{ "{\"contexts\":true,\"rows\":[[0,1,0,0,0,0,0,0,0,0,0,0],"
		  "[0,1,2,1,0,0,0,1,1,0,0,0]]}",
		  "row 2" },
		{ "{\"contexts\":true,\"rows\":[[0,1," HALF "," HALF ",0,0,0," HALF "," HALF
		  ",0,0,0]]}",
		  "63 bits" },
		{ "{\"contexts\":true,\"rows\":[[0,1," HALF ",0,0,0,0," HALF ",0,0,0,0],"
		  "[0,1," HALF ",0,0,0,0," HALF ",0,0,0,0]]}",
		  "row 2: its sums do not fit" },
		{ "{\"contexts\":true,\"rows\":[[0,1,0,0,0,0,0,0,0," HALF "," HALF ",0]]}",
		  "63 bits" },
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_JSON json_t *j = NULL;
		struct error e = ERROR_INIT;
		struct exact_windows w;

		assert_int_equal(json_parse(bad[i].json, strlen(bad[i].json), "bad", &j, &e), 0);
		if (exact_windows_decode(j, &a, &w, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i].json);
		if (!strstr(e.text, bad[i].why) || !str_starts(e.text, "window"))
			fail_msg("%s: %s", bad[i].json, e.text);
		assert_int_equal(w.n, 0);
	}
	arena_done(&a);
}

static void wrong_batches_are_refused(void **state)
{
	static const struct {
		const char *json, *why;
	} bad[] = {
		{ "{\"rows\":[[1,2]]}", "part" },
		{ "{\"part\":7,\"rows\":[[1,2]]}", "part" },
		{ "{\"part\":\"\"}", "rows" },
		{ "{\"part\":\"\",\"rows\":{}}", "rows" },
		{ "{\"part\":\"\",\"rows\":[7]}", "row 1" },
		{ "{\"part\":\"\",\"rows\":[[1]]}", "array of 2" },
		{ "{\"part\":\"\",\"rows\":[[1,2,3]]}", "array of 4" },
		{ "{\"part\":\"\",\"rows\":[[1,2,3,4,5]]}", "array of 4" },
		{ "{\"part\":\"\",\"rows\":[[1,2.5]]}", "element 2" },
		{ "{\"part\":\"\",\"rows\":[[1,2],[-1,2]]}", "row 2" },
		{ "{\"part\":\"\",\"rows\":[[0,2]]}", "no operations" },
		{ "{\"part\":\"\",\"rows\":[[1,0]]}", "no time" },
		{ "{\"part\":\"\",\"rows\":[[1,2,0,4]]}", "no operations" },
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_JSON json_t *j = NULL;
		struct error e = ERROR_INIT;
		struct exact_batches b;

		assert_int_equal(json_parse(bad[i].json, strlen(bad[i].json), "bad", &j, &e), 0);
		if (exact_batches_decode(j, &a, &b, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i].json);
		if (!strstr(e.text, bad[i].why) || !str_starts(e.text, "batches"))
			fail_msg("%s: %s", bad[i].json, e.text);
		assert_int_equal(b.n, 0);
	}
	arena_done(&a);
}

#define PROFILE(symbols, edges)                                                                    \
	"{\"ops\":[1,0],\"windows\":[1,0],\"symbols\":[" symbols "],\"edges\":[" edges "]}"
#define SYMBOL "[\"f\",null,\"10\",1,0,1,0,0,0]"
#define OTHER  "[\"g\",null,\"11\",1,0,1,0,0,0]"

static void wrong_profiles_are_refused(void **state)
{
	static const struct {
		const char *json, *why;
	} bad[] = {
		{ "[]", "ops" },
		{ "{\"ops\":[1,0],\"symbols\":[],\"edges\":[]}", "windows" },
		{ "{\"ops\":[1],\"windows\":[1,0],\"symbols\":[],\"edges\":[]}", "ops" },
		{ "{\"ops\":[1,0],\"windows\":[1,0],\"edges\":[]}", "symbols" },
		{ "{\"ops\":[1,0],\"windows\":[1,0],\"symbols\":[]}", "edges" },
		{ PROFILE("3", ""), "symbol 1" },
		{ PROFILE("[\"f\",null,\"10\",1,0,1,0,0]", ""), "array of 9" },
		{ PROFILE("[\"\",null,\"10\",1,0,1,0,0,0]", ""), "name" },
		{ PROFILE("[5,null,\"10\",1,0,1,0,0,0]", ""), "name" },
		{ PROFILE("[\"f\",1,\"10\",1,0,1,0,0,0]", ""), "module" },
		{ PROFILE("[\"f\",null,16,1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"\",1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"010\",1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"0x10\",1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"AB\",1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"12345678123456781\",1,0,1,0,0,0]", ""), "address" },
		{ PROFILE("[\"f\",null,\"10\",1,0,-1,0,0,0]", ""), "element 6" },
		{ PROFILE(SYMBOL "," SYMBOL, ""), "symbol 2: not behind" },
		{ PROFILE(OTHER "," SYMBOL, ""), "symbol 2: not behind" },
		{ PROFILE("[\"f\",null,\"1\"," HALF "," HALF ",0,0,0,0]", ""), "63 bits" },
		{ PROFILE("[\"f\",null,\"1\",0,0," HALF "," HALF ",0,0]", ""), "63 bits" },
		{ PROFILE("[\"f\",null,\"1\",0,0,0,0," HALF "," HALF "]", ""), "63 bits" },
		{ PROFILE(SYMBOL, "[0,0,1]"), "edge 1" },
		{ PROFILE(SYMBOL, "[0,1,1,0]"), "edge 1: there is no symbol" },
		{ PROFILE(SYMBOL, "[1,0,1,0]"), "edge 1: there is no symbol" },
		{ PROFILE(SYMBOL, "[0,4294967296,1,0]"), "edge 1: there is no symbol" },
		{ PROFILE(SYMBOL, "[0,0,1,0],[0,0,1,0]"), "edge 2: not behind" },
		{ PROFILE(SYMBOL "," OTHER, "[1,0,1,0],[0,1,1,0]"), "edge 2: not behind" },
		{ PROFILE(SYMBOL, "[0,0," HALF "," HALF "]"), "63 bits" },
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_JSON json_t *j = NULL;
		struct error e = ERROR_INIT;
		struct exact_profile p;

		assert_int_equal(json_parse(bad[i].json, strlen(bad[i].json), "bad", &j, &e), 0);
		if (exact_profile_decode(j, &a, &p, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i].json);
		if (!strstr(e.text, bad[i].why) || !str_starts(e.text, "profile"))
			fail_msg("%s: %s", bad[i].json, e.text);
		assert_int_equal(p.n + p.n_edges, 0);
	}
	arena_done(&a);
}

/* ---- the dataset ---- */

/* Two invocations of a key differ by their perturbation alone: what is no number is none. */
static void perturbations_are_numbered(void **state)
{
	static const struct {
		const char *class, *name, *value;
		bool has;
		unsigned perturb;
	} cases[] = {
		{ EXACT_CLASS, EXACT_FACT, "3: idle 7.121 ms", true, 3 },
		{ EXACT_CLASS, EXACT_FACT, "0: none", true, 0 },
		{ EXACT_CLASS, EXACT_FACT, "4294967295: x", true, 4294967295u },
		{ EXACT_CLASS, EXACT_FACT, "4294967296: x", false, 0 },
		{ EXACT_CLASS, EXACT_FACT, "99999999999999999999999: x", false, 0 },
		{ EXACT_CLASS, EXACT_FACT, "12", false, 0 },
		{ EXACT_CLASS, EXACT_FACT, "-1: x", false, 0 },
		{ EXACT_CLASS, EXACT_FACT, NULL, false, 0 },
		{ EXACT_CLASS, "swap", "3: idle", false, 0 },
		{ "native", EXACT_FACT, "3: idle", false, 0 },
	};
	struct dataset d = DATASET_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ds_invocation v = { .id = "i", .class = cases[i].class, .state = DS_OK };
		struct ds_fact f = { FACT_BEFORE, FACT_VOLATILE, cases[i].name, cases[i].value,
				     NULL };
		unsigned at = dataset_invocation(&d, &v, exact_metrics);

		dataset_invocation_fact(&d, at, &f);
		assert_int_equal(d.invocations[at].has_perturb, cases[i].has);
		assert_int_equal(d.invocations[at].perturb, cases[i].perturb);
	}
	dataset_done(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_are_as_declared),
		cmocka_unit_test(values_are_sums_by_operations),
		cmocka_unit_test(what_cannot_be_had_is_missing),
		cmocka_unit_test(windows_come_back),
		cmocka_unit_test(batches_come_back),
		cmocka_unit_test(wrong_batches_are_refused),
		cmocka_unit_test(profiles_come_back),
		cmocka_unit_test(empty_lists_are_taken),
		cmocka_unit_test(wrong_windows_are_refused),
		cmocka_unit_test(wrong_profiles_are_refused),
		cmocka_unit_test(perturbations_are_numbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
