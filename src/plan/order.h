/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of boots: blocks of one boot of each kernel, random within the block, from a seed
 * that is kept. Never AAA BBB: a drift of the machine would be taken for a difference.
 */
#ifndef KDELTA_PLAN_ORDER_H
#define KDELTA_PLAN_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct order_boot {
	unsigned kernel, block;
};

/* kernels x blocks entries; the caller frees. The same seed gives the same order anywhere. */
struct order_boot *order_make(unsigned kernels, unsigned blocks, uint64_t seed);
/* "AB BA AB": for people and for the store; caller frees. Kernels past Z are numbers in (). */
char *order_text(const struct order_boot *order, unsigned kernels, unsigned blocks);

#endif
