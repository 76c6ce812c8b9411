/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "store/db.h"

#define BUSY_MS 60000

int store_default_path(char **ret_path, struct error *e)
{
	const char *p = getenv("KDELTA_STORE");

	if (p && *p) {
		*ret_path = mem_strdup(p);
		return 0;
	}
	p = getenv("XDG_DATA_HOME");
	if (p && *p == '/') { /* a relative one is to be ignored: XDG Base Directory 0.8 */
		*ret_path = mem_printf("%s/kdelta/store.db", p);
		return 0;
	}
	p = getenv("HOME");
	if (!p || !*p)
		return error_set(e, ENOENT, "store: HOME is not set; say --store FILE");
	*ret_path = mem_printf("%s/.local/share/kdelta/store.db", p);
	return 0;
}

static int make_parent(const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *dir = NULL;

	if (!slash || slash == path)
		return 0;
	dir = mem_strndup(path, (size_t)(slash - path));
	return file_mkdirs(dir, e);
}

/* Two processes that make the same new store meet here: SQLite does not wait for this lock. */
static int set_wal(struct store *s, struct error *e)
{
	uint64_t end = clock_mono_ns() + BUSY_MS * NSEC_PER_MSEC;
	int rc;

	for (;;) {
		rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			return 0;
		if ((rc & 0xff) != SQLITE_BUSY || clock_mono_ns() > end)
			return db_error(s, rc, e);
		clock_sleep_ns(5 * NSEC_PER_MSEC);
	}
}

static int set_up(struct store *s, struct error *e)
{
	int64_t app, tables;
	int r;

	sqlite3_busy_timeout(s->db, BUSY_MS);
	/* Nothing is written before it is known that the file is ours or empty. */
	r = db_number(s, e, &app, "PRAGMA application_id", "");
	if (!r)
		r = db_number(s, e, &tables, "SELECT count(*) FROM sqlite_schema", "");
	if (!r && (app == SCHEMA_APPLICATION_ID || (!app && !tables)))
		r = set_wal(s, e);
	if (!r)
		r = db_exec(s, e,
			    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
			    "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;");
	return r ? r : schema_migrate(s, e);
}

static int recover(struct store *s, struct error *e)
{
	static const struct store_boot_end killed = { .state = STORE_STOPPED,
						      .reason = "kdelta was killed" };
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int64_t *dead = NULL;
	size_t n = 0, cap = 0, i;
	int r;

	r = db_query(s, e, &st, "SELECT n, owner FROM boot WHERE owner IS NOT NULL", "");
	while (!r && (r = db_step(s, st, e)) > 0) {
		r = 0;
		if (owner_alive(db_text(st, 1)))
			continue;
		dead = mem_grow(dead, n, &cap, sizeof(*dead));
		dead[n++] = sqlite3_column_int64(st, 0);
	}
	db_finalize(&st);
	for (i = 0; !r && i < n; i++) {
		int64_t still;

		r = db_begin(s, e);
		if (r < 0)
			break;
		/* Another process may have been faster, and the boot may be running again. */
		r = db_query(s, e, &st, "SELECT owner FROM boot WHERE n = ?1", "i", dead[i]);
		if (!r)
			r = db_step(s, st, e);
		still = r > 0 && db_text(st, 0) && !owner_alive(db_text(st, 0));
		db_finalize(&st);
		if (r >= 0)
			r = still ? boot_close(s, dead[i], &killed, e) : 0;
		r = db_end(s, r, e);
	}
	free(dead);
	return r;
}

int store_open(const char *path, unsigned flags, struct store **ret_store, struct error *e)
{
	int open_flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_FULLMUTEX;
	bool memory = !strcmp(path, ":memory:");
	struct store *s;
	struct stat sb;
	int rc, r = 0;

	*ret_store = NULL;
	if (!*path)
		return error_set(e, EINVAL, "store: an empty path");
	if (memory || (flags & STORE_CREATE))
		open_flags |= SQLITE_OPEN_CREATE;
	else if (stat(path, &sb) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return error_set(e, ENOENT, "store %s: not there; kdelta run or kdelta vm makes it",
				 path);
	if (!memory && (flags & STORE_CREATE)) {
		r = make_parent(path, e);
		if (r < 0) {
			error_prefix(e, "store %s", path);
			return r;
		}
	}
	if (!memory && !stat(path, &sb) && !S_ISREG(sb.st_mode))
		return error_set(e, EINVAL, "store %s: not a regular file", path);
	s = mem_alloc(sizeof(*s));
	s->path = mem_strdup(path);
	s->owner = owner_self();
	rc = sqlite3_open_v2(path, &s->db, open_flags, NULL);
	r = rc == SQLITE_OK ? set_up(s, e) : db_error(s, rc, e);
	if (!r)
		r = recover(s, e);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	sqlite3_close_v2(s->db);
	free(s->path);
	free(s->owner);
	free(s);
}

const char *store_path(const struct store *s)
{
	return s->path;
}

int store_check(struct store *s, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(s, e, &st, "PRAGMA integrity_check(1)", "");
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	if (!r || !str_eq(db_text(st, 0), "ok"))
		return error_set(e, EBADMSG, "store %s: damaged: %s", s->path,
				 r ? db_text(st, 0) : "no answer");
	db_finalize(&st);
	r = db_query(s, e, &st, "PRAGMA foreign_key_check", "");
	if (!r)
		r = db_step(s, st, e);
	if (r > 0)
		return error_set(e, EBADMSG, "store %s: a row of %s refers to nothing", s->path,
				 db_text(st, 0));
	return r;
}
