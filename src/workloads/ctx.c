/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Context switches: processes in a ring of pipes pass a token; each reads it, sums an array of its
 * own and writes it on (the method of lmbench's lat_ctx, see "lmbench: portable tools for
 * performance analysis", McVoy and Staelin, 1996).
 *
 * Each n is one way around the ring: `procs` hand-overs, each one write, one read, one sum and one
 * switch. The overhead does as many writes, reads and sums in one process, without the switch. So
 * both are per hand-over, and so is their difference, `time`: the switch, and what it costs to get
 * the array back into the caches.
 */
#include "workload/kit.h"

#include <errno.h>

struct ctx_state {
	struct kit_ring ring;
	int own[2]; /* leads from the leader to itself */
	uint64_t *array;
	size_t words;
};

static const struct param ctx_params[] = {
	{ .name = "procs",
	  .type = PARAM_UINT,
	  .def = "2",
	  .min = 2,
	  .max = 96,
	  .sweep = "2+16",
	  .help = "processes in the ring" },
	{ .name = "size",
	  .type = PARAM_BYTES,
	  .def = "0",
	  .max = 1 << 20,
	  .multiple = sizeof(uint64_t),
	  .sweep = "0+64KiB",
	  .help = "array that each sums between two switches" },
	{ .name = NULL },
};

static const struct metric ctx_metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .headline = true,
	  .from = METRIC_FROM_NET,
	  .doc = "one hand-over less the overhead: the switch" },
	{ .name = "raw",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_EVIDENCE,
	  .from = METRIC_FROM_TIME,
	  .doc = "one hand-over, all of it" },
	{ .name = "overhead",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_EVIDENCE,
	  .from = METRIC_FROM_OVERHEAD,
	  .doc = "the same calls and sums without a switch" },
	{ .name = NULL },
};

static int ctx_demand(const struct args *args, struct demand *demand)
{
	demand->tasks = args_u64(args, "procs");
	demand->descriptors = 2 * demand->tasks + 2;
	demand->memory_bytes = demand->tasks * args_u64(args, "size");
	return 0;
}

/* Its own pages, whoever calls: after a fork they would be one and the same until written to. */
static int array_make(struct run *run, struct ctx_state *c)
{
	c->words = run_u64(run, "size") / sizeof(*c->array);
	c->array = c->words ? run_alloc(run, c->words * sizeof(*c->array)) : NULL;
	if (c->words && !c->array)
		return run_fail(run, ENOMEM, "no memory for %zu words", c->words);
	for (size_t i = 0; i < c->words; i++)
		c->array[i] = 1;
	return 0;
}

/* One hand-over's work. The loads are volatile so that each is one of 8 bytes, never a vector. */
static int array_sum(struct run *run, const struct ctx_state *c)
{
	const volatile uint64_t *word = c->array;
	uint64_t sum = 0;

	for (size_t i = 0; i < c->words; i++)
		sum += word[i];
	return sum == c->words ? 0 : run_fail(run, EIO, "a sum is wrong");
}

static int ctx_setup(struct run *run)
{
	struct ctx_state *c = run_alloc(run, sizeof(*c));
	int r;

	if (!c)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, c);
	run_ops_per_n(run, run_u64(run, "procs"));
	r = kit_pipe(run, c->own);
	if (r == 0)
		r = kit_ring_make(run, (unsigned)run_u64(run, "procs"), &c->ring);
	return r < 0 ? r : array_make(run, c);
}

static int passer_start(struct party *party)
{
	struct ctx_state *c = run_state(party->run);

	kit_ring_keep(&c->ring, party->index + 1);
	kit_close(&c->own[0]);
	kit_close(&c->own[1]);
	return array_make(party->run, c);
}

static int passer_serve(struct party *party)
{
	const struct ctx_state *c = run_state(party->run);
	const int in = kit_ring_in(&c->ring, party->index + 1);
	const int out = kit_ring_out(&c->ring, party->index + 1);
	uint32_t token;
	int r;

	while ((r = kit_read_or_eof(party->run, in, &token, sizeof(token))) == 0) {
		r = array_sum(party->run, c);
		if (r == 0)
			r = kit_write_all(party->run, out, &token, sizeof(token));
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

static int ctx_before(struct run *run)
{
	struct ctx_state *c = run_state(run);

	kit_ring_keep(&c->ring, 0);
	return 0;
}

static int token_pass(struct run *run, const struct ctx_state *c, int out, int in, uint32_t token)
{
	int r = kit_ring_turn(run, out, in, token);

	return r < 0 ? r : array_sum(run, c);
}

static int ctx_batch(struct run *run, uint64_t n)
{
	const struct ctx_state *c = run_state(run);
	const int out = kit_ring_out(&c->ring, 0), in = kit_ring_in(&c->ring, 0);
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++)
		r = token_pass(run, c, out, in, (uint32_t)i);
	return r;
}

static int ctx_overhead(struct run *run, uint64_t n)
{
	const struct ctx_state *c = run_state(run);
	int r = 0;

	for (uint64_t i = 0; i < n * c->ring.members && r == 0; i++)
		r = token_pass(run, c, c->own[1], c->own[0], (uint32_t)i);
	return r;
}

static const struct party_role ctx_parties[] = {
	{ .role = "passer",
	  .kind = PARTY_PROCESS,
	  .count = "procs",
	  .count_less = 1,
	  .start = passer_start,
	  .serve = passer_serve },
	{ .role = NULL },
};

const struct workload workload_ctx = {
	.name = "ctx",
	.family = "ctx",
	.op = "hand-over",
	.doc = "A token around a ring of processes and pipes: the cost of a context switch.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = ctx_params,
	.metrics = ctx_metrics,
	.parties = ctx_parties,
	.demand = ctx_demand,
	.setup = ctx_setup,
	.before = ctx_before,
	.batch = ctx_batch,
	.overhead = ctx_overhead,
};
