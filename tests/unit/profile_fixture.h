/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles made by hand: what a perturbation of a kernel executed, and datasets of them. */
#ifndef KDELTA_TESTS_PROFILE_FIXTURE_H
#define KDELTA_TESTS_PROFILE_FIXTURE_H

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "exact_fixture.h"
#include "profile/profile.h"

#define PF_SYMBOLS 64u
#define PF_OPS	   100u /* in clean windows: ten of 10 */
#define PF_OTHER   20u	/* in the others: two of 10 */

static inline struct exact_profile *pf_new(struct arena *a)
{
	struct exact_profile *p = arena_alloc(a, sizeof(*p));

	p->symbols = arena_array(a, PF_SYMBOLS, sizeof(*p->symbols));
	p->edges = arena_array(a, PF_SYMBOLS, sizeof(*p->edges));
	p->ops[EXACT_CLEAN] = PF_OPS;
	p->ops[EXACT_OTHER] = PF_OTHER;
	p->windows[EXACT_CLEAN] = 10;
	p->windows[EXACT_OTHER] = 2;
	return p;
}

/* `count` and `calls` of the clean windows; the others have the same an operation. By address. */
static inline unsigned pf_add(struct exact_profile *p, const char *name, uint64_t addr,
			      uint64_t count, uint64_t calls)
{
	struct exact_symbol *s = &p->symbols[p->n];

	*s = (struct exact_symbol){ .name = name, .addr = addr };
	s->count[EXACT_CLEAN] = count;
	s->count[EXACT_OTHER] = count * PF_OTHER / PF_OPS;
	s->calls[EXACT_CLEAN] = calls;
	s->calls[EXACT_OTHER] = calls * PF_OTHER / PF_OPS;
	return (unsigned)p->n++;
}

static inline void pf_edge(struct exact_profile *p, unsigned from, unsigned to, uint64_t calls)
{
	struct exact_edge *g = &p->edges[p->n_edges++];

	*g = (struct exact_edge){ .from = from, .to = to };
	g->calls[EXACT_CLEAN] = calls;
	g->calls[EXACT_OTHER] = calls * PF_OTHER / PF_OPS;
}

/* The windows that such a profile is the sum of. */
static inline struct exact_windows *pf_windows(struct arena *a, const struct exact_profile *p)
{
	uint64_t sum[EXACT_IN] = { 0 }, user[EXACT_IN] = { 0 };
	struct exact_windows *w = arena_alloc(a, sizeof(*w));
	size_t i;
	int in;

	w->list = arena_array(a, 13, sizeof(*w->list));
	w->contexts = true;
	for (i = 0; i < p->n; i++)
		for (in = 0; in < EXACT_IN; in++) {
			sum[in] += p->symbols[i].count[in];
			if (!p->symbols[i].addr)
				user[in] += p->symbols[i].count[in];
		}
	for (i = 0; i < 12; i++) {
		struct exact_window *x = &w->list[w->n++];
		uint64_t n = i < 10 ? 10 : 2, part;

		in = i < 10 ? EXACT_CLEAN : EXACT_OTHER;
		/* The first of a kind has what does not divide. */
		part = sum[in] / n + (i == 0 || i == 10 ? sum[in] % n : 0);
		x->ops = 10;
		x->user = user[in] / n + (i == 0 || i == 10 ? user[in] % n : 0);
		x->kernel = part - x->user;
		x->task = part;
		x->interrupts = in == EXACT_OTHER;
	}
	/* Of an overhead batch: in no total. */
	w->list[w->n++] = (struct exact_window){
		.overhead = true, .ops = 10, .task = 77, .kernel = 70, .user = 7
	};
	return w;
}

static inline struct profile_set pf_set(struct arena *a, struct exact_profile *const *list,
					size_t n)
{
	const struct exact_profile **copy = arena_array(a, n + 1, sizeof(*copy));
	size_t i;

	for (i = 0; i < n; i++)
		copy[i] = list[i];
	return (struct profile_set){ .list = copy, .n = n };
}

static inline const struct profile_delta *pf_row(const struct profile_diff *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->n; i++)
		if (!strcmp(d->rows[i].name, name))
			return &d->rows[i];
	return NULL;
}

#endif
