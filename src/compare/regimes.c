/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regimes: a workload that does its work in one way for a while, then in another. Its mean is
 * neither. What looks alike and is none: noise, however wide; slow operations that come again and
 * again among the others (a slab is refilled, a callback runs); perturbations that each have a
 * value of their own.
 *
 * Modes are where nearly all batches lie dense, with a clear gap between. They are regimes if
 * within perturbations batches stay with one for a while, or the gap is too wide for a slow
 * operation; or if several perturbations agree on one, and several on another.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/internal.h"

#define GAP_SHARE   0.01 /* of the median: nearer ones are one mode */
#define GAP_SPREADS 5	 /* and so many times the spread inside */
#define MODE_SHARE  0.10 /* of the batches: fewer are no mode */
#define MODE_LEAST  3u
#define DENSE_SHARE 0.02 /* of the batches within half a gap to both sides */
#define COVERED	    0.75 /* of the batches lie in modes; else it is noise */
/* So far apart and so large, within perturbations: whatever the order. */
#define WIDE_GAP   0.05
#define WIDE_SHARE 0.25
/* Of the changes from one mode to another that a random order would have. */
#define STAYS 3
/* Between perturbations: further apart, and so many times the range of those that agree. */
#define APART_GAP    0.02
#define APART_RANGES 3
#define AGREE	     2u /* perturbations, where there are FEW or more */
#define FEW	     4u

struct batch {
	double value; /* instructions per op */
	double ops, switches;
	unsigned run, at; /* place: perturbation, and in it */
	unsigned mode;
	bool dense;
};

/* Dense batches from `first` to `last`, both in the sorted array. */
struct group {
	size_t first, last, members, near;
	double lo, hi, spread;
};

static int value_cmp(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;

	if (x->value < y->value || x->value > y->value)
		return x->value < y->value ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int place_cmp(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The batches that count: clean ones, or where there are none (long operations) all. */
static size_t collect(const struct exact_windows *const *runs, size_t n, struct batch *ret)
{
	size_t count = 0, i, k;
	int all;

	for (all = 0; all < 2 && !count; all++)
		for (i = 0; i < n; i++)
			for (k = 0; runs[i] && k < runs[i]->n; k++) {
				const struct exact_window *w = &runs[i]->list[k];

				if (w->overhead || !w->ops || (!all && !exact_window_clean(w)))
					continue;
				ret[count++] = (struct batch){
					.value = (double)exact_window_sum(w) / (double)w->ops,
					.ops = (double)w->ops,
					.switches = (double)w->switches,
					.run = (unsigned)i,
					.at = (unsigned)k,
				};
			}
	return count;
}

static void mark_dense(struct batch *b, size_t n, double gap)
{
	size_t i, lo = 0, hi = 0;

	for (i = 0; i < n; i++) {
		while (b[lo].value < b[i].value - gap / 2)
			lo++;
		while (hi < n && b[hi].value <= b[i].value + gap / 2)
			hi++;
		b[i].dense = hi - lo >= 2 && (double)(hi - lo) > DENSE_SHARE * (double)n;
	}
}

/* The median distance of a group's batches from their median. */
static void set_spread(const struct batch *b, struct group *g)
{
	CLEANUP_FREE double *v = mem_array(g->last - g->first + 1, sizeof(*v));
	double middle;
	size_t i, n = 0;

	for (i = g->first; i <= g->last; i++)
		if (b[i].dense)
			v[n++] = b[i].value;
	middle = v[n / 2];
	for (i = 0; i < n; i++)
		v[i] = fabs(v[i] - middle);
	qsort(v, n, sizeof(*v), double_cmp);
	g->lo = b[g->first].value;
	g->hi = b[g->last].value;
	g->spread = v[n / 2];
}

static size_t find_groups(const struct batch *b, size_t n, double gap, struct group *g)
{
	double least = fmax(MODE_LEAST, MODE_SHARE * (double)n);
	size_t count = 0, kept = 0, i;

	for (i = 0; i < n; i++) {
		if (!b[i].dense)
			continue;
		if (!count || b[i].value - b[g[count - 1].last].value > gap)
			g[count++] = (struct group){ .first = i };
		g[count - 1].last = i;
		g[count - 1].members++;
	}
	for (i = 0; i < count; i++)
		if ((double)g[i].members >= least)
			g[kept++] = g[i];
	for (i = 0; i < kept; i++)
		set_spread(b, &g[i]);
	/* Two that are not further apart than each is wide are one. */
	for (count = 0, i = 0; i < kept; i++) {
		struct group *last = count ? &g[count - 1] : NULL;

		if (last && g[i].lo - last->hi <= GAP_SPREADS * fmax(last->spread, g[i].spread)) {
			last->last = g[i].last;
			last->members += g[i].members;
			set_spread(b, last);
		} else {
			g[count++] = g[i];
		}
	}
	return count;
}

/* All batches belong to the nearest mode, those between and beyond as well. */
static void assign(struct batch *b, size_t n, struct group *g, size_t modes)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		double nearest = INFINITY;

		for (k = 0; k < modes; k++) {
			double d = fmax(fmax(g[k].lo - b[i].value, b[i].value - g[k].hi), 0);

			if (d < nearest) {
				nearest = d;
				b[i].mode = (unsigned)k;
			}
		}
		g[b[i].mode].near++;
	}
}

/* The batches of one perturbation. */
struct run {
	size_t first, n; /* in the order of time */
	double median;
	unsigned mode; /* of most */
	bool mixed;    /* others are not just a few */
};

static void describe_run(const struct batch *b, size_t modes, struct run *r)
{
	CLEANUP_FREE double *v = mem_array(r->n, sizeof(*v));
	CLEANUP_FREE size_t *in = mem_array(modes, sizeof(*in));
	size_t i;

	for (i = 0; i < r->n; i++) {
		v[i] = b[r->first + i].value;
		in[b[r->first + i].mode]++;
	}
	qsort(v, r->n, sizeof(*v), double_cmp);
	r->median = v[r->n / 2];
	for (i = 1; i < modes; i++)
		if (in[i] > in[r->mode])
			r->mode = (unsigned)i;
	for (i = 0; i < modes; i++)
		r->mixed |=
			i != r->mode && in[i] >= 2 && (double)in[i] >= MODE_SHARE * (double)r->n;
}

/* b is in the order of time. */
static size_t find_runs(const struct batch *b, size_t n, size_t modes, struct run *ret)
{
	size_t count = 0, i;

	for (i = 0; i < n; i++) {
		if (!i || b[i].run != b[i - 1].run)
			ret[count++] = (struct run){ .first = i };
		ret[count - 1].n++;
	}
	for (i = 0; i < count; i++)
		describe_run(b, modes, &ret[i]);
	return count;
}

/* In the perturbations that have several modes: fewer changes than a random order would have? */
static bool stays(const struct batch *b, const struct run *runs, size_t n, size_t modes)
{
	CLEANUP_FREE double *in = mem_array(modes, sizeof(*in));
	double expected = 0, changes = 0;
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct batch *own = b + runs[i].first;
		double differ = 1;

		if (!runs[i].mixed)
			continue;
		for (k = 0; k < modes; k++)
			in[k] = 0;
		for (k = 0; k < runs[i].n; k++) {
			in[own[k].mode]++;
			changes += k && own[k].mode != own[k - 1].mode;
		}
		for (k = 0; k < modes; k++)
			differ -= pow(in[k] / (double)runs[i].n, 2);
		expected += (double)(runs[i].n - 1) * differ;
	}
	return changes * STAYS <= expected;
}

static bool is_wide(const struct group *g, size_t modes, size_t n, double median)
{
	size_t i;

	for (i = 0; i < modes; i++)
		if ((double)g[i].near < WIDE_SHARE * (double)n ||
		    (i && g[i].lo - g[i - 1].hi <= WIDE_GAP * median))
			return false;
	return true;
}

/* Do perturbations agree on one of the modes each? */
static bool are_apart(const struct run *runs, size_t n, size_t modes, double median)
{
	double last_hi = 0, last_range = 0;
	size_t i, k;

	for (k = 0; k < modes; k++) {
		double lo = INFINITY, hi = -INFINITY;
		unsigned agree = 0;

		for (i = 0; i < n; i++) {
			if (runs[i].mode != k)
				continue;
			lo = fmin(lo, runs[i].median);
			hi = fmax(hi, runs[i].median);
			agree++;
		}
		if (agree < (n < FEW ? 1 : AGREE))
			return false;
		if (k && lo - last_hi <=
				 fmax(APART_GAP * median, APART_RANGES * fmax(hi - lo, last_range)))
			return false;
		last_hi = hi;
		last_range = hi - lo;
	}
	return true;
}

static bool are_regimes(const struct batch *b, size_t n, const struct group *g, size_t modes,
			double median)
{
	CLEANUP_FREE struct run *runs = mem_array(n, sizeof(*runs));
	size_t count = find_runs(b, n, modes, runs), mixed = 0, members = 0, i;

	for (i = 0; i < modes; i++)
		members += g[i].members;
	if ((double)members < COVERED * (double)n)
		return false;
	for (i = 0; i < count; i++)
		mixed += runs[i].mixed;
	if (mixed >= (count < FEW ? 1 : AGREE))
		return is_wide(g, modes, n, median) || stays(b, runs, count, modes);
	return are_apart(runs, count, modes, median);
}

static void describe(const struct batch *b, size_t n, const struct group *g, unsigned mode,
		     size_t runs, struct compare_mode *ret)
{
	CLEANUP_FREE bool *seen = mem_array(runs, sizeof(*seen));
	CLEANUP_FREE double *v = mem_array(n, sizeof(*v));
	double ops = 0, switches = 0;
	size_t i, count = 0;

	for (i = 0; i < n; i++) {
		if (!b[i].dense || b[i].mode != mode || b[i].value < g->lo || b[i].value > g->hi)
			continue;
		v[count++] = b[i].value;
		ops += b[i].ops;
		switches += b[i].switches;
		ret->perturbations += !seen[b[i].run];
		seen[b[i].run] = true;
	}
	qsort(v, count, sizeof(*v), double_cmp);
	ret->instructions = v[count / 2];
	ret->switches = switches / ops;
	ret->share = (double)g->near / (double)n;
}

unsigned compare_regimes(struct arena *a, const struct exact_windows *const *runs, size_t n,
			 const struct compare_mode **ret)
{
	CLEANUP_FREE struct batch *b = NULL;
	CLEANUP_FREE struct group *g = NULL;
	struct compare_mode *list;
	size_t count = 0, modes, i;
	double median;

	*ret = NULL;
	for (i = 0; i < n; i++)
		count += runs[i] ? runs[i]->n : 0;
	b = mem_array(count + 1, sizeof(*b));
	count = collect(runs, n, b);
	if (count < 2 * (size_t)MODE_LEAST)
		return 0;
	qsort(b, count, sizeof(*b), value_cmp);
	median = b[count / 2].value;
	g = mem_array(count, sizeof(*g));
	mark_dense(b, count, GAP_SHARE * median);
	modes = find_groups(b, count, GAP_SHARE * median, g);
	if (modes < 2)
		return 0;
	assign(b, count, g, modes);
	qsort(b, count, sizeof(*b), place_cmp);
	if (!are_regimes(b, count, g, modes, median))
		return 0;
	list = arena_array(a, modes, sizeof(*list));
	for (i = 0; i < modes; i++)
		describe(b, count, &g[i], (unsigned)i, n, &list[i]);
	*ret = list;
	return (unsigned)modes;
}
