/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernels of a campaign on their way into the store. */
#ifndef KDELTA_CAMPAIGN_KERNELS_H
#define KDELTA_CAMPAIGN_KERNELS_H

#include "campaign/campaign.h"

/* Adds all of them to the experiment, in the order of the command line: the first is the base. */
int campaign_store_kernels(struct campaign *c, const struct campaign_kernel *kernels, unsigned n,
			   char (*ret_ids)[ID_UUID_SIZE], struct error *e);

#endif
