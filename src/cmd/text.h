/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of the commands that list things: escaped, wrapped, in tables of at most 80 columns where
 * the data allow. Nothing is ever cut: what does not fit gets a line of its own or is longer.
 */
#ifndef KDELTA_CMD_TEXT_H
#define KDELTA_CMD_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define CMD_WIDTH 80u

/* Appends s, made safe for a terminal, and blanks up to `width` columns; returns its columns. */
size_t cmd_cell(struct str *out, const char *s, size_t width);
/*
 * Appends the words of s, made safe, and a newline. The line is at `column` already; lines that
 * follow are indented by as much.
 */
void cmd_wrap(struct str *out, size_t column, const char *s);

struct cmd_table {
	const char *const *heads; /* "<name": to the left, ">name": to the right; NULL at the end */
	size_t n;		  /* rows */
	/* Borrowed; rows * columns; NULL is shown as "-". */
	const char *const *cells;
	const char *const *notes; /* a line below a row; NULL: none, also where all have none */
};
/* The first column gets a line of its own where it is too wide for the others. */
void cmd_table(struct str *out, const struct cmd_table *t);

/* Of nanoseconds since 1970: "2025-11-30 16:31" in local time; 0 is "-". */
void cmd_when(uint64_t ns, char buf[32]);
/* "2025-11-30T15:31:05Z"; 0 is null. */
json_t *cmd_when_json(uint64_t ns);
/* Prints an indented JSON value; takes `j`. */
int cmd_print_json(json_t *j, int code);

#endif
