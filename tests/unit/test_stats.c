/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mathematics against reference values (tests/vectors.json, made with R 4.2.2) and numbers
 * worked out by hand; and what is outside the domain gives an error, never a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "stats/adjust.h"
#include "stats/dist.h"
#include "stats/fit.h"
#include "stats/looks.h"
#include "stats/sample.h"
#include "stats/spread.h"
#include "stats/verdict.h"

#define MAX 64

static json_t *root;

struct numbers {
	size_t n;
	double v[MAX];
};

static json_t *get_vector(const char *id)
{
	json_t *v;
	size_t i;

	json_array_foreach (json_object_get(root, "vectors"), i, v)
		if (!strcmp(json_string_value(json_array_get(json_object_get(v, "id"), 0)), id))
			return v;
	fail_msg("no vector %s", id);
	return NULL;
}

/* A number or an array (of arrays) of numbers, flat. */
static void flatten(const json_t *j, struct numbers *ret)
{
	const json_t *e;
	size_t i;

	if (json_is_number(j)) {
		assert_true(ret->n < MAX);
		ret->v[ret->n++] = json_number_value(j);
		return;
	}
	assert_true(json_is_array(j));
	json_array_foreach (j, i, e)
		flatten(e, ret);
}

static struct numbers get(const json_t *v, const char *part, const char *name)
{
	struct numbers ret = { .n = 0 };
	const json_t *j = json_object_get(json_object_get(v, part), name);

	if (!j)
		fail_msg("no %s.%s", part, name);
	flatten(j, &ret);
	return ret;
}

static void near(double seen, double expected, double tolerance)
{
	if (!(fabs(seen - expected) <= tolerance * fabs(expected) + 1e-300))
		fail_msg("%.17g is not %.17g (to %g)", seen, expected, tolerance);
}

/* The @i-th number of expected.@name is @seen, to the vector's own tolerance. */
static void expect(const json_t *v, const char *name, size_t i, double seen)
{
	struct numbers e = get(v, "expected", name);

	assert_true(i < e.n);
	near(seen, e.v[i], json_number_value(json_array_get(json_object_get(v, "rel_tol"), 0)));
}

static size_t load_boots(const json_t *v, const char *kernel, struct fit_boot *ret)
{
	struct numbers y = get(v, "input", "log_y"), k = get(v, "input", kernel);
	struct numbers x = get(v, "input", "boot_index");
	size_t i;

	assert_int_equal(y.n, k.n);
	assert_int_equal(y.n, x.n);
	for (i = 0; i < y.n; i++)
		ret[i] = (struct fit_boot){ y.v[i], x.v[i], (unsigned)k.v[i] };
	return y.n;
}

static void check_two_kernels(const char *id)
{
	const json_t *v = get_vector(id);
	struct fit_boot boots[MAX];
	size_t n = load_boots(v, "is_b", boots);
	struct fit fit;
	double lo, hi;

	assert_int_equal(fit_kernels(boots, n, 2, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, 0);
	assert_false(fit.contrasts[1].uneven);
	expect(v, "estimate", 0, fit.contrasts[1].estimate);
	expect(v, "se", 0, fit.contrasts[1].se);
	expect(v, "df", 0, fit.contrasts[1].df);
	expect(v, "p", 0, fit.contrasts[1].p);
	assert_int_equal(fit_interval(&fit.contrasts[1], 0.95, &lo, &hi), 0);
	expect(v, "ci", 0, lo);
	expect(v, "ci", 1, hi);
	assert_int_equal(fit.contrasts[0].err, -EDOM);
	if (json_object_get(json_object_get(v, "expected"), "trend")) {
		expect(v, "t", 0, fit.contrasts[1].t);
		expect(v, "sigma", 0, fit.contrasts[1].sigma);
		expect(v, "sigma", 0, fit.sigma);
		expect(v, "trend", 0, fit.trend);
		expect(v, "trend_p", 0, fit.trend_p);
	}
	fit_done(&fit);
}

static void test_ols_trend_blocks(void **state)
{
	(void)state;
	check_two_kernels("ols_trend_blocks");
}

static void test_ols_trend_missing_boot(void **state)
{
	(void)state;
	check_two_kernels("ols_trend_missing_boot");
}

static void test_ols_trend_3kernels(void **state)
{
	const json_t *v = get_vector("ols_trend_3kernels");
	struct fit_boot boots[MAX];
	size_t n = load_boots(v, "kernel", boots), k;
	struct fit fit;
	double lo, hi;

	(void)state;
	assert_int_equal(fit_kernels(boots, n, 3, NULL, &fit), 0);
	for (k = 1; k < 3; k++) {
		assert_int_equal(fit.contrasts[k].err, 0);
		assert_false(fit.contrasts[k].alone);
		expect(v, "estimate", k - 1, fit.contrasts[k].estimate);
		expect(v, "se", k - 1, fit.contrasts[k].se);
		expect(v, "df", 0, fit.contrasts[k].df);
		expect(v, "p", k - 1, fit.contrasts[k].p);
		assert_int_equal(fit_interval(&fit.contrasts[k], 0.95, &lo, &hi), 0);
		expect(v, k == 1 ? "ci_k1" : "ci_k2", 0, lo);
		expect(v, k == 1 ? "ci_k1" : "ci_k2", 1, hi);
	}
	fit_done(&fit);
}

static void test_p_adjust(void **state)
{
	const json_t *v = get_vector("p_adjust");
	struct numbers p = get(v, "input", "p");
	double holm[MAX], bad[2] = { 0.1, NAN };
	size_t i;

	(void)state;
	assert_int_equal(adjust_holm(p.v, p.n, holm), 0);
	assert_int_equal(adjust_bh(p.v, p.n, p.v), 0); /* in place */
	for (i = 0; i < p.n; i++) {
		expect(v, "holm", i, holm[i]);
		expect(v, "bh", i, p.v[i]);
	}
	assert_int_equal(adjust_holm(bad, 2, holm), -EDOM);
	assert_int_equal(adjust_bh(bad, 2, holm), -EDOM);
	assert_int_equal(adjust_bh(NULL, 0, NULL), 0);
}

static void test_kj_variance_components(void **state)
{
	const json_t *v = get_vector("kj_variance_components");
	struct numbers y = get(v, "input", "y");
	size_t invocations[4] = { 3, 3, 3, 3 }, samples[12], i;
	struct spread_data data = { 4, invocations, samples, y.v };
	const char *s_names[] = { "S1", "S2", "S3" }, *t_names[] = { "T1", "T2", "T3" };
	struct spread spread;
	double repetitions, sum;

	(void)state;
	assert_int_equal(y.n, 60);
	for (i = 0; i < 12; i++)
		samples[i] = 5;
	assert_int_equal(spread_components(&data, &spread), 0);
	expect(v, "grand_mean", 0, spread.mean);
	for (i = 0; i < SPREAD_LEVELS; i++) {
		assert_true(spread.part[i].known);
		expect(v, s_names[i], 0, spread.part[i].s2);
		expect(v, t_names[i], 0, spread.part[i].raw);
		expect(v, t_names[i], 0, spread.part[i].used);
		near(spread.part[i].cv, sqrt(spread.part[i].raw) / spread.mean, 1e-12);
	}
	sum = spread.part[0].used + spread.part[1].used + spread.part[2].used;
	expect(v, "icc_boot", 0, spread.part[SPREAD_BOOT].used / sum);
	assert_int_equal(spread_repetitions(2, 0.1, spread.part[SPREAD_INVOCATION].used,
					    spread.part[SPREAD_SAMPLE].used, &repetitions),
			 0);
	expect(v, "r1_opt_raw", 0, repetitions);
	expect(v, "r1_opt", 0, ceil(repetitions));
	assert_int_equal(spread_repetitions(60, 2, spread.part[SPREAD_BOOT].used,
					    spread.part[SPREAD_INVOCATION].used, &repetitions),
			 0);
	expect(v, "r2_opt_raw", 0, repetitions);
	expect(v, "r2_opt", 0, ceil(repetitions));
	assert_int_equal(spread_repetitions(60, 2, 0, 1, &repetitions), -EDOM);
}

static void test_kj_negative_component(void **state)
{
	const json_t *v = get_vector("kj_negative_component");
	struct numbers y = get(v, "input", "y");
	size_t invocations[3] = { 1, 1, 1 }, samples[3] = { 2, 2, 2 };
	struct spread_data data = { 3, invocations, samples, y.v };
	struct spread spread;

	(void)state;
	assert_int_equal(spread_components(&data, &spread), 0);
	expect(v, "S1", 0, spread.part[SPREAD_SAMPLE].s2);
	expect(v, "S2", 0, spread.part[SPREAD_BOOT].s2);
	expect(v, "T2_raw", 0, spread.part[SPREAD_BOOT].raw);
	expect(v, "T2_used", 0, spread.part[SPREAD_BOOT].used);
	assert_false(spread.part[SPREAD_INVOCATION].known);
}

static void test_spread_unbalanced(void **state)
{
	/* By hand: mean squares 65/3 and 10/3, k3 = 11/6, so the boots' component is 10. */
	const double y[] = { 1, 3, 2, 4, 6, 10 };
	size_t one[] = { 1, 1, 1 }, counts[] = { 2, 3, 1 }, all_one[] = { 1, 1, 1, 1, 1, 1 };
	struct spread_data data = { 3, one, counts, y };
	double bad[] = { 1, NAN };
	struct spread spread;

	(void)state;
	assert_int_equal(spread_components(&data, &spread), 0);
	near(spread.mean, 16.0 / 3, 1e-12);
	near(spread.part[SPREAD_SAMPLE].raw, 10.0 / 3, 1e-12);
	near(spread.part[SPREAD_BOOT].raw, 10, 1e-12);
	assert_false(spread.part[SPREAD_INVOCATION].known);
	/* The same numbers as invocations of one sample: the lower level moves up. */
	data = (struct spread_data){ 3, counts, all_one, y };
	assert_int_equal(spread_components(&data, &spread), 0);
	assert_false(spread.part[SPREAD_SAMPLE].known);
	near(spread.part[SPREAD_INVOCATION].raw, 10.0 / 3, 1e-12);
	near(spread.part[SPREAD_BOOT].raw, 10, 1e-12);
	/* One number has no spread; nor has what is no number. */
	data = (struct spread_data){ 1, one, all_one, y };
	assert_int_equal(spread_components(&data, &spread), -EDOM);
	data = (struct spread_data){ 2, one, all_one, bad };
	assert_int_equal(spread_components(&data, &spread), -EDOM);
}

static void test_t_distribution(void **state)
{
	const json_t *v = get_vector("t_distribution");
	struct numbers t = get(v, "input", "t"), df = get(v, "input", "df");
	struct numbers q = get(v, "input", "q"), qdf = get(v, "input", "qdf");
	const double dfs[] = { 0.5, 0.7, 1, 1.5, 2, 7.3, 1e5 };
	const double alphas[] = { 0.9, 0.8, 0.5, 0.05, 0.0025, 1e-6 };
	double x = 7, p;
	size_t i, j;

	(void)state;
	for (i = 0; i < t.n; i++) {
		assert_int_equal(dist_t_p(-t.v[i], df.v[i], &x), 0);
		expect(v, "p_two_sided", i, x);
	}
	for (i = 0; i < q.n; i++) {
		assert_int_equal(dist_t_quantile(q.v[i], qdf.v[i], &x), 0);
		expect(v, "quantile", i, x);
		assert_int_equal(dist_t_quantile(1 - q.v[i], qdf.v[i], &x), 0);
		expect(v, "quantile", i, -x);
	}
	for (i = 0; i < sizeof(dfs) / sizeof(*dfs); i++)
		for (j = 0; j < sizeof(alphas) / sizeof(*alphas); j++) {
			assert_int_equal(dist_t_critical(alphas[j], dfs[i], &x), 0);
			assert_int_equal(dist_t_p(x, dfs[i], &p), 0);
			near(p, alphas[j], 1e-9);
		}
	x = 7;
	assert_int_equal(dist_t_p(NAN, 4, &x), -EDOM);
	assert_int_equal(dist_t_p(1, 0, &x), -EDOM);
	assert_int_equal(dist_t_quantile(1, 4, &x), -EDOM);
	assert_int_equal(dist_t_critical(0, 4, &x), -EDOM);
	assert_int_equal(dist_f_tail(INFINITY, 1, 4, &x), -EDOM);
	assert_true(x == 7);
}

static void test_fisher(void **state)
{
	double p;

	(void)state;
	assert_int_equal(dist_fisher(3, 1, 1, 3, &p), 0);
	near(p, 34.0 / 70, 1e-9);
	assert_int_equal(dist_fisher(0, 10, 5, 5, &p), 0);
	near(p, 2 * 252.0 / 15504, 1e-9);
	assert_int_equal(dist_fisher(1, 9, 0, 4, &p), 0); /* tables of 10/14 and 4/14: both count */
	near(p, 1, 1e-9);
	assert_int_equal(dist_fisher(0, 5, 0, 5, &p), 0);
	near(p, 1, 1e-12);
	assert_int_equal(dist_fisher(0, 0, 0, 0, &p), 0);
	near(p, 1, 1e-12);
}

static void test_quantile_type7(void **state)
{
	const json_t *v = get_vector("quantile_type7");
	struct numbers x = get(v, "input", "x"), f = get(v, "input", "f");
	double q, bad[] = { 1, NAN };
	size_t i;

	(void)state;
	for (i = 0; i < f.n; i++) {
		assert_int_equal(sample_quantile(x.v, x.n, f.v[i], &q), 0);
		expect(v, "q", i, q);
	}
	assert_int_equal(sample_quantile(bad, 2, 0.5, &q), -EDOM);
	assert_int_equal(sample_quantile(bad, 0, 0.5, &q), -EDOM);
	assert_int_equal(sample_quantile(bad, 1, 1.5, &q), -EDOM);
	assert_int_equal(sample_sd(bad, 1, &q), -EDOM);
	assert_int_equal(sample_mean(bad, 2, &q), -EDOM);
	assert_int_equal(sample_sd((const double[]){ 1, 3 }, 2, &q), 0);
	near(q, sqrt(2), 1e-12);
}

static void test_brown_forsythe(void **state)
{
	const json_t *v = get_vector("brown_forsythe");
	struct numbers a = get(v, "input", "a"), b = get(v, "input", "b");
	double f, p;
	size_t i;

	(void)state;
	for (i = 0; i < a.n; i++)
		a.v[i] = log(a.v[i]);
	for (i = 0; i < b.n; i++)
		b.v[i] = log(b.v[i]);
	assert_int_equal(spread_brown_forsythe(a.v, a.n, b.v, b.n, &f, &p), 0);
	expect(v, "F", 0, f);
	expect(v, "p", 0, p);
	assert_int_equal(spread_brown_forsythe(a.v, 2, b.v, 2, &f, &p), -EDOM);
	assert_int_equal(spread_brown_forsythe(a.v, 1, b.v, 4, &f, &p), -EDOM);
}

static void test_looks_alpha_split(void **state)
{
	const json_t *v = get_vector("looks_alpha_split");
	struct numbers p = get(v, "input", "p");
	double x, level, bad = NAN;
	size_t i;

	(void)state;
	assert_int_equal(looks_p_seq(p.v, p.n, &x), 0);
	expect(v, "p_seq", 0, x);
	for (i = 0; i < LOOKS_COUNT; i++) {
		near(looks_schedule[i].weight, get(v, "input", "w").v[i], 0);
		assert_int_equal(looks_level(looks_schedule[i].weight, &level), 0);
		near(level, 1 - get(v, "expected", "alpha_k").v[i], 1e-12);
		assert_int_equal(dist_t_critical(1 - level, 2.0 * looks_schedule[i].blocks - 3, &x),
				 0);
		expect(v, "tcrit_df_2n_minus_3", i, x);
	}
	assert_int_equal(looks_p_seq(&bad, 1, &x), -EDOM);
	assert_int_equal(looks_p_seq(p.v, 0, &x), -EDOM);
}

static void test_needed_boots(void **state)
{
	const json_t *v = get_vector("needed_boots");
	struct numbers sd = get(v, "input", "sd"), h = get(v, "input", "h");
	unsigned n, wide;
	double half;
	size_t i;

	(void)state;
	for (i = 0; i < sd.n; i++) {
		assert_int_equal(verdict_boots_needed(sd.v[i], h.v[i], 0.95, 0, 100, &n), 0);
		expect(v, "n", i, n);
	}
	/* 71 boots are not within the budget; more than there are, whatever the formula says. */
	assert_int_equal(verdict_boots_needed(0.03, 0.01, 0.95, 4, VERDICT_BUDGET, &n), -ERANGE);
	assert_int_equal(verdict_boots_needed(0.01, 0.01, 0.95, 12, VERDICT_BUDGET, &n), 0);
	assert_int_equal(n, 13);
	assert_int_equal(verdict_boots_needed(0.01, 0.01, 0.9825, 4, VERDICT_BUDGET, &wide), 0);
	assert_true(wide > 10);
	assert_int_equal(verdict_boots_needed(NAN, 0.01, 0.95, 4, VERDICT_BUDGET, &n), -EDOM);
	assert_int_equal(verdict_boots_needed(0.01, 0, 0.95, 4, VERDICT_BUDGET, &n), -EDOM);
	assert_int_equal(verdict_half_width(-0.003, 0.02, &half), 0);
	near(half, 0.017, 1e-12);
	assert_int_equal(verdict_half_width(-0.03, 0.02, &half), 0);
	near(half, 0.03, 1e-12);
	assert_int_equal(verdict_half_width(INFINITY, 0.02, &half), -EDOM);
}

static int load(void **state)
{
	json_error_t error;

	(void)state;
	root = json_load_file(TEST_SOURCE_DIR "/vectors.json", 0, &error);
	if (!root)
		fprintf(stderr, "%s:%d: %s\n", error.source, error.line, error.text);
	return root ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	json_decref(root);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ols_trend_blocks),
		cmocka_unit_test(test_ols_trend_missing_boot),
		cmocka_unit_test(test_ols_trend_3kernels),
		cmocka_unit_test(test_p_adjust),
		cmocka_unit_test(test_kj_variance_components),
		cmocka_unit_test(test_kj_negative_component),
		cmocka_unit_test(test_spread_unbalanced),
		cmocka_unit_test(test_t_distribution),
		cmocka_unit_test(test_fisher),
		cmocka_unit_test(test_quantile_type7),
		cmocka_unit_test(test_brown_forsythe),
		cmocka_unit_test(test_looks_alpha_split),
		cmocka_unit_test(test_needed_boots),
	};

	return cmocka_run_group_tests_name("stats", tests, load, unload);
}
