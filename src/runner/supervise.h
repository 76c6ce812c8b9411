/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One invocation seen from outside: a fresh process is started, watched (heartbeat, its parties,
 * its end), and its records are handed back in one piece. Nothing of it is left behind.
 */
#ifndef KDELTA_RUNNER_SUPERVISE_H
#define KDELTA_RUNNER_SUPERVISE_H

#include "base/error.h"
#include "base/str.h"
#include "facts/kmsg.h"
#include "model/plan.h"

enum outcome { OUTCOME_OK, OUTCOME_FAILED, OUTCOME_SKIPPED };

struct supervised {
	enum outcome outcome;
	struct str records; /* lines; of a run that went well: facts, samples, histograms, usage */
	char reason[700];   /* of one that did not */
};

/*
 * `self`: descriptor of our own executable or -1. Once stop_asked() the invocation fails as
 * interrupted. -errno only where no process can be made.
 */
int supervise(const struct plan *plan, const struct plan_item *item, int self,
	      struct supervised *ret, struct error *e);
void supervised_done(struct supervised *s);

#endif
