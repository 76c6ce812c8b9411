/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forms in which profiles were posted in 2003: diffprofile's (a difference and a symbol, the
 * total among them) and oprofpp's (address, ticks, percent, symbol), and lines for flame graphs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "render/profile_notes.h"

#define CLASSIC_MIN 1.0 /* what is under it is 0 when rounded */

static void add_safe(struct str *out, const char *s)
{
	render_safe(out, s);
}

static void add_symbol(struct str *out, const char *name, const char *module)
{
	struct str b = STR_INIT;

	profile_symbol_name(name, module, &b);
	add_safe(out, str_get(&b));
	str_done(&b);
}

static void add_cut(struct str *b, const struct profile_cut *c, bool sign, const char *what)
{
	char sum[24];

	if (!c->rows)
		return;
	profile_number(c->sum, 1, sign, sum);
	str_printf(b, " Left out: %zu row%s %s (%s in all).", c->rows, c->rows == 1 ? "" : "s",
		   what, sum);
}

static void preface(const struct profile_report *r, const struct profile_table *t,
		    const struct profile_show *s, const struct profile_rows *rows, struct str *out)
{
	const struct profile *p = t->diff ? t->diff->base : t->profile;
	struct str b = STR_INIT, safe = STR_INIT;
	bool sign = t->diff != NULL;
	char what[64];

	profile_point_name(t->point, &b);
	str_printf(&b, ": instructions per %s, rounded, no ticks; %s; %u",
		   t->point->op ? t->point->op : "op",
		   profile_windows_text(r->windows, t->point->cpus), p->perturbations);
	if (t->diff)
		str_printf(&b, " and %u", t->diff->new->perturbations);
	str_printf(&b, " perturbation%s.", !t->diff && p->perturbations == 1 ? "" : "s");
	if (t->diff && !t->diff->judged)
		str_printf(&b, " %s", profile_unjudged_text(t));
	snprintf(what, sizeof(what), "under %.10g", s->min);
	add_cut(&b, &rows->under, sign, what);
	add_cut(&b, &rows->within, sign, "within perturbation");
	add_cut(&b, &rows->beyond, sign, "behind --top");
	if (t->diff && t->diff->unranked)
		str_add(&b,
			" Most of a kernel's code has no symbols: the total alone can be told.");
	render_safe(&safe, str_get(&b));
	text_wrap(out, "", "  ", str_get(&safe), s->width);
	str_add_c(out, '\n');
	str_done(&b);
	str_done(&safe);
}

/* Without a "-0". */
static double whole(double v)
{
	v = round(v);
	return v == 0 ? 0 : v;
}

static void classic_pair(const struct profile_table *t, const struct profile_rows *rows,
			 struct str *out)
{
	const struct profile_delta *total = &t->diff->total;
	bool told = false;
	size_t i;

	str_add(out, "Going from ");
	add_safe(out, t->base->label);
	str_add(out, " to ");
	add_safe(out, t->new->label);
	str_add(out, " (+ worse, - better)\n\n");
	for (i = 0; i <= rows->n; i++) {
		const struct profile_delta *d = i < rows->n ? rows->rows[i] : NULL;

		if (!told && (!d || total->diff >= d->diff)) {
			str_printf(out, "%.0f total\n", whole(total->diff));
			told = true;
		}
		if (!d)
			break;
		str_printf(out, "%.0f ", whole(d->diff));
		add_symbol(out, d->name, d->module);
		str_add_c(out, '\n');
	}
	for (i = 0; i < rows->n_spin; i++) {
		str_printf(out, "%s%.0f ", i ? "" : "\nWaiting for another CPU:\n\n",
			   whole(rows->spin[i]->diff));
		add_symbol(out, rows->spin[i]->name, rows->spin[i]->module);
		str_add_c(out, '\n');
	}
}

static void tick_row(const struct profile_symbol *s, double total, struct str *out)
{
	char ticks[32], percent[32];

	snprintf(ticks, sizeof(ticks), "%.0f", whole(s->instructions));
	snprintf(percent, sizeof(percent), "%g", 100 * s->instructions / total);
	str_printf(out, "%016llx %-8s %-11s ", (unsigned long long)s->addr, ticks, percent);
	add_symbol(out, s->name, s->module);
	str_add_c(out, '\n');
}

static void classic_one(const struct profile_table *t, const struct profile_rows *rows,
			struct str *out)
{
	double total = t->profile->total.instructions;
	size_t i;

	add_safe(out, t->base->label);
	str_add(out, ":\n\n");
	for (i = rows->n; i > 0; i--)
		tick_row(rows->rows[i - 1]->base, total, out);
	for (i = rows->n_spin; i > 0; i--) {
		if (i == rows->n_spin)
			str_add(out, "\nWaiting for another CPU:\n\n");
		tick_row(rows->spin[i - 1]->base, total, out);
	}
}

void render_profile_classic(const struct profile_report *r, const struct profile_show *s,
			    struct str *out)
{
	struct profile_show show = *s;
	size_t i;

	if (!(show.min > 0))
		show.min = CLASSIC_MIN;
	for (i = 0; i < r->n; i++) {
		const struct profile_table *t = &r->tables[i];
		struct arena a = ARENA_INIT;
		struct profile_rows rows;
		struct str b = STR_INIT, safe = STR_INIT;

		if (i)
			str_add_c(out, '\n');
		if (!t->profile && !t->diff) {
			profile_point_name(t->point, &b);
			str_printf(&b, ": nothing to show: %s.", t->missing ? t->missing : "?");
			render_safe(&safe, str_get(&b));
			text_wrap(out, "", "  ", str_get(&safe), s->width);
			str_done(&b);
			str_done(&safe);
			continue;
		}
		profile_rows_make(t, &show, &a, &rows);
		preface(r, t, &show, &rows, out);
		if (t->diff)
			classic_pair(t, &rows, out);
		else
			classic_one(t, &rows, out);
		arena_done(&a);
	}
}

/* ---- folded ---- */

/* A frame: ';' parts frames, and a line's end ends it. */
static void add_frame(struct str *out, const char *s)
{
	struct str safe = STR_INIT;
	const char *p;

	render_safe(&safe, s);
	for (p = str_get(&safe); *p; p++) {
		if (*p == ';')
			str_add(out, "\\x3b");
		else
			str_add_c(out, *p);
	}
	str_done(&safe);
}

static void add_figure(struct str *out, const struct profile_symbol *s)
{
	char buf[40];
	size_t n;

	snprintf(buf, sizeof(buf), "%.3f", s ? s->instructions : 0.0);
	for (n = strlen(buf); n && buf[n - 1] == '0';)
		buf[--n] = '\0';
	if (n && buf[n - 1] == '.')
		buf[n - 1] = '\0';
	str_printf(out, " %s", buf);
}

static void folded_row(const struct profile_table *t, const struct profile_delta *d,
		       struct str *out)
{
	struct str b = STR_INIT;

	profile_point_name(t->point, &b);
	add_frame(out, str_get(&b));
	str_add_c(out, ';');
	str_reset(&b);
	profile_name(d->name, d->module, &b);
	add_frame(out, str_get(&b));
	add_figure(out, d->base);
	if (t->diff)
		add_figure(out, d->new);
	str_add_c(out, '\n');
	str_done(&b);
}

void render_profile_folded(const struct profile_report *r, const struct profile_show *s,
			   struct str *out)
{
	struct profile_show show = *s;
	size_t i, k;

	show.all = true;
	for (i = 0; i < r->n; i++) {
		const struct profile_table *t = &r->tables[i];
		struct arena a = ARENA_INIT;
		struct profile_rows rows;

		if (!t->profile && !t->diff)
			continue;
		profile_rows_make(t, &show, &a, &rows);
		for (k = 0; k < rows.n; k++)
			folded_row(t, rows.rows[k], out);
		for (k = 0; k < rows.n_spin; k++)
			folded_row(t, rows.spin[k], out);
		arena_done(&a);
	}
}
