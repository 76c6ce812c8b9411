/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * posix_spawn of a static program that does nothing, wait. glibc does that with CLONE_VM and
 * CLONE_VFORK, so no page table is copied. It wants a path: the program is a file in the temporary
 * folder, which `exec` does without.
 */
#include "workload/kit.h"

#include <spawn.h>
#include <string.h>

static int posix_spawn_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 2;
	demand->disk_bytes = 64 << 10;
	return 0;
}

static int posix_spawn_setup(struct run *run)
{
	const char *path = NULL;
	int r = kit_true_file(run, &path);

	run_set_state(run, (void *)path);
	return r;
}

static int posix_spawn_batch(struct run *run, uint64_t n)
{
	char *const path = run_state(run), *const argv[] = { path, NULL }, *const env[] = { NULL };

	for (uint64_t i = 0; i < n; i++) {
		pid_t pid;
		int r = posix_spawn(&pid, path, NULL, NULL, argv, env);

		r = r ? run_fail(run, r, "posix_spawn: %s", strerror(r)) : kit_wait(run, pid);
		if (r < 0)
			return r;
	}
	return 0;
}

const struct workload workload_posix_spawn = {
	.name = "posix_spawn",
	.family = "process",
	.op = "process",
	.doc = "posix_spawn(3) of a tiny static program in the temporary folder, wait for its end.",
	.version = 1,
	.needs = NEED_TMPDIR,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.demand = posix_spawn_demand,
	.setup = posix_spawn_setup,
	.batch = posix_spawn_batch,
};
