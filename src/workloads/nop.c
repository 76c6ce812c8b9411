/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nothing at all: what the runner's own loop, clock and call of a batch cost. Every other figure
 * has this floor under it; at most 2 ns an operation.
 */
#include "workload/kit.h"

static int nop_batch(struct run *run, uint64_t n)
{
	(void)run;
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory"); /* or the compiler removes the loop */
	return 0;
}

const struct workload workload_nop = {
	.name = "nop",
	.family = "harness",
	.op = "pass",
	.doc = "An empty counted loop: the floor under every other figure.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.batch = nop_batch,
};
