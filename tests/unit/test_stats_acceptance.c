/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the whole procedure promises, on simulated experiments with a fixed seed: two identical
 * kernels are called different in at most 5 % of experiments, and a real shift is found as often
 * as theory says.  Tolerances are four binomial standard deviations.
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

#include "stats/dist.h"
#include "stats/fit.h"
#include "stats/looks.h"
#include "stats/sample.h"
#include "stats/spread.h"
#include "stats/verdict.h"

#define ROUNDS	    5000
#define MAX_KERNELS 5

enum drift { DRIFT_NONE, DRIFT_LINEAR, DRIFT_WALK, DRIFT_KINDS };

struct model {
	unsigned kernels, blocks;
	double shift;		/* of kernel 1, log scale */
	double sd[MAX_KERNELS]; /* of a boot */
	enum drift drift;	/* 3 % over the experiment */
	unsigned drop;		/* so many of the base's boots fail */
};

static gsl_rng *rng;

static size_t simulate(const struct model *m, struct fit_boot *ret)
{
	unsigned order[MAX_KERNELS], block, i, dropped = 0;
	double boots = m->kernels * m->blocks, walk = 0, index = 0;
	size_t n = 0;

	for (i = 0; i < m->kernels; i++)
		order[i] = i;
	for (block = 0; block < m->blocks; block++) {
		gsl_ran_shuffle(rng, order, m->kernels, sizeof(*order));
		for (i = 0; i < m->kernels; i++, index++) {
			unsigned k = order[i];
			double y = 4 + gsl_ran_gaussian(rng, m->sd[k]);

			walk += gsl_ran_gaussian(rng, 0.03 / sqrt(boots));
			if (m->drift == DRIFT_LINEAR)
				y += 0.03 * index / boots;
			else if (m->drift == DRIFT_WALK)
				y += walk;
			if (k == 1)
				y += m->shift;
			if (k == 0 && dropped < m->drop)
				dropped++;
			else
				ret[n++] = (struct fit_boot){ y, index, k };
		}
	}
	return n;
}

struct rates {
	double plain;	/* p <= .05 with 2n - 3 degrees of freedom, uneven or not */
	double differs; /* p <= .05 */
	double changed; /* better or worse */
	double same;	/* no change */
	double right;	/* better or worse, and the direction is that of the shift */
};

static void judge(const struct fit_contrast *c, double level, double p, struct verdict_result *ret)
{
	struct verdict_input in = { .p_adjusted = p, .sense = VERDICT_LESS_IS_BETTER };

	assert_int_equal(c->err, 0);
	assert_int_equal(fit_interval(c, level, &in.lo, &in.hi), 0);
	assert_int_equal(verdict_margin(0.02, &in.margin), 0);
	assert_int_equal(verdict_judge(&in, ret), 0);
}

static struct rates measure(const struct model *m, int rounds)
{
	struct fit_boot boots[MAX_KERNELS * 20];
	struct rates ret = { 0 };
	int i;

	for (i = 0; i < rounds; i++) {
		struct verdict_result v;
		struct fit fit;
		double plain;

		assert_int_equal(fit_kernels(boots, simulate(m, boots), m->kernels, NULL, &fit), 0);
		assert_int_equal(dist_t_p(fit.contrasts[1].t, fit.df, &plain), 0);
		ret.plain += plain <= 0.05;
		judge(&fit.contrasts[1], 0.95, fit.contrasts[1].p, &v);
		ret.differs += fit.contrasts[1].p <= 0.05;
		ret.changed += v.verdict == VERDICT_BETTER || v.verdict == VERDICT_WORSE;
		ret.same += v.verdict == VERDICT_NO_CHANGE;
		ret.right += v.verdict == (m->shift > 0 ? VERDICT_WORSE : VERDICT_BETTER);
		fit_done(&fit);
	}
	ret.plain /= rounds;
	ret.differs /= rounds;
	ret.changed /= rounds;
	ret.same /= rounds;
	ret.right /= rounds;
	return ret;
}

static double tolerance(double rate, int rounds)
{
	return 4 * sqrt(rate * (1 - rate) / rounds);
}

static void at_most(double seen, double rate, int rounds, const char *what)
{
	if (!(seen <= rate + tolerance(rate, rounds)))
		fail_msg("%s: %.4f is above %.4f", what, seen, rate);
}

static void at_least(double seen, double rate, int rounds, const char *what)
{
	if (!(seen >= rate - tolerance(rate, rounds)))
		fail_msg("%s: %.4f is below %.4f", what, seen, rate);
}

static int start(void **state)
{
	(void)state;
	rng = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(rng, 4711);
	return 0;
}

static int end(void **state)
{
	(void)state;
	gsl_rng_free(rng);
	return 0;
}

static const double sds[] = { 0.005, 0.01, 0.03 };
static const unsigned lengths[] = { 4, 6, 10 };

static void test_identical_kernels(void **state)
{
	double exact = 0, cells = 0;
	unsigned d, i, j;

	(void)state;
	for (d = 0; d < DRIFT_KINDS; d++)
		for (i = 0; i < 3; i++)
			for (j = 0; j < 3; j++) {
				struct model m = { .kernels = 2,
						   .blocks = lengths[j],
						   .sd = { sds[i], sds[i] },
						   .drift = (enum drift)d };
				struct rates r = measure(&m, ROUNDS);

				at_most(r.changed, 0.05, ROUNDS, "identical kernels changed");
				at_most(r.differs, 0.05, ROUNDS, "identical kernels differ");
				if (d == DRIFT_WALK)
					continue;
				exact += r.plain;
				cells++;
			}
	/* Without a drift or with a steady one the t test is exact, neither more nor less. */
	exact /= cells;
	at_most(exact, 0.05, ROUNDS * (int)cells, "mean rate");
	at_least(exact, 0.05, ROUNDS * (int)cells, "mean rate");
}

/* 2 % with boots that vary by 1 %: the power of the t test with 2n - 3 df; drift is no matter. */
static void test_power(void **state)
{
	const double expected[] = { 0.603, 0.864, 0.986 };
	unsigned d, i, j;

	(void)state;
	for (j = 0; j < 3; j++)
		for (d = DRIFT_NONE; d <= DRIFT_LINEAR; d++) {
			struct model m = { .kernels = 2,
					   .blocks = lengths[j],
					   .shift = log(1.02),
					   .sd = { 0.01, 0.01 },
					   .drift = (enum drift)d };
			struct rates r = measure(&m, ROUNDS);

			at_least(r.plain, expected[j], ROUNDS, "t test at 2 %");
			at_most(r.plain, expected[j], ROUNDS, "t test at 2 %");
			/* The price of the rule for sides that only look uneven. */
			at_least(r.differs, expected[j] - 0.03, ROUNDS, "power at 2 %");
		}
	for (i = 0; i < 2; i++)
		for (j = 0; j < 3; j++) {
			struct model m = { .kernels = 2,
					   .blocks = lengths[j],
					   .shift = i ? log(1.05) : -log(1.05),
					   .sd = { sds[i], sds[i] } };
			struct rates r = measure(&m, ROUNDS);

			at_least(r.right, 0.995, ROUNDS, "power at 5 %");
			at_most(r.same, 0.001, ROUNDS, "5 % called no change");
		}
	{
		struct model m = { .kernels = 2,
				   .blocks = 10,
				   .shift = log(1.05),
				   .sd = { 0.03, 0.03 },
				   .drift = DRIFT_LINEAR };

		at_least(measure(&m, ROUNDS).right, 0.91, ROUNDS, "power at 5 %, sd 3 %");
	}
}

/*
 * One side three times as noisy, also with half its boots lost.  Few boots do not always show that
 * they are uneven, so the rate is a little above 5 %.
 */
static void test_uneven(void **state)
{
	unsigned j, drop;

	(void)state;
	for (j = 0; j < 3; j++)
		for (drop = 0; drop <= lengths[j] / 2; drop += lengths[j] / 2) {
			struct model m = { .kernels = 2,
					   .blocks = lengths[j],
					   .sd = { 0.03, 0.01 },
					   .drop = drop };

			at_most(measure(&m, ROUNDS).differs, drop ? 0.08 : 0.065, ROUNDS,
				"uneven kernels differ");
		}
}

/* More kernels, which vary alike or not: the first pair keeps its rate. */
static void test_more_kernels(void **state)
{
	struct model m = { .kernels = 5, .blocks = 6, .sd = { 0.01, 0.01, 0.01, 0.01, 0.01 } };
	unsigned i;

	(void)state;
	at_most(measure(&m, ROUNDS).differs, 0.055, ROUNDS, "one of five, alike");
	for (i = 2; i < 5; i++)
		m.sd[i] = 0.003;
	at_most(measure(&m, ROUNDS).differs, 0.06, ROUNDS, "one of five, others quiet");
	for (i = 2; i < 5; i++)
		m.sd[i] = 0.03;
	at_most(measure(&m, ROUNDS).differs, 0.05, ROUNDS, "one of five, others noisy");
}

/* Stopping at the first look that decides: still 5 %, and a 5 % shift ends it early. */
static struct rates measure_looks(const struct model *m, int rounds, double *ret_blocks)
{
	struct fit_boot boots[40];
	struct rates ret = { 0 };
	double blocks = 0;
	int i;

	for (i = 0; i < rounds; i++) {
		struct verdict_result v = { .verdict = VERDICT_NONE };
		double p[LOOKS_COUNT], p_seq, level;
		unsigned look;
		struct fit fit;

		simulate(m, boots);
		for (look = 0; look < LOOKS_COUNT; look++) {
			size_t n = 2 * looks_schedule[look].blocks;

			assert_int_equal(fit_kernels(boots, n, 2, NULL, &fit), 0);
			p[look] = fit.contrasts[1].p;
			assert_int_equal(looks_p_seq(p, look + 1, &p_seq), 0);
			assert_int_equal(looks_level(looks_schedule[look].weight, &level), 0);
			judge(&fit.contrasts[1], level, p_seq, &v);
			fit_done(&fit);
			if (v.verdict != VERDICT_CANT_TELL || look + 1 == LOOKS_COUNT)
				break;
		}
		blocks += looks_schedule[look].blocks;
		ret.changed += v.verdict == VERDICT_BETTER || v.verdict == VERDICT_WORSE;
		ret.same += v.verdict == VERDICT_NO_CHANGE;
	}
	ret.changed /= rounds;
	ret.same /= rounds;
	*ret_blocks = blocks / rounds;
	return ret;
}

static void test_looks(void **state)
{
	struct model m = { .kernels = 2, .blocks = 20, .sd = { 0.01, 0.01 } };
	double blocks;
	struct rates r;

	(void)state;
	r = measure_looks(&m, ROUNDS, &blocks);
	at_most(r.changed, 0.02, ROUNDS, "looks, identical");
	at_least(r.same, 0.97, ROUNDS, "looks, identical are the same");
	assert_true(blocks < 11);
	m.sd[0] = m.sd[1] = 0.03;
	at_most(measure_looks(&m, ROUNDS, &blocks).changed, 0.05, ROUNDS, "looks, noisy");
	m.sd[0] = m.sd[1] = 0.01;
	m.shift = log(1.05);
	r = measure_looks(&m, ROUNDS, &blocks);
	at_least(r.changed, 0.999, ROUNDS, "looks, 5 %");
	assert_true(blocks < 4.6);
}

/* One mode is seldom called two; two well apart are found. */
static void test_modes(void **state)
{
	const size_t sizes[] = { 5, 6, 9, 10, 20, 40, 100, 300 };
	double x[300], normal, flat, skewed, two;
	struct sample_modes modes;
	size_t i, j;
	int round;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		normal = flat = skewed = two = 0;
		for (round = 0; round < ROUNDS; round++) {
			for (j = 0; j < sizes[i]; j++)
				x[j] = 10 + gsl_ran_ugaussian(rng);
			assert_int_equal(sample_modes(x, sizes[i], 0, &modes), 0);
			normal += modes.bimodal;
			for (j = 0; j < sizes[i]; j++)
				x[j] = 10 + gsl_rng_uniform(rng);
			assert_int_equal(sample_modes(x, sizes[i], 0, &modes), 0);
			flat += modes.bimodal;
			for (j = 0; j < sizes[i]; j++)
				x[j] = 10 * gsl_ran_lognormal(rng, 0, 0.5);
			assert_int_equal(sample_modes(x, sizes[i], 0, &modes), 0);
			skewed += modes.bimodal;
			for (j = 0; j < sizes[i]; j++)
				x[j] = 10 + gsl_ran_ugaussian(rng) + (j % 3 ? 0 : 8);
			assert_int_equal(sample_modes(x, sizes[i], 0, &modes), 0);
			two += modes.bimodal && modes.n_hi == (sizes[i] + 2) / 3;
		}
		at_most(normal / ROUNDS, 0.006, ROUNDS, "normal sample bimodal");
		at_most(flat / ROUNDS, 0.08, ROUNDS, "flat sample bimodal");
		at_most(skewed / ROUNDS, 0.03, ROUNDS, "skewed sample bimodal");
		if (sizes[i] >= 20)
			at_least(two / ROUNDS, 0.95, ROUNDS, "two modes found");
	}
}

/* The components of an unbalanced design are right on average. */
static void test_components(void **state)
{
	size_t invocations[] = { 3, 1, 2, 4, 3 },
	       samples[] = { 4, 2, 3, 5, 1, 6, 2, 2, 3, 4, 1, 5, 3 };
	double values[41], sum[SPREAD_LEVELS] = { 0 };
	const double truth[SPREAD_LEVELS] = { 1, 4, 9 };
	struct spread_data data = { 5, invocations, samples, values };
	struct spread spread;
	size_t b, i, s;
	int round, level;

	(void)state;
	for (round = 0; round < 2 * ROUNDS; round++) {
		size_t n = 0, invocation = 0;

		for (b = 0; b < data.boots; b++) {
			double boot = 100 + gsl_ran_gaussian(rng, 3);

			for (i = 0; i < invocations[b]; i++, invocation++) {
				double start_of = boot + gsl_ran_gaussian(rng, 2);

				for (s = 0; s < samples[invocation]; s++)
					values[n++] = start_of + gsl_ran_ugaussian(rng);
			}
		}
		assert_int_equal(n, 41);
		assert_int_equal(spread_components(&data, &spread), 0);
		for (level = 0; level < SPREAD_LEVELS; level++)
			sum[level] += spread.part[level].raw / (2 * ROUNDS);
	}
	/* Four standard errors: the boots' component of five boots varies by about 8. */
	for (level = 0; level < SPREAD_LEVELS; level++)
		assert_true(fabs(sum[level] - truth[level]) < 0.06 * truth[level]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_identical_kernels, start, end),
		cmocka_unit_test_setup_teardown(test_power, start, end),
		cmocka_unit_test_setup_teardown(test_uneven, start, end),
		cmocka_unit_test_setup_teardown(test_more_kernels, start, end),
		cmocka_unit_test_setup_teardown(test_looks, start, end),
		cmocka_unit_test_setup_teardown(test_modes, start, end),
		cmocka_unit_test_setup_teardown(test_components, start, end),
	};

	return cmocka_run_group_tests_name("stats acceptance", tests, NULL, NULL);
}
