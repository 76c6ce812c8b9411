/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/exact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "campaign/pool.h"
#include "exact/exact.h"
#include "model/exact.h"
#include "vm/exact.h"

/* What a run and a boot take on a core of its own, roughly: for estimates. */
#define RUN_NS	900000000ull
#define BOOT_NS 6000000000ull

int exact_prepare(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
		  struct error *e)
{
	if (m->time_ns || m->invocations)
		return error_set(e, EINVAL,
				 "--exact counts, it does not time: %s has no meaning; --perturb "
				 "says how many runs",
				 m->time_ns ? "--time" : "--invocations");
	if (str_eq(cv->accel, "kvm"))
		return error_set(e, EINVAL, "--exact counts in QEMU's TCG: leave --accel out");
	if (cv->cpus > 1)
		return error_set(e, EINVAL,
				 "--exact has one CPU: --smp %u shows code paths of more",
				 cv->cpus);
	cv->accel = "tcg";
	cv->exact = true;
	m->work.invocations = (unsigned)xo->perturb;
	m->work.time_ns = EXACT_TIME_NS;
	xo->x.perturb = (unsigned)xo->perturb;
	xo->x.seed = xo->seed;
	xo->x.smp = (unsigned)xo->smp;
	xo->x.jobs = (unsigned)xo->jobs;
	if (campaign_exact_check(&m->work, xo->x.smp, e) < 0)
		return -ENOTSUP;
	return exact_plugin_find(&xo->plugin, e);
}

int exact_host(struct campaign *c, struct campaign_vm *cv, const struct exact_options *xo,
	       const struct campaign_kernel *kernels, unsigned n, struct campaign_host *ret,
	       struct error *e)
{
	int r = campaign_vm_prepare(c, cv, kernels, n, ret, e);

	if (!r)
		r = vm_exact_check(cv->qemu, ret->qemu, xo->x.smp, e);
	return r;
}

int exact_measure(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
		  const struct campaign_host *host, const struct campaign_kernel *kernels,
		  unsigned n, struct campaign *c, struct campaign_tally *tally, struct error *e)
{
	struct str said = STR_INIT;
	int r;

	xo->x.plugin = xo->plugin;
	progress_start(&c->progress, m->quiet, (work_items(&m->work) + 1) * n,
		       exact_cost_ns(m, xo, n));
	r = campaign_exact(c, cv, &xo->x, host, kernels, n, tally, e);
	progress_end(&c->progress);
	if (xo->timing && xo->x.timing.wall_ns) {
		campaign_exact_tell(&xo->x.timing, &said);
		fputs(str_get(&said), stderr);
	}
	str_done(&said);
	return r;
}

void exact_words(const struct exact_options *xo, struct str *out)
{
	if (xo->perturb != EXACT_PERTURB_DEFAULT)
		str_printf(out, " --perturb %llu", (unsigned long long)xo->perturb);
	if (xo->seed != EXACT_SEED_DEFAULT)
		str_printf(out, " --perturb-seed %llu", (unsigned long long)xo->seed);
	if (xo->smp != 1)
		str_printf(out, " --smp %llu", (unsigned long long)xo->smp);
}

uint64_t exact_cost_ns(const struct measure *m, const struct exact_options *xo, unsigned kernels)
{
	unsigned jobs = xo->jobs ? (unsigned)xo->jobs : pool_cpus();
	uint64_t runs = work_items(&m->work) * kernels + work_items(&m->work) / xo->perturb;

	return (runs * RUN_NS + kernels * BOOT_NS) / jobs;
}

void exact_options_done(struct exact_options *xo)
{
	campaign_exact_done(&xo->x);
	free(xo->plugin);
}
