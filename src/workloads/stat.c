/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stat of a regular file behind a path of four components: the path walk, all of it in the dcache.
 * newfstatat(2) is what the stat() of a current libc calls.
 */
#include "workload/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int stat_setup(struct run *run)
{
	const char *path;
	int r = kit_file(run, &path);

	run_set_state(run, r < 0 ? NULL : (void *)path);
	return r;
}

static int stat_batch(struct run *run, uint64_t n)
{
	const char *path = run_state(run);
	struct stat st;

	for (uint64_t i = 0; i < n; i++) {
		long got = syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0);

		if (got != 0)
			return kit_unexpected(run, "stat", got, 0);
	}
	if (n && st.st_size != 1)
		return run_fail(run, EIO, "stat: a size of %lld instead of 1",
				(long long)st.st_size);
	return 0;
}

const struct workload workload_stat = {
	.name = "stat",
	.family = "syscall",
	.op = "call",
	.doc = "stat(2) of a file in the temporary folder, four components deep.",
	.version = 1,
	.needs = NEED_TMPDIR,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.setup = stat_setup,
	.batch = stat_batch,
};
