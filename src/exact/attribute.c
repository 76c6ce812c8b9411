/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct maker {
	const struct symbols *symbols;
	struct arena *a;
	struct exact_profile *p;
	const struct symbol *last; /* most counts lie where the one before lay */
	uint64_t known_to;	   /* the end of the last symbol that executed */
	unsigned *where;	   /* each count's symbol in the profile; UINT_MAX: none */
};

static const struct symbol *symbol_at(struct maker *m, uint64_t addr)
{
	if (!m->symbols)
		return NULL;
	if (!m->last || addr < m->last->addr || addr >= m->last->end)
		m->last = symbols_at(m->symbols, addr);
	return m->last;
}

/* The profile's symbol for an address; addresses come in ascending order. */
static struct exact_symbol *entry_of(struct maker *m, uint64_t addr)
{
	const struct symbol *y = addr ? symbol_at(m, addr) : NULL;
	struct exact_symbol *s = m->p->n ? &m->p->symbols[m->p->n - 1] : NULL;
	uint64_t start = addr - addr % EXACT_UNKNOWN_BYTES;

	if (y) {
		start = y->addr;
		m->known_to = y->end;
	} else if (start < m->known_to) {
		/* A piece that begins inside of a symbol begins behind it. */
		start = m->known_to;
	}
	if (s && s->addr == start)
		return s;
	s = &m->p->symbols[m->p->n++];
	s->addr = start;
	if (y) {
		s->name = arena_strdup(m->a, y->name);
		s->module = arena_strdup(m->a, y->module);
	} else if (addr) {
		s->name = arena_printf(m->a, "0x%016" PRIx64, start);
	} else {
		s->name = EXACT_USER_NAME;
	}
	return s;
}

static void add_count(struct maker *m, const struct exact_counts *c, size_t i)
{
	const struct exact_count *x = &c->list[i];
	struct exact_symbol *s;
	int in;

	m->where[i] = UINT_MAX;
	if (!x->count[0] && !x->count[1] && !x->rep_iterations[0] && !x->rep_iterations[1])
		return;
	s = entry_of(m, x->addr);
	m->where[i] = (unsigned)(s - m->p->symbols);
	for (in = 0; in < EXACT_IN; in++) {
		s->count[in] += x->count[in];
		s->rep_iterations[in] += x->rep_iterations[in];
		if (x->addr == s->addr && exact_symbol_has_calls(s))
			s->calls[in] += x->count[in];
	}
}

static int by_addr(const void *key, const void *element)
{
	const uint64_t *a = key;
	const struct exact_count *c = element;

	return *a < c->addr ? -1 : *a > c->addr;
}

static int by_ends(const void *a, const void *b)
{
	const struct exact_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The edge that a count makes, if it makes one. */
static bool edge_of(const struct maker *m, const struct exact_counts *c, size_t i,
		    struct exact_edge *ret)
{
	const struct exact_count *x = &c->list[i], *to;
	const struct exact_symbol *s;
	int in;

	if (!x->target || m->where[i] == UINT_MAX || !c->n)
		return false;
	to = bsearch(&x->target, c->list, c->n, sizeof(*to), by_addr);
	if (!to || m->where[to - c->list] == UINT_MAX)
		return false;
	*ret = (struct exact_edge){ .from = m->where[i], .to = m->where[to - c->list] };
	s = &m->p->symbols[ret->to];
	if (!exact_symbol_has_calls(s) || (ret->from == ret->to && x->target != s->addr))
		return false;
	/* What begins to jump may be interrupted, or fault, and begin again. */
	for (in = 0; in < EXACT_IN; in++)
		ret->calls[in] = x->count[in] < to->count[in] ? x->count[in] : to->count[in];
	return ret->calls[EXACT_CLEAN] || ret->calls[EXACT_OTHER];
}

static void make_edges(struct maker *m, const struct exact_counts *c)
{
	struct exact_profile *p = m->p;
	size_t room = 0, n = 0, i;
	struct exact_edge *x;

	for (i = 0; i < c->n; i++)
		room += c->list[i].target != 0;
	p->edges = x = arena_array(m->a, room, sizeof(*x));
	for (i = 0; i < c->n; i++)
		n += edge_of(m, c, i, &x[n]);
	if (n)
		qsort(x, n, sizeof(*x), by_ends);
	for (i = 0; i < n; i++) {
		struct exact_edge *last = p->n_edges ? &x[p->n_edges - 1] : NULL;

		if (!last || by_ends(last, &x[i]) != 0) {
			x[p->n_edges++] = x[i];
			continue;
		}
		last->calls[EXACT_CLEAN] += x[i].calls[EXACT_CLEAN];
		last->calls[EXACT_OTHER] += x[i].calls[EXACT_OTHER];
	}
}

int exact_profile_make(const struct exact_counts *c, const struct symbols *s, struct arena *a,
		       struct exact_profile *ret, struct error *e)
{
	CLEANUP_FREE unsigned *where = mem_array(c->n + 1, sizeof(*where));
	struct maker m = { .symbols = s, .a = a, .p = ret, .where = where };
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (c->n >= UINT_MAX)
		return error_set(e, EFBIG, "counts of %zu addresses", c->n);
	for (i = 0; i < c->windows.n; i++) {
		const struct exact_window *w = &c->windows.list[i];
		enum exact_in in = exact_window_clean(w) ? EXACT_CLEAN : EXACT_OTHER;

		if (w->overhead)
			continue;
		ret->ops[in] += w->ops;
		ret->windows[in]++;
	}
	ret->symbols = arena_array(a, c->n, sizeof(*ret->symbols));
	for (i = 0; i < c->n; i++)
		add_count(&m, c, i);
	make_edges(&m, c);
	return 0;
}
