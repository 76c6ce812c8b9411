/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The window around a batch: the clock, the markers of exact mode, and what the clock costs. */
#include "runner/internal.h"

#include "base/clock.h"

/* An 8-byte nop whose displacement is 'K' 'D' 'R' n. */
#define MARK(n)                                                                                    \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'K', 'D', 'R', %c0" : : "i"(n) : "memory")

/* The markers are innermost: reading the clock is in no count. */
void window_open(struct window *w)
{
	w->start_ns = clock_raw_ns();
	if (w->mark == WINDOW_BATCH)
		MARK(WINDOW_BATCH);
	else if (w->mark == WINDOW_OVERHEAD)
		MARK(WINDOW_OVERHEAD);
}

void window_close(struct window *w)
{
	if (w->mark == WINDOW_BATCH)
		MARK(WINDOW_BATCH + 1);
	else if (w->mark == WINDOW_OVERHEAD)
		MARK(WINDOW_OVERHEAD + 1);
	w->end_ns = clock_raw_ns();
}

void window_count(void)
{
	MARK(WINDOW_COUNT);
}

void window_finish(void)
{
	MARK(WINDOW_FINISH);
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
