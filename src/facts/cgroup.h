/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the control groups of this process allow it, both versions: the own group is found through
 * /proc/self/cgroup and /proc/self/mountinfo, and every group above it, as far as it is visible,
 * counts too: the tightest limit holds.
 *
 * A limit that is not set is CGROUP_UNLIMITED. An error (-ENOENT where no group is mounted) means
 * that nothing is known. Sources: cgroups(7), the kernel's admin-guide/cgroup-v2.rst,
 * admin-guide/cgroup-v1/ and scheduler/sched-bwc.rst, proc_pid_mountinfo(5).
 */
#ifndef KDELTA_FACTS_CGROUP_H
#define KDELTA_FACTS_CGROUP_H

#include <stdint.h>

#include "facts/source.h"

#define CGROUP_UNLIMITED UINT64_MAX

/* CPU time allowed, in thousandths of a CPU, never 0: a quota of 150 % is 1500, of 25 % is 250. */
int cgroup_quota(const struct facts_source *src, uint64_t *ret_milli, struct error *e);
/* How many periods ended throttled, of the own group and those above it together. */
int cgroup_throttled(const struct facts_source *src, uint64_t *ret_count, struct error *e);
/* The CPUs that the cpuset allows, as a list; NULL where no cpuset is set. Caller frees. */
int cgroup_cpus(const struct facts_source *src, char **ret_list, struct error *e);
/* Limit of memory, and what of it can still be had, cached file pages counted as free; bytes. */
int cgroup_memory(const struct facts_source *src, uint64_t *ret_limit, uint64_t *ret_left,
		  struct error *e);
/* Tasks that may still be started. */
int cgroup_tasks(const struct facts_source *src, uint64_t *ret_left, struct error *e);

#endif
