/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_fixture.h"

/* Two processes, one store that neither has made yet. */
static void test_two_writers(void **state)
{
	struct fixture *f = *state;
	struct store *s;
	int i, status;

	for (i = 0; i < 2; i++) {
		if (!fork()) {
			char x[ID_UUID_SIZE], k[ID_UUID_SIZE];
			int n;

			s = open_store(f->path);
			begin_experiment(s, NULL, x);
			add_kernel(s, "k", NULL, k);
			for (n = 0; n < 40; n++)
				whole_boot(s, x, k, 1000000);
			store_close(s);
			_exit(0);
		}
	}
	for (i = 0; i < 2; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	s = open_store(f->path);
	OK(store_check(s, e));
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state = 'ok'"), 80);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 160);
	store_close(s);
}

/* A writer is killed at some moment; what it said was stored has to be there. */
static void killed_writer(const char *path, unsigned delay_ms)
{
	char c, x[ID_UUID_SIZE], k[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	struct store *s = open_store(path);
	int64_t before = number(s, "SELECT count(*) FROM invocation WHERE state = 'ok'"), said = 0;
	int64_t stored;
	int fd[2];
	pid_t pid;

	store_close(s);
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct store_boot b = { .experiment = x, .kernel = k };
		struct store_sink *sink;
		struct plan p;
		size_t i;

		s = open_store(path);
		begin_experiment(s, NULL, x);
		add_kernel(s, "k", NULL, k);
		make_plan(&p, 5000);
		OK(store_boot_begin(s, &b, &p, boot, e));
		sink = store_sink_new(s, boot, STORE_IDS_KEEP);
		for (i = 0; i < p.n; i++) {
			good_burst(sink, p.items[i].id, 1000000);
			if (write(fd[1], "", 1) != 1)
				break;
		}
		_exit(1);
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 1);
	clock_sleep_ns(delay_ms * NSEC_PER_MSEC);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (said = 1; read(fd[0], &c, 1) == 1; said++)
		;
	close(fd[0]);
	assert_true(said < 5000);
	s = open_store(path);
	OK(store_check(s, e));
	stored = number(s, "SELECT count(*) FROM invocation WHERE state = 'ok'") - before;
	/* The last one may have been stored without the time to say so. */
	assert_in_range(stored - said, 0, 1);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 2 * (stored + before));
	assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state = 'planned'"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM boot WHERE state != 'stopped' OR reason !="
				   " 'kdelta was killed' OR owner IS NOT NULL"),
			 0);
	assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state = 'failed' AND"
				   " reason != 'unfinished: kdelta was killed'"),
			 0);
	store_close(s);
}

static void test_killed(void **state)
{
	struct fixture *f = *state;
	unsigned i;

	for (i = 0; i < 4; i++)
		killed_writer(f->path, i * 7);
}

/* The disk is full n pages on, for each n until all goes well: nothing stored before is lost. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	struct store *s = open_store(f->path);
	char x[ID_UUID_SIZE], k[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	struct store_boot b = { .experiment = x, .kernel = k };
	int n, refused = 0;

	begin_experiment(s, NULL, x);
	add_kernel(s, "k", NULL, k);
	whole_boot(s, x, k, 1000000);
	for (n = 0; n < 200; n++) {
		int64_t pages = number(s, "PRAGMA page_count"), ok, samples;
		CLEANUP_FREE char *limit =
			mem_printf("PRAGMA max_page_count = %lld", (long long)pages + n);
		struct store_sink *sink;
		struct plan p;
		struct error err = ERROR_INIT;
		int r = 0, i;

		make_plan(&p, 1);
		OK(store_boot_begin(s, &b, &p, boot, e));
		ok = number(s, "SELECT count(*) FROM invocation WHERE state = 'ok'");
		samples = number(s, "SELECT count(*) FROM sample");
		number(s, limit);
		sink = store_sink_new(s, boot, STORE_IDS_KEEP);
		OK(give(sink, e, INVOCATION, p.items[0].id));
		for (i = 0; i < 400; i++)
			OK(give(sink, e, SAMPLE, p.items[0].id, 1000 + i));
		r = give(sink, &err, USAGE, p.items[0].id);
		store_sink_free(sink);
		OK(store_check(s, e));
		if (r < 0) {
			refused++;
			assert_int_equal(r, -ENOSPC);
			assert_non_null(strstr(err.text, "no space left"));
			assert_int_equal(number(s, "SELECT count(*) FROM sample"), samples);
			assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state ="
						   " 'ok'"),
					 ok);
		}
		number(s, "PRAGMA max_page_count = 1000000");
		OK(store_boot_end(s, boot, &(struct store_boot_end){ .state = STORE_OK }, e));
		plan_done(&p);
		if (!r)
			break;
	}
	assert_true(refused > 0);
	assert_true(n < 200);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 402);
	store_close(s);
}

/* Schema version 1, as it was. */
static const char version_1[] =
	"CREATE TABLE kernel("
	" n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, label TEXT NOT NULL,"
	" release TEXT, version TEXT, build_id TEXT, cmdline TEXT, config TEXT,"
	" config_hash TEXT, source TEXT, hidden INTEGER NOT NULL DEFAULT 0,"
	" created_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX kernel_label ON kernel(label);"
	"CREATE TABLE experiment("
	" n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT UNIQUE, subject TEXT,"
	" seed INTEGER NOT NULL, blocks INTEGER NOT NULL, boot_order TEXT, args TEXT,"
	" reproduce TEXT, created_ns INTEGER NOT NULL) STRICT;"
	"CREATE TABLE member("
	" experiment INTEGER NOT NULL REFERENCES experiment, kernel INTEGER NOT NULL"
	" REFERENCES kernel, position INTEGER NOT NULL, PRIMARY KEY(experiment, kernel))"
	" STRICT, WITHOUT ROWID;"
	"CREATE INDEX member_kernel ON member(kernel);"
	"CREATE TABLE boot("
	" n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,"
	" experiment INTEGER NOT NULL REFERENCES experiment,"
	" kernel INTEGER NOT NULL REFERENCES kernel, boot_id TEXT, block INTEGER NOT NULL,"
	" position INTEGER NOT NULL, started_ns INTEGER, ended_ns INTEGER,"
	" state TEXT NOT NULL CHECK(state IN ('planned', 'running', 'ok', 'failed',"
	" 'stopped')),"
	" reason TEXT, console TEXT, cmdline TEXT, kernel_warnings INTEGER NOT NULL DEFAULT 0,"
	" owner TEXT) STRICT;"
	"CREATE INDEX boot_experiment ON boot(experiment, kernel);"
	"CREATE INDEX boot_kernel ON boot(kernel);"
	"CREATE TABLE hello("
	" boot INTEGER NOT NULL REFERENCES boot, time_ns INTEGER NOT NULL,"
	" record TEXT NOT NULL, PRIMARY KEY(boot, time_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE invocation("
	" n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,"
	" boot INTEGER NOT NULL REFERENCES boot, workload TEXT, version INTEGER, family TEXT,"
	" op TEXT, params TEXT, class TEXT, context TEXT, headline INTEGER NOT NULL DEFAULT 0,"
	" implied INTEGER NOT NULL DEFAULT 0, metrics TEXT,"
	" state TEXT NOT NULL CHECK(state IN ('planned', 'ok', 'failed', 'skipped')),"
	" reason TEXT, started_ns INTEGER) STRICT;"
	"CREATE INDEX invocation_boot ON invocation(boot);"
	"CREATE TABLE sample("
	" invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	" part TEXT NOT NULL, metric TEXT, ops INTEGER, ns INTEGER, over_ops INTEGER,"
	" over_ns INTEGER, value REAL, PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE hist("
	" invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	" part TEXT NOT NULL, name TEXT NOT NULL, hist TEXT NOT NULL,"
	" PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE usage("
	" invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	" name TEXT NOT NULL, value ANY, PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE fact("
	" n INTEGER PRIMARY KEY, boot INTEGER NOT NULL REFERENCES boot,"
	" invocation INTEGER REFERENCES invocation, moment TEXT NOT NULL, class TEXT NOT NULL,"
	" name TEXT NOT NULL, value TEXT, why TEXT) STRICT;"
	"CREATE UNIQUE INDEX fact_boot ON fact(boot, moment, name) WHERE invocation IS NULL;"
	"CREATE UNIQUE INDEX fact_invocation ON fact(invocation, moment, name)"
	" WHERE invocation IS NOT NULL;"
	"CREATE TABLE log("
	" n INTEGER PRIMARY KEY, boot INTEGER NOT NULL REFERENCES boot,"
	" invocation INTEGER REFERENCES invocation, stream_ns INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, level TEXT NOT NULL, source TEXT NOT NULL,"
	" text TEXT NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX log_boot ON log(boot, stream_ns, seq) WHERE invocation IS NULL;"
	"CREATE INDEX log_invocation ON log(invocation) WHERE invocation IS NOT NULL;"
	"CREATE TABLE failure("
	" boot INTEGER NOT NULL REFERENCES boot, stream_ns INTEGER NOT NULL,"
	" seq INTEGER NOT NULL, workload TEXT, params TEXT, reason TEXT NOT NULL,"
	" PRIMARY KEY(boot, stream_ns, seq)) STRICT, WITHOUT ROWID;"
	"INSERT INTO kernel(uuid, label, created_ns) VALUES"
	" ('11111111-1111-4111-8111-111111111111', 'old', 1);"
	"INSERT INTO experiment(uuid, name, seed, blocks, created_ns) VALUES"
	" ('22222222-2222-4222-8222-222222222222', 'then', 7, 1, 1);"
	"INSERT INTO member VALUES (1, 1, 0);"
	"INSERT INTO boot(uuid, experiment, kernel, block, position, started_ns, state) VALUES"
	" ('33333333-3333-4333-8333-333333333333', 1, 1, 0, 0, 5, 'ok');"
	"INSERT INTO invocation(uuid, boot, workload, version, params, class, context, metrics,"
	" state) VALUES ('44444444-4444-4444-8444-444444444444', 1, 'pipe', 1, '', 'native',"
	" '{}', '" METRICS "', 'ok');"
	"INSERT INTO sample VALUES (1, 1, '', NULL, 10, 1000, NULL, NULL, NULL);"
	"PRAGMA application_id = 1801741676; PRAGMA user_version = 1;";

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_migration(void **state)
{
	static const char shape[] = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM"
				    " sqlite_schema WHERE sql IS NOT NULL ORDER BY name)";
	struct fixture *f = *state;
	CLEANUP_STMT sqlite3_stmt *st = NULL, *fresh_st = NULL;
	CLEANUP_FREE char *text = NULL;
	struct store *s, *fresh;
	struct dataset d = DATASET_INIT;
	size_t i, n = 0;

	run_sql(f->other, version_1);
	OK(store_open(f->other, 0, &s, e));
	OK(store_check(s, e));
	assert_int_equal(number(s, "PRAGMA user_version"), SCHEMA_VERSION);
	OK(store_dataset(s, NULL, &d, e));
	assert_int_equal(d.n_series, 1);
	assert_true(d.series[0].points[0].values[0] == 100.0);
	dataset_done(&d);
	text = export_all(s);
	assert_non_null(strstr(text, "\"name\":\"then\""));
	/* An old file and a new one have the same tables, white space aside. */
	fresh = open_store(f->path);
	OK(db_query(s, e, &st, shape, ""));
	assert_int_equal(db_step(s, st, NULL), 1);
	OK(db_query(fresh, e, &fresh_st, shape, ""));
	assert_int_equal(db_step(fresh, fresh_st, NULL), 1);
	for (i = 0; db_text(st, 0)[i]; i++) {
		const char *b = db_text(fresh_st, 0);

		if (db_text(st, 0)[i] == ' ')
			continue;
		while (b[n] == ' ')
			n++;
		assert_int_equal(db_text(st, 0)[i], b[n++]);
	}
	assert_int_equal(db_text(fresh_st, 0)[n], '\0');
	db_finalize(&st);
	db_finalize(&fresh_st);
	store_close(fresh);
	store_close(s);
}

static void test_not_ours(void **state)
{
	struct fixture *f = *state;
	CLEANUP_FREE char *newer = mem_printf("PRAGMA user_version = %d", SCHEMA_VERSION + 1);
	CLEANUP_FREE char *before = NULL, *after = NULL;
	size_t n, m;
	struct store *s;

	store_close(open_store(f->path));
	run_sql(f->path, newer);
	FAILS(EPROTO, "newer kdelta", store_open(f->path, 0, &s, e));
	run_sql(f->other, "CREATE TABLE t(a); INSERT INTO t VALUES (1)");
	OK(file_read(f->other, 1 << 20, &before, &n, e));
	FAILS(EINVAL, "not a store of kdelta", store_open(f->other, STORE_CREATE, &s, e));
	OK(file_read(f->other, 1 << 20, &after, &m, e));
	assert_int_equal(n, m);
	assert_memory_equal(before, after, n);
	OK(file_replace(f->other, "this is text, and long enough to be looked at\n", 46, e));
	FAILS(EINVAL, "not a store of kdelta", store_open(f->other, 0, &s, e));
	FAILS(EINVAL, "not a regular file", store_open(f->dir, STORE_CREATE, &s, e));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_two_writers), TEST(test_killed),   TEST(test_full),
		TEST(test_migration),	TEST(test_not_ours),
	};

	return cmocka_run_group_tests_name("store durability", tests, NULL, NULL);
}
