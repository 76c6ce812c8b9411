/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * adjust - p values of many metrics, adjusted for their number.
 *
 * Both read @n values and write @n adjusted values in the order of the input; @p and @ret may
 * be the same array.  A metric without a p is not part of the family: the caller leaves it
 * out.  Returns 0; -EDOM (nothing written) if a p is not in [0, 1]; -ENOMEM.  n = 0 is allowed.
 */
#ifndef KDELTA_STATS_ADJUST_H
#define KDELTA_STATS_ADJUST_H

#include <stddef.h>

/* Holm's step-down: bounds the chance of any false difference (Scand. J. Stat. 6:65, 1979). */
int adjust_holm(const double *p, size_t n, double *ret);

/* Benjamini and Hochberg's step-up: bounds the share of false ones among the differences
 * (J. R. Stat. Soc. B 57:289, 1995). */
int adjust_bh(const double *p, size_t n, double *ret);

#endif
