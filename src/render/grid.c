/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells in columns as wide as their widest; a column without a cell is not there. */
#include <string.h>

#include "render/internal.h"

void grid_line(struct grid *g)
{
	g->line = arena_grow(&g->arena, g->line, g->n, &g->cap, sizeof(*g->line));
	memset(&g->line[g->n++], 0, sizeof(*g->line));
}

void grid_set(struct grid *g, unsigned col, const char *s)
{
	size_t width = str_width(s);

	g->line[g->n - 1].cell[col] = arena_strdup(&g->arena, s);
	if (width > g->width[col])
		g->width[col] = width;
}

void grid_note(struct grid *g, const char *s)
{
	grid_line(g);
	g->line[g->n - 1].note = arena_strdup(&g->arena, s);
}

void grid_head(struct grid *g, const char *const *heads)
{
	struct grid_line head;
	unsigned i;

	/* Written last, shown first. */
	grid_line(g);
	for (i = 0; i < g->columns; i++)
		if (heads[i] && g->width[i])
			grid_set(g, i, heads[i]);
	head = g->line[g->n - 1];
	memmove(g->line + 1, g->line, (g->n - 1) * sizeof(*g->line));
	g->line[0] = head;
}

size_t grid_width(const struct grid *g)
{
	size_t i, sum = 0;

	for (i = 0; i < g->columns; i++)
		sum += g->width[i] ? g->width[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* Notes begin under the column note_col, and go on there. */
static void print_note(const struct grid *g, const char *s, unsigned width, struct str *out)
{
	struct str indent = STR_INIT;
	unsigned i;

	for (i = 0; i < g->note_col; i++)
		str_add_pad(&indent, ' ', g->width[i] ? g->width[i] + 1 : 0);
	text_wrap(out, str_get(&indent), str_get(&indent), s, width);
	str_done(&indent);
}

static void print_cells(const struct grid *g, const struct grid_line *line, struct str *out)
{
	size_t blank = 0, end;
	bool first = true;
	unsigned c;

	for (c = 0; c < g->columns; c++) {
		const char *s = line->cell[c] ? line->cell[c] : "";
		size_t pad = g->width[c] - (g->width[c] ? str_width(s) : 0);

		if (!g->width[c])
			continue;
		blank += !first;
		first = false;
		if (g->right[c])
			blank += pad;
		end = g->right[c] ? 0 : pad;
		if (*s) {
			str_add_pad(out, ' ', blank);
			str_add(out, s);
			blank = 0;
		}
		blank += end;
	}
	str_add_c(out, '\n');
}

void grid_print(const struct grid *g, unsigned width, struct str *out)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->line[i].note)
			print_note(g, g->line[i].note, width, out);
		else
			print_cells(g, &g->line[i], out);
	}
}

void grid_done(struct grid *g)
{
	arena_done(&g->arena);
}
