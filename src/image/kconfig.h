/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration that a kernel was built with.
 * Sources: Documentation/kbuild/kconfig-language.rst; CONFIG_IKCONFIG (kernel/configs.c): a gzip
 * stream between the markers IKCFG_ST and IKCFG_ED.
 */
#ifndef KDELTA_IMAGE_KCONFIG_H
#define KDELTA_IMAGE_KCONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KCONFIG_MAX (8u << 20) /* bytes; real ones are below 400 KiB */

/*
 * The lines "CONFIG_NAME=value", sorted by byte, each with a newline. Comments are left out, and so
 * is "is not set": it says the same as no line. Two configurations that mean the same are equal
 * so. NULL when there is no such line. The caller frees.
 */
char *kconfig_normalise(const char *text);
/* SHA-256 of the normalised text as hexadecimal, NULL when there is none. The caller frees. */
char *kconfig_hash(const char *text);
/* The configuration inside an unpacked kernel; -ENOENT when it has none. The caller frees. */
int kconfig_from_vmlinux(const uint8_t *data, size_t len, char **ret_text, struct error *e);
/*
 * The configuration of the kernel that runs, which has the release `release`: its own word,
 * ROOT/proc/config.gz, else ROOT/boot/config-RELEASE, which may be another build's. `root` is ""
 * but in tests. -ENOENT: neither. The caller frees.
 */
int kconfig_running(const char *root, const char *release, char **ret_text, struct error *e);

#endif
