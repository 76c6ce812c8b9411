/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread - where the noise comes from: between boots, invocations or samples; and whether two
 * kernels differ in it.
 */
#ifndef KDELTA_STATS_SPREAD_H
#define KDELTA_STATS_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

enum spread_level { SPREAD_SAMPLE, SPREAD_INVOCATION, SPREAD_BOOT, SPREAD_LEVELS };

/* Samples in invocations in boots of one kernel, borrowed; every count is at least 1. */
struct spread_data {
	size_t boots;
	const size_t *invocations; /* of each boot */
	const size_t *samples;	   /* of each invocation, boot by boot */
	const double *values;	   /* each sample, invocation by invocation */
};

struct spread_part {
	bool known;  /* false: nothing repeats at this level, so it cannot be told from the one
		      * above (or, for boots, at all); the numbers below are 0 and mean nothing */
	double s2;   /* S^2: mean variance of the means of the level below */
	double raw;  /* the unbiased component as estimated, possibly negative */
	double used; /* max(raw, 0) */
	double cv;   /* sqrt(used) / |mean| */
};

struct spread {
	double mean; /* of the boots' means of their invocations' means */
	bool has_cv; /* the mean is not 0 */
	struct spread_part part[SPREAD_LEVELS];
};

/*
 * Nested variance components by the method of moments, for unbalanced data as well (Searle,
 * Linear Models, 1971, ch. 11).  On balanced data raw equals Kalibera and Jones's T_i^2 and s2
 * their S_i^2 ("Quantifying performance changes with effect size confidence intervals", 2012).
 * An unknown invocation level (one invocation a boot) is inside the boot's component; an unknown
 * sample level (one sample an invocation) is inside the invocation's.
 * Returns 0; -EDOM if there is no value, a count is 0, a value is not finite, or no level is
 * known.
 */
int spread_components(const struct spread_data *data, struct spread *ret);

/*
 * Kalibera and Jones's allocation: how often to repeat a level inside the one above, sqrt(cost of
 * one more above / cost of one more here * component here / component above), which the caller
 * rounds up.  -EDOM if a cost is not positive, the component here is negative, or the one above
 * is not positive (then more repetitions here always pay).
 */
int spread_repetitions(double cost_above, double cost, double component_above, double component,
		       double *ret);

/*
 * Brown and Forsythe's test that two sides have the same spread (J. Am. Stat. Assoc. 69:364,
 * 1974): the F test on distances to the sides' medians.  1 and n_a + n_b - 2 degrees of freedom.
 * -EDOM with fewer than 2 values a side, fewer than 2 different distances, or a value that is not
 * finite; -ENOMEM.
 */
int spread_brown_forsythe(const double *a, size_t n_a, const double *b, size_t n_b, double *ret_f,
			  double *ret_p);

#endif
