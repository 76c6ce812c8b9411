/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing string, and small tests on strings. A `struct str` starts as STR_INIT; `s` is always
 * a valid C string once something was added (NULL before); str_done() frees it.
 */
#ifndef KDELTA_BASE_STR_H
#define KDELTA_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct str {
	char *s;
	size_t len, cap;
};

#define STR_INIT                                                                                   \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

void str_add(struct str *b, const char *s);
void str_add_n(struct str *b, const char *s, size_t n);
void str_add_c(struct str *b, char c);
void str_add_pad(struct str *b, char c, size_t n); /* n times c */
void str_printf(struct str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_reset(struct str *b);
char *str_take(struct str *b);		  /* the caller frees; never NULL; b is empty after */
const char *str_get(const struct str *b); /* never NULL */
void str_done(struct str *b);

bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Cuts white space at both ends in place; returns its start. */
char *str_trim(char *s);
/* Columns a UTF-8 string takes, counting each code point as one. */
size_t str_width(const char *s);
/*
 * Orders version strings as kernels number them: numbers by value, `-rcN` before the release,
 * `6.18 < 6.18+ < 6.18.1`, unknown suffixes by byte. Total: 0 only for equal bytes.
 */
int str_version_cmp(const char *a, const char *b);

#endif
