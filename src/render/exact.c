/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rows: a table of counts, with what moved them under each that moved. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/internal.h"

#define LARGE 100000 /* from here on without a decimal */

enum column { NAME, STAR, KERNEL, VALUE, RANGE, DIFF, PERCENT, WORD, FLAGS, COLUMNS };

static const bool right[COLUMNS] = {
	[VALUE] = true, [RANGE] = true, [DIFF] = true, [PERCENT] = true
};

bool has_exact(const struct comparison *c)
{
	size_t i;

	for (i = 0; i < c->n_rows && !c->rows[i].exact; i++)
		;
	return i < c->n_rows;
}

bool exact_same_point(const struct compare_row *a, const struct compare_row *b)
{
	return !strcmp(a->workload, b->workload) && !strcmp(a->params, b->params) &&
	       !strcmp(a->part, b->part) && a->workload_version == b->workload_version;
}

/* One decimal, none of a large number, three digits of a small one. */
static void add_number(double v, struct str *out)
{
	char buf[64];

	if (fabs(v) >= LARGE - 0.05)
		snprintf(buf, sizeof(buf), "%.0f", v);
	else if (fabs(v) >= 10 || v == 0)
		snprintf(buf, sizeof(buf), "%.1f", v);
	else
		unit_format_number(v, 3, buf, sizeof(buf));
	str_add(out, buf);
}

/* With a sign, and never 0 where there is a difference. */
static void add_signed(double v, struct str *out)
{
	char buf[64];

	if (fabs(v) >= 0.05 || v == 0)
		snprintf(buf, sizeof(buf), "%+.1f", v);
	else
		unit_format_number(v, 1, buf, sizeof(buf));
	if (v == 0)
		str_add_c(out, '0');
	else
		str_printf(out, "%s%s", v > 0 && *buf != '+' ? "+" : "", buf);
}

void cell_exact_value(const struct compare_value *v, struct str *out)
{
	str_reset(out);
	if (!v->exact)
		str_add_c(out, '-');
	else if (v->exact->modes)
		str_printf(out, "%u modes", v->exact->modes);
	else
		add_number(v->mean, out);
}

void cell_exact_range(const struct compare_value *v, struct str *out)
{
	struct str hi = STR_INIT;
	int digits;

	str_reset(out);
	if (!v->exact || !(v->exact->lo < v->exact->hi))
		return;
	add_number(v->exact->lo, out);
	add_number(v->exact->hi, &hi);
	/* Two that differ must look so. */
	for (digits = 1; digits < 10 && !strcmp(str_get(out), str_get(&hi)); digits++) {
		str_reset(out);
		str_reset(&hi);
		str_printf(out, "%.*f", digits, v->exact->lo);
		str_printf(&hi, "%.*f", digits, v->exact->hi);
	}
	str_printf(out, "..%s", str_get(&hi));
	str_done(&hi);
}

/* Of several modes there is no one number, so no difference. */
static bool is_split(const struct compare_pair *p)
{
	return p->verdict == VERDICT_NONE && p->flags & COMPARE_BIT(COMPARE_REGIMES);
}

void cell_exact_diff(const struct compare_pair *p, struct str *out)
{
	str_reset(out);
	if (is_split(p) || !isfinite(p->diff))
		str_add_c(out, '-');
	else
		add_signed(p->diff, out);
}

void cell_exact_percent(const struct compare_pair *p, struct str *out)
{
	double v = (p->ratio - 1) * 100;

	str_reset(out);
	if (is_split(p) || !isfinite(p->ratio) || p->diff == 0)
		return;
	if (fabs(v) < 0.005)
		str_add(out, "<.01 %");
	else
		str_printf(out, fabs(v) < 99.995 ? "%+.2f %%" : "%+.0f %%", v);
}

void cell_exact_modes(const struct compare_value *v, struct str *out)
{
	const struct compare_exact *x = v->exact;
	unsigned i;

	str_reset(out);
	for (i = 0; x && i < x->modes; i++) {
		const struct compare_mode *m = &x->mode[i];

		if (!i)
			str_printf(out, "%u regimes: ", x->modes);
		else
			str_add(out, "; ");
		add_number(m->instructions, out);
		str_printf(out, " in %.0f %%%s, ", m->share * 100, i ? "" : " of the batches");
		add_number(m->switches, out);
		str_printf(out, " switches%s", i ? "" : " per op");
		if (m->perturbations < x->n)
			str_printf(out, " (%u of %u perturbations)", m->perturbations, x->n);
	}
}

void cell_exact_top(const struct compare_pair *p, struct str *out)
{
	unsigned i;

	str_reset(out);
	for (i = 0; i < p->n_top; i++) {
		str_printf(out, "%s%s ", i ? ", " : "", p->top[i].name);
		add_signed(p->top[i].diff, out);
	}
}

static void add_safe_note(struct grid *g, const struct str *s)
{
	struct str safe = STR_INIT;

	render_safe(&safe, str_get(s));
	grid_note(g, str_get(&safe));
	str_done(&safe);
}

static void add_pair(struct grid *g, const struct compare_pair *p, const struct flag_letters *l)
{
	struct str s = STR_INIT;

	cell_exact_diff(p, &s);
	grid_set(g, DIFF, str_get(&s));
	cell_exact_percent(p, &s);
	grid_set(g, PERCENT, str_get(&s));
	if (p->verdict != VERDICT_NONE)
		grid_set(g, WORD,
			 p->verdict == VERDICT_WITHIN ? "within" : verdict_word(p->verdict));
	cell_flags(p, l, &s);
	grid_set(g, FLAGS, str_get(&s));
	str_done(&s);
}

/* Decimals under decimals. */
static void set_value(struct grid *g, const struct compare_value *v, bool decimals)
{
	struct str s = STR_INIT;

	cell_exact_value(v, &s);
	if (decimals && v->exact && !v->exact->modes && !strchr(str_get(&s), '.'))
		str_add(&s, "  ");
	grid_set(g, VALUE, str_get(&s));
	str_done(&s);
}

/* Of one point: what stands below its typical row need not stand below its total, too. */
static bool is_told(const struct compare_row *above, const struct compare_pair *p)
{
	const struct compare_pair *told = above ? pair_of(above, p->new) : NULL;
	unsigned i, k, found = 0;

	for (i = 0; told && i < p->n_top; i++)
		for (k = 0; k < told->n_top; k++)
			found += !strcmp(p->top[i].name, told->top[k].name);
	return told && found == p->n_top;
}

/*
 * `above`: the point's first row; NULL: this is it. Regimes are those of the point, and stand
 * there.
 */
static void add_row(struct grid *g, const struct comparison *c, const struct compare_row *r,
		    const char *name, const struct compare_row *above, bool decimals,
		    const struct flag_letters *l)
{
	struct str s = STR_INIT;
	unsigned k;

	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_pair *p = pair_of(r, k);

		grid_line(g);
		if (!k) {
			grid_set(g, NAME, name);
			if (r->headline)
				grid_set(g, STAR, "*");
		}
		if (c->n_kernels > 1)
			grid_set(g, KERNEL, kernel_short(c, k, &s));
		set_value(g, &r->values[k], decimals);
		cell_exact_range(&r->values[k], &s);
		grid_set(g, RANGE, str_get(&s));
		if (p)
			add_pair(g, p, l);
		else if (k)
			grid_set(g, DIFF, "-");
		cell_exact_modes(&r->values[k], &s);
		if (!above && s.len)
			grid_note(g, str_get(&s));
		if (!p || !p->n_top || is_told(above, p))
			continue;
		cell_exact_top(p, &s);
		add_safe_note(g, &s);
	}
	str_done(&s);
}

static const char *name_of(struct grid *g, const struct comparison *c, const struct table *t,
			   size_t at, bool first)
{
	const char *metric = c->rows[t->rows[at]].metric.name;

	if (!first)
		return arena_printf(&g->arena, "  %s", metric);
	if (!strcmp(metric, "instructions"))
		return t->names[at];
	return arena_printf(&g->arena, "%s %s", t->names[at], metric);
}

static bool has_decimals(const struct comparison *c, const struct table *t)
{
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < c->n_kernels; k++)
			if (fabs(c->rows[t->rows[i]].values[k].mean) < LARGE - 0.05)
				return true;
	return false;
}

void exact_table(const struct comparison *c, const struct render_options *o, const struct table *t,
		 const struct flag_letters *l, struct str *out)
{
	static const char *const heads[COLUMNS] = {
		[KERNEL] = "kernel", [VALUE] = "value", [RANGE] = "range",
		[DIFF] = "diff",     [PERCENT] = "%",	[WORD] = "",
	};
	struct grid g = { .columns = COLUMNS, .right = right, .note_col = KERNEL };
	const struct compare_row *above = NULL;
	bool decimals = has_decimals(c, t);
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct compare_row *r = &c->rows[t->rows[i]];

		if (above && !exact_same_point(above, r))
			above = NULL;
		add_row(&g, c, r, name_of(&g, c, t, i, !above), above, decimals, l);
		above = above ? above : r;
	}
	grid_head(&g, heads);
	/* Too wide: what follows from the others, then what the JSON has as well. */
	if (o->width && grid_width(&g) > o->width)
		g.width[PERCENT] = 0;
	if (o->width && grid_width(&g) > o->width)
		g.width[RANGE] = 0;
	grid_print(&g, o->width, out);
	grid_done(&g);
}

void exact_legend(const struct comparison *c, unsigned width, struct str *out)
{
	struct str b = STR_INIT, base = STR_INIT;
	bool headline = false, total = false, pairs = false, range = false, top = false;
	const struct compare_summary *s = &c->summary;
	size_t i, k;

	if (!has_exact(c))
		return;
	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		if (!r->exact)
			continue;
		headline |= r->headline;
		total |= !strcmp(r->metric.name, "total");
		pairs |= r->n_pairs > 0;
		for (k = 0; k < c->n_kernels; k++)
			range |= r->values[k].exact &&
				 r->values[k].exact->lo < r->values[k].exact->hi;
		for (k = 0; k < r->n_pairs; k++)
			top |= r->pairs[k].n_top > 0;
	}
	str_add(&b, "value: typical, from batches without an interrupt");
	str_add(&b, total ? "; total: from all. " : ". ");
	if (range)
		str_add(&b, "range: over the perturbations. ");
	if (pairs)
		str_printf(&b, "diff: new less %s. ", kernel_short(c, 0, &base));
	if (s->more + s->fewer)
		str_add(&b, "more, fewer: in every perturbation beyond all of the other's. ");
	if (s->within)
		str_add(&b, "within: perturbations move it as much. ");
	if (s->same)
		str_add(&b, "same: digit for digit. ");
	if (top)
		str_add(&b, "Below: the functions that differ most. ");
	if (headline)
		str_add(&b, "* headline. ");
	str_add_c(out, '\n');
	text_wrap(out, "", "  ", str_get(&b), width);
	str_done(&base);
	str_done(&b);
}

void exact_summary(const struct comparison *c, struct notes *ret)
{
	const struct compare_summary *s = &c->summary;
	unsigned differ = s->more + s->fewer;
	struct str b = STR_INIT;
	char chance[64];

	if (!has_exact(c))
		return;
	if (differ + s->same + s->within)
		str_printf(&b,
			   "Summary of instructions: %u more, %u fewer, %u same, %u within "
			   "perturbation",
			   s->more, s->fewer, s->same, s->within);
	else
		str_printf(&b, "Summary of instructions: no word on %u result%s", s->exact_none,
			   s->exact_none == 1 ? "" : "s");
	if (differ + s->same + s->within && s->exact_none)
		str_printf(&b, "; %u without a word", s->exact_none);
	str_add_c(&b, '.');
	notes_take(ret, &b);
	if (!differ)
		return;
	unit_format_number(s->exact_chance, 2, chance, sizeof(chance));
	notes_add(ret, "Chance: of these %u more or fewer, chance alone would give at most %s.",
		  differ, chance);
}
