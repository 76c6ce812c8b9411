/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mathematics on examples worked out by hand, and what must hold for any data: exchanging the
 * kernels mirrors the verdict; units, a steady drift and the order of the list do not matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "stats/fit.h"
#include "stats/sample.h"
#include "stats/verdict.h"

static void near(double seen, double expected, double tolerance)
{
	if (!(fabs(seen - expected) <= tolerance * fabs(expected) + 1e-300))
		fail_msg("%.17g is not %.17g (to %g)", seen, expected, tolerance);
}

/*
 * Two kernels, order ABBA ABBA, residuals (+ - - +) of size a and b: they are orthogonal to the
 * index, so every number can be written down.
 */
static void make_abba(double a, double b, struct fit_boot boots[8])
{
	const unsigned order[] = { 0, 1, 1, 0, 0, 1, 1, 0 };
	const double sign_a[] = { 1, 0, 0, -1, -1, 0, 0, 1 },
		     sign_b[] = { 0, 1, -1, 0, 0, -1, 1, 0 };
	unsigned i;

	for (i = 0; i < 8; i++)
		boots[i] = (struct fit_boot){
			3 + 0.05 * order[i] + 0.001 * i + a * sign_a[i] + b * sign_b[i], i, order[i]
		};
}

static void test_uneven(void **state)
{
	struct fit_boot boots[8];
	struct fit fit;

	(void)state;
	make_abba(0.01, 0.05, boots);
	assert_int_equal(fit_kernels(boots, 8, 2, NULL, &fit), 0);
	assert_true(fit.contrasts[1].uneven);
	near(fit.contrasts[1].estimate, 0.05, 1e-9);
	near(fit.contrasts[1].se, sqrt(4 * (0.0001 + 0.0025) / 5 / 2), 1e-9);
	near(fit.contrasts[1].df, 2.5 / (626.0 / 676), 1e-9);
	near(fit.trend, 0.001, 1e-9);
	near(fit.df, 5, 0);
	fit_done(&fit);
	make_abba(0.0199, 0.01, boots);
	assert_int_equal(fit_kernels(boots, 8, 2, NULL, &fit), 0);
	assert_false(fit.contrasts[1].uneven);
	near(fit.contrasts[1].df, 5, 0);
	fit_done(&fit);
	/* One boot fewer on B's side: never fewer than 3 - 2 nor more than 7 - 3. */
	make_abba(0.01, 0.05, boots);
	assert_int_equal(fit_kernels(boots, 7, 2, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].n_base, 3);
	assert_int_equal(fit.contrasts[1].n_new, 4);
	assert_true(fit.contrasts[1].uneven);
	assert_true(fit.contrasts[1].df > 1 && fit.contrasts[1].df < 4);
	fit_done(&fit);
}

static void test_floor(void **state)
{
	const double resolution = 1, floor = resolution * resolution / (16.0 * 16.0) / 12;
	const double floors[] = { floor, floor }, bad[] = { 0, -1 };
	struct fit_boot boots[8];
	struct fit fit;
	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++)
		boots[i] = (struct fit_boot){ log(16) + (i % 4 < 2 ? 0 : log1p(0.001)), i, i % 2 };
	/* A clock of one tick in 16: equal values are no certainty. */
	for (i = 0; i < 8; i++)
		boots[i].y = log(16);
	assert_int_equal(fit_kernels(boots, 8, 2, floors, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, 0);
	assert_true(fit.contrasts[1].floored);
	near(fit.contrasts[1].sigma, sqrt(floor), 1e-12);
	near(fit.contrasts[1].p, 1, 1e-9);
	assert_int_equal(fit.trend_err, 0);
	fit_done(&fit);
	/* Without a floor there is no variance and no number. */
	assert_int_equal(fit_kernels(boots, 8, 2, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, -EDOM);
	assert_int_equal(fit.trend_err, -EDOM);
	assert_int_equal(fit_interval(&fit.contrasts[1], 0.95, &boots[0].y, &boots[1].y), -EDOM);
	fit_done(&fit);
	/* A perfect line leaves rounding, not variance. */
	make_abba(0, 0, boots);
	assert_int_equal(fit_kernels(boots, 8, 2, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, -EDOM);
	fit_done(&fit);
	/* A floor below the variance seen changes nothing. */
	make_abba(0.01, 0.01, boots);
	assert_int_equal(fit_kernels(boots, 8, 2, (const double[]){ 1e-9, 1e-9 }, &fit), 0);
	assert_false(fit.contrasts[1].floored);
	near(fit.contrasts[1].sigma, sqrt(8e-4 / 5), 1e-9);
	fit_done(&fit);
	assert_int_equal(fit_kernels(boots, 8, 2, bad, &fit), -EDOM);
}

static void test_singular(void **state)
{
	struct fit_boot boots[8] = { { 1, 0, 0 }, { 2, 1, 1 }, { 3, 2, 0 }, { 4.5, 3, 1 } };
	struct fit fit;

	(void)state;
	/* One boot a side; two and one; none. */
	assert_int_equal(fit_kernels(boots, 2, 2, NULL, &fit), -EDOM);
	assert_null(fit.contrasts);
	assert_int_equal(fit_kernels(boots, 3, 2, NULL, &fit), -EDOM);
	assert_int_equal(fit_kernels(boots, 0, 2, NULL, &fit), -EDOM);
	assert_int_equal(fit_kernels(boots, 4, 1, NULL, &fit), -EINVAL);
	assert_int_equal(fit_kernels(boots, 4, 2, NULL, &fit), 0);
	near(fit.contrasts[1].df, 1, 0);
	fit_done(&fit);
	/* All at one place in the order: no trend. */
	boots[1].index = boots[2].index = boots[3].index = 0;
	assert_int_equal(fit_kernels(boots, 4, 2, NULL, &fit), -EDOM);
	boots[1].y = NAN;
	assert_int_equal(fit_kernels(boots, 4, 2, NULL, &fit), -EDOM);
	/* One boot of B, many of A: the drift is known, the contrast is not. */
	make_abba(0.01, 0.01, boots);
	boots[2].kernel = boots[5].kernel = boots[6].kernel = 0;
	assert_int_equal(fit_kernels(boots, 8, 2, NULL, &fit), 0);
	assert_int_equal(fit.trend_err, 0);
	assert_int_equal(fit.contrasts[1].err, -EDOM);
	assert_int_equal(fit.contrasts[1].n_new, 1);
	fit_done(&fit);
	/* A kernel none of whose boots came to anything. */
	make_abba(0.01, 0.01, boots);
	assert_int_equal(fit_kernels(boots, 8, 3, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, 0);
	near(fit.contrasts[1].df, 5, 0);
	assert_int_equal(fit.contrasts[2].err, -EDOM);
	fit_done(&fit);
	/* One kernel: only the drift. */
	assert_int_equal(fit_kernels(&boots[3], 2, 1, NULL, &fit), -EDOM);
	fit_done(NULL);
}

/* A noisy third kernel must not lend its variance to the other two. */
static void test_alone(void **state)
{
	struct fit_boot boots[12], pair[8];
	const double noise[] = { 0.5, -0.5, -0.5, 0.5 };
	struct fit three, two;
	unsigned i;

	(void)state;
	make_abba(0.01, 0.012, pair);
	memcpy(boots, pair, sizeof(pair));
	for (i = 0; i < 4; i++)
		boots[8 + i] = (struct fit_boot){ 3 + noise[i], 8 + i, 2 };
	assert_int_equal(fit_kernels(boots, 12, 3, NULL, &three), 0);
	assert_int_equal(fit_kernels(pair, 8, 2, NULL, &two), 0);
	assert_true(three.contrasts[1].alone);
	near(three.contrasts[1].estimate, two.contrasts[1].estimate, 1e-12);
	near(three.contrasts[1].se, two.contrasts[1].se, 1e-12);
	near(three.contrasts[1].df, 5, 0);
	assert_true(three.contrasts[2].alone);
	assert_true(three.contrasts[2].uneven);
	fit_done(&three);
	fit_done(&two);
}

static void test_verdict_rules(void **state)
{
	static const struct {
		double lo, hi, p;
		enum verdict less, more;
		bool beyond, small, held;
	} cases[] = {
		{ 0.03, 0.05, 0.01, VERDICT_WORSE, VERDICT_BETTER, true, false, false },
		{ -0.05, -0.03, 0.01, VERDICT_BETTER, VERDICT_WORSE, true, false, false },
		{ 0.01, 0.05, 0.01, VERDICT_WORSE, VERDICT_BETTER, false, false, false },
		{ -0.01, 0.01, 0.9, VERDICT_NO_CHANGE, VERDICT_NO_CHANGE, false, false, false },
		{ 0.001, 0.01, 0.01, VERDICT_NO_CHANGE, VERDICT_NO_CHANGE, false, true, false },
		{ -0.01, 0.03, 0.2, VERDICT_CANT_TELL, VERDICT_CANT_TELL, false, false, false },
		{ -0.01, 0.02, 0.2, VERDICT_CANT_TELL, VERDICT_CANT_TELL, false, false, false },
		{ 0.03, 0.05, 0.051, VERDICT_CANT_TELL, VERDICT_CANT_TELL, false, false, true },
		{ 0.03, 0.05, 0.05, VERDICT_WORSE, VERDICT_BETTER, true, false, false },
		{ 0, 0.05, 0.05, VERDICT_CANT_TELL, VERDICT_CANT_TELL, false, false, false },
		{ 0.02, 0.05, 0.01, VERDICT_WORSE, VERDICT_BETTER, false, false, false },
	};
	static const struct verdict_input bad[] = {
		{ NAN, 0.05, 0.02, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.03, NAN, 0.02, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.03, 0.05, NAN, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.03, 0.05, 0.02, NAN, VERDICT_LESS_IS_BETTER },
		{ 0.03, INFINITY, 0.02, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.05, 0.03, 0.02, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.03, 0.05, -0.02, 0.01, VERDICT_LESS_IS_BETTER },
		{ 0.03, 0.05, 0.02, 1.01, VERDICT_LESS_IS_BETTER },
	};
	struct verdict_input in = { .margin = 0.02 };
	struct verdict_result out;
	double m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		in.lo = cases[i].lo;
		in.hi = cases[i].hi;
		in.p_adjusted = cases[i].p;
		in.sense = VERDICT_LESS_IS_BETTER;
		assert_int_equal(verdict_judge(&in, &out), 0);
		assert_int_equal(out.verdict, cases[i].less);
		assert_int_equal(out.beyond_margin, cases[i].beyond);
		assert_int_equal(out.small_real_shift, cases[i].small);
		assert_int_equal(out.held_back, cases[i].held);
		in.sense = VERDICT_MORE_IS_BETTER;
		assert_int_equal(verdict_judge(&in, &out), 0);
		assert_int_equal(out.verdict, cases[i].more);
		in.sense = VERDICT_SENSE_UNKNOWN;
		assert_int_equal(verdict_judge(&in, &out), 0);
		assert_int_equal(out.verdict, VERDICT_NONE);
	}
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(verdict_judge(&bad[i], &out), -EDOM);
		assert_int_equal(out.verdict, VERDICT_NONE);
		assert_false(out.beyond_margin || out.small_real_shift || out.held_back);
	}
	assert_int_equal(verdict_margin(0.02, &m), 0);
	near(m, log(1.02), 1e-12);
	assert_int_equal(verdict_margin(-0.02, &m), -EDOM);
	assert_int_equal(verdict_margin(NAN, &m), -EDOM);
	assert_string_equal(verdict_name(VERDICT_CANT_TELL), "can't tell");
}

struct outcome {
	struct fit_contrast contrast;
	struct verdict_result verdict;
};

static struct outcome judge(const struct fit_boot *boots, size_t n, enum verdict_sense sense)
{
	struct verdict_input in = { .sense = sense };
	struct outcome ret;
	struct fit fit;

	assert_int_equal(fit_kernels(boots, n, 2, NULL, &fit), 0);
	assert_int_equal(fit.contrasts[1].err, 0);
	ret.contrast = fit.contrasts[1];
	assert_int_equal(fit_interval(&ret.contrast, 0.95, &in.lo, &in.hi), 0);
	assert_int_equal(verdict_margin(0.02, &in.margin), 0);
	in.p_adjusted = ret.contrast.p;
	assert_int_equal(verdict_judge(&in, &ret.verdict), 0);
	fit_done(&fit);
	return ret;
}

static enum verdict mirror(enum verdict v)
{
	if (v == VERDICT_BETTER)
		return VERDICT_WORSE;
	return v == VERDICT_WORSE ? VERDICT_BETTER : v;
}

/* For random experiments, some with a boot missing: what must not matter, does not. */
static void test_invariances(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct fit_boot boots[20], other[20];
	size_t seen[VERDICT_CANT_TELL + 1] = { 0 };
	int round;

	(void)state;
	gsl_rng_set(rng, 20240501);
	for (round = 0; round < 2000; round++) {
		double shift = 0.01 * (double)(round % 7 - 3), sd = round % 3 ? 0.004 : 0.02;
		size_t blocks = 3 + (size_t)round % 8, n = 0, i;
		struct outcome a, b;

		for (i = 0; i < 2 * blocks; i++) {
			unsigned first = i % 2 ? 1 - boots[n - 1].kernel
					       : (unsigned)gsl_rng_uniform_int(rng, 2);
			double noise =
				gsl_ran_gaussian(rng, sd * (first && round % 5 == 0 ? 4 : 1));

			boots[n++] =
				(struct fit_boot){ 4 + shift * first + noise, (double)i, first };
		}
		if (round % 4 == 0)
			boots[0] = boots[--n];
		a = judge(boots, n, VERDICT_LESS_IS_BETTER);
		seen[a.verdict.verdict]++;
		/* Base and new exchanged. */
		memcpy(other, boots, sizeof(other));
		for (i = 0; i < n; i++)
			other[i].kernel = 1 - boots[i].kernel;
		b = judge(other, n, VERDICT_LESS_IS_BETTER);
		assert_int_equal(b.verdict.verdict, mirror(a.verdict.verdict));
		assert_int_equal(b.verdict.beyond_margin, a.verdict.beyond_margin);
		assert_int_equal(b.verdict.small_real_shift, a.verdict.small_real_shift);
		near(b.contrast.estimate, -a.contrast.estimate, 1e-9);
		near(b.contrast.p, a.contrast.p, 1e-9);
		near(b.contrast.df, a.contrast.df, 1e-9);
		/* The other direction of better. */
		b = judge(boots, n, VERDICT_MORE_IS_BETTER);
		assert_int_equal(b.verdict.verdict, mirror(a.verdict.verdict));
		/* Another unit, a steady drift, and boots listed in another order. */
		for (i = 0; i < n; i++) {
			other[i] = boots[n - 1 - i];
			other[i].y += log(1e6) + 0.003 * other[i].index;
		}
		b = judge(other, n, VERDICT_LESS_IS_BETTER);
		assert_int_equal(b.verdict.verdict, a.verdict.verdict);
		near(b.contrast.estimate, a.contrast.estimate, 1e-8);
		near(b.contrast.se, a.contrast.se, 1e-8);
		/* A linear scale: estimate and se follow, t and p stay. */
		for (i = 0; i < n; i++) {
			other[i] = boots[i];
			other[i].y *= 1000;
		}
		b = judge(other, n, VERDICT_LESS_IS_BETTER);
		near(b.contrast.estimate, 1000 * a.contrast.estimate, 1e-8);
		near(b.contrast.p, a.contrast.p, 1e-7);
	}
	assert_true(seen[VERDICT_BETTER] > 50 && seen[VERDICT_WORSE] > 50);
	assert_true(seen[VERDICT_NO_CHANGE] > 50 && seen[VERDICT_CANT_TELL] > 50);
	gsl_rng_free(rng);
}

static void test_modes(void **state)
{
	const double dbench[] = { 385, 386, 780, 779, 384, 781 };
	const double edges[] = { 1, 1, 1, 1, 1, 9 }, few[] = { 1, 1, 9, 9 };
	const double ticks[] = { 16, 17, 16, 17, 17, 16, 16, 17 };
	double x[100], bad = NAN;
	struct sample_modes modes;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		x[i] = i % 10 ? 750 : 11;
	assert_int_equal(sample_modes(x, 100, 0, &modes), 0);
	assert_true(modes.bimodal);
	assert_int_equal(modes.n_lo, 10);
	assert_int_equal(modes.n_hi, 90);
	near(modes.mean_lo, 11, 1e-12);
	near(modes.mean_hi, 750, 1e-12);
	assert_int_equal(sample_modes(dbench, 6, 0, &modes), 0);
	assert_true(modes.bimodal);
	assert_int_equal(modes.n_lo, 3);
	near(modes.mean_hi, 780, 1e-12);
	for (i = 0; i < 21; i++)
		x[i] = i == 7 ? 0.501 : 0.5;
	assert_int_equal(sample_modes(x, 21, 0, &modes), 0);
	assert_false(modes.bimodal);
	assert_int_equal(sample_modes(x, 21, 1e-9, &modes), 0);
	assert_false(modes.bimodal);
	/* One odd value is an outlier, four values are too few, two neighbouring ticks one mode. */
	assert_int_equal(sample_modes(edges, 6, 0, &modes), 0);
	assert_false(modes.bimodal);
	assert_int_equal(sample_modes(few, 4, 0, &modes), 0);
	assert_false(modes.bimodal);
	assert_int_equal(sample_modes(ticks, 8, 1, &modes), 0);
	assert_false(modes.bimodal);
	assert_int_equal(sample_modes(ticks, 8, 0.01, &modes), 0);
	assert_true(modes.bimodal);
	assert_int_equal(modes.n_lo, 4);
	assert_int_equal(sample_modes(&bad, 1, 0, &modes), -EDOM);
	assert_int_equal(sample_modes(ticks, 8, -1, &modes), -EDOM);
}

static void test_outliers(void **state)
{
	const double spike[] = { 10.1, 9.9, 10, 10.2, 9.8, 14, 10.05, 9.95 };
	const double ticks[] = { 3, 3, 3, 3, 4, 5 };
	bool out[32];
	double x[21];
	size_t count, i;

	(void)state;
	for (i = 0; i < 21; i++)
		x[i] = i == 20 ? 0.501 : 0.5;
	assert_int_equal(sample_outliers(x, 21, 0, out, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(sample_outliers(x, 21, 0.001, out, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(sample_outliers(x, 21, 0.0001, out, &count), 0);
	assert_int_equal(count, 1);
	assert_true(out[20]);
	assert_int_equal(sample_outliers(spike, 8, 0, out, &count), 0);
	assert_int_equal(count, 1);
	assert_true(out[5]);
	assert_int_equal(sample_outliers(ticks, 6, 1, out, &count), 0);
	assert_int_equal(count, 1);
	assert_true(out[5]);
	assert_int_equal(sample_outliers(ticks, 2, 1, out, &count), -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uneven),	      cmocka_unit_test(test_floor),
		cmocka_unit_test(test_singular),      cmocka_unit_test(test_alone),
		cmocka_unit_test(test_verdict_rules), cmocka_unit_test(test_invariances),
		cmocka_unit_test(test_modes),	      cmocka_unit_test(test_outliers),
	};

	return cmocka_run_group_tests_name("stats rules", tests, NULL, NULL);
}
