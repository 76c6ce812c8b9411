/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/exact.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define PLUGIN_NAME "kdelta-plugin.so"

#ifndef KDELTA_LIBEXECDIR
#define KDELTA_LIBEXECDIR "/usr/local/libexec"
#endif

int exact_plugin_find(char **ret_path, struct error *e)
{
	const char *given = getenv("KDELTA_PLUGIN");
	CLEANUP_FREE char *beside = file_beside_self(PLUGIN_NAME);

	if (given && *given) {
		if (access(given, R_OK) < 0)
			return error_errno(e, errno, "KDELTA_PLUGIN=%s", given);
		*ret_path = mem_strdup(given);
		return 0;
	}
	if (beside && access(beside, R_OK) == 0) {
		*ret_path = beside;
		beside = NULL;
		return 0;
	}
	if (access(KDELTA_LIBEXECDIR "/" PLUGIN_NAME, R_OK) == 0) {
		*ret_path = mem_strdup(KDELTA_LIBEXECDIR "/" PLUGIN_NAME);
		return 0;
	}
	return error_set(e, ENOENT,
			 "no " PLUGIN_NAME " at %s or in " KDELTA_LIBEXECDIR
			 ": build it, or set KDELTA_PLUGIN",
			 beside ? beside : "the folder of kdelta");
}
