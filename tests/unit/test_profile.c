/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One kernel's profile: means, folding, calls and callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "profile_fixture.h"

static const struct profile_options typical = { .windows = PROFILE_TYPICAL };

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.12g is not %.12g", a, b);
}

static double sum_of(const struct profile *p)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		sum += p->symbols[i].instructions;
	return sum;
}

static struct profile make(struct arena *a, struct exact_profile *const *list, size_t n,
			   const struct profile_options *o)
{
	struct profile_set s = pf_set(a, list, n);
	struct error e = ERROR_INIT;
	struct profile p;

	if (profile_make(&s, o, a, &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static const struct profile_symbol *get(const struct profile *p, const char *name)
{
	const struct profile_symbol *s = profile_find(p, name, NULL);

	if (!s)
		fail_msg("no %s", name);
	return s;
}

static void test_mean_and_range(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_profile *x[2] = { pf_new(&a), pf_new(&a) };
	struct profile p;

	(void)state;
	pf_add(x[0], "[user]", 0, 2000, 0);
	pf_add(x[0], "b", 0x1000, 1000, 100);
	pf_add(x[1], "[user]", 0, 2000, 0);
	pf_add(x[1], "b", 0x1000, 3000, 200);
	pf_add(x[1], "a", 0x2000, 50, 1);
	p = make(&a, x, 2, &typical);
	assert_int_equal(p.n, 3);
	assert_int_equal(p.perturbations, 2);
	assert_int_equal(p.ops, 200);
	assert_int_equal(p.windows, 20);
	assert_string_equal(p.symbols[0].name, "[user]");
	assert_string_equal(p.symbols[1].name, "a");
	near(get(&p, "b")->instructions, 20);
	near(get(&p, "b")->least, 10);
	near(get(&p, "b")->most, 30);
	near(get(&p, "b")->calls, 1.5);
	/* It did not run in one: that is 0 there, and known. */
	near(get(&p, "a")->instructions, .25);
	near(get(&p, "a")->least, 0);
	near(get(&p, "a")->most, .5);
	/* What user space calls is not known. */
	assert_true(isnan(get(&p, "[user]")->calls));
	near(p.total.instructions, 40.25);
	near(p.total.least, 30);
	near(p.total.most, 50.5);
	near(sum_of(&p), p.total.instructions);
	arena_done(&a);
}

static void test_windows(void **state)
{
	const struct profile_options total = { .windows = PROFILE_TOTAL };
	struct arena a = ARENA_INIT;
	struct exact_profile *x[2] = { pf_new(&a), pf_new(&a) };
	struct profile_set s = pf_set(&a, x, 2);
	struct error e = ERROR_INIT;
	struct profile p;

	(void)state;
	pf_add(x[0], "a", 0x1000, 1000, 100);
	pf_add(x[0], "tick", 0x2000, 0, 0);
	x[0]->symbols[1].count[EXACT_OTHER] = 600;
	x[0]->symbols[1].calls[EXACT_OTHER] = 2;
	pf_edge(x[0], 1, 0, 0);
	x[0]->edges[0].calls[EXACT_OTHER] = 20;
	x[1] = pf_new(&a);
	pf_add(x[1], "a", 0x1000, 0, 0);
	x[1]->symbols[0].count[EXACT_OTHER] = 240;
	x[1]->ops[EXACT_CLEAN] = x[1]->windows[EXACT_CLEAN] = 0;
	p = make(&a, x, 1, &typical);
	assert_int_equal(p.n, 1);
	assert_null(profile_find(&p, "tick", NULL));
	assert_int_equal(p.n_edges, 0);
	near(p.total.instructions, 10);
	p = make(&a, x, 1, &total);
	near(get(&p, "tick")->instructions, 5);
	near(p.total.instructions, 15);
	assert_int_equal(p.ops, 120);
	assert_int_equal(p.n_edges, 1);
	/* Without a clean window: missing, and no 0 in a mean. */
	p = make(&a, x, 2, &typical);
	near(get(&p, "a")->instructions, 10);
	near(get(&p, "a")->least, 10);
	assert_int_equal(p.left_out, 1);
	assert_int_equal(p.perturbations, 1);
	p = make(&a, x, 2, &total);
	near(get(&p, "a")->instructions, 11);
	assert_int_equal(p.left_out, 0);
	s = pf_set(&a, &x[1], 1);
	assert_int_equal(profile_make(&s, &typical, &a, &p, &e), -ENODATA);
	assert_non_null(strstr(e.text, "--total"));
	s.n = 0;
	assert_int_equal(profile_make(&s, &typical, &a, &p, NULL), -ENODATA);
	arena_done(&a);
}

/* The same perturbation again is in the range, and not again in the mean. */
static void test_repeated(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_profile *x[3] = { pf_new(&a), pf_new(&a), pf_new(&a) };
	const unsigned perturb[] = { 0, 0, 1 };
	struct profile_set s = pf_set(&a, x, 3);
	struct profile p;

	(void)state;
	pf_add(x[0], "a", 0x1000, 1000, 100);
	pf_add(x[1], "a", 0x1000, 9000, 300);
	pf_add(x[2], "a", 0x1000, 2000, 200);
	s.perturb = perturb;
	assert_int_equal(profile_make(&s, &typical, &a, &p, NULL), 0);
	assert_int_equal(p.perturbations, 2);
	near(get(&p, "a")->instructions, 15);
	near(get(&p, "a")->calls, 1.5);
	near(get(&p, "a")->most, 90);
	arena_done(&a);
}

static struct exact_profile *compiled(struct arena *a)
{
	struct exact_profile *x = pf_new(a);
	unsigned caller, f, part, cold, label;

	caller = pf_add(x, "caller", 0x1000, 1000, 100);
	f = pf_add(x, "f", 0x2000, 500, 100);
	label = pf_add(x, ".E_copy", 0x2040, 70, 10);
	part = pf_add(x, "f.part.0", 0x3000, 300, 30);
	pf_add(x, "g.isra.0", 0x4000, 200, 20);
	pf_add(x, "g.constprop.1", 0x4100, 100, 10);
	cold = pf_add(x, "f.cold", 0x9000, 40, 5);
	pf_edge(x, caller, f, 60);
	pf_edge(x, caller, part, 10);
	pf_edge(x, f, part, 20);
	pf_edge(x, cold, f, 5); /* back into its middle */
	pf_edge(x, label, f, 3);
	return x;
}

static void test_fold(void **state)
{
	const struct profile_options no_fold = { .no_fold = true };
	struct arena a = ARENA_INIT;
	struct exact_profile *x = compiled(&a);
	struct profile p = make(&a, &x, 1, &typical);
	const struct profile_symbol *f = get(&p, "f");

	(void)state;
	assert_int_equal(p.n, 3);
	near(f->instructions, 9.1);
	/* From outside: 100 of f, and 30 of its part less the 20 by f itself; none of .cold. */
	near(f->calls, 1.1);
	assert_int_equal(f->addr, 0x2000);
	assert_int_equal(f->n_edges, 1);
	assert_string_equal(p.symbols[p.edges[f->first_edge].from].name, "caller");
	near(p.edges[f->first_edge].calls, .7);
	near(get(&p, "g")->instructions, 3);
	near(get(&p, "g")->calls, .3);
	near(p.total.instructions, 22.1);
	p = make(&a, &x, 1, &no_fold);
	assert_int_equal(p.n, 7);
	near(get(&p, "f.cold")->calls, .05);
	near(get(&p, "f")->calls, 1);
	near(get(&p, "f.part.0")->calls, .3);
	assert_int_equal(get(&p, "f.part.0")->n_edges, 2);
	near(get(&p, ".E_copy")->instructions, .7);
	near(p.total.instructions, 22.1);
	arena_done(&a);
}

/* A label whose function is not near, or of another module, stays what it is. */
static void test_fold_label(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_profile *x = pf_new(&a);
	struct profile p;

	(void)state;
	pf_add(x, ".first", 0x100, 100, 1);
	pf_add(x, "f", 0x1000, 100, 1);
	pf_add(x, ".far", 0x9000, 100, 1);
	pf_add(x, "g", 0xa000, 100, 1);
	pf_add(x, ".other", 0xa040, 100, 1);
	x->symbols[4].module = "ext4";
	p = make(&a, &x, 1, &typical);
	assert_int_equal(p.n, 5);
	near(p.total.instructions, 5);
	arena_done(&a);
}

/* Two functions of one name cannot be told apart between kernels: one line, and it says so. */
static void test_alike(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_profile *x[2] = { pf_new(&a), pf_new(&a) };
	struct profile p;

	(void)state;
	pf_add(x[0], "t_next", 0x1000, 100, 10);
	pf_add(x[0], "t_next", 0x2000, 300, 10);
	pf_add(x[0], "once", 0x3000, 300, 10);
	pf_add(x[0], "t_next", 0x4000, 100, 10);
	x[0]->symbols[3].module = "m";
	pf_add(x[1], "t_next", 0x1000, 100, 10);
	pf_add(x[1], "once", 0x3000, 300, 10);
	p = make(&a, x, 2, &typical);
	assert_int_equal(p.n, 3);
	assert_int_equal(profile_find(&p, "t_next", NULL)->alike, 2);
	near(profile_find(&p, "t_next", NULL)->instructions, 2.5);
	assert_int_equal(profile_find(&p, "t_next", "m")->alike, 1);
	assert_int_equal(get(&p, "once")->alike, 1);
	arena_done(&a);
}

static void test_addresses(void **state)
{
	const struct profile_options apart = { .addresses = true };
	struct arena a = ARENA_INIT;
	struct exact_profile *x = pf_new(&a);
	struct profile p;

	(void)state;
	pf_add(x, "f", 0x1000, 100, 1);
	pf_add(x, "0xffffffff81000000", 0xffffffff81000000, 500, 0);
	pf_add(x, "0xffffffff81000040", 0xffffffff81000040, 300, 0);
	p = make(&a, &x, 1, &typical);
	assert_int_equal(p.n, 2);
	near(get(&p, PROFILE_NO_SYMBOL)->instructions, 8);
	assert_true(isnan(get(&p, PROFILE_NO_SYMBOL)->calls));
	assert_int_equal(p.n_address, 2);
	near(p.by_address, 8);
	p = make(&a, &x, 1, &apart);
	assert_int_equal(p.n, 3);
	near(get(&p, "0xffffffff81000040")->instructions, 3);
	assert_int_equal(p.n_address, 2);
	near(p.by_address, 8);
	arena_done(&a);
}

static void test_edges(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_profile *x[2] = { pf_new(&a), pf_new(&a) };
	const struct profile_symbol *f;
	struct profile p;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		pf_add(x[i], "a", 0x1000, 100, 100);
		pf_add(x[i], "b", 0x2000, 100, 100);
		pf_add(x[i], "f", 0x3000, 900, 200);
		pf_edge(x[i], 0, 2, 20);
		pf_edge(x[i], 1, 2, 100 + 40 * i);
		pf_edge(x[i], 2, 2, 10); /* recursion is a call */
	}
	p = make(&a, x, 2, &typical);
	f = get(&p, "f");
	assert_int_equal(f->n_edges, 3);
	near(p.edges[f->first_edge].calls, 1.2);
	assert_string_equal(p.symbols[p.edges[f->first_edge].from].name, "b");
	near(p.edges[f->first_edge + 1].calls, .2);
	near(p.edges[f->first_edge + 2].calls, .1);
	assert_string_equal(p.symbols[p.edges[f->first_edge + 2].from].name, "f");
	near(f->calls, 2);
	assert_int_equal(get(&p, "a")->n_edges, 0);
	arena_done(&a);
}

static void test_matches(void **state)
{
	(void)state;
	assert_true(profile_matches("pipe", "pipe", "place=same"));
	assert_true(profile_matches("pipe", "pipe", NULL));
	assert_false(profile_matches("pip", "pipe", ""));
	assert_false(profile_matches("pipes", "pipe", ""));
	assert_true(profile_matches("ctx:procs=2", "ctx", "procs=2,size=0"));
	assert_true(profile_matches("ctx:procs=8+2,size=0", "ctx", "procs=2,size=0"));
	assert_false(profile_matches("ctx:procs=8+16", "ctx", "procs=2,size=0"));
	assert_false(profile_matches("ctx:proc=2", "ctx", "procs=2,size=0"));
	assert_false(profile_matches("ctx:procs=2,other=1", "ctx", "procs=2,size=0"));
	assert_true(profile_matches("ctx:size=65536", "ctx", "procs=2,size=64KiB"));
	assert_true(profile_matches("cmd:run=\"a,b=1\"", "cmd", "run=\"a,b=1\",x=2"));
	assert_false(profile_matches("cmd:b=1", "cmd", "run=\"a,b=1\""));
	assert_false(profile_matches("ctx:procs", "ctx", "procs=2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_and_range), cmocka_unit_test(test_windows),
		cmocka_unit_test(test_repeated),       cmocka_unit_test(test_fold),
		cmocka_unit_test(test_fold_label),     cmocka_unit_test(test_alike),
		cmocka_unit_test(test_addresses),      cmocka_unit_test(test_edges),
		cmocka_unit_test(test_matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
