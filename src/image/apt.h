/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What apt offers: asked through apt-cache(8), fetched through apt-get(8) download, as this user.
 * The package lists are never updated and nothing is installed. Kernel images are the packages
 * linux-image-RELEASE (signed), linux-image-RELEASE-unsigned and linux-image-unsigned-RELEASE.
 */
#ifndef KDELTA_IMAGE_APT_H
#define KDELTA_IMAGE_APT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/progress.h"

struct apt_package {
	char *package, *version;
	char *release; /* "6.1.0-55-cloud-amd64" */
	char *sha256;  /* of the .deb, as the signed package lists have it; NULL if they do not */
	uint64_t size; /* of the .deb, bytes; 0 if unknown */
};

/* RELEASE out of a package's name; NULL when it is not a kernel image. The caller frees. */
char *apt_release(const char *package);
/*
 * Parses the output of `apt-cache show`: the kernel images of this architecture that can be
 * downloaded; meta, debug and template packages are left out. Adds to the array.
 */
void apt_parse_show(const char *text, struct apt_package **list, size_t *n, size_t *cap);
/* All that are offered, one a release (the signed one first), oldest first. -ENOSYS: no apt. */
int apt_list(struct apt_package **ret_list, size_t *ret_n, struct error *e);
/* 1: found; 0: not offered; -ENOSYS: no apt on this machine. `version` may be NULL. */
int apt_find(const char *release, const char *version, struct apt_package *ret_package,
	     struct error *e);
/*
 * The versions of a release that can be downloaded, "a, b", the newest first; NULL if there is
 * none, and without apt. The caller frees.
 */
char *apt_versions(const char *release);
/* Downloads into the folder `dir`, which holds nothing else. `progress` may be NULL. */
int apt_download(const struct apt_package *package, const char *dir,
		 const struct image_progress *progress, struct error *e);
void apt_package_done(struct apt_package *package);
void apt_list_free(struct apt_package *list, size_t n);

#endif
