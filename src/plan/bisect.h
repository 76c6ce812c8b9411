/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kernel a bisection measures next. Pure: it is told what was seen, and asks.
 *
 * Kernels are the nodes of a history. A node is good (as the good end) or bad (the metric moved);
 * what is sought is a bad one whose parents are all good: the first bad. The last node is the bad
 * end. It is taken for granted that the ancestors of a good one are good, and that one bad one
 * makes all that come from it bad: where a metric moves to and fro, one of the moves is found.
 *
 * A policy is a way to choose. bisect_halving is the one for exact results: what was seen once is
 * certain. One for noisy results, which weighs what it saw and may ask for a node again, is another
 * struct bisect_policy beside it.
 */
#ifndef KDELTA_PLAN_BISECT_H
#define KDELTA_PLAN_BISECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Borrowed by a search as long as it lasts. */
struct bisect_history {
	unsigned n; /* nodes; each has a higher number than its parents; n - 1 is the bad end */
	/*
	 * parents[first[i]] to parents[first[i + 1] - 1] are those of node i; `first` has n + 1
	 * entries. NULL: a list, in which each node's parent is the one before it.
	 */
	const unsigned *first, *parents;
};

enum bisect_word {
	BISECT_GOOD = 1,
	BISECT_BAD,
	BISECT_SKIP, /* it cannot be told: does not build, boot, or come to a word */
};

struct bisect_seen {
	unsigned node;
	enum bisect_word word;
};

enum bisect_what {
	BISECT_MEASURE = 1, /* `node` is to be measured next */
	BISECT_FOUND,	    /* `node` is the first bad */
	BISECT_AMBIGUOUS,   /* one of the suspects; all but `node`, which is bad, were skipped */
	BISECT_NOTHING,	    /* no bad one is known: the bad end was seen good, or skipped */
};

struct bisect_step {
	enum bisect_what what;
	unsigned node;
	unsigned left; /* measurements still needed, this one included, if none is skipped */
	const unsigned *suspects; /* ascending, the last is a bad one; until the next call */
	unsigned n_suspects;
};

struct bisect_policy {
	const char *name;
	/* -EINVAL: no node, or a parent that does not come before its child. */
	int (*begin)(const struct bisect_history *h, void **ret_search, struct error *e);
	/*
	 * Any number of times, in any order, also before the first next(). The ends are seen as any
	 * other node: a bad end that was not is asked for first, and what is not the descendant of
	 * a good one is suspected. Of a node that is seen again the last word counts; numbers from
	 * n on are ignored.
	 */
	void (*see)(void *search, const struct bisect_seen *seen);
	void (*next)(void *search, struct bisect_step *ret);
	void (*end)(void *search); /* NULL allowed */
};

/*
 * The node that splits the suspects into halves as equal as can be: of a list, the middle; of a
 * history with merges, the one whose ancestors among the suspects are nearest to half of them, as
 * git-bisect(1) has it. A skipped one gives way to its neighbour; the more were skipped around it,
 * the farther away is the next, since what does not build seldom stands alone. Without skips
 * log2(suspects), rounded up, are measured in a list.
 */
extern const struct bisect_policy bisect_halving;

#endif
