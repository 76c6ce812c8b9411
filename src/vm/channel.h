/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines out of a byte stream that arrives in pieces of any size (a 16550 gives them one by one).
 * Memory is bounded: a line longer than `max` is dropped as a whole and counted.
 */
#ifndef KDELTA_VM_CHANNEL_H
#define KDELTA_VM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct channel {
	struct str buf; /* the line so far */
	size_t max;	/* bytes of a line, without its end */
	bool dropping;	/* inside an overlong line */
	uint64_t overlong;
};

void channel_init(struct channel *c, size_t max);
/* Calls `line` for each line that ends in these bytes: no \n or \r\n, a NUL behind, not empty. */
void channel_feed(struct channel *c, const char *data, size_t len,
		  void (*line)(void *arg, const char *line, size_t len), void *arg);
/* Has a line begun that did not end? */
bool channel_torn(const struct channel *c);
void channel_done(struct channel *c);

#endif
