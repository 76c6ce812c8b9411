/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files and whole writes: short reads, short writes and EINTR are dealt with here. */
#ifndef KDELTA_BASE_FILE_H
#define KDELTA_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Reads a whole file (also of /proc or /sys, whose size is unknown) of at most `max` bytes into a
 * buffer that the caller frees; a NUL stands behind it. -EFBIG if it is longer.
 */
int file_read(const char *path, size_t max, char **ret_data, size_t *ret_len, struct error *e);
int file_read_fd(int fd, const char *name, size_t max, char **ret_data, size_t *ret_len,
		 struct error *e);
/* First line of a small file, trimmed, for facts: NULL if it cannot be read. Caller frees. */
char *file_line(const char *path);
/* Writes all of it, or fails. */
int file_write_fd(int fd, const void *data, size_t len, struct error *e);
/* Writes beside PATH, fsyncs, renames over it: the file is old or new, never half. */
int file_replace(const char *path, const void *data, size_t len, struct error *e);
/* mkdir -p, mode 0777 less the umask. */
int file_mkdirs(const char *path, struct error *e);
/* A sealed-off anonymous file that holds these bytes; ret_fd has FD_CLOEXEC. */
int file_memfd(const char *name, const void *data, size_t len, int *ret_fd, struct error *e);
/* DIR/NAME where DIR is the folder of the running executable. Caller frees; NULL if unknown. */
char *file_beside_self(const char *name);

#endif
