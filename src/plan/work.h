/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what a person asked for (workloads, suites, time) to what an agent does in one boot, and
 * what that costs.
 */
#ifndef KDELTA_PLAN_WORK_H
#define KDELTA_PLAN_WORK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/info.h"
#include "model/plan.h"
#include "model/spec.h"
#include "plan/set.h"

struct work {
	struct arena arena;
	struct spec_points points;
	struct sets sets;     /* settings: each point is measured with each combination */
	unsigned invocations; /* of each point in a boot, as fresh processes */
	uint64_t time_ns;     /* of measuring, each invocation */
	uint64_t heartbeat_ns;
};

/* Start of a process, calibration and warm-up of one invocation, roughly: for estimates. */
#define WORK_OVERHEAD_NS 150000000ull
#define WORK_TIME_MIN_NS 50000000ull /* less than this measures nothing well */
#define WORK_INVOCATIONS 2u
/* A boot to its first record and its power-off under TCG, for the first estimate. */
#define WORK_BOOT_NS 8000000000ull

/*
 * Expands specs ("@FILE" reads more of them, one a line, # comments) and suites; none at all: the
 * suite "default". -ENOENT, -EINVAL with one line. work_done() in every case.
 */
int work_make(struct work *ret, const struct workload_list *known, const char *const *specs,
	      size_t n_specs, const char *const *suites, size_t n_suites, struct error *e);
/* Shares a boot's time among its invocations; `budget_ns` is all of it, overhead included. */
void work_share(struct work *w, uint64_t budget_ns);
/* What one boot's invocations take together. */
uint64_t work_cost_ns(const struct work *w);
size_t work_items(const struct work *w);
/*
 * The agent's plan of one boot: new ids, one round of all points after the other. With settings a
 * round has all points with one combination, then all with the next; every other round goes through
 * the combinations backwards, so that least is changed and no combination is always the first.
 */
char *work_plan(const struct work *w, const char *boot, const char *class, const json_t *context,
		struct plan *ret, struct error *e);
void work_done(struct work *w);

#endif
