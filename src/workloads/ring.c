/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A token around a ring of processes and pipes, as a whole: one write, one wake-up, one switch and
 * one read each hand-over, nothing subtracted. `ctx` takes the calls off; this is what a chain of
 * processes pays. ns per hand-over is 10^6 / kHz, kHz being what the classic ring test prints.
 */
#include "workload/kit.h"

#include <errno.h>

static const struct param ring_params[] = {
	{ .name = "procs",
	  .type = PARAM_UINT,
	  .def = "8",
	  .min = 2,
	  .max = 2000,
	  .help = "processes in the ring" },
	{ .name = NULL },
};

static int ring_demand(const struct args *args, struct demand *demand)
{
	demand->tasks = args_u64(args, "procs");
	demand->descriptors = 2 * demand->tasks + 16;
	return 0;
}

static int ring_setup(struct run *run)
{
	struct kit_ring *ring = run_alloc(run, sizeof(*ring));

	if (!ring)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, ring);
	run_ops_per_n(run, run_u64(run, "procs"));
	return kit_ring_make(run, (unsigned)run_u64(run, "procs"), ring);
}

static int member_start(struct party *party)
{
	kit_ring_keep(run_state(party->run), party->index + 1);
	return 0;
}

static int member_serve(struct party *party)
{
	const struct kit_ring *ring = run_state(party->run);
	const int in = kit_ring_in(ring, party->index + 1);
	const int out = kit_ring_out(ring, party->index + 1);
	uint32_t token;
	int r;

	while ((r = kit_read_or_eof(party->run, in, &token, sizeof(token))) == 0) {
		r = kit_write_all(party->run, out, &token, sizeof(token));
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

static int ring_before(struct run *run)
{
	kit_ring_keep(run_state(run), 0);
	return 0;
}

/* Each n is one way around: `procs` hand-overs. */
static int ring_batch(struct run *run, uint64_t n)
{
	const struct kit_ring *ring = run_state(run);
	const int out = kit_ring_out(ring, 0), in = kit_ring_in(ring, 0);
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++)
		r = kit_ring_turn(run, out, in, (uint32_t)i);
	return r;
}

static const struct party_role ring_parties[] = {
	{ .role = "member",
	  .kind = PARTY_PROCESS,
	  .count = "procs",
	  .count_less = 1,
	  .start = member_start,
	  .serve = member_serve },
	{ .role = NULL },
};

const struct workload workload_ring = {
	.name = "ring",
	.family = "ipc",
	.op = "hand-over",
	.doc = "A token around a ring of processes and pipes, calls and switches together.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = ring_params,
	.metrics = kit_metrics_time,
	.parties = ring_parties,
	.demand = ring_demand,
	.setup = ring_setup,
	.before = ring_before,
	.batch = ring_batch,
};
