/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading what the kernel tells about itself in /proc and /sys, where anything may be missing,
 * unreadable, of the wrong kind or wrong. Every path is absolute and is looked up below the
 * source's root, so that tests bring a tree of their own. Errors name the path without the root.
 *
 * Only regular files are read (those of /proc and /sys are): nothing here can block on a pipe or
 * a terminal. No function takes a missing value for 0.
 */
#ifndef KDELTA_FACTS_SOURCE_H
#define KDELTA_FACTS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"
#include "base/error.h"

struct facts_source {
	const char *root; /* "" in production; without a slash at its end */
};

/* The bytes of a file of at most `max`; caller frees. -EFBIG if it is longer, -EISDIR, -errno. */
int source_bytes(const struct facts_source *src, const char *path, size_t max, char **ret_data,
		 size_t *ret_len, struct error *e);
/* The same for text: -EILSEQ if there is a NUL in it. */
int source_text(const struct facts_source *src, const char *path, size_t max, char **ret_text,
		struct error *e);
/* Text, of which only the whole lines within the first `max` bytes are read. */
int source_head(const struct facts_source *src, const char *path, size_t max, char **ret_text,
		struct error *e);
/*
 * First line of a file of at most SOURCE_LINE_MAX bytes, trimmed; caller frees. NULL with the
 * reason if it cannot be read or holds control characters. An empty file gives "".
 */
#define SOURCE_LINE_MAX 16384u
char *source_line(const struct facts_source *src, struct error *e, const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A file that holds one whole number. */
int source_u64(const struct facts_source *src, uint64_t *ret, struct error *e, const char *path_fmt,
	       ...) __attribute__((format(printf, 4, 5)));
/* 1: there is something of that name, 0: there is not, -errno: cannot tell. */
int source_exists(const struct facts_source *src, const char *path);
/* Names in a folder without those that start with a dot, sorted; source_names_free() them. */
int source_names(const struct facts_source *src, const char *path, char ***ret_names, size_t *ret_n,
		 struct error *e);
void source_names_free(char **names, size_t n);

/*
 * The value of the first line "KEY: VALUE" (sep ':', blanks before the colon allowed) or
 * "KEY VALUE" (sep ' '), trimmed; caller frees. NULL if there is no such line.
 */
char *source_field(const char *text, const char *key, char sep);
/* The same as a whole number, of which a unit may follow ("123 kB"). */
bool source_field_u64(const char *text, const char *key, char sep, uint64_t *ret);

/*
 * The CPUs that this process may run on: sched_getaffinity(2), which needs no file; in a tree of
 * a test, Cpus_allowed_list of /proc/self/status.
 */
int source_cpus_allowed(const struct facts_source *src, struct cpulist *ret, struct error *e);
/*
 * Name of the current clock source; NULL with the reason. "tsc-early" is told as "tsc": the same
 * counter, before the kernel has refined its frequency, in the first seconds of every boot.
 */
char *source_clocksource(const struct facts_source *src, struct error *e);

#endif
