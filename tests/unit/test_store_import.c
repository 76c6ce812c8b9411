/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_fixture.h"

static void test_export_import(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path), *t = open_store(f->other);
	struct store_boot b = { 0 };
	struct store_boot_end bad = { .state = STORE_FAILED, .reason = "hang" };
	char x[ID_UUID_SIZE], k1[ID_UUID_SIZE], k2[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	CLEANUP_FREE char *one = NULL, *two = NULL, *three = NULL, *cut = NULL;
	struct store_import_tally tally;
	struct plan p;

	begin_experiment(s, "name", x);
	add_kernel(s, "a,b/c \"d\" \xc3\xbc\n%s", "aa", k1);
	add_kernel(s, "k2", NULL, k2);
	whole_boot(s, x, k1, 1000000);
	b.experiment = x;
	b.kernel = k2;
	make_plan(&p, 2);
	p.context = json_pack("{s:i}", "mem", 5);
	p.items[1].implied = true;
	OK(store_boot_begin(s, &b, &p, boot, e));
	OK(store_boot_end(s, boot, &bad, e));
	one = export_all(s);
	assert_non_null(strstr(one, "{\"k\":\"meteor\",\"of\":\"the boot\"}"));
	assert_non_null(strstr(one, "\"tail\":[1,2.5,null,\"\xc3\xbc\"]}"));
	assert_non_null(strstr(one, "\"seed\":\"18446744073709551614\""));

	/* Cut in the middle of an invocation, then whole, then again: in the end it is the same. */
	cut = mem_strndup(one, (size_t)(strstr(one, "\"k\":\"comet\"") - one));
	assert_int_equal(import_text(t, cut, NULL, &tally, NULL), 1);
	assert_int_equal(tally.cut, 1);
	assert_int_equal(tally.all.unfinished, 1);
	assert_int_equal(number(t, "SELECT count(*) FROM sample"), 0);
	assert_int_equal(import_text(t, one, NULL, &tally, NULL), 0);
	assert_int_equal(tally.boots, 2);
	assert_int_equal(tally.all.ok, 1);
	two = export_all(t);
	assert_string_equal(one, two);
	assert_int_equal(import_text(t, one, NULL, &tally, NULL), 0);
	three = export_all(t);
	assert_string_equal(one, three);
	OK(store_check(t, e));
	json_decref((json_t *)(uintptr_t)p.context);
	plan_done(&p);
	store_close(s);
	store_close(t);
}

static void test_merge(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path), *t = open_store(f->other);
	CLEANUP_FREE char *from_s = NULL, *from_t = NULL, *into_s = NULL, *again = NULL;
	char x[ID_UUID_SIZE], k[ID_UUID_SIZE];
	struct store_import_tally tally;
	struct store_experiments xs;
	struct dataset d = DATASET_INIT;

	begin_experiment(s, "same", x);
	add_kernel(s, "k", "aa", k);
	whole_boot(s, x, k, 1000000);
	begin_experiment(t, "same", x);
	add_kernel(t, "k", "aa", k);
	whole_boot(t, x, k, 2000000);
	from_s = export_all(s);
	from_t = export_all(t);
	assert_int_equal(import_text(s, from_t, NULL, &tally, NULL), 0);
	assert_int_equal(import_text(t, from_s, NULL, &tally, NULL), 0);
	into_s = export_all(s);
	assert_int_equal(import_text(s, from_t, NULL, &tally, NULL), 0);
	again = export_all(s);
	assert_string_equal(into_s, again);
	OK(store_list_experiments(s, &xs, e));
	assert_int_equal(xs.n, 2);
	assert_string_not_equal(xs.rows[0].name, xs.rows[1].name);
	/* The same identity under the same label is one kernel, wherever it came from. */
	OK(store_dataset(s,
			 &(struct store_selection){
				 .experiments = (const char *[]){ xs.rows[0].id, xs.rows[1].id },
				 .n_experiments = 2 },
			 &d, e));
	assert_int_equal(d.n_kernels, 1);
	assert_int_equal(d.n_boots, 2);
	dataset_done(&d);
	store_experiments_done(&xs);
	store_close(s);
	store_close(t);
}

static char *bare(const char *boot_id, int time_ns, const char *tail)
{
	struct str b = STR_INIT;

	str_printf(&b, HELLO "\n", boot_id, time_ns);
	str_printf(&b, "{\"k\":\"log\",\"text\":\"hi\"}\n" INVOCATION "\n", "1");
	str_printf(&b, SAMPLE "\n" STRANGE "\n" USAGE "\n", "1", 5000, "1", "1");
	str_add(&b, tail);
	return str_take(&b);
}

static void test_bare_stream(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path);
	struct store_import_opts o = { .label = "board", .experiment = "field" };
	CLEANUP_FREE char *first = bare("b1", 10, DONE "\n"), *more = bare("b1", 20, DONE "\n");
	CLEANUP_FREE char *next = bare("b2", 30, ""), *all = NULL, *garbage = NULL;
	struct store_import_tally t;
	struct error err = ERROR_INIT;
	struct str cut = STR_INIT;

	assert_int_equal(import_text(s, first, &o, &t, NULL), 0);
	assert_int_equal(t.all.ok, 1);
	assert_int_equal(t.cut, 0);
	assert_int_equal(import_text(s, first, &o, &t, NULL), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM invocation"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM log"), 1);
	/* The same boot measured twice is one boot; the second stream has no `done`. */
	all = mem_printf("%s%s", more, next);
	assert_int_equal(import_text(s, all, &o, &t, NULL), 0);
	assert_int_equal(t.boots, 2);
	assert_int_equal(t.cut, 1);
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state = 'ok'"), 2);
	assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state = 'ok'"), 3);
	assert_int_equal(number(s, "SELECT count(*) FROM experiment"), 1);
	assert_int_equal(number(s, "SELECT started_ns FROM boot WHERE boot_id = 'b2'"),
			 BARE_NS + 30);
	/* Cut inside an invocation: nothing of it stays, the boot failed. Whole: it is mended. */
	str_printf(&cut, HELLO "\n", "b3", 40);
	str_printf(&cut, INVOCATION "\n" SAMPLE "\n", "1", "1", 7000);
	assert_int_equal(import_text(s, cut.s, &o, &t, NULL), 0);
	assert_int_equal(t.cut, 1);
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state = 'failed' AND reason ="
				   " 'the records end before done'"),
			 1);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 3);
	str_printf(&cut, USAGE "\n" DONE "\n", "1");
	assert_int_equal(import_text(s, cut.s, &o, &t, NULL), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state = 'failed'"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 4);
	str_done(&cut);
	/* Garbage fails the invocation around it, and only that one. */
	garbage = bare("b4", 50, "");
	str_add(&cut, garbage);
	str_printf(&cut, INVOCATION "\n", "2");
	str_add(&cut, "{\"k\":\"sample\",\"inv\":\"2\",\"op\n");
	str_printf(&cut, SAMPLE "\n" USAGE "\n" DONE "\n", "2", 9, "2");
	assert_int_equal(import_text(s, cut.s, &o, &t, &err), 1);
	assert_non_null(strstr(err.text, "line 8: "));
	assert_int_equal(t.all.ok, 1);
	assert_int_equal(t.all.failed, 1);
	assert_int_equal(t.bad_lines, 1);
	str_done(&cut);
	error_clear(&err);
	assert_int_equal(import_text(s, "\nsome text\n" DONE, &o, &t, &err), 2);
	assert_non_null(strstr(err.text, "line 2: "));
	/* Without names: the kernel's release, an experiment of its own, and the same one again. */
	assert_int_equal(import_text(s, first, NULL, &t, NULL), 0);
	assert_int_equal(import_text(s, first, NULL, &t, NULL), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM experiment"), 2);
	assert_int_equal(number(s, "SELECT count(*) FROM kernel WHERE label = '6.1.0'"), 1);
	store_close(s);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_export_import),
		TEST(test_merge),
		TEST(test_bare_stream),
	};

	return cmocka_run_group_tests_name("store import", tests, NULL, NULL);
}
