/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text of several words as a list: split at white space; '...' holds anything but ', "..."
 * anything but ", with \" and \\ for those two; outside of quotes \ takes the next byte as it is.
 * Quotes may begin and end inside a word: a"b c"d is one. Nothing is expanded.
 */
#ifndef KDELTA_BASE_WORDS_H
#define KDELTA_BASE_WORDS_H

#include <stddef.h>

#include "base/error.h"

struct words {
	char **items; /* NULL behind the last; NULL itself where there is none */
	size_t n, cap;
};

/* -EINVAL: a quote that does not end, a \ at the end. words_done() in every case. */
int words_split(const char *text, struct words *ret, struct error *e);
void words_done(struct words *w);

#endif
