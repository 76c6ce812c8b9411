/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison as text to paste into a mail, Markdown, CSV or JSON. Each function appends to a
 * string and does no I/O. docs/compare.md says how to read the table.
 *
 * The locale is not asked: the decimal sign is a point. What a person or a kernel named (labels,
 * versions, reasons) is escaped in text and Markdown where it holds control characters, directional
 * overrides or bytes that are not UTF-8; CSV and JSON keep it, by their own rules. A missing number
 * is "-" (text, md), an empty field (csv) or null (json).
 */
#ifndef KDELTA_RENDER_RENDER_H
#define KDELTA_RENDER_RENDER_H

#include "base/str.h"
#include "compare/compare.h"

struct render_options {
	unsigned width; /* columns of text; tables drop columns to keep it, names are never cut */
	unsigned most;	/* lines of one kind of difference, failure or detail; 0: all */
};

#define RENDER_OPTIONS_INIT                                                                        \
	{                                                                                          \
		.width = 80, .most = 20                                                            \
	}

void render_text(const struct comparison *c, const struct render_options *o, struct str *out);
/* GitHub's tables. */
void render_md(const struct comparison *c, const struct render_options *o, struct str *out);
/* RFC 4180, a header, then one line a row and pair; a row without a pair has one, too. */
void render_csv(const struct comparison *c, struct str *out);
/* docs/compare.schema.json; one object with a newline behind it. */
void render_json(const struct comparison *c, struct str *out);
/*
 * The values of kernels without comparing them, as after `kdelta run`: pass a comparison of one
 * kernel. `next` (lines a person may type, each a command) ends with NULL; may be NULL.
 */
void render_results(const struct comparison *c, const struct render_options *o,
		    const char *const *next, struct str *out);

/* Appends s with what a terminal would obey instead of show as \xNN or \u{NNNN}. */
void render_safe(struct str *out, const char *s);

#endif
