/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of downloaded packages: files PACKAGE_VERSION_SHA256.deb (':' in a version as %3a).
 * A file comes in by rename(2), whole or not at all, and is checked against its name whenever it
 * is taken. Two processes may use the folder at once; anything in it may be deleted at any time.
 */
#ifndef KDELTA_IMAGE_CACHE_H
#define KDELTA_IMAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cache_entry {
	char *package, *version, *sha256;
	char *path;
	uint64_t size; /* bytes */
};

/* What is there, in no order; a folder that does not exist is empty. */
int cache_list(const char *dir, struct cache_entry **ret_list, size_t *ret_n, struct error *e);
void cache_list_free(struct cache_entry *list, size_t n);
/* All bytes, checked; the caller frees. -EBADMSG when they are not what the name says. */
int cache_read(const struct cache_entry *entry, char **ret_data, size_t *ret_len, struct error *e);
/*
 * A new empty folder inside for a download; removes what downloads left that were killed more than
 * a day ago. The caller frees the path and calls cache_scratch_remove().
 */
int cache_scratch(const char *dir, char **ret_path, struct error *e);
void cache_scratch_remove(const char *path);
/* Moves the file at `from`, whose SHA-256 was checked, in under its name; the caller frees that. */
int cache_add(const char *dir, const char *from, const char *package, const char *version,
	      const char *sha256, char **ret_path, struct error *e);

#endif
