/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log-linear histogram of whole numbers (nanoseconds mostly): each power of two is cut into
 * 2^HIST_BITS equal buckets, so a quantile is off by at most 1/2^(HIST_BITS+1) = 0.2 %.
 * Values below 2^HIST_BITS are exact. Source: the layout of G. Tene's HdrHistogram, own code.
 * The struct holds no pointers: it can live in memory shared between processes.
 */
#ifndef KDELTA_MODEL_HIST_H
#define KDELTA_MODEL_HIST_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HIST_BITS    8u
#define HIST_BUCKETS ((64u - HIST_BITS + 1u) << HIST_BITS)

struct hist {
	uint64_t count, min, max; /* min, max exact; only valid when count > 0 */
	double sum;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t v); /* v above 2^63-1 counts as that */
void hist_merge(struct hist *into, const struct hist *from);
/* Value at quantile q in (0,1): the middle of its bucket. -ENODATA when empty. */
int hist_quantile(const struct hist *h, double q, double *ret);
/* Sparse wire form: {"bits":8,"min":..,"max":..,"sum":..,"buckets":[[index,count],...]} */
json_t *hist_encode(const struct hist *h);
/*
 * Refuses other bits, indexes out of order or range, counts that do not fit, a min or max outside
 * the first or the last bucket.
 */
int hist_decode(const json_t *j, struct hist *ret, struct error *e);

#endif
