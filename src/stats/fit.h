/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fit - how much each kernel differs from the base, with the drift over the boots taken out.
 *
 * Least squares of y = b0 + sum over k of d_k * [kernel = k] + g * index, where y is one number
 * a boot (the logarithm of the boot's mean, as a rule) and index is the boot's place in the
 * order of the experiment.  The boot is the unit of replication.  Missing boots are left out by
 * the caller; sides need not have the same number.  The trend is always in the model.
 *
 * Since the kernels' dummies and one common slope are an analysis of covariance, the solution is
 * closed: g from the sums within the kernels, d_k from the means less g times the distance of
 * the mean indices (Fisher, Statistical Methods for Research Workers, ch. 8; R's lm() agrees).
 *
 * Degrees of freedom: N - kernels - 1.  Where the residual variances of the two sides of a pair
 * are more than 4 times apart ("uneven"), the pair's degrees of freedom are
 * 1 / (fA^2 / (nA - 1.5) + fB^2 / (nB - 1.5)), f each side's share of the variance: this is
 * (n - 1.5) / (fA^2 + fB^2) for n boots a side, and never outside n - 2 ... 2n - 3
 * (Welch-Satterthwaite, each side paying for its mean and half the slope).  With unequal numbers
 * of boots the standard error of an uneven pair adds each side's own variance: the pooled one
 * would be too small when the noisy side has the fewer boots.
 *
 * With three or more kernels the others lend a pair their variance only while the pair is not
 * uneven and the residual variance of the others is within a factor of 2 of the pair's;
 * otherwise the pair is fitted by itself ("alone").
 */
#ifndef KDELTA_STATS_FIT_H
#define KDELTA_STATS_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct fit_boot {
	double y;	 /* usually ln(mean of the boot's samples) */
	double index;	 /* place in the order of all boots, 0, 1, ... */
	unsigned kernel; /* 0 is the base */
};

/* One kernel against the base. If err is not 0, only n_base and n_new are numbers. */
struct fit_contrast {
	int err; /* 0; -EDOM: fewer than two boots on a side, no df left, or no variance */
	size_t n_base, n_new;
	double estimate; /* d_k: new minus base; exp(d) - 1 is the relative change for y = ln */
	double se;
	double df;
	double t;
	double p;     /* two-sided */
	double sigma; /* residual standard deviation of one boot, after the floor */
	bool uneven;  /* the residual variances of the two are more than 4 times apart */
	bool alone;   /* fitted without the other kernels */
	bool floored; /* the variance floor was above the variance seen */
};

struct fit {
	size_t n;	  /* boots used */
	unsigned kernels; /* length of contrasts */
	double df;	  /* of the whole model */
	double sigma;	  /* of the whole model, after the floor; 0 only if trend_err is set */
	int trend_err;	  /* 0; -EDOM: no variance */
	double trend;	  /* g, per step of index */
	double trend_se;
	double trend_p;
	struct fit_contrast *contrasts; /* [0] is the base against itself: err = -EDOM; owned */
};

/*
 * Fits @n boots of @kernels kernels (one kernel is allowed: then there is only the trend).
 * @floors: for each kernel the least residual variance of one boot, for y = ln(value) that is
 * (clock resolution / value)^2 / 12; NULL is no floor.
 * Returns 0, and *ret is to be given to fit_done(); or, with *ret all zero, -EDOM if there are no
 * degrees of freedom, the trend cannot be identified, or a number is not finite (or a floor
 * negative); -EINVAL if a boot's kernel is not below @kernels; -ENOMEM.
 * A sigma of 0 (all residuals within rounding of y) without a floor is -EDOM: equal measured
 * values are a coarse clock, not an exact result.
 */
int fit_kernels(const struct fit_boot *boots, size_t n, unsigned kernels, const double *floors,
		struct fit *ret);

void fit_done(struct fit *fit);

/* estimate -+ t * se at @level, 0 < level < 1 (.95).  -EDOM if the contrast has err set. */
int fit_interval(const struct fit_contrast *contrast, double level, double *ret_lo, double *ret_hi);

#endif
