/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "render/internal.h"

/* Text in a cell or a list: what Markdown or HTML would take as its own is escaped. */
static void add_md(struct str *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			str_add(out, "&lt;");
		else if (*s == '&')
			str_add(out, "&amp;");
		else if (strchr("|*_`\\[]~#", *s))
			str_printf(out, "\\%c", *s);
		else
			str_add_c(out, *s);
	}
}

static void add_notes(struct str *out, const char *title, struct notes *n)
{
	size_t i;

	if (n->n && title)
		str_printf(out, "\n**%s**\n", title);
	if (n->n)
		str_add_c(out, '\n');
	for (i = 0; i < n->n; i++) {
		const char *s = n->line[i];
		size_t deeper = strspn(s, " ");

		str_printf(out, "%s- ", deeper ? "  " : "");
		add_md(out, s + deeper);
		str_add_c(out, '\n');
	}
	notes_done(n);
}

static void add_cell(struct str *out, const char *s)
{
	str_add_c(out, ' ');
	add_md(out, s);
	str_add(out, *s ? " |" : "|");
}

static void add_flags(const struct compare_pair *p, struct str *out)
{
	struct str s = STR_INIT;
	unsigned i;

	for (i = 0; i < COMPARE_FLAGS; i++)
		if (p->flags & COMPARE_BIT(i))
			str_printf(&s, "%s%s", s.len ? ", " : "", compare_flag_name(i));
	add_cell(out, str_get(&s));
	str_done(&s);
}

static void add_pair(const struct compare_row *r, const struct compare_pair *p,
		     const struct table *t, struct str *out)
{
	struct str s = STR_INIT;

	cell_ratio(r, p, &t->scale, &s);
	add_cell(out, str_get(&s));
	cell_interval(r, p, &t->scale, &s);
	str_printf(out, " %s |", str_get(&s));
	cell_p(p->p_adjusted, &s);
	add_cell(out, str_get(&s));
	str_reset(&s);
	str_add(&s, p->verdict == VERDICT_NONE ? "-" : verdict_word(p->verdict));
	if (p->boots_needed > VERDICT_BUDGET)
		str_printf(&s, " (needs over %d boots)", VERDICT_BUDGET);
	else if (p->boots_needed)
		str_printf(&s, " (needs %u boots)", p->boots_needed);
	add_cell(out, str_get(&s));
	str_done(&s);
	add_flags(p, out);
}

static void add_row(const struct comparison *c, const struct table *t, size_t at, struct str *out)
{
	const struct compare_row *r = &c->rows[t->rows[at]];
	struct str s = STR_INIT;
	unsigned k;

	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_value *v = &r->values[k];
		const struct compare_pair *p = pair_of(r, k);

		str_add_c(out, '|');
		str_printf(&s, "%s%s", t->names[at], r->headline ? " *" : "");
		add_cell(out, str_get(&s));
		str_reset(&s);
		render_safe(&s, c->kernels[k].label);
		add_cell(out, str_get(&s));
		str_reset(&s);
		str_printf(&s, "%u", v->boots);
		add_cell(out, v->boots ? str_get(&s) : "-");
		cell_value(v, &t->scale, &s);
		add_cell(out, str_get(&s));
		cell_cv(v, true, &s);
		add_cell(out, str_get(&s));
		str_reset(&s);
		if (p)
			add_pair(r, p, t, out);
		else
			str_add(out, k ? " - | | | | |" : " | | | | |");
		str_add_c(out, '\n');
	}
	str_done(&s);
}

static void add_exact_pair(const struct compare_pair *p, struct str *out)
{
	struct str s = STR_INIT;

	cell_exact_diff(p, &s);
	add_cell(out, str_get(&s));
	cell_exact_percent(p, &s);
	add_cell(out, str_get(&s));
	add_cell(out, p->verdict == VERDICT_NONE ? "-" : verdict_word(p->verdict));
	str_done(&s);
	add_flags(p, out);
}

static void add_exact_row(const struct comparison *c, const struct table *t, size_t at,
			  struct str *out)
{
	const struct compare_row *r = &c->rows[t->rows[at]];
	bool first = !at || !exact_same_point(&c->rows[t->rows[at - 1]], r);
	struct str s = STR_INIT, details = STR_INIT, safe = STR_INIT;
	unsigned k;

	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_value *v = &r->values[k];
		const struct compare_pair *p = pair_of(r, k);

		str_add_c(out, '|');
		str_reset(&s);
		str_printf(&s, "%s%s", t->names[at], r->headline ? " *" : "");
		add_cell(out, str_get(&s));
		add_cell(out, r->metric.name);
		str_reset(&s);
		render_safe(&s, c->kernels[k].label);
		add_cell(out, str_get(&s));
		str_reset(&s);
		str_printf(&s, "%u", v->exact ? v->exact->n : 0);
		add_cell(out, v->exact ? str_get(&s) : "-");
		cell_exact_value(v, &s);
		add_cell(out, str_get(&s));
		cell_exact_range(v, &s);
		add_cell(out, str_get(&s));
		if (p)
			add_exact_pair(p, out);
		else
			str_add(out, k ? " - | | | |" : " | | | |");
		str_reset(&details);
		if (first)
			cell_exact_modes(v, &details);
		if (p) {
			cell_exact_top(p, &s);
			str_printf(&details, "%s%s", details.len && s.len ? "; " : "", str_get(&s));
		}
		str_reset(&safe);
		render_safe(&safe, str_get(&details));
		add_cell(out, str_get(&safe));
		str_add_c(out, '\n');
	}
	str_done(&s);
	str_done(&details);
	str_done(&safe);
}

void render_md(const struct comparison *c, const struct render_options *o, struct str *out)
{
	struct notes n = NOTES_INIT;
	struct tables tables;
	size_t i, k;

	notes_warnings(c, &n);
	add_notes(out, NULL, &n);
	notes_kernels(c, &n);
	add_notes(out, "Kernels", &n);
	notes_differences(c, o->most, &n);
	add_notes(out, "What else differs", &n);
	tables_make(c, &tables);
	for (i = 0; i < tables.n; i++) {
		str_add(out, "\n**");
		add_md(out, tables.t[i].title);
		if (tables.t[i].exact) {
			str_add(out,
				"**\n\n| | | kernel | perturbations | value | range | diff | % "
				"| word | flags | details |\n"
				"|---|---|---|--:|--:|--:|--:|--:|---|---|---|\n");
			for (k = 0; k < tables.t[i].n; k++)
				add_exact_row(c, &tables.t[i], k, out);
			continue;
		}
		str_add(out, "**\n\n| | kernel | boots | mean | cv % boots/invocations/samples | "
			     "ratio | interval | p adjusted | verdict | flags |\n"
			     "|---|---|--:|--:|---|--:|---|--:|---|---|\n");
		for (k = 0; k < tables.t[i].n; k++)
			add_row(c, &tables.t[i], k, out);
	}
	tables_done(&tables);
	notes_unmatched(c, o->most, &n);
	add_notes(out, "Not compared", &n);
	notes_failures(c, o->most, false, &n);
	add_notes(out, "Failed", &n);
	notes_failures(c, o->most, true, &n);
	add_notes(out, "Skipped", &n);
	notes_summary(c, &n);
	for (i = 0; i < ARRAY_SIZE(c->scope) && c->scope[i]; i++)
		notes_add(&n, "Scope: %s", c->scope[i]);
	add_notes(out, "Summary", &n);
	notes_flags(c, NULL, o->most, &n);
	add_notes(out, "Flags", &n);
	for (i = 0; i < c->n_experiments; i++)
		if (c->experiments[i].reproduce) {
			str_add(out, "\nReproduce:\n\n    ");
			render_safe(out, c->experiments[i].reproduce);
			str_add_c(out, '\n');
		}
}
