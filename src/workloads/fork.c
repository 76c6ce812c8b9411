/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork, _exit in the child, wait. `memory` is touched first: a fork copies the page tables of what
 * the parent has, so its cost grows with that (0: the agent alone, which is small).
 */
#include "workload/kit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct param fork_params[] = {
	{ .name = "memory",
	  .type = PARAM_BYTES,
	  .def = "0",
	  .max = 1 << 30,
	  .help = "memory of the parent, touched before" },
	{ .name = NULL },
};

static int fork_demand(const struct args *args, struct demand *demand)
{
	demand->tasks = 2;
	demand->memory_bytes = args_u64(args, "memory");
	return 0;
}

static int fork_setup(struct run *run)
{
	size_t size = run_u64(run, "memory");
	void *memory = size ? run_alloc(run, size) : NULL;

	if (size && !memory)
		return run_fail(run, ENOMEM, "no memory for %zu bytes", size);
	if (size)
		memset(memory, 1, size);
	return 0;
}

static int fork_batch(struct run *run, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = fork();
		int r;

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return kit_unexpected(run, "fork", pid, 0);
		r = kit_wait(run, pid);
		if (r < 0)
			return r;
	}
	return 0;
}

const struct workload workload_fork = {
	.name = "fork",
	.family = "process",
	.op = "process",
	.doc = "fork(2), _exit(2) in the child, wait for it.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = fork_params,
	.metrics = kit_metrics_time,
	.demand = fork_demand,
	.setup = fork_setup,
	.batch = fork_batch,
};
