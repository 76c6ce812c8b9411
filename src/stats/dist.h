/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dist - the distributions that the comparisons need.
 *
 * Every function writes its number to *ret and returns 0, or returns -EDOM and leaves *ret
 * alone when the arguments are outside the domain (NaN and infinity always are) or the number
 * cannot be computed to 1e-9.  No function returns NaN or infinity.
 *
 * Source: GSL's gsl_cdf_* and gsl_sf_lnchoose (GSL reference manual).
 */
#ifndef KDELTA_STATS_DIST_H
#define KDELTA_STATS_DIST_H

/* P(|T| >= |t|) for Student's t with @df > 0 degrees of freedom, whole or not. */
int dist_t_p(double t, double df, double *ret);

/* The x with P(T <= x) = @prob, 0 < prob < 1, df > 0. */
int dist_t_quantile(double prob, double df, double *ret);

/*
 * The x > 0 with P(|T| > x) = @alpha, 0 < alpha < 1.  The same as the quantile at
 * 1 - alpha / 2, without its loss of digits for a small alpha.
 */
int dist_t_critical(double alpha, double df, double *ret);

/* P(F >= f) for Snedecor's F; f >= 0, df1 > 0, df2 > 0. */
int dist_f_tail(double f, double df1, double df2, double *ret);

/*
 * Fisher's exact test of the table {{a, b}, {c, d}}, two-sided: the sum of the probabilities,
 * given the margins, of all tables no more probable than this one (Fisher 1935; the two-sided
 * rule is Irwin's, which R's fisher.test has as well).  For counts of failed and good
 * boots: a, b of one kernel and c, d of the other.  A margin that is 0 gives 1.
 */
int dist_fisher(unsigned a, unsigned b, unsigned c, unsigned d, double *ret);

#endif
