/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IDLE_STEP_NS 1000u
#define IDLE_STEPS   20000u
/*
 * What a batch costs beside its operations is shared by them, so its length moves the figure. A
 * little suffices to move where ticks fall; more would hide differences of an instruction.
 */
#define SIXTEENTHS_MIN 15u
#define SIXTEENTHS_MAX 17u
#define ENV_STEP       16u
#define ENV_STEPS      192u
#define SLAB_MAX       64u

/*
 * SplitMix64 (Steele, Lea, Flood 2014): experiments are repeated by their seed, so that this
 * generator is a part of the format and must not change.
 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 to max. The ranges are tiny beside 2^64: what a remainder prefers cannot be seen. */
static unsigned up_to(uint64_t *state, unsigned max)
{
	return (unsigned)(next(state) % (max + 1ull));
}

void exact_perturb(uint64_t seed, unsigned index, struct plan_perturb *ret)
{
	uint64_t state = seed;

	memset(ret, 0, sizeof(*ret));
	ret->index = index;
	ret->sixteenths = 16;
	if (!index)
		return;
	/* A stream of its own for each index. */
	state = next(&state) ^ (uint64_t)index * 0xd1342543de82ef95ull;
	ret->idle_ns = (uint64_t)up_to(&state, IDLE_STEPS) * IDLE_STEP_NS;
	ret->sixteenths = SIXTEENTHS_MIN + up_to(&state, SIXTEENTHS_MAX - SIXTEENTHS_MIN);
	ret->env_bytes = up_to(&state, ENV_STEPS) * ENV_STEP;
	ret->slab = up_to(&state, SLAB_MAX);
}

void exact_perturb_text(const struct plan_perturb *p, char *buf, size_t size)
{
	uint64_t ms = p->idle_ns / 1000000, rest = p->idle_ns % 1000000;
	char idle[48];

	if (!p->index) {
		snprintf(buf, size, "0: none");
		return;
	}
	if (rest % 1000)
		snprintf(idle, sizeof(idle), "%" PRIu64 ".%06" PRIu64, ms, rest);
	else
		snprintf(idle, sizeof(idle), "%" PRIu64 ".%03" PRIu64, ms, rest / 1000);
	snprintf(buf, size, "%u: idle %s ms, batch %u/16, env %u, slab %u", p->index, idle,
		 p->sixteenths ? p->sixteenths : 16, p->env_bytes, p->slab);
}
