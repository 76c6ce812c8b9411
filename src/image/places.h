/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the parts of a kernel lie on this machine: image, configuration, modules.
 *
 * Installed kernels are sought below $KDELTA_ROOT (default: /), so that those of a mounted system
 * or of a chroot can be named, too: boot/vmlinuz-RELEASE with boot/config-RELEASE, or vmlinuz and
 * config in [usr/]lib/modules/RELEASE, whose kernel/ holds the modules. Sources: installkernel(8)
 * and Documentation/kbuild/kbuild.rst (INSTALL_PATH, modules.order, modules.builtin);
 * file-hierarchy(7).
 */
#ifndef KDELTA_IMAGE_PLACES_H
#define KDELTA_IMAGE_PLACES_H

#include <stddef.h>

#include "base/error.h"
#include "image/image.h"

struct place {
	char *kernel;
	char *config; /* text; NULL if there is none that the kernel was surely built with */
	enum image_modules_in modules_in;
	char *modules; /* NULL with IMAGE_MODULES_NONE */
};

/* A folder that a kernel was built in. -ENOENT if it holds none. */
int place_tree(const char *folder, struct place *ret_place, struct error *e);
/* -ENOENT names those that are installed. */
int place_installed(const char *release, struct place *ret_place, struct error *e);
/* What lies around an image of that path: those of /boot, of [usr/]lib/modules, of a build tree. */
void place_around(const char *path, struct place *ret_place);
void place_done(struct place *place);

/* The releases that are installed, in the order of versions. The caller frees each and the list. */
char **place_releases(size_t *ret_n);
/* The image of an installed release; NULL. The caller frees. */
char *place_image(const char *release);

#endif
