/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "store/db.h"

struct exporter {
	struct store *s;
	int (*line)(const char *line, size_t len, void *arg, struct error *e);
	void *arg;
};

static int emit_text(struct exporter *x, const char *line, struct error *e)
{
	int r = x->line(line, strlen(line), x->arg, e);

	return r < 0 ? r : 0;
}

static int emit_take(struct exporter *x, json_t *j, struct error *e)
{
	CLEANUP_FREE char *line = json_line(j);

	json_decref(j);
	return emit_text(x, line, e);
}

static void set(json_t *j, const char *key, json_t *v)
{
	json_object_set_new(j, key, v);
}

static json_t *column(sqlite3_stmt *st, int i)
{
	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(st, i));
	case SQLITE_FLOAT:
		return json_num(sqlite3_column_double(st, i));
	case SQLITE_NULL:
		return json_null();
	default:
		return json_str(db_text(st, i));
	}
}

/* An object of the kind, with each column of the row that is not NULL under its name. */
static json_t *object_of(sqlite3_stmt *st, const char *kind, int from)
{
	json_t *j = json_object();
	int i;

	set(j, "k", json_str(kind));
	for (i = from; i < sqlite3_column_count(st); i++)
		if (sqlite3_column_type(st, i) != SQLITE_NULL)
			set(j, sqlite3_column_name(st, i), column(st, i));
	return j;
}

static int kernels(struct exporter *x, const struct picks *p, bool all, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT n, uuid AS id, label, release, version, build_id, cmdline,"
		     " config_hash, source, created_ns, config FROM kernel WHERE NOT hidden"
		     " ORDER BY n",
		     "");
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		size_t i;

		r = 0;
		for (i = 0; !all && i < p->n; i++)
			if (p->p[i].kernel == sqlite3_column_int64(st, 0))
				break;
		if (all || i < p->n)
			r = emit_take(x, object_of(st, "kernel", 1), e);
	}
	return r;
}

static int facts_and_logs(struct exporter *x, int64_t boot, int64_t invocation, const char *id,
			  struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT moment AS \"when\", class, name, value, why FROM fact WHERE boot = ?1"
		     " AND invocation IS nullif(?2, 0) ORDER BY n",
		     "ii", boot, invocation);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		json_t *j = object_of(st, "fact", 0);

		if (id)
			set(j, "inv", json_str(id));
		if (!json_object_get(j, "value"))
			set(j, "value", json_null());
		r = emit_take(x, j, e);
	}
	db_finalize(&st);
	if (!r && invocation)
		r = db_query(x->s, e, &st,
			     "SELECT level, source, text FROM log WHERE invocation = ?1"
			     " ORDER BY n",
			     "i", invocation);
	while (!r && invocation && (r = db_step(x->s, st, e)) > 0) {
		json_t *j = object_of(st, "log", 0);

		set(j, "inv", json_str(id));
		r = emit_take(x, j, e);
	}
	return r;
}

static int samples(struct exporter *x, int64_t n, const char *id, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT ?2 AS inv, nullif(part, '') AS part, metric, value, ops, ns,"
		     " over_ops, over_ns FROM sample WHERE invocation = ?1 ORDER BY seq",
		     "it", n, id);
	while (!r && (r = db_step(x->s, st, e)) > 0)
		r = emit_take(x, object_of(st, "sample", 0), e);
	return r;
}

/* JSON that is stored as text, under a key of an object. */
static int set_text(json_t *j, const char *key, const char *text, struct error *e)
{
	json_t *v = NULL;
	int r;

	if (!text)
		return 0;
	r = json_parse(text, strlen(text), key, &v, e);
	if (!r)
		set(j, key, v);
	return r;
}

static int hists_and_raw(struct exporter *x, int64_t n, const char *id, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT hist, ?2 AS inv, nullif(part, '') AS part, name FROM hist"
		     " WHERE invocation = ?1 ORDER BY seq",
		     "it", n, id);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		json_t *j = object_of(st, "hist", 1);

		r = set_text(j, "hist", db_text(st, 0), e);
		if (r < 0)
			json_decref(j);
		else
			r = emit_take(x, j, e);
	}
	db_finalize(&st);
	if (!r)
		r = db_query(x->s, e, &st,
			     "SELECT record FROM raw WHERE invocation = ?1 ORDER BY n", "i", n);
	while (!r && (r = db_step(x->s, st, e)) > 0)
		r = emit_text(x, db_text(st, 0), e);
	return r;
}

static int usage(struct exporter *x, int64_t n, const char *id, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	json_t *j = json_object(), *values = json_object();
	int r;

	set(j, "k", json_str("usage"));
	set(j, "inv", json_str(id));
	set(j, "values", values);
	r = db_query(x->s, e, &st,
		     "SELECT name, value FROM usage WHERE invocation = ?1 ORDER BY seq", "i", n);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		r = 0;
		set(values, db_text(st, 0), column(st, 1));
	}
	if (!r)
		return emit_take(x, j, e);
	json_decref(j);
	return r;
}

/* `st` stands on the row of an invocation, see invocations(). */
static int opening(struct exporter *x, sqlite3_stmt *st, struct error *e)
{
	json_t *j = json_object();
	int r;

	set(j, "k", json_str("invocation"));
	set(j, "inv", column(st, 1));
	set(j, "workload", column(st, 2));
	set(j, "workload_version", column(st, 3));
	set(j, "family", column(st, 4));
	set(j, "op", column(st, 5));
	set(j, "params", column(st, 6));
	set(j, "class", column(st, 7));
	set(j, "headline", json_boolean(sqlite3_column_int(st, 9)));
	set(j, "implied", json_boolean(sqlite3_column_int(st, 10)));
	set(j, "time_ns", column(st, 14));
	r = set_text(j, "context", db_text(st, 8), e);
	if (!r)
		r = set_text(j, "metrics", db_text(st, 11), e);
	if (!r)
		return emit_take(x, j, e);
	json_decref(j);
	return r;
}

/* `fail` or `skip`, with what else is known of an invocation that never was begun. */
static int closing(struct exporter *x, sqlite3_stmt *st, bool alone, struct error *e)
{
	json_t *j = json_object();
	int r = 0;

	set(j, "k", json_str(str_eq(db_text(st, 12), "skipped") ? "skip" : "fail"));
	set(j, "inv", column(st, 1));
	if (db_text(st, 2))
		set(j, "workload", column(st, 2));
	if (db_text(st, 6))
		set(j, "params", column(st, 6));
	set(j, "reason", json_str(db_text(st, 13) ? db_text(st, 13) : "unknown"));
	set(j, "implied", json_boolean(sqlite3_column_int(st, 10)));
	if (!sqlite3_column_int(st, 15))
		set(j, "closed", json_false());
	if (alone) {
		set(j, "headline", json_boolean(sqlite3_column_int(st, 9)));
		if (db_text(st, 7))
			set(j, "class", column(st, 7));
		r = set_text(j, "context", db_text(st, 8), e);
	}
	if (!r)
		return emit_take(x, j, e);
	json_decref(j);
	return r;
}

static int invocations(struct exporter *x, int64_t boot, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT n, uuid, workload, version, family, op, params, class, context,"
		     " headline, implied, metrics, state, reason, started_ns, closed"
		     " FROM invocation WHERE boot = ?1 AND state != 'planned' ORDER BY n",
		     "i", boot);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		int64_t n = sqlite3_column_int64(st, 0);
		bool alone = !db_text(st, 11);
		const char *id = db_text(st, 1);

		r = alone ? 0 : opening(x, st, e);
		if (!r)
			r = facts_and_logs(x, boot, n, id, e);
		if (!r)
			r = samples(x, n, id, e);
		if (!r)
			r = hists_and_raw(x, n, id, e);
		if (r < 0)
			break;
		r = str_eq(db_text(st, 12), "ok") ? usage(x, n, id, e) : closing(x, st, alone, e);
	}
	return r;
}

/* Logs, failures and unknown kinds of the boot that came behind the hello of this time. */
static int stream(struct exporter *x, int64_t boot, int64_t stream_ns, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT seq, NULL AS record, 'log' AS k, level, source, text,"
		     "  NULL AS workload, NULL AS params, NULL AS reason FROM log"
		     "  WHERE boot = ?1 AND invocation IS NULL AND stream_ns = ?2"
		     " UNION ALL SELECT seq, NULL, 'fail', NULL, NULL, NULL, workload, params,"
		     "  reason FROM failure WHERE boot = ?1 AND stream_ns = ?2"
		     " UNION ALL SELECT seq, record, '', NULL, NULL, NULL, NULL, NULL, NULL"
		     "  FROM raw WHERE boot = ?1 AND invocation IS NULL AND stream_ns = ?2"
		     " ORDER BY seq",
		     "ii", boot, stream_ns);
	while (!r && (r = db_step(x->s, st, e)) > 0)
		r = db_text(st, 1) ? emit_text(x, db_text(st, 1), e)
				   : emit_take(x, object_of(st, db_text(st, 2), 2), e);
	return r;
}

static int streams(struct exporter *x, int64_t boot, const char *id, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = stream(x, boot, 0, e);
	if (!r)
		r = db_query(x->s, e, &st,
			     "SELECT time_ns, record FROM hello WHERE boot = ?1 ORDER BY time_ns",
			     "i", boot);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		const char *text = db_text(st, 1);
		json_t *j;

		r = json_parse(text, strlen(text), "hello", &j, e);
		if (r < 0)
			break;
		set(j, "in_boot", json_str(id));
		r = emit_take(x, j, e);
		if (!r && sqlite3_column_int64(st, 0))
			r = stream(x, boot, sqlite3_column_int64(st, 0), e);
	}
	return r;
}

static int boots(struct exporter *x, const struct picks *p, int64_t experiment, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT b.n, b.kernel, b.uuid AS id, x.uuid AS experiment, k.uuid AS kernel,"
		     " b.boot_id, b.block, b.position, b.started_ns, b.ended_ns, b.state,"
		     " b.reason, b.console, b.cmdline, b.kernel_warnings FROM boot b"
		     " JOIN experiment x ON b.experiment = x.n JOIN kernel k ON b.kernel = k.n"
		     " WHERE b.experiment = ?1 AND b.owner IS NULL"
		     " AND b.state IN ('ok', 'failed', 'stopped') ORDER BY b.n",
		     "i", experiment);
	while (!r && (r = db_step(x->s, st, e)) > 0) {
		int64_t n = sqlite3_column_int64(st, 0);
		const char *id = db_text(st, 2);
		size_t i;

		r = 0;
		for (i = 0; i < p->n; i++)
			if (p->p[i].experiment == experiment &&
			    p->p[i].kernel == sqlite3_column_int64(st, 1))
				break;
		if (i == p->n)
			continue;
		r = emit_take(x, object_of(st, "boot", 2), e);
		if (!r)
			r = streams(x, n, id, e);
		if (!r)
			r = facts_and_logs(x, n, 0, NULL, e);
		if (!r)
			r = invocations(x, n, e);
	}
	return r;
}

static int experiment(struct exporter *x, const struct picks *p, int64_t n, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	json_t *j, *members = json_array();
	char seed[32];
	size_t i;
	int r;

	r = db_query(x->s, e, &st,
		     "SELECT seed, uuid AS id, name, subject, blocks, boot_order AS \"order\","
		     " args, reproduce, created_ns FROM experiment WHERE n = ?1",
		     "i", n);
	if (!r)
		r = db_step(x->s, st, e);
	if (r < 0) {
		json_decref(members);
		return r;
	}
	j = object_of(st, "experiment", 1);
	/* A seed has 64 bits, a number of JSON has not. */
	snprintf(seed, sizeof(seed), "%" PRIu64, db_u64(st, 0));
	set(j, "seed", json_str(seed));
	set(j, "kernels", members);
	r = 0;
	for (i = 0; !r && i < p->n; i++) {
		if (p->p[i].experiment != n)
			continue;
		db_finalize(&st);
		r = db_query(x->s, e, &st, "SELECT uuid FROM kernel WHERE n = ?1", "i",
			     p->p[i].kernel);
		if (!r)
			r = db_step(x->s, st, e);
		if (r > 0)
			json_array_append_new(members, column(st, 0));
		r = r < 0 ? r : 0;
	}
	if (r < 0) {
		json_decref(j);
		return r;
	}
	r = emit_take(x, j, e);
	return r ? r : boots(x, p, n, e);
}

static int export_picks(struct exporter *x, const struct picks *p, bool all, struct error *e)
{
	size_t i, k;
	int r;

	r = kernels(x, p, all, e);
	for (i = 0; !r && i < p->n; i++) {
		for (k = 0; k < i; k++)
			if (p->p[k].experiment == p->p[i].experiment)
				break;
		if (k == i)
			r = experiment(x, p, p->p[i].experiment, e);
	}
	return r;
}

int store_export(struct store *s, const struct store_selection *sel,
		 int (*line)(const char *line, size_t len, void *arg, struct error *e), void *arg,
		 struct error *e)
{
	struct exporter x = { s, line, arg };
	bool all = !sel || (!sel->n_labels && !sel->n_experiments);
	struct picks p = { 0 };
	int r;

	r = db_begin_read(s, e);
	if (r < 0)
		return r;
	r = select_picks(s, sel, true, &p, e);
	if (!r)
		r = export_picks(&x, &p, all, e);
	r = db_end(s, r, e);
	picks_done(&p);
	return r;
}
