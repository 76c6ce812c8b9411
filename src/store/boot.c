/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A boot's row has an owner while a process measures in it, whatever its state: a boot that went
 * well and is measured again stays ok.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/db.h"

static int insert(struct store *s, const struct store_boot *b, int64_t x, int64_t k,
		  char ret_id[ID_UUID_SIZE], int64_t *ret, struct error *e)
{
	int r = id_uuid(ret_id, e);

	if (!r)
		r = db_run(s, e,
			   "INSERT INTO boot(uuid, experiment, kernel, boot_id, block, position,"
			   " state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'planned')",
			   "tiituu", ret_id, x, k, b->boot_id, (uint64_t)b->block,
			   (uint64_t)b->position);
	*ret = sqlite3_last_insert_rowid(s->db);
	return r;
}

static int parents(struct store *s, const struct store_boot *b, int64_t *x, int64_t *k,
		   struct error *e)
{
	int r = row_find(s, e, "experiment", b->experiment, x);

	if (!r)
		r = row_find(s, e, "kernel", b->kernel, k);
	return r ? r : experiment_kernel(s, *x, *k, e);
}

int store_boot_plan(struct store *s, const struct store_boot *b, char ret_id[ID_UUID_SIZE],
		    struct error *e)
{
	int64_t x, k, n;
	int r;

	r = db_begin(s, e);
	if (r < 0)
		return r;
	r = parents(s, b, &x, &k, e);
	if (!r)
		r = insert(s, b, x, k, ret_id, &n, e);
	return db_end(s, r, e);
}

/* The row of this boot: the planned one, the one with the same boot_id, or a new one. */
static int find_or_insert(struct store *s, const struct store_boot *b, char ret_id[ID_UUID_SIZE],
			  int64_t *ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int64_t x, k;
	int r;

	r = parents(s, b, &x, &k, e);
	if (!r && b->id)
		r = db_query(s, e, &st, "SELECT n, uuid, owner FROM boot WHERE uuid = ?1", "t",
			     b->id);
	else if (!r)
		r = db_query(s, e, &st,
			     "SELECT n, uuid, owner FROM boot WHERE experiment = ?1"
			     " AND kernel = ?2 AND boot_id = ?3 AND state != 'planned'",
			     "iit", x, k, b->boot_id);
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	if (!r && b->id)
		return error_set(e, ENOENT, "store %s: no boot %s", s->path, b->id);
	if (!r)
		return insert(s, b, x, k, ret_id, ret, e);
	if (db_text(st, 2) && owner_alive(db_text(st, 2)))
		return error_set(e, EBUSY, "another kdelta is measuring in this boot right now");
	*ret = sqlite3_column_int64(st, 0);
	memcpy(ret_id, db_text(st, 1), ID_UUID_SIZE);
	return 0;
}

static int add_items(struct store *s, int64_t boot, const struct plan *p, struct error *e)
{
	CLEANUP_FREE char *context = p->context ? text_of_json(p->context) : mem_strdup("{}");
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r = 0;
	size_t i;

	for (i = 0; !r && i < p->n; i++) {
		const struct plan_item *it = &p->items[i];
		CLEANUP_FREE char *params = settings_key(it->params, it->settings, it->n_settings);

		if (!text_is_uuid(it->id))
			return error_set(e, EINVAL, "plan: the id '%s' is no UUID", it->id);
		r = db_run_again(s, e, &st,
				 "INSERT INTO invocation(uuid, boot, workload, params, class,"
				 " context, headline, implied, state, closed) VALUES"
				 " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'planned', 0)",
				 "tittttbb", it->id, boot, it->workload, params, p->class, context,
				 (int)it->headline, (int)it->implied);
	}
	return r;
}

int boot_start(struct store *s, const struct store_boot *b, const struct plan *p,
	       uint64_t started_ns, char ret_id[ID_UUID_SIZE], struct error *e)
{
	int64_t n;
	int r;

	r = db_begin(s, e);
	if (r < 0)
		return r;
	r = find_or_insert(s, b, ret_id, &n, e);
	if (!r)
		r = db_run(s, e,
			   "UPDATE boot SET owner = ?2, boot_id = coalesce(boot_id, ?4),"
			   " started_ns = min(?3, coalesce(started_ns, ?3)),"
			   " state = CASE state WHEN 'ok' THEN 'ok' ELSE 'running' END"
			   " WHERE n = ?1",
			   "itut", n, s->owner, started_ns, b->boot_id);
	if (!r && p)
		r = add_items(s, n, p, e);
	return db_end(s, r, e);
}

int store_boot_begin(struct store *s, const struct store_boot *b, const struct plan *p,
		     char ret_id[ID_UUID_SIZE], struct error *e)
{
	return boot_start(s, b, p, clock_real_ns(), ret_id, e);
}

int boot_close(struct store *s, int64_t boot, const struct store_boot_end *end, struct error *e)
{
	const char *state = end->state == STORE_OK	  ? "ok"
			    : end->state == STORE_STOPPED ? "stopped"
							  : "failed";
	const char *why = end->reason ? end->reason : "the boot ended";
	int r;

	r = db_run(s, e,
		   "UPDATE invocation SET state = 'failed', closed = 0,"
		   " reason = 'unfinished: ' || ?2 WHERE boot = ?1 AND state = 'planned'",
		   "it", boot, why);
	if (r < 0)
		return r;
	return db_run(s, e,
		      "UPDATE boot SET owner = NULL, ended_ns = ?2,"
		      " reason = CASE WHEN state = 'ok' OR ?3 = 'ok' THEN NULL ELSE ?4 END,"
		      " state = CASE state WHEN 'ok' THEN 'ok' ELSE ?3 END,"
		      " console = coalesce(?5, console), kernel_warnings = kernel_warnings + ?6"
		      " WHERE n = ?1",
		      "iutttu", boot, clock_real_ns(), state, end->state == STORE_OK ? NULL : why,
		      end->console, (uint64_t)end->kernel_warnings);
}

int store_boot_end(struct store *s, const char *id, const struct store_boot_end *end,
		   struct error *e)
{
	int64_t n, running = 0;
	int r;

	r = db_begin(s, e);
	if (r < 0)
		return r;
	r = row_find(s, e, "boot", id, &n);
	if (!r)
		r = db_number(s, e, &running, "SELECT owner IS NOT NULL FROM boot WHERE n = ?1",
			      "i", n);
	if (!r && !running)
		r = error_set(e, EINVAL, "boot %s is not running", id);
	if (!r)
		r = boot_close(s, n, end, e);
	return db_end(s, r, e);
}

int store_boot_console(struct store *s, const char *id, char **ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int64_t n;
	int r;

	*ret = NULL;
	r = row_find(s, e, "boot", id, &n);
	if (!r)
		r = db_query(s, e, &st, "SELECT console FROM boot WHERE n = ?1", "i", n);
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	*ret = mem_strdup(db_text(st, 0));
	return 0;
}
