/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/spread.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/dist.h"
#include "stats/sample.h"

/* Running sums over the design, all about a first value so that they keep their digits. */
struct sums {
	double n, boots, invocations;
	double ss_sample, ss_invocation, ss_boot;
	double n2_in_boot; /* sum over boots of (sum of n_ij^2) / n_i */
	double n2;	   /* sum of n_ij^2 */
	double boot_n2;	   /* sum of n_i^2 */
	double s2_invocation, s2_boots;
	double mean; /* of boot means */
};

static double mean_of(const double *v, size_t n, double origin)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += v[i] - origin;
	return sum / (double)n;
}

static double squares_about(const double *v, size_t n, double origin, double mean)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (v[i] - origin - mean) * (v[i] - origin - mean);
	return sum;
}

/* One boot: its weighted mean (of samples) and plain mean (of invocations' means). */
static void sum_boot(const size_t *samples, size_t invocations, const double *values, double origin,
		     struct sums *s, double *ret_n, double *ret_weighted, double *ret_plain)
{
	double n = 0, n2 = 0, weighted = 0, plain = 0, mean;
	const double *v = values;
	size_t j;

	for (j = 0; j < invocations; v += samples[j++]) {
		mean = mean_of(v, samples[j], origin);
		s->ss_sample += squares_about(v, samples[j], origin, mean);
		n += (double)samples[j];
		n2 += (double)samples[j] * (double)samples[j];
		weighted += mean * (double)samples[j];
		plain += mean;
	}
	weighted /= n;
	plain /= (double)invocations;
	for (j = 0, v = values; j < invocations; v += samples[j++]) {
		mean = mean_of(v, samples[j], origin);
		s->ss_invocation += (double)samples[j] * (mean - weighted) * (mean - weighted);
		s->s2_invocation += (mean - plain) * (mean - plain);
	}
	s->n += n;
	s->n2 += n2;
	s->n2_in_boot += n2 / n;
	s->boot_n2 += n * n;
	s->boots++;
	s->invocations += (double)invocations;
	*ret_n = n;
	*ret_weighted = weighted;
	*ret_plain = plain;
}

static int sum_design(const struct spread_data *data, struct sums *s)
{
	double origin = data->values[0], n, weighted, plain, grand = 0, all = 0;
	double m2_weighted = 0, m2_plain = 0, delta;
	const double *v = data->values;
	const size_t *samples = data->samples;
	size_t i, j;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < data->boots; i++) {
		sum_boot(samples, data->invocations[i], v, origin, s, &n, &weighted, &plain);
		/* Welford's update, with and without weights. */
		all += n;
		delta = weighted - grand;
		grand += delta * n / all;
		m2_weighted += n * delta * (weighted - grand);
		delta = plain - s->mean;
		s->mean += delta / s->boots;
		m2_plain += delta * (plain - s->mean);
		for (j = 0; j < data->invocations[i]; j++)
			v += samples[j];
		samples += data->invocations[i];
	}
	s->ss_boot = m2_weighted;
	s->s2_boots = m2_plain;
	s->mean += origin;
	return isfinite(s->mean) && isfinite(s->ss_boot) && isfinite(s->ss_invocation) &&
			       isfinite(s->ss_sample)
		       ? 0
		       : -EDOM;
}

static int check(const struct spread_data *data)
{
	size_t i, j, invocation = 0, value = 0, end;

	if (!data->boots)
		return -EDOM;
	for (i = 0; i < data->boots; i++) {
		if (!data->invocations[i])
			return -EDOM;
		for (j = 0; j < data->invocations[i]; j++, invocation++) {
			if (!data->samples[invocation])
				return -EDOM;
			for (end = value + data->samples[invocation]; value < end; value++)
				if (!isfinite(data->values[value]))
					return -EDOM;
		}
	}
	return 0;
}

static void set_part(struct spread *ret, enum spread_level level, double s2, double raw)
{
	struct spread_part *part = &ret->part[level];

	part->known = true;
	part->s2 = s2;
	part->raw = raw;
	part->used = raw > 0 ? raw : 0;
	part->cv = ret->has_cv ? sqrt(part->used) / fabs(ret->mean) : 0;
}

int spread_components(const struct spread_data *data, struct spread *ret)
{
	double df_sample, df_invocation, df_boot, ms_sample = 0, component = 0, k1, k2, k3;
	struct sums s;
	int r, i;

	memset(ret, 0, sizeof(*ret));
	r = check(data);
	if (!r)
		r = sum_design(data, &s);
	if (r)
		return r;
	df_sample = s.n - s.invocations;
	df_invocation = s.invocations - s.boots;
	df_boot = s.boots - 1;
	if (df_sample + df_invocation + df_boot < 1)
		return -EDOM;
	ret->mean = s.mean;
	ret->has_cv = fabs(s.mean) > 0 && isfinite(1 / s.mean);
	/* The expected mean squares: sample + k1 invocation; sample + k2 invocation + k3 boot. */
	if (df_sample > 0) {
		ms_sample = s.ss_sample / df_sample;
		set_part(ret, SPREAD_SAMPLE, ms_sample, ms_sample);
	}
	if (df_invocation > 0) {
		k1 = (s.n - s.n2_in_boot) / df_invocation;
		component = (s.ss_invocation / df_invocation - ms_sample) / k1;
		set_part(ret, SPREAD_INVOCATION, s.s2_invocation / df_invocation, component);
	}
	if (df_boot > 0) {
		k2 = (s.n2_in_boot - s.n2 / s.n) / df_boot;
		k3 = (s.n - s.boot_n2 / s.n) / df_boot;
		set_part(ret, SPREAD_BOOT, s.s2_boots / df_boot,
			 (s.ss_boot / df_boot - ms_sample - k2 * component) / k3);
	}
	for (i = 0; i < SPREAD_LEVELS; i++)
		if (!isfinite(ret->part[i].raw) || !isfinite(ret->part[i].cv) ||
		    !isfinite(ret->part[i].s2)) {
			memset(ret, 0, sizeof(*ret));
			return -EDOM;
		}
	return 0;
}

int spread_repetitions(double cost_above, double cost, double component_above, double component,
		       double *ret)
{
	double value;

	if (!(cost_above > 0) || !(cost > 0) || !(component_above > 0) || !(component >= 0))
		return -EDOM;
	value = sqrt(cost_above / cost * component / component_above);
	if (!isfinite(value))
		return -EDOM;
	*ret = value;
	return 0;
}

/* The mean of the distances to the median, and their squares about it; *size grows to max |v|. */
static int find_distances(const double *v, size_t n, double *size, double *ret_mean, double *ret_ss)
{
	double median, *distance;
	size_t i;
	int r;

	r = sample_quantile(v, n, 0.5, &median);
	if (r)
		return r;
	distance = calloc(n, sizeof(*distance));
	if (!distance)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		distance[i] = fabs(v[i] - median);
		*size = fmax(*size, fabs(v[i]));
	}
	*ret_mean = mean_of(distance, n, 0);
	*ret_ss = squares_about(distance, n, 0, *ret_mean);
	free(distance);
	return 0;
}

int spread_brown_forsythe(const double *a, size_t n_a, const double *b, size_t n_b, double *ret_f,
			  double *ret_p)
{
	double mean_a, mean_b, ss_a, ss_b, df, within, diff, f, p, size = 0;
	int r;

	if (n_a < 2 || n_b < 2)
		return -EDOM;
	r = find_distances(a, n_a, &size, &mean_a, &ss_a);
	if (!r)
		r = find_distances(b, n_b, &size, &mean_b, &ss_b);
	if (r)
		return r;
	df = (double)n_a + (double)n_b - 2;
	within = (ss_a + ss_b) / df;
	diff = mean_a - mean_b;
	/* Equal distances on both sides (two values each, say) leave only rounding. */
	if (sqrt(within) <= 16 * DBL_EPSILON * size)
		return -EDOM;
	f = diff * diff / (within * (1 / (double)n_a + 1 / (double)n_b));
	if (!isfinite(f))
		return -EDOM;
	r = dist_f_tail(f, 1, df, &p);
	if (r)
		return r;
	*ret_f = f;
	*ret_p = p;
	return 0;
}
