/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_SIZE 16384u

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->head;
	size_t want = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	void *p;

	if (want < size)
		return mem_array(SIZE_MAX, 2); /* says "out of memory" */
	if (!b || b->size - b->used < want) {
		size_t room = want > BLOCK_SIZE ? want : BLOCK_SIZE;

		b = mem_alloc(sizeof(*b) + room);
		b->size = room;
		b->next = a->head;
		a->head = b;
	}
	p = b->data + b->used;
	b->used += want;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return mem_array(n, size);
	return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p;

	if (!s)
		return NULL;
	n = strnlen(s, n);
	p = arena_alloc(a, n + 1);
	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_alloc(a, n > 0 ? (size_t)n + 1 : 1);
	if (n > 0)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 8;
	p = arena_array(a, *cap, size);
	if (n)
		memcpy(p, items, n * size);
	return p;
}

void arena_done(struct arena *a)
{
	struct arena_block *b;

	if (!a)
		return;
	while ((b = a->head)) {
		a->head = b->next;
		free(b);
	}
}
