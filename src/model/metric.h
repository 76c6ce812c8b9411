/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a number is: name, unit, per what, which direction is better, and where it comes from.
 * Declared by the workload, carried in each invocation's record, stored beside the numbers.
 * Nothing is ever guessed from a metric's name.
 */
#ifndef KDELTA_MODEL_METRIC_H
#define KDELTA_MODEL_METRIC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/unit.h"

enum metric_better { METRIC_LESS = 1, METRIC_MORE, METRIC_NEITHER };

enum metric_kind {
	METRIC_MEASURE = 1, /* has noise: judged by statistics */
	METRIC_COUNT,	    /* a count: equal in all boots means an exact difference */
	METRIC_EVIDENCE,    /* shown on demand, never judged (overhead, raw) */
};

enum metric_from {
	METRIC_FROM_TIME = 1, /* elapsed / operations of a batch */
	METRIC_FROM_RATE,     /* operations / elapsed, per second */
	METRIC_FROM_OVERHEAD, /* the workload's overhead batch: elapsed / operations */
	METRIC_FROM_NET,      /* time less overhead; <= 0 is "below resolution", kept and flagged */
	METRIC_FROM_QUANTILE, /* of the histogram with this metric's `hist` name */
	METRIC_FROM_REPORTED, /* the workload says it (run_report) */
};

struct metric {
	const char *name; /* NULL ends an array */
	enum unit unit;
	const char *per; /* "op", "s", or NULL */
	enum metric_better better;
	enum metric_kind kind;
	bool headline; /* only the workload's default point with place=same is a headline row */
	enum metric_from from;
	const char *hist;  /* METRIC_FROM_QUANTILE: which histogram */
	double quantile;   /* METRIC_FROM_QUANTILE: 0 < quantile < 1 */
	double resolution; /* smallest step of a reported value, in its unit; 0: the clock's */
	const char *doc;
};

json_t *metric_encode(const struct metric *m);
/* Strings come from the arena. -EINVAL names the field. */
int metric_decode(const json_t *j, struct arena *a, struct metric *ret, struct error *e);
/* An array of declarations; ret ends with a NULL name. */
int metric_decode_all(const json_t *array, struct arena *a, struct metric **ret, size_t *ret_n,
		      struct error *e);
json_t *metric_encode_all(const struct metric *m);
const char *metric_better_name(enum metric_better b); /* "less", "more", "neither" */
const char *metric_kind_name(enum metric_kind k);     /* "measure", "count", "evidence" */

#endif
