/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "image/bzimage.h"
#include "image/vmlinux.h"
#include "symbol/internal.h"

#define VMLINUX_MAX ((size_t)512 << 20)

static int read_vmlinux(const uint8_t *data, size_t len, struct symbols **ret, char **ret_build_id,
			struct error *e)
{
	struct vmlinux v;
	int r = vmlinux_parse(data, len, &v, e);

	if (!r)
		r = kallsyms_read(data, len, ret, e);
	if (!r && ret_build_id) {
		*ret_build_id = v.build_id;
		v.build_id = NULL;
	}
	vmlinux_done(&v);
	return r;
}

static int read_bzimage(const uint8_t *data, size_t len, struct symbols **ret, char **ret_build_id,
			struct error *e)
{
	CLEANUP_FREE uint8_t *inside = NULL;
	struct bzimage b;
	size_t n = 0;
	int r = bzimage_parse(data, len, &b, e);

	if (!r)
		r = bzimage_vmlinux(data, len, &b, VMLINUX_MAX, &inside, &n, e);
	bzimage_done(&b);
	return r < 0 ? r : read_vmlinux(inside, n, ret, ret_build_id, e);
}

int symbols_from_image(const void *data, size_t len, const char *name, struct symbols **ret,
		       char **ret_build_id, struct error *e)
{
	int r;

	if (bzimage_is(data, len))
		r = read_bzimage(data, len, ret, ret_build_id, e);
	else if (vmlinux_is(data, len))
		r = read_vmlinux(data, len, ret, ret_build_id, e);
	else
		r = error_set(e, EINVAL, "neither a bzImage nor a vmlinux: no kernel");
	if (r < 0)
		error_prefix(e, "%s", name);
	return r;
}

int symbols_read(const void *data, size_t len, const char *name, struct symbols **ret,
		 struct error *e)
{
	return symbols_from_image(data, len, name, ret, NULL, e);
}
