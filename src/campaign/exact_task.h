/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of an exact campaign do: one boot to the quiet point, or one run from it. They
 * touch neither the store nor the terminal; what they leave is for the thread that owns these.
 */
#ifndef KDELTA_CAMPAIGN_EXACT_TASK_H
#define KDELTA_CAMPAIGN_EXACT_TASK_H

#include "base/str.h"
#include "campaign/campaign.h"
#include "campaign/pool.h"
#include "model/plan.h"
#include "symbol/symbol.h"
#include "vm/exact.h"

/* One kernel: written by its boot task, then only read. */
struct exact_kernel {
	const struct campaign_kernel *kernel;
	struct vm_config cfg;
	struct vm_snapshot snapshot;
	struct symbols *symbols; /* NULL: none, by address */
	char *contexts;
	char *symbols_said; /* the value of the fact `symbols`, or why there are none */
	bool symbols_known;
	bool contexts_known;
	char *kallsyms; /* the agent's record, until it is used */
	bool restless;	/* it was not quiet in the time that it was given */
};

enum exact_act { EXACT_BOOT, EXACT_CALIBRATE, EXACT_RUN };

struct exact_task {
	struct pool_task link; /* first */
	enum exact_act act;
	struct exact_kernel *k;
	unsigned smp;
	const char *plugin;
	const json_t *context;
	const char *cache_dir; /* of symbols */
	const struct plan *plan;
	const struct plan_item *item;
	struct plan_perturb perturb;
	uint64_t n; /* operations of a batch; of a calibration: what it found */
	/* what became of it */
	int r; /* negative: the host's fault, in err */
	struct error err;
	struct vm_result result; /* vm_result_done() */
	char *reason;		 /* why it failed; NULL: it went well */
	struct str lines;	 /* records for the store, or of a boot as they came */
	uint64_t host_ns, count_ns, symbols_ns;
	bool over, again; /* for the thread that owns these: it is done; it was tried twice */
};

/* For the pool; takes any of the three. */
void exact_task_do(struct pool_task *t);
void exact_task_done(struct exact_task *t);
void exact_kernel_done(struct exact_kernel *k);

#endif
