/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork, execute a static program that does nothing, wait. The program is the agent's own, run from
 * memory with execveat(2): no file system, no dynamic linker and no libc take part.
 */
#include "workload/kit.h"

#include <errno.h>

static int exec_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 2;
	return 0;
}

static int exec_setup(struct run *run)
{
	int *fd = run_alloc(run, sizeof(*fd));

	if (!fd)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, fd);
	return kit_true(run, fd);
}

static int exec_batch(struct run *run, uint64_t n)
{
	const int fd = *(int *)run_state(run);

	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = kit_spawn(run, fd);
		int r = pid < 0 ? pid : kit_wait(run, pid);

		if (r < 0)
			return r;
	}
	return 0;
}

const struct workload workload_exec = {
	.name = "exec",
	.family = "process",
	.op = "process",
	.doc = "fork(2), execveat(2) of a tiny static program, wait for its end.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.demand = exec_demand,
	.setup = exec_setup,
	.batch = exec_batch,
};
