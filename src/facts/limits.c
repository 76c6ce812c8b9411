/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/limits.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "facts/cgroup.h"

#define MEMINFO_MAX (1u << 16)

static void lower(bool *have, uint64_t *v, const char **by, uint64_t candidate, const char *name)
{
	if (*have && candidate >= *v)
		return;
	*have = true;
	*v = candidate;
	*by = name;
}

/* RLIMIT_NPROC does not bind the real root; it does bind a user who plays root in a namespace. */
static bool is_root(const struct facts_source *src)
{
	CLEANUP_FREE char *map = source_line(src, NULL, "/proc/self/uid_map");
	unsigned inside, outside;

	if (geteuid())
		return false;
	return !map || sscanf(map, "%u %u", &inside, &outside) != 2 || outside == 0;
}

/* Tasks of this user, for which RLIMIT_NPROC counts. */
static bool tasks_of_user(const struct facts_source *src, uint64_t *ret)
{
	char **names;
	size_t n, i;
	uid_t uid = getuid();

	if (source_names(src, "/proc", &names, &n, NULL) < 0)
		return false;
	*ret = 0;
	for (i = 0; i < n; i++) {
		CLEANUP_FREE char *path = mem_printf("%s/proc/%s/task", src->root, names[i]);
		struct stat st;

		/* A folder has two links of its own and one for each folder in it: a task. */
		if (isdigit((unsigned char)*names[i]) && !stat(path, &st) && st.st_uid == uid)
			*ret += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	}
	source_names_free(names, n);
	return *ret > 0;
}

static void read_tasks(const struct facts_source *src, struct limits *l)
{
	CLEANUP_FREE char *load = source_line(src, NULL, "/proc/loadavg");
	uint64_t now = 0, v, mine;
	struct rlimit rl;

	if (load && sscanf(load, "%*s %*s %*s %*u/%" SCNu64, &now) != 1)
		now = 0;
	if (source_u64(src, &v, NULL, "/proc/sys/kernel/threads-max") == 0)
		lower(&l->have_tasks, &l->tasks, &l->tasks_by, v > now ? v - now : 0,
		      "kernel.threads-max");
	if (source_u64(src, &v, NULL, "/proc/sys/kernel/pid_max") == 0)
		lower(&l->have_tasks, &l->tasks, &l->tasks_by, v > now ? v - now : 0,
		      "kernel.pid_max");
	if (cgroup_tasks(src, &v, NULL) == 0 && v != CGROUP_UNLIMITED)
		lower(&l->have_tasks, &l->tasks, &l->tasks_by, v, "pids.max of the control group");
	if (!is_root(src) && !getrlimit(RLIMIT_NPROC, &rl) && rl.rlim_cur != RLIM_INFINITY &&
	    tasks_of_user(src, &mine))
		lower(&l->have_tasks, &l->tasks, &l->tasks_by,
		      rl.rlim_cur > mine ? rl.rlim_cur - mine : 0, "RLIMIT_NPROC (ulimit -u)");
}

static void read_memory(const struct facts_source *src, struct limits *l)
{
	CLEANUP_FREE char *meminfo = NULL;
	uint64_t v, limit, left;

	if (source_text(src, "/proc/meminfo", MEMINFO_MAX, &meminfo, NULL) == 0 &&
	    source_field_u64(meminfo, "MemAvailable", ':', &v) && v <= UINT64_MAX / 1024)
		lower(&l->have_memory, &l->memory_bytes, &l->memory_by, v * 1024, "MemAvailable");
	if (cgroup_memory(src, &limit, &left, NULL) == 0 && left != CGROUP_UNLIMITED)
		lower(&l->have_memory, &l->memory_bytes, &l->memory_by, left,
		      "memory limit of the control group");
}

void limits_read(const struct facts_source *src, const char *folder, struct limits *ret)
{
	struct statvfs fs;
	struct rlimit rl;

	memset(ret, 0, sizeof(*ret));
	if (!getrlimit(RLIMIT_NOFILE, &rl)) {
		ret->have_descriptors = true;
		ret->descriptors = rl.rlim_cur == RLIM_INFINITY ? LIMITS_NONE : rl.rlim_cur;
	}
	read_tasks(src, ret);
	read_memory(src, ret);
	/* ramfs has no blocks at all: it says nothing about what is free. */
	if (folder && !statvfs(folder, &fs) && fs.f_blocks) {
		ret->have_disk = true;
		ret->disk_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	}
}
