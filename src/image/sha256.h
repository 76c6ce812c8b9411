/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 (FIPS 180-4) as hexadecimal. By libnettle, which libarchive needs anyway: no dependency
 * is added at run time.
 */
#ifndef KDELTA_IMAGE_SHA256_H
#define KDELTA_IMAGE_SHA256_H

#include <stdbool.h>
#include <stddef.h>

#define SHA256_HEX_SIZE 65 /* with the NUL */

void sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_SIZE]);
/* 64 lower case hexadecimal digits and nothing else? */
bool sha256_is_hex(const char *s);

#endif
