/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that measure exactly share: `vm --exact` and `bisect --exact`. */
#ifndef KDELTA_CMD_EXACT_H
#define KDELTA_CMD_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "campaign/exact.h"
#include "cmd/measure.h"
#include "cmd/vm_kernels.h"

struct exact_options {
	uint64_t perturb, seed, smp, jobs; /* seed: of the perturbations */
	bool timing;
	char *plugin;		 /* made by exact_prepare() */
	struct campaign_exact x; /* goes from measurement to measurement: operations of a batch */
};

#define EXACT_OPTIONS_INIT                                                                         \
	{                                                                                          \
		.perturb = EXACT_PERTURB_DEFAULT, .seed = EXACT_SEED_DEFAULT, .smp = 1             \
	}

/* clang-format off */
#define EXACT_OPTIONS(xo) \
	{0, "perturb", OPTION_UINT, &(xo)->perturb, "K", NULL, 1, 64, \
	 "runs of each workload, each perturbed otherwise\n(default 8; fewer give no word but 'same')"}, \
	{0, "perturb-seed", OPTION_UINT, &(xo)->seed, "N", NULL, 0, UINT32_MAX, \
	 "of the perturbations (default 1)"}, \
	{0, "smp", OPTION_UINT, &(xo)->smp, "N", NULL, 1, 64, \
	 "CPUs of the guest: shows code paths only, no word\n(default 1; more wants QEMU 9.0)"}, \
	{0, "jobs", OPTION_UINT, &(xo)->jobs, "N", NULL, 1, 1024, \
	 "QEMUs at once (default: one a CPU)"}, \
	{0, "timing", OPTION_FLAG, &(xo)->timing, NULL, NULL, 0, 0, \
	 "say on stderr where the time went"}
/* clang-format on */

/*
 * Behind measure_prepare(): shapes m->work and cv for exact mode and finds the plugin. -ENOTSUP: a
 * workload that cannot be exact; -EINVAL: an option that belongs to other modes.
 */
int exact_prepare(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
		  struct error *e);
/*
 * QEMU and what it can do, and that these kernels can be used, for exact_measure() of all or some
 * of them; campaign_host_done() in every case.
 */
int exact_host(struct campaign *c, struct campaign_vm *cv, const struct exact_options *xo,
	       const struct campaign_kernel *kernels, unsigned n, struct campaign_host *ret,
	       struct error *e);
/*
 * Measures `n` kernels exactly into the experiment c->experiment of c->store, with progress on
 * stderr. As campaign_vm(): negative only where nothing could be done, the rest is in the tally.
 */
int exact_measure(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
		  const struct campaign_host *host, const struct campaign_kernel *kernels,
		  unsigned n, struct campaign *c, struct campaign_tally *tally, struct error *e);
/* "--perturb 4 ...": what of it is not the default. */
void exact_words(const struct exact_options *xo, struct str *out);
/* About how long: for the dry run and the progress. */
uint64_t exact_cost_ns(const struct measure *m, const struct exact_options *xo, unsigned kernels);
void exact_options_done(struct exact_options *xo);

#endif
