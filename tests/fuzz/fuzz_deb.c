/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Debian package. */
#include "fuzz.h"

#include <stdlib.h>

#include "image/deb.h"
#include "image/kconfig.h"

#define KERNEL_MAX (256u << 10)
#define FILE_MAX   (64u << 10)
#define FILES_MAX  20u

static bool want(void *arg, const char *name, uint64_t size)
{
	(void)arg;
	return *name && size < FILE_MAX;
}

static int take(void *arg, const char *name, uint8_t **data, size_t len, struct error *e)
{
	size_t *files = arg;

	(void)e;
	/* A NUL stands behind the file. */
	if (!*name || len > FILE_MAX || (*data)[len])
		abort();
	return ++*files == FILES_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t files = 0;
	const struct deb_visitor v = { want, take, &files, FILE_MAX };
	struct deb d;

	deb_visit(data, size, &v, NULL);
	if (files > FILES_MAX)
		abort();
	if (!deb_read(data, size, KERNEL_MAX, &d, NULL)) {
		if (!d.kernel || !d.kernel_name || d.kernel_len > KERNEL_MAX)
			abort();
		free(kconfig_hash(d.config));
	}
	deb_done(&d);
	return 0;
}
