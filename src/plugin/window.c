/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct window_line {
	bool overhead;
	struct table_sums sums;
	struct context_sums by;
};

static int open_window(struct windows *w, enum marker m)
{
	int r = table_open(w->table);

	if (r)
		return r;
	if (w->contexts)
		contexts_open(w->contexts);
	w->open = m;
	return 0;
}

static struct window_line *add_window(struct windows *w)
{
	struct window_line *list = w->list;

	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		list = realloc(list, w->room * sizeof(*list));
		if (!list)
			return NULL;
		w->list = list;
	}
	return &list[w->n++];
}

static uint64_t total(const struct context_sums *by)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < CONTEXTS; i++)
		sum += by->instructions[i];
	return sum;
}

static int close_window(struct windows *w)
{
	struct window_line *line = add_window(w);
	int kind = -1;

	if (!line)
		return -ENOMEM;
	*line = (struct window_line){ .overhead = w->open == MARKER_OPEN_OVERHEAD };
	if (w->contexts)
		contexts_close(w->contexts, &line->by);
	if (!line->overhead)
		kind = line->by.interrupts || line->by.instructions[CONTEXT_HARDIRQ] ||
				       line->by.instructions[CONTEXT_KWORKER]
			       ? TABLE_OTHER
			       : TABLE_CLEAN;
	table_close(w->table, kind, &line->sums);
	if (!w->contexts)
		line->by.instructions[CONTEXT_TASK] = line->sums.kernel + line->sums.user;
	w->open = 0;
	return total(&line->by) == line->sums.kernel + line->sums.user ? 0 : -EPROTO;
}

int windows_mark(struct windows *w, enum marker m)
{
	switch (m) {
	case MARKER_OPEN_BATCH:
	case MARKER_OPEN_OVERHEAD:
		return open_window(w, m);
	case MARKER_CLOSE_BATCH:
		return w->open == MARKER_OPEN_BATCH ? close_window(w) : 0;
	case MARKER_CLOSE_OVERHEAD:
		return w->open == MARKER_OPEN_OVERHEAD ? close_window(w) : 0;
	case MARKER_FINISH:
	case MARKER_COUNT:
		break;
	}
	return 0;
}

void windows_done(struct windows *w)
{
	free(w->list);
	w->list = NULL;
	w->n = w->room = 0;
}

static void print_window(FILE *f, const struct window_line *w)
{
	unsigned i;

	fprintf(f, "window %s", w->overhead ? "overhead" : "batch");
	for (i = 0; i < CONTEXTS; i++)
		fprintf(f, " %" PRIu64, w->by.instructions[i]);
	fprintf(f, " %" PRIu64 " %" PRIu64 " %" PRIu64, w->sums.kernel, w->sums.user,
		w->sums.rep_iterations);
	fprintf(f, " %" PRIu64 " %" PRIu64 "\n", w->by.interrupts, w->by.switches);
}

static void print_line(FILE *f, const struct table_line *l)
{
	fprintf(f, "count %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, l->addr,
		l->count[TABLE_CLEAN], l->count[TABLE_OTHER], l->rep[TABLE_CLEAN],
		l->rep[TABLE_OTHER]);
	if (l->target)
		fprintf(f, " %" PRIx64 "\n", l->target);
	else
		fputs(" -\n", f);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int windows_write(const struct windows *w, unsigned api, int fd)
{
	struct table_line *lines = NULL;
	char *text = NULL;
	size_t len = 0, n = 0, i;
	FILE *f;
	int r = table_lines(w->table, &lines, &n);

	f = r ? NULL : open_memstream(&text, &len);
	if (f) {
		fprintf(f, "kdelta-plugin 1 api %u contexts %s\n", api, w->contexts ? "yes" : "no");
		for (i = 0; i < w->n; i++)
			print_window(f, &w->list[i]);
		for (i = 0; i < n; i++)
			print_line(f, &lines[i]);
		fputs("end\n", f);
		r = ferror(f) ? -ENOMEM : 0;
		if (fclose(f) && !r)
			r = -ENOMEM;
	} else if (!r) {
		r = -ENOMEM;
	}
	if (!r)
		r = write_all(fd, text, len);
	free(text);
	free(lines);
	return r;
}
