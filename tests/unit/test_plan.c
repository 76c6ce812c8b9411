/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of boots, and what one boot does. */
#include "plan/work.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "plan/order.h"
#include "plan/suite.h"

/* ---- order ---- */

static char *order_of(unsigned kernels, unsigned blocks, uint64_t seed)
{
	CLEANUP_FREE struct order_boot *o = order_make(kernels, blocks, seed);

	return order_text(o, kernels, blocks);
}

static void each_block_has_each_kernel_once(void **state)
{
	enum { KERNELS = 30, BLOCKS = 7 };
	CLEANUP_FREE struct order_boot *o = order_make(KERNELS, BLOCKS, 42);
	unsigned b, i;

	(void)state;
	for (b = 0; b < BLOCKS; b++) {
		uint64_t seen = 0;

		for (i = 0; i < KERNELS; i++) {
			assert_int_equal(o[b * KERNELS + i].block, b);
			seen |= 1ull << o[b * KERNELS + i].kernel;
		}
		assert_true(seen == (1ull << KERNELS) - 1);
	}
}

static void the_seed_is_the_order(void **state)
{
	CLEANUP_FREE char *a = order_of(4, 10, 7), *again = order_of(4, 10, 7);
	CLEANUP_FREE char *other = order_of(4, 10, 8), *high = order_of(4, 10, 7 | 1ull << 40);
	CLEANUP_FREE char *top = order_of(4, 10, 7 | 1ull << 63), *alone = order_of(1, 3, 1);
	CLEANUP_FREE char *many = order_of(28, 1, 3), *none = order_of(0, 3, 1);

	(void)state;
	assert_string_equal(a, again);
	assert_int_equal(strlen(a), 4 * 10 + 9);
	assert_string_not_equal(a, other);
	/* All of the seed counts, not its low half alone. */
	assert_string_not_equal(a, high);
	assert_string_not_equal(a, top);
	assert_string_not_equal(high, top);
	assert_string_equal(alone, "A A A");
	assert_non_null(strstr(many, "(26)"));
	assert_non_null(strstr(many, "(27)"));
	assert_string_equal(none, "");
}

/* Each of the 6 orders of 3 kernels about as often as the others (chi-squared, p = 0.001). */
static void no_order_is_preferred(void **state)
{
	enum { SEEDS = 600, BLOCKS = 4 };
	unsigned count[27] = { 0 }, seed, b, kinds = 0, i;
	const double want = SEEDS * BLOCKS / 6.0;
	double chi = 0;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++) {
		CLEANUP_FREE struct order_boot *o = order_make(3, BLOCKS, seed);

		for (b = 0; b < BLOCKS; b++)
			count[o[3 * b].kernel * 9 + o[3 * b + 1].kernel * 3 +
			      o[3 * b + 2].kernel]++;
	}
	for (i = 0; i < ARRAY_SIZE(count); i++) {
		if (!count[i])
			continue;
		kinds++;
		chi += (count[i] - want) * (count[i] - want) / want;
	}
	assert_int_equal(kinds, 6);
	assert_true(chi < 20.515);
}

/* ---- work ---- */

static const struct param no_params[] = { { .name = NULL } };
static const struct param procs[] = {
	{ .name = "procs",
	  .type = PARAM_UINT,
	  .def = "2",
	  .min = 2,
	  .max = 96,
	  .sweep = "2+16",
	  .help = "processes" },
	{ .name = "size",
	  .type = PARAM_BYTES,
	  .def = "0",
	  .max = 1 << 20,
	  .sweep = "0+64KiB",
	  .help = "array" },
	{ .name = "place",
	  .type = PARAM_CHOICE,
	  .def = "same",
	  .choices = "same|spread|free",
	  .sweep = "same+spread",
	  .help = "where" },
	{ .name = NULL },
};
static const struct param placed[] = {
	{ .name = "place",
	  .type = PARAM_CHOICE,
	  .def = "same",
	  .choices = "same|spread|free",
	  .sweep = "same+spread",
	  .help = "where" },
	{ .name = NULL },
};
static struct workload_info infos[] = {
	{ .name = "nop", .params = no_params },	  { .name = "getppid", .params = no_params },
	{ .name = "read", .params = no_params },  { .name = "write", .params = no_params },
	{ .name = "stat", .params = no_params },  { .name = "open_close", .params = no_params },
	{ .name = "pipe", .params = placed },	  { .name = "ctx", .params = procs },
	{ .name = "fork", .params = no_params },  { .name = "exec", .params = no_params },
	{ .name = "unix", .params = placed },	  { .name = "udp", .params = placed },
	{ .name = "tcp", .params = placed },	  { .name = "ring", .params = placed },
	{ .name = "poll", .params = no_params },  { .name = "pagefault", .params = no_params },
	{ .name = "sh", .params = no_params },	  { .name = "thread", .params = no_params },
	{ .name = "vfork", .params = no_params }, { .name = "posix_spawn", .params = no_params },
};
static const struct workload_list known = { .items = infos, .n = ARRAY_SIZE(infos) };

static struct work w;
static struct error err;

static int make(const char *const *specs, const char *const *suites)
{
	size_t n = 0, m = 0;

	while (specs && specs[n])
		n++;
	while (suites && suites[m])
		m++;
	work_done(&w);
	error_clear(&err);
	return work_make(&w, &known, specs, n, suites, m, &err);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int clear(void **state)
{
	(void)state;
	work_done(&w);
	return 0;
}

static void suites_are_specs(void **state)
{
	const struct suite *all;
	size_t n, i, standard;

	(void)state;
	all = suite_all(&n);
	assert_true(n > 1);
	for (i = 0; i < n; i++) {
		if (make(NULL, LIST(all[i].name)) < 0)
			fail_msg("%s: %s", all[i].name, err.text);
		assert_ptr_equal(suite_find(all[i].name), &all[i]);
	}
	assert_int_equal(make(NULL, NULL), 0);
	standard = w.points.n;
	assert_int_equal(make(NULL, LIST(SUITE_DEFAULT)), 0);
	assert_int_equal(w.points.n, standard);
	/* Twice the same is once, and what is asked for by name is not implied. */
	assert_int_equal(make(LIST("ctx:procs=16"), LIST(SUITE_DEFAULT)), 0);
	assert_int_equal(w.points.n, standard);
	for (i = 0; i < w.points.n; i++)
		if (!strcmp(w.points.items[i].params, "procs=16,size=0,place=same"))
			assert_false(w.points.items[i].implied);
	assert_int_equal(make(NULL, LIST("deno")), -ENOENT);
	assert_true(str_starts(err.text, "unknown suite 'deno' (known: default, "));
	assert_null(suite_find(""));
}

static void specs_come_from_files(void **state)
{
	static const char good[] = "# a comment\n\n  nop  \r\n\t# another\nctx:procs=8\nexec";
	static const char bad[] = "nop\n# x\nctx:proc=8\n";
	static const char nested[] = "nop\n@other\n";
	char path[] = "/tmp/kd-specs-XXXXXX";
	CLEANUP_FREE char *at = mem_printf("@%s", path), *want = NULL;

	(void)state;
	close(mkstemp(path));
	memcpy(at + 1, path, strlen(path));
	assert_int_equal(file_replace(path, good, strlen(good), NULL), 0);
	if (make(LIST(at, "read"), NULL) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(w.points.n, 5);
	assert_string_equal(w.points.items[0].workload->name, "nop");
	assert_string_equal(w.points.items[3].workload->name, "exec");
	assert_string_equal(w.points.items[4].workload->name, "read");
	assert_int_equal(file_replace(path, bad, strlen(bad), NULL), 0);
	assert_true(make(LIST(at), NULL) < 0);
	want = mem_printf("%s:3: ctx: unknown parameter 'proc' (known: procs, size, place)", path);
	assert_string_equal(err.text, want);
	assert_int_equal(file_replace(path, nested, strlen(nested), NULL), 0);
	assert_true(make(LIST(at), NULL) < 0);
	assert_non_null(strstr(err.text, ":2: a file of specs names another one"));
	assert_int_equal(file_replace(path, "# nothing\n", 10, NULL), 0);
	assert_true(make(LIST(at), NULL) < 0);
	assert_string_equal(err.text, "nothing to run");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(make(LIST(at), NULL), -ENOENT);
	assert_int_equal(make(LIST("@"), NULL), -ENOENT);
}

static void time_is_shared_within_bounds(void **state)
{
	(void)state;
	assert_int_equal(make(LIST("nop", "read"), NULL), 0);
	w.invocations = 3;
	assert_int_equal(work_items(&w), 6);
	work_share(&w, 6 * (500000000ull + WORK_OVERHEAD_NS));
	assert_true(w.time_ns == 500000000);
	assert_true(work_cost_ns(&w) == 6 * (500000000ull + WORK_OVERHEAD_NS));
	work_share(&w, 0);
	assert_true(w.time_ns == WORK_TIME_MIN_NS);
	work_share(&w, 1);
	assert_true(w.time_ns == WORK_TIME_MIN_NS);
	work_share(&w, UINT64_MAX);
	assert_true(w.time_ns > 1000 * NSEC_PER_SEC);
}

static void a_plan_has_an_id_for_each(void **state)
{
	CLEANUP_FREE char *text = NULL, *again = NULL;
	struct plan p, q;
	size_t i, k;

	(void)state;
	assert_int_equal(make(NULL, NULL), 0);
	w.invocations = 3;
	w.time_ns = 7;
	text = work_plan(&w, "boot", "kvm", NULL, &p, &err);
	assert_non_null(text);
	assert_int_equal(p.n, 3 * w.points.n);
	for (i = 0; i < p.n; i++) {
		assert_int_equal(strlen(p.items[i].id), 36);
		assert_int_equal(p.items[i].time_ns, 7);
		/* One round of all points after the other. */
		assert_string_equal(p.items[i].params, w.points.items[i % w.points.n].params);
		for (k = 0; k < i; k++)
			assert_string_not_equal(p.items[i].id, p.items[k].id);
	}
	assert_int_equal(plan_decode(text, strlen(text), &q, &err), 0);
	assert_int_equal(q.n, p.n);
	again = plan_encode(&q);
	assert_string_equal(again, text);
	plan_done(&p);
	plan_done(&q);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_has_each_kernel_once),
		cmocka_unit_test(the_seed_is_the_order),
		cmocka_unit_test(no_order_is_preferred),
		TEST(suites_are_specs),
		TEST(specs_come_from_files),
		TEST(time_is_shared_within_bounds),
		TEST(a_plan_has_an_id_for_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
