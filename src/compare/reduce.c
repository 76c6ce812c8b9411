/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/internal.h"
#include "stats/sample.h"
#include "stats/spread.h"

/* A boot further off than this is named, modes nearer than this are one; or the resolution. */
#define NOTABLE_SHARE 0.01
#define LEAST_BOOTS   5u

/* The samples of one kernel, boot by boot and invocation by invocation. */
struct nested {
	size_t *invocations, *samples, n_samples;
	double *values;
	size_t n_boots, n_values;
};

static double mean_of(const double *v, size_t n)
{
	double m = 0;
	size_t i;

	for (i = 0; i < n; i++)
		m += (v[i] - m) / (double)(i + 1);
	return m;
}

/* Adds the points of one boot; false if it has no value. */
static bool reduce_boot(const struct ds_series *s, unsigned boot, struct nested *nest,
			struct compare_boot *ret)
{
	CLEANUP_FREE struct hist *h = NULL;
	size_t first = nest->n_values, invocations = 0, i;

	ret->resolution = 0;
	for (i = 0; i < s->n; i++) {
		const struct ds_point *p = &s->points[i];
		double q;

		if (p->boot != boot)
			continue;
		if (p->hist) {
			if (hist_quantile(p->hist, s->metric.quantile, &q) < 0)
				continue;
			if (!h)
				h = mem_alloc(sizeof(*h));
			hist_merge(h, p->hist);
			nest->values[nest->n_values++] = q;
			nest->samples[nest->n_samples++] = 1;
		} else if (p->n) {
			memcpy(nest->values + nest->n_values, p->values, p->n * sizeof(double));
			nest->n_values += p->n;
			nest->samples[nest->n_samples++] = p->n;
		} else {
			continue;
		}
		invocations++;
		ret->resolution = fmax(ret->resolution, p->resolution);
	}
	if (!invocations)
		return false;
	nest->invocations[nest->n_boots++] = invocations;
	if (!h)
		ret->value = mean_of(nest->values + first, nest->n_values - first);
	else if (hist_quantile(h, s->metric.quantile, &ret->value) < 0)
		return false;
	return isfinite(ret->value);
}

static void set_spread(const struct nested *nest, struct compare_value *v)
{
	struct spread_data data = { nest->n_boots, nest->invocations, nest->samples, nest->values };
	struct spread s;

	if (spread_components(&data, &s) || !s.has_cv)
		return;
	if (s.part[SPREAD_BOOT].known)
		v->cv_boot = s.part[SPREAD_BOOT].cv;
	if (s.part[SPREAD_INVOCATION].known)
		v->cv_invocation = s.part[SPREAD_INVOCATION].cv;
	if (s.part[SPREAD_SAMPLE].known)
		v->cv_sample = s.part[SPREAD_SAMPLE].cv;
}

/* Two modes among the boots, or inside more than half of them. */
static bool find_modes(const struct nested *nest, const double *boots, double floor)
{
	struct sample_modes m;
	const double *v = nest->values;
	size_t i, k, n, sample = 0, bimodal = 0;

	if (!sample_modes(boots, nest->n_boots, floor, &m) && m.bimodal)
		return true;
	for (i = 0; i < nest->n_boots; i++, v += n) {
		for (n = 0, k = 0; k < nest->invocations[i]; k++)
			n += nest->samples[sample++];
		bimodal += n && !sample_modes(v, n, floor, &m) && m.bimodal;
	}
	return 2 * bimodal > nest->n_boots;
}

static void find_outliers(struct compare_work *w, const struct compare_boot *b, const double *boots,
			  size_t n, double floor, struct compare_value *v)
{
	CLEANUP_FREE bool *far = mem_array(n, sizeof(*far));
	unsigned *list;
	size_t i, count = 0;

	if (n < LEAST_BOOTS || sample_outliers(boots, n, floor, far, &count) || !count)
		return;
	list = arena_array(&w->c->arena, count, sizeof(*list));
	for (i = 0; i < n; i++)
		if (far[i])
			list[v->n_outliers++] = (unsigned)b[i].index;
	v->outliers = list;
}

/* Counts and shares that are sums over the invocations of one kernel. */
static void sum_points(const struct compare_work *w, const struct ds_series *s, unsigned kernel,
		       struct compare_value *v)
{
	double steal = 0, elapsed = 0, overhead = 0, weight;
	size_t i, n = 0;

	for (i = 0; i < s->n; i++) {
		const struct ds_point *p = &s->points[i];
		const struct ds_invocation *inv = &w->d->invocations[p->invocation];

		if (!compare_uses_boot(w, p->boot) ||
		    w->kernel_of[w->d->boots[p->boot].kernel] != (int)kernel)
			continue;
		v->below += p->below;
		v->samples += (unsigned)(p->hist ? 0 : p->n);
		/* The share of the time that CPUs wanted to work; weighted by how long it was. */
		weight = dataset_usage_of(inv, "elapsed_ns", 0);
		steal += weight * dataset_usage_of(inv, "steal_ratio", 0);
		elapsed += weight;
		if (isfinite(p->overhead)) {
			overhead += p->overhead;
			n++;
		}
	}
	v->steal = elapsed > 0 && steal > 0 ? steal / elapsed : 0;
	v->overhead = n ? overhead / (double)n : NAN;
}

static void reduce_kernel(struct compare_work *w, size_t row, unsigned kernel, struct nested *nest)
{
	const struct ds_series *s = w->series[row];
	struct compare_reduced *red = &w->reduced[row];
	struct compare_row *r = &w->c->rows[row];
	struct compare_value *v = &r->values[kernel];
	struct compare_boot *first = red->boots + red->n;
	CLEANUP_FREE double *boots = mem_array(w->d->n_boots + 1, sizeof(*boots));
	double resolution = NOTABLE_SHARE, floor;
	size_t i, n = 0;

	nest->n_boots = nest->n_samples = nest->n_values = 0;
	for (i = 0; i < w->d->n_boots; i++) {
		unsigned boot = w->sorted[i];
		struct compare_boot *b = &first[n];

		if (!compare_uses_boot(w, boot) ||
		    w->kernel_of[w->d->boots[boot].kernel] != (int)kernel ||
		    !reduce_boot(s, boot, nest, b))
			continue;
		b->boot = boot;
		b->kernel = kernel;
		b->index = (double)i;
		boots[n++] = b->value;
		resolution = fmax(resolution, b->resolution);
	}
	red->n += n;
	v->mean = v->cv_boot = v->cv_invocation = v->cv_sample = v->overhead = NAN;
	v->boots = (unsigned)n;
	if (!n)
		return;
	v->mean = mean_of(boots, n);
	floor = resolution * fabs(v->mean);
	set_spread(nest, v);
	v->bimodal = find_modes(nest, boots, floor);
	find_outliers(w, first, boots, n, floor, v);
	sum_points(w, s, kernel, v);
	/* A sample below its overhead is flagged; a boot there has no logarithm. */
	for (i = 0; i < n; i++)
		r->absolute |= boots[i] <= 0;
}

/* On the scale of the fit: a step of the value that all numbers are rounded to has a variance. */
static void set_floors(struct compare_work *w, size_t row)
{
	struct compare_reduced *red = &w->reduced[row];
	const struct compare_row *r = &w->c->rows[row];
	size_t i;

	red->floors = arena_array(&w->c->arena, w->c->n_kernels, sizeof(double));
	for (i = 0; i < red->n; i++) {
		const struct compare_boot *b = &red->boots[i];
		double step = b->resolution * (r->absolute ? fabs(b->value) : 1);

		red->floors[b->kernel] += step * step / 12 / (double)r->values[b->kernel].boots;
	}
}

void compare_reduce(struct compare_work *w, size_t row)
{
	const struct ds_series *s = w->series[row];
	struct compare_row *r = &w->c->rows[row];
	struct nested nest = { .n_boots = 0 };
	size_t i, values = 0;
	unsigned k;

	for (i = 0; i < s->n; i++)
		values += s->points[i].n + 1;
	nest.invocations = mem_array(w->d->n_boots + 1, sizeof(size_t));
	nest.samples = mem_array(s->n + 1, sizeof(size_t));
	nest.values = mem_array(values + 1, sizeof(double));
	r->values = arena_array(&w->c->arena, w->c->n_kernels, sizeof(*r->values));
	w->reduced[row].boots =
		arena_array(&w->c->arena, w->d->n_boots + 1, sizeof(struct compare_boot));
	for (k = 0; k < w->c->n_kernels; k++)
		reduce_kernel(w, row, k, &nest);
	set_floors(w, row);
	free(nest.invocations);
	free(nest.samples);
	free(nest.values);
}
