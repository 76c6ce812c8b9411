/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of exact mode and their differences as text, CSV, JSON, folded lines, and in the two
 * forms of 2003 (diffprofile, and the profile of one kernel). No I/O. All numbers are instructions
 * or calls per operation; which windows they cover is said. Names are escaped as render_safe() does
 * in all but CSV and JSON. The man page kdelta-profile(1) tells the forms to people.
 */
#ifndef KDELTA_RENDER_PROFILE_H
#define KDELTA_RENDER_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "compare/compare.h"
#include "model/dataset.h"
#include "profile/profile.h"

/* One point of one kernel, or of a pair. */
struct profile_table {
	const struct profile_point *point;
	const struct ds_kernel *base, *new; /* new NULL: one kernel */
	const struct profile *profile;	    /* of one kernel; NULL: a pair, or missing */
	const struct profile_diff *diff;    /* of a pair */
	const char *missing;		    /* why there is neither; NULL: there is */
	/* Of the metric, where it is known: its regimes. NULL: not. */
	const struct compare_value *base_value, *new_value;
};

struct profile_report {
	enum profile_windows windows;
	const struct profile_table *tables;
	size_t n;
};

struct profile_show {
	unsigned width;	     /* columns of text; names are never cut */
	double min;	     /* rows under it (differences; of one kernel: figures) are left out */
	unsigned top;	     /* so many rows, the largest; 0: all */
	bool all;	     /* also what is the same, and what is within perturbation */
	const char *callers; /* of this symbol instead; NULL */
};

#define PROFILE_SHOW_INIT                                                                          \
	{                                                                                          \
		.width = 80                                                                        \
	}

void render_profile_text(const struct profile_report *r, const struct profile_show *s,
			 struct str *out);
/* 2003's forms; min 0 is 1 here: numbers are rounded to whole ones. */
void render_profile_classic(const struct profile_report *r, const struct profile_show *s,
			    struct str *out);
/*
 * Lines for flame graph tools: "WORKLOAD;SYMBOL N" of one kernel, "WORKLOAD;SYMBOL A B" of a pair
 * (as difffolded.pl writes it). min and top apply.
 */
void render_profile_folded(const struct profile_report *r, const struct profile_show *s,
			   struct str *out);
/* RFC 4180; a total a table, and a line "left_out" where min or top cut rows. */
void render_profile_csv(const struct profile_report *r, const struct profile_show *s,
			struct str *out);
void render_profile_json(const struct profile_report *r, const struct profile_show *s,
			 struct str *out);

/* ---- which rows (profile_rows.c); for the functions above ---- */

struct profile_cut {
	size_t rows;
	double sum; /* of what is cut: differences, or figures */
};

struct profile_rows {
	/* Of a pair in the order of diff->rows; of one kernel (base only) largest first. */
	const struct profile_delta *const *rows, *const *spin; /* spin: only where cpus > 1 */
	size_t n, n_spin;
	struct profile_cut same, within, under, beyond; /* beyond: --top */
};
/* The rows of a table that has some. Rows of one kernel have the figure as `diff`. */
void profile_rows_make(const struct profile_table *t, const struct profile_show *s, struct arena *a,
		       struct profile_rows *ret);

struct profile_caller {
	const char *name, *module; /* PROFILE_POINTER and PROFILE_MIDDLE last */
	double base, new;	   /* calls per op; of one kernel: base */
};
struct profile_callers {
	struct profile_caller *list; /* most added (of one kernel: most) first */
	size_t n;
	double base, new;     /* all calls */
	bool in_base, in_new; /* it runs there */
};
/* What no direct call explains; and jumps that are no calls, to be taken off (below 0). */
#define PROFILE_POINTER "[through a pointer]"
#define PROFILE_MIDDLE	"[into its middle]"
void profile_callers_make(const struct profile_table *t, const char *symbol, struct arena *a,
			  struct profile_callers *ret);

/* "getppid", "ctx:procs=2,size=0". */
void profile_point_name(const struct profile_point *p, struct str *out);
/* "typical: windows without interrupts", "total: all windows"; of several CPUs no interrupt is
 * known. */
const char *profile_windows_text(enum profile_windows w, unsigned cpus);
/* "name", or "name [module]" */
void profile_name(const char *name, const char *module, struct str *out);

#endif
