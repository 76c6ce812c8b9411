/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample - one batch of numbers: mean, quantiles, outliers, two modes.
 *
 * Values need not be sorted and are not changed.  All return 0; -EDOM, with nothing written, if
 * there are too few values or one is not finite; -ENOMEM.
 */
#ifndef KDELTA_STATS_SAMPLE_H
#define KDELTA_STATS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/* n >= 1. */
int sample_mean(const double *x, size_t n, double *ret);

/* The standard deviation with n - 1 in the denominator; n >= 2. */
int sample_sd(const double *x, size_t n, double *ret);

/* Type 7 of Hyndman and Fan (Am. Stat. 50:361, 1996), R's and GSL's default; 0 <= f <= 1. */
int sample_quantile(const double *x, size_t n, double f, double *ret);

/*
 * Outliers: values further from the median than 3.5 * 1.4826 * (median distance from the median)
 * (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993) and further than a floor: the
 * clock's @resolution in the unit of x or, where that is 0 (not known), 1 % of the median's size.
 * The floor is for samples more than half of which are equal.  Sets ret[i] for all n >= 3 values
 * and the number of outliers.
 */
int sample_outliers(const double *x, size_t n, double resolution, bool *ret, size_t *ret_count);

struct sample_modes {
	bool bimodal;
	/* Only if bimodal: the size and mean of the lower and of the upper cluster. */
	size_t n_lo, n_hi;
	double mean_lo, mean_hi;
};

/*
 * Two modes.  The sorted values are cut in two where the sum of squares within the parts is
 * least; each part has at least 2 values and 5 % of all.  They are two modes if
 * - the ratio of the squares between and within is above the value that 0.5 % of normal samples
 *   of this size exceed (Engelman and Hartigan, "Percentage points of a test for clusters",
 *   J. Am. Stat. Assoc. 64:1647, 1969; the points are our own simulation of this cut), and
 * - the gap from the lower part's 90th to the upper part's 10th percentile is wider than two
 *   standard deviations within the parts (normal modes 4.6 apart), and wider than the floor of
 *   sample_outliers().
 * Simulated: under 1 % of normal samples of any size are flagged, up to 2 % of skewed ones
 * (lognormal, sigma .5), up to 8 % of perfectly flat ones (at n = 20).
 * Fewer than 5 values are never bimodal.  n >= 1.
 */
int sample_modes(const double *x, size_t n, double resolution, struct sample_modes *ret);

#endif
