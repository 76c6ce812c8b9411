/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pair of connected stream sockets of the Unix domain: there and back, as `pipe` does. */
#include "workload/kit.h"

#include <sys/socket.h>

static const struct param unix_params[] = {
	KIT_PARAM_SIZE("1", 1 << 20),
	{ .name = NULL },
};

static int unix_setup(struct run *run)
{
	int fds[2], r = kit_socketpair(run, SOCK_STREAM, fds);

	return r < 0 ? r : kit_echo_setup(run, fds, false);
}

const struct workload workload_unix = {
	.name = "unix",
	.family = "ipc",
	.op = "round trip",
	.doc = "A message to another process and back over a pair of Unix stream sockets.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = unix_params,
	.metrics = kit_metrics_time,
	.parties = kit_echo_parties,
	.demand = kit_echo_demand,
	.setup = unix_setup,
	.before = kit_echo_before,
	.batch = kit_echo_batch,
};
