/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a KERNEL argument says:   [LABEL=]KERNEL[,append=...]
 *
 * KERNEL   a path to a bzImage, a vmlinux or a .deb (told apart by their content), or to a folder
 *in which a kernel was built; installed:RELEASE, with its image in /boot and its modules in
 * /lib/modules; running, the installed one that is running; debian:RELEASE[=PACKAGE-VERSION], for
 *example debian:6.1.0-55-cloud-amd64; git:REV[,config=FILE], a commit to build; FILE is taken as it
 *stands, commas and all. An existing file or folder of the name "running", "git:..." or
 *"installed:..." wins. append   comes last and takes the rest, commas and all: it is added to the
 *kernel's command line. A path that itself holds ",append=" cannot be given: use a symbolic link.
 *
 * Labels. Without quotes a label is letters, digits and . _ + - and does not begin with '-'; it is
 * taken as one only if KERNEL as a whole is no existing file. Any other text (commas, '=', spaces,
 * other scripts) is given in double quotes, in which \" is a quote and \\ a backslash; in a shell
 * that takes quotes of its own around it:
 *	kdelta vm '"6.1, hardened"=./bzImage' '"größer"=debian:6.1.0-55-cloud-amd64'
 * A path that begins with a double quote is written ./"... .
 */
#ifndef KDELTA_IMAGE_SPEC_H
#define KDELTA_IMAGE_SPEC_H

#include <stddef.h>

#include "base/error.h"

enum kernel_source {
	KERNEL_FILE,	  /* what: a path, of a build tree, too */
	KERNEL_DEBIAN,	  /* what: RELEASE or RELEASE=PACKAGE-VERSION */
	KERNEL_INSTALLED, /* what: RELEASE */
	KERNEL_RUNNING,	  /* what: "running" */
	KERNEL_GIT,	  /* what: REV, as git-rev-parse(1) takes it, of one commit */
};

struct kernel_spec {
	char *label; /* NULL if not given */
	enum kernel_source source;
	char *what;
	char *config; /* of KERNEL_GIT; NULL if not given */
	char *append; /* NULL if not given */
	char *text;   /* the whole argument */
};

#define IMAGE_LABEL_MAX 200u /* bytes */

/* Does not open the file, but asks whether it is there. -EINVAL; nothing to free then. */
int kernel_spec_parse(const char *text, struct kernel_spec *ret_spec, struct error *e);
void kernel_spec_done(struct kernel_spec *spec);
/* KERNEL alone, as it can be typed again: without label and append. The caller frees. */
char *kernel_spec_kernel(const struct kernel_spec *spec);

/* May this stand in tables and in the store? UTF-8, 1 to 200 bytes, no control characters. */
int image_label_check(const char *label, struct error *e);
/* `label`, or label_2, label_3 ... where it is among the `n` that are taken. The caller frees. */
char *image_label_unique(const char *label, const char *const *taken, size_t n);
/*
 * The label for a kernel that was given none: the release (of a commit: REV), else the file's name;
 * with "+NAME" behind it for the first parameter of `append`. `release` may be NULL. The caller
 * frees.
 */
char *image_label_default(const struct kernel_spec *spec, const char *release);

#endif
