/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From records to rows, each within a transaction that the caller holds. */
#ifndef KDELTA_STORE_ROWS_H
#define KDELTA_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "model/record.h"
#include "store/store.h"

/* Records that are kept for later; each holds a reference to its JSON. */
struct rows_list {
	struct record *r;
	size_t n, cap;
};
void rows_list_add(struct rows_list *l, const struct record *r);
void rows_list_done(struct rows_list *l);

/* A place in the stream of a boot: since which hello, and how many records since. */
struct rows_at {
	int64_t boot, stream_ns, seq;
};

/* One invocation as it ended, with its records (the closing one is the last, if there is one). */
struct rows_invocation {
	char id[ID_UUID_SIZE];
	const char *state;  /* "ok", "failed", "skipped" */
	const char *reason; /* NULL for ok */
	bool closed;	    /* false: an import that has all of it may replace it */
	bool bad_metrics;   /* its declarations cannot be read: store none */
	const struct rows_list *burst;
};

/* hello names the life of the kernel: -EPROTO if the boot is known to be another one. */
int rows_of_hello(struct store *s, int64_t boot, const struct record *r, struct error *e);
/* Facts, logs, failures and unknown records of the boot; the first stands at `at`. */
int rows_of_boot(struct store *s, const struct rows_at *at, const struct rows_list *l,
		 struct error *e);
/*
 * An invocation that is stored and closed already stays as it is. `ret_implied`: its skip was
 * asked for by a default only.
 */
int rows_of_invocation(struct store *s, int64_t boot, const struct rows_invocation *v,
		       bool *ret_implied, struct error *e);

#endif
