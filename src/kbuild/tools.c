/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "kbuild/internal.h"
#include "kbuild/run.h"

struct tool {
	const char *name;    /* a program, or a header if it ends in .h */
	const char *package; /* of Debian */
	const char *config;  /* a line that asks for it; NULL: always */
};

static const struct tool tools[] = {
	{ "git", "git", NULL },
	{ "make", "make", NULL },
	{ "gcc", "gcc", NULL },
	{ "ld", "binutils", NULL },
	{ "flex", "flex", NULL },
	{ "bison", "bison", NULL },
	{ "bc", "bc", NULL },
	{ "gelf.h", "libelf-dev", "CONFIG_OBJTOOL=y" },
	{ "gelf.h", "libelf-dev", "CONFIG_STACK_VALIDATION=y" },
	{ "openssl/opensslv.h", "libssl-dev", "CONFIG_SYSTEM_TRUSTED_KEYRING=y" },
	{ "xz", "xz-utils", "CONFIG_KERNEL_XZ=y" },
	{ "lz4", "lz4", "CONFIG_KERNEL_LZ4=y" },
	{ "lzop", "lzop", "CONFIG_KERNEL_LZO=y" },
	{ "zstd", "zstd", "CONFIG_KERNEL_ZSTD=y" },
	{ "pahole", "dwarves", "CONFIG_DEBUG_INFO_BTF=y" },
};

static bool has_program(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");
		CLEANUP_FREE char *file = mem_printf("%.*s/%s", (int)n, path, name);

		if (access(file, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static bool has_header(const char *name)
{
	const char *const argv[] = { "gcc", "-E", "-include", name, "-x", "c", "/dev/null", NULL };
	struct proc_result res = { .status = -1 };
	int r = proc_run(argv, NULL, &res, NULL);
	bool has = !r && res.status == 0;

	proc_result_done(&res);
	return has;
}

/* A line of the configuration. */
static bool asks_for(const char *config, const char *line)
{
	size_t n = strlen(line);

	for (const char *s = strstr(config, line); s; s = strstr(s + 1, line))
		if ((s == config || s[-1] == '\n') && (s[n] == '\n' || !s[n]))
			return true;
	return false;
}

int tools_check(const char *config, struct error *e)
{
	struct str names = STR_INIT, packages = STR_INIT;
	int r = 0;

	for (const struct tool *t = tools; t < tools + ARRAY_SIZE(tools); t++) {
		if (t->config ? !config || !asks_for(config, t->config) : config != NULL)
			continue;
		if (str_ends(t->name, ".h") ? has_header(t->name) : has_program(t->name))
			continue;
		/* Two lines of one header stand side by side. */
		if (str_ends(str_get(&packages), t->package))
			continue;
		str_printf(&names, "%s%s", names.len ? ", " : "", t->name);
		str_printf(&packages, " %s", t->package);
	}
	if (names.len)
		r = error_set(e, ENOPKG,
			      "building a kernel takes what is not installed: %s (Debian: apt-get "
			      "install%s)",
			      names.s, packages.s);
	str_done(&names);
	str_done(&packages);
	return r;
}

/* The first line of what `NAME --version` says. */
static int version_of(const char *name, char **ret, struct error *e)
{
	const char *const argv[] = { name, "--version", NULL };
	struct proc_result res = { .status = -1 };
	int r = proc_run_ok(argv, NULL, &res, e);

	if (!r) {
		res.out[strcspn(res.out, "\n")] = '\0';
		*ret = mem_strdup(str_trim(res.out));
	}
	proc_result_done(&res);
	return r;
}

int tools_toolchain(char **ret, struct error *e)
{
	CLEANUP_FREE char *gcc = NULL, *ld = NULL;
	int r;

	/* Before the first of them is missed: all that are missing. */
	if (!has_program("gcc") || !has_program("ld"))
		return tools_check(NULL, e);
	r = version_of("gcc", &gcc, e);
	if (!r)
		r = version_of("ld", &ld, e);
	if (!r)
		*ret = mem_printf("%s, %s", gcc, ld);
	return r;
}
