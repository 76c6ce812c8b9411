/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc/sys; proc(5), and the kernel's Documentation/admin-guide/sysctl. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/kind.h"

int sysctl_read(const struct facts_source *src, const char *name, char **ret_value, struct error *e)
{
	struct arena arena = ARENA_INIT;
	int r = kind_read(src, setting_sysctl_path(name, &arena), ret_value, e);

	arena_done(&arena);
	return r;
}

int sysctl_apply(const struct facts_source *src, const char *name, const char *value,
		 struct error *e)
{
	struct arena arena = ARENA_INIT;
	int r = kind_write(src, setting_sysctl_path(name, &arena), value, e);

	arena_done(&arena);
	return r;
}

/* Latches that stay, and actions that only look like settings. */
static const char *const one_way[] = {
	"kernel.kexec_load_disabled",
	"kernel.modules_disabled",
	"kernel.unprivileged_bpf_disabled",
	"kernel.yama.ptrace_scope",
	"net.ipv4.route.flush",
	"net.ipv6.route.flush",
	"vm.compact_memory",
	"vm.drop_caches",
	"vm.memfd_noexec",
	"vm.stat_refresh",
};

/* Of each pair the one that was set last counts, and the other reads 0, which cannot be set. */
static const char *const pairs[][2] = {
	{ "vm.dirty_bytes", "vm.dirty_ratio" },
	{ "vm.dirty_background_bytes", "vm.dirty_background_ratio" },
	{ "vm.overcommit_kbytes", "vm.overcommit_ratio" },
};

int sysctl_undo(const struct facts_source *src, const char *name, const char *old, char **ret_name,
		char **ret_value, struct error *e)
{
	size_t i, side;

	for (i = 0; i < ARRAY_SIZE(one_way); i++)
		if (!strcmp(one_way[i], name))
			return error_set(e, ENOTSUP, "a change of it cannot be undone");
	for (i = 0; i < ARRAY_SIZE(pairs) && !strcmp(old, "0"); i++) {
		for (side = 0; side < 2; side++) {
			const char *other = pairs[i][!side];
			CLEANUP_FREE char *value = NULL;

			if (strcmp(pairs[i][side], name) != 0)
				continue;
			if (sysctl_read(src, other, &value, e) < 0)
				return error_prefix(e, "%s, which belongs to it", other);
			if (!strcmp(value, "0"))
				break;
			*ret_name = mem_strdup(other);
			*ret_value = value;
			value = NULL;
			return 0;
		}
	}
	*ret_name = mem_strdup(name);
	*ret_value = mem_strdup(old);
	return 0;
}

const char *sysctl_ns(const char *name)
{
	static const struct {
		const char *prefix, *ns;
	} owners[] = {
		{ "net.", "net" },
		{ "fs.mqueue.", "ipc" },
		{ "kernel.msg", "ipc" },
		{ "kernel.sem", "ipc" },
		{ "kernel.shm", "ipc" },
		{ "kernel.auto_msgmni", "ipc" },
		{ "kernel.domainname", "uts" },
		{ "kernel.hostname", "uts" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owners); i++)
		if (str_starts(name, owners[i].prefix))
			return owners[i].ns;
	return NULL;
}
