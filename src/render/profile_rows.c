/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/profile_notes.h"

void profile_point_name(const struct profile_point *p, struct str *out)
{
	str_add(out, p->workload);
	if (p->params && *p->params)
		str_printf(out, ":%s", p->params);
}

const char *profile_windows_text(enum profile_windows w, unsigned cpus)
{
	if (w == PROFILE_TYPICAL && cpus > 1)
		return "all windows: interrupts are not told apart";
	return w == PROFILE_TOTAL ? "total: all windows" : "typical: windows without interrupts";
}

void profile_name(const char *name, const char *module, struct str *out)
{
	str_add(out, name);
	if (module)
		str_printf(out, " [%s]", module);
}

void profile_symbol_name(const char *name, const char *module, struct str *out)
{
	profile_name(name, module, out);
	if (!module && !strcmp(name, "total"))
		str_add(out, " (a symbol)");
}

/* ---- rows ---- */

static int by_size(const void *pa, const void *pb)
{
	const struct profile_delta *a = *(const struct profile_delta *const *)pa;
	const struct profile_delta *b = *(const struct profile_delta *const *)pb;
	int r;

	if (fabs(a->diff) < fabs(b->diff) || fabs(a->diff) > fabs(b->diff))
		return fabs(a->diff) < fabs(b->diff) ? 1 : -1;
	r = strcmp(a->name, b->name);
	return r ? r : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

static int by_place(const void *pa, const void *pb)
{
	const struct profile_delta *a = *(const struct profile_delta *const *)pa;
	const struct profile_delta *b = *(const struct profile_delta *const *)pb;

	return (a > b) - (a < b);
}

static void cut(struct profile_cut *c, const struct profile_delta *d)
{
	c->rows++;
	c->sum += d->diff;
}

/* The rows of one kernel look like those of a pair, so that one code chooses. */
static const struct profile_delta *as_rows(const struct profile *p, struct arena *a)
{
	struct profile_delta *rows = arena_array(a, p->n + 1, sizeof(*rows));
	const struct profile_delta **order = arena_array(a, p->n + 1, sizeof(*order));
	struct profile_delta *ret = arena_array(a, p->n + 1, sizeof(*ret));
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct profile_symbol *s = &p->symbols[i];

		rows[i] = (struct profile_delta){
			.name = s->name,
			.module = s->module,
			.base = s,
			.diff = s->instructions,
			.why = profile_is_spin(s->name) ? PROFILE_SPIN : 0,
			.twin = -1,
		};
		order[i] = &rows[i];
	}
	qsort(order, p->n, sizeof(*order), by_size);
	for (i = 0; i < p->n; i++)
		ret[i] = *order[i];
	return ret;
}

void profile_rows_make(const struct profile_table *t, const struct profile_show *s, struct arena *a,
		       struct profile_rows *ret)
{
	const struct profile_delta *all = t->diff ? t->diff->rows : as_rows(t->profile, a);
	size_t n_all = t->diff ? t->diff->n : t->profile->n, i, n = 0;
	const struct profile_delta **rows = arena_array(a, n_all + 1, sizeof(*rows));
	const struct profile_delta **spin = arena_array(a, n_all + 1, sizeof(*spin));

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n_all; i++) {
		const struct profile_delta *d = &all[i];

		if (t->diff && !s->all && d->mark == PROFILE_SAME)
			cut(&ret->same, d);
		else if (t->diff && !s->all && d->mark == PROFILE_WITHIN)
			cut(&ret->within, d);
		else if (fabs(d->diff) < s->min)
			cut(&ret->under, d);
		else
			rows[n++] = d;
	}
	if (s->top && n > s->top) {
		qsort(rows, n, sizeof(*rows), by_size);
		for (i = s->top; i < n; i++)
			cut(&ret->beyond, rows[i]);
		n = s->top;
		qsort(rows, n, sizeof(*rows), by_place);
	}
	for (i = 0; i < n; i++) {
		if (t->point->cpus > 1 && (rows[i]->why & PROFILE_SPIN))
			spin[ret->n_spin++] = rows[i];
		else
			rows[ret->n++] = rows[i];
	}
	ret->rows = rows;
	ret->spin = spin;
}

/* ---- callers ---- */

static void add_side(struct profile_callers *c, const struct profile *p, const char *symbol,
		     bool new, struct arena *a, size_t *cap)
{
	const struct profile_symbol *to;
	size_t i, k;

	for (i = 0; i < p->n; i++) {
		to = &p->symbols[i];
		if (strcmp(to->name, symbol) != 0)
			continue;
		*(new ? &c->in_new : &c->in_base) = true;
		*(new ? &c->new : &c->base) += to->calls;
		for (k = 0; k < to->n_edges; k++) {
			const struct profile_edge *g = &p->edges[to->first_edge + k];
			const struct profile_symbol *from = &p->symbols[g->from];
			struct profile_caller *x = NULL;
			size_t at;

			for (at = 0; at < c->n && !x; at++)
				if (!strcmp(c->list[at].name, from->name) &&
				    str_eq(c->list[at].module, from->module))
					x = &c->list[at];
			if (!x) {
				c->list = arena_grow(a, c->list, c->n, cap, sizeof(*x));
				x = &c->list[c->n++];
				*x = (struct profile_caller){ from->name, from->module, 0, 0 };
			}
			*(new ? &x->new : &x->base) += g->calls;
		}
	}
}

static int by_change(const void *pa, const void *pb)
{
	const struct profile_caller *a = pa, *b = pb;
	double x = a->new - a->base, y = b->new - b->base;
	int r;

	if (x < y || x > y)
		return x < y ? 1 : -1;
	if (a->base < b->base || a->base > b->base)
		return a->base < b->base ? 1 : -1;
	r = strcmp(a->name, b->name);
	return r ? r : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

static int by_calls(const void *pa, const void *pb)
{
	const struct profile_caller *a = pa, *b = pb;

	if (a->base < b->base || a->base > b->base)
		return a->base < b->base ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* A rest of sums of fractions is no call. */
static double settled(double v)
{
	return fabs(v) < 1e-9 ? 0 : v;
}

static void add_rest(struct profile_callers *c, struct arena *a, size_t *cap,
		     const struct profile_caller *rest)
{
	if (rest->base == 0 && rest->new == 0)
		return;
	c->list = arena_grow(a, c->list, c->n, cap, sizeof(*c->list));
	c->list[c->n++] = *rest;
}

void profile_callers_make(const struct profile_table *t, const char *symbol, struct arena *a,
			  struct profile_callers *ret)
{
	struct profile_caller rest = { PROFILE_POINTER, NULL, 0, 0 };
	struct profile_caller middle = { PROFILE_MIDDLE, NULL, 0, 0 };
	size_t cap = 0, i;

	memset(ret, 0, sizeof(*ret));
	add_side(ret, t->diff ? t->diff->base : t->profile, symbol, false, a, &cap);
	if (t->diff)
		add_side(ret, t->diff->new, symbol, true, a, &cap);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), t->diff ? by_change : by_calls);
	rest.base = ret->base;
	rest.new = ret->new;
	for (i = 0; i < ret->n; i++) {
		rest.base -= ret->list[i].base;
		rest.new -= ret->list[i].new;
	}
	rest.base = settled(rest.base);
	rest.new = settled(rest.new);
	middle.base = fmin(rest.base, 0);
	middle.new = fmin(rest.new, 0);
	rest.base = fmax(rest.base, 0);
	rest.new = fmax(rest.new, 0);
	add_rest(ret, a, &cap, &rest);
	add_rest(ret, a, &cap, &middle);
}
