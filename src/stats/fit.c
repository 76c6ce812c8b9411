/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/fit.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/dist.h"

#define UNEVEN_FACTOR 4
#define ALONE_FACTOR  2

/* What a kernel's boots add up to. */
struct side {
	size_t n;
	double x, y;	 /* means; y is taken from the first boot, to keep its digits */
	double sxx, sxy; /* about the means */
	double rss;	 /* about the current line */
	double floor;
};

struct work {
	const struct fit_boot *boots;
	size_t n;
	unsigned kernels;
	struct side *sides;
	double y0;
	double tiny; /* a residual variance up to here is rounding */
	double sxx_tiny;
};

static void sum_sides(struct work *w)
{
	double max_x = 0, max_y = 0;
	size_t i;
	unsigned k;

	for (i = 0; i < w->n; i++) {
		const struct fit_boot *b = &w->boots[i];
		struct side *s = &w->sides[b->kernel];

		s->n++;
		s->x += b->index;
		s->y += b->y - w->y0;
		max_x = fmax(max_x, fabs(b->index));
		max_y = fmax(max_y, fabs(b->y));
	}
	for (k = 0; k < w->kernels; k++)
		if (w->sides[k].n) {
			w->sides[k].x /= (double)w->sides[k].n;
			w->sides[k].y /= (double)w->sides[k].n;
		}
	for (i = 0; i < w->n; i++) {
		const struct fit_boot *b = &w->boots[i];
		struct side *s = &w->sides[b->kernel];
		double dx = b->index - s->x;

		s->sxx += dx * dx;
		s->sxy += dx * (b->y - w->y0 - s->y);
	}
	w->tiny = pow(16 * DBL_EPSILON * max_y, 2);
	w->sxx_tiny = (double)w->n * pow(16 * DBL_EPSILON * max_x, 2);
}

/* Is the kernel part of the model made of kernel 0 and @pair, or of all kernels if @pair is 0? */
static bool is_in(unsigned kernel, unsigned pair)
{
	return !pair || !kernel || kernel == pair;
}

/* The common slope of those kernels, and their residual sums of squares about it. */
static int find_slope(struct work *w, unsigned pair, double *ret_slope, double *ret_sxx)
{
	double sxx = 0, sxy = 0;
	size_t i;
	unsigned k;

	for (k = 0; k < w->kernels; k++)
		if (is_in(k, pair)) {
			sxx += w->sides[k].sxx;
			sxy += w->sides[k].sxy;
			w->sides[k].rss = 0;
		}
	if (!(sxx > w->sxx_tiny) || !isfinite(sxx) || !isfinite(sxy / sxx))
		return -EDOM;
	*ret_slope = sxy / sxx;
	*ret_sxx = sxx;
	for (i = 0; i < w->n; i++) {
		const struct fit_boot *b = &w->boots[i];
		struct side *s = &w->sides[b->kernel];
		double e;

		if (!is_in(b->kernel, pair))
			continue;
		e = b->y - w->y0 - s->y - *ret_slope * (b->index - s->x);
		s->rss += e * e;
	}
	return 0;
}

/* The pooled variance of one boot; the floor is the sides' mean floor. */
static int pool_variance(const struct work *w, unsigned pair, double *ret_variance, double *ret_df,
			 bool *ret_floored)
{
	double rss = 0, floor = 0, df = -1;
	size_t n = 0;
	unsigned k;

	for (k = 0; k < w->kernels; k++) {
		const struct side *s = &w->sides[k];

		if (!s->n || !is_in(k, pair))
			continue;
		n += s->n;
		df += (double)s->n - 1;
		rss += s->rss;
		floor += s->floor * (double)s->n;
	}
	if (df < 1)
		return -EDOM;
	floor /= (double)n;
	*ret_df = df;
	*ret_variance = rss / df;
	if (*ret_variance <= w->tiny)
		*ret_variance = 0;
	*ret_floored = floor > *ret_variance;
	if (*ret_floored)
		*ret_variance = floor;
	return isfinite(*ret_variance) ? 0 : -EDOM;
}

static double side_variance(const struct side *s)
{
	return fmax(s->rss / ((double)s->n - 1.5), s->floor);
}

static bool is_apart(double a, double b, double factor)
{
	return a > factor * b || b > factor * a;
}

/* Do the other kernels vary so much more or less than this pair that they must not be pooled? */
static bool others_differ(const struct work *w, unsigned pair)
{
	double own = 0, others = 0, df_own = 0, df_others = 0;
	unsigned k;

	for (k = 0; k < w->kernels; k++) {
		const struct side *s = &w->sides[k];
		double df = s->n ? (double)s->n - 1 : 0;

		if (is_in(k, pair)) {
			own += fmax(s->rss, s->floor * df);
			df_own += df;
		} else {
			others += fmax(s->rss, s->floor * df);
			df_others += df;
		}
	}
	return df_others > 0 && is_apart(own / df_own, others / df_others, ALONE_FACTOR);
}

/* The degrees of freedom of an uneven pair and, if the sides' numbers differ, its variance. */
static void judge_uneven(const struct side *a, const struct side *b, double sxx,
			 struct fit_contrast *c)
{
	double distance = (b->x - a->x) / sxx;
	double va = side_variance(a), vb = side_variance(b);
	double fa;

	if (a->n != b->n) {
		va *= 1 / (double)a->n + distance * distance * a->sxx;
		vb *= 1 / (double)b->n + distance * distance * b->sxx;
		c->se = sqrt(va + vb);
	}
	fa = va / (va + vb);
	c->df = 1 / (fa * fa / ((double)a->n - 1.5) + (1 - fa) * (1 - fa) / ((double)b->n - 1.5));
}

static int find_contrast(struct work *w, unsigned kernel, struct fit_contrast *c)
{
	const struct side *a = &w->sides[0], *b = &w->sides[kernel];
	double slope, sxx, variance, distance;
	int r;

	if (!kernel || a->n < 2 || b->n < 2)
		return -EDOM;
	r = find_slope(w, 0, &slope, &sxx);
	if (r)
		return r;
	c->uneven = is_apart(side_variance(a), side_variance(b), UNEVEN_FACTOR);
	if (w->kernels > 2 && (c->uneven || others_differ(w, kernel))) {
		c->alone = true;
		r = find_slope(w, kernel, &slope, &sxx);
		if (r)
			return r;
		c->uneven = is_apart(side_variance(a), side_variance(b), UNEVEN_FACTOR);
	}
	r = pool_variance(w, c->alone ? kernel : 0, &variance, &c->df, &c->floored);
	if (r)
		return r;
	if (!(variance > 0))
		return -EDOM;
	distance = b->x - a->x;
	c->estimate = b->y - a->y - slope * distance;
	c->sigma = sqrt(variance);
	c->se = c->sigma * sqrt(1 / (double)a->n + 1 / (double)b->n + distance * distance / sxx);
	if (c->uneven)
		judge_uneven(a, b, sxx, c);
	c->t = c->estimate / c->se;
	if (!isfinite(c->estimate) || !isfinite(c->se) || !(c->se > 0))
		return -EDOM;
	return dist_t_p(c->t, c->df, &c->p);
}

static int find_trend(struct work *w, struct fit *fit)
{
	double sxx, variance;
	bool floored;
	int r;

	r = find_slope(w, 0, &fit->trend, &sxx);
	if (!r)
		r = pool_variance(w, 0, &variance, &fit->df, &floored);
	if (r)
		return r;
	fit->sigma = sqrt(variance);
	fit->trend_se = fit->sigma / sqrt(sxx);
	if (fit->trend_se > 0)
		fit->trend_err = dist_t_p(fit->trend / fit->trend_se, fit->df, &fit->trend_p);
	else
		fit->trend_err = -EDOM;
	return 0;
}

int fit_kernels(const struct fit_boot *boots, size_t n, unsigned kernels, const double *floors,
		struct fit *ret)
{
	struct work w = { .boots = boots, .n = n, .kernels = kernels };
	unsigned k;
	size_t i;
	int r = -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		if (boots[i].kernel >= kernels)
			return -EINVAL;
		if (!isfinite(boots[i].y) || !isfinite(boots[i].index))
			return -EDOM;
	}
	for (k = 0; floors && k < kernels; k++)
		if (!isfinite(floors[k]) || floors[k] < 0)
			return -EDOM;
	if (!n || !kernels)
		return -EDOM;
	w.y0 = boots[0].y;
	w.sides = calloc(kernels, sizeof(*w.sides));
	ret->contrasts = calloc(kernels, sizeof(*ret->contrasts));
	if (!w.sides || !ret->contrasts)
		goto fail;
	for (k = 0; floors && k < kernels; k++)
		w.sides[k].floor = floors[k];
	sum_sides(&w);
	r = find_trend(&w, ret);
	if (r)
		goto fail;
	ret->n = n;
	ret->kernels = kernels;
	for (k = 0; k < kernels; k++) {
		struct fit_contrast c = { .err = 0 };

		c.err = find_contrast(&w, k, &c);
		if (c.err)
			c = (struct fit_contrast){ .err = c.err };
		c.n_base = w.sides[0].n;
		c.n_new = w.sides[k].n;
		ret->contrasts[k] = c;
	}
	free(w.sides);
	return 0;
fail:
	free(w.sides);
	fit_done(ret);
	return r;
}

void fit_done(struct fit *fit)
{
	if (!fit)
		return;
	free(fit->contrasts);
	memset(fit, 0, sizeof(*fit));
}

int fit_interval(const struct fit_contrast *contrast, double level, double *ret_lo, double *ret_hi)
{
	double t;
	int r;

	if (contrast->err || !(level > 0 && level < 1))
		return -EDOM;
	r = dist_t_critical(1 - level, contrast->df, &t);
	if (r)
		return r;
	if (!isfinite(contrast->estimate - t * contrast->se) ||
	    !isfinite(contrast->estimate + t * contrast->se))
		return -EDOM;
	*ret_lo = contrast->estimate - t * contrast->se;
	*ret_hi = contrast->estimate + t * contrast->se;
	return 0;
}
