/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/dist.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>

/* GSL's inverse loses digits in far tails and is wrong for df < 1: it must prove its answer. */
#define QUANTILE_TOLERANCE 1e-11

static int give(double value, double *ret)
{
	if (!isfinite(value))
		return -EDOM;
	*ret = value;
	return 0;
}

int dist_t_p(double t, double df, double *ret)
{
	double p;

	if (!isfinite(t) || !isfinite(df) || df <= 0)
		return -EDOM;
	p = 2 * gsl_cdf_tdist_Q(fabs(t), df);
	return give(p > 1 ? 1 : p, ret);
}

static bool is_upper_quantile(double x, double q, double df)
{
	return isfinite(x) && fabs(gsl_cdf_tdist_Q(x, df) / q - 1) <= QUANTILE_TOLERANCE;
}

/* The x >= 0 with P(T > x) = q, 0 < q <= 1/2. */
static int upper_quantile(double q, double df, double *ret)
{
	double lo = 0, hi = 1, x;
	int i;

	if (q == 0.5) {
		*ret = 0;
		return 0;
	}
	x = gsl_cdf_tdist_Qinv(q, df);
	if (is_upper_quantile(x, q, df)) {
		*ret = x;
		return 0;
	}
	while (gsl_cdf_tdist_Q(hi, df) > q) {
		lo = hi;
		hi *= 2;
		if (!isfinite(hi))
			return -EDOM;
	}
	for (i = 0; i < 200; i++) {
		x = lo + (hi - lo) / 2;
		if (x <= lo || x >= hi)
			break;
		if (gsl_cdf_tdist_Q(x, df) > q)
			lo = x;
		else
			hi = x;
	}
	x = lo + (hi - lo) / 2;
	if (!is_upper_quantile(x, q, df))
		return -EDOM;
	*ret = x;
	return 0;
}

int dist_t_quantile(double prob, double df, double *ret)
{
	double x;
	int r;

	if (!(prob > 0 && prob < 1) || !isfinite(df) || df <= 0)
		return -EDOM;
	r = upper_quantile(prob > 0.5 ? 1 - prob : prob, df, &x);
	if (r)
		return r;
	*ret = prob > 0.5 ? x : -x;
	return 0;
}

int dist_t_critical(double alpha, double df, double *ret)
{
	if (!(alpha > 0 && alpha < 1) || !isfinite(df) || df <= 0 || alpha / 2 == 0)
		return -EDOM;
	return upper_quantile(alpha / 2, df, ret);
}

int dist_f_tail(double f, double df1, double df2, double *ret)
{
	if (!isfinite(f) || f < 0 || !isfinite(df1) || df1 <= 0 || !isfinite(df2) || df2 <= 0)
		return -EDOM;
	return give(gsl_cdf_fdist_Q(f, df1, df2), ret);
}

int dist_fisher(unsigned a, unsigned b, unsigned c, unsigned d, double *ret)
{
	/* GSL counts in unsigned int. */
	unsigned long long all = (unsigned long long)a + b + c + d;
	unsigned row, other, column, first, last, i;
	double whole, own, p = 0;

	if (all > 1000000)
		return -EDOM;
	row = a + b;
	other = c + d;
	column = a + c;
	first = column > other ? column - other : 0;
	last = column < row ? column : row;
	whole = gsl_sf_lnchoose((unsigned)all, column);
	own = gsl_sf_lnchoose(row, a) + gsl_sf_lnchoose(other, c) - whole;
	for (i = first; i <= last; i++) {
		double one = gsl_sf_lnchoose(row, i) + gsl_sf_lnchoose(other, column - i) - whole;

		/* A table as probable as ours may come out above it by a rounding. */
		if (one <= own + 1e-7)
			p += exp(one);
	}
	return give(p > 1 ? 1 : p, ret);
}
