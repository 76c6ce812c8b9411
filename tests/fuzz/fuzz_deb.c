/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Debian package. */
#include "fuzz.h"

#include <stdlib.h>

#include "image/deb.h"
#include "image/kconfig.h"

#define KERNEL_MAX (256u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct deb d;

	if (!deb_read(data, size, KERNEL_MAX, &d, NULL)) {
		if (!d.kernel || !d.kernel_name || d.kernel_len > KERNEL_MAX)
			abort();
		free(kconfig_hash(d.config));
	}
	deb_done(&d);
	return 0;
}
