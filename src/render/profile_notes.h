/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands around the tables of profiles; shared by the files that print them as text. */
#ifndef KDELTA_RENDER_PROFILE_NOTES_H
#define KDELTA_RENDER_PROFILE_NOTES_H

#include "render/internal.h"
#include "render/profile.h"

/* `v` with so many decimals; where that would be 0 and it is not, with more, or as "<.001". */
void profile_number(double v, unsigned decimals, bool sign, char buf[24]);
/* What was left out of a table, what it covers, likely renames. */
void profile_notes(const struct profile_report *r, const struct profile_table *t,
		   const struct profile_show *s, const struct profile_rows *rows, struct notes *n);
/* What the words mean, and what a profile does not say: once, below all tables. */
void profile_legend(const struct profile_report *r, const struct profile_show *s, struct str *out);

#endif
