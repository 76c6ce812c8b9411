/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

void unpack_filters(struct archive *a)
{
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_lz4(a);
}

int unpack_entry(struct archive *a, size_t max, uint8_t **ret_data, size_t *ret_len,
		 struct error *e)
{
	size_t len = 0, cap = 64u << 10;
	CLEANUP_FREE uint8_t *buf = mem_alloc(cap + 1);

	for (;;) {
		la_ssize_t n = archive_read_data(a, buf + len, cap - len);
		const char *why;

		if (n == ARCHIVE_RETRY)
			continue;
		if (n < 0) {
			why = archive_error_string(a);
			return error_set(e, EINVAL, "damaged or cut short: %s",
					 why ? why : "cannot be unpacked");
		}
		if (!n)
			break;
		len += (size_t)n;
		if (len > max)
			return error_set(e, EFBIG, "longer than %zu MiB when unpacked", max >> 20);
		if (len == cap) {
			cap *= 2;
			buf = mem_resize(buf, cap + 1, 1);
		}
	}
	buf[len] = '\0';
	*ret_data = buf;
	*ret_len = len;
	buf = NULL;
	return 0;
}

int unpack_stream(const uint8_t *data, size_t len, size_t max, uint8_t **ret_data, size_t *ret_len,
		  struct error *e)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	const char *why;
	int r;

	if (!a)
		return error_set(e, ENOMEM, "out of memory");
	unpack_filters(a);
	archive_read_support_format_raw(a);
	if (archive_read_open_memory(a, data, len) == ARCHIVE_OK &&
	    archive_read_next_header(a, &entry) == ARCHIVE_OK &&
	    archive_filter_code(a, 0) != ARCHIVE_FILTER_NONE) {
		r = unpack_entry(a, max, ret_data, ret_len, e);
	} else {
		why = archive_error_string(a);
		r = error_set(e, EINVAL, "not compressed in a known way%s%s", why ? ": " : "",
			      why ? why : "");
	}
	archive_read_free(a);
	return r;
}
