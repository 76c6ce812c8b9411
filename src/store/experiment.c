/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/db.h"

#define MIN_PREFIX 8 /* characters of an id that may stand for it */

int store_experiment_begin(struct store *s, const struct store_experiment *x,
			   char ret_id[ID_UUID_SIZE], struct error *e)
{
	int64_t n;
	int r;

	if (x->name && (!*x->name || !text_is_utf8(x->name)))
		return error_set(e, EINVAL, "experiment: the name is %s",
				 *x->name ? "not UTF-8" : "empty");
	r = id_uuid(ret_id, e);
	if (!r)
		r = db_begin(s, e);
	if (r < 0)
		return r;
	if (x->name) {
		r = db_number(s, e, &n, "SELECT n FROM experiment WHERE name = ?1", "t", x->name);
		if (!r)
			r = error_set(e, EEXIST, "experiment '%s' exists already", x->name);
		else if (r == -ENOENT)
			r = 0;
	}
	if (!r)
		r = db_run(s, e,
			   "INSERT INTO experiment(uuid, name, subject, seed, blocks, boot_order,"
			   " args, reproduce, created_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
			   " ?9)",
			   "tttuutttu", ret_id, x->name, x->subject, x->seed, (uint64_t)x->blocks,
			   x->order, x->args, x->reproduce, clock_real_ns());
	return db_end(s, r, e);
}

#define RECENCY                                                                                    \
	"max(x.created_ns, coalesce((SELECT max(b.started_ns) FROM boot b"                         \
	" WHERE b.experiment = x.n), 0))"

int experiment_row(struct store *s, const char *id_or_name, int64_t *ret, struct error *e)
{
	int64_t n = 0;
	int r;

	if (!id_or_name) {
		r = db_number(s, e, ret,
			      "SELECT x.n FROM experiment x ORDER BY " RECENCY
			      " DESC, x.n DESC LIMIT 1",
			      "");
		return r == -ENOENT ? error_set(e, ENOENT, "the store has no experiment yet") : r;
	}
	r = db_number(s, e, ret, "SELECT n FROM experiment WHERE name = ?1", "t", id_or_name);
	if (r == -ENOENT)
		r = db_number(s, e, ret, "SELECT n FROM experiment WHERE uuid = ?1", "t",
			      id_or_name);
	if (r == -ENOENT && strlen(id_or_name) >= MIN_PREFIX) {
		r = db_number(s, e, &n,
			      "SELECT count(*) FROM experiment"
			      " WHERE substr(uuid, 1, length(?1)) = ?1",
			      "t", id_or_name);
		if (!r && n > 1)
			return error_set(e, ENOENT, "experiment '%s': %lld begin like that",
					 id_or_name, (long long)n);
		if (!r)
			r = db_number(s, e, ret,
				      "SELECT n FROM experiment"
				      " WHERE substr(uuid, 1, length(?1)) = ?1",
				      "t", id_or_name);
	}
	return r == -ENOENT ? error_set(e, ENOENT, "no experiment '%s' in the store", id_or_name)
			    : r;
}

int store_experiment_find(struct store *s, const char *id_or_name, char ret_id[ID_UUID_SIZE],
			  struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int64_t n;
	int r;

	r = experiment_row(s, id_or_name, &n, e);
	if (!r)
		r = db_query(s, e, &st, "SELECT uuid FROM experiment WHERE n = ?1", "i", n);
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	memcpy(ret_id, db_text(st, 0), ID_UUID_SIZE);
	return 0;
}

int experiment_kernel(struct store *s, int64_t experiment, int64_t kernel, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(s, e, &st,
		     "SELECT o.label, o.release, o.build_id FROM member m"
		     " JOIN kernel o ON m.kernel = o.n JOIN kernel k ON k.label = o.label"
		     " WHERE m.experiment = ?1 AND k.n = ?2 AND o.n != k.n AND NOT o.hidden",
		     "ii", experiment, kernel);
	if (!r)
		r = db_step(s, st, e);
	if (r > 0)
		return error_set(e, EEXIST,
				 "label '%s' stands for another kernel in this experiment already "
				 "(release %s, build-id %s); take another label",
				 db_text(st, 0), db_text(st, 1) ? db_text(st, 1) : "unknown",
				 db_text(st, 2) ? db_text(st, 2) : "unknown");
	if (r < 0)
		return r;
	return db_run(s, e,
		      "INSERT OR IGNORE INTO member(experiment, kernel, position) VALUES (?1, ?2,"
		      " (SELECT coalesce(max(position) + 1, 0) FROM member WHERE experiment = ?1))",
		      "ii", experiment, kernel);
}

int store_experiment_extend(struct store *s, const char *id, unsigned blocks, const char *order,
			    const char *reproduce, struct error *e)
{
	int64_t x;
	int r;

	r = db_begin(s, e);
	if (r < 0)
		return r;
	r = row_find(s, e, "experiment", id, &x);
	if (!r)
		r = db_run(s, e,
			   "UPDATE experiment SET blocks = ?2, boot_order = ?3, reproduce = ?4"
			   " WHERE n = ?1",
			   "iutt", x, (uint64_t)blocks, order, reproduce);
	return db_end(s, r, e);
}

int store_experiment_kernel(struct store *s, const char *experiment, const char *kernel,
			    struct error *e)
{
	int64_t x, k;
	int r;

	r = db_begin(s, e);
	if (r < 0)
		return r;
	r = row_find(s, e, "experiment", experiment, &x);
	if (!r)
		r = row_find(s, e, "kernel", kernel, &k);
	if (!r)
		r = experiment_kernel(s, x, k, e);
	return db_end(s, r, e);
}

int store_list_experiments(struct store *s, struct store_experiments *ret, struct error *e)
{
	static const char sql[] =
		"SELECT x.uuid, x.name, x.subject,"
		" (SELECT group_concat(label, ', ') FROM (SELECT k.label AS label FROM member m"
		"  JOIN kernel k ON m.kernel = k.n WHERE m.experiment = x.n AND NOT k.hidden"
		"  ORDER BY m.position)),"
		" x.created_ns, " RECENCY " AS last,"
		" (SELECT count(*) FROM boot b WHERE b.experiment = x.n AND b.state = 'ok'),"
		" (SELECT count(*) FROM boot b WHERE b.experiment = x.n AND b.state = 'failed'),"
		" (SELECT count(*) FROM boot b WHERE b.experiment = x.n"
		"  AND b.state IN ('planned', 'running')),"
		" (SELECT count(*) FROM invocation v JOIN boot b ON v.boot = b.n"
		"  WHERE b.experiment = x.n AND v.state = 'ok')"
		" FROM experiment x"
		" WHERE NOT EXISTS (SELECT 1 FROM member m WHERE m.experiment = x.n)"
		"  OR EXISTS (SELECT 1 FROM member m JOIN kernel k ON m.kernel = k.n"
		"   WHERE m.experiment = x.n AND NOT k.hidden)"
		" ORDER BY last DESC, x.n DESC";
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = db_query(s, e, &st, sql, "");
	while (!r && (r = db_step(s, st, e)) > 0) {
		struct store_experiment_row *x;
		struct arena *a = &ret->arena;

		r = 0;
		ret->rows = arena_grow(a, ret->rows, ret->n, &cap, sizeof(*x));
		x = &ret->rows[ret->n++];
		x->id = arena_strdup(a, db_text(st, 0));
		x->name = arena_strdup(a, db_text(st, 1));
		x->subject = arena_strdup(a, db_text(st, 2));
		x->labels = arena_strdup(a, db_text(st, 3) ? db_text(st, 3) : "");
		x->created_ns = db_u64(st, 4);
		x->last_ns = db_u64(st, 5);
		x->boots_ok = db_u64(st, 6);
		x->boots_failed = db_u64(st, 7);
		x->boots_open = db_u64(st, 8);
		x->invocations = db_u64(st, 9);
	}
	if (r < 0)
		store_experiments_done(ret);
	return r;
}

void store_experiments_done(struct store_experiments *x)
{
	if (!x)
		return;
	arena_done(&x->arena);
	memset(x, 0, sizeof(*x));
}
