/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocation that does not fail, and cleanup by attribute.
 *
 * A kdelta process that cannot get a few KiB can do nothing useful: these say "out of memory" on
 * stderr and exit with code 3 (what is stored stays). Memory that a workload needs for its work is
 * not allocated here: a workload checks and returns -ENOMEM.
 */
#ifndef KDELTA_BASE_MEM_H
#define KDELTA_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc)); /* zeroed; free() it */
void *mem_array(size_t n, size_t size) __attribute__((malloc));
void *mem_resize(void *p, size_t n, size_t size); /* new part not zeroed */
char *mem_strdup(const char *s);		  /* NULL gives NULL */
char *mem_strndup(const char *s, size_t n);
void *mem_dup(const void *p, size_t size);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes room for one more element in a growing array: `items` holds *n, room for *cap.
 * Returns the array, perhaps moved; the caller stores it and uses items[(*n)++].
 */
void *mem_grow(void *items, size_t n, size_t *cap, size_t size);

void mem_free_ptr(void *p); /* for CLEANUP_FREE */
void mem_close_fd(int *fd); /* for CLEANUP_CLOSE; ignores -1, keeps errno */

#define CLEANUP(fn)   __attribute__((cleanup(fn)))
#define CLEANUP_FREE  __attribute__((cleanup(mem_free_ptr)))
#define CLEANUP_CLOSE __attribute__((cleanup(mem_close_fd)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
