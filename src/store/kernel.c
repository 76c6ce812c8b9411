/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/db.h"

#define IDENTITY "release, version, build_id, config_hash, source, cmdline"

/* Agreement of two values of which either may be unknown: 1 same, 0 unknown, -1 different. */
static int agree(const char *a, const char *b)
{
	if (!a || !b)
		return 0;
	return strcmp(a, b) ? -1 : 1;
}

/* `st` stands on a row that begins with IDENTITY, from `column` on. */
static bool same_kernel(sqlite3_stmt *st, int column, const struct ds_kernel *k)
{
	int a[6] = {
		agree(db_text(st, column), k->release),
		agree(db_text(st, column + 1), k->version),
		agree(db_text(st, column + 2), k->build_id),
		agree(db_text(st, column + 3), k->config_hash),
		agree(db_text(st, column + 4), k->source),
		agree(db_text(st, column + 5), k->cmdline),
	};
	bool known = false;
	unsigned i;

	/* The source has the appended command line in it; the booted one has paths and devices. */
	if (a[4])
		a[5] = 0;
	for (i = 0; i < ARRAY_SIZE(a); i++) {
		if (a[i] < 0)
			return false;
		known |= a[i] > 0;
	}
	return known;
}

static int fill_in(struct store *s, int64_t n, const struct ds_kernel *k, struct error *e)
{
	return db_run(s, e,
		      "UPDATE kernel SET release = coalesce(release, ?2),"
		      " version = coalesce(version, ?3), build_id = coalesce(build_id, ?4),"
		      " cmdline = coalesce(cmdline, ?5), config = coalesce(config, ?6),"
		      " config_hash = coalesce(config_hash, ?7) WHERE n = ?1",
		      "itttttt", n, k->release, k->version, k->build_id, k->cmdline, k->config,
		      k->config_hash);
}

static int check_name(const char *what, const char *name, struct error *e)
{
	if (!name || !*name)
		return error_set(e, EINVAL, "an empty %s", what);
	if (!text_is_utf8(name))
		return error_set(e, EINVAL, "a %s that is not UTF-8", what);
	return 0;
}

static int add(struct store *s, const struct ds_kernel *k, char ret_id[ID_UUID_SIZE],
	       struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(s, e, &st,
		     "SELECT n, uuid, " IDENTITY
		     " FROM kernel WHERE label = ?1 AND NOT hidden ORDER BY n DESC",
		     "t", k->label);
	while (!r && (r = db_step(s, st, e)) > 0) {
		r = 0;
		if (!same_kernel(st, 2, k))
			continue;
		memcpy(ret_id, db_text(st, 1), ID_UUID_SIZE);
		return fill_in(s, sqlite3_column_int64(st, 0), k, e);
	}
	if (r < 0)
		return r;
	r = id_uuid(ret_id, e);
	if (r < 0)
		return r;
	return db_run(s, e,
		      "INSERT INTO kernel(uuid, label, release, version, build_id, cmdline,"
		      " config, config_hash, source, created_ns) VALUES"
		      " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		      "tttttttttu", ret_id, k->label, k->release, k->version, k->build_id,
		      k->cmdline, k->config, k->config_hash, k->source, clock_real_ns());
}

int store_kernel_add(struct store *s, const struct ds_kernel *k, char ret_id[ID_UUID_SIZE],
		     struct error *e)
{
	int r = check_name("label", k->label, e);

	if (!r)
		r = db_begin(s, e);
	return r < 0 ? r : db_end(s, add(s, k, ret_id, e), e);
}

static int update(struct store *s, const char *id, const struct ds_kernel *k, struct error *e)
{
	static const char *const names[] = { "release", "version", "build-id", "config hash" };
	const char *new[] = { k->release, k->version, k->build_id, k->config_hash };
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	unsigned i;
	int64_t n;
	int r;

	r = row_find(s, e, "kernel", id, &n);
	if (!r)
		r = db_query(s, e, &st, "SELECT label, " IDENTITY " FROM kernel WHERE n = ?1", "i",
			     n);
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const char *old = db_text(st, (int)i + 1);

		if (agree(old, new[i]) < 0)
			return error_set(e, ESTALE, "kernel %s: its %s is '%s', known was '%s'",
					 db_text(st, 0), names[i], new[i], old);
	}
	return fill_in(s, n, k, e);
}

int store_kernel_update(struct store *s, const char *id, const struct ds_kernel *k, struct error *e)
{
	int r = db_begin(s, e);

	return r < 0 ? r : db_end(s, update(s, id, k, e), e);
}

int label_unknown(struct store *s, const char *label, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	struct str known = STR_INIT;
	int r;

	r = db_query(s, e, &st,
		     "SELECT label, max(n) FROM kernel WHERE NOT hidden GROUP BY label"
		     " ORDER BY 2 DESC LIMIT 10",
		     "");
	while (!r && (r = db_step(s, st, e)) > 0) {
		r = 0;
		str_printf(&known, "%s%s", known.len ? ", " : "", db_text(st, 0));
	}
	if (!r)
		r = error_set(e, ENOENT, "no label '%s' in the store (%s%s)", label,
			      known.len ? "there are: " : "it has none", str_get(&known));
	str_done(&known);
	return r;
}

int label_known(struct store *s, const char *label, bool *ret, struct error *e)
{
	int64_t n = 0;
	int r = db_number(s, e, &n, "SELECT count(*) FROM kernel WHERE label = ?1 AND NOT hidden",
			  "t", label);

	*ret = n > 0;
	return r;
}

static int mv(struct store *s, const char *from, const char *to, struct error *e)
{
	bool have;
	int r;

	r = label_known(s, from, &have, e);
	if (!r && !have)
		r = label_unknown(s, from, e);
	if (!r)
		r = label_known(s, to, &have, e);
	if (!r && have)
		r = error_set(e, EEXIST, "label '%s' exists already", to);
	return r ? r
		 : db_run(s, e, "UPDATE kernel SET label = ?2 WHERE label = ?1 AND NOT hidden",
			  "tt", from, to);
}

int store_label_mv(struct store *s, const char *from, const char *to, struct error *e)
{
	int r = check_name("label", to, e);

	if (!r)
		r = db_begin(s, e);
	return r < 0 ? r : db_end(s, mv(s, from, to, e), e);
}

static int rm(struct store *s, const char *label, struct error *e)
{
	bool have;
	int r = label_known(s, label, &have, e);

	if (!r && !have)
		r = label_unknown(s, label, e);
	return r ? r : db_run(s, e, "UPDATE kernel SET hidden = 1 WHERE label = ?1", "t", label);
}

int store_label_rm(struct store *s, const char *label, struct error *e)
{
	int r = db_begin(s, e);

	return r < 0 ? r : db_end(s, rm(s, label, e), e);
}

int store_list_labels(struct store *s, struct store_labels *ret, struct error *e)
{
	/* SQLite takes the bare columns from the row that has the max(): lang_select.html 2.5. */
	static const char sql[] =
		"SELECT k.label, k.release, k.version, k.build_id, k.source,"
		" (SELECT count(*) FROM kernel o WHERE o.label = k.label AND NOT o.hidden),"
		" count(DISTINCT b.experiment), count(b.n) FILTER (WHERE b.state = 'ok'),"
		" count(b.n) FILTER (WHERE b.state = 'failed'),"
		" (SELECT count(*) FROM invocation v JOIN boot w ON v.boot = w.n"
		"  JOIN kernel o ON w.kernel = o.n WHERE o.label = k.label AND NOT o.hidden"
		"  AND v.state = 'ok'),"
		" max(coalesce(b.started_ns, k.created_ns)) AS last"
		" FROM kernel k LEFT JOIN boot b ON b.kernel = k.n AND b.state != 'planned'"
		" WHERE NOT k.hidden GROUP BY k.label ORDER BY last DESC, k.n DESC";
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = db_query(s, e, &st, sql, "");
	while (!r && (r = db_step(s, st, e)) > 0) {
		struct store_label_row *l;
		struct arena *a = &ret->arena;

		r = 0;
		ret->rows = arena_grow(a, ret->rows, ret->n, &cap, sizeof(*l));
		l = &ret->rows[ret->n++];
		l->label = arena_strdup(a, db_text(st, 0));
		l->release = arena_strdup(a, db_text(st, 1));
		l->version = arena_strdup(a, db_text(st, 2));
		l->build_id = arena_strdup(a, db_text(st, 3));
		l->source = arena_strdup(a, db_text(st, 4));
		l->kernels = db_u64(st, 5);
		l->experiments = db_u64(st, 6);
		l->boots_ok = db_u64(st, 7);
		l->boots_failed = db_u64(st, 8);
		l->invocations = db_u64(st, 9);
		l->last_ns = db_u64(st, 10);
	}
	if (r < 0)
		store_labels_done(ret);
	return r;
}

void store_labels_done(struct store_labels *l)
{
	if (!l)
		return;
	arena_done(&l->arena);
	memset(l, 0, sizeof(*l));
}

int store_list_kernels(struct store *s, struct store_kernels *ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = db_query(s, e, &st,
		     "SELECT label, release, version, build_id, source FROM kernel"
		     " WHERE NOT hidden ORDER BY n DESC",
		     "");
	while (!r && (r = db_step(s, st, e)) > 0) {
		struct store_kernel_row *k;
		struct arena *a = &ret->arena;

		r = 0;
		ret->rows = arena_grow(a, ret->rows, ret->n, &cap, sizeof(*k));
		k = &ret->rows[ret->n++];
		k->label = arena_strdup(a, db_text(st, 0));
		k->release = arena_strdup(a, db_text(st, 1));
		k->version = arena_strdup(a, db_text(st, 2));
		k->build_id = arena_strdup(a, db_text(st, 3));
		k->source = arena_strdup(a, db_text(st, 4));
	}
	if (r < 0)
		store_kernels_done(ret);
	return r;
}

void store_kernels_done(struct store_kernels *k)
{
	if (!k)
		return;
	arena_done(&k->arena);
	memset(k, 0, sizeof(*k));
}
