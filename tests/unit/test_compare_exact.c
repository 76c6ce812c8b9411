/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rule of exact results, their flags and their gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "exact_fixture.h"

#define K EXACT_PERTURB_MIN

/* Two kernels, one boot each. */
static void two(struct fx *f)
{
	xf_start(f, NULL);
	fx_kernel(f, "a", "6.1", "aa", "quiet", NULL);
	fx_kernel(f, "b", "6.2", "bb", "quiet", NULL);
	fx_boot_state(f, 0, DS_OK, NULL);
	fx_boot_state(f, 1, DS_OK, NULL);
}

/* getppid of one kernel under one perturbation: so many instructions in 1000 ops. */
static void add(struct fx *f, unsigned boot, unsigned perturb, uint64_t instructions)
{
	struct exact_windows *w = xf_windows(f, 2);

	xf_window(w, 1000, instructions, 0);
	xf_tick(w, 1000, instructions, 3000);
	xf_invocation(f, boot, "syscall", "getppid", "", perturb, w, NULL);
}

static const struct compare_row *row_of(const struct comparison *c, const char *metric)
{
	size_t i;

	for (i = 0; i < c->n_rows; i++)
		if (!strcmp(c->rows[i].metric.name, metric))
			return &c->rows[i];
	fail_msg("no row %s", metric);
	return NULL;
}

/* The typical pair of getppid with these values; n of each side. */
static const struct compare_pair *compare_sets(struct fx *f, struct comparison *c,
					       const uint64_t *a, unsigned n, const uint64_t *b,
					       unsigned m)
{
	unsigned i;

	two(f);
	for (i = 0; i < n; i++)
		add(f, f->boots[0], i, a[i]);
	for (i = 0; i < m; i++)
		add(f, f->boots[1], i, b[i]);
	fx_make(f, NULL, c);
	return row_of(c, "instructions")->pairs;
}

static void test_words(void **state)
{
	static const struct {
		uint64_t a[K], b[K];
		enum verdict word;
	} cases[] = {
		{ { 335, 335, 335, 335, 335, 335, 335, 335 },
		  { 335, 335, 335, 335, 335, 335, 335, 335 },
		  VERDICT_SAME },
		{ { 335, 335, 335, 335, 335, 335, 335, 335 },
		  { 336, 336, 336, 336, 336, 336, 336, 336 },
		  VERDICT_MORE },
		{ { 335, 335, 335, 335, 335, 335, 335, 335 },
		  { 334, 334, 334, 334, 334, 334, 334, 334 },
		  VERDICT_FEWER },
		/* They touch: not beyond. */
		{ { 335, 335, 335, 335, 335, 335, 335, 340 },
		  { 340, 341, 341, 341, 341, 341, 341, 341 },
		  VERDICT_WITHIN },
		{ { 340, 341, 341, 341, 341, 341, 341, 341 },
		  { 335, 335, 335, 335, 335, 335, 335, 340 },
		  VERDICT_WITHIN },
		{ { 330, 331, 332, 333, 334, 335, 336, 337 },
		  { 338, 339, 345, 341, 342, 343, 344, 340 },
		  VERDICT_MORE },
		{ { 330, 331, 332, 333, 334, 335, 336, 337 },
		  { 329, 328, 320, 321, 322, 323, 324, 325 },
		  VERDICT_FEWER },
		/* One set in another order is the same; one digit in one of eight is not. */
		{ { 330, 331, 332, 333, 334, 335, 336, 337 },
		  { 337, 336, 335, 334, 333, 332, 331, 330 },
		  VERDICT_SAME },
		{ { 335, 335, 335, 335, 335, 335, 335, 335 },
		  { 335, 335, 335, 335, 335, 335, 335, 336 },
		  VERDICT_WITHIN },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fx f;
		struct comparison c;
		const struct compare_pair *p = compare_sets(&f, &c, cases[i].a, K, cases[i].b, K);

		assert_int_equal(p->verdict, cases[i].word);
		assert_int_equal(p->flags, 0);
		assert_true(!isfinite(p->lo) && !isfinite(p->hi) && !isfinite(p->p) &&
			    !isfinite(p->p_adjusted) && !isfinite(p->level));
		assert_false(p->beyond_margin);
		assert_int_equal(c.summary.worse + c.summary.better + c.summary.no_change +
					 c.summary.cant_tell + c.summary.none,
				 0);
		/* typical and total. */
		assert_int_equal(
			c.summary.more + c.summary.fewer + c.summary.same + c.summary.within, 2);
		fx_done(&f, &c);
	}
}

/* No margin: one instruction in a million counts. Numbers of the pair and of the summary. */
static void test_numbers(void **state)
{
	static const uint64_t a[K] = { 335000, 335000, 335000, 335000,
				       335000, 335000, 335000, 335000 };
	static const uint64_t b[K] = { 335001, 335001, 335001, 335001,
				       335001, 335001, 335001, 335001 };
	const struct compare_row *r;
	struct fx f;
	struct comparison c;
	const struct compare_pair *p = compare_sets(&f, &c, a, K, b, K);

	(void)state;
	assert_int_equal(p->verdict, VERDICT_MORE);
	assert_true(p->exact);
	assert_true(fabs(p->diff - .001) < 1e-9);
	assert_true(fabs(p->ratio - 335.001 / 335) < 1e-12);
	r = row_of(&c, "instructions");
	assert_true(r->exact && r->judged && r->headline);
	assert_int_equal(r->values[0].boots, 1);
	assert_int_equal(r->values[0].exact->n, K);
	assert_true(r->values[0].mean >= 335 && r->values[0].mean <= 335);
	assert_int_equal(r->values[0].exact->index[3], 3);
	/* All is typical and total, and nothing else unasked. */
	assert_int_equal(c.n_rows, 2);
	assert_false(row_of(&c, "total")->headline);
	/* 2 of C(16, 8) = 12870 ways, twice. */
	assert_true(fabs(c.summary.exact_chance - 2 * 2 / 12870.0) < 1e-12);
	fx_done(&f, &c);
}

static void test_metrics_chosen(void **state)
{
	static const char *const metrics[] = { "kernel", NULL };
	static const uint64_t a[K] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct compare_options o = COMPARE_OPTIONS_INIT;
	struct fx f;
	struct comparison c;
	unsigned i;

	(void)state;
	compare_sets(&f, &c, a, K, a, K);
	compare_done(&c);
	o.metrics = metrics;
	fx_make(&f, &o, &c);
	assert_int_equal(c.n_rows, 1);
	compare_done(&c);
	o.metrics = NULL;
	o.all = true;
	fx_make(&f, &o, &c);
	/* All but the overhead, which was not measured. */
	assert_int_equal(c.n_rows, EXACT_METRICS - 1);
	for (i = 0; i < c.n_rows; i++)
		assert_int_equal(c.rows[i].pairs[0].verdict,
				 c.rows[i].metric.kind == METRIC_EVIDENCE ? VERDICT_NONE
									  : VERDICT_SAME);
	fx_done(&f, &c);
}

static void test_few(void **state)
{
	static const uint64_t a[K] = { 335, 335, 335, 335, 335, 335, 335, 335 };
	static const uint64_t b[K] = { 337, 337, 337, 337, 337, 337, 337, 337 };
	struct fx f;
	struct comparison c;
	const struct compare_pair *p = compare_sets(&f, &c, a, 1, b, 1);

	(void)state;
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_int_equal(p->blocked, COMPARE_BIT(COMPARE_FEW));
	assert_true(fabs(p->diff - .002) < 1e-9);
	assert_int_equal(c.summary.exact_none, 2);
	fx_done(&f, &c);
	/* Seven on one side. */
	p = compare_sets(&f, &c, a, K, b, K - 1);
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_true(fx_flagged(p, COMPARE_FEW));
	fx_done(&f, &c);
	/* The same is said of one as well, and of what both have. */
	p = compare_sets(&f, &c, a, 1, a, 1);
	assert_int_equal(p->verdict, VERDICT_SAME);
	assert_int_equal(p->blocked, 0);
	assert_true(fx_flagged(p, COMPARE_FEW));
	fx_done(&f, &c);
	p = compare_sets(&f, &c, a, K, a, K - 1);
	assert_int_equal(p->verdict, VERDICT_SAME);
	fx_done(&f, &c);
}

/* Boots repeat perturbations: they are no more of them, and must agree. */
static void test_repeats(void **state)
{
	struct fx f;
	struct comparison c;
	const struct compare_row *r;
	unsigned i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		two(&f);
		fx_boot_state(&f, 0, DS_OK, NULL);
		for (i = 0; i < K; i++) {
			add(&f, f.boots[0], i, 335 + i % 2);
			add(&f, f.boots[2], i, 335 + i % 2 + (k && i == 3));
			add(&f, f.boots[1], i, 337 + i % 2);
		}
		fx_make(&f, NULL, &c);
		r = row_of(&c, "instructions");
		assert_int_equal(r->values[0].boots, 2);
		assert_int_equal(r->values[0].exact->n, K);
		assert_int_equal(r->values[0].exact->unrepeated, k);
		assert_int_equal(fx_flagged(r->pairs, COMPARE_UNREPEATED), k);
		assert_int_equal(r->pairs->verdict, k ? VERDICT_NONE : VERDICT_MORE);
		fx_done(&f, &c);
	}
}

/* The third perturbation of another seed is another one. */
static void test_seeds(void **state)
{
	struct ds_experiment x = { .id = "other", .seed = 43 };
	struct ds_boot b = { .id = "b", .state = DS_OK, .started_ns = 5000 };
	struct fx f;
	struct comparison c;
	const struct compare_row *r;
	unsigned i, boot;

	(void)state;
	two(&f);
	b.experiment = dataset_experiment(&f.d, &x);
	boot = dataset_boot(&f.d, &b);
	for (i = 0; i < K; i++) {
		add(&f, f.boots[0], i, 335 + i);
		add(&f, boot, i, 335 + 10 * i);
		add(&f, f.boots[1], i, 300);
	}
	fx_make(&f, NULL, &c);
	r = row_of(&c, "instructions");
	/* 0 is none of either seed. */
	assert_int_equal(r->values[0].exact->n, 2 * K - 1);
	assert_int_equal(r->values[0].exact->unrepeated, 0);
	assert_int_equal(r->pairs->verdict, VERDICT_FEWER);
	fx_done(&f, &c);
}

static void test_aa(void **state)
{
	struct fx f;
	struct comparison c;
	unsigned i, k;

	(void)state;
	xf_start(&f, NULL);
	for (k = 0; k < 2; k++) {
		fx_kernel(&f, k ? "b" : "a", "6.1", "aa", "quiet", NULL);
		fx_boot_state(&f, k, DS_OK, NULL);
		for (i = 0; i < K; i++)
			add(&f, f.boots[k], i, 335 + i);
	}
	fx_make(&f, NULL, &c);
	assert_true(c.kernels[1].same_as_base);
	assert_int_equal(row_of(&c, "instructions")->pairs->verdict, VERDICT_SAME);
	assert_int_equal(row_of(&c, "total")->pairs->verdict, VERDICT_SAME);
	assert_int_equal(c.flags, 0);
	fx_done(&f, &c);
}

static void test_smp_and_contexts(void **state)
{
	struct fx f;
	struct comparison c;
	const struct compare_pair *p;
	unsigned i, side, k;

	(void)state;
	two(&f);
	f.context = "{\"cpus\":2}";
	for (i = 0; i < K; i++)
		for (side = 0; side < 2; side++)
			add(&f, f.boots[side], i, 335 + side);
	fx_make(&f, NULL, &c);
	p = row_of(&c, "instructions")->pairs;
	assert_int_equal(p->verdict, VERDICT_NONE);
	assert_int_equal(p->blocked, COMPARE_BIT(COMPARE_SMP));
	fx_done(&f, &c);
	/* Without symbols on both sides, and on one: then typical is not one thing. */
	for (k = 0; k < 2; k++) {
		two(&f);
		for (i = 0; i < K; i++)
			for (side = 0; side < 2; side++) {
				struct exact_windows *w = xf_windows(&f, 1);

				xf_window(w, 1000, 335000 + side, 0);
				w->contexts = k && side;
				xf_invocation(&f, f.boots[side], "x", "w", "", i, w, NULL);
			}
		fx_make(&f, NULL, &c);
		p = row_of(&c, "instructions")->pairs;
		assert_true(fx_flagged(p, COMPARE_NO_CONTEXTS));
		assert_int_equal(p->verdict, k ? VERDICT_NONE : VERDICT_MORE);
		assert_int_equal(row_of(&c, "total")->pairs->verdict, VERDICT_MORE);
		fx_done(&f, &c);
	}
}

static void test_guest_that_was_never_quiet(void **state)
{
	struct fx f;
	struct comparison c;
	const struct compare_pair *p;
	unsigned i, side;

	(void)state;
	two(&f);
	fx_fact(&f, f.boots[1], FACT_VOLATILE, FACT_BEFORE, EXACT_FACT_QUIET, "no");
	for (i = 0; i < K; i++)
		for (side = 0; side < 2; side++)
			add(&f, f.boots[side], i, 335 + side);
	fx_make(&f, NULL, &c);
	p = row_of(&c, "instructions")->pairs;
	assert_true(fx_flagged(p, COMPARE_RESTLESS));
	assert_int_equal(p->verdict, VERDICT_MORE);
	fx_done(&f, &c);
}

/* An operation longer than a tick has no typical number, and its total shows. */
static void test_no_clean_window(void **state)
{
	struct fx f;
	struct comparison c;
	unsigned i, side, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		two(&f);
		for (i = 0; i < K; i++)
			for (side = 0; side < 2; side++) {
				struct exact_windows *w = xf_windows(&f, 2);

				xf_tick(w, 1, 5000000 + 10 * side, 2000);
				if (k && side)
					xf_window(w, 1, 5000010, 0);
				xf_invocation(&f, f.boots[side], "x", "w", "", i, w, NULL);
			}
		fx_make(&f, NULL, &c);
		assert_int_equal(row_of(&c, "total")->pairs->verdict,
				 k ? VERDICT_FEWER : VERDICT_MORE);
		assert_int_equal(c.n_rows, 1 + k);
		assert_int_equal(c.n_unmatched, k);
		if (k)
			assert_string_equal(c.unmatched[0].why, "no batch is without an interrupt");
		fx_done(&f, &c);
	}
}

/* ---- symbols ---- */

static void test_top(void **state)
{
	static const struct xf_code code[2][5] = {
		{ { "do_syscall_64", 30 }, { "ppid", 20 }, { "exit", 30 }, { "a", 5 }, { "b", 9 } },
		{ { "do_syscall_64", 31 }, { "ppid", 25 }, { "exit", 28 }, { "a", 5 }, { "b", 9 } },
	};
	struct fx f;
	struct comparison c;
	const struct compare_pair *p;
	unsigned i, side, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		two(&f);
		for (i = 0; i < K; i++)
			for (side = 0; side < 2; side++)
				xf_steady(&f, f.boots[side], "syscall", "getppid", "", i, 1000,
					  k ? 94 : 94 + 4 * side, code[side], 5);
		fx_make(&f, NULL, &c);
		/* The dataset is not needed any more. */
		dataset_done(&f.d);
		p = row_of(&c, "instructions")->pairs;
		if (k) {
			assert_int_equal(p->verdict, VERDICT_SAME);
			assert_int_equal(p->n_top, 0);
		} else {
			assert_int_equal(p->n_top, 3);
			assert_string_equal(p->top[0].name, "ppid");
			assert_true(fabs(p->top[0].diff - 5) < 1e-9);
			assert_string_equal(p->top[1].name, "exit");
			assert_true(fabs(p->top[1].diff + 2) < 1e-9);
			assert_string_equal(p->top[2].name, "do_syscall_64");
		}
		compare_done(&c);
	}
}

/* ---- regimes: tests/unit/test_regimes.c has what they are ---- */

static void test_regimes_block(void **state)
{
	struct fx f;
	struct comparison c;
	const struct compare_row *r;
	unsigned i, k;

	(void)state;
	/* An A/A of regimes is the same all the same. */
	for (k = 0; k < 2; k++) {
		two(&f);
		for (i = 0; i < K; i++) {
			xf_pipe(&f, f.boots[0], i, 12961, i, 10, 10524);
			xf_pipe(&f, f.boots[1], i, k ? 12961 : 11540, i, k ? 10 : 0, 10524);
		}
		fx_make(&f, NULL, &c);
		r = row_of(&c, "instructions");
		assert_int_equal(r->values[0].exact->modes, 2);
		assert_int_equal(r->values[1].exact->modes, k ? 2 : 0);
		assert_true(fx_flagged(r->pairs, COMPARE_REGIMES));
		assert_int_equal(r->pairs->verdict, k ? VERDICT_SAME : VERDICT_NONE);
		assert_int_equal(r->pairs->blocked, k ? 0 : COMPARE_BIT(COMPARE_REGIMES));
		fx_done(&f, &c);
	}
}

/* ---- the gate ---- */

static int gate(const struct comparison *c, const char *words, bool *ret_fail)
{
	struct error e = ERROR_INIT;
	unsigned bits;
	int r = compare_gate_parse(words, &bits, &e);

	return r ? r : compare_gate(c, bits, ret_fail, &e);
}

static void test_gate(void **state)
{
	static const uint64_t low[K] = { 335, 335, 335, 335, 335, 335, 335, 335 };
	static const uint64_t high[K] = { 336, 336, 336, 336, 336, 336, 336, 336 };
	static const uint64_t wide[K] = { 330, 331, 335, 336, 337, 338, 339, 340 };
	static const struct {
		const uint64_t *a, *b;
		unsigned n;
		bool more, fewer, within;
	} cases[] = {
		{ low, high, K, true, false, false }, { high, low, K, false, true, false },
		{ low, wide, K, false, false, true }, { wide, wide, K, false, false, false },
		{ low, low, 1, false, false, false }, /* the same, said of one */
		{ low, high, 1, true, true, true },   /* not judged */
	};
	struct fx f;
	struct comparison c;
	bool fail;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		compare_sets(&f, &c, cases[i].a, cases[i].n, cases[i].b, cases[i].n);
		assert_int_equal(gate(&c, "more", &fail), 0);
		assert_int_equal(fail, cases[i].more);
		assert_int_equal(gate(&c, "fewer", &fail), 0);
		assert_int_equal(fail, cases[i].fewer);
		assert_int_equal(gate(&c, "within", &fail), 0);
		assert_int_equal(fail, cases[i].within);
		assert_int_equal(gate(&c, "worse,more,fewer", &fail), 0);
		assert_int_equal(fail, cases[i].more || cases[i].fewer);
		assert_int_equal(gate(&c, "worse,cant-tell", &fail), -EOPNOTSUPP);
		fx_done(&f, &c);
	}
	assert_int_equal(gate(&c, "more,worst", &fail), -EINVAL);
	assert_int_equal(gate(&c, "", &fail), -EINVAL);
}

/* Words look at their own results; a missing one has not passed. */
static void test_gate_mixed(void **state)
{
	struct fx f;
	struct comparison c;
	bool fail;
	unsigned i;

	(void)state;
	two(&f);
	for (i = 0; i < K; i++) {
		add(&f, f.boots[0], i, 335);
		add(&f, f.boots[1], i, 337);
	}
	f.class = "emulated";
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 100, 1.5, .1);
	fx_make(&f, NULL, &c);
	assert_int_equal(gate(&c, "fewer", &fail), 0);
	assert_false(fail);
	assert_int_equal(gate(&c, "fewer,worse", &fail), -EOPNOTSUPP);
	fx_done(&f, &c);
	fx_two(&f);
	fx_blocks(&f, 8);
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 100, 1.5, .1);
	fx_make(&f, NULL, &c);
	assert_int_equal(gate(&c, "more", &fail), -EOPNOTSUPP);
	assert_int_equal(gate(&c, "more,worse", &fail), 0);
	assert_true(fail);
	fx_done(&f, &c);
	two(&f);
	for (i = 0; i < K; i++)
		add(&f, f.boots[i % 2], i, 335);
	xf_steady(&f, f.boots[0], "x", "only", "", 0, 10, 10, NULL, 0);
	fx_make(&f, NULL, &c);
	assert_int_equal(gate(&c, "more", &fail), 0);
	assert_true(fail);
	fx_done(&f, &c);
	/* One result is the same; the other differs, and one perturbation cannot say how. */
	two(&f);
	for (i = 0; i < 2; i++) {
		add(&f, f.boots[i], 0, 335);
		xf_steady(&f, f.boots[i], "x", "other", "", 0, 10, 10 + i, NULL, 0);
	}
	fx_make(&f, NULL, &c);
	assert_int_equal(gate(&c, "fewer", &fail), 0);
	assert_true(fail);
	fx_done(&f, &c);
}

/* ---- what stands beside ---- */

static void test_scope(void **state)
{
	static const uint64_t a[K] = { 335, 335, 335, 335, 335, 335, 335, 335 };
	struct fx f;
	struct comparison c;

	(void)state;
	two(&f);
	fx_fact(&f, f.boots[0], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.meltdown",
		"Not affected");
	fx_fact(&f, f.boots[0], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.spectre_v2",
		"Mitigation: Retpolines, STIBP: disabled");
	fx_fact(&f, f.boots[0], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.mds", "Vulnerable");
	fx_fact(&f, f.boots[1], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.mds", "Not affected");
	add(&f, f.boots[0], 0, a[0]);
	add(&f, f.boots[1], 0, a[0]);
	fx_make(&f, NULL, &c);
	assert_string_equal(c.kernels[0].mitigations, "spectre_v2 Retpolines; mds Vulnerable");
	assert_string_equal(c.kernels[1].mitigations, "none");
	assert_string_equal(c.scope[0],
			    "exact: instructions executed under QEMU 7.2.22, CPU "
			    "max,-rdrand,-rdseed,-la57; not time: caches, TLBs, contention and "
			    "NUMA are not seen.");
	assert_null(c.scope[1]);
	fx_done(&f, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_metrics_chosen),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_aa),
		cmocka_unit_test(test_smp_and_contexts),
		cmocka_unit_test(test_guest_that_was_never_quiet),
		cmocka_unit_test(test_no_clean_window),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_regimes_block),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_gate_mixed),
		cmocka_unit_test(test_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
