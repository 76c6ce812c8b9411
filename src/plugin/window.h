/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The windows between markers, and the text that is left of them: docs/adr/0002-exact.md. */
#ifndef KDELTA_PLUGIN_WINDOW_H
#define KDELTA_PLUGIN_WINDOW_H

#include <stdbool.h>

#include "plugin/context.h"
#include "plugin/table.h"

enum marker {
	MARKER_OPEN_BATCH = 1,
	MARKER_CLOSE_BATCH,
	MARKER_OPEN_OVERHEAD,
	MARKER_CLOSE_OVERHEAD,
	MARKER_FINISH,
	MARKER_COUNT,
};

struct windows {
	struct table *table;
	struct contexts *contexts; /* NULL: not told apart */
	enum marker open;	   /* which opened the window that is open, or 0 */
	struct window_line *list;
	size_t n, room;
};

/*
 * MARKER_OPEN_*, MARKER_CLOSE_*; the others do nothing here. What closes no window of its kind is
 * ignored; what opens one while another is open abandons that. 0 or -errno; -EPROTO: the counts
 * contradict each other.
 */
int windows_mark(struct windows *w, enum marker m);

/* Frees the list alone. */
void windows_done(struct windows *w);

/* All of it, `end` included, written to fd. 0 or -errno. */
int windows_write(const struct windows *w, unsigned api, int fd);

#endif
