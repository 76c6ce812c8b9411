/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bzImage: a boot sector and set-up code, a header in them, and a compressed vmlinux.
 * Source: Documentation/arch/x86/boot.rst of the kernel, "The Real-Mode Kernel Header". Used are
 * setup_sects 0x1f1, syssize 0x1f4, boot_flag 0x1fe, "HdrS" 0x202, version 0x206, kernel_version
 * 0x20e, loadflags 0x211, xloadflags 0x236, payload_offset 0x248, payload_length 0x24c.
 * All functions here take foreign bytes and read none outside of them.
 */
#ifndef KDELTA_IMAGE_BZIMAGE_H
#define KDELTA_IMAGE_BZIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bzimage {
	char *release;	   /* "6.1.0-55-cloud-amd64" */
	char *version;	   /* from '#' on, as `uname -v`; NULL if the header has none */
	unsigned protocol; /* 0x020f: 2.15 */
	bool is_64bit;	   /* has the 64-bit entry point (protocol 2.12) */
	size_t payload;	   /* where the compressed vmlinux stands in the file; 0: unknown */
	size_t payload_len;
};

bool bzimage_is(const uint8_t *data, size_t len); /* has both magic numbers */
/* -EINVAL with the reason: no bzImage, an old zImage, cut short, no version string. */
int bzimage_parse(const uint8_t *data, size_t len, struct bzimage *ret_image, struct error *e);
/*
 * Unpacks the vmlinux inside, at most `max` bytes; the caller frees. It has program headers and
 * notes, but no symbols. -ENOENT when the header does not say where it is (protocol < 2.08).
 */
int bzimage_vmlinux(const uint8_t *data, size_t len, const struct bzimage *image, size_t max,
		    uint8_t **ret_data, size_t *ret_len, struct error *e);
void bzimage_done(struct bzimage *image);

#endif
