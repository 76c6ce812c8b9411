/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols that are on one side only and are likely the same function under another name. A pair is
 * a guess to be shown as one, never a reason to merge.
 */
#ifndef KDELTA_SYMBOL_RENAME_H
#define KDELTA_SYMBOL_RENAME_H

#include <stddef.h>

struct rename_symbol {
	const char *name;
	double weight; /* instructions per operation; NAN or 0: not known */
	double calls;  /* calls per operation; NAN or 0: not known */
};

struct rename_pair {
	size_t a, b;	 /* indices */
	const char *why; /* "suffix", "underscore", "similar name, same calls" */
};

/*
 * Pairs of `a`, which are not in B, and `b`, which are not in A. `ret` has room for the shorter
 * list; how many there are, ordered by a. Each symbol is in one pair at most. The rules, the first
 * that fits first, each only where just one of either side fits:
 *
 * - suffix: the same name but for what a compiler appended (symbol_fold_len).
 * - underscore: that, but for leading and trailing underscores and a "do_" behind them.
 * - similar name, same calls: words in common (a plural is the same word) make up RENAME_ALIKE of
 *   the letters of both, one of them is no small word, calls differ by at most RENAME_CALLS of the
 *   greater, weights by at most a factor of RENAME_WEIGHT, and no other of either fits as well.
 *
 * A cold part (x.cold) pairs with a cold part only.
 */
size_t rename_pairs(const struct rename_symbol *a, size_t n_a, const struct rename_symbol *b,
		    size_t n_b, struct rename_pair *ret);

#define RENAME_ALIKE  0.66
#define RENAME_CALLS  0.02
#define RENAME_WEIGHT 3.0

#endif
