/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * looks - stopping early without cheating.
 *
 * An experiment that may stop after 4, 6, 9, 13 or 20 blocks splits its alpha over these looks
 * (Bonferroni with weights: valid whatever the dependence between looks; compare Pocock,
 * Biometrika 64:191, 1977).  An experiment of fixed length has one look of weight 1.
 */
#ifndef KDELTA_STATS_LOOKS_H
#define KDELTA_STATS_LOOKS_H

#include <stddef.h>

#define LOOKS_COUNT 5
#define LOOKS_ALPHA 0.05

struct look {
	unsigned blocks; /* looked at after so many blocks */
	double weight;	 /* its share of alpha; the weights add up to 1 */
};

extern const struct look looks_schedule[LOOKS_COUNT];

/* The level (.99 for .2) of the interval at a look of weight @weight, 0 < weight <= 1, for
 * LOOKS_ALPHA; -EDOM otherwise. */
int looks_level(double weight, double *ret);

/*
 * p of the whole sequence after the first @n looks of the schedule with these p values:
 * min(1, min of p[k] / weight[k]).  -EDOM if n is 0 or above LOOKS_COUNT, or a p is not in
 * [0, 1].  An experiment of fixed length does not call it: its p is the p.
 */
int looks_p_seq(const double *p, size_t n, double *ret);

#endif
