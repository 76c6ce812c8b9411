/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `kdelta vm --exact`, and how both forms of `kdelta vm` end. */
#ifndef KDELTA_CMD_VM_EXACT_H
#define KDELTA_CMD_VM_EXACT_H

#include "cmd/exact.h"
#include "cmd/report.h"

/* Was an option of exact mode given? */
bool exact_asked(const struct exact_options *xo);
/* -ENOENT: exact mode has no such metric. */
int exact_check_metrics(const struct option_list *metrics, struct error *e);
/* -EINVAL: words of --fail-on that this mode does not have. */
int exact_check_gate(const char *words, bool exact, struct error *e);
int vm_exact_dry_run(const struct measure *m, const struct campaign_vm *cv,
		     const struct exact_options *xo, const struct vm_kernels *v);
/* Measures and prints the comparison; the exit code. */
int vm_exact(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
	     const struct vm_kernels *v, const struct report_options *ro);
/*
 * What a campaign that ended with r (and err) leaves to be said, then the report; closes the store.
 * The exit code.
 */
int vm_report(const struct measure *m, const struct vm_kernels *v, const struct report_options *ro,
	      bool exact, struct campaign *c, const struct campaign_tally *tally, int r,
	      struct error *err);

#endif
