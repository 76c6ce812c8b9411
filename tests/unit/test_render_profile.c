/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles in print, against tests/golden/profile_*; UPDATE_GOLDEN=1 writes them anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile_fixture.h"
#include "render/profile.h"
#include "render_fixture.h"

#define K	 EXACT_PERTURB_MIN
#define LONGNAME "a_function_with_a_name_that_is_so_long_that_no_column_of_a_table_could_hold"

struct page {
	struct arena a;
	struct exact_profile *x[2][K];
	struct profile_point point;
	struct ds_kernel kernel[3];
	struct profile p[2];
	struct profile_diff d;
	struct profile_table table[3];
	struct profile_report report;
	struct profile_show show;
};

static void start(struct page *g)
{
	static const struct profile_show show = PROFILE_SHOW_INIT;
	unsigned i, k;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < 2; i++)
		for (k = 0; k < K; k++)
			g->x[i][k] = pf_new(&g->a);
	g->point = (struct profile_point){ .workload = "pipe",
					   .params = "place=same",
					   .op = "round trip",
					   .context = XF_CONTEXT,
					   .workload_version = 1,
					   .context_number = 1,
					   .cpus = 1 };
	g->kernel[0].label = "old";
	g->kernel[1].label = "new";
	g->kernel[2].label = "newer";
	g->show = show;
}

static unsigned add(struct page *g, unsigned side, const char *name, uint64_t count, uint64_t calls,
		    uint64_t step)
{
	unsigned k, n = 0;

	for (k = 0; k < K; k++) {
		uint64_t addr = 0xffffffff81000000 + 0x1000 * (g->x[side][k]->n + 1);

		n = pf_add(g->x[side][k], name, *name == '[' ? 0 : addr, count + step * k, calls);
	}
	return n;
}

static void edge(struct page *g, unsigned side, unsigned from, unsigned to, uint64_t calls)
{
	unsigned k;

	for (k = 0; k < K; k++)
		pf_edge(g->x[side][k], from, to, calls);
}

/* `n` perturbations of both, or of the first kernel alone. */
static void make(struct page *g, bool pair, unsigned n)
{
	const struct profile_options o = { .windows = g->report.windows,
					   .addresses = !pair,
					   .no_marks = g->point.cpus > 1 };
	unsigned i;

	for (i = 0; i < (pair ? 2u : 1u); i++) {
		struct profile_set s = pf_set(&g->a, g->x[i], n);

		assert_int_equal(profile_make(&s, &o, &g->a, &g->p[i], NULL), 0);
	}
	g->table[0] = (struct profile_table){ .point = &g->point, .base = &g->kernel[0] };
	if (pair) {
		profile_diff_make(&g->p[0], &g->p[1], &o, &g->a, &g->d);
		g->table[0].new = &g->kernel[1];
		g->table[0].diff = &g->d;
	} else {
		g->table[0].profile = &g->p[0];
	}
	g->report.tables = g->table;
	g->report.n = 1;
}

static void check_profile_json(const struct str *out)
{
	json_t *j = json_loads(str_get(out), JSON_REJECT_DUPLICATES, NULL), *t, *s;
	size_t i, k;

	assert_non_null(j);
	json_array_foreach (json_object_get(j, "profiles"), i, t) {
		double sum = json_number_value(
			json_object_get(json_object_get(t, "left_out"), "difference"));
		const json_t *total = json_object_get(json_object_get(t, "total"), "difference");

		if (!total || json_is_true(json_object_get(t, "unranked")))
			continue;
		json_array_foreach (json_object_get(t, "symbols"), k, s)
			sum += json_number_value(json_object_get(s, "difference"));
		json_array_foreach (json_object_get(t, "waiting"), k, s)
			sum += json_number_value(json_object_get(s, "difference"));
		assert_true(fabs(sum - json_number_value(total)) < 1e-6);
	}
	assert_null(strstr(str_get(out), "nan"));
	json_decref(j);
}

/* Forms: t text, C classic, f folded, c csv, j json. */
static void check_page(struct page *g, const char *name, const char *forms)
{
	static const struct {
		char form;
		const char *end;
		void (*render)(const struct profile_report *r, const struct profile_show *s,
			       struct str *out);
	} all[] = {
		{ 't', ".txt", render_profile_text },
		{ 'C', "_classic.txt", render_profile_classic },
		{ 'f', ".folded", render_profile_folded },
		{ 'c', ".csv", render_profile_csv },
		{ 'j', ".json", render_profile_json },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct str out = STR_INIT;
		char *file = mem_printf("profile_%s%s", name, all[i].end);

		all[i].render(&g->report, &g->show, &out);
		if (all[i].form == 'c')
			check_csv(&out);
		if (all[i].form == 'j')
			check_profile_json(&out);
		if (strchr(forms, all[i].form)) {
			if (all[i].form == 't')
				check_width(&out);
			golden(file, &out);
		}
		str_done(&out);
		free(file);
	}
	arena_done(&g->a);
}

static void pipe_pair(struct page *g)
{
	unsigned i, w[2], t[2], c[2];

	start(g);
	for (i = 0; i < 2; i++)
		add(g, i, "[user]", 19000, 0, 0);
	add(g, 0, "__get_task_ioprio", 10800, 400, 0);
	add(g, 1, "__get_task_ioprio", 12400, 400, 0);
	add(g, 0, "exit_to_user_mode_prepare", 12000, 400, 0);
	add(g, 1, "exit_to_user_mode_prepare", 12420, 400, 0);
	add(g, 0, "dequeue_task_fair", 17600, 200, 9);
	add(g, 1, "dequeue_task_fair", 17630, 200, 9);
	add(g, 0, "psi_group_change", 41000, 600, 3);
	add(g, 1, "psi_group_change", 40690, 590, 3);
	add(g, 0, "kmem_cache_alloc", 900, 10, 0);
	add(g, 1, "kmem_cache_alloc", 1800, 20, 0);
	for (i = 0; i < 2; i++) {
		w[i] = add(g, i, "pipe_write", 30000, 200, 0);
		c[i] = add(g, i, "pipe_read", 20000, 200, 0);
	}
	t[0] = add(g, 0, "wake_up_readers", 4000, 200, 0);
	t[1] = add(g, 1, "__wake_up_readers", 4100, 200, 0);
	add(g, 0, "total", 500, 10, 0);
	add(g, 1, "total", 800, 10, 0);
	add(g, 0, "gone_for_good", 150, 5, 0);
	add(g, 1, "seldom", 1, 1, 0);
	edge(g, 0, w[0], t[0], 150);
	edge(g, 1, w[1], t[1], 170);
	edge(g, 0, c[0], w[0], 30);
	edge(g, 1, c[1], w[1], 80);
}

static void test_pair(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	make(&g, true, K);
	check_page(&g, "pair", "tCfcj");
}

static void test_pair_all(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	g.show.all = true;
	make(&g, true, K);
	check_page(&g, "pair_all", "tC");
}

/* The cut is said, and its sum. */
static void test_pair_cut(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	g.show.min = 2;
	g.show.top = 4;
	g.report.windows = PROFILE_TOTAL;
	make(&g, true, K);
	check_page(&g, "pair_cut", "tCfcj");
}

static void test_pair_few(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	make(&g, true, 2);
	check_page(&g, "pair_few", "tC");
}

static void test_one(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	make(&g, false, K);
	check_page(&g, "one", "tCfcj");
}

static void test_one_cut(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	g.show.min = 10;
	g.show.top = 5;
	make(&g, false, 1);
	check_page(&g, "one_cut", "tC");
}

static void test_callers(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	g.show.callers = "pipe_write";
	make(&g, true, K);
	check_page(&g, "callers", "tcj");
	pipe_pair(&g);
	g.show.callers = "pipe_write";
	make(&g, false, K);
	check_page(&g, "callers_one", "tcj");
	pipe_pair(&g);
	g.show.callers = "wake_up_readers";
	make(&g, true, K);
	check_page(&g, "callers_gone", "t");
	pipe_pair(&g);
	g.show.callers = "nowhere";
	make(&g, true, K);
	check_page(&g, "callers_none", "t");
}

/* Jumps into the middle of a function are no calls of it. */
static void test_callers_middle(void **state)
{
	struct page g;
	unsigned from, to, i;

	(void)state;
	start(&g);
	for (i = 0; i < 2; i++) {
		from = add(&g, i, "entry", 1000, 100, 0);
		to = add(&g, i, "common_return", 1000, 50, 0);
		edge(&g, i, from, to, 80 + 10 * i);
	}
	g.show.callers = "common_return";
	make(&g, true, K);
	check_page(&g, "callers_middle", "t");
}

/* What a kernel's CPUs wait for each other is QEMU's doing: listed apart, and nothing is real. */
static void test_smp(void **state)
{
	struct page g;

	(void)state;
	pipe_pair(&g);
	add(&g, 0, "native_queued_spin_lock_slowpath", 100000, 100, 0);
	add(&g, 1, "native_queued_spin_lock_slowpath", 900000, 100, 0);
	add(&g, 0, "smp_call_function_many_cond", 30000, 30, 0);
	add(&g, 1, "smp_call_function_many_cond", 20000, 30, 0);
	g.point.cpus = 2;
	make(&g, true, K);
	check_page(&g, "smp", "tCcj");
	pipe_pair(&g);
	add(&g, 0, "native_queued_spin_lock_slowpath", 100000, 100, 0);
	g.point.cpus = 2;
	make(&g, false, K);
	check_page(&g, "smp_one", "tC");
}

static void test_no_symbols(void **state)
{
	struct page g;

	(void)state;
	start(&g);
	add(&g, 0, "[user]", 1900, 0, 0);
	add(&g, 1, "[user]", 1900, 0, 0);
	add(&g, 0, "0xffffffff81002000", 30000, 0, 0);
	add(&g, 1, "f", 31000, 100, 0);
	make(&g, true, K);
	check_page(&g, "no_symbols", "tCj");
	start(&g);
	add(&g, 0, "[user]", 1900, 0, 0);
	add(&g, 0, "0xffffffff81002000", 30000, 0, 0);
	add(&g, 0, "0xffffffff81003000", 300, 0, 0);
	make(&g, false, K);
	check_page(&g, "no_symbols_one", "t");
}

/* Bytes of strangers, long names, two functions of a name, modules. */
static void test_hostile(void **state)
{
	struct page g;
	unsigned i, k;

	(void)state;
	start(&g);
	g.point.workload = "cmd";
	g.point.params = "run=\"a;b\n\x1b[31m, c\"";
	g.kernel[0].label = "old \x1b[2J";
	g.kernel[1].label = "new,\"\xe2\x80\xae";
	for (i = 0; i < 2; i++) {
		add(&g, i, "a;b\x1b[31m\n c", 1000 + 200 * i, 100, 0);
		add(&g, i, LONGNAME, 1000 + 300 * i, 100 + 100 * i, 0);
		add(&g, i, "bad\xff, \"quoted\"", 1000 + 100 * i, 100, 0);
		add(&g, i, "t_next", 500 + 100 * i, 100, 0);
		add(&g, i, "t_next", 600 + 100 * i, 100, 0);
		for (k = 0; k < K; k++)
			g.x[i][k]->symbols[2].module = "ext4\x7f";
	}
	add(&g, 1, "tiny", 1, 1, 0);
	make(&g, true, K);
	for (i = 0; i < 2; i++)
		assert_int_equal(g.p[i].n, 4 + i);
	check_page(&g, "hostile", "fcj");
	pipe_pair(&g);
	add(&g, 0, LONGNAME, 1000, 100, 0);
	add(&g, 1, LONGNAME, 2000, 200, 0);
	add(&g, 0, "t_next", 500, 100, 0);
	add(&g, 0, "t_next", 600, 100, 0);
	add(&g, 1, "t_next", 600, 100, 0);
	add(&g, 1, "tiny\x1b[31m", 1, 1, 0);
	g.kernel[0].label = "old \x1b[2J";
	make(&g, true, K);
	check_page(&g, "long", "tC");
}

/* Several tables; one that cannot be. */
static void test_several(void **state)
{
	static const struct compare_mode modes[] = { { 10524, 4.001, .3, 8 }, { 12961, 2, .7, 8 } };
	static const struct compare_exact regimes = { .n = 8, .modes = 2, .mode = modes };
	static const struct compare_value value = { .exact = &regimes };
	struct profile_options o = { .no_marks = true };
	struct page g;

	(void)state;
	pipe_pair(&g);
	make(&g, true, K);
	g.table[1] = (struct profile_table){ .point = &g.point,
					     .base = &g.kernel[0],
					     .new = &g.kernel[2],
					     .missing = "newer has no profile of it" };
	g.table[2] = g.table[0];
	g.table[2].base = &g.kernel[1];
	g.table[2].new = &g.kernel[2];
	g.table[2].base_value = &value;
	profile_diff_make(&g.p[1], &g.p[0], &o, &g.a, &g.d);
	g.report.n = 3;
	check_page(&g, "several", "tCcj");
}

static void test_same(void **state)
{
	struct page g;

	(void)state;
	start(&g);
	add(&g, 0, "f", 1000, 100, 3);
	add(&g, 1, "f", 1000, 100, 3);
	make(&g, true, K);
	check_page(&g, "same", "tC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair),	 cmocka_unit_test(test_pair_all),
		cmocka_unit_test(test_pair_cut), cmocka_unit_test(test_pair_few),
		cmocka_unit_test(test_one),	 cmocka_unit_test(test_one_cut),
		cmocka_unit_test(test_callers),	 cmocka_unit_test(test_callers_middle),
		cmocka_unit_test(test_smp),	 cmocka_unit_test(test_no_symbols),
		cmocka_unit_test(test_hostile),	 cmocka_unit_test(test_several),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
