/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A system call that does next to nothing: entry into the kernel and back (lmbench's "null call").
 * syscall(2), because a libc may remember the answer.
 */
#include "workload/kit.h"

#include <sys/syscall.h>
#include <unistd.h>

static int getppid_batch(struct run *run, uint64_t n)
{
	const long parent = syscall(SYS_getppid);

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
	.batch = getppid_batch,
};
