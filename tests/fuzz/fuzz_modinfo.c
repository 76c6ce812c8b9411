/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel module's ELF file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "image/modinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct modinfo info;

	if (!modinfo_read(data, size, &info, NULL)) {
		if ((info.depends && strlen(info.depends) > size) ||
		    (info.vermagic && strlen(info.vermagic) > size))
			abort();
	} else if (info.depends || info.vermagic) {
		abort();
	}
	modinfo_done(&info);
	return 0;
}
