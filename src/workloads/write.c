/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write(2) of one byte to /dev/null: the way through the VFS to a driver that does nothing. */
#include "workload/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int write_setup(struct run *run)
{
	int *fd = run_alloc(run, sizeof(*fd));

	if (!fd)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, fd);
	return kit_open(run, "/dev/null", O_WRONLY, fd);
}

static int write_batch(struct run *run, uint64_t n)
{
	const int fd = *(int *)run_state(run);

	for (uint64_t i = 0; i < n; i++) {
		long got = syscall(SYS_write, fd, "x", 1);

		if (got != 1)
			return kit_unexpected(run, "write /dev/null", got, 1);
	}
	return 0;
}

const struct workload workload_write = {
	.name = "write",
	.family = "syscall",
	.op = "call",
	.doc = "write(2) of one byte to /dev/null.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.setup = write_setup,
	.batch = write_batch,
};
