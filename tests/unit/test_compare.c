/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of a comparison, each on a dataset made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare/compare.h"
#include "compare_fixture.h"
#include "stats/fit.h"

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.17g is not near %.17g", a, b);
}

/* One row of two kernels, n boots of both together; the pair. */
static struct compare_pair *one_row(struct fx *f, struct comparison *c, const struct metric *m,
				    unsigned n, double ratio, double noise)
{
	fx_two(f);
	fx_blocks(f, n);
	fx_measure(f, "syscall", "getppid", "", m, true, 100, ratio, noise);
	fx_make(f, NULL, c);
	assert_int_equal(c->n_rows, 1);
	assert_int_equal(c->rows[0].n_pairs, 1);
	return &c->rows[0].pairs[0];
}

static void test_words(void **state)
{
	static const struct {
		const struct metric *m;
		double ratio, noise;
		enum verdict verdict;
		bool beyond;
	} cases[] = {
		{ &fx_latency, 1.10, 0.5, VERDICT_WORSE, true },
		{ &fx_latency, 0.90, 0.5, VERDICT_BETTER, true },
		{ &fx_rate, 1.10, 0.5, VERDICT_BETTER, true },
		{ &fx_rate, 0.90, 0.5, VERDICT_WORSE, true },
		{ &fx_latency, 1.025, 0.5, VERDICT_WORSE, false },
		{ &fx_latency, 1.00, 0.3, VERDICT_NO_CHANGE, false },
		{ &fx_latency, 1.02, 3.0, VERDICT_CANT_TELL, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fx f;
		struct comparison c;
		struct compare_pair *p =
			one_row(&f, &c, cases[i].m, 12, cases[i].ratio, cases[i].noise);

		assert_int_equal(p->verdict, cases[i].verdict);
		assert_int_equal(p->beyond_margin, cases[i].beyond);
		assert_true(p->lo < p->ratio && p->ratio < p->hi);
		assert_true(p->flags == 0 || p->flags == COMPARE_BIT(COMPARE_SPREAD));
		assert_int_equal(p->boots_needed > 0, p->verdict == VERDICT_CANT_TELL);
		fx_done(&f, &c);
	}
}

/* The number of a boot is the mean of all its samples; the fit is that of stats/fit.h. */
static void test_reduce(void **state)
{
	static const double v[4][3] = {
		{ 10, 11, 15 }, { 12, 13, 14 }, { 11, 12, 16 }, { 9, 12, 12 }
	};
	struct fit_boot y[4];
	struct fit fit;
	struct fx f;
	struct comparison c;
	double lo, hi;
	unsigned i, n;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 4);
	for (i = 0; i < 4; i++) {
		/* Two invocations: of two samples and of one. */
		n = fx_value(&f, f.boots[i], "x", "w", "", &fx_latency, true, v[i][0]);
		fx_sample(&f, n, &fx_latency, v[i][1]);
		fx_value(&f, f.boots[i], "x", "w", "", &fx_latency, true, v[i][2]);
		y[i] = (struct fit_boot){ log((v[i][0] + v[i][1] + v[i][2]) / 3), i, fx_order[i] };
	}
	fx_make(&f, NULL, &c);
	assert_int_equal(fit_kernels(y, 4, 2, NULL, &fit), 0);
	assert_int_equal(fit_interval(&fit.contrasts[1], .95, &lo, &hi), 0);
	near(c.rows[0].pairs[0].ratio, exp(fit.contrasts[1].estimate));
	near(c.rows[0].pairs[0].p, fit.contrasts[1].p);
	near(c.rows[0].pairs[0].lo, exp(lo));
	near(c.rows[0].pairs[0].hi, exp(hi));
	near(c.rows[0].pairs[0].drift, expm1(fit.trend));
	near(c.rows[0].values[0].mean, (12 + 11) / 2.0);
	assert_true(isfinite(c.rows[0].values[0].cv_invocation));
	assert_true(isfinite(c.rows[0].values[0].cv_sample));
	fit_done(&fit);
	fx_done(&f, &c);
}

static void test_quantile(void **state)
{
	static const struct metric p50 = { .name = "p50",
					   .unit = UNIT_NS,
					   .better = METRIC_LESS,
					   .kind = METRIC_MEASURE,
					   .from = METRIC_FROM_QUANTILE,
					   .hist = "h",
					   .quantile = .5 };
	struct hist *h = mem_alloc(sizeof(*h));
	struct fx f;
	struct comparison c;
	unsigned i, k, n;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 4);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 2; k++) {
			n = fx_invocation(&f, f.boots[i], "x", "w", "", &p50, false, DS_OK, NULL);
			memset(h, 0, sizeof(*h));
			/* 1 x 10 and 9 x 100: merged the median is 100, the mean of both is 55. */
			hist_add(h, k ? 100 : 10);
			while (k && h->count < 9)
				hist_add(h, 100);
			dataset_hist(&f.d, n, "", "h", h);
		}
	fx_make(&f, NULL, &c);
	near(c.rows[0].values[0].mean, 100);
	free(h);
	fx_done(&f, &c);
}

static double random_unit(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (double)(*s >> 11) * 0x1p-53;
}

static enum verdict flipped(enum verdict v)
{
	return v == VERDICT_BETTER ? VERDICT_WORSE : v == VERDICT_WORSE ? VERDICT_BETTER : v;
}

static void test_swap(void **state)
{
	static const char *const ba[] = { "b", "a", NULL };
	static const char *const names[] = { "w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7" };
	const struct compare_options swapped = { .margin = .02, .kernels = ba };
	uint64_t seed = 11;
	unsigned words[VERDICT_CANT_TELL + 1] = { 0 }, round, i;

	(void)state;
	for (round = 0; round < 60; round++) {
		struct fx f;
		struct comparison x, y;
		unsigned n = 4 + round % 14;

		fx_two(&f);
		fx_blocks(&f, n);
		for (i = 0; i < 8; i++) {
			/* Some rows have values below 0 and are compared by difference. */
			double mean = i == 7 ? 0.3 : 100, k;
			double noise = 4 * random_unit(&seed), effect = random_unit(&seed) - .5;

			for (unsigned b = 0; b < n; b++) {
				k = 1 + (f.kernel_of[b] ? effect * effect * effect : 0) +
				    noise / 100 * (random_unit(&seed) - .5);
				fx_value(&f, f.boots[b], "x", names[i], "",
					 i % 2 ? &fx_latency : &fx_rate, i < 4,
					 i == 7 ? k - mean * 4 : k * mean);
			}
		}
		fx_make(&f, NULL, &x);
		fx_make(&f, &swapped, &y);
		for (i = 0; i < 8; i++) {
			const struct compare_pair *p = &x.rows[i].pairs[0];
			const struct compare_pair *q = &y.rows[i].pairs[0];

			assert_string_equal(y.kernels[q->base].label, "b");
			assert_int_equal(q->verdict, flipped(p->verdict));
			assert_int_equal(q->flags, p->flags);
			assert_int_equal(q->boots_needed, p->boots_needed);
			assert_int_equal(q->beyond_margin, p->beyond_margin);
			near(q->p_adjusted, p->p_adjusted);
			if (i == 7)
				near(q->diff, -p->diff);
			else
				near(q->ratio, 1 / p->ratio);
			words[p->verdict]++;
		}
		compare_done(&y);
		fx_done(&f, &x);
	}
	for (i = VERDICT_BETTER; i <= VERDICT_CANT_TELL; i++)
		assert_true(words[i] > 20);
	assert_int_equal(words[VERDICT_NONE], 0);
}

static void test_one_boot(void **state)
{
	struct fx f;
	struct comparison c;
	struct compare_pair *p;
	unsigned i, n;

	(void)state;
	/* Many samples that agree are still one boot. */
	fx_two(&f);
	fx_blocks(&f, 2);
	for (i = 0; i < 2; i++) {
		n = fx_value(&f, f.boots[i], "x", "w", "", &fx_rate, true, i ? 121.7 : 114.6);
		fx_sample(&f, n, &fx_rate, i ? 124.9 : 114.1);
		fx_sample(&f, n, &fx_rate, i ? 124.0 : 115.1);
	}
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_true(p->blocked & COMPARE_BIT(COMPARE_ONE_BOOT));
	assert_true(isnan(p->lo) && isnan(p->p) && p->ratio > 1.07);
	assert_non_null(strstr(c.scope[1], "one boot each: the kernel's effect"));
	fx_done(&f, &c);
}

static void test_no_word(void **state)
{
	struct metric neither = fx_latency, evidence = fx_latency;
	const struct compare_options all = { .margin = .02, .all = true };
	struct fx f;
	struct comparison c;
	struct compare_pair *p;

	(void)state;
	neither.better = METRIC_NEITHER;
	p = one_row(&f, &c, &neither, 8, 2, .5);
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_true(p->lo > 1.9 && isnan(p->p_adjusted) && p->p < .001);
	fx_done(&f, &c);

	evidence.kind = METRIC_EVIDENCE;
	fx_two(&f);
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "w", "", &evidence, true, 100, 2, .5);
	fx_make(&f, NULL, &c);
	assert_int_equal(c.n_rows, 0);
	compare_done(&c);
	fx_make(&f, &all, &c);
	assert_int_equal(c.rows[0].pairs[0].verdict, VERDICT_NONE);
	fx_done(&f, &c);

	fx_two(&f);
	f.class = "emulated";
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 2, .5);
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_true(fx_flagged(p, COMPARE_EMULATED) && p->lo > 1.9);
	assert_non_null(strstr(c.scope[0], "QEMU TCG time, not a machine's"));
	fx_done(&f, &c);
}

static void test_same_kernel(void **state)
{
	struct fx f;
	struct comparison c;
	unsigned k;

	(void)state;
	for (k = 0; k < 3; k++) {
		fx_start(&f, NULL);
		fx_kernel(&f, "a", "6.1+", "aa", "quiet", NULL);
		/* The same; another build of one release; one build, another command line. */
		fx_kernel(&f, "b", "6.1+", k == 1 ? "bb" : "aa", k == 2 ? "quiet x" : "quiet",
			  NULL);
		fx_blocks(&f, 12);
		fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
		fx_make(&f, NULL, &c);
		assert_int_equal(c.kernels[1].same_as_base, k == 0);
		assert_int_equal(c.rows[0].pairs[0].verdict, k ? VERDICT_WORSE : VERDICT_NONE);
		assert_int_equal(c.summary.none_outside, k == 0);
		fx_done(&f, &c);
	}
}

static void three_each(struct fx *f, const struct metric *m, double a, double b)
{
	unsigned i;

	fx_two(f);
	fx_blocks(f, 6);
	for (i = 0; i < 6; i++)
		fx_value(f, f->boots[i], "x", "w", "", m, true, f->kernel_of[i] ? b : a);
}

static void test_zero_and_counts(void **state)
{
	struct fx f;
	struct comparison c;
	struct compare_pair *p;

	(void)state;
	/* A base of 0 has no ratio; equal measured values are no proof. */
	three_each(&f, &fx_latency, 0, .2);
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	assert_true(c.rows[0].absolute && isnan(p->ratio) && isnan(p->lo) && isnan(p->p));
	near(p->diff, .2);
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_true(fx_flagged(p, COMPARE_NO_SPREAD));
	fx_done(&f, &c);

	three_each(&f, &fx_switches, 0, .2);
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	assert_true(p->exact && isnan(p->ratio) && isnan(p->p) && isnan(p->p_adjusted));
	assert_int_equal(p->verdict, VERDICT_WORSE);
	fx_done(&f, &c);

	three_each(&f, &fx_switches, 0, 0);
	fx_make(&f, NULL, &c);
	assert_int_equal(c.rows[0].pairs[0].diff, 0);
	assert_int_not_equal(c.rows[0].pairs[0].verdict, VERDICT_WORSE);
	assert_int_not_equal(c.rows[0].pairs[0].verdict, VERDICT_BETTER);
	fx_done(&f, &c);

	three_each(&f, &fx_switches, 2, 3);
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	near(p->ratio, 1.5);
	assert_int_equal(p->verdict, VERDICT_WORSE);
	assert_int_equal(c.summary.tested, 0);
	fx_done(&f, &c);
}

/* A coarse clock: five times 16 is a step of 1 in 16 wide, not exact. */
static void test_floor(void **state)
{
	struct metric coarse = fx_latency;
	struct fx f;
	struct comparison c;
	struct compare_pair *p;

	(void)state;
	coarse.resolution = 1;
	three_each(&f, &coarse, 16, 17);
	fx_make(&f, NULL, &c);
	p = &c.rows[0].pairs[0];
	near(p->ratio, 17. / 16);
	near(p->sigma, sqrt((1 / 256. + 1 / 289.) / 2 / 12));
	assert_true(p->lo < p->ratio && p->hi > p->ratio);
	fx_done(&f, &c);
}

static void test_unmatched(void **state)
{
	static const char *const classes[] = { "native", "kvm", "native", "native" };
	static const unsigned versions[] = { 1, 1, 2, 1 };
	static const char *const contexts[] = { "{\"agent\":\"0.1\",\"cpu\":\"x\"}", NULL, NULL,
						"{\"agent\":\"0.1\",\"cpu\":\"y\"}" };
	static const char *const why[] = { "", "class", "version 1, in b 2", "cpu" };
	struct fx f;
	struct comparison c;
	unsigned kind, i;

	(void)state;
	for (kind = 1; kind < 4; kind++) {
		fx_two(&f);
		fx_blocks(&f, 8);
		for (i = 0; i < 8; i++) {
			unsigned k = f.kernel_of[i] ? kind : 0;

			f.class = classes[k];
			f.version = versions[k];
			f.context = contexts[k] ? contexts[k] : contexts[0];
			fx_value(&f, f.boots[i], "x", "w", "", &fx_latency, true, 100 + i);
		}
		fx_make(&f, NULL, &c);
		assert_int_equal(c.n_rows, 2);
		assert_int_equal(c.rows[0].n_pairs + c.rows[1].n_pairs, 0);
		assert_int_equal(c.n_unmatched, 2);
		assert_non_null(strstr(c.unmatched[0].why, why[kind]));
		if (kind == 3) {
			assert_int_equal(c.differences[0].class, COMPARE_DIFF_CONTEXT);
			assert_string_equal(c.differences[0].base, "x");
			assert_string_equal(c.differences[0].new, "y");
		}
		fx_done(&f, &c);
	}
}

/* Of 40 true "no difference", correction leaves none that chance made. */
static void test_many(void **state)
{
	char name[16];
	struct fx f;
	struct comparison c;
	uint64_t seed = 3;
	unsigned i, k;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 8);
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		for (k = 0; k < 8; k++)
			fx_value(&f, f.boots[k], "x", name, "", &fx_latency, i < 4,
				 100 + 20 * (random_unit(&seed) + random_unit(&seed)));
	}
	fx_make(&f, NULL, &c);
	assert_int_equal(c.summary.tested, 40);
	assert_int_equal(c.summary.tested_headline, 4);
	near(c.summary.chance, 2.0);
	assert_true(c.summary.p_below > 0);
	assert_int_equal(c.summary.worse + c.summary.better, 0);
	for (i = 0; i < 40; i++)
		assert_true(c.rows[i].pairs[0].p_adjusted >= c.rows[i].pairs[0].p);
	fx_done(&f, &c);
}

static void test_options(void **state)
{
	static const char *const nobody[] = { "a", "z", NULL }, *const twice[] = { "a", "a", NULL };
	static const char *const ctx2[] = { "ctx:size=0+4096,place=same", NULL };
	static const char *const none[] = { "ctx:procs=3", NULL }, *const rate[] = { "rate", NULL };
	struct compare_options o = COMPARE_OPTIONS_INIT;
	struct error e = ERROR_INIT;
	struct fx f;
	struct comparison c;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 4);
	fx_measure(&f, "x", "ctx", "procs=2,size=0,place=same", &fx_latency, true, 100, 1, 1);
	fx_measure(&f, "x", "ctx", "procs=2,size=4KiB,place=same", &fx_latency, false, 100, 1, 1);
	fx_measure(&f, "x", "ctx", "procs=2,size=0,place=spread", &fx_latency, false, 100, 1, 1);
	dataset_finish(&f.d);
	o.kernels = nobody;
	assert_int_equal(compare_make(&f.d, &o, &c, &e), -ENOENT);
	assert_non_null(strstr(e.text, "there are: a, b"));
	o.kernels = twice;
	error_clear(&e);
	assert_int_equal(compare_make(&f.d, &o, &c, &e), -EINVAL);
	o.kernels = NULL;
	o.margin = NAN;
	assert_int_equal(compare_make(&f.d, &o, &c, NULL), -EINVAL);
	o.margin = .02;
	o.workloads = none;
	assert_int_equal(compare_make(&f.d, &o, &c, NULL), -ENOENT);
	o.workloads = ctx2;
	assert_int_equal(compare_make(&f.d, &o, &c, NULL), 0);
	assert_int_equal(c.n_rows, 2);
	compare_done(&c);
	o.metrics = rate;
	assert_int_equal(compare_make(&f.d, &o, &c, NULL), -ENOENT);
	fx_done(&f, &c);
}

static void test_gate(void **state)
{
	struct fx f;
	struct comparison c;
	struct error e = ERROR_INIT;
	unsigned gate = 0;
	bool bad;

	(void)state;
	assert_int_equal(compare_gate_parse("worse,cant-tell", &gate, &e), 0);
	assert_int_equal(gate, COMPARE_GATE_WORSE | COMPARE_GATE_CANT_TELL);
	assert_int_equal(compare_gate_parse("worse,", &gate, &e), -EINVAL);
	assert_int_equal(compare_gate_parse("better", &gate, NULL), -EINVAL);

	one_row(&f, &c, &fx_latency, 12, 1.1, .5);
	assert_int_equal(compare_gate(&c, COMPARE_GATE_WORSE, &bad, NULL), 0);
	assert_true(bad);
	assert_int_equal(compare_gate(&c, COMPARE_GATE_CANT_TELL, &bad, NULL), 0);
	assert_false(bad);
	fx_done(&f, &c);

	/* One boot each: nothing was judged, so nothing has passed. */
	one_row(&f, &c, &fx_latency, 2, 1.0, .5);
	assert_int_equal(compare_gate(&c, COMPARE_GATE_WORSE, &bad, NULL), 0);
	assert_true(bad);
	fx_done(&f, &c);

	/* A number on one side only does not pass. */
	fx_two(&f);
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1, .1);
	fx_value(&f, f.boots[0], "x", "v", "", &fx_latency, false, 1);
	fx_value(&f, f.boots[1], "x", "v", "", &fx_latency, false, NAN);
	fx_make(&f, NULL, &c);
	assert_int_equal(c.summary.no_change, 1);
	assert_int_equal(compare_gate(&c, COMPARE_GATE_WORSE, &bad, NULL), 0);
	assert_true(bad);
	fx_done(&f, &c);

	fx_two(&f);
	f.class = "emulated";
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1, .1);
	fx_make(&f, NULL, &c);
	error_clear(&e);
	assert_int_equal(compare_gate(&c, COMPARE_GATE_WORSE, &bad, &e), -EOPNOTSUPP);
	fx_done(&f, &c);
}

static void test_three(void **state)
{
	static const char *const order[] = { "c", "a", NULL };
	const struct compare_options o = { .margin = .02, .kernels = order };
	struct fx f;
	struct comparison c;
	unsigned i;

	(void)state;
	fx_two(&f);
	fx_kernel(&f, "c", "6.3", "cc", "quiet", NULL);
	for (i = 0; i < 12; i++)
		fx_boot_state(&f, (i + i / 3) % 3, DS_OK, NULL);
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
	fx_make(&f, NULL, &c);
	assert_int_equal(c.rows[0].n_pairs, 2);
	assert_true(fabs(c.rows[0].pairs[0].ratio - 1.10) < .02);
	assert_true(fabs(c.rows[0].pairs[1].ratio - 1.21) < .02);
	assert_int_equal(c.summary.tested_headline, 2);
	compare_done(&c);
	fx_make(&f, &o, &c);
	assert_int_equal(c.n_kernels, 2);
	assert_string_equal(c.kernels[0].label, "c");
	assert_int_equal(c.rows[0].pairs[0].verdict, VERDICT_BETTER);
	fx_done(&f, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	    cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_quantile),    cmocka_unit_test(test_swap),
		cmocka_unit_test(test_one_boot),    cmocka_unit_test(test_no_word),
		cmocka_unit_test(test_same_kernel), cmocka_unit_test(test_zero_and_counts),
		cmocka_unit_test(test_floor),	    cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_many),	    cmocka_unit_test(test_options),
		cmocka_unit_test(test_gate),	    cmocka_unit_test(test_three),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
