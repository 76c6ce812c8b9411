/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles as text. */
#include "render/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "render/internal.h"
#include "render/profile_notes.h"

enum { DIFF, MARK, BASE, NEW, BASE_CALLS, NEW_CALLS, COLUMNS };

struct line {
	char cell[COLUMNS][24];
	const char *name, *remark; /* remark: what stands behind the name; NULL */
};

struct sheet {
	struct arena arena;
	struct line *lines;
	size_t n, cap;
};

/* What `v` is with so many decimals; where that would be 0 and it is not, with more. */
void profile_number(double v, unsigned decimals, bool sign, char buf[24])
{
	double half = 0.5 * pow(10, -(double)decimals);

	if (v != 0 && fabs(v) < half && fabs(v) < 0.0005)
		snprintf(buf, 24, "%s<.001", v < 0 ? "-" : sign ? "+" : "");
	else if (v != 0 && fabs(v) < half)
		snprintf(buf, 24, sign ? "%+.3f" : "%.3f", v);
	else
		snprintf(buf, 24, sign && v != 0 ? "%+.*f" : "%.*f", (int)decimals, v);
}

static struct line *add_line(struct sheet *g)
{
	struct line *l;

	g->lines = arena_grow(&g->arena, g->lines, g->n, &g->cap, sizeof(*l));
	l = &g->lines[g->n++];
	memset(l, 0, sizeof(*l));
	return l;
}

static const char *safe_name(struct sheet *g, const char *name, const char *module)
{
	struct str b = STR_INIT, safe = STR_INIT;
	const char *ret;

	profile_symbol_name(name, module, &b);
	render_safe(&safe, str_get(&b));
	ret = arena_strdup(&g->arena, str_get(&safe));
	str_done(&b);
	str_done(&safe);
	return ret;
}

static void print_line(const struct line *l, const size_t width[COLUMNS], unsigned most,
		       struct str *out)
{
	size_t col = 0, name = str_width(l->name), start = out->len, i;

	for (i = 0; i < COLUMNS; i++) {
		if (!width[i])
			continue;
		/* Words to the left, numbers to the right. */
		if (i == MARK)
			str_printf(out, " %-*s", (int)width[i], l->cell[i]);
		else
			str_printf(out, "  %*s", (int)width[i], l->cell[i]);
		col += width[i] + (i == MARK ? 1 : 2);
	}
	col += 2;
	if (most && col + name > most) {
		/* The name is never cut: it gets a line of its own. */
		while (out->len > start && out->s[out->len - 1] == ' ')
			out->s[--out->len] = '\0';
		col = 4;
		str_add(out, "\n    ");
	} else {
		str_add(out, "  ");
	}
	str_add(out, l->name);
	if (l->remark && *l->remark) {
		if (most && col + name + 2 + str_width(l->remark) > most) {
			str_add_c(out, '\n');
			i = col + 2 + str_width(l->remark) <= most ? col + 2 : 6;
			str_add_pad(out, ' ', i);
		} else {
			str_add(out, ": ");
		}
		str_add(out, l->remark);
	}
	str_add_c(out, '\n');
}

static void print_sheet(struct sheet *g, unsigned most, struct str *out)
{
	size_t width[COLUMNS] = { 0 }, i, k;

	for (i = 0; i < g->n; i++)
		for (k = 0; k < COLUMNS; k++)
			if (strlen(g->lines[i].cell[k]) > width[k])
				width[k] = strlen(g->lines[i].cell[k]);
	for (i = 0; i < g->n; i++)
		print_line(&g->lines[i], width, most, out);
	arena_done(&g->arena);
	memset(g, 0, sizeof(*g));
}

static void heads(struct sheet *g, const char *a, const char *b, const char *c, const char *d,
		  const char *e, const char *name)
{
	const char *text[COLUMNS] = {
		[DIFF] = a, [BASE] = b, [NEW] = c, [BASE_CALLS] = d, [NEW_CALLS] = e
	};
	struct line *l = add_line(g);
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		if (text[i])
			snprintf(l->cell[i], sizeof(l->cell[i]), "%s", text[i]);
	l->name = name;
}

/* ---- a pair ---- */

static const char *mark_word(enum profile_mark m)
{
	switch (m) {
	case PROFILE_MORE:
		return "more";
	case PROFILE_FEWER:
		return "fewer";
	case PROFILE_SAME:
		return "same";
	case PROFILE_WITHIN:
		return "within";
	case PROFILE_UNJUDGED:
	default:
		return "";
	}
}

static const char *remark_of(struct sheet *g, const struct profile_delta *d)
{
	unsigned alike = d->base && d->base->alike > 1 ? d->base->alike : 0;
	struct str b = STR_INIT;
	const char *ret;
	char why[80];

	profile_why_text(d->why & ~(unsigned)(PROFILE_ONLY_BASE | PROFILE_ONLY_NEW), why,
			 sizeof(why));
	str_add(&b, why);
	if (d->why & (PROFILE_ONLY_BASE | PROFILE_ONLY_NEW))
		str_printf(&b, "only in %s%s", d->why & PROFILE_ONLY_NEW ? "B" : "A",
			   d->twin >= 0 ? ", renamed?" : "");
	if (d->new && d->new->alike > 1 && d->new->alike > alike)
		alike = d->new->alike;
	if (alike)
		str_printf(&b, "%s%u functions of that name", b.len ? ", " : "", alike);
	ret = arena_strdup(&g->arena, str_get(&b));
	str_done(&b);
	return ret;
}

static void side_cells(const struct profile_symbol *s, bool calls, char value[24], char call[24])
{
	if (s)
		profile_number(s->instructions, 1, false, value);
	else
		snprintf(value, 24, "-");
	/* User space and unknown code are no functions. */
	if (s && calls && !isnan(s->calls))
		profile_number(s->calls, 2, false, call);
	else if (calls)
		snprintf(call, 24, "-");
}

static void pair_row(struct sheet *g, const struct profile_delta *d, bool total)
{
	struct line *l = add_line(g);

	profile_number(d->diff, 1, true, l->cell[DIFF]);
	snprintf(l->cell[MARK], sizeof(l->cell[MARK]), "%s", mark_word(d->mark));
	side_cells(d->base, !total, l->cell[BASE], l->cell[BASE_CALLS]);
	side_cells(d->new, !total, l->cell[NEW], l->cell[NEW_CALLS]);
	l->name = total ? "total" : safe_name(g, d->name, d->module);
	if (!total)
		l->remark = remark_of(g, d);
}

static void pair_table(const struct profile_table *t, const struct profile_rows *rows,
		       unsigned width, struct str *out)
{
	struct sheet g = { .arena = ARENA_INIT };
	size_t i;

	heads(&g, "B - A", "A", "B", "calls A", "calls B", "symbol");
	for (i = 0; i < rows->n; i++)
		pair_row(&g, rows->rows[i], false);
	pair_row(&g, &t->diff->total, true);
	print_sheet(&g, width, out);
	if (!rows->n_spin)
		return;
	str_add(out, "\n");
	text_wrap(out, "", "  ",
		  "Of the total, waiting for another CPU (QEMU runs the CPUs in turn: its slices "
		  "make these, not the kernel):",
		  width);
	heads(&g, "B - A", "A", "B", "calls A", "calls B", "symbol");
	for (i = 0; i < rows->n_spin; i++)
		pair_row(&g, rows->spin[i], false);
	print_sheet(&g, width, out);
}

/* ---- one kernel ---- */

static void one_row(struct sheet *g, const struct profile_symbol *s, double total, bool is_total)
{
	struct line *l = add_line(g);

	profile_number(s->instructions, 1, false, l->cell[DIFF]);
	if (total > 0)
		profile_number(100 * s->instructions / total, 2, false, l->cell[BASE]);
	if (!is_total && !isnan(s->calls))
		profile_number(s->calls, 2, false, l->cell[BASE_CALLS]);
	else if (!is_total)
		snprintf(l->cell[BASE_CALLS], sizeof(l->cell[BASE_CALLS]), "-");
	l->name = is_total ? "total" : safe_name(g, s->name, s->module);
	if (s->alike > 1)
		l->remark = arena_printf(&g->arena, "%u functions of that name", s->alike);
}

static void one_table(const struct profile_table *t, const struct profile_rows *rows,
		      unsigned width, struct str *out)
{
	double total = t->profile->total.instructions;
	struct sheet g = { .arena = ARENA_INIT };
	size_t i;

	heads(&g, "instructions", "%", NULL, "calls", NULL, "symbol");
	for (i = 0; i < rows->n; i++)
		one_row(&g, rows->rows[i]->base, total, false);
	one_row(&g, &t->profile->total, total, true);
	print_sheet(&g, width, out);
	if (!rows->n_spin)
		return;
	str_add(out, "\n");
	text_wrap(out, "", "  ",
		  "Of the total, waiting for another CPU (QEMU runs the CPUs in turn: its slices "
		  "make these, not the kernel):",
		  width);
	heads(&g, "instructions", "%", NULL, "calls", NULL, "symbol");
	for (i = 0; i < rows->n_spin; i++)
		one_row(&g, rows->spin[i]->base, total, false);
	print_sheet(&g, width, out);
}

/* ---- callers ---- */

static void caller_row(struct sheet *g, const struct profile_callers *c, bool pair,
		       const char *name, const char *module, double base, double new)
{
	struct line *l = add_line(g);

	if (pair) {
		profile_number(new - base, 2, true, l->cell[DIFF]);
		profile_number(base, 2, false, l->cell[BASE]);
		profile_number(new, 2, false, l->cell[NEW]);
	} else {
		profile_number(base, 2, false, l->cell[DIFF]);
		if (c->base > 0)
			profile_number(100 * base / c->base, 2, false, l->cell[BASE]);
	}
	l->name = name ? safe_name(g, name, module) : "total";
}

static void callers_table(const struct profile_table *t, const char *symbol, unsigned width,
			  struct str *out)
{
	struct sheet g = { .arena = ARENA_INIT };
	struct profile_callers c;
	struct notes n = NOTES_INIT;
	size_t i;

	profile_callers_make(t, symbol, &g.arena, &c);
	if (!c.in_base && !c.in_new) {
		notes_add(&n, "%s does not run here.", symbol);
		text_notes(out, NULL, &n, width);
		notes_done(&n);
		arena_done(&g.arena);
		return;
	}
	if (t->diff)
		heads(&g, "B - A", "A", "B", NULL, NULL, "caller");
	else
		heads(&g, "calls", "%", NULL, NULL, NULL, "caller");
	for (i = 0; i < c.n; i++)
		caller_row(&g, &c, t->diff != NULL, c.list[i].name, c.list[i].module,
			   c.list[i].base, c.list[i].new);
	caller_row(&g, &c, t->diff != NULL, NULL, NULL, c.base, c.new);
	if (t->diff && c.in_base != c.in_new)
		notes_add(&n, "It runs in %s only.", c.in_new ? "B" : "A");
	print_sheet(&g, width, out);
	text_notes(out, NULL, &n, width);
	notes_done(&n);
}

/* ---- all ---- */

static size_t title_line(struct str *b, unsigned width, struct str *out)
{
	struct str safe = STR_INIT;
	size_t n;

	render_safe(&safe, str_get(b));
	text_wrap(out, "", "  ", str_get(&safe), width);
	n = str_width(str_get(&safe));
	str_done(&safe);
	str_done(b);
	return width && n > width ? width : n;
}

static void title(const struct profile_report *r, const struct profile_table *t,
		  const struct profile_show *s, struct str *out)
{
	const char *op = t->point->op ? t->point->op : "op";
	struct str b = STR_INIT;
	size_t n, m;

	profile_point_name(t->point, &b);
	if (s->callers)
		str_printf(&b, " - callers of %s, calls per %s", s->callers, op);
	else
		str_printf(&b, " - instructions per %s", op);
	n = title_line(&b, s->width, out);
	if (t->new)
		str_printf(&b, "A: %s, B: %s", t->base->label, t->new->label);
	else
		str_add(&b, t->base->label);
	m = title_line(&b, s->width, out);
	n = n > m ? n : m;
	profile_coverage(r, t, &b);
	m = title_line(&b, s->width, out);
	str_add_pad(out, '-', n > m ? n : m);
	str_add_c(out, '\n');
}

void render_profile_text(const struct profile_report *r, const struct profile_show *s,
			 struct str *out)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct profile_table *t = &r->tables[i];
		struct arena a = ARENA_INIT;
		struct notes n = NOTES_INIT;
		struct profile_rows rows;

		if (i)
			str_add_c(out, '\n');
		title(r, t, s, out);
		if (!t->profile && !t->diff) {
			notes_add(&n, "Nothing to show: %s.", t->missing ? t->missing : "?");
		} else if (s->callers) {
			callers_table(t, s->callers, s->width, out);
		} else {
			profile_rows_make(t, s, &a, &rows);
			if (t->diff)
				pair_table(t, &rows, s->width, out);
			else
				one_table(t, &rows, s->width, out);
			profile_notes(t, s, &rows, &n);
		}
		text_notes(out, NULL, &n, s->width);
		notes_done(&n);
		arena_done(&a);
	}
	profile_legend(r, s, out);
}
