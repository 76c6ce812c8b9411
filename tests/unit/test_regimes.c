/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is a regime, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/mem.h"
#include "compare/internal.h"
#include "exact_fixture.h"

#define RUNS	8
#define BATCHES 120

struct made {
	struct exact_windows w[RUNS];
	const struct exact_windows *list[RUNS];
	struct arena arena;
	const struct compare_mode *mode;
};

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-53;
}

static double normal(void)
{
	double sum = -6;
	unsigned i;

	for (i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

/* value(run, batch): instructions per op; 1000 ops, and so many switches. */
static unsigned modes_of(struct made *m, unsigned runs, unsigned batches,
			 double (*value)(unsigned run, unsigned batch), unsigned switches)
{
	unsigned i, k;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < runs; i++) {
		m->w[i].list = arena_array(&m->arena, batches, sizeof(struct exact_window));
		m->w[i].contexts = true;
		m->list[i] = &m->w[i];
		for (k = 0; k < batches; k++)
			xf_window(&m->w[i], 1000, (uint64_t)(1000 * value(i, k)), switches);
	}
	return compare_regimes(&m->arena, m->list, runs, &m->mode);
}

/* 12 ms of 50, one batch in between, and a slow one now and then. */
static double like_pipe(unsigned run, unsigned batch)
{
	double slow = batch % 16 == run ? 120 : 0;

	if (batch < 29)
		return 10524 + slow;
	if (batch == 29)
		return 11700 + 40 * run;
	return 12961 + slow;
}

static double like_pipe_noisy(unsigned run, unsigned batch)
{
	return like_pipe(run, batch) * (1 + .002 * normal());
}

static void test_pipe_has_regimes(void **state)
{
	struct made m;

	(void)state;
	assert_int_equal(modes_of(&m, RUNS, BATCHES, like_pipe, 2000), 2);
	assert_true(m.mode[0].instructions >= 10524 && m.mode[0].instructions <= 10524);
	assert_true(m.mode[1].instructions >= 12961 && m.mode[1].instructions <= 12961);
	assert_true(fabs(m.mode[0].share - 29.0 / 120) < .01);
	assert_true(fabs(m.mode[0].share + m.mode[1].share - 1) < 1e-12);
	assert_true(fabs(m.mode[0].switches - 2) < 1e-12);
	assert_int_equal(m.mode[0].perturbations, RUNS);
	arena_done(&m.arena);
	seed = 1;
	assert_int_equal(modes_of(&m, RUNS, BATCHES, like_pipe_noisy, 2000), 2);
	arena_done(&m.arena);
	/* One perturbation alone shows it, too. */
	assert_int_equal(modes_of(&m, 1, BATCHES, like_pipe, 2000), 2);
	arena_done(&m.arena);
}

static double by_perturbation(unsigned run, unsigned batch)
{
	return (run % 3 ? 12961 : 10524) + batch % 3;
}

static double odd_one(unsigned run, unsigned batch)
{
	return (run == 5 ? 10800 : 10524) + batch % 3;
}

static double back_and_forth(unsigned run, unsigned batch)
{
	return (batch / 20 + run) % 2 ? 12961 : 12500;
}

/* In no order, but too far apart for slow operations. */
static double torn(unsigned run, unsigned batch)
{
	return (batch * 7 + run) % 5 < 2 ? 20620 : 18330;
}

static double three(unsigned run, unsigned batch)
{
	(void)run;
	return batch < 40 ? 10000 : batch < 80 ? 11000 : 12500;
}

static void test_other_regimes(void **state)
{
	struct made m;

	(void)state;
	assert_int_equal(modes_of(&m, RUNS, BATCHES, by_perturbation, 0), 2);
	assert_int_equal(m.mode[0].perturbations, 3);
	assert_int_equal(m.mode[1].perturbations, 5);
	arena_done(&m.arena);
	assert_int_equal(modes_of(&m, 2, BATCHES, by_perturbation, 0), 2);
	arena_done(&m.arena);
	assert_int_equal(modes_of(&m, RUNS, BATCHES, back_and_forth, 0), 2);
	arena_done(&m.arena);
	assert_int_equal(modes_of(&m, RUNS, BATCHES, torn, 0), 2);
	arena_done(&m.arena);
	assert_int_equal(modes_of(&m, RUNS, BATCHES, three, 0), 3);
	arena_done(&m.arena);
	/* What one of eight does is a matter of its range. */
	assert_int_equal(modes_of(&m, RUNS, BATCHES, odd_one, 0), 0);
	arena_done(&m.arena);
}

static double flat(unsigned run, unsigned batch)
{
	(void)run;
	(void)batch;
	return 335;
}

static double refill(unsigned run, unsigned batch)
{
	return 264600 * ((batch + run) % 8 ? 1 : 1.03);
}

static double refill_often(unsigned run, unsigned batch)
{
	return 264600 * ((batch + run) % 4 ? 1 : 1.03);
}

static double refill_much(unsigned run, unsigned batch)
{
	return 13000 * ((batch + run) % 6 ? 1 : 1.2);
}

/* Four perturbations agree, the others with nobody. */
static double scattered(unsigned run, unsigned batch)
{
	static const double at[RUNS] = { 1, 1, 1, 1, 1.05, 1.059, 1.085, 1.094 };

	return 20000 * at[run] + batch % 2;
}

static double rare(unsigned run, unsigned batch)
{
	return batch == 10 * run ? 9000 : batch == 77 ? 500 : 335;
}

static double drift(unsigned run, unsigned batch)
{
	return 10000 + 12 * batch + run;
}

static double two_near(unsigned run, unsigned batch)
{
	(void)run;
	return batch < 60 ? 10000 : 10080;
}

static double zero(unsigned run, unsigned batch)
{
	(void)run;
	(void)batch;
	return 0;
}

static double spread_of;

static double noise(unsigned run, unsigned batch)
{
	(void)run;
	(void)batch;
	return 20000 * exp(spread_of * normal());
}

static double offsets[RUNS];

static double offset(unsigned run, unsigned batch)
{
	return 20000 * offsets[run] + batch % 2;
}

static void test_no_regimes(void **state)
{
	static double (*const value[])(unsigned, unsigned) = { flat, refill,	  refill_often,
							       rare, drift,	  two_near,
							       zero, refill_much, scattered };
	static const double spreads[] = { .001, .005, .02, .1, .3 };
	struct made m;
	unsigned i, k, found = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(value); i++) {
		if (modes_of(&m, RUNS, BATCHES, value[i], 0))
			fail_msg("case %u has regimes", i);
		arena_done(&m.arena);
	}
	seed = 42;
	for (i = 0; i < 400; i++) {
		spread_of = spreads[i % ARRAY_SIZE(spreads)];
		found += modes_of(&m, RUNS, i % 2 ? BATCHES : 6, noise, 0) > 0;
		arena_done(&m.arena);
	}
	assert_int_equal(found, 0);
	/* Each perturbation has a value of its own, as fork does. */
	for (i = 0; i < 100; i++) {
		for (k = 0; k < RUNS; k++)
			offsets[k] = 1 + (i % 2 ? .013 : .05) * normal();
		found += modes_of(&m, RUNS, 20, offset, 0) > 0;
		arena_done(&m.arena);
	}
	assert_true(found <= 3);
}

/* Neither overhead nor ticks are looked at, unless there is nothing else. */
static void test_batches_chosen(void **state)
{
	struct exact_windows w = { .contexts = true };
	const struct exact_windows *list[2] = { &w, NULL };
	const struct compare_mode *mode;
	struct arena a = ARENA_INIT;
	unsigned i;

	(void)state;
	w.list = arena_array(&a, 120, sizeof(*w.list));
	for (i = 0; i < 40; i++) {
		xf_window(&w, 10, 3350, 0);
		xf_window(&w, 10, 500, 0)->overhead = true;
		if (i < 20)
			xf_tick(&w, 10, 3350, 4000);
	}
	assert_int_equal(compare_regimes(&a, list, 2, &mode), 0);
	assert_null(mode);
	w.n = 0;
	for (i = 0; i < 40; i++)
		xf_tick(&w, 1, i < 20 ? 5000000 : 6000000, 20000);
	assert_int_equal(compare_regimes(&a, list, 2, &mode), 2);
	assert_int_equal(mode[0].perturbations, 1);
	/* Nothing is no mode. */
	w.n = 0;
	assert_int_equal(compare_regimes(&a, list, 2, &mode), 0);
	assert_int_equal(compare_regimes(&a, list, 0, &mode), 0);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe_has_regimes),
		cmocka_unit_test(test_other_regimes),
		cmocka_unit_test(test_no_regimes),
		cmocka_unit_test(test_batches_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
