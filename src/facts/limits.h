/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this process may still use: what a workload's demand is checked against before it starts.
 * Every value has its own `have_`: what cannot be told is not 0 and must not refuse a workload.
 * LIMITS_NONE: known, and without a limit.
 *
 * Sources: getrlimit(2), proc_sys_kernel(5), proc_meminfo(5), cgroups(7), statvfs(3).
 */
#ifndef KDELTA_FACTS_LIMITS_H
#define KDELTA_FACTS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/source.h"

#define LIMITS_NONE UINT64_MAX

struct limits {
	bool have_descriptors;
	uint64_t descriptors; /* soft limit of one process */
	bool have_tasks;
	uint64_t tasks;	      /* processes and threads that can still be started */
	const char *tasks_by; /* what sets it: "kernel.pid_max"; a constant */
	bool have_memory;
	uint64_t memory_bytes; /* available without swapping, within the control group */
	const char *memory_by; /* "MemAvailable", "memory limit of the control group" */
	bool have_disk;
	uint64_t disk_bytes; /* free for us in the folder */
};

/* `folder` is the temporary folder; NULL: do not ask. It is not looked up below the root. */
void limits_read(const struct facts_source *src, const char *folder, struct limits *ret);

#endif
