/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The window around a batch: the clock, and what the clock itself costs. Counters and markers of
 * later modes open and close here as well.
 */
#include "runner/internal.h"

#include "base/clock.h"

void window_open(struct window *w)
{
	w->start_ns = clock_raw_ns();
}

void window_close(struct window *w)
{
	w->end_ns = clock_raw_ns();
}

void clock_cost(struct clock_cost *ret)
{
	enum { READS = 2000, LOOPS = 1000000 };
	uint64_t step = UINT64_MAX, first, last, before, turns;
	struct timespec res;
	unsigned i, still = 0;

	first = last = clock_raw_ns();
	for (i = 0; i < READS; i++) {
		uint64_t now = clock_raw_ns();

		if (now == last)
			still++;
		else if (now - last < step)
			step = now - last;
		last = now;
	}
	ret->overhead_ns = (double)(last - first) / READS;
	/* Reads that see no progress show a tick; without them only the declared step is known. */
	clock_getres(CLOCK_MONOTONIC_RAW, &res);
	ret->resolution_ns = (uint64_t)res.tv_nsec ? (uint64_t)res.tv_nsec : 1;
	if (still && step != UINT64_MAX && step > ret->resolution_ns)
		ret->resolution_ns = step;
	before = clock_raw_ns();
	for (turns = 0; turns < LOOPS; turns++)
		__asm__ volatile("" ::: "memory");
	ret->loop_ns = (double)(clock_raw_ns() - before) / LOOPS;
}
