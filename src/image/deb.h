/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Debian package of a kernel, as bytes in memory.
 * Source: deb(5): an ar(5) archive of debian-binary, control.tar[.xz|.zst|.gz] and
 * data.tar[.xz|.zst|.gz|.bz2|.lzma]. The members must all be there whole: a package that was cut
 * short is refused even where the part with the kernel is intact.
 * Foreign bytes: nothing outside of them is read, nothing is written to disk, no name is trusted.
 */
#ifndef KDELTA_IMAGE_DEB_H
#define KDELTA_IMAGE_DEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct deb {
	char *package, *version; /* from the control file; NULL if it does not say */
	char *kernel_name;	 /* "boot/vmlinuz-6.1.0-55-cloud-amd64" */
	uint8_t *kernel;
	size_t kernel_len;
	char *config; /* text; NULL if the package has none */
};

bool deb_is(const uint8_t *data, size_t len); /* begins as an ar archive does */
/*
 * Looks for boot/vmlinuz-*, [usr/]lib/modules/RELEASE/vmlinuz or usr/lib/kernel/.../vmlinuz*, and
 * the config beside them. `max` bounds the kernel's size in bytes. -EINVAL with the reason.
 */
int deb_read(const uint8_t *data, size_t len, size_t max, struct deb *ret_deb, struct error *e);
void deb_done(struct deb *deb);

struct deb_visitor {
	/* Shall this file, of `size` bytes, be unpacked? `name` is without a leading "./". */
	bool (*want)(void *arg, const char *name, uint64_t size);
	/*
	 * Here it is. It may take `*data` (set to NULL then) to free it; a NUL stands behind.
	 * 0: go on; 1: that was enough; or an error.
	 */
	int (*take)(void *arg, const char *name, uint8_t **data, size_t len, struct error *e);
	void *arg;
	size_t max; /* bytes of one file */
};
/* Goes once through the files of the package, in their order. 0 or an error, also of `take`. */
int deb_visit(const uint8_t *data, size_t len, const struct deb_visitor *v, struct error *e);

#endif
