/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share. Strings in the structs live in their arena and are safe. */
#ifndef KDELTA_RENDER_INTERNAL_H
#define KDELTA_RENDER_INTERNAL_H

#include "base/unit.h"
#include "render/render.h"

/* Lines of one kind. */
struct notes {
	struct arena arena;
	const char **line;
	size_t n, cap;
};

#define NOTES_INIT                                                                                 \
	{                                                                                          \
		.arena = ARENA_INIT                                                                \
	}

void notes_add(struct notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes a whole line from b, made safe, and empties b. */
void notes_take(struct notes *notes, struct str *b);
void notes_done(struct notes *notes);

/* before.c: what stands above the tables. */
void notes_warnings(const struct comparison *c, struct notes *ret);
void notes_kernels(const struct comparison *c, struct notes *ret);
void notes_differences(const struct comparison *c, unsigned most, struct notes *ret);
/* after.c: what stands below them. */
void notes_unmatched(const struct comparison *c, unsigned most, struct notes *ret);
void notes_failures(const struct comparison *c, unsigned most, bool skips, struct notes *ret);
void notes_summary(const struct comparison *c, struct notes *ret);
/* flags.c: letters of the flags that not all pairs have; the explanations (l NULL: no letters). */
struct flag_letters {
	char letter[COMPARE_FLAGS]; /* 0: none */
	unsigned common;	    /* bits that all pairs have */
};
void flags_letter(const struct comparison *c, struct flag_letters *ret);
void notes_flags(const struct comparison *c, const struct flag_letters *l, unsigned most,
		 struct notes *ret);

/*
 * One table: rows of one family, unit, direction, class and context. Exact ones have all metrics
 * of a workload in one table, those of one point one after the other, the headline first.
 */
struct table {
	size_t *rows; /* into comparison.rows */
	const char **names;
	size_t n;
	const char *title; /* "ipc, place=same - latency in us - smaller is better" */
	struct unit_scale scale;
	bool exact;
};

struct tables {
	struct arena arena;
	struct table *t;
	size_t n, cap;
};

void tables_make(const struct comparison *c, struct tables *ret);
void tables_done(struct tables *t);
/* The full name of a row in one line: "ctx procs=2,size=0 latency". */
void table_row_name(const struct compare_row *r, struct str *out);

/* Cells; each clears out first. */
const char *kernel_short(const struct comparison *c, unsigned kernel, struct str *out);
void cell_number(double v, const struct unit_scale *scale, struct str *out);
void cell_value(const struct compare_value *v, const struct unit_scale *scale, struct str *out);
void cell_cv(const struct compare_value *v, bool all, struct str *out);
void cell_ratio(const struct compare_row *r, const struct compare_pair *p,
		const struct unit_scale *scale, struct str *out);
void cell_interval(const struct compare_row *r, const struct compare_pair *p,
		   const struct unit_scale *scale, struct str *out);
void cell_p(double p, struct str *out);
void cell_mark(const struct compare_pair *p, struct str *out);
void cell_flags(const struct compare_pair *p, const struct flag_letters *l, struct str *out);
const struct compare_pair *pair_of(const struct compare_row *r, unsigned kernel);
/* "2 %" */
const char *margin_text(double margin, char buf[16]);
/* "better", ..., NULL for none */
const char *verdict_word(enum verdict v);

/* exact.c: what exact rows have instead of ratio, interval and mark. */
void exact_table(const struct comparison *c, const struct render_options *o, const struct table *t,
		 const struct flag_letters *l, struct str *out);
void exact_legend(const struct comparison *c, unsigned width, struct str *out);
void exact_summary(const struct comparison *c, struct notes *ret);
bool has_exact(const struct comparison *c);
/* Are these two rows numbers of one point of one workload? */
bool exact_same_point(const struct compare_row *a, const struct compare_row *b);
/* Cells as above; numbers with their unit divided by nothing. */
void cell_exact_value(const struct compare_value *v, struct str *out);
void cell_exact_range(const struct compare_value *v, struct str *out);
void cell_exact_diff(const struct compare_pair *p, struct str *out);
void cell_exact_percent(const struct compare_pair *p, struct str *out);
/* "2 regimes: 10524.0 in 12 % of the batches, 2.00 switches per op; ..." */
void cell_exact_modes(const struct compare_value *v, struct str *out);
/* "do_syscall_64 +1.0, exit_to_user_mode_prepare +1.0" */
void cell_exact_top(const struct compare_pair *p, struct str *out);

/* grid.c: a table as text. Start with { .columns = N, .right = ... }. */
#define GRID_COLUMNS 12

struct grid_line {
	const char *cell[GRID_COLUMNS];
	const char *note; /* a line of its own instead, wrapped */
};

struct grid {
	struct arena arena;
	unsigned columns, note_col;
	const bool *right; /* which are aligned so */
	struct grid_line *line;
	size_t n, cap;
	size_t width[GRID_COLUMNS]; /* 0: not shown */
};

void grid_line(struct grid *g);
void grid_set(struct grid *g, unsigned col, const char *s); /* in the last line */
void grid_note(struct grid *g, const char *s);
void grid_head(struct grid *g, const char *const *heads); /* when all else is there */
size_t grid_width(const struct grid *g);
void grid_print(const struct grid *g, unsigned width, struct str *out);
void grid_done(struct grid *g);

/* text.c: used by results.c as well. */
void text_wrap(struct str *out, const char *first, const char *rest, const char *s, unsigned width);
void text_notes(struct str *out, const char *title, const struct notes *notes, unsigned width);
void text_tables(const struct comparison *c, const struct render_options *o,
		 const struct flag_letters *l, struct str *out);

#endif
