/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/hist.h"
#include "model/metric.h"
#include "store/db.h"
#include "store/rows.h"

#define BURST_MAX   (1u << 20) /* records of one invocation */
#define PENDING_MAX 256u       /* records of the boot that wait for a transaction */

struct store_sink {
	struct store *s;
	char *boot;
	int64_t boot_n; /* 0: not looked up yet */
	enum store_ids mode;
	struct rows_at at;	  /* where a record of the boot stands */
	struct rows_list pending; /* of the boot, not stored yet */
	struct rows_list burst;	  /* of the open invocation */
	char *open, *last;	  /* ids as the stream has them; NULL: none */
	bool has_invocation;	  /* the burst has its `invocation` */
	bool bad_metrics;	  /* that cannot be read */
	char *spoiled;		  /* why the burst cannot be believed */
	struct store_tally tally;
};

struct store_sink *store_sink_new(struct store *s, const char *boot, enum store_ids mode)
{
	struct store_sink *k = mem_alloc(sizeof(*k));

	k->s = s;
	k->boot = mem_strdup(boot);
	k->mode = mode;
	return k;
}

const struct store_tally *store_sink_tally(const struct store_sink *k)
{
	return &k->tally;
}

bool sink_is_open(const struct store_sink *k)
{
	return k->open != NULL;
}

void sink_spoil(struct store_sink *k, const char *why)
{
	if (k->open && !k->spoiled)
		k->spoiled = mem_strdup(why);
}

static void forget_burst(struct store_sink *k)
{
	free(k->last);
	k->last = k->open;
	k->open = NULL;
	free(k->spoiled);
	k->spoiled = NULL;
	k->has_invocation = k->bad_metrics = false;
	rows_list_done(&k->burst);
}

void store_sink_free(struct store_sink *k)
{
	if (!k)
		return;
	forget_burst(k);
	rows_list_done(&k->pending);
	free(k->last);
	free(k->boot);
	free(k);
}

static int find_boot(struct store_sink *k, struct error *e)
{
	int r = k->boot_n ? 0 : row_find(k->s, e, "boot", k->boot, &k->boot_n);

	k->at.boot = k->boot_n;
	return r;
}

/* What waits of the boot goes into the transaction that is open. */
static int store_pending(struct store_sink *k, struct error *e)
{
	struct rows_at at = k->at;

	at.seq -= (int64_t)k->pending.n;
	return rows_of_boot(k->s, &at, &k->pending, e);
}

static int flush(struct store_sink *k, struct error *e)
{
	int r;

	if (!k->pending.n)
		return 0;
	r = db_begin(k->s, e);
	if (r < 0)
		return r;
	r = db_end(k->s, store_pending(k, e), e);
	if (!r)
		rows_list_done(&k->pending);
	return r;
}

/* The id under which an invocation of the stream is stored. */
static int store_id(const struct store_sink *k, const char *id, char ret_id[ID_UUID_SIZE],
		    struct error *e)
{
	CLEANUP_FREE char *key = NULL;

	if (text_is_uuid(id)) {
		memcpy(ret_id, id, ID_UUID_SIZE);
		return 0;
	}
	if (k->mode == STORE_IDS_KEEP)
		return error_set(e, EPROTO, "the id '%s' is none of the plan's", id);
	key = mem_printf("%s %lld %s", k->boot, (long long)k->at.stream_ns, id);
	uuid_of_key(key, ret_id);
	return 0;
}

/* Ends the burst: `last` is its closing record, NULL when there is none and `why` says so. */
static int close_burst(struct store_sink *k, const struct record *last, const char *why,
		       struct error *e)
{
	struct rows_invocation v = { .closed = true,
				     .bad_metrics = k->bad_metrics,
				     .burst = &k->burst };
	CLEANUP_FREE char *reason = NULL;
	bool implied = false;
	int r;

	if (last && last->kind == RECORD_USAGE && !k->has_invocation)
		sink_spoil(k, "its records came without the invocation");
	if (!last || k->spoiled) {
		v.state = "failed";
		v.closed = false;
		reason = last ? mem_strdup(k->spoiled) : mem_printf("unfinished: %s", why);
		v.reason = reason;
	} else if (last->kind == RECORD_USAGE) {
		v.state = "ok";
	} else if (last->kind == RECORD_FAIL) {
		v.state = "failed";
		v.reason = last->fail.reason;
		/* An exported unfinished invocation stays replaceable. */
		v.closed = json_opt_bool(last->raw, "closed", true);
	} else {
		v.state = "skipped";
		v.reason = last->skip.reason;
	}
	r = store_id(k, k->open, v.id, e);
	if (!r)
		r = db_begin(k->s, e);
	if (r < 0) {
		forget_burst(k);
		return r;
	}
	r = store_pending(k, e);
	if (!r)
		r = rows_of_invocation(k->s, k->boot_n, &v, &implied, e);
	r = db_end(k->s, r, e);
	if (!r) {
		rows_list_done(&k->pending);
		k->tally.ok += !strcmp(v.state, "ok");
		k->tally.failed += !strcmp(v.state, "failed");
		k->tally.unfinished += !v.closed;
		k->tally.skipped += !strcmp(v.state, "skipped");
		k->tally.skipped_implied += implied && !strcmp(v.state, "skipped");
	}
	forget_burst(k);
	return r;
}

int store_sink_end(struct store_sink *k, const char *why, struct error *e)
{
	int r = find_boot(k, e);

	if (!r && k->open)
		r = close_burst(k, NULL, why, e);
	return r ? r : flush(k, e);
}

static int hello(struct store_sink *k, const struct record *r, struct error *e)
{
	int c;

	c = flush(k, e);
	if (!c)
		c = db_begin(k->s, e);
	if (c < 0)
		return c;
	c = db_end(k->s, rows_of_hello(k->s, k->boot_n, r, e), e);
	if (!c) {
		k->at.stream_ns = (int64_t)r->hello.time_ns;
		k->at.seq = 0;
		/* An agent that starts again numbers its invocations from 1 again. */
		free(k->last);
		k->last = NULL;
		k->tally.hello = true;
	}
	return c;
}

static int of_boot(struct store_sink *k, const struct record *r, struct error *e)
{
	int c = 0, f;

	if (r->kind == RECORD_HELLO || r->kind == RECORD_DONE) {
		const char *name = record_kind_name(r->kind);
		CLEANUP_FREE char *why = mem_printf("%s came before its end", name);

		if (k->open)
			c = close_burst(k, NULL, why, e);
		f = r->kind == RECORD_HELLO ? hello(k, r, e) : flush(k, e);
		k->tally.done |= r->kind == RECORD_DONE;
		return c ? c : f;
	}
	k->at.seq++;
	rows_list_add(&k->pending, r);
	k->tally.failures += r->kind == RECORD_FAIL;
	/* Why the agent failed may be the last thing that is ever heard of this boot. */
	if (r->kind == RECORD_FAIL || k->pending.n >= PENDING_MAX)
		c = flush(k, e);
	return c;
}

/* Can the record be used by those who will read it? */
static int check(const struct record *r, struct error *e)
{
	if (r->kind == RECORD_INVOCATION) {
		struct arena a = ARENA_INIT;
		struct metric *m;
		size_t n;
		int c = metric_decode_all(r->invocation.metrics, &a, &m, &n, e);

		arena_done(&a);
		return c;
	}
	if (r->kind == RECORD_HIST) {
		CLEANUP_FREE struct hist *h = mem_alloc(sizeof(*h));

		return hist_decode(r->hist.hist, h, e);
	}
	return 0;
}

static int into_burst(struct store_sink *k, const struct record *r, struct error *e)
{
	int c = check(r, e);

	if (c < 0)
		sink_spoil(k, "a record of it cannot be read");
	k->bad_metrics |= c < 0 && r->kind == RECORD_INVOCATION;
	if (r->kind == RECORD_INVOCATION && (k->has_invocation || k->burst.n)) {
		sink_spoil(k, "its invocation came twice or late");
		if (!c)
			c = error_set(e, EPROTO, "invocation %s came twice or late", r->inv);
	}
	if ((r->kind == RECORD_SAMPLE || r->kind == RECORD_HIST) && !k->has_invocation) {
		sink_spoil(k, "its records came without the invocation");
		if (!c)
			c = error_set(e, EPROTO, "a %s before its invocation %s",
				      record_kind_name(r->kind), r->inv);
	}
	if (k->burst.n >= BURST_MAX) {
		sink_spoil(k, "it has too many records");
		return c ? c : error_set(e, EFBIG, "invocation %s: too many records", r->inv);
	}
	k->has_invocation |= r->kind == RECORD_INVOCATION;
	rows_list_add(&k->burst, r);
	return c;
}

int store_sink_record(struct store_sink *k, const struct record *r, struct error *e)
{
	bool boot_only = r->kind == RECORD_HELLO || r->kind == RECORD_DONE;
	char id[ID_UUID_SIZE];
	int c = find_boot(k, e), f;

	if (c < 0)
		return c;
	if (!r->inv || boot_only)
		return of_boot(k, r, e);
	if (k->open && strcmp(k->open, r->inv) != 0)
		c = close_burst(k, NULL, "another invocation began", e);
	if (!k->open) {
		if (str_eq(k->last, r->inv))
			return error_set(e, EPROTO, "a %s behind the end of invocation %s",
					 record_kind_name(r->kind), r->inv);
		f = store_id(k, r->inv, id, e);
		if (f < 0)
			return f;
		k->open = mem_strdup(r->inv);
	}
	f = into_burst(k, r, e);
	c = c ? c : f;
	if (r->kind == RECORD_USAGE || r->kind == RECORD_FAIL || r->kind == RECORD_SKIP) {
		f = close_burst(k, r, NULL, e);
		c = c ? c : f;
	}
	return c;
}
