/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/order.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "base/mem.h"
#include "base/str.h"

struct order_boot *order_make(unsigned kernels, unsigned blocks, uint64_t seed)
{
	struct order_boot *o = mem_array((size_t)kernels * blocks, sizeof(*o));
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	unsigned b, k;

	/* The generator takes 32 bits: the others must count as well. */
	gsl_rng_set(rng, (unsigned long)((seed ^ (seed >> 32)) & UINT32_MAX));
	for (b = 0; kernels && b < blocks; b++) {
		struct order_boot *block = o + (size_t)b * kernels;

		for (k = 0; k < kernels; k++) {
			block[k].kernel = k;
			block[k].block = b;
		}
		gsl_ran_shuffle(rng, block, kernels, sizeof(*block));
	}
	gsl_rng_free(rng);
	return o;
}

char *order_text(const struct order_boot *order, unsigned kernels, unsigned blocks)
{
	struct str s = STR_INIT;
	size_t i, n = (size_t)kernels * blocks;

	for (i = 0; i < n; i++) {
		if (i && order[i].block != order[i - 1].block)
			str_add_c(&s, ' ');
		if (order[i].kernel < 26)
			str_add_c(&s, (char)('A' + order[i].kernel));
		else
			str_printf(&s, "(%u)", order[i].kernel);
	}
	return str_take(&s);
}
