/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/adjust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

/* The ranks of p in rising order, and a scratch copy of p; the caller frees both. */
static int prepare(const double *p, size_t n, size_t **ret_rank, double **ret_copy)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!(p[i] >= 0 && p[i] <= 1))
			return -EDOM;
	*ret_rank = calloc(n, sizeof(**ret_rank));
	*ret_copy = calloc(n, sizeof(**ret_copy));
	if (!*ret_rank || !*ret_copy) {
		free(*ret_rank);
		free(*ret_copy);
		return -ENOMEM;
	}
	memcpy(*ret_copy, p, n * sizeof(*p));
	gsl_sort_index(*ret_rank, p, 1, n);
	return 0;
}

int adjust_holm(const double *p, size_t n, double *ret)
{
	double *copy, high = 0;
	size_t *rank, i;
	int r;

	if (!n)
		return 0;
	r = prepare(p, n, &rank, &copy);
	if (r)
		return r;
	for (i = 0; i < n; i++) {
		double value = (double)(n - i) * copy[rank[i]];

		if (value > 1)
			value = 1;
		if (value > high)
			high = value;
		ret[rank[i]] = high;
	}
	free(rank);
	free(copy);
	return 0;
}

int adjust_bh(const double *p, size_t n, double *ret)
{
	double *copy, low = 1;
	size_t *rank, i;
	int r;

	if (!n)
		return 0;
	r = prepare(p, n, &rank, &copy);
	if (r)
		return r;
	for (i = n; i-- > 0;) {
		double value = (double)n / (double)(i + 1) * copy[rank[i]];

		if (value < low)
			low = value;
		ret[rank[i]] = low;
	}
	free(rank);
	free(copy);
	return 0;
}
