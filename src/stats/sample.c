/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#define OUTLIER_FACTOR (3.5 * 1.4826)
#define FLOOR_SHARE    0.01
/* Neighbouring ticks of a coarse clock differ by one resolution and a rounding. */
#define FLOOR_SLACK 1.000001
#define GAP_FACTOR  2
#define MODES_LEAST 5

static bool all_finite(const double *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

static int give(double value, double *ret)
{
	if (!isfinite(value))
		return -EDOM;
	*ret = value;
	return 0;
}

int sample_mean(const double *x, size_t n, double *ret)
{
	if (!n || !all_finite(x, n))
		return -EDOM;
	return give(gsl_stats_mean(x, 1, n), ret);
}

int sample_sd(const double *x, size_t n, double *ret)
{
	if (n < 2 || !all_finite(x, n))
		return -EDOM;
	return give(gsl_stats_sd(x, 1, n), ret);
}

static int sort_copy(const double *x, size_t n, double **ret)
{
	double *copy;

	if (!n || !all_finite(x, n))
		return -EDOM;
	copy = calloc(n, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, x, n * sizeof(*x));
	gsl_sort(copy, 1, n);
	*ret = copy;
	return 0;
}

int sample_quantile(const double *x, size_t n, double f, double *ret)
{
	double *sorted;
	int r;

	if (!(f >= 0 && f <= 1))
		return -EDOM;
	r = sort_copy(x, n, &sorted);
	if (r)
		return r;
	r = give(gsl_stats_quantile_from_sorted_data(sorted, 1, n, f), ret);
	free(sorted);
	return r;
}

/* The distance below which two values are the same, given the typical value. */
static int find_floor(double resolution, double median, double *ret)
{
	if (!isfinite(resolution) || resolution < 0)
		return -EDOM;
	*ret = FLOOR_SLACK * (resolution > 0 ? resolution : FLOOR_SHARE * fabs(median));
	return 0;
}

int sample_outliers(const double *x, size_t n, double resolution, bool *ret, size_t *ret_count)
{
	double median, mad, limit, floor, *distance;
	size_t i, count = 0;
	int r;

	if (n < 3)
		return -EDOM;
	r = sample_quantile(x, n, 0.5, &median);
	if (!r)
		r = find_floor(resolution, median, &floor);
	if (r)
		return r;
	distance = calloc(n, sizeof(*distance));
	if (!distance)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		distance[i] = fabs(x[i] - median);
	r = sample_quantile(distance, n, 0.5, &mad);
	if (!r) {
		limit = fmax(OUTLIER_FACTOR * mad, floor);
		for (i = 0; i < n; i++) {
			ret[i] = distance[i] > limit;
			count += ret[i];
		}
		*ret_count = count;
	}
	free(distance);
	return r;
}

/*
 * The ratio of squares between and within that 0.5 % of normal samples exceed: 40,000 simulated
 * samples a point up to n = 100, 8,000 above; the limit for large n is 2 / (pi - 2) = 1.75.
 */
static double critical_ratio(size_t n)
{
	static const struct {
		double n, ratio;
	} points[] = {
		{ 5, 86.6 },   { 6, 41.1 },   { 7, 25.2 },   { 8, 18.3 },     { 10, 12.5 },
		{ 12, 9.15 },  { 15, 7.12 },  { 20, 5.40 },  { 30, 4.22 },    { 50, 3.28 },
		{ 100, 2.68 }, { 200, 2.36 }, { 500, 2.08 }, { 1000, 1.985 },
	};
	const size_t last = sizeof(points) / sizeof(*points) - 1;
	double size = (double)n, share;
	size_t i = 0;

	if (size >= points[last].n)
		return points[last].ratio;
	while (i + 2 <= last && size >= points[i + 1].n)
		i++;
	share = log(size / points[i].n) / log(points[i + 1].n / points[i].n);
	return exp(log(points[i].ratio) + share * log(points[i + 1].ratio / points[i].ratio));
}

/* The best cut of the sorted values: how many are below it, and the squares between the parts. */
static size_t find_cut(const double *sorted, size_t n, double mean, double *ret_between)
{
	size_t least = n / 20 + (n % 20 != 0), i, cut = 0;
	double sum = 0, between;

	if (least < 2)
		least = 2;
	*ret_between = 0;
	for (i = 1; i + least <= n; i++) {
		sum += sorted[i - 1] - mean;
		if (i < least)
			continue;
		between = sum * sum * (double)n / ((double)i * (double)(n - i));
		if (between > *ret_between) {
			*ret_between = between;
			cut = i;
		}
	}
	return cut;
}

static double squares(const double *x, size_t n, double mean)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

int sample_modes(const double *x, size_t n, double resolution, struct sample_modes *ret)
{
	struct sample_modes modes = { .bimodal = false };
	double *sorted, between = 0, within = 0, floor, gap = 0;
	size_t cut = 0;
	int r;

	r = sort_copy(x, n, &sorted);
	if (r)
		return r;
	r = find_floor(resolution, gsl_stats_median_from_sorted_data(sorted, 1, n), &floor);
	if (!r && n >= MODES_LEAST)
		cut = find_cut(sorted, n, gsl_stats_mean(sorted, 1, n), &between);
	if (cut) {
		modes.n_lo = cut;
		modes.n_hi = n - cut;
		modes.mean_lo = gsl_stats_mean(sorted, 1, cut);
		modes.mean_hi = gsl_stats_mean(sorted + cut, 1, n - cut);
		within = squares(sorted, cut, modes.mean_lo) +
			 squares(sorted + cut, n - cut, modes.mean_hi);
		gap = gsl_stats_quantile_from_sorted_data(sorted + cut, 1, n - cut, 0.1) -
		      gsl_stats_quantile_from_sorted_data(sorted, 1, cut, 0.9);
		if (!isfinite(within) || !isfinite(between) || !isfinite(gap))
			r = -EDOM;
		modes.bimodal = between > critical_ratio(n) * within && gap > floor &&
				gap * gap > GAP_FACTOR * GAP_FACTOR * within / (double)(n - 2);
	}
	free(sorted);
	if (r)
		return r;
	*ret = modes.bimodal ? modes : (struct sample_modes){ .bimodal = false };
	return 0;
}
