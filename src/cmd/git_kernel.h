/* SPDX-License-Identifier: GPL-2.0-or-later */
/* git:REV on the command line: built with progress on stderr, then opened. */
#ifndef KDELTA_CMD_GIT_KERNEL_H
#define KDELTA_CMD_GIT_KERNEL_H

#include <stdbool.h>

#include "base/error.h"
#include "image/image.h"

/*
 * `tree` NULL: the current folder. -ENOEXEC: this commit does not build, which was said on stderr
 * with the end of the build's log (*e stays clear); other kernels may be gone on with. The caller
 * frees *ret_commit (12 digits; NULL after an error).
 */
int git_kernel_open(const struct kernel_spec *spec, const char *tree, bool quiet,
		    struct image *ret_image, char **ret_commit, struct error *e);
/* HEAD moves: makes the argument name the commit, under this label, for whoever types it again. */
void git_kernel_pin(struct kernel_spec *spec, const char *label, const char *commit);

#endif
