/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bzImage, the vmlinux inside it, and the same bytes taken as a vmlinux. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "image/bzimage.h"
#include "image/kconfig.h"
#include "image/vmlinux.h"

#define UNPACKED_MAX (256u << 10) /* small, for speed: a bound that is hit is a path too */

static void try_vmlinux(const uint8_t *data, size_t size)
{
	struct vmlinux v;
	char *config = NULL;

	if (!vmlinux_parse(data, size, &v, NULL) && !v.release)
		abort(); /* a kernel without a release was promised never to pass */
	vmlinux_done(&v);
	if (!kconfig_from_vmlinux(data, size, &config, NULL))
		free(kconfig_hash(config));
	free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bzimage b;
	uint8_t *inside = NULL;
	size_t n = 0;

	if (!bzimage_parse(data, size, &b, NULL)) {
		if (!b.release || strlen(b.release) > 64)
			abort();
		if (!bzimage_vmlinux(data, size, &b, UNPACKED_MAX, &inside, &n, NULL))
			try_vmlinux(inside, n);
		free(inside);
	}
	bzimage_done(&b);
	try_vmlinux(data, size);
	return 0;
}
