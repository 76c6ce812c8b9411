/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings as people type them, line by line, and a journal that anything may have happened to. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/setting.h"
#include "plan/set.h"
#include "settings/journal.h"

/* What has a normal form keeps it, and no sysctl leads out of /proc/sys. */
static void try_name(const char *text, struct arena *a)
{
	const char *name, *again, *arg;

	if (setting_name(text, a, &name, NULL) < 0)
		return;
	if (setting_name(name, a, &again, NULL) < 0 || strcmp(name, again) != 0)
		abort();
	if (!strcmp(setting_kind(name, a, &arg), SETTING_SYSCTL)) {
		const char *path = setting_sysctl_path(name, a);

		if (!str_starts(path, "/proc/sys/") || strstr(path, "/../") ||
		    str_ends(path, "/..") || strstr(path, "//"))
			abort();
	}
}

static void try_value(const char *text, struct arena *a)
{
	const char *value, *again;

	if (setting_value(text, a, &value, NULL) < 0)
		return;
	if (setting_value(value, a, &again, NULL) < 0 || strcmp(value, again) != 0 ||
	    !setting_same(value, again))
		abort();
}

static void try_sets(char *text, struct arena *a)
{
	static struct setting_info kinds[] = {
		{ SETTING_SYSCTL, "a sysctl", NULL, "" },
		{ "offload", "offload:DEV:FEATURE", "on|off", "" },
		{ "thp", "thp", NULL, "" },
	};
	const struct workload_list known = { .settings = kinds, .n_settings = ARRAY_SIZE(kinds) };
	struct sets sets = { .n = 0 };
	size_t i, n, k;
	char *next;

	for (; text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		try_name(text, a);
		try_value(text, a);
		sets_add(&sets, text, &known, NULL);
	}
	n = sets_count(&sets, false);
	if (!n || n > SETS_MAX)
		abort();
	for (i = 0; i < n && i < 20; i++) {
		struct setting *s;
		size_t m;

		sets_choose(&sets, i, a, &s, &m);
		for (k = 1; k < m; k++)
			if (strcmp(s[k - 1].name, s[k].name) >= 0)
				abort();
		free(settings_key("", s, m));
	}
	for (i = 0; i < sets_count(&sets, true) && i < 20; i++)
		sets_boot_words(&sets, i, a);
	sets_done(&sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = mem_strndup((const char *)data, size);
	struct arena arena = ARENA_INIT;
	struct journal j;

	if (journal_decode((const char *)data, size, "a-boot", &j, NULL) == 0) {
		if (!j.n)
			abort();
		journal_done(&j);
	}
	try_sets(text, &arena);
	arena_done(&arena);
	return 0;
}
