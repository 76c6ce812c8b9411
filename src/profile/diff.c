/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile/internal.h"

/* A cause that makes up less of the difference is not named. */
#define CAUSE_LEAST 0.1
/* Less than this is what sums of fractions leave, not a difference. */
#define ROUNDING 1e-9

static double above(double v, double scale)
{
	return fabs(v) > ROUNDING * fmax(1, fabs(scale)) ? v : 0;
}

/*
 * calls * instructions per call, on both sides: the difference is the sum of what the change of
 * either factor makes of it with the other at its middle.
 */
static unsigned causes(const struct profile_symbol *a, const struct profile_symbol *b, double diff)
{
	double calls, longer, ia, ib, least = CAUSE_LEAST * fabs(diff);
	unsigned why = 0;

	if (!(a->calls > 0) || !(b->calls > 0))
		return 0;
	ia = a->instructions / a->calls;
	ib = b->instructions / b->calls;
	calls = above(b->calls - a->calls, a->calls) * (ia + ib) / 2;
	longer = above(ib - ia, ia) * (a->calls + b->calls) / 2;
	if (fabs(calls) >= least && calls != 0)
		why |= calls > 0 ? PROFILE_CALLED_MORE : PROFILE_CALLED_LESS;
	if (fabs(longer) >= least && longer != 0)
		why |= longer > 0 ? PROFILE_LONGER : PROFILE_SHORTER;
	return why;
}

static enum profile_mark mark_of(const struct profile_symbol *a, const struct profile_symbol *b,
				 bool judged)
{
	double scale = fmax(a->most, b->most);

	if (above(a->least - b->least, scale) == 0 && above(a->most - b->most, scale) == 0 &&
	    above(a->instructions - b->instructions, scale) == 0)
		return PROFILE_SAME;
	if (!judged)
		return PROFILE_UNJUDGED;
	if (above(b->least - a->most, scale) > 0)
		return PROFILE_MORE;
	if (above(a->least - b->most, scale) > 0)
		return PROFILE_FEWER;
	return PROFILE_WITHIN;
}

static struct profile_delta delta_of(const struct profile_symbol *a, const struct profile_symbol *b,
				     bool judged)
{
	static const struct profile_symbol none;
	struct profile_delta d = { .base = a, .new = b, .twin = -1 };

	d.name = a ? a->name : b->name;
	d.module = a ? a->module : b->module;
	if (profile_is_spin(d.name))
		d.why |= PROFILE_SPIN;
	if (!a)
		d.why |= PROFILE_ONLY_NEW;
	if (!b)
		d.why |= PROFILE_ONLY_BASE;
	a = a ? a : &none;
	b = b ? b : &none;
	d.diff = above(b->instructions - a->instructions, a->instructions);
	d.mark = mark_of(a, b, judged);
	if (d.mark != PROFILE_SAME)
		d.why |= causes(a, b, d.diff);
	return d;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct profile_delta *a = pa, *b = pb;
	int r;

	if (a->diff < b->diff || a->diff > b->diff)
		return a->diff < b->diff ? 1 : -1;
	r = strcmp(a->name, b->name);
	return r ? r : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

/* Of one row whose two sets are in random order: 2 / C(n + m, n). */
static double chance_of(unsigned n, unsigned m)
{
	double c = 2;
	unsigned i;

	for (i = 1; i <= n; i++)
		c *= (double)i / (double)(m + i);
	return c;
}

static bool mostly_addresses(const struct profile *p)
{
	const struct profile_symbol *user = profile_find(p, "[user]", NULL);
	double kernel = p->total.instructions - (user ? user->instructions : 0);

	return p->by_address > kernel / 2;
}

void profile_diff_make(const struct profile *base, const struct profile *new,
		       const struct profile_options *o, struct arena *a, struct profile_diff *ret)
{
	size_t i = 0, k = 0;

	memset(ret, 0, sizeof(*ret));
	ret->base = base;
	ret->new = new;
	ret->judged = !o->no_marks && base->perturbations >= EXACT_PERTURB_MIN &&
		      new->perturbations >= EXACT_PERTURB_MIN;
	ret->chance =
		ret->judged ? chance_of(base->perturbations, new->perturbations) : (double)NAN;
	ret->total = delta_of(&base->total, &new->total, ret->judged);
	ret->total.why = 0;
	ret->rows = arena_array(a, base->n + new->n + 1, sizeof(*ret->rows));
	ret->unranked = !o->addresses && (mostly_addresses(base) || mostly_addresses(new));
	while (!ret->unranked && (i < base->n || k < new->n)) {
		const struct profile_symbol *x = i < base->n ? &base->symbols[i] : NULL;
		const struct profile_symbol *y = k < new->n ? &new->symbols[k] : NULL;
		int r = !x ? 1 : !y ? -1 : profile_symbol_compare(x, y);

		ret->rows[ret->n++] = delta_of(r <= 0 ? x : NULL, r >= 0 ? y : NULL, ret->judged);
		i += r <= 0;
		k += r >= 0;
	}
	qsort(ret->rows, ret->n, sizeof(*ret->rows), compare_rows);
	profile_pair_renames(ret, a);
}

/* Real ones first, then by how much. */
static int compare_top(const void *pa, const void *pb)
{
	const struct profile_delta *a = pa, *b = pb;
	bool ra = a->mark >= PROFILE_MORE, rb = b->mark >= PROFILE_MORE;

	if (ra != rb)
		return ra ? -1 : 1;
	if (fabs(a->diff) < fabs(b->diff) || fabs(a->diff) > fabs(b->diff))
		return fabs(a->diff) < fabs(b->diff) ? 1 : -1;
	return compare_rows(pa, pb);
}

unsigned profile_top(const struct exact_profile *const *base, size_t nb,
		     const struct exact_profile *const *new, size_t nn,
		     enum profile_windows windows, struct arena *a, struct profile_delta ret[],
		     unsigned max)
{
	const struct profile_options o = { .windows = windows };
	struct profile_set sets[2] = { { base, NULL, nb }, { new, NULL, nn } };
	struct profile *p = arena_array(a, 2, sizeof(*p));
	struct profile_delta *rows;
	struct profile_diff d;
	unsigned n = 0;
	size_t i;

	for (i = 0; i < 2; i++)
		if (profile_make(&sets[i], &o, a, &p[i], NULL) < 0)
			return 0;
	profile_diff_make(&p[0], &p[1], &o, a, &d);
	rows = arena_array(a, d.n + 1, sizeof(*rows));
	if (d.n)
		memcpy(rows, d.rows, d.n * sizeof(*rows));
	qsort(rows, d.n, sizeof(*rows), compare_top);
	for (i = 0; i < d.n && n < max; i++)
		if (rows[i].mark != PROFILE_SAME) {
			ret[n] = rows[i];
			ret[n].twin = -1;
			ret[n++].twin_why = NULL;
		}
	return n;
}

void profile_why_text(unsigned why, char *buf, size_t size)
{
	static const struct {
		unsigned bit;
		const char *text;
	} words[] = {
		{ PROFILE_ONLY_BASE, "only in base" },
		{ PROFILE_ONLY_NEW, "only in new" },
		{ PROFILE_CALLED_MORE, "called more often" },
		{ PROFILE_CALLED_LESS, "called less often" },
		{ PROFILE_LONGER, "longer per call" },
		{ PROFILE_SHORTER, "shorter per call" },
	};
	struct str b = STR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (why & words[i].bit)
			str_printf(&b, "%s%s", b.len ? ", " : "", words[i].text);
	if (size) {
		strncpy(buf, str_get(&b), size - 1);
		buf[size - 1] = '\0';
	}
	str_done(&b);
}
