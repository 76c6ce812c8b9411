/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/kconfig.h"
#include "image/unpack.h"
#include "kbuild/internal.h"

/*
 * Behind any configuration that is given: a key made for one build would be another in the next,
 * Debian's certificates are not in the tree, and the release is ours to tell.
 */
static const char fixed[] = "# CONFIG_LOCALVERSION_AUTO is not set\n"
			    "# CONFIG_MODULE_SIG is not set\n"
			    "CONFIG_SYSTEM_TRUSTED_KEYS=\"\"\n"
			    "CONFIG_SYSTEM_REVOCATION_KEYS=\"\"\n";

/* The lines that say something; what a comment says of versions must not make it another. */
static char *lines_of(char *text)
{
	struct str out = STR_INIT;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		line = str_trim(line);
		if (str_starts(line, "CONFIG_") ||
		    (str_starts(line, "# CONFIG_") && str_ends(line, " is not set")))
			str_printf(&out, "%s\n", line);
	}
	return str_take(&out);
}

static int read_text(const char *path, char **ret_text, struct error *e)
{
	CLEANUP_FREE char *data = NULL;
	uint8_t *text = NULL;
	size_t len = 0, n;
	int r = file_read(path, KCONFIG_MAX, &data, &len, e);

	if (r < 0)
		return r;
	if (unpack_stream((const uint8_t *)data, len, KCONFIG_MAX, &text, &n, NULL) == 0) {
		free(data);
		data = (char *)text;
	}
	*ret_text = lines_of(data);
	if (!strstr(*ret_text, "CONFIG_"))
		return error_set(e, EINVAL, "%s: not a kernel configuration", path);
	return 0;
}

int config_seed(struct build *b, struct error *e)
{
	const char *given = b->request->config;
	CLEANUP_FREE char *in_tree = b->top ? mem_printf("%s/.config", b->top) : NULL;
	CLEANUP_FREE char *text = NULL;
	int r;

	if (given ? str_eq(given, KBUILD_TINY) : !in_tree || access(in_tree, F_OK) < 0)
		return 0;
	r = read_text(given ? given : in_tree, &text, e);
	if (!r)
		b->seed = mem_printf("%s%s", text, fixed);
	return r;
}

static int write_tiny(const char *path, struct error *e)
{
	struct str s = STR_INIT;
	int r;

	for (const char *const *t = kbuild_tiny; *t; t++)
		str_printf(&s, "CONFIG_%s%s\n", *t, strchr(*t, '=') ? "" : "=y");
	r = file_replace(path, s.s, s.len, e);
	str_done(&s);
	return r;
}

int config_make(struct build *b, char **ret_text, int *ret_status, struct error *e)
{
	CLEANUP_FREE char *fresh = mem_printf("%s/kdelta.config", b->out);
	CLEANUP_FREE char *tiny = mem_printf("%s/kdelta.tiny", b->out);
	CLEANUP_FREE char *at = mem_printf("%s/.config", b->out);
	CLEANUP_FREE char *to = mem_printf("KCONFIG_CONFIG=%s", fresh);
	CLEANUP_FREE char *from = mem_printf("KCONFIG_ALLCONFIG=%s", tiny);
	const char *const all_no[] = { to, from, "allnoconfig", NULL };
	const char *const old_def[] = { to, "olddefconfig", NULL };
	CLEANUP_FREE char *old = NULL;
	int r;

	/* In a file of its own: a .config that is written anew has everything looked at again. */
	r = b->seed ? file_replace(fresh, b->seed, strlen(b->seed), e) : write_tiny(tiny, e);
	if (!r)
		r = make_run(b, "configuring", b->seed ? old_def : all_no, ret_status, e);
	if (r < 0 || *ret_status)
		return r;
	r = file_read(fresh, KCONFIG_MAX, ret_text, NULL, e);
	if (r < 0)
		return r;
	if (file_read(at, KCONFIG_MAX, &old, NULL, NULL) == 0 && !strcmp(old, *ret_text))
		return 0;
	return file_replace(at, *ret_text, strlen(*ret_text), e);
}
