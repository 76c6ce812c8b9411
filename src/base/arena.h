/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that lives and dies together: what belongs to one dataset, plan or comparison is taken
 * from its arena and never freed alone. Start with ARENA_INIT; arena_done() frees all of it.
 */
#ifndef KDELTA_BASE_ARENA_H
#define KDELTA_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;
};

#define ARENA_INIT                                                                                 \
	{                                                                                          \
		NULL                                                                               \
	}

void *arena_alloc(struct arena *a, size_t size); /* zeroed */
void *arena_array(struct arena *a, size_t n, size_t size);
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As mem_grow(), within the arena: the old array stays behind until arena_done(). */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size);
void arena_done(struct arena *a);

#endif
