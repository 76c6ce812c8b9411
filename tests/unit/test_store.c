/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_fixture.h"

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct dataset d = DATASET_INIT;
	char x[ID_UUID_SIZE], a[ID_UUID_SIZE], b[ID_UUID_SIZE];
	struct store *s = open_store(f->path);
	const struct ds_series *time = NULL, *p50 = NULL;
	double q;

	begin_experiment(s, "first", x);
	add_kernel(s, "old", "aa", a);
	add_kernel(s, "new", "bb", b);
	OK(store_experiment_kernel(s, x, a, e));
	whole_boot(s, x, b, 3000000);
	whole_boot(s, x, a, 2000000);
	store_close(s);

	FAILS(ENOENT, "not there", store_open(f->other, 0, &s, e));
	OK(store_open(f->path, 0, &s, e));
	OK(store_check(s, e));
	OK(store_dataset(s, NULL, &d, e));
	assert_int_equal(d.n_kernels, 2);
	assert_string_equal(d.kernels[0].label, "old");
	assert_string_equal(d.kernels[1].build_id, "bb");
	assert_null(d.kernels[1].config);
	assert_int_equal(d.n_experiments, 1);
	assert_true(d.experiments[0].seed == UINT64_MAX - 1);
	assert_int_equal(d.n_boots, 2);
	assert_int_equal(d.boots[0].kernel, 0);
	assert_int_equal(d.boots[0].index, 1);
	assert_int_equal(d.boots[0].kernel_warnings, 1);
	assert_string_equal(d.boots[1].boot_id, d.boots[1].id);
	assert_int_equal(d.boots[1].n_facts, 1);
	assert_null(d.boots[1].facts[0].value);
	assert_string_equal(d.boots[1].facts[0].why, "no such file");
	assert_int_equal(d.n_invocations, 2);
	assert_string_equal(d.invocations[0].context, "{\"a\":1,\"b\":2}");
	assert_string_equal(d.invocations[0].op, "round trip");
	assert_int_equal(d.invocations[0].n_facts, 1);
	assert_int_equal(d.invocations[0].n_usage, 2);
	assert_true(dataset_usage_of(&d.invocations[0], "user_ns", 0) == 12.5);
	assert_true(isnan(dataset_usage_of(&d.invocations[0], "steal_ns", NAN)));
	for (size_t i = 0; i < d.n_series; i++) {
		if (!strcmp(d.series[i].metric.name, "time"))
			time = &d.series[i];
		else
			p50 = &d.series[i];
	}
	assert_non_null(time);
	assert_true(time->headline);
	assert_int_equal(time->n, 2);
	assert_int_equal(time->points[0].n, 2);
	assert_true(time->points[0].values[1] == 2001.0);
	assert_true(time->points[0].resolution > 0);
	assert_non_null(p50);
	assert_int_equal(hist_quantile(p50->points[1].hist, 0.5, &q), 0);
	assert_true(q == 8.0);
	dataset_done(&d);
	store_close(s);
}

static void test_only_closed_and_good(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path);
	struct store_boot b = { 0 };
	struct store_boot_end end = { .state = STORE_FAILED,
				      .reason = "the kernel panicked",
				      .console = "Kernel panic\xff",
				      .kernel_warnings = 3 };
	char x[ID_UUID_SIZE], kern[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	CLEANUP_FREE char *console = NULL;
	struct dataset d = DATASET_INIT;
	struct store_sink *k;
	struct plan p;
	const char *id;

	begin_experiment(s, NULL, x);
	add_kernel(s, "k", NULL, kern);
	b.experiment = x;
	b.kernel = kern;
	make_plan(&p, 7);
	p.items[2].implied = true;
	OK(store_boot_begin(s, &b, &p, boot, e));
	k = store_sink_new(s, boot, STORE_IDS_KEEP);
	/* 0: failed behind samples; 1: fail alone; 2: skip alone; 3: a broken histogram */
	id = p.items[0].id;
	OK(give(k, e, INVOCATION, id));
	OK(give(k, e, SAMPLE, id, 5000));
	OK(give(k, e, HIST, id));
	OK(give(k, e, STRANGE, id));
	OK(give(k, e, "{\"k\":\"log\",\"inv\":\"%s\",\"text\":\"short read\"}", id));
	OK(give(k, e, "{\"k\":\"fail\",\"inv\":\"%s\",\"reason\":\"short read\"}", id));
	FAILS(EPROTO, "behind the end", give(k, e, SAMPLE, id, 5000));
	OK(give(k, e, "{\"k\":\"fail\",\"inv\":\"%s\",\"reason\":\"party died\"}", p.items[1].id));
	OK(give(k, e, "{\"k\":\"skip\",\"inv\":\"%s\",\"reason\":\"no cpu\"}", p.items[2].id));
	id = p.items[3].id;
	OK(give(k, e, INVOCATION, id));
	FAILS(EINVAL, "histogram",
	      give(k, e, "{\"k\":\"hist\",\"inv\":\"%s\",\"name\":\"l\",\"hist\":{}}", id));
	OK(give(k, e, USAGE, id));
	/* 4: samples without their invocation; 5: cut; 6: never begun; one that nobody planned */
	FAILS(EPROTO, "before its invocation", give(k, e, SAMPLE, p.items[4].id, 1));
	OK(give(k, e, USAGE, p.items[4].id));
	FAILS(EPROTO, "none of the plan's",
	      give(k, e,
		   "{\"k\":\"skip\",\"inv\":\"1\","
		   "\"reason\":\"?\"}"));
	OK(give(k, e, "{\"k\":\"fail\",\"reason\":\"the agent broke\"}"));
	OK(give(k, e, INVOCATION, p.items[5].id));
	OK(give(k, e, SAMPLE, p.items[5].id, 5000));
	OK(store_sink_end(k, "the kernel panicked", e));
	assert_int_equal(store_sink_tally(k)->ok, 0);
	assert_int_equal(store_sink_tally(k)->failed, 5);
	assert_int_equal(store_sink_tally(k)->unfinished, 3);
	assert_int_equal(store_sink_tally(k)->skipped, 1);
	assert_int_equal(store_sink_tally(k)->skipped_implied, 1);
	assert_int_equal(store_sink_tally(k)->failures, 1);
	store_sink_free(k);
	/* A boot that runs is in no dataset. */
	FAILS(ENOENT, "no finished boot", store_dataset(s, NULL, &d, e));
	OK(store_boot_end(s, boot, &end, e));
	FAILS(EINVAL, "not running", store_boot_end(s, boot, &end, e));
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM hist"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM usage"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM raw"), 0);
	OK(store_dataset(s, NULL, &d, e));
	assert_int_equal(d.n_series, 0);
	assert_int_equal(d.boots[0].state, DS_FAILED);
	assert_string_equal(d.boots[0].reason, "the kernel panicked");
	assert_int_equal(d.boots[0].kernel_warnings, 3);
	assert_int_equal(d.n_invocations, 7);
	assert_string_equal(d.invocations[0].reason, "short read");
	assert_string_equal(d.invocations[1].workload, "pipe");
	assert_int_equal(d.invocations[2].state, DS_SKIPPED);
	assert_true(d.invocations[2].implied);
	assert_string_equal(d.invocations[5].reason, "unfinished: the kernel panicked");
	assert_string_equal(d.invocations[6].reason, "unfinished: the kernel panicked");
	OK(store_boot_console(s, boot, &console, e));
	assert_string_equal(console, "Kernel panic\xef\xbf\xbd");
	dataset_done(&d);
	plan_done(&p);
	store_close(s);
}

static void test_labels(void **state)
{
	static const char odd[] = "a,b/c \"d\" \xc3\xbc\n%s";
	struct fixture *f = *state;
	struct store *s = open_store(f->path);
	char x[3][ID_UUID_SIZE], k1[ID_UUID_SIZE], k2[ID_UUID_SIZE], k3[ID_UUID_SIZE];
	const char *labels[] = { "new~1", "new" };
	struct store_selection sel = { .labels = labels, .n_labels = 2 };
	struct store_experiments xs;
	struct store_labels l;
	struct ds_kernel k = {
		.label = "new", .release = "6.1.0", .build_id = "aa", .cmdline = "quiet"
	};
	struct dataset d = DATASET_INIT;

	add_kernel(s, "new", "aa", k1);
	OK(store_kernel_update(s, k1, &k, e));
	OK(store_kernel_add(s, &k, k2, e));
	assert_string_equal(k1, k2);
	k.cmdline = "debug"; /* both know the command line now, and no source */
	OK(store_kernel_add(s, &k, k2, e));
	assert_string_not_equal(k1, k2);
	k.build_id = "bb";
	FAILS(ESTALE, "build-id", store_kernel_update(s, k1, &k, e));
	OK(store_kernel_add(s, &k, k3, e));
	assert_string_not_equal(k2, k3);
	/* The same source with another append is another kernel. */
	k = (struct ds_kernel){ .label = "s", .source = "debian:bookworm" };
	OK(store_kernel_add(s, &k, k3, e));
	k.source = "debian:bookworm,append=slub_debug=FZPU";
	OK(store_kernel_add(s, &k, k2, e));
	assert_string_not_equal(k2, k3);
	k = (struct ds_kernel){ .label = "" };
	FAILS(EINVAL, "empty label", store_kernel_add(s, &k, k3, e));
	k.label = "\xff";
	FAILS(EINVAL, "UTF-8", store_kernel_add(s, &k, k3, e));

	begin_experiment(s, "one", x[0]);
	begin_experiment(s, "two", x[1]);
	begin_experiment(s, NULL, x[2]);
	FAILS(EEXIST, "exists",
	      store_experiment_begin(s, &(struct store_experiment){ .name = "one" }, k3, e));
	add_kernel(s, "new", "cc", k2);
	whole_boot(s, x[0], k1, 1000000);
	FAILS(EEXIST, "another kernel in this experiment", store_experiment_kernel(s, x[0], k2, e));
	whole_boot(s, x[1], k2, 2000000);
	whole_boot(s, x[1], k2, 2000000);
	OK(store_dataset(s, &sel, &d, e));
	assert_int_equal(d.n_kernels, 2);
	assert_string_equal(d.kernels[0].label, "new~1");
	assert_string_equal(d.kernels[0].build_id, "aa");
	assert_string_equal(d.kernels[1].label, "new");
	assert_string_equal(d.kernels[1].build_id, "cc");
	assert_int_equal(d.n_experiments, 2);
	assert_int_equal(d.n_boots, 3);
	dataset_done(&d);
	/* Pooled from two experiments, the two identities stay two. */
	sel.experiments = (const char *[]){ "one", x[1] };
	sel.n_experiments = 2;
	sel.labels = &labels[1];
	sel.n_labels = 1;
	OK(store_dataset(s, &sel, &d, e));
	assert_int_equal(d.n_kernels, 2);
	assert_string_equal(d.kernels[1].label, "new (2)");
	dataset_done(&d);
	sel = (struct store_selection){ .labels = (const char *[]){ "new~2" }, .n_labels = 1 };
	FAILS(ENOENT, "no 2 earlier", store_dataset(s, &sel, &d, e));
	sel.labels = (const char *[]){ "nwe" };
	FAILS(ENOENT, "there are: new, s", store_dataset(s, &sel, &d, e));
	sel.labels = (const char *[]){ "new", "new~0" };
	sel.n_labels = 2;
	FAILS(EINVAL, "the same boots", store_dataset(s, &sel, &d, e));
	dataset_done(&d);

	FAILS(ENOENT, "no label 'x'", store_label_mv(s, "x", "y", e));
	FAILS(EEXIST, "exists", store_label_mv(s, "new", "s", e));
	OK(store_label_mv(s, "new", odd, e));
	OK(store_label_rm(s, "s", e));
	OK(store_list_labels(s, &l, e));
	assert_int_equal(l.n, 1);
	assert_string_equal(l.rows[0].label, odd);
	assert_int_equal(l.rows[0].kernels, 4);
	assert_int_equal(l.rows[0].experiments, 2);
	assert_int_equal(l.rows[0].boots_ok, 3);
	assert_int_equal(l.rows[0].invocations, 3);
	assert_string_equal(l.rows[0].build_id, "cc");
	store_labels_done(&l);
	OK(store_list_experiments(s, &xs, e));
	assert_int_equal(xs.n, 3);
	assert_string_equal(xs.rows[0].name, "two");
	assert_string_equal(xs.rows[0].labels, odd);
	assert_int_equal(xs.rows[0].boots_ok, 2);
	store_experiments_done(&xs);
	x[2][8] = '\0';
	OK(store_experiment_find(s, x[2], k3, e));
	assert_true(str_starts(k3, x[2]));
	FAILS(ENOENT, "no experiment", store_experiment_find(s, "three", k3, e));
	/* Hidden: the data stay, and nothing shows them. */
	OK(store_label_rm(s, odd, e));
	FAILS(ENOENT, "no finished boot", store_dataset(s, NULL, &d, e));
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 6);
	store_close(s);
}

static void test_same_boot_again(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path), *t;
	struct store_boot b = { .boot_id = "here" };
	struct store_boot_end ok = { .state = STORE_OK }, bad = { .state = STORE_FAILED };
	char x[ID_UUID_SIZE], k[ID_UUID_SIZE], b1[ID_UUID_SIZE], b2[ID_UUID_SIZE];
	struct store_sink *sink;
	struct plan p;

	begin_experiment(s, "e", x);
	add_kernel(s, "k", NULL, k);
	b.experiment = x;
	b.kernel = k;
	OK(store_boot_plan(s, &b, b1, e));
	b.id = b1;
	OK(store_boot_begin(s, &b, NULL, b2, e));
	assert_string_equal(b1, b2);
	b.id = NULL;
	FAILS(EBUSY, "another kdelta", store_boot_begin(s, &b, NULL, b2, e));
	/* A live owner is left alone by whoever opens. */
	t = open_store(f->path);
	assert_int_equal(number(t, "SELECT count(*) FROM boot WHERE state = 'running'"), 1);
	store_close(t);
	OK(store_boot_end(s, b1, &ok, e));
	make_plan(&p, 1);
	OK(store_boot_begin(s, &b, &p, b2, e));
	assert_string_equal(b1, b2);
	sink = store_sink_new(s, b1, STORE_IDS_KEEP);
	FAILS(EPROTO, "another boot", give(sink, e, HELLO, "elsewhere", 1));
	store_sink_free(sink);
	OK(store_boot_end(s, b1, &bad, e));
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state = 'ok'"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state = 'failed'"), 1);
	plan_done(&p);
	store_close(s);
}

static void test_default_path(void **state)
{
	char *p;

	(void)state;
	setenv("HOME", "/h", 1);
	unsetenv("KDELTA_STORE");
	unsetenv("XDG_DATA_HOME");
	OK(store_default_path(&p, e));
	assert_string_equal(p, "/h/.local/share/kdelta/store.db");
	free(p);
	setenv("XDG_DATA_HOME", "/x", 1);
	OK(store_default_path(&p, e));
	assert_string_equal(p, "/x/kdelta/store.db");
	free(p);
	setenv("KDELTA_STORE", "s.db", 1);
	OK(store_default_path(&p, e));
	assert_string_equal(p, "s.db");
	free(p);
	unsetenv("HOME");
	unsetenv("KDELTA_STORE");
	unsetenv("XDG_DATA_HOME");
	FAILS(ENOENT, "HOME", store_default_path(&p, e));
}

static void test_ids(void **state)
{
	char a[ID_UUID_SIZE], b[ID_UUID_SIZE];
	CLEANUP_FREE char *self = owner_self();

	(void)state;
	uuid_of_key("boot 1 1", a);
	uuid_of_key("boot 1 2", b);
	assert_true(text_is_uuid(a));
	assert_string_not_equal(a, b);
	uuid_of_key("boot 1 2", a);
	assert_string_equal(a, b);
	assert_false(text_is_uuid("1"));
	assert_false(text_is_uuid(""));
	assert_true(owner_alive(self));
	assert_true(owner_alive("unknown"));
	assert_false(owner_alive("another-boot 1 1 pid:[1]"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_only_closed_and_good),
		TEST(test_labels),
		TEST(test_same_boot_again),
		cmocka_unit_test(test_default_path),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
