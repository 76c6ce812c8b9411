/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define CPUINFO_MAX (16u << 20)

char *machine_cpu_model(void)
{
	CLEANUP_FREE char *text = NULL;
	char *at;

	if (file_read("/proc/cpuinfo", CPUINFO_MAX, &text, NULL, NULL) < 0)
		return NULL;
	at = strstr(text, "model name");
	if (!at)
		return NULL;
	at[strcspn(at, "\n")] = '\0';
	at = strchr(at, ':');
	return at ? mem_strdup(str_trim(at + 1)) : NULL;
}
