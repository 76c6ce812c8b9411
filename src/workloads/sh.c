/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork, `/bin/sh -c` of a static program that does nothing, wait: what system(3) costs. The shell
 * is a large part of the figure, with its dynamic linker, its start-up files' absence (the
 * environment is empty) and its choice to fork once more or not. So which shell it is belongs to
 * the key.
 */
#include "workload/kit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"

#define SHELL	  "/bin/sh"
#define SHELL_MAX (64u << 20)

static int sh_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 3; /* some shells fork */
	demand->disk_bytes = 64 << 10;
	return 0;
}

/* "dash 0123456789abcdef": its name where it has one, and a hash of its bytes. */
static int shell_name(struct run *run)
{
	char real[PATH_MAX], hash[17], text[300], *bytes;
	struct error e = ERROR_INIT;
	const char *slash;
	size_t len;

	if (file_read(SHELL, SHELL_MAX, &bytes, &len, &e) < 0)
		return run_skip(run, "%s", e.text);
	id_fnv1a(bytes, len, hash);
	free(bytes);
	slash = realpath(SHELL, real) ? strrchr(real, '/') : NULL;
	snprintf(text, sizeof(text), "%.255s %s", slash ? slash + 1 : "sh", hash);
	run_context(run, "shell", text);
	return 0;
}

static int sh_setup(struct run *run)
{
	const char *path = NULL;
	int r = shell_name(run);

	if (r == 0)
		r = kit_true_file(run, &path);
	run_set_state(run, (void *)path);
	return r;
}

static int sh_batch(struct run *run, uint64_t n)
{
	char sh[] = "sh", c[] = "-c", *const argv[] = { sh, c, run_state(run), NULL };

	for (uint64_t i = 0; i < n; i++) {
		pid_t pid = kit_spawn_path(run, SHELL, argv);
		int r = pid < 0 ? pid : kit_wait(run, pid);

		if (r < 0)
			return r;
	}
	return 0;
}

const struct workload workload_sh = {
	.name = "sh",
	.family = "process",
	.op = "process",
	.doc = "fork(2), `/bin/sh -c` of a tiny static program, wait for its end.",
	.version = 1,
	.needs = NEED_SHELL | NEED_TMPDIR,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.demand = sh_demand,
	.setup = sh_setup,
	.batch = sh_batch,
};
