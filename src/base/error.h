/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What went wrong, in one line that a person can act on.
 *
 * A function that can fail returns 0 or -errno and takes a `struct error *` as its last parameter
 * (NULL is allowed: the caller does not care). The first cause wins: error_set() on an error that
 * is already set changes nothing but still returns the first code. error_prefix() adds where.
 */
#ifndef KDELTA_BASE_ERROR_H
#define KDELTA_BASE_ERROR_H

#include <stdbool.h>

struct error {
	int code;	 /* a positive errno value; 0: no error */
	char text[1000]; /* one line: control characters become '?' */
};

#define ERROR_INIT                                                                                 \
	{                                                                                          \
		0, ""                                                                              \
	}

/* Sets code (a positive errno) and the text; returns -code of the first cause. */
int error_set(struct error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with ": " and strerror(code) behind the text. */
int error_errno(struct error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Puts "WHERE: " before the text of an error that is set. Returns -code; -EINVAL for NULL, so that
 * `return error_prefix(e, ...)` fails whether or not the caller wants words.
 */
int error_prefix(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool error_is_set(const struct error *e);
void error_clear(struct error *e);

#endif
