/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debian:RELEASE[=PACKAGE-VERSION]: the package out of the cache, or through apt into it. */
#ifndef KDELTA_IMAGE_DEBIAN_H
#define KDELTA_IMAGE_DEBIAN_H

#include <stddef.h>

#include "base/error.h"
#include "image/progress.h"

/*
 * The bytes of the package, and the path of its file in the cache; the caller frees both. What apt
 * offers decides which version is meant; when apt does not offer the release any more, or is
 * absent, the newest version in the cache is taken. The error of a release that is nowhere names
 * close ones, that of a version the versions that there are (-ENOENT).
 */
int debian_fetch(const char *what, const char *cache_dir, const struct image_progress *progress,
		 char **ret_path, char **ret_data, size_t *ret_len, struct error *e);
/*
 * Up to `max` of the releases, given in ascending order, that are close to the one asked for:
 * same flavour and series if there are any, else same flavour, else any. "a, b, c"; caller frees.
 */
char *debian_close_releases(const char *release, const char *const *offered, size_t n, size_t max);

#endif
