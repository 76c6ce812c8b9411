/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile/internal.h"

/* One symbol of one invocation, and where it goes. */
struct part {
	struct fold_key key;
	const struct exact_symbol *symbol;
	unsigned inv, at; /* which invocation, and its place there */
};

struct call {
	unsigned from, to; /* in profile.symbols */
	double calls;	   /* per op, a share of the mean */
};

#define NONE UINT_MAX

struct making {
	const struct profile_options *o;
	struct arena *a;
	struct profile *p;
	const struct exact_profile **used; /* those with such windows */
	double *weight; /* of each in a mean: 0 for one that repeats a perturbation */
	size_t n_used;
	struct part *parts; /* by key, invocation, name */
	size_t n_parts;
	unsigned **group; /* [invocation][symbol]: in profile.symbols */
	bool **counted;	  /* [invocation][symbol]: its calls are calls of the group */
	struct call *calls;
	size_t n_calls, cap_calls;
};

static double in_windows(const struct making *m, const uint64_t v[EXACT_IN])
{
	double clean = (double)v[EXACT_CLEAN];

	return m->o->windows == PROFILE_TYPICAL ? clean : clean + (double)v[EXACT_OTHER];
}

static int compare_parts(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;
	int r = fold_compare(&a->key, &b->key);

	if (!r)
		r = (a->inv > b->inv) - (a->inv < b->inv);
	if (!r)
		r = strcmp(a->symbol->name, b->symbol->name);
	return r ? r : (a->at > b->at) - (a->at < b->at);
}

static int take_invocations(struct making *m, const struct profile_set *s, struct error *e)
{
	unsigned *seen = arena_array(m->a, s->n + 1, sizeof(*seen)), n_seen = 0, k;
	size_t i;

	m->weight = arena_array(m->a, s->n + 1, sizeof(*m->weight));
	m->used = arena_array(m->a, s->n + 1, sizeof(*m->used));
	for (i = 0; i < s->n; i++) {
		const struct exact_profile *x = s->list[i];

		if (!(in_windows(m, x->ops) > 0)) {
			m->p->left_out++;
			continue;
		}
		m->used[m->n_used++] = x;
		m->p->ops += x->ops[EXACT_CLEAN];
		m->p->windows += x->windows[EXACT_CLEAN];
		if (m->o->windows == PROFILE_TOTAL) {
			m->p->ops += x->ops[EXACT_OTHER];
			m->p->windows += x->windows[EXACT_OTHER];
		}
		for (k = 0; s->perturb && k < n_seen && seen[k] != s->perturb[i]; k++)
			;
		if (!s->perturb || k == n_seen) {
			seen[n_seen++] = s->perturb ? s->perturb[i] : (unsigned)i;
			m->weight[m->n_used - 1] = 1;
		}
	}
	m->p->perturbations = n_seen;
	for (i = 0; i < m->n_used; i++)
		m->weight[i] /= n_seen;
	if (m->n_used)
		return 0;
	if (m->o->windows == PROFILE_TYPICAL && s->n)
		return error_set(e, ENODATA,
				 "no window is without an interrupt: --total shows all windows");
	return error_set(e, ENODATA, "there is no window");
}

static void sort_parts(struct making *m)
{
	struct fold_key *keys;
	size_t i, k, n = 0;

	for (i = 0; i < m->n_used; i++)
		n += m->used[i]->n;
	m->parts = arena_array(m->a, n + 1, sizeof(*m->parts));
	m->group = arena_array(m->a, m->n_used, sizeof(*m->group));
	m->counted = arena_array(m->a, m->n_used, sizeof(*m->counted));
	for (i = 0; i < m->n_used; i++) {
		const struct exact_profile *x = m->used[i];

		m->group[i] = arena_array(m->a, x->n + 1, sizeof(**m->group));
		m->counted[i] = arena_array(m->a, x->n + 1, sizeof(**m->counted));
		keys = mem_array(x->n + 1, sizeof(*keys));
		fold_keys(x, m->o, keys);
		for (k = 0; k < x->n; k++)
			m->parts[m->n_parts++] =
				(struct part){ keys[k], &x->symbols[k], (unsigned)i, (unsigned)k };
		mem_free_ptr(&keys);
	}
	qsort(m->parts, m->n_parts, sizeof(*m->parts), compare_parts);
}

/* Mean and range of one value an invocation. */
static void set_values(const struct making *m, const double *sums, struct profile_symbol *s)
{
	size_t i;

	s->least = INFINITY;
	s->most = -INFINITY;
	for (i = 0; i < m->n_used; i++) {
		double v = sums[i] / in_windows(m, m->used[i]->ops);

		s->instructions += v * m->weight[i];
		s->least = fmin(s->least, v);
		s->most = fmax(s->most, v);
	}
	/* Equal values have that very mean, however their sum was rounded. */
	if (s->least >= s->most)
		s->instructions = s->least;
}

/* One part; `same` are those before it of this name and invocation, itself included. */
static void add_part(struct making *m, const struct part *t, bool counts, unsigned same,
		     struct profile_symbol *s)
{
	double share = m->weight[t->inv] / in_windows(m, m->used[t->inv]->ops);

	s->rep_iterations += in_windows(m, t->symbol->rep_iterations) * share;
	if (!exact_symbol_has_calls(t->symbol))
		s->calls = NAN;
	else if (counts)
		s->calls += in_windows(m, t->symbol->calls) * share;
	if (t->symbol->addr < s->addr)
		s->addr = t->symbol->addr;
	if (same > s->alike)
		s->alike = same;
}

/* Parts first..last-1 are one symbol. `sums` and `total` have one value an invocation. */
static void add_symbol(struct making *m, size_t first, size_t last, double *sums, double *total)
{
	struct profile_symbol *s = &m->p->symbols[m->p->n];
	const struct fold_key *key = &m->parts[first].key;
	unsigned same = 0, here = 0, most = 0;
	bool head = false;
	double all = 0;
	size_t i;

	memset(sums, 0, m->n_used * sizeof(*sums));
	*s = (struct profile_symbol){ .name = arena_strndup(m->a, key->name, key->len),
				      .module = arena_strdup(m->a, key->module),
				      .addr = UINT64_MAX };
	for (i = first; i < last; i++)
		head |= m->parts[i].key.head;
	for (i = first; i < last; i++) {
		const struct part *t = &m->parts[i];
		bool inv = i > first && t[-1].inv == t->inv;

		here = inv ? here + 1 : 1;
		same = inv && !strcmp(t[-1].symbol->name, t->symbol->name) ? same + 1 : 1;
		most = here > most ? here : most;
		m->group[t->inv][t->at] = (unsigned)m->p->n;
		m->counted[t->inv][t->at] = t->key.head || !head;
		sums[t->inv] += in_windows(m, t->symbol->count);
		add_part(m, t, t->key.head || !head, same, s);
	}
	for (i = 0; i < m->n_used; i++) {
		total[i] += sums[i];
		all += sums[i];
	}
	if (!(all > 0) && !(s->calls > 0)) {
		/* It ran in other windows only. */
		for (i = first; i < last; i++)
			m->group[m->parts[i].inv][m->parts[i].at] = NONE;
		return;
	}
	set_values(m, sums, s);
	if (fold_is_address(s->name) || !strcmp(s->name, PROFILE_NO_SYMBOL)) {
		m->p->n_address += most;
		m->p->by_address += s->instructions;
	}
	m->p->n++;
}

static void add_symbols(struct making *m)
{
	double *sums = arena_array(m->a, m->n_used, sizeof(*sums));
	double *total = arena_array(m->a, m->n_used, sizeof(*total));
	size_t first, last;

	m->p->symbols = arena_array(m->a, m->n_parts + 1, sizeof(*m->p->symbols));
	for (first = 0; first < m->n_parts; first = last) {
		for (last = first + 1; last < m->n_parts; last++)
			if (fold_compare(&m->parts[first].key, &m->parts[last].key) != 0)
				break;
		add_symbol(m, first, last, sums, total);
	}
	m->p->total.name = "total";
	set_values(m, total, &m->p->total);
}

/* Direct calls between symbols; those within one are its own affair, but for plain recursion. */
static void take_calls(struct making *m)
{
	size_t i, k;

	for (i = 0; i < m->n_used; i++) {
		const struct exact_profile *x = m->used[i];
		double share = m->weight[i] / in_windows(m, x->ops);

		for (k = 0; k < x->n_edges; k++) {
			const struct exact_edge *g = &x->edges[k];
			unsigned from = m->group[i][g->from], to = m->group[i][g->to];
			double calls = in_windows(m, g->calls) * share;

			if (!(calls > 0) || from == NONE || to == NONE || !m->counted[i][g->to])
				continue;
			if (from == to && g->from != g->to) {
				/* What jumps back from .cold goes into the middle. */
				if (m->counted[i][g->from])
					m->p->symbols[to].calls -= calls;
				continue;
			}
			m->calls = mem_grow(m->calls, m->n_calls, &m->cap_calls, sizeof(*m->calls));
			m->calls[m->n_calls++] = (struct call){ from, to, calls };
		}
	}
}

static int compare_calls(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	if (a->to != b->to)
		return (a->to > b->to) - (a->to < b->to);
	return (a->from > b->from) - (a->from < b->from);
}

/* Symbols are in the order of their names: so are ties. */
static int compare_edges(const void *pa, const void *pb)
{
	const struct profile_edge *a = pa, *b = pb;

	if (a->to != b->to)
		return (a->to > b->to) - (a->to < b->to);
	if (a->calls < b->calls || a->calls > b->calls)
		return a->calls < b->calls ? 1 : -1;
	return (a->from > b->from) - (a->from < b->from);
}

static void add_edges(struct making *m)
{
	struct profile *p = m->p;
	size_t i;

	if (m->n_calls)
		qsort(m->calls, m->n_calls, sizeof(*m->calls), compare_calls);
	p->edges = arena_array(m->a, m->n_calls + 1, sizeof(*p->edges));
	for (i = 0; i < m->n_calls; i++) {
		const struct call *c = &m->calls[i];

		if (!i || compare_calls(c, c - 1) != 0)
			p->edges[p->n_edges++] = (struct profile_edge){ c->from, c->to, 0 };
		p->edges[p->n_edges - 1].calls += c->calls;
	}
	qsort(p->edges, p->n_edges, sizeof(*p->edges), compare_edges);
	for (i = p->n_edges; i > 0; i--) {
		struct profile_symbol *to = &p->symbols[p->edges[i - 1].to];

		to->first_edge = (unsigned)i - 1;
		to->n_edges++;
	}
}

/* What is left of a difference of sums of fractions. */
static double settled(double v)
{
	return fabs(v) < 1e-9 ? 0 : v;
}

int profile_make(const struct profile_set *s, const struct profile_options *o, struct arena *a,
		 struct profile *ret, struct error *e)
{
	struct making m = { .o = o, .a = a, .p = ret };
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = take_invocations(&m, s, e);
	if (r < 0)
		return r;
	sort_parts(&m);
	add_symbols(&m);
	take_calls(&m);
	add_edges(&m);
	for (i = 0; i < ret->n; i++)
		if (settled(ret->symbols[i].calls) <= 0)
			ret->symbols[i].calls = 0;
	mem_free_ptr(&m.calls);
	return 0;
}

int profile_symbol_compare(const struct profile_symbol *a, const struct profile_symbol *b)
{
	int r = strcmp(a->name, b->name);

	return r ? r : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

const struct profile_symbol *profile_find(const struct profile *p, const char *name,
					  const char *module)
{
	const struct profile_symbol *best = NULL;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct profile_symbol *s = &p->symbols[i];

		if (strcmp(s->name, name) != 0 || (module && !str_eq(module, s->module)))
			continue;
		if (!best || s->instructions > best->instructions)
			best = s;
	}
	return best;
}
