/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The KERNEL arguments of `kdelta vm`: what they say, where the bytes come from, and what becomes
 * of them with boot parameters that are varied (--set boot:...).
 */
#ifndef KDELTA_CMD_VM_KERNELS_H
#define KDELTA_CMD_VM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "campaign/campaign.h"
#include "plan/set.h"

struct vm_kernels {
	struct kernel_spec *spec;
	struct image *image;
	struct campaign_kernel *kernel; /* n of them, then each with each boot parameter */
	unsigned n, total;
	const char *tree;      /* where git: looks; NULL: the current folder */
	unsigned skipped;      /* commits that do not build */
	const char *qemu_args; /* as given; NULL */
	struct arena arena;
};

/* Reads the arguments and checks what can be checked without opening anything. */
int vm_kernels_parse(struct vm_kernels *v, char **args, unsigned n, size_t boots, struct error *e);
/* Finds, fetches or builds them; a commit that does not build is dropped and counted. */
int vm_kernels_open(struct vm_kernels *v, bool *quiet, struct error *e);
/*
 * Each kernel with each combination of boot parameters becomes a kernel of its own, "LABEL
 * PARAM=VALUE": it has boots of its own in each block, and stands beside the others.
 */
int vm_kernels_cross(struct vm_kernels *v, const struct sets *sets, struct error *e);
/* Where kernel i would come from, without fetching it: "  (in the cache)", or "". */
int vm_kernels_whence(const struct vm_kernels *v, unsigned i, char *buf, size_t size,
		      struct error *e);
/* The words of a command that say which QEMU and kernels: " --cpu ... KERNEL...". */
void vm_words(const struct campaign_vm *cv, const struct vm_kernels *v, struct str *out);
void vm_kernels_done(struct vm_kernels *v);

#endif
