/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *check(void *p)
{
	if (!p) {
		fputs("kdelta: out of memory\n", stderr);
		exit(3);
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return check(calloc(1, size ? size : 1));
}

void *mem_array(size_t n, size_t size)
{
	return check(calloc(n ? n : 1, size ? size : 1));
}

void *mem_resize(void *p, size_t n, size_t size)
{
	return check(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *mem_strdup(const char *s)
{
	return s ? check(strdup(s)) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
	return s ? check(strndup(s, n)) : NULL;
}

void *mem_dup(const void *p, size_t size)
{
	void *d = mem_alloc(size);

	if (size)
		memcpy(d, p, size);
	return d;
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return check(s);
}

void *mem_grow(void *items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 8;
	return mem_resize(items, *cap, size);
}

void mem_free_ptr(void *p)
{
	void *m;

	memcpy(&m, p, sizeof(m));
	free(m);
}

void mem_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
