/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc/sys; proc(5), and the kernel's Documentation/admin-guide/sysctl. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/cpulist.h"
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

/*
 * Latches that stay, actions that only look like settings, and those that set others or throw
 * addresses away, which the old value does not bring back.
 */
static const char *const one_way[] = {
	"kernel.kexec_load_disabled",
	"kernel.kexec_load_limit_*",
	"kernel.modules_disabled",
	"kernel.unprivileged_bpf_disabled",
	"kernel.yama.ptrace_scope",
	"net.ipv4.conf.all.*",
	"net.ipv4.conf.default.*",
	"net.ipv4.ip_forward",
	"net.ipv4.route.flush",
	"net.ipv6.conf.*.disable_ipv6",
	"net.ipv6.conf.all.*",
	"net.ipv6.conf.default.*",
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
		if (!fnmatch(one_way[i], name, FNM_NOESCAPE))
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

/* Lists of numbers that the kernel writes in its own way (proc_do_large_bitmap, cpumasks). */
static const char *const lists[] = {
	"kernel.watchdog_cpumask",
	"net.ipv4.ip_local_reserved_ports",
};

bool sysctl_same(const char *name, const char *a, const char *b)
{
	struct cpulist x = CPULIST_INIT, y = CPULIST_INIT;
	bool same = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists) && !same; i++)
		same = !strcmp(lists[i], name);
	/* Ports fit into what is taken for a CPU's number. */
	same = same && cpulist_parse(a, &x, NULL) == 0 && cpulist_parse(b, &y, NULL) == 0 &&
	       x.n == y.n && !memcmp(x.cpu, y.cpu, x.n * sizeof(*x.cpu));
	cpulist_done(&x);
	cpulist_done(&y);
	return same;
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
