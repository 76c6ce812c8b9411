/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vfork, _exit in the child, wait: a process without page tables of its own. */
#include "workload/kit.h"

#include <unistd.h>

static int vfork_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 2;
	return 0;
}

/* Of its own, so that the child has no variable of the loop to spoil. */
static __attribute__((noinline)) pid_t child_start(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static int vfork_batch(struct run *run, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = child_start();
		int r = pid < 0 ? kit_unexpected(run, "vfork", pid, 0) : kit_wait(run, pid);

		if (r < 0)
			return r;
	}
	return 0;
}

const struct workload workload_vfork = {
	.name = "vfork",
	.family = "process",
	.op = "process",
	.doc = "vfork(2), _exit(2) in the child, wait for it.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.demand = vfork_demand,
	.batch = vfork_batch,
};
