/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's perturbations, in the guest: harmless things that move where a tick, a slab refill
 * or a cache line falls. A difference between kernels that is smaller than theirs is none.
 */
#ifndef KDELTA_RUNNER_PERTURB_H
#define KDELTA_RUNNER_PERTURB_H

#include "model/plan.h"
#include "runner/internal.h"

/*
 * In the agent, before the machine is saved: starts the process that is to hold objects. It ends
 * with the agent.
 */
int perturb_prepare(struct error *e);
/*
 * Before the leader is started: that process takes objects that system calls hold only while they
 * last, and keeps them. What a call then gets lies elsewhere in its slab; in the first page of one
 * it is a branch less. Once; without perturb_prepare() nothing is held.
 */
int perturb_hold(const struct plan_perturb *p, struct error *e);
/* In the leader, before setup: allocations made and given back, then idleness. */
int perturb_apply(struct run *run, const struct plan_perturb *p);
/* Between fork and exec of the leader: more environment. */
void perturb_environment(const struct plan_perturb *p);

#endif
