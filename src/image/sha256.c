/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/sha256.h"

#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void sha256_hex(const void *data, size_t len, char ret_hex[SHA256_HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	size_t i;

	sha256_init(&ctx);
	sha256_update(&ctx, len, data);
	sha256_digest(&ctx, sizeof(digest), digest);
	for (i = 0; i < sizeof(digest); i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

bool sha256_is_hex(const char *s)
{
	return strlen(s) == SHA256_HEX_SIZE - 1 &&
	       strspn(s, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}
