/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "store/db.h"

void rows_list_add(struct rows_list *l, const struct record *r)
{
	l->r = mem_grow(l->r, l->n, &l->cap, sizeof(*l->r));
	l->r[l->n] = *r;
	json_incref(l->r[l->n++].raw);
}

void rows_list_done(struct rows_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		json_decref(l->r[i].raw);
	free(l->r);
	memset(l, 0, sizeof(*l));
}

int rows_of_hello(struct store *s, int64_t boot, const struct record *r, struct error *e)
{
	const struct record_hello *h = &r->hello;
	CLEANUP_JSON json_t *j = json_copy(r->raw);
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_FREE char *line = NULL;
	int c;

	c = db_query(s, e, &st, "SELECT boot_id FROM boot WHERE n = ?1", "i", boot);
	if (!c)
		c = db_step(s, st, e);
	if (c < 0)
		return c;
	if (h->boot_id && db_text(st, 0) && !str_eq(h->boot_id, db_text(st, 0)))
		return error_set(e, EPROTO, "hello comes from another boot (boot_id %s, not %s)",
				 h->boot_id, db_text(st, 0));
	db_finalize(&st);
	json_object_del(j, "in_boot"); /* where an export says whose hello it is */
	line = json_line(j);
	c = db_run(s, e, "INSERT OR IGNORE INTO hello(boot, time_ns, record) VALUES (?1, ?2, ?3)",
		   "iut", boot, h->time_ns, line);
	return c ? c
		 : db_run(s, e,
			  "UPDATE boot SET boot_id = coalesce(boot_id, ?2),"
			  " cmdline = coalesce(cmdline, ?3) WHERE n = ?1",
			  "itt", boot, h->boot_id, h->cmdline);
}

/* A fact of the boot (invocation 0) or of an invocation. */
static int add_fact(struct store *s, int64_t boot, int64_t invocation, const struct record_fact *f,
		    struct error *e)
{
#define FACT                                                                                       \
	"INTO fact(boot, invocation, moment, class, name, value, why) VALUES"                      \
	" (?1, nullif(?2, 0), ?3, ?4, ?5, ?6, ?7)"
	const char *sql = "INSERT OR REPLACE " FACT;

	if (!invocation)
		sql = f->when == FACT_BEFORE
			      ? "INSERT OR IGNORE " FACT
			      : "INSERT " FACT
				" ON CONFLICT(boot, moment, name) WHERE invocation IS NULL"
				" DO UPDATE SET class = ?4, value = ?6, why = ?7";
#undef FACT
	return db_run(s, e, sql, "iittttt", boot, invocation, fact_when_name(f->when),
		      fact_class_name(f->class), f->name, f->value, f->why);
}

static int add_log(struct store *s, const struct rows_at *at, int64_t invocation,
		   const struct record_log *l, struct error *e)
{
	return db_run(s, e,
		      "INSERT OR IGNORE INTO log(boot, invocation, stream_ns, seq, level, source,"
		      " text) VALUES (?1, nullif(?2, 0), ?3, ?4, ?5, ?6, ?7)",
		      "iiiittt", at->boot, invocation, at->stream_ns, at->seq, l->level, l->source,
		      l->text);
}

/* `id`: under which the invocation is stored, put in place of the stream's own. */
static int add_raw(struct store *s, const struct rows_at *at, int64_t invocation, const char *id,
		   const struct record *r, struct error *e)
{
	CLEANUP_JSON json_t *j = json_copy(r->raw);
	CLEANUP_FREE char *line = NULL;

	if (id)
		json_object_set_new(j, "inv", json_str(id));
	line = json_line(j);
	return db_run(s, e,
		      "INSERT OR IGNORE INTO raw(boot, invocation, stream_ns, seq, record)"
		      " VALUES (?1, nullif(?2, 0), ?3, ?4, ?5)",
		      "iiiit", at->boot, invocation, at->stream_ns, at->seq, line);
}

int rows_of_boot(struct store *s, const struct rows_at *at, const struct rows_list *l,
		 struct error *e)
{
	struct rows_at here = *at;
	int c = 0;
	size_t i;

	for (i = 0; !c && i < l->n; i++, here.seq++) {
		const struct record *r = &l->r[i];

		if (r->kind == RECORD_FACT)
			c = add_fact(s, at->boot, 0, &r->fact, e);
		else if (r->kind == RECORD_LOG)
			c = add_log(s, &here, 0, &r->log, e);
		else if (r->kind == RECORD_FAIL)
			c = db_run(s, e,
				   "INSERT OR IGNORE INTO failure(boot, stream_ns, seq, workload,"
				   " params, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
				   "iiittt", here.boot, here.stream_ns, here.seq, r->fail.workload,
				   r->fail.params, r->fail.reason);
		else
			c = add_raw(s, &here, 0, NULL, r, e);
	}
	return c;
}

static int add_usage(struct store *s, int64_t v, const json_t *values, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	json_t *object = json_copy((json_t *)(uintptr_t)values), *value;
	const char *name;
	int64_t seq = 0;
	int c = 0;

	json_object_foreach (object, name, value) {
		c = db_run_again(s, e, &st,
				 "INSERT INTO usage(invocation, seq, name, value)"
				 " VALUES (?1, ?2, ?3, ?4)",
				 "iitj", v, seq++, name, (const json_t *)value);
		if (c < 0)
			break;
	}
	json_decref(object);
	return c;
}

static int add_sample(struct store *s, sqlite3_stmt **st, int64_t v, int64_t seq,
		      const struct record_sample *m, struct error *e)
{
	static const char sql[] = "INSERT INTO sample(invocation, seq, part, metric, ops, ns,"
				  " over_ops, over_ns, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
				  " ?8, ?9)";
	/* sqlite3_reset() keeps bindings, so each column is bound in each row. */
	CLEANUP_JSON json_t *ops = m->metric ? json_null() : json_u64(m->ops);
	CLEANUP_JSON json_t *ns = m->metric ? json_null() : json_u64(m->ns);
	CLEANUP_JSON json_t *over_ops = m->has_overhead ? json_u64(m->over_ops) : json_null();
	CLEANUP_JSON json_t *over_ns = m->has_overhead ? json_u64(m->over_ns) : json_null();
	CLEANUP_JSON json_t *value = m->metric ? json_num(m->value) : json_null();

	return db_run_again(s, e, st, sql, "iittjjjjj", v, seq, m->part, m->metric, ops, ns,
			    over_ops, over_ns, value);
}

static int add_children(struct store *s, int64_t boot, int64_t n, const struct rows_invocation *v,
			struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *sample = NULL;
	bool ok = !strcmp(v->state, "ok");
	size_t i;
	int c = 0;

	for (i = 0; !c && i < v->burst->n; i++) {
		const struct record *r = &v->burst->r[i];
		struct rows_at at = { boot, 0, (int64_t)i };

		if (r->kind == RECORD_FACT) {
			c = add_fact(s, boot, n, &r->fact, e);
		} else if (r->kind == RECORD_LOG) {
			c = add_log(s, &at, n, &r->log, e);
		} else if (!ok || r->kind == RECORD_INVOCATION) {
			/* No number of a failed run, also not in a kind that is not known here. */
			continue;
		} else if (r->kind == RECORD_SAMPLE) {
			c = add_sample(s, &sample, n, at.seq, &r->sample, e);
		} else if (r->kind == RECORD_HIST) {
			CLEANUP_FREE char *h = json_line(r->hist.hist);

			c = db_run(s, e,
				   "INSERT INTO hist(invocation, seq, part, name, hist) VALUES"
				   " (?1, ?2, ?3, ?4, ?5)",
				   "iittt", n, at.seq, r->hist.part, r->hist.name, h);
		} else if (r->kind == RECORD_USAGE) {
			c = add_usage(s, n, r->usage.values, e);
		} else {
			c = add_raw(s, &at, n, v->id, r, e);
		}
	}
	return c;
}

/* What a `fail` or `skip` that came alone tells about its invocation. */
static int describe_alone(struct store *s, int64_t n, const struct rows_invocation *v,
			  struct error *e)
{
	const struct record *last = v->burst->n ? &v->burst->r[v->burst->n - 1] : NULL;
	const char *workload, *params;
	CLEANUP_FREE char *context = NULL;
	const json_t *c;

	if (!last || (last->kind != RECORD_FAIL && last->kind != RECORD_SKIP))
		return 0;
	workload = last->kind == RECORD_FAIL ? last->fail.workload : last->skip.workload;
	params = last->kind == RECORD_FAIL ? last->fail.params : last->skip.params;
	c = json_object_get(last->raw, "context");
	context = json_is_object(c) ? text_of_json(c) : NULL;
	/* What the plan said stays. */
	return db_run(s, e,
		      "UPDATE invocation SET workload = coalesce(workload, nullif(?2, '')),"
		      " params = coalesce(params, ?3), class = coalesce(class, ?4),"
		      " context = coalesce(context, ?5), headline = max(headline, ?6)"
		      " WHERE n = ?1",
		      "ittttb", n, workload, params, json_opt_str(last->raw, "class", NULL),
		      context, (int)json_opt_bool(last->raw, "headline", false));
}

static int describe(struct store *s, int64_t n, const struct rows_invocation *v, struct error *e)
{
	const struct record *first = v->burst->n ? &v->burst->r[0] : NULL;
	const struct record_invocation *i;
	CLEANUP_FREE char *context = NULL, *metrics = NULL;

	if (!first || first->kind != RECORD_INVOCATION)
		return describe_alone(s, n, v, e);
	i = &first->invocation;
	context = text_of_json(i->context);
	metrics = v->bad_metrics ? mem_strdup("[]") : json_line(i->metrics);
	return db_run(s, e,
		      "UPDATE invocation SET workload = ?2, version = ?3, family = ?4, op = ?5,"
		      " params = ?6, class = ?7, context = ?8, headline = ?9, metrics = ?10,"
		      " started_ns = ?11 WHERE n = ?1",
		      "itutttttbtu", n, i->workload, i->workload_version, i->family, i->op,
		      i->params, i->class, context, (int)i->headline, metrics, i->time_ns);
}

/* The row to fill: 1 if it is there and closed, so that nothing is to be done. */
static int open_row(struct store *s, int64_t boot, const struct rows_invocation *v, bool implied,
		    int64_t *ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int c;

	c = db_query(s, e, &st, "SELECT n, boot, closed FROM invocation WHERE uuid = ?1", "t",
		     v->id);
	if (!c)
		c = db_step(s, st, e);
	if (c < 0)
		return c;
	if (!c) {
		c = db_run(s, e,
			   "INSERT INTO invocation(uuid, boot, state, implied) VALUES"
			   " (?1, ?2, 'planned', ?3)",
			   "tib", v->id, boot, (int)implied);
		*ret = sqlite3_last_insert_rowid(s->db);
		return c;
	}
	if (sqlite3_column_int64(st, 1) != boot)
		return error_set(e, EPROTO, "invocation %s belongs to another boot", v->id);
	*ret = sqlite3_column_int64(st, 0);
	if (sqlite3_column_int(st, 2))
		return 1;
	db_finalize(&st);
	/* An unfinished one has facts and logs at most. */
	c = db_run(s, e, "DELETE FROM fact WHERE invocation = ?1", "i", *ret);
	return c ? c : db_run(s, e, "DELETE FROM log WHERE invocation = ?1", "i", *ret);
}

int rows_of_invocation(struct store *s, int64_t boot, const struct rows_invocation *v,
		       bool *ret_implied, struct error *e)
{
	const struct record *last = v->burst->n ? &v->burst->r[v->burst->n - 1] : NULL;
	bool implied = last && json_opt_bool(last->raw, "implied", false);
	int64_t n = 0, stored = 0;
	int c, known;

	c = known = open_row(s, boot, v, implied, &n, e);
	if (c >= 0)
		c = db_number(s, e, &stored, "SELECT implied FROM invocation WHERE n = ?1", "i", n);
	*ret_implied = implied || stored;
	if (c < 0 || known)
		return c;
	c = describe(s, n, v, e);
	if (!c)
		c = db_run(s, e,
			   "UPDATE invocation SET state = ?2, reason = ?3, closed = ?4,"
			   " implied = max(implied, ?5) WHERE n = ?1",
			   "ittbb", n, v->state, v->reason, (int)v->closed, (int)implied);
	return c ? c : add_children(s, boot, n, v, e);
}
