/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's campaign: each kernel boots once to its quiet point, then every workload under every
 * perturbation runs from that snapshot in a QEMU of its own, as many at once as there are CPUs.
 * docs/adr/0002-exact.md.
 */
#ifndef KDELTA_CAMPAIGN_EXACT_H
#define KDELTA_CAMPAIGN_EXACT_H

#include <stdint.h>

#include "base/str.h"
#include "campaign/campaign.h"

#define EXACT_PERTURB_DEFAULT 8u
#define EXACT_SEED_DEFAULT    1u

/* Where the time went, host time summed over all threads. */
struct campaign_exact_timing {
	uint64_t wall_ns, boot_ns, save_ns,
		symbols_ns; /* symbols: out of the image, or the cache */
	uint64_t calibrate_ns, run_ns, start_ns, count_ns,
		store_ns; /* start: a run's, to the restored guest */
	unsigned boots, calibrations, runs, jobs;
	uint64_t snapshot_bytes; /* of all kernels */
};

/* Operations of a batch that a point was measured with: all kernels must have the same. */
struct campaign_exact_n {
	char *workload, *key; /* key: parameters and settings */
	uint64_t n;
};

struct campaign_exact {
	unsigned perturb; /* perturbations of each point */
	uint64_t seed;	  /* of them */
	unsigned smp;	  /* CPUs of the guest */
	unsigned jobs;	  /* QEMUs at once; 0: one a CPU */
	const char *plugin;
	struct campaign_exact_n *known; /* what is not in here is found out first, and added */
	size_t n_known, cap_known;
	struct campaign_exact_timing timing; /* set */
};

void campaign_exact_know(struct campaign_exact *x, const char *workload, const char *key,
			 uint64_t n);
/* What a stored experiment was measured with. */
void campaign_exact_know_all(struct campaign_exact *x, const struct dataset *d);
void campaign_exact_done(struct campaign_exact *x);

/*
 * Can all of this be exact? -ENOTSUP names the workload and why not. Points that only a default
 * asked for and that cannot are taken out.
 */
int campaign_exact_check(struct work *w, unsigned smp, struct error *e);
/*
 * Boots, measures, stores: one boot a kernel, c->work->invocations is x->perturb. As campaign_vm();
 * v->blocks and order play no part.
 */
int campaign_exact(struct campaign *c, const struct campaign_vm *v, struct campaign_exact *x,
		   const struct campaign_host *host, const struct campaign_kernel *kernels,
		   unsigned n, struct campaign_tally *ret, struct error *e);
/* The table of --timing. */
void campaign_exact_tell(const struct campaign_exact_timing *t, struct str *out);

#endif
