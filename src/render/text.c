/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "render/internal.h"

enum column { NAME, STAR, KERNEL, BOOTS, MEAN, CV, RATIO, INTERVAL, P, MARK, FLAGS, COLUMNS };

static const bool right[COLUMNS] = { [BOOTS] = true, [MEAN] = true, [RATIO] = true, [P] = true };

/* A column is headed where it has something to say. */
static void add_head(struct grid *g, const struct comparison *c)
{
	const char *heads[COLUMNS] = {
		[KERNEL] = "kernel", [BOOTS] = "n",	[MEAN] = "mean",
		[CV] = "cv% b/i/s",  [RATIO] = "ratio", [P] = "p adj",
	};
	struct str interval = STR_INIT;

	str_printf(&interval, "%.0f%% interval", c->level * 100);
	heads[INTERVAL] = str_get(&interval);
	grid_head(g, heads);
	str_done(&interval);
}

static void add_pair(struct grid *g, const struct compare_row *r, const struct compare_pair *p,
		     const struct table *t, const struct flag_letters *l)
{
	struct str s = STR_INIT;

	cell_ratio(r, p, &t->scale, &s);
	grid_set(g, RATIO, str_get(&s));
	cell_interval(r, p, &t->scale, &s);
	grid_set(g, INTERVAL, str_get(&s));
	cell_p(p->p_adjusted, &s);
	grid_set(g, P, str_get(&s));
	cell_mark(p, &s);
	grid_set(g, MARK, str_get(&s));
	cell_flags(p, l, &s);
	grid_set(g, FLAGS, str_get(&s));
	str_done(&s);
}

static void add_row(struct grid *g, const struct comparison *c, const struct table *t, size_t at,
		    const struct flag_letters *l)
{
	const struct compare_row *r = &c->rows[t->rows[at]];
	struct str s = STR_INIT;
	unsigned k;

	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_value *v = &r->values[k];
		const struct compare_pair *p = pair_of(r, k);

		grid_line(g);
		if (!k) {
			grid_set(g, NAME, t->names[at]);
			if (r->headline)
				grid_set(g, STAR, "*");
		}
		if (c->n_kernels > 1)
			grid_set(g, KERNEL, kernel_short(c, k, &s));
		if (v->boots != c->kernels[k].boots) {
			str_reset(&s);
			str_printf(&s, "%u", v->boots);
			grid_set(g, BOOTS, v->boots ? str_get(&s) : "-");
		}
		cell_value(v, &t->scale, &s);
		grid_set(g, MEAN, str_get(&s));
		cell_cv(v, true, &s);
		grid_set(g, CV, str_get(&s));
		if (p)
			add_pair(g, r, p, t, l);
		else if (k)
			grid_set(g, RATIO, "-");
	}
	str_done(&s);
}

static void time_table(const struct comparison *c, const struct render_options *o,
		       const struct table *t, const struct flag_letters *l, struct str *out)
{
	struct grid g = { .columns = COLUMNS, .right = right };
	size_t i;

	for (i = 0; i < t->n; i++)
		add_row(&g, c, t, i, l);
	add_head(&g, c);
	/* Too wide: what the JSON has as well goes first. */
	if (o->width && grid_width(&g) > o->width)
		g.width[P] = 0;
	if (o->width && grid_width(&g) > o->width)
		g.width[CV] = 0;
	grid_print(&g, o->width, out);
	grid_done(&g);
}

void text_tables(const struct comparison *c, const struct render_options *o,
		 const struct flag_letters *l, struct str *out)
{
	struct tables tables;
	size_t i, width;

	tables_make(c, &tables);
	for (i = 0; i < tables.n; i++) {
		const struct table *t = &tables.t[i];

		str_add_c(out, '\n');
		text_wrap(out, "", "  ", t->title, o->width);
		width = str_width(t->title);
		str_add_pad(out, '-', o->width && width > o->width ? o->width : width);
		str_add_c(out, '\n');
		if (t->exact)
			exact_table(c, o, t, l, out);
		else
			time_table(c, o, t, l, out);
	}
	tables_done(&tables);
}

void text_wrap(struct str *out, const char *first, const char *rest, const char *s, unsigned width)
{
	size_t col = str_width(first), n, w, i;
	bool start = true;

	str_add(out, first);
	for (; *s; s += n + strspn(s + n, " ")) {
		n = strcspn(s, " ");
		for (w = 0, i = 0; i < n; i++)
			w += ((unsigned char)s[i] & 0xc0) != 0x80;
		if (!start && width && col + 1 + w > width) {
			str_printf(out, "\n%s", rest);
			col = str_width(rest);
		} else if (!start) {
			str_add_c(out, ' ');
			col++;
		}
		str_add_n(out, s, n);
		col += w;
		start = false;
	}
	str_add_c(out, '\n');
}

void text_notes(struct str *out, const char *title, const struct notes *notes, unsigned width)
{
	size_t i;

	if (!notes->n)
		return;
	if (title)
		str_printf(out, "\n%s\n", title);
	for (i = 0; i < notes->n; i++) {
		const char *s = notes->line[i];
		bool deeper = !strncmp(s, "  ", 2);

		if (title)
			text_wrap(out, deeper ? "    " : "  ", "      ", s + 2 * deeper, width);
		else
			text_wrap(out, deeper ? "  " : "", deeper ? "    " : "  ", s + 2 * deeper,
				  width);
	}
}

static bool has_words(const struct comparison *c)
{
	const struct compare_summary *s = &c->summary;

	return s->worse + s->better + s->no_change + s->cant_tell > 0;
}

static void add_legend(const struct comparison *c, unsigned width, struct str *out)
{
	struct str b = STR_INIT, base = STR_INIT;
	bool headline = false, absolute = false, below = false, shift = false, time = false;
	char margin[16];
	size_t i, k;

	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		if (r->exact)
			continue;
		time = true;
		headline |= r->headline;
		absolute |= r->absolute && r->n_pairs;
		for (k = 0; k < c->n_kernels; k++)
			below |= r->values[k].below && r->values[k].mean <= 0;
		for (k = 0; k < r->n_pairs; k++)
			shift |= r->pairs[k].small_real_shift;
	}
	if (!time)
		return;
	if (c->n_kernels > 1)
		str_printf(&b, "ratio: new / %s%s. ", kernel_short(c, 0, &base),
			   absolute ? ", or with a sign the difference" : "");
	if (has_words(c))
		str_printf(&b,
			   "+ better, - worse, = no change within %s, ? can't tell, with the "
			   "boots a kernel that could. ",
			   margin_text(c->margin, margin));
	if (shift)
		str_add(&b, "=~ no change, though a small shift is real. ");
	str_add(&b, "cv% between boots/invocations/samples. ");
	if (headline)
		str_add(&b, "* headline. ");
	if (below)
		str_add(&b, "<res: below resolution. ");
	str_add_c(out, '\n');
	text_wrap(out, "", "  ", str_get(&b), width);
	str_done(&base);
	str_done(&b);
}

static void add_seed(const struct compare_experiment *x, struct notes *ret)
{
	const char *name = x->name ? x->name : x->id ? x->id : "?";
	CLEANUP_FREE char *order = NULL;

	if (x->exact)
		order = mem_printf("perturbation seed %llu", (unsigned long long)x->seed);
	else if (x->blocks)
		order = mem_printf("%u block%s, order seed %llu", x->blocks,
				   x->blocks == 1 ? "" : "s", (unsigned long long)x->seed);
	notes_add(ret, "Experiment %s: %s%s%s.", name, order ? order : "boots as they happened",
		  x->subject ? "; subject: " : "", x->subject ? x->subject : "");
}

static void add_seeds(const struct comparison *c, struct notes *ret)
{
	size_t i;

	for (i = 0; i < c->n_experiments; i++)
		add_seed(&c->experiments[i], ret);
}

void render_text(const struct comparison *c, const struct render_options *o, struct str *out)
{
	struct notes n = NOTES_INIT;
	struct flag_letters l;
	size_t i;

	flags_letter(c, &l);
	notes_warnings(c, &n);
	text_notes(out, NULL, &n, o->width);
	if (n.n)
		str_add_c(out, '\n');
	notes_done(&n);
	notes_kernels(c, &n);
	text_notes(out, NULL, &n, o->width);
	notes_done(&n);
	add_seeds(c, &n);
	text_notes(out, NULL, &n, o->width);
	notes_done(&n);
	notes_differences(c, o->most, &n);
	text_notes(out, "What else differs", &n, o->width);
	notes_done(&n);
	text_tables(c, o, &l, out);
	add_legend(c, o->width, out);
	exact_legend(c, o->width, out);
	notes_unmatched(c, o->most, &n);
	text_notes(out, "Not compared", &n, o->width);
	notes_done(&n);
	notes_failures(c, o->most, false, &n);
	text_notes(out, "Failed", &n, o->width);
	notes_done(&n);
	notes_failures(c, o->most, true, &n);
	text_notes(out, "Skipped", &n, o->width);
	notes_done(&n);
	str_add_c(out, '\n');
	notes_summary(c, &n);
	for (i = 0; i < ARRAY_SIZE(c->scope) && c->scope[i]; i++)
		notes_add(&n, "Scope: %s", c->scope[i]);
	text_notes(out, NULL, &n, o->width);
	notes_done(&n);
	notes_flags(c, &l, o->most, &n);
	text_notes(out, "Flags", &n, o->width);
	notes_done(&n);
	for (i = 0; i < c->n_experiments; i++)
		if (c->experiments[i].reproduce) {
			/* A command: never wrapped. */
			str_add(out, "\nReproduce: ");
			render_safe(out, c->experiments[i].reproduce);
			str_add_c(out, '\n');
		}
}
