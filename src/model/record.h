/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire form: one JSON object a line, "k" names its kind. docs/records.md describes each field
 * for people. A reader keeps what it does not know: kinds of a later version are
 * RECORD_UNKNOWN with the raw object, unknown fields are ignored.
 *
 * All strings of a decoded record point into `raw`, which the record owns.
 */
#ifndef KDELTA_MODEL_RECORD_H
#define KDELTA_MODEL_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "model/fact.h"

#define RECORD_PROTOCOL 1
#define RECORD_LINE_MAX (4u << 20) /* a longer line is refused */

enum record_kind {
	RECORD_UNKNOWN,
	RECORD_HELLO,
	RECORD_FACT,
	RECORD_INVOCATION,
	RECORD_SAMPLE,
	RECORD_HIST,
	RECORD_WINDOW,	/* counts between two markers (exact mode) */
	RECORD_PROFILE, /* samples or counts by symbol */
	RECORD_USAGE,
	RECORD_SKIP,
	RECORD_FAIL,
	RECORD_LOG,
	RECORD_DONE,
};

struct record_hello {
	uint64_t protocol;
	const char *agent, *agent_build_id; /* version; build-id or NULL */
	const char *release, *version;	    /* uname -r, -v */
	const char *machine;		    /* uname -m */
	const char *build_id, *boot_id;	    /* NULL where the kernel does not tell */
	const char *cmdline;		    /* NULL where unreadable */
	bool init;			    /* the agent is init */
	uint64_t time_ns;		    /* CLOCK_REALTIME */
};

struct record_fact {
	enum fact_when when;
	enum fact_class class;
	const char *name;
	const char *value; /* NULL: could not be read, see why */
	const char *why;
};

/* Opens the burst of records of one invocation, written when the invocation is over. */
struct record_invocation {
	const char *workload, *op, *family;
	uint64_t workload_version;
	const char *params;    /* canonical text */
	const char *class;     /* "native", "kvm", "emulated", "exact" */
	const json_t *context; /* what must agree for numbers to be comparable; object */
	const json_t *metrics; /* declarations, see metric_decode_all() */
	bool headline;	       /* the workload's declared default point */
	uint64_t time_ns;      /* CLOCK_REALTIME at its start */
};

struct record_sample {
	const char *part;   /* "" where the workload has none */
	const char *metric; /* NULL: a timed batch; else a reported value of this metric */
	uint64_t ops, ns;   /* the batch: operations, elapsed nanoseconds */
	bool has_overhead;
	uint64_t over_ops, over_ns; /* the overhead batch that belongs to it */
	double value;		    /* of the reported metric, in its unit */
};

struct record_hist {
	const char *part, *name;
	const json_t *hist; /* see hist_decode() */
};

/* Name to number (unit in the name: _ns, _bytes, _count): what the invocation used and met. */
struct record_usage {
	const json_t *values;
};

struct record_skip {
	const char *workload, *params, *reason;
	bool implied; /* a default asked for it, not the user */
};

struct record_fail {
	const char *workload, *params; /* NULL: the agent itself */
	const char *reason;
};

struct record_log {
	const char *level;  /* "info", "warning", "error" */
	const char *source; /* "agent", "kernel" */
	const char *text;
};

struct record_done {
	uint64_t invocations, failed, skipped;
};

struct record {
	enum record_kind kind;
	const char *inv; /* the invocation it belongs to, NULL: the boot */
	union {
		struct record_hello hello;
		struct record_fact fact;
		struct record_invocation invocation;
		struct record_sample sample;
		struct record_hist hist;
		struct record_usage usage;
		struct record_skip skip;
		struct record_fail fail;
		struct record_log log;
		struct record_done done;
	};
	json_t *raw;
};

const char *record_kind_name(enum record_kind k);
/*
 * Decodes one line (no newline). -EINVAL with the reason: no JSON, no object, no "k", a known kind
 * with a field missing or of a wrong type. An unknown kind is no error.
 */
int record_decode(const char *line, size_t len, struct record *ret, struct error *e);
void record_done(struct record *r);
/* The line of a record, with its newline, behind what is in `out`. */
void record_append(struct str *out, const struct record *r);
/* The one line of a record, without newline; `raw` is not looked at. Caller frees. */
char *record_encode(const struct record *r);

#endif
