/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/db.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void db_finalize(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
	*st = NULL;
}

static int errno_of(struct store *s, int rc)
{
	int sys = s->db ? sqlite3_system_errno(s->db) : 0;

	switch (rc & 0xff) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_NOTADB:
		return EINVAL;
	case SQLITE_CORRUPT:
		return EBADMSG;
	case SQLITE_READONLY:
		return EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return EACCES;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		return EINVAL;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		/* The shared memory file and the WAL report a full disk as an I/O error. */
		return sys == ENOSPC || sys == EDQUOT ? ENOSPC : sys ? sys : EIO;
	default:
		return EIO;
	}
}

int db_error(struct store *s, int rc, struct error *e)
{
	int code = errno_of(s, rc);

	switch (code) {
	case ENOSPC:
		return error_set(e, ENOSPC, "store %s: no space left; what was stored before stays",
				 s->path);
	case EBUSY:
		return error_set(e, EBUSY, "store %s: another process holds it for too long",
				 s->path);
	case EBADMSG:
		return error_set(e, EBADMSG, "store %s: the file is damaged (%s)", s->path,
				 sqlite3_errmsg(s->db));
	case EROFS:
		return error_set(e, EROFS, "store %s: cannot be written to", s->path);
	default:
		break;
	}
	if ((rc & 0xff) == SQLITE_NOTADB)
		return error_set(e, EINVAL, "store %s: not a store of kdelta", s->path);
	return error_set(e, code, "store %s: %s", s->path,
			 s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
}

int db_exec(struct store *s, struct error *e, const char *sql)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_error(s, rc, e);
}

static int bind_text(sqlite3_stmt *st, int i, const char *text)
{
	json_t *j;
	int rc;

	if (!text)
		return sqlite3_bind_null(st, i);
	if (text_is_utf8(text))
		return sqlite3_bind_text(st, i, text, -1, SQLITE_TRANSIENT);
	j = json_str(text);
	rc = sqlite3_bind_text(st, i, json_string_value(j), -1, SQLITE_TRANSIENT);
	json_decref(j);
	return rc;
}

static int bind_double(sqlite3_stmt *st, int i, double v)
{
	return isfinite(v) ? sqlite3_bind_double(st, i, v) : sqlite3_bind_null(st, i);
}

static int bind_number(sqlite3_stmt *st, int i, const json_t *j)
{
	if (json_is_integer(j))
		return sqlite3_bind_int64(st, i, json_integer_value(j));
	return json_is_real(j) ? bind_double(st, i, json_real_value(j)) : sqlite3_bind_null(st, i);
}

static int bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
	int rc = SQLITE_OK, i;

	for (i = 1; *types && rc == SQLITE_OK; i++, types++) {
		switch (*types) {
		case 't':
			rc = bind_text(st, i, va_arg(ap, const char *));
			break;
		case 'i':
			rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
			break;
		case 'u':
			rc = sqlite3_bind_int64(st, i, (sqlite3_int64)va_arg(ap, uint64_t));
			break;
		case 'b':
			rc = sqlite3_bind_int(st, i, va_arg(ap, int) != 0);
			break;
		case 'd':
			rc = bind_double(st, i, va_arg(ap, double));
			break;
		case 'j':
			rc = bind_number(st, i, va_arg(ap, const json_t *));
			break;
		default:
			rc = SQLITE_MISUSE;
		}
	}
	return rc;
}

static int query(struct store *s, struct error *e, sqlite3_stmt **st, const char *sql,
		 const char *types, va_list ap)
{
	int rc = SQLITE_OK;

	if (*st)
		sqlite3_reset(*st);
	else
		rc = sqlite3_prepare_v2(s->db, sql, -1, st, NULL);
	if (rc == SQLITE_OK)
		rc = bind_all(*st, types, ap);
	return rc == SQLITE_OK ? 0 : db_error(s, rc, e);
}

int db_query(struct store *s, struct error *e, sqlite3_stmt **st, const char *sql,
	     const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = query(s, e, st, sql, types, ap);
	va_end(ap);
	return r;
}

int db_step(struct store *s, sqlite3_stmt *st, struct error *e)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : db_error(s, rc, e);
}

static int finish(struct store *s, sqlite3_stmt *st, struct error *e)
{
	int r = db_step(s, st, e);

	sqlite3_reset(st);
	return r < 0 ? r : 0;
}

int db_run(struct store *s, struct error *e, const char *sql, const char *types, ...)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	r = query(s, e, &st, sql, types, ap);
	va_end(ap);
	return r < 0 ? r : finish(s, st, e);
}

int db_run_again(struct store *s, struct error *e, sqlite3_stmt **st, const char *sql,
		 const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = query(s, e, st, sql, types, ap);
	va_end(ap);
	return r < 0 ? r : finish(s, *st, e);
}

int db_number(struct store *s, struct error *e, int64_t *ret, const char *sql, const char *types,
	      ...)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	r = query(s, e, &st, sql, types, ap);
	va_end(ap);
	if (!r)
		r = db_step(s, st, e);
	if (r < 0)
		return r;
	if (!r || sqlite3_column_type(st, 0) == SQLITE_NULL)
		return -ENOENT;
	*ret = sqlite3_column_int64(st, 0);
	return 0;
}

const char *db_text(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

uint64_t db_u64(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

int db_begin(struct store *s, struct error *e)
{
	return db_exec(s, e, "BEGIN IMMEDIATE");
}

int db_begin_read(struct store *s, struct error *e)
{
	return db_exec(s, e, "BEGIN");
}

int db_end(struct store *s, int r, struct error *e)
{
	if (r >= 0) {
		int c = db_exec(s, e, "COMMIT");

		if (!c)
			return r;
		r = c;
	}
	/* SQLite has rolled back by itself after some errors, a full disk among them. */
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

bool text_is_utf8(const char *s)
{
	json_t *j = json_string(s);
	bool ok = j != NULL;

	json_decref(j);
	return ok;
}

bool text_is_uuid(const char *s)
{
	size_t i;

	for (i = 0; s[i] && i < ID_UUID_SIZE; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !strchr("0123456789abcdef", s[i]))
			return false;
	}
	return i == ID_UUID_SIZE - 1;
}

char *text_of_json(const json_t *j)
{
	char *s = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));

	return s ? s : mem_strdup("{}");
}

void uuid_of_key(const char *key, char ret_id[ID_UUID_SIZE])
{
	char hex[2][17];
	unsigned i;
	size_t at = 0;

	for (i = 0; i < 2; i++) {
		CLEANUP_FREE char *k = mem_printf("%u:%s", i, key);

		id_fnv1a(k, strlen(k), hex[i]);
	}
	hex[0][12] = '8';
	hex[1][0] = '8';
	for (i = 0; i < 32; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			ret_id[at++] = '-';
		ret_id[at++] = hex[i / 16][i % 16];
	}
	ret_id[at] = '\0';
}

int row_find(struct store *s, struct error *e, const char *table, const char *uuid, int64_t *ret)
{
	CLEANUP_FREE char *sql = mem_printf("SELECT n FROM %s WHERE uuid = ?1", table);
	int r = db_number(s, e, ret, sql, "t", uuid);

	return r == -ENOENT ? error_set(e, ENOENT, "store %s: no %s %s", s->path, table,
					uuid ? uuid : "(none)")
			    : r;
}
