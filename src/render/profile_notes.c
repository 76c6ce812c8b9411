/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/profile_notes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void profile_coverage(const struct profile_report *r, const struct profile_table *t,
		      struct str *out)
{
	const struct profile *a = t->diff ? t->diff->base : t->profile;
	const struct profile *b = t->diff ? t->diff->new : NULL;

	str_add(out, profile_windows_text(r->windows, t->point->cpus));
	if (b)
		str_printf(out, "; %u and %u perturbations, %llu and %llu windows",
			   a->perturbations, b->perturbations, (unsigned long long)a->windows,
			   (unsigned long long)b->windows);
	else if (a)
		str_printf(out, "; %u perturbation%s, %llu window%s", a->perturbations,
			   a->perturbations == 1 ? "" : "s", (unsigned long long)a->windows,
			   a->windows == 1 ? "" : "s");
}

static void cut_note(struct notes *n, const struct profile_cut *c, bool sign, const char *what)
{
	char sum[24];

	if (!c->rows)
		return;
	profile_number(c->sum, 1, sign, sum);
	notes_add(n, "%zu symbol%s %s: %s in all.", c->rows, c->rows == 1 ? "" : "s", what, sum);
}

static void cut_notes(const struct profile_table *t, const struct profile_show *s,
		      const struct profile_rows *rows, struct notes *n)
{
	bool sign = t->diff != NULL;
	char what[64];

	if (rows->same.rows)
		notes_add(n, "%zu symbol%s the same.", rows->same.rows,
			  rows->same.rows == 1 ? "" : "s");
	cut_note(n, &rows->within, sign, "within perturbation (--all shows them)");
	snprintf(what, sizeof(what), "under %.10g (--min)", s->min);
	cut_note(n, &rows->under, sign, what);
	cut_note(n, &rows->beyond, sign, "more (--top)");
}

static void rename_notes(const struct profile_diff *d, struct notes *n)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct profile_delta *r = &d->rows[i], *to;
		struct str b = STR_INIT;
		char sum[24];

		if (r->twin < 0 || !r->base)
			continue;
		to = &d->rows[r->twin];
		str_add(&b, "Likely renamed, yet counted apart: ");
		profile_name(r->name, r->module, &b);
		str_add(&b, " to ");
		profile_name(to->name, to->module, &b);
		profile_number(r->diff + to->diff, 1, true, sum);
		str_printf(&b, " (%s); together %s.", r->twin_why, sum);
		notes_take(n, &b);
	}
}

static void address_note(const char *who, const struct profile *p, struct notes *n)
{
	char v[24];

	if (!p->n_address)
		return;
	profile_number(p->by_address, 1, false, v);
	notes_add(n, "%s%s%u piece%s of code without a symbol: %s instructions.", who,
		  *who ? ": " : "", p->n_address, p->n_address == 1 ? "" : "s", v);
}

static void left_out_note(const char *who, const struct profile *p, struct notes *n)
{
	if (p->left_out)
		notes_add(n, "%s%s%u perturbation%s without such a window left out.", who,
			  *who ? ": " : "", p->left_out, p->left_out == 1 ? "" : "s");
}

static bool has_regimes(const struct compare_value *v)
{
	return v && v->exact && v->exact->modes > 1;
}

const char *profile_unjudged_text(const struct profile_table *t)
{
	if (t->point->cpus > 1)
		return "Several CPUs: code paths only, no difference is called real.";
	if (has_regimes(t->base_value) || has_regimes(t->new_value))
		return "Regimes: no difference is called real.";
	return "Too few perturbations (8 a kernel are enough): no difference is called real.";
}

static void regimes_note(const char *who, const struct compare_value *v, struct notes *n)
{
	struct str b = STR_INIT;

	if (!has_regimes(v))
		return;
	cell_exact_modes(v, &b);
	notes_add(n, "%s%s%s: the profile is their mean.", who, *who ? " has " : "", str_get(&b));
	str_done(&b);
}

void profile_notes(const struct profile_table *t, const struct profile_show *s,
		   const struct profile_rows *rows, struct notes *n)
{
	const struct profile_diff *d = t->diff;

	cut_notes(t, s, rows, n);
	if (!d) {
		regimes_note("", t->base_value, n);
		left_out_note("", t->profile, n);
		address_note("", t->profile, n);
		return;
	}
	rename_notes(d, n);
	regimes_note("A", t->base_value, n);
	regimes_note("B", t->new_value, n);

	left_out_note("A", d->base, n);
	left_out_note("B", d->new, n);
	if (!d->judged)
		notes_add(n, "%s", profile_unjudged_text(t));
	address_note("A", d->base, n);
	address_note("B", d->new, n);
	if (d->unranked)
		notes_add(n, "Most of a kernel's code has no symbols: addresses of two kernels "
			     "pair nothing. `kdelta profile LABEL` lists one kernel by address.");
}

void profile_legend(const struct profile_report *r, const struct profile_show *s, struct str *out)
{
	struct notes n = NOTES_INIT;
	struct str b = STR_INIT;
	bool pair = false, one = false;
	double chance = 0;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct profile_table *t = &r->tables[i];

		pair |= t->diff != NULL;
		one |= t->profile != NULL;
		if (t->diff && t->diff->judged)
			chance = fmax(chance, t->diff->chance);
	}
	if (!pair && !one)
		return;
	if (s->callers) {
		str_add(&b, PROFILE_POINTER ": not by a direct call: through a pointer, by an "
					    "interrupt, a system call, or falling into it.");
	} else if (chance > 0) {
		str_printf(&b,
			   "more, fewer: real: every perturbation of B is above (below) every one "
			   "of A; chance alone makes that of one symbol in %.0f. calls: per "
			   "operation.",
			   1 / chance);
	} else {
		str_add(&b, "calls: per operation.");
	}
	notes_take(&n, &b);
	notes_add(&n, "Scope: instructions, not time: caches, TLBs, contention and NUMA are not "
		      "seen.");
	str_add_c(out, '\n');
	text_notes(out, NULL, &n, s->width);
	notes_done(&n);
}
