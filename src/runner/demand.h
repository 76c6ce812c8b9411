/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is there what a workload needs? Checked before it starts; what cannot be told does not refuse. */
#ifndef KDELTA_RUNNER_DEMAND_H
#define KDELTA_RUNNER_DEMAND_H

#include <stddef.h>

#include "workload/workload.h"

/* 0, or -ENOTSUP with the reason in `why`. */
int demand_check(const struct workload *w, const struct args *args, char *why, size_t size);

#endif
