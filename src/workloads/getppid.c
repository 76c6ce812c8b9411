/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A system call that does next to nothing: entry into the kernel and back (lmbench's "null call").
 * syscall(2), because a libc may remember the answer.
 */
#include "workload/kit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int getppid_setup(struct run *run)
{
	long *parent = run_alloc(run, sizeof(*parent));

	if (!parent)
		return run_fail(run, ENOMEM, "no memory");
	*parent = syscall(SYS_getppid);
	run_set_state(run, parent);
	return 0;
}

static int getppid_batch(struct run *run, uint64_t n)
{
	const long parent = *(const long *)run_state(run);

	for (uint64_t i = 0; i < n; i++) {
		long got = syscall(SYS_getppid);

		if (got != parent)
			return kit_unexpected(run, "getppid", got, parent);
	}
	return 0;
}

const struct workload workload_getppid = {
	.name = "getppid",
	.family = "syscall",
	.op = "call",
	.doc = "getppid(2): into the kernel and back.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.setup = getppid_setup,
	.batch = getppid_batch,
};
