/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One TCP connection over loopback, there and back. TCP_NODELAY is off by default, as in lmbench's
 * lat_tcp: where each message waits for its answer, Nagle's algorithm has nothing to hold back
 * unless a message is longer than a segment.
 */
#include "workload/kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

static const struct param tcp_params[] = {
	KIT_PARAM_SIZE("1", 1 << 20),
	{ .name = "nodelay",
	  .type = PARAM_CHOICE,
	  .def = "off",
	  .choices = "off|on",
	  .help = "TCP_NODELAY on both ends" },
	KIT_PARAM_FAMILY,
	{ .name = NULL },
};

static int tcp_setup(struct run *run)
{
	const int on = !strcmp(run_text(run, "nodelay"), "on");
	int fds[2], r = kit_loopback(run, SOCK_STREAM, run_text(run, "family"), fds);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++)
		if (setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
			return run_fail(run, errno, "setsockopt TCP_NODELAY: %s", strerror(errno));
	return kit_echo_setup(run, fds, false);
}

const struct workload workload_tcp = {
	.name = "tcp",
	.family = "ipc",
	.op = "round trip",
	.doc = "A message to another process and back over a TCP connection on loopback.",
	.version = 1,
	.needs = NEED_LOOPBACK,
	.shape = SHAPE_COUNTED,
	.params = tcp_params,
	.metrics = kit_metrics_time,
	.parties = kit_echo_parties,
	.demand = kit_echo_demand,
	.setup = tcp_setup,
	.before = kit_echo_before,
	.batch = kit_echo_batch,
};
