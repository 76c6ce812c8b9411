/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two kernels' profiles: what is real, why, renames; and the profiles of a dataset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile_fixture.h"

#define K EXACT_PERTURB_MIN

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.12g is not %.12g", a, b);
}

struct both {
	struct arena a;
	struct exact_profile *x[2][16];
	struct profile p[2];
	struct profile_diff d;
};

static void start(struct both *b)
{
	unsigned i, k;

	memset(b, 0, sizeof(*b));
	for (i = 0; i < 2; i++)
		for (k = 0; k < 16; k++)
			b->x[i][k] = pf_new(&b->a);
}

/* `name` in `side` (0, 1): so many counts and calls, the counts moved by `step` a perturbation. */
static void add(struct both *b, unsigned side, const char *name, uint64_t count, uint64_t calls,
		uint64_t step)
{
	unsigned k;

	for (k = 0; k < 16; k++)
		pf_add(b->x[side][k], name, 0x1000 * (b->x[side][k]->n + 1), count + step * k,
		       calls);
}

static void make(struct both *b, unsigned n, const struct profile_options *o)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct profile_set s = pf_set(&b->a, b->x[i], n);

		assert_int_equal(profile_make(&s, o, &b->a, &b->p[i], NULL), 0);
	}
	profile_diff_make(&b->p[0], &b->p[1], o, &b->a, &b->d);
}

static const struct profile_delta *row(const struct both *b, const char *name)
{
	const struct profile_delta *d = pf_row(&b->d, name);

	if (!d)
		fail_msg("no row of %s", name);
	return d;
}

static void several(struct both *b)
{
	start(b);
	add(b, 0, "same", 1000, 100, 3);
	add(b, 1, "same", 1000, 100, 3);
	add(b, 0, "more", 1000, 100, 1);
	add(b, 1, "more", 1008, 100, 1);
	add(b, 0, "touches", 1000, 100, 1);
	add(b, 1, "touches", 1007, 100, 1);
	add(b, 0, "fewer", 1000, 100, 0);
	add(b, 1, "fewer", 999, 100, 0);
	add(b, 0, "only_old", 100, 100, 0);
	add(b, 1, "only_new", 300, 100, 0);
}

static void test_marks(void **state)
{
	const struct profile_options o = { .windows = PROFILE_TYPICAL };
	double sum = 0;
	struct both b;
	size_t i;

	(void)state;
	several(&b);
	make(&b, K, &o);
	assert_true(b.d.judged);
	near(b.d.chance, 2. / 12870);
	assert_int_equal(row(&b, "same")->mark, PROFILE_SAME);
	assert_int_equal(row(&b, "more")->mark, PROFILE_MORE);
	/* The least of the new one is the most of the old one: they overlap. */
	assert_int_equal(row(&b, "touches")->mark, PROFILE_WITHIN);
	assert_int_equal(row(&b, "fewer")->mark, PROFILE_FEWER);
	assert_int_equal(row(&b, "only_old")->mark, PROFILE_FEWER);
	assert_int_equal(row(&b, "only_new")->mark, PROFILE_MORE);
	assert_int_equal(row(&b, "only_old")->why, PROFILE_ONLY_BASE);
	assert_int_equal(row(&b, "only_new")->why, PROFILE_ONLY_NEW);
	assert_null(row(&b, "only_new")->base);
	near(row(&b, "only_new")->diff, 3);
	assert_int_equal(b.d.total.mark, PROFILE_MORE);
	/* From the most added to the most saved. */
	assert_string_equal(b.d.rows[0].name, "only_new");
	assert_string_equal(b.d.rows[b.d.n - 1].name, "only_old");
	for (i = 0; i < b.d.n; i++)
		sum += b.d.rows[i].diff;
	near(sum, b.d.total.diff);
	near(sum, b.p[1].total.instructions - b.p[0].total.instructions);
	arena_done(&b.a);
}

static void test_not_judged(void **state)
{
	struct profile_options o = { .windows = PROFILE_TYPICAL };
	struct both b;
	size_t i;

	(void)state;
	several(&b);
	make(&b, K - 1, &o);
	assert_false(b.d.judged);
	assert_true(isnan(b.d.chance));
	for (i = 0; i < b.d.n; i++)
		assert_int_equal(b.d.rows[i].mark, !strcmp(b.d.rows[i].name, "same")
							   ? PROFILE_SAME
							   : PROFILE_UNJUDGED);
	o.no_marks = true;
	make(&b, 16, &o);
	assert_false(b.d.judged);
	assert_int_equal(row(&b, "more")->mark, PROFILE_UNJUDGED);
	o.no_marks = false;
	make(&b, 16, &o);
	assert_true(b.d.judged);
	/* Of 16 each the steps are wider than the difference. */
	assert_int_equal(row(&b, "more")->mark, PROFILE_WITHIN);
	assert_int_equal(row(&b, "fewer")->mark, PROFILE_FEWER);
	assert_true(b.d.chance < 1e-8 && b.d.chance > 0);
	arena_done(&b.a);
}

/* The same kernel under other perturbations, in any order: no row is real. */
static void test_null(void **state)
{
	const struct profile_options o = { .windows = PROFILE_TYPICAL };
	struct both b;
	unsigned k;
	size_t i;

	(void)state;
	start(&b);
	for (k = 0; k < 16; k++) {
		struct exact_profile *x = b.x[k % 2][k / 2];

		pf_add(x, "a", 0x1000, 1000 + (k * 7) % 16, 100 + k % 3);
		pf_add(x, "b", 0x2000, 5000 + (k * 5) % 11, 100);
		if (k % 5 == 0)
			pf_add(x, "seldom", 0x3000, 30, 1);
	}
	make(&b, K, &o);
	for (i = 0; i < b.d.n; i++)
		assert_true(b.d.rows[i].mark < PROFILE_MORE);
	arena_done(&b.a);
}

static void why_is(const struct both *b, const char *name, const char *want)
{
	char buf[80];

	profile_why_text(row(b, name)->why, buf, sizeof(buf));
	assert_string_equal(buf, want);
}

static void test_why(void **state)
{
	const struct profile_options o = { .windows = PROFILE_TYPICAL };
	char small[8];
	struct both b;

	(void)state;
	start(&b);
	add(&b, 0, "often", 1000, 100, 0);
	add(&b, 1, "often", 2000, 200, 0);
	add(&b, 0, "longer", 1000, 100, 0);
	add(&b, 1, "longer", 1100, 100, 0);
	add(&b, 0, "both", 1000, 100, 0);
	add(&b, 1, "both", 3000, 200, 0);
	add(&b, 0, "less", 1000, 100, 0);
	add(&b, 1, "less", 500, 50, 0);
	add(&b, 0, "shorter", 1000, 100, 0);
	add(&b, 1, "shorter", 900, 100, 0);
	add(&b, 0, "mixed", 1000, 100, 0);
	add(&b, 1, "mixed", 1200, 200, 0);
	/* 1 call of 1000 more, and 2 instructions each: the calls are no tenth of it. */
	add(&b, 0, "mostly", 100000, 1000, 0);
	add(&b, 1, "mostly", 102102, 1001, 0);
	add(&b, 0, "jumped_to", 100, 0, 0);
	add(&b, 1, "jumped_to", 200, 0, 0);
	make(&b, K, &o);
	why_is(&b, "often", "called more often");
	why_is(&b, "longer", "longer per call");
	why_is(&b, "both", "called more often, longer per call");
	why_is(&b, "less", "called less often");
	why_is(&b, "shorter", "shorter per call");
	why_is(&b, "mixed", "called more often, shorter per call");
	why_is(&b, "mostly", "longer per call");
	why_is(&b, "jumped_to", "");
	profile_why_text(PROFILE_CALLED_MORE, small, sizeof(small));
	assert_string_equal(small, "called ");
	arena_done(&b.a);
}

static void test_order_of_ties(void **state)
{
	const struct profile_options o = { .windows = PROFILE_TYPICAL };
	static const char *const want[] = { "a", "b", "m", "y", "z" };
	struct both b;
	size_t i;

	(void)state;
	start(&b);
	add(&b, 0, "m", 100, 1, 0);
	add(&b, 1, "m", 100, 1, 0);
	add(&b, 1, "b", 500, 10, 0);
	add(&b, 1, "a", 500, 10, 0);
	add(&b, 0, "z", 500, 10, 0);
	add(&b, 0, "y", 500, 10, 0);
	make(&b, K, &o);
	for (i = 0; i < 5; i++)
		assert_string_equal(b.d.rows[i].name, want[i]);
	arena_done(&b.a);
}

static void test_renames(void **state)
{
	const struct profile_options o = { .windows = PROFILE_TYPICAL };
	const struct profile_delta *old, *new;
	struct both b;
	double sum;

	(void)state;
	start(&b);
	add(&b, 0, "pipe_write", 2000, 100, 0);
	add(&b, 1, "pipe_write", 2000, 100, 0);
	add(&b, 0, "wait_for_readers", 700, 100, 0);
	add(&b, 1, "__wait_for_readers", 750, 100, 0);
	add(&b, 1, "quite_another", 10, 1, 0);
	add(&b, 0, "0xffffffff81000000", 10, 1, 0);
	make(&b, K, &o);
	old = row(&b, "wait_for_readers");
	new = row(&b, "__wait_for_readers");
	/* Two rows, each of which names the other. */
	assert_ptr_equal(&b.d.rows[old->twin], new);
	assert_ptr_equal(&b.d.rows[new->twin], old);
	assert_string_equal(old->twin_why, "underscore");
	near(old->diff, -7);
	near(new->diff, 7.5);
	assert_int_equal(row(&b, "quite_another")->twin, -1);
	assert_int_equal(row(&b, "pipe_write")->twin, -1);
	assert_int_equal(row(&b, PROFILE_NO_SYMBOL)->twin, -1);
	sum = old->diff + new->diff + row(&b, "quite_another")->diff +
	      row(&b, PROFILE_NO_SYMBOL)->diff;
	near(sum, b.d.total.diff);
	arena_done(&b.a);
}

/* Addresses of two kernels pair nothing: no list of -100 % and +100 %. */
static void test_no_symbols(void **state)
{
	struct profile_options o = { .windows = PROFILE_TYPICAL };
	struct profile_delta top[3];
	const struct exact_profile *list[2][K];
	struct both b;
	unsigned i, k;

	(void)state;
	start(&b);
	add(&b, 0, "[user]", 9000, 0, 0);
	add(&b, 1, "[user]", 9000, 0, 0);
	for (i = 0; i < 2; i++)
		for (k = 0; k < K; k++)
			b.x[i][k]->symbols[0].addr = 0;
	add(&b, 0, "0xffffffff81000000", 500, 0, 0);
	add(&b, 1, "0xffffffff81000040", 510, 0, 0);
	make(&b, K, &o);
	assert_true(b.d.unranked);
	assert_int_equal(b.d.n, 0);
	near(b.d.total.diff, .1);
	assert_int_equal(b.d.total.mark, PROFILE_MORE);
	for (i = 0; i < 2; i++)
		for (k = 0; k < K; k++)
			list[i][k] = b.x[i][k];
	assert_int_equal(profile_top(list[0], K, list[1], K, PROFILE_TYPICAL, &b.a, top, 3), 0);
	/* A few are a row like others. */
	add(&b, 0, "f", 9000, 100, 0);
	add(&b, 1, "f", 9000, 100, 0);
	make(&b, K, &o);
	assert_false(b.d.unranked);
	near(row(&b, PROFILE_NO_SYMBOL)->diff, .1);
	/* Asked for, they are all there. */
	o.addresses = o.no_fold = true;
	make(&b, K, &o);
	assert_int_equal(row(&b, "0xffffffff81000000")->why, PROFILE_ONLY_BASE);
	arena_done(&b.a);
}

static void test_top(void **state)
{
	const struct exact_profile *list[2][K];
	struct profile_delta top[4];
	struct both b;
	unsigned i, k;

	(void)state;
	start(&b);
	add(&b, 0, "noisy", 1000, 100, 100);
	add(&b, 1, "noisy", 1500, 100, 100);
	add(&b, 0, "saved", 1000, 100, 0);
	add(&b, 1, "saved", 800, 100, 0);
	add(&b, 0, "added", 1000, 100, 0);
	add(&b, 1, "added.isra.0", 1100, 100, 0);
	add(&b, 0, "same", 5000, 100, 0);
	add(&b, 1, "same", 5000, 100, 0);
	for (i = 0; i < 2; i++)
		for (k = 0; k < K; k++)
			list[i][k] = b.x[i][k];
	assert_int_equal(profile_top(list[0], K, list[1], K, PROFILE_TYPICAL, &b.a, top, 4), 3);
	assert_string_equal(top[0].name, "saved");
	near(top[0].diff, -2);
	assert_string_equal(top[1].name, "added");
	/* The largest, but it may be the perturbations. */
	assert_string_equal(top[2].name, "noisy");
	assert_int_equal(profile_top(list[0], K, list[1], K, PROFILE_TYPICAL, &b.a, top, 1), 1);
	assert_string_equal(top[0].name, "saved");
	assert_int_equal(profile_top(list[0], K, list[1], 0, PROFILE_TYPICAL, &b.a, top, 4), 0);
	arena_done(&b.a);
}

/* ---- a dataset's ---- */

/* A dataset of two kernels, so many perturbations of getppid each. */
static struct exact_profile *filled(struct fx *f, unsigned kernels, unsigned n)
{
	struct exact_profile *last = NULL;
	unsigned i, k;

	xf_start(f, "kdelta vm --exact old new");
	for (i = 0; i < kernels; i++) {
		unsigned kernel =
			fx_kernel(f, i ? "new" : "old", "6.1.0", i ? "bb" : "aa", "", NULL);
		unsigned boot = fx_boot_state(f, kernel, DS_OK, NULL);

		for (k = 0; k < n; k++) {
			last = pf_new(&f->d.arena);
			pf_add(last, "[user]", 0, 2000, 0);
			pf_add(last, "do_syscall_64", 0x1000, 3000 + 100 * i, 100);
			xf_invocation(f, boot, "syscall", "getppid", "", k,
				      pf_windows(&f->d.arena, last), last);
		}
	}
	dataset_finish(&f->d);
	return last;
}

static int points_of(struct fx *f, const char *spec, struct profile_points *p, struct error *e)
{
	const char *specs[] = { spec, NULL };

	error_clear(e);
	return profile_points_make(&f->d, spec ? specs : NULL, p, e);
}

static void test_points(void **state)
{
	struct profile_points p;
	struct error e = ERROR_INIT;
	struct fx f;

	(void)state;
	filled(&f, 2, 8);
	assert_int_equal(points_of(&f, NULL, &p, &e), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.list[0].workload, "getppid");
	assert_int_equal(p.list[0].sets[0].n, 8);
	assert_int_equal(p.list[0].sets[1].n, 8);
	assert_int_equal(p.list[0].sets[1].perturb[7], 7);
	assert_int_equal(p.list[0].cpus, 1);
	profile_points_done(&p);
	assert_int_equal(points_of(&f, "getppid", &p, &e), 0);
	profile_points_done(&p);
	assert_int_equal(points_of(&f, "pipe", &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "'pipe'"));
	assert_non_null(strstr(e.text, "getppid"));
	dataset_done(&f.d);
}

static void test_no_results(void **state)
{
	struct profile_points p;
	struct error e = ERROR_INIT;
	struct fx f;

	(void)state;
	filled(&f, 2, 0);
	assert_int_equal(points_of(&f, NULL, &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "kdelta vm --exact"));
	dataset_done(&f.d);
	/* Of a failed invocation, of another class: no number. */
	filled(&f, 1, 2);
	f.d.invocations[0].state = DS_FAILED;
	f.d.invocations[1].class = "emulated";
	assert_int_equal(points_of(&f, NULL, &p, &e), -ENOENT);
	dataset_done(&f.d);
}

/* Whatever does not hold together is an error that says what, not a table. */
static void test_disagreement(void **state)
{
	struct exact_profile *x;
	struct profile_points p;
	struct error e = ERROR_INIT;
	struct fx f;
	unsigned i;

	(void)state;
	for (i = 0; i < 7; i++) {
		x = filled(&f, 2, 8);
		if (i == 0)
			x->symbols[1].count[EXACT_CLEAN]++;
		else if (i == 1)
			x->symbols[1].count[EXACT_OTHER]--;
		else if (i == 2)
			x->ops[EXACT_CLEAN]--;
		else if (i == 3)
			x->windows[EXACT_OTHER]++;
		else if (i == 4)
			f.d.invocations[15].windows = NULL;
		else if (i == 5)
			x->symbols[0].count[EXACT_CLEAN] = UINT64_MAX;
		else
			x->n = 0;
		assert_int_equal(points_of(&f, NULL, &p, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "getppid"));
		assert_non_null(strstr(e.text, "windows"));
		dataset_done(&f.d);
	}
	/* The metric that was stored says something else. */
	filled(&f, 2, 8);
	for (i = 0; i < f.d.n_series; i++)
		if (!strcmp(f.d.series[i].metric.name, "total"))
			f.d.series[i].points[3].values[0] += .001;
	assert_int_equal(points_of(&f, NULL, &p, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "total"));
	dataset_done(&f.d);
}

/* Of 3 of one seed and 3 of another: two perturbations; 0 is no perturbation under any seed. */
static void test_seeds(void **state)
{
	struct ds_experiment other = { .id = "77", .seed = 43 };
	struct profile_points p;
	struct error e = ERROR_INIT;
	struct fx f;
	unsigned i;

	(void)state;
	filled(&f, 1, 4);
	i = dataset_experiment(&f.d, &other);
	f.d.boots[0].experiment = 0;
	{
		struct ds_boot boot = { .id = "c", .kernel = 0, .experiment = i, .state = DS_OK };
		unsigned b = dataset_boot(&f.d, &boot), k;

		for (k = 0; k < 4; k++) {
			struct exact_profile *x = pf_new(&f.d.arena);

			pf_add(x, "do_syscall_64", 0x1000, 3000, 100);
			xf_invocation(&f, b, "syscall", "getppid", "", k, pf_windows(&f.d.arena, x),
				      x);
		}
	}
	assert_int_equal(points_of(&f, NULL, &p, &e), 0);
	assert_int_equal(p.list[0].sets[0].n, 8);
	assert_int_equal(p.list[0].sets[0].perturb[7], 6);
	profile_points_done(&p);
	dataset_done(&f.d);
}

/* Numbers of other contexts never meet. */
static void test_contexts(void **state)
{
	struct profile_points p;
	struct error e = ERROR_INIT;
	struct fx f;
	unsigned i;

	(void)state;
	filled(&f, 2, 8);
	for (i = 8; i < 16; i++)
		f.d.invocations[i].context = "{\"qemu\":\"10.0.2\",\"cpus\":2}";
	assert_int_equal(points_of(&f, NULL, &p, &e), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.list[0].sets[1].n, 0);
	assert_int_equal(p.list[1].sets[0].n, 0);
	assert_int_equal(p.list[1].sets[1].n, 8);
	assert_int_equal(p.list[1].cpus, 2);
	assert_int_equal(p.list[1].context_number, 2);
	profile_points_done(&p);
	dataset_done(&f.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),	      cmocka_unit_test(test_not_judged),
		cmocka_unit_test(test_null),	      cmocka_unit_test(test_why),
		cmocka_unit_test(test_order_of_ties), cmocka_unit_test(test_renames),
		cmocka_unit_test(test_no_symbols),    cmocka_unit_test(test_top),
		cmocka_unit_test(test_points),	      cmocka_unit_test(test_no_results),
		cmocka_unit_test(test_disagreement),  cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
