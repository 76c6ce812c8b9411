/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands around the tables of profiles; shared by the files that print them as text. */
#ifndef KDELTA_RENDER_PROFILE_NOTES_H
#define KDELTA_RENDER_PROFILE_NOTES_H

#include "render/internal.h"
#include "render/profile.h"

/* `v` with so many decimals; where that would be 0 and it is not, with more, or as "<.001". */
void profile_number(double v, unsigned decimals, bool sign, char buf[24]);
/* Which windows a table covers, and how many. */
void profile_coverage(const struct profile_report *r, const struct profile_table *t,
		      struct str *out);
/* "total" is a word of the tables: a symbol of that name must not pass for it. */
void profile_symbol_name(const char *name, const char *module, struct str *out);
/* Why no difference is called real. */
const char *profile_unjudged_text(const struct profile_table *t);
/* What was left out of a table, what it covers, likely renames. */
void profile_notes(const struct profile_table *t, const struct profile_show *s,
		   const struct profile_rows *rows, struct notes *n);
/* What the words mean, and what a profile does not say: once, below all tables. */
void profile_legend(const struct profile_report *r, const struct profile_show *s, struct str *out);

#endif
