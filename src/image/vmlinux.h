/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel as an ELF file for x86-64: what it calls itself and how it can be started.
 * Sources: elf(5); Documentation/arch/x86/boot.rst for what a boot loader needs; the Xen PVH
 * start-of-day note XEN_ELFNOTE_PHYS32_ENTRY (18), which QEMU's -kernel looks for in an ELF file.
 * All functions here take foreign bytes and read none outside of them.
 */
#ifndef KDELTA_IMAGE_VMLINUX_H
#define KDELTA_IMAGE_VMLINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct vmlinux {
	char *release;	/* "6.1.0-55-cloud-amd64" */
	char *version;	/* from '#' on, as `uname -v`; NULL if not found */
	char *build_id; /* hexadecimal; NULL if it has none */
	bool pvh;	/* has the note: QEMU can start it without a bzImage around it */
};

bool vmlinux_is(const uint8_t *data, size_t len); /* begins as an ELF file does */
/* -EINVAL with the reason when it is another ELF file than a kernel for x86-64. */
int vmlinux_parse(const uint8_t *data, size_t len, struct vmlinux *ret_vmlinux, struct error *e);
void vmlinux_done(struct vmlinux *vmlinux);

/*
 * Splits "RELEASE (builder) [(compiler)] VERSION" of `len` bytes, as the kernel's banner and the
 * header of a bzImage have it. False when it does not look so; *ret_version may become NULL.
 */
bool vmlinux_split_banner(const char *text, size_t len, char **ret_release, char **ret_version);

#endif
