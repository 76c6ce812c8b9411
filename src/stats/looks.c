/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/looks.h"

#include <errno.h>

const struct look looks_schedule[LOOKS_COUNT] = {
	{ 4, 0.20 }, { 6, 0.10 }, { 9, 0.15 }, { 13, 0.20 }, { 20, 0.35 },
};

int looks_level(double weight, double *ret)
{
	if (!(weight > 0 && weight <= 1))
		return -EDOM;
	*ret = 1 - LOOKS_ALPHA * weight;
	return 0;
}

int looks_p_seq(const double *p, size_t n, double *ret)
{
	double low = 1;
	size_t i;

	if (!n || n > LOOKS_COUNT)
		return -EDOM;
	for (i = 0; i < n; i++) {
		if (!(p[i] >= 0 && p[i] <= 1))
			return -EDOM;
		if (p[i] / looks_schedule[i].weight < low)
			low = p[i] / looks_schedule[i].weight;
	}
	*ret = low;
	return 0;
}
