/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runner's side of include/kdelta.h: memory that a program writes its marks to, and what they
 * mean when it has ended. A program can write anything there, so nothing of it is believed.
 */
#ifndef KDELTA_WORKLOADS_CMD_MARKS_H
#define KDELTA_WORKLOADS_CMD_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MARKS_WINDOWS 262144u /* that there is room for; more are counted, and lost */
#define MARKS_NUMBERS 16u

struct marks {
	int fd;
	void *page;
	size_t size;
	char env[64]; /* "KDELTA_WINDOWS=DESCRIPTOR,PATH", for the program */
};

struct marks_window {
	uint64_t ns;
	unsigned number;
};

struct marks_windows {
	struct marks_window *items; /* of one thread in its order; free() it */
	size_t n;
	uint64_t lost; /* further windows */
};

/* Fresh memory with room for `windows`; marks_close() it. Before the first: MARKS_NONE. */
#define MARKS_NONE                                                                                 \
	{                                                                                          \
		.fd = -1                                                                           \
	}
int marks_open(struct marks *m, size_t windows, struct error *e);
void marks_close(struct marks *m);
/*
 * The windows that were marked, perhaps none. Nobody may write any more. -EBADMSG with words:
 * started twice, nested, stopped without a start or never, not written whole, not marks at all.
 */
int marks_read(const void *page, size_t size, struct marks_windows *ret, struct error *e);

#endif
