/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct halving {
	const struct bisect_history *h;
	unsigned char *word;	      /* enum bisect_word, 0: not seen */
	unsigned char *good, *before; /* ancestors of a good one, of the bad one; both inclusive */
	unsigned *weight;	      /* of suspects: how many are its ancestors or itself */
	unsigned *suspects;
	unsigned *mark, *stack; /* of the walk: the node that visited it last, plus 1 */
};

static void parents_of(const struct bisect_history *h, unsigned node, const unsigned **ret,
		       unsigned *ret_n, unsigned *single)
{
	if (h->first) {
		*ret = h->parents + h->first[node];
		*ret_n = h->first[node + 1] - h->first[node];
		return;
	}
	*single = node - 1;
	*ret = single;
	*ret_n = node > 0;
}

static int halving_begin(const struct bisect_history *h, void **ret_search, struct error *e)
{
	struct halving *s;
	unsigned i, k, n, single;
	const unsigned *p;

	*ret_search = NULL;
	if (!h->n)
		return error_set(e, EINVAL, "a history without kernels");
	for (i = 0; i < h->n; i++) {
		parents_of(h, i, &p, &n, &single);
		for (k = 0; k < n; k++)
			if (p[k] >= i)
				return error_set(e, EINVAL,
						 "node %u of the history comes before "
						 "its parent %u",
						 i, p[k]);
	}
	s = mem_alloc(sizeof(*s));
	s->h = h;
	s->word = mem_array(h->n, 1);
	s->good = mem_array(h->n, 1);
	s->before = mem_array(h->n, 1);
	s->weight = mem_array(h->n, sizeof(*s->weight));
	s->suspects = mem_array(h->n, sizeof(*s->suspects));
	s->mark = mem_array(h->n, sizeof(*s->mark));
	s->stack = mem_array(h->n, sizeof(*s->stack));
	*ret_search = s;
	return 0;
}

static void halving_end(void *search)
{
	struct halving *s = search;

	if (!s)
		return;
	free(s->word);
	free(s->good);
	free(s->before);
	free(s->weight);
	free(s->suspects);
	free(s->mark);
	free(s->stack);
	free(s);
}

static void halving_see(void *search, const struct bisect_seen *seen)
{
	struct halving *s = search;

	if (seen->node < s->h->n)
		s->word[seen->node] = (unsigned char)seen->word;
}

/* Hands a mark from children to parents: one pass, since these have lower numbers. */
static void spread(const struct halving *s, unsigned char *set)
{
	unsigned i, k, n, single;
	const unsigned *p;

	for (i = s->h->n; i-- > 0;) {
		if (!set[i])
			continue;
		parents_of(s->h, i, &p, &n, &single);
		for (k = 0; k < n; k++)
			set[p[k]] = 1;
	}
}

/* The suspects of the earliest bad one that no good one vouches for; 0: there is no such one. */
static unsigned find_suspects(struct halving *s)
{
	unsigned i, n = 0, bad;

	for (i = 0; i < s->h->n; i++)
		s->good[i] = s->word[i] == BISECT_GOOD;
	spread(s, s->good);
	for (bad = 0; bad < s->h->n; bad++)
		if (s->word[bad] == BISECT_BAD && !s->good[bad])
			break;
	if (bad == s->h->n)
		return 0;
	memset(s->before, 0, s->h->n);
	s->before[bad] = 1;
	spread(s, s->before);
	for (i = 0; i <= bad; i++)
		if (s->before[i] && !s->good[i])
			s->suspects[n++] = i;
	return n;
}

static bool is_suspect(const struct halving *s, unsigned node)
{
	return s->before[node] && !s->good[node];
}

static unsigned count_ancestors(struct halving *s, unsigned from)
{
	unsigned top = 0, count = 0, k, n, single;
	const unsigned *p;

	s->stack[top++] = from;
	s->mark[from] = from + 1;
	while (top) {
		unsigned at = s->stack[--top];

		count++;
		parents_of(s->h, at, &p, &n, &single);
		for (k = 0; k < n; k++) {
			if (!is_suspect(s, p[k]) || s->mark[p[k]] == from + 1)
				continue;
			s->mark[p[k]] = from + 1;
			s->stack[top++] = p[k];
		}
	}
	return count;
}

/* Only where lines meet are ancestors to be counted one by one. */
static void weigh(struct halving *s, unsigned n)
{
	unsigned i, k, n_parents, single;
	const unsigned *p;

	memset(s->mark, 0, s->h->n * sizeof(*s->mark));
	for (i = 0; i < n; i++) {
		unsigned at = s->suspects[i], inside = 0, last = 0;

		parents_of(s->h, at, &p, &n_parents, &single);
		for (k = 0; k < n_parents; k++) {
			if (is_suspect(s, p[k])) {
				inside++;
				last = p[k];
			}
		}
		s->weight[at] = !inside	      ? 1
				: inside == 1 ? s->weight[last] + 1
					      : count_ancestors(s, at);
	}
}

struct candidate {
	unsigned node, distance;
};

/* By the smaller of the halves, the most equal ones first. */
static int by_distance(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance > y->distance ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/*
 * How far down the list to go. Skipped ones that would have been asked before stand around it;
 * each beyond the first doubles the leap, and those that are leapt over count as well.
 */
static unsigned leap(const struct candidate *c, unsigned n_c, const struct candidate *skipped,
		     unsigned n_skipped)
{
	unsigned far = 0, i = 0, next;

	for (;;) {
		while (i < n_skipped && skipped[i].distance >= c[far].distance)
			i++;
		next = i < 2 ? 0 : i > 20 ? n_c : (1u << (i - 1)) - 1;
		if (next > n_c / 2)
			next = n_c / 2;
		if (next <= far)
			return far;
		far = next;
	}
}

/* Among n suspects, of which the last is bad; history->n: there is none that could be asked. */
static unsigned choose(const struct halving *s, unsigned n)
{
	CLEANUP_FREE struct candidate *all = mem_array(n, sizeof(*all));
	struct candidate *end = all + n;
	unsigned i, n_c = 0, n_skipped = 0;

	for (i = 0; i + 1 < n; i++) {
		unsigned at = s->suspects[i], w = s->weight[at];
		struct candidate c = { .node = at, .distance = w < n - w ? w : n - w };

		if (s->word[at] == BISECT_SKIP)
			end[-(int)++n_skipped] = c;
		else
			all[n_c++] = c;
	}
	if (!n_c)
		return s->h->n;
	qsort(all, n_c, sizeof(*all), by_distance);
	qsort(end - n_skipped, n_skipped, sizeof(*all), by_distance);
	return all[leap(all, n_c, end - n_skipped, n_skipped)].node;
}

static unsigned log2_up(unsigned n)
{
	unsigned r = 0;

	while (r < 31 && 1u << r < n)
		r++;
	return r;
}

static void halving_next(void *search, struct bisect_step *ret)
{
	struct halving *s = search;
	unsigned char *end = &s->word[s->h->n - 1];
	unsigned n = find_suspects(s);

	*ret = (struct bisect_step){ .what = BISECT_NOTHING, .suspects = s->suspects };
	if (!n && !*end) {
		/* What it will be if it is bad, as it should. */
		*end = BISECT_BAD;
		n = find_suspects(s);
		*end = 0;
		ret->what = BISECT_MEASURE;
		ret->node = s->h->n - 1;
		ret->left = 1 + log2_up(n);
		ret->n_suspects = n;
		return;
	}
	if (!n)
		return;
	ret->n_suspects = n;
	ret->node = s->suspects[n - 1];
	ret->left = log2_up(n);
	if (n == 1) {
		ret->what = BISECT_FOUND;
		return;
	}
	weigh(s, n);
	ret->node = choose(s, n);
	ret->what = BISECT_MEASURE;
	if (ret->node == s->h->n) {
		ret->what = BISECT_AMBIGUOUS;
		ret->node = s->suspects[n - 1];
		ret->left = 0;
	}
}

const struct bisect_policy bisect_halving = {
	.name = "halving",
	.begin = halving_begin,
	.see = halving_see,
	.next = halving_next,
	.end = halving_end,
};
