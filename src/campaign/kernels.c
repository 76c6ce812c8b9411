/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/kernels.h"

int campaign_store_kernels(struct campaign *c, const struct campaign_kernel *kernels, unsigned n,
			   char (*ret_ids)[ID_UUID_SIZE], struct error *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; i < n && !r; i++) {
		const struct image *img = kernels[i].image;
		struct ds_kernel k = {
			.label = kernels[i].label,
			.release = img->release,
			.version = img->version,
			.build_id = img->build_id,
			.config = img->config,
			.config_hash = img->config_hash,
			.source = kernels[i].source,
		};

		r = store_kernel_add(c->store, &k, ret_ids[i], e);
		/* In the order of the command line: the first is the base. */
		if (!r)
			r = store_experiment_kernel(c->store, c->experiment, ret_ids[i], e);
	}
	return r;
}
