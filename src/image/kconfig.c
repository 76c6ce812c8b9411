/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/kconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/sha256.h"
#include "image/unpack.h"

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *kconfig_normalise(const char *text)
{
	CLEANUP_FREE char *copy = mem_strdup(text);
	CLEANUP_FREE char **lines = NULL;
	struct str out = STR_INIT;
	size_t n = 0, cap = 0, i;
	char *line, *next = copy;

	while ((line = strsep(&next, "\n"))) {
		line = str_trim(line);
		if (!str_starts(line, "CONFIG_") || !strchr(line, '='))
			continue;
		lines = mem_grow(lines, n, &cap, sizeof(*lines));
		lines[n++] = line;
	}
	if (!n)
		return NULL;
	qsort(lines, n, sizeof(*lines), by_bytes);
	for (i = 0; i < n; i++)
		str_printf(&out, "%s\n", lines[i]);
	return str_take(&out);
}

char *kconfig_hash(const char *text)
{
	CLEANUP_FREE char *normal = text ? kconfig_normalise(text) : NULL;
	char *hex;

	if (!normal)
		return NULL;
	hex = mem_alloc(SHA256_HEX_SIZE);
	sha256_hex(normal, strlen(normal), hex);
	return hex;
}

int kconfig_from_vmlinux(const uint8_t *data, size_t len, char **ret_text, struct error *e)
{
	static const char start[] = "IKCFG_ST";
	const uint8_t *at = data;
	uint8_t *text;
	size_t n;

	while ((at = memmem(at, len - (size_t)(at - data), start, sizeof(start) - 1))) {
		at += sizeof(start) - 1;
		if (len - (size_t)(at - data) < 2 || at[0] != 0x1f || at[1] != 0x8b)
			continue;
		if (unpack_stream(at, len - (size_t)(at - data), KCONFIG_MAX, &text, &n, e) < 0)
			return error_prefix(e, "the configuration inside the kernel");
		*ret_text = (char *)text;
		return 0;
	}
	return error_set(e, ENOENT, "the kernel does not carry its configuration");
}

int kconfig_running(const char *root, const char *release, char **ret_text, struct error *e)
{
	CLEANUP_FREE char *own = mem_printf("%s/proc/config.gz", root);
	CLEANUP_FREE char *installed = mem_printf("%s/boot/config-%s", root, release);
	CLEANUP_FREE char *gz = NULL;
	uint8_t *text;
	size_t len, n;

	if (file_read(own, KCONFIG_MAX, &gz, &len, NULL) == 0 &&
	    unpack_stream((uint8_t *)gz, len, KCONFIG_MAX, &text, &n, NULL) == 0) {
		*ret_text = (char *)text;
		return 0;
	}
	return file_read(installed, KCONFIG_MAX, ret_text, NULL, e);
}
