/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read(2) of one byte from /dev/zero: the way through the VFS to a driver that does nothing. */
#include "workload/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_setup(struct run *run)
{
	int *fd = run_alloc(run, sizeof(*fd));

	if (!fd)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, fd);
	return kit_open(run, "/dev/zero", O_RDONLY, fd);
}

static int read_batch(struct run *run, uint64_t n)
{
	const int fd = *(int *)run_state(run);
	char byte;

	for (uint64_t i = 0; i < n; i++) {
		long got = syscall(SYS_read, fd, &byte, 1);

		if (got != 1)
			return kit_unexpected(run, "read /dev/zero", got, 1);
	}
	return 0;
}

const struct workload workload_read = {
	.name = "read",
	.family = "syscall",
	.op = "call",
	.doc = "read(2) of one byte of /dev/zero.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.setup = read_setup,
	.batch = read_batch,
};
