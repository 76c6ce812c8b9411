/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invocations of class "exact" in a store: in, out into a dataset, and through an export. */
#include "store_fixture.h"

#include "model/exact.h"

#define PROFILE                                                                                    \
	"{\"k\":\"profile\",\"inv\":\"%s\",\"ops\":[10,20],\"windows\":[1,2],\"symbols\":["        \
	"[\"[user]\",null,\"0\",500,1500,0,0,0,0],"                                                \
	"[\"pipe_write\",null,\"ffffffff81000000\",2500,8000,10,30,7,22],"                         \
	"[\"xt_init\",\"x_tables\",\"ffffffffc0000000\",0,60,0,1,0,0]],"                           \
	"\"edges\":[[1,1,0,4],[1,2,0,1]]}"
#define WINDOW                                                                                     \
	"{\"k\":\"window\",\"inv\":\"%s\",\"contexts\":true,\"rows\":["                            \
	"[1,10,40,0,0,0,0,0,40,3,0,0],[0,10,3000,0,0,0,0,2500,500,7,0,2],"                         \
	"[0,20,9500,30,0,0,30,8060,1500,22,1,4]]}"
#define HEAD                                                                                       \
	"{\"k\":\"invocation\",\"inv\":\"%s\",\"workload\":\"pipe\",\"workload_version\":1,"       \
	"\"params\":\"\",\"class\":\"%s\",\"context\":{},\"metrics\":[{\"name\":"                  \
	"\"instructions\",\"unit\":\"instructions\",\"per\":\"op\",\"better\":\"neither\","        \
	"\"kind\":\"count\",\"from\":\"reported\",\"headline\":true}],\"headline\":true,"          \
	"\"time_ns\":5}"
#define PERTURBED                                                                                  \
	"{\"k\":\"fact\",\"inv\":\"%s\",\"when\":\"before\",\"class\":\"volatile\","               \
	"\"name\":\"perturbation\",\"value\":\"%u: idle 7.121 ms\"}"
#define VALUE "{\"k\":\"sample\",\"inv\":\"%s\",\"metric\":\"instructions\",\"value\":300.25}"

static void give_burst(struct store_sink *k, const char *id, const char *class, unsigned perturb,
		       const char *window, const char *profile)
{
	CLEANUP_FREE char *w = mem_strdup(window), *p = mem_strdup(profile);
	struct record r;

	OK(give(k, e, HEAD, id, class));
	OK(give(k, e, PERTURBED, id, perturb));
	OK(give(k, e, VALUE, id));
	for (int i = 0; i < 2; i++) {
		const char *form = i ? p : w, *at = strstr(form, "%s");
		struct str line = STR_INIT;

		str_add_n(&line, form, (size_t)(at - form));
		str_add(&line, id);
		str_add(&line, at + 2);
		OK(record_decode(line.s, line.len, &r, e));
		OK(store_sink_record(k, &r, e));
		record_done(&r);
		str_done(&line);
	}
}

/* A boot of these invocations, and what of each is in the dataset. */
static const struct given {
	const char *class, *window, *profile;
	bool good; /* else it fails */
	bool windows, has_profile;
} given[] = {
	{ "exact", WINDOW, PROFILE, true, true, true },
	{ "exact", WINDOW, PROFILE, true, true, true },
	/* Of another class these words mean something else. */
	{ "native", WINDOW, PROFILE, true, false, false },
	/* No number of a failed run. */
	{ "exact", WINDOW, PROFILE, false, false, false },
	/* What is not ours is kept, and is nothing here. */
	{ "exact", "{\"k\":\"window\",\"inv\":\"%s\",\"pmu\":[1]}", PROFILE, true, false, true },
	{ "exact", WINDOW, "{\"k\":\"profile\",\"inv\":\"%s\",\"ops\":[1,0]}", true, true, false },
	{ "exact", "{\"k\":\"x\",\"inv\":\"%s\"}", "{\"k\":\"y\",\"inv\":\"%s\"}", true, false,
	  false },
};

static void fill(struct store *s)
{
	char experiment[ID_UUID_SIZE], kernel[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	struct store_boot b = { .experiment = experiment, .kernel = kernel };
	struct store_boot_end end = { .state = STORE_OK };
	struct store_sink *k;
	struct plan p;

	begin_experiment(s, "x", experiment);
	add_kernel(s, "k", "abcd", kernel);
	make_plan(&p, ARRAY_SIZE(given));
	OK(store_boot_begin(s, &b, &p, boot, e));
	k = store_sink_new(s, boot, STORE_IDS_KEEP);
	OK(give(k, e, HELLO, boot, 77));
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		const char *id = p.items[i].id;

		give_burst(k, id, given[i].class, (unsigned)i, given[i].window, given[i].profile);
		if (given[i].good)
			OK(give(k, e, USAGE, id));
		else
			OK(give(k, e, "{\"k\":\"fail\",\"inv\":\"%s\",\"reason\":\"r\"}", id));
	}
	OK(give(k, e, DONE));
	OK(store_sink_end(k, "the stream ended", e));
	store_sink_free(k);
	OK(store_boot_end(s, boot, &end, e));
	plan_done(&p);
}

static void check_dataset(struct store *s)
{
	struct dataset d = DATASET_INIT;
	const struct exact_profile *p;
	const struct exact_windows *w;
	size_t points = 0;

	OK(store_dataset(s, NULL, &d, e));
	store_close(s); /* nothing points into it */
	assert_int_equal(d.n_invocations, ARRAY_SIZE(given));
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		const struct ds_invocation *v = &d.invocations[i];
		bool exact = !strcmp(given[i].class, "exact");

		assert_string_equal(v->class, given[i].class);
		assert_int_equal(v->windows != NULL, given[i].windows);
		assert_int_equal(v->profile != NULL, given[i].has_profile);
		assert_int_equal(v->has_perturb, exact);
		assert_int_equal(v->perturb, exact ? i : 0);
		points += given[i].good && exact;
	}
	/* Perturbations are points of one series. */
	assert_int_equal(d.n_series, 2);
	assert_int_equal(d.series[0].n, points);
	assert_true(d.series[0].headline && d.series[0].points[1].values[0] == 300.25);

	w = d.invocations[1].windows;
	assert_int_equal(w->n, 3);
	assert_true(w->contexts && w->list[0].overhead);
	assert_int_equal(exact_window_sum(&w->list[2]), 9560);
	assert_int_equal(w->list[2].interrupts, 1);
	p = d.invocations[1].profile;
	assert_int_equal(p->n, 3);
	assert_int_equal(p->n_edges, 2);
	assert_string_equal(p->symbols[2].module, "x_tables");
	assert_true(p->symbols[1].addr == 0xffffffff81000000);
	assert_int_equal(p->symbols[1].calls[EXACT_OTHER], 30);
	assert_int_equal(p->windows[EXACT_OTHER], 2);
	dataset_done(&d);
}

static void exact_results_come_back(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path);

	fill(s);
	assert_int_equal(number(s, "SELECT count(*) FROM raw"), 2 * (ARRAY_SIZE(given) - 1));
	check_dataset(s);
}

static void exports_hold_them(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path), *t = open_store(f->other);
	struct store_import_tally tally;
	char *one, *two;

	fill(s);
	one = export_all(s);
	assert_non_null(strstr(one, "\"k\":\"window\""));
	assert_non_null(
		strstr(one, "[\"xt_init\",\"x_tables\",\"ffffffffc0000000\",0,60,0,1,0,0]"));
	assert_int_equal(import_text(t, one, NULL, &tally, NULL), 0);
	assert_int_equal(import_text(t, one, NULL, &tally, NULL), 0);
	two = export_all(t);
	assert_string_equal(one, two);
	store_close(s);
	check_dataset(t);
	free(one);
	free(two);
}

/* Of two records of a kind the first that can be read counts. */
static void the_first_counts(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path);
	struct dataset d = DATASET_INIT;

	fill(s);
	OK(db_exec(s, e,
		   "INSERT INTO raw(boot, invocation, stream_ns, seq, record) SELECT boot,"
		   " invocation, 0, 99, '{\"k\":\"window\",\"contexts\":false,\"rows\":[]}' FROM"
		   " raw WHERE record LIKE '{\"k\":\"profile\"%'"));
	OK(store_dataset(s, NULL, &d, e));
	assert_int_equal(d.invocations[0].windows->n, 3);
	assert_int_equal(d.invocations[4].windows->n, 0);
	dataset_done(&d);
	/* What is no JSON is a fault of the file, and said. */
	OK(db_exec(s, e, "UPDATE raw SET record = '{' WHERE seq = 99"));
	FAILS(EINVAL, "record", store_dataset(s, NULL, &d, e));
	dataset_done(&d);
	store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(exact_results_come_back),
		TEST(exports_hold_them),
		TEST(the_first_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
