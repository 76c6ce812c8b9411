/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP over loopback, both sockets connected. One message is on its way at a time, so none is lost
 * for want of room: one that does not come back is a failure. (lmbench's lat_udp sends 4 bytes.)
 */
#include "workload/kit.h"

#include <sys/socket.h>

static const struct param udp_params[] = {
	KIT_PARAM_SIZE("4", 65507), /* what one IPv4 datagram holds */
	KIT_PARAM_FAMILY,
	{ .name = NULL },
};

static int udp_setup(struct run *run)
{
	int fds[2], r = kit_loopback(run, SOCK_DGRAM, run_text(run, "family"), fds);

	return r < 0 ? r : kit_echo_setup(run, fds, true);
}

const struct workload workload_udp = {
	.name = "udp",
	.family = "ipc",
	.op = "round trip",
	.doc = "A datagram to another process and back over loopback.",
	.version = 1,
	.needs = NEED_LOOPBACK,
	.shape = SHAPE_COUNTED,
	.params = udp_params,
	.metrics = kit_metrics_time,
	.parties = kit_echo_parties,
	.demand = kit_echo_demand,
	.setup = udp_setup,
	.before = kit_echo_before,
	.batch = kit_echo_batch,
};
