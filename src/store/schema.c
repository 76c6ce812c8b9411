/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Step N brings a file from version N to N + 1; a step that was released is never changed.
 * n are numbers of this file only; what is known outside is the uuid.
 */
#include "store/db.h"

#include <errno.h>

static const char step_0[] =
	"CREATE TABLE kernel("
	"  n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, label TEXT NOT NULL,"
	"  release TEXT, version TEXT, build_id TEXT, cmdline TEXT, config TEXT,"
	"  config_hash TEXT, source TEXT, hidden INTEGER NOT NULL DEFAULT 0,"
	"  created_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX kernel_label ON kernel(label);"
	"CREATE TABLE experiment("
	"  n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT UNIQUE, subject TEXT,"
	"  seed INTEGER NOT NULL, blocks INTEGER NOT NULL, boot_order TEXT, args TEXT,"
	"  reproduce TEXT, created_ns INTEGER NOT NULL) STRICT;"
	"CREATE TABLE member("
	"  experiment INTEGER NOT NULL REFERENCES experiment, kernel INTEGER NOT NULL"
	"  REFERENCES kernel, position INTEGER NOT NULL, PRIMARY KEY(experiment, kernel))"
	"  STRICT, WITHOUT ROWID;"
	"CREATE INDEX member_kernel ON member(kernel);"
	"CREATE TABLE boot("
	"  n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,"
	"  experiment INTEGER NOT NULL REFERENCES experiment,"
	"  kernel INTEGER NOT NULL REFERENCES kernel, boot_id TEXT, block INTEGER NOT NULL,"
	"  position INTEGER NOT NULL, started_ns INTEGER, ended_ns INTEGER,"
	"  state TEXT NOT NULL CHECK(state IN ('planned', 'running', 'ok', 'failed', 'stopped')),"
	"  reason TEXT, console TEXT, cmdline TEXT, kernel_warnings INTEGER NOT NULL DEFAULT 0,"
	"  owner TEXT) STRICT;"
	"CREATE INDEX boot_experiment ON boot(experiment, kernel);"
	"CREATE INDEX boot_kernel ON boot(kernel);"
	"CREATE TABLE hello("
	"  boot INTEGER NOT NULL REFERENCES boot, time_ns INTEGER NOT NULL,"
	"  record TEXT NOT NULL, PRIMARY KEY(boot, time_ns)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE invocation("
	"  n INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE,"
	"  boot INTEGER NOT NULL REFERENCES boot, workload TEXT, version INTEGER, family TEXT,"
	"  op TEXT, params TEXT, class TEXT, context TEXT, headline INTEGER NOT NULL DEFAULT 0,"
	"  implied INTEGER NOT NULL DEFAULT 0, metrics TEXT,"
	"  state TEXT NOT NULL CHECK(state IN ('planned', 'ok', 'failed', 'skipped')),"
	"  reason TEXT, started_ns INTEGER) STRICT;"
	"CREATE INDEX invocation_boot ON invocation(boot);"
	"CREATE TABLE sample("
	"  invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	"  part TEXT NOT NULL, metric TEXT, ops INTEGER, ns INTEGER, over_ops INTEGER,"
	"  over_ns INTEGER, value REAL, PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE hist("
	"  invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	"  part TEXT NOT NULL, name TEXT NOT NULL, hist TEXT NOT NULL,"
	"  PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE usage("
	"  invocation INTEGER NOT NULL REFERENCES invocation, seq INTEGER NOT NULL,"
	"  name TEXT NOT NULL, value ANY, PRIMARY KEY(invocation, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE fact("
	"  n INTEGER PRIMARY KEY, boot INTEGER NOT NULL REFERENCES boot,"
	"  invocation INTEGER REFERENCES invocation, moment TEXT NOT NULL, class TEXT NOT NULL,"
	"  name TEXT NOT NULL, value TEXT, why TEXT) STRICT;"
	"CREATE UNIQUE INDEX fact_boot ON fact(boot, moment, name) WHERE invocation IS NULL;"
	"CREATE UNIQUE INDEX fact_invocation ON fact(invocation, moment, name)"
	"  WHERE invocation IS NOT NULL;"
	"CREATE TABLE log("
	"  n INTEGER PRIMARY KEY, boot INTEGER NOT NULL REFERENCES boot,"
	"  invocation INTEGER REFERENCES invocation, stream_ns INTEGER NOT NULL,"
	"  seq INTEGER NOT NULL, level TEXT NOT NULL, source TEXT NOT NULL,"
	"  text TEXT NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX log_boot ON log(boot, stream_ns, seq) WHERE invocation IS NULL;"
	"CREATE INDEX log_invocation ON log(invocation) WHERE invocation IS NOT NULL;"
	"CREATE TABLE failure("
	"  boot INTEGER NOT NULL REFERENCES boot, stream_ns INTEGER NOT NULL,"
	"  seq INTEGER NOT NULL, workload TEXT, params TEXT, reason TEXT NOT NULL,"
	"  PRIMARY KEY(boot, stream_ns, seq)) STRICT, WITHOUT ROWID;";

/* closed: the agent ended the invocation; 0 lets a complete import take its place. */
static const char step_1[] =
	"ALTER TABLE invocation ADD COLUMN closed INTEGER NOT NULL DEFAULT 1;"
	"CREATE TABLE raw("
	"  n INTEGER PRIMARY KEY, boot INTEGER NOT NULL REFERENCES boot,"
	"  invocation INTEGER REFERENCES invocation, stream_ns INTEGER NOT NULL,"
	"  seq INTEGER NOT NULL, record TEXT NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX raw_boot ON raw(boot, stream_ns, seq) WHERE invocation IS NULL;"
	"CREATE INDEX raw_invocation ON raw(invocation) WHERE invocation IS NOT NULL;"
	"CREATE INDEX boot_owner ON boot(owner) WHERE owner IS NOT NULL;";

static const char *const steps[SCHEMA_VERSION] = { step_0, step_1 };

/* What the file is: its version; 0 for an empty one. */
static int version_of(struct store *s, int64_t *ret, struct error *e)
{
	int64_t app = 0, tables = 0;
	int r;

	r = db_number(s, e, &app, "PRAGMA application_id", "");
	if (!r)
		r = db_number(s, e, ret, "PRAGMA user_version", "");
	if (!r)
		r = db_number(s, e, &tables, "SELECT count(*) FROM sqlite_schema", "");
	if (r < 0)
		return r;
	if (app != SCHEMA_APPLICATION_ID && (tables || *ret || app))
		return error_set(e, EINVAL, "store %s: a database, but not a store of kdelta",
				 s->path);
	if (*ret > SCHEMA_VERSION)
		return error_set(e, EPROTO,
				 "store %s: written by a newer kdelta (schema %lld, this one knows "
				 "up to %d)",
				 s->path, (long long)*ret, SCHEMA_VERSION);
	if (*ret < 0)
		return error_set(e, EINVAL, "store %s: schema version %lld", s->path,
				 (long long)*ret);
	return 0;
}

int schema_migrate(struct store *s, struct error *e)
{
	int64_t v;
	int r;

	r = version_of(s, &v, e);
	if (r < 0 || v == SCHEMA_VERSION)
		return r;
	r = db_begin(s, e);
	if (r < 0)
		return r;
	/* Again, now that nobody else can be doing the same. */
	r = version_of(s, &v, e);
	if (!r && v < SCHEMA_VERSION) {
		CLEANUP_FREE char *mark =
			mem_printf("PRAGMA application_id = %d; PRAGMA user_version = %d",
				   SCHEMA_APPLICATION_ID, SCHEMA_VERSION);

		for (; !r && v < SCHEMA_VERSION; v++)
			r = db_exec(s, e, steps[v]);
		if (!r)
			r = db_exec(s, e, mark);
	}
	return db_end(s, r, e);
}
