/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open and close of a regular file behind a path of four components: path walk, file, table. */
#include "workload/kit.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_close_setup(struct run *run)
{
	const char *path;
	int r = kit_file(run, &path);

	run_set_state(run, r < 0 ? NULL : (void *)path);
	return r;
}

static int open_close_batch(struct run *run, uint64_t n)
{
	const char *path = run_state(run);

	for (uint64_t i = 0; i < n; i++) {
		long got, fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return kit_unexpected(run, "open", fd, 0);
		got = syscall(SYS_close, fd);
		if (got != 0)
			return kit_unexpected(run, "close", got, 0);
	}
	return 0;
}

const struct workload workload_open_close = {
	.name = "open_close",
	.family = "syscall",
	.op = "open and close",
	.doc = "open(2) and close(2) of a file in the temporary folder, four components deep.",
	.version = 1,
	.needs = NEED_TMPDIR,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.setup = open_close_setup,
	.batch = open_close_batch,
};
