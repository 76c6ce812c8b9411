/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQLite for the files of this room, and for nobody else: statements with typed binding, errors
 * as errno values, transactions. `struct error *` comes before the SQL here, since arguments
 * to bind follow. Source: https://sqlite.org/c3ref/intro.html.
 *
 * Types of arguments: t text (const char *, NULL is NULL), i int64_t, u uint64_t (stored as its
 * two's complement), b int as 0 or 1, d double (not finite: NULL), j a JSON number (const json_t
 * *).
 */
#ifndef KDELTA_STORE_DB_H
#define KDELTA_STORE_DB_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/store.h"

struct store {
	sqlite3 *db;
	char *path;
	char *owner; /* who this process is, see owner_self() */
};

void db_finalize(sqlite3_stmt **st); /* for CLEANUP_STMT */
#define CLEANUP_STMT CLEANUP(db_finalize)

/* Sets the error of the last SQLite call, code `rc`. Returns -errno. */
int db_error(struct store *s, int rc, struct error *e);
int db_exec(struct store *s, struct error *e, const char *sql);
/* Prepares and binds; a *st that is not NULL is the same statement prepared before. */
int db_query(struct store *s, struct error *e, sqlite3_stmt **st, const char *sql,
	     const char *types, ...);
/* 1: a row, 0: no more rows. */
int db_step(struct store *s, sqlite3_stmt *st, struct error *e);
/* Runs a statement that gives no rows. */
int db_run(struct store *s, struct error *e, const char *sql, const char *types, ...);
/* As db_run(), keeping the statement for the next time. */
int db_run_again(struct store *s, struct error *e, sqlite3_stmt **st, const char *sql,
		 const char *types, ...);
/* A query with one number; -ENOENT without a row (no error set). */
int db_number(struct store *s, struct error *e, int64_t *ret, const char *sql, const char *types,
	      ...);
const char *db_text(sqlite3_stmt *st, int column); /* NULL for NULL; until the next step */
uint64_t db_u64(sqlite3_stmt *st, int column);

/* Takes the right to write at once, so that a busy store is met here and not at the commit. */
int db_begin(struct store *s, struct error *e);
int db_begin_read(struct store *s, struct error *e);
/* Commits when r is 0, else rolls back. Returns r, or the commit's error. */
int db_end(struct store *s, int r, struct error *e);

/* ---- shared by the files of this room ---- */

/* Brings an empty or older file to the newest schema. */
#define SCHEMA_VERSION	      2
#define SCHEMA_APPLICATION_ID 0x6b64656c /* "kdel" */
int schema_migrate(struct store *s, struct error *e);

/* "BOOT_ID PID START PIDNS": this process, for a boot's owner. Caller frees; NULL without /proc. */
char *owner_self(void);
/* True unless it is certain that this owner is gone. */
bool owner_alive(const char *owner);

bool text_is_utf8(const char *s);
bool text_is_uuid(const char *s);
/* An object with its keys sorted, compact: equal objects give equal text. Caller frees. */
char *text_of_json(const json_t *j);
/* A UUID (RFC 9562, version 8) that is a function of the key. */
void uuid_of_key(const char *key, char ret_id[ID_UUID_SIZE]);

/* The local number of a row by its UUID; -ENOENT with "no WHAT ID". */
int row_find(struct store *s, struct error *e, const char *table, const char *uuid, int64_t *ret);
/* Within a transaction. */
int experiment_kernel(struct store *s, int64_t experiment, int64_t kernel, struct error *e);
/* As store_boot_begin(), with the time of the start. */
int boot_start(struct store *s, const struct store_boot *b, const struct plan *p,
	       uint64_t started_ns, char ret_id[ID_UUID_SIZE], struct error *e);
/* Within a transaction: closes a boot's row and its open invocations. */
int boot_close(struct store *s, int64_t boot, const struct store_boot_end *end, struct error *e);
/* Experiments by name or id, the latest without one; -ENOENT. */
int experiment_row(struct store *s, const char *id_or_name, int64_t *ret, struct error *e);
/* The burst that is open, if any, will be failed with this reason when it closes. */
void sink_spoil(struct store_sink *k, const char *why);
bool sink_is_open(const struct store_sink *k);

/* Which boots: those of `kernel` in `experiment`. `as` is its place in the order of comparison. */
struct pick {
	int64_t kernel, experiment;
	size_t as;
	char *label; /* as typed; NULL: the kernel's own */
};
struct picks {
	struct pick *p;
	size_t n, cap;
};
/* all: an empty selection is everything and a label is all of its experiments (export). */
int select_picks(struct store *s, const struct store_selection *sel, bool all, struct picks *ret,
		 struct error *e);
void picks_done(struct picks *p);

int label_known(struct store *s, const char *label, bool *ret, struct error *e);
/* "no label 'x' in the store (there are: a, b)"; returns -ENOENT. */
int label_unknown(struct store *s, const char *label, struct error *e);

#endif
