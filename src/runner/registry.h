/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All workloads, generated from the files in src/workloads/ (tools/gen-registry). */
#ifndef KDELTA_RUNNER_REGISTRY_H
#define KDELTA_RUNNER_REGISTRY_H

#include "workload/workload.h"

extern const struct workload *const workload_registry[]; /* by name; NULL at the end */
const struct workload *registry_find(const char *name);	 /* NULL: no such workload */

#endif
