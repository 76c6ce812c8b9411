/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands below the tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/internal.h"

void notes_unmatched(const struct comparison *c, unsigned most, struct notes *ret)
{
	size_t i, hidden = 0;
	unsigned k, n;

	for (i = 0; i < c->n_unmatched; i++) {
		const struct compare_unmatched *u = &c->unmatched[i];
		const struct compare_row *r = &c->rows[u->row];
		struct str b = STR_INIT;

		if (u->mirrored)
			continue;
		if (most && ret->n >= most) {
			hidden++;
			continue;
		}
		str_add(&b, "only in ");
		for (k = 0, n = 0; k < c->n_kernels; k++)
			if (r->values[k].boots)
				str_printf(&b, "%s%s", n++ ? ", " : "", c->kernels[k].label);
		str_add(&b, ": ");
		table_row_name(r, &b);
		if (u->other_row >= 0)
			str_printf(&b, " (%s)", u->why);
		else
			str_printf(&b, " (%s: %s)", c->kernels[u->kernel].label, u->why);
		notes_take(ret, &b);
	}
	if (hidden)
		notes_add(ret, "and %zu more", hidden);
}

static void add_point(struct str *b, const char *workload, const char *params)
{
	str_add(b, workload ? workload : "boots");
	if (workload && params && *params)
		str_printf(b, ":%s", params);
}

void notes_failures(const struct comparison *c, unsigned most, bool skips, struct notes *ret)
{
	struct str p = STR_INIT;
	size_t i, hidden = 0;

	for (i = 0; i < c->n_failures; i++) {
		const struct compare_failure *f = &c->failures[i];
		struct str b = STR_INIT;

		if (f->skip != skips)
			continue;
		if (most && ret->n >= most) {
			hidden++;
			continue;
		}
		str_printf(&b, "%s, ", c->kernels[f->kernel].label);
		add_point(&b, f->workload, f->params);
		str_printf(&b, ", %u of %u: %s", f->count, f->total, f->reason);
		notes_take(ret, &b);
	}
	if (hidden)
		notes_add(ret, "and %zu more", hidden);
	for (i = 0; i < c->n_fisher && !skips; i++) {
		const struct compare_fisher *f = &c->fisher[i];
		struct str b = STR_INIT;

		add_point(&b, f->workload, f->params);
		cell_p(f->p, &p);
		str_printf(&b,
			   ": failed %u of %u in %s, %u of %u in %s: p = %s (Fisher's exact test)",
			   f->base_failed, f->base_failed + f->base_good, c->kernels[f->base].label,
			   f->new_failed, f->new_failed + f->new_good, c->kernels[f->new].label,
			   str_get(&p));
		notes_take(ret, &b);
	}
	str_done(&p);
}

static void add_beyond(struct str *b, unsigned n, const char *margin)
{
	if (n)
		str_printf(b, " (%u by more than %s)", n, margin);
}

/* A number of differences that is not whole, and may be small. */
static const char *expected(double n, char buf[16])
{
	snprintf(buf, 16, n < 1 ? "%.2f" : "%.1f", n);
	return buf;
}

static void add_tests(const struct comparison *c, struct notes *ret)
{
	const struct compare_summary *s = &c->summary;
	unsigned others = s->tested - s->tested_headline;
	struct str b = STR_INIT;
	char chance[16];

	if (!s->tested)
		return;
	str_printf(&b,
		   "Chance: of %u test%s at 5 %%, chance alone would have shown %s differences; "
		   "%u seen.",
		   s->tested, s->tested == 1 ? "" : "s", expected(s->chance, chance), s->p_below);
	str_add(&b, " Verdicts are corrected for it:");
	if (s->tested_headline)
		str_printf(&b, " Holm on %u headline%s", s->tested_headline,
			   s->tested_headline == 1 ? "" : "s");
	if (others)
		str_printf(&b, "%s Benjamini-Hochberg on %u %s%s", s->tested_headline ? "," : "",
			   others, s->tested_headline ? "other" : "result", others == 1 ? "" : "s");
	str_add_c(&b, '.');
	notes_take(ret, &b);
}

void notes_summary(const struct comparison *c, struct notes *ret)
{
	const struct compare_summary *s = &c->summary;
	unsigned words = s->worse + s->better + s->no_change + s->cant_tell;
	struct str b = STR_INIT;
	char margin[16], chance[16];

	margin_text(c->margin, margin);
	exact_summary(c, ret);
	/* Where all is exact, that was it. */
	if (!words && !s->none && has_exact(c)) {
		if (s->unmatched)
			notes_add(ret, "%u result%s not compared.", s->unmatched,
				  s->unmatched == 1 ? "" : "s");
		return;
	}
	if (words) {
		str_printf(&b, "Summary: %u worse", s->worse);
		add_beyond(&b, s->worse_beyond, margin);
		str_printf(&b, ", %u better", s->better);
		add_beyond(&b, s->better_beyond, margin);
		str_printf(&b, ", %u no change, %u can't tell", s->no_change, s->cant_tell);
		if (s->none)
			str_printf(&b, "; %u without a verdict", s->none);
		if (s->confounded)
			str_printf(&b, "; %u of the verdicts confounded", s->confounded);
	} else {
		str_printf(&b, "Summary: no verdict on %u result%s", s->none,
			   s->none == 1 ? "" : "s");
	}
	if (s->unmatched)
		str_printf(&b, "; %u not compared", s->unmatched);
	str_add_c(&b, '.');
	notes_take(ret, &b);
	if (s->none_tested)
		notes_add(ret,
			  "Without a verdict: %u of %u intervals exclude no difference; by chance "
			  "alone %s would.",
			  s->none_outside, s->none_tested, expected(0.05 * s->none_tested, chance));
	add_tests(c, ret);
}
