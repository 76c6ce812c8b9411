/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a campaign was given and what the host has to the configuration of a boot. */
#ifndef KDELTA_CAMPAIGN_HOST_H
#define KDELTA_CAMPAIGN_HOST_H

#include <jansson.h>

#include "campaign/campaign.h"

/* All of a boot but its plan; borrows from all that it is given. `index`: which kernel it is. */
void host_config(const struct campaign *c, const struct campaign_vm *v,
		 const struct campaign_kernel *kernel, unsigned index,
		 const struct campaign_host *host, struct vm_config *ret);
/* What must agree for the numbers of two boots to be comparable. */
json_t *host_context(const struct campaign *c, const struct campaign_vm *v,
		     const struct campaign_host *host);

#endif
