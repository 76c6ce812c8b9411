/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompression of bytes in memory, by libarchive: gzip, bzip2, xz, lzma, zstd, and lz4 in the
 * "legacy" frames that the kernel's build writes. Only decoders that are inside the library are
 * registered: nothing here starts a program.
 */
#ifndef KDELTA_IMAGE_UNPACK_H
#define KDELTA_IMAGE_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct archive;

/* Registers the decoders with an archive_read_new(3). */
void unpack_filters(struct archive *a);
/*
 * Unpacks one compressed stream; what stands behind it is not looked at. The caller frees.
 * -EINVAL when the format is unknown or the data are damaged, -EFBIG above `max` bytes.
 */
int unpack_stream(const uint8_t *data, size_t len, size_t max, uint8_t **ret_data, size_t *ret_len,
		  struct error *e);
/* Reads the current entry of an archive to its end, under the same rules. A NUL stands behind. */
int unpack_entry(struct archive *a, size_t max, uint8_t **ret_data, size_t *ret_len,
		 struct error *e);

#endif
