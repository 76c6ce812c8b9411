/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel module says of itself in its section .modinfo: "KEY=value" strings, each with a NUL
 * behind it.
 * Sources: elf(5); include/linux/moduleparam.h and scripts/mod/modpost.c of the kernel, which write
 * depends= (names, separated by commas) and vermagic= (the release, then flags).
 * Foreign bytes: nothing outside of them is read. A signature behind the ELF file does not matter.
 */
#ifndef KDELTA_IMAGE_MODINFO_H
#define KDELTA_IMAGE_MODINFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct modinfo {
	char *depends;	/* "virtio,virtio_ring"; NULL if it does not say */
	char *vermagic; /* "6.1.0-55-cloud-amd64 SMP preempt mod_unload modversions "; or NULL */
};

/* -EINVAL with the reason: no module for x86-64, damaged, cut short. */
int modinfo_read(const uint8_t *data, size_t len, struct modinfo *ret_info, struct error *e);
void modinfo_done(struct modinfo *info);

#endif
