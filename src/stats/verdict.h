/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict - from an interval to a word.
 *
 * The interval [lo, hi] is that of new minus base, on the log scale (or on the plain scale for a
 * metric that can be 0 or less; the margin is then on that scale too).  With the margin m:
 *   1. lo > m or hi < -m:        worse or better, by more than the margin
 *   2. -m < lo and hi < m:       no change within the margin
 *   3. lo > 0 or hi < 0:         worse or better
 *   4. otherwise:                can't tell yet
 * 1 and 3 also need the adjusted p <= .05.  Exchanging base and new exchanges better and worse
 * and nothing else.
 *
 * Counts of exact mode have words of their own, which verdict_judge() never gives: src/compare.
 */
#ifndef KDELTA_STATS_VERDICT_H
#define KDELTA_STATS_VERDICT_H

#include <stdbool.h>

#define VERDICT_ALPHA  0.05
#define VERDICT_BUDGET 20 /* boots a kernel */

enum verdict {
	VERDICT_NONE, /* no number, or no direction: no word */
	VERDICT_BETTER,
	VERDICT_WORSE,
	VERDICT_NO_CHANGE,
	VERDICT_CANT_TELL,
	/* Of exact counts. */
	VERDICT_MORE,
	VERDICT_FEWER,
	VERDICT_SAME,
	VERDICT_WITHIN, /* within perturbation */
};

enum verdict_sense {
	VERDICT_SENSE_UNKNOWN, /* the metric declares no direction: there is no verdict */
	VERDICT_LESS_IS_BETTER,
	VERDICT_MORE_IS_BETTER,
};

struct verdict_input {
	double lo, hi;	   /* the interval */
	double margin;	   /* >= 0 on the interval's scale; see verdict_margin() */
	double p_adjusted; /* in [0, 1] */
	enum verdict_sense sense;
};

struct verdict_result {
	enum verdict verdict;
	bool beyond_margin;    /* better or worse, by more than the margin (rule 1) */
	bool small_real_shift; /* no change within the margin, but 0 is outside the interval */
	bool held_back;	       /* can't tell, only because the adjusted p is above .05 */
};

/* ln(1 + x): the margin on the log scale for a margin of @x (.02 for 2 %), x >= 0; or -EDOM. */
int verdict_margin(double x, double *ret);

/*
 * Judges.  Returns 0; -EDOM, with VERDICT_NONE and no flag, if a number is not finite, lo > hi,
 * the margin is negative or p is not in [0, 1].
 */
int verdict_judge(const struct verdict_input *input, struct verdict_result *ret);

/*
 * "none", "better", "worse", "no change", "can't tell", "more", "fewer", "same",
 * "within perturbation": static strings.
 */
const char *verdict_name(enum verdict verdict);

/* The half width that an interval around @estimate needs for a word: max(|d|, m - |d|). -EDOM. */
int verdict_half_width(double estimate, double margin, double *ret);

/*
 * The smallest number n of boots a kernel, more than @have and at least 3, for which
 * t * sigma * sqrt(2 / n) <= half_width, t Student's two-sided critical value at @level (.95;
 * 1 - alpha * w at a look) with 2n - 3 degrees of freedom.  @sigma is the residual standard
 * deviation of one boot.  Returns 0; -ERANGE if no n up to @budget does ("not within the
 * budget"); -EDOM if sigma < 0, half_width <= 0, level is not in (0, 1), or one is not finite.
 */
int verdict_boots_needed(double sigma, double half_width, double level, unsigned have,
			 unsigned budget, unsigned *ret);

#endif
