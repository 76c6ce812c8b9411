/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runner: a plan in, records out. It starts each invocation as a fresh process, watches it
 * from outside, and writes its records in one burst when it is over (docs/records.md): nothing is
 * written to the channel while something is measured.
 *
 * A failing operation, a party that dies, a crash, or silence longer than the plan's heartbeat
 * ends the invocation: its numbers are thrown away, a `fail` record says why, the next one runs.
 *
 * Where the plan has settings, SIGINT, SIGTERM and SIGHUP end it in order: the settings are put
 * back, and then the signal kills it.
 */
#ifndef KDELTA_RUNNER_RUNNER_H
#define KDELTA_RUNNER_RUNNER_H

#include <stdbool.h>

#include "model/info.h"
#include "model/plan.h"

struct runner_config {
	int out;       /* records go here */
	int self;      /* open descriptor of the agent's own executable; -1: fork only */
	bool init;     /* running as init of a guest */
	bool progress; /* one line per invocation on stderr */
};

/*
 * Runs all of it; returns the number of failed invocations and of settings that could not be put
 * back, or -errno if the channel is gone. After SIGINT, SIGTERM or SIGHUP, when all is put back, it
 * ends the process by that signal: then there is no `done`.
 *
 * A plan of class "native" is corrected where this is no machine of its own: "emulated" under
 * QEMU's TCG, "kvm" under any other hypervisor.
 */
int runner_run(const struct runner_config *c, const struct plan *plan, struct error *e);
/*
 * The `invoke` command: one invocation, in the process that the runner made for it. `executed`:
 * a fresh image of the program, not a copy of the runner's memory.
 */
int runner_invoke(bool executed);
/* `kdelta-agent list`: all workloads, as the host reads them. Fill by registry; arena memory. */
void runner_list(struct workload_list *ret);
json_t *runner_list_encode(const struct workload_list *l);

#define AGENT_VERSION KDELTA_VERSION /* given by the build */

#endif
