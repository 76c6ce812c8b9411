/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/rename.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/symbol.h"

#define WORDS_MAX 24u
#define SMALL	  4u /* letters: a word that is shared must have more */

struct word {
	const char *s;
	size_t len;
};

struct candidate {
	const struct rename_symbol *sym;
	const char *core; /* without underscores, "do_" and suffixes */
	size_t folded_len, core_len;
	struct word words[WORDS_MAX]; /* of the core */
	size_t n_words, letters;
	bool cold; /* a part that is hardly ever run pairs with such a part only */
	bool paired;
};

/* Words that say nothing about which function it is. */
static bool is_filler(const char *s, size_t len)
{
	static const char *const fillers[] = { "do", "x64", "ia32", "sys", "se", "kern" };

	for (size_t i = 0; i < ARRAY_SIZE(fillers); i++)
		if (strlen(fillers[i]) == len && !memcmp(s, fillers[i], len))
			return true;
	return false;
}

static void split(struct candidate *c)
{
	const char *p = c->core, *end = c->core + c->core_len;

	while (p < end && c->n_words < WORDS_MAX) {
		size_t n = 0;

		while (p + n < end && isalnum((unsigned char)p[n]))
			n++;
		if (n && !is_filler(p, n)) {
			/* "softirqs" and "softirq" are one word, "class" is none of two. */
			size_t stem = n > SMALL && p[n - 1] == 's' && p[n - 2] != 's' ? n - 1 : n;

			c->words[c->n_words++] = (struct word){ p, stem };
			c->letters += stem;
		}
		p += n + 1;
	}
}

static struct candidate *prepare(const struct rename_symbol *list, size_t n)
{
	struct candidate *made = mem_array(n + 1, sizeof(*made));

	for (size_t i = 0; i < n; i++) {
		struct candidate *c = &made[i];

		c->sym = &list[i];
		c->folded_len = symbol_fold_len(list[i].name);
		c->cold = strstr(list[i].name + c->folded_len, ".cold");
		c->core = list[i].name;
		c->core_len = c->folded_len;
		while (c->core_len && *c->core == '_') {
			c->core++;
			c->core_len--;
		}
		if (c->core_len > 3 && !memcmp(c->core, "do_", 3)) {
			c->core += 3;
			c->core_len -= 3;
		}
		while (c->core_len && c->core[c->core_len - 1] == '_')
			c->core_len--;
		split(c);
	}
	return made;
}

/* ---- the rules: how well two fit, 0: not ---- */

static double same_folded(const struct candidate *a, const struct candidate *b)
{
	return a->folded_len == b->folded_len && !memcmp(a->sym->name, b->sym->name, a->folded_len);
}

static double same_core(const struct candidate *a, const struct candidate *b)
{
	return a->core_len && a->core_len == b->core_len && !memcmp(a->core, b->core, a->core_len);
}

/* Unknown ones do not agree. */
static bool calls_agree(double a, double b)
{
	return a > 0 && b > 0 && fabs(a - b) <= RENAME_CALLS * fmax(a, b);
}

static bool weights_agree(double a, double b)
{
	return !(a > 0 && b > 0) || (a <= b * RENAME_WEIGHT && b <= a * RENAME_WEIGHT);
}

static double alike(const struct candidate *a, const struct candidate *b)
{
	bool used[WORDS_MAX] = { false }, telling = false;
	size_t shared = 0;
	double share;

	if (!calls_agree(a->sym->calls, b->sym->calls) ||
	    !weights_agree(a->sym->weight, b->sym->weight))
		return 0;
	for (size_t i = 0; i < a->n_words; i++) {
		const struct word *w = &a->words[i];

		for (size_t j = 0; j < b->n_words; j++) {
			if (used[j] || b->words[j].len != w->len ||
			    memcmp(b->words[j].s, w->s, w->len))
				continue;
			used[j] = true;
			shared += w->len;
			telling |= w->len > SMALL;
			break;
		}
	}
	if (!telling)
		return 0;
	share = 2 * (double)shared / (double)(a->letters + b->letters);
	return share >= RENAME_ALIKE ? share : 0;
}

static const struct rule {
	const char *why;
	double (*fit)(const struct candidate *a, const struct candidate *b);
} rules[] = {
	{ "suffix", same_folded },
	{ "underscore", same_core },
	{ "similar name, same calls", alike },
};

/* The only one that fits best; n if none fits, or two as well. */
static size_t best(const struct rule *rule, const struct candidate *c, const struct candidate *list,
		   size_t n)
{
	double most = 0;
	size_t found = n;

	for (size_t i = 0; i < n; i++) {
		bool open = !list[i].paired && list[i].cold == c->cold;
		double fit = open ? rule->fit(c, &list[i]) : 0;

		if (fit > 0 && fit >= most) {
			found = fit > most ? i : n;
			most = fit;
		}
	}
	return found;
}

static int by_a(const void *x, const void *y)
{
	const struct rename_pair *p = x, *q = y;

	return p->a < q->a ? -1 : p->a > q->a;
}

size_t rename_pairs(const struct rename_symbol *a, size_t n_a, const struct rename_symbol *b,
		    size_t n_b, struct rename_pair *ret)
{
	CLEANUP_FREE struct candidate *left = prepare(a, n_a), *right = prepare(b, n_b);
	size_t n = 0;

	for (size_t r = 0; r < ARRAY_SIZE(rules); r++) {
		size_t from = n;

		/* All of a rule are found before one is taken: the lists' order decides nothing. */
		for (size_t i = 0; i < n_a; i++) {
			size_t j = left[i].paired ? n_b : best(&rules[r], &left[i], right, n_b);

			if (j < n_b && best(&rules[r], &right[j], left, n_a) == i)
				ret[n++] = (struct rename_pair){ i, j, rules[r].why };
		}
		for (size_t i = from; i < n; i++)
			left[ret[i].a].paired = right[ret[i].b].paired = true;
	}
	qsort(ret, n, sizeof(*ret), by_a);
	return n;
}
