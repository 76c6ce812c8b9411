/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact results made by hand: windows first, and all numbers from them. */
#ifndef KDELTA_TESTS_EXACT_FIXTURE_H
#define KDELTA_TESTS_EXACT_FIXTURE_H

#include <math.h>
#include <string.h>

#include "compare_fixture.h"
#include "model/exact.h"

#define XF_CONTEXT                                                                                 \
	"{\"agent\":\"0.1\",\"qemu\":\"7.2.22\",\"cpu\":\"max,-rdrand,-rdseed,-la57\",\"cpus\":1}"

static inline void xf_start(struct fx *f, const char *reproduce)
{
	fx_start(f, reproduce);
	f->d.experiments[0].blocks = 1;
	f->class = EXACT_CLASS;
	f->context = XF_CONTEXT;
}

static inline struct exact_windows *xf_windows(struct fx *f, size_t cap)
{
	struct exact_windows *w = arena_alloc(&f->d.arena, sizeof(*w));

	w->list = arena_array(&f->d.arena, cap, sizeof(*w->list));
	w->contexts = true;
	return w;
}

/* A batch of `ops` operations with so many instructions in all, 30 an op of them in user space. */
static inline struct exact_window *xf_window(struct exact_windows *w, uint64_t ops,
					     uint64_t instructions, uint64_t switches)
{
	struct exact_window *x = &w->list[w->n++];

	x->ops = ops;
	x->task = instructions;
	x->user = 30 * ops < instructions ? 30 * ops : instructions;
	x->kernel = instructions - x->user;
	x->switches = switches;
	return x;
}

/* The same with a tick in it, of so many instructions. */
static inline void xf_tick(struct exact_windows *w, uint64_t ops, uint64_t instructions,
			   uint64_t tick)
{
	struct exact_window *x = xf_window(w, ops, instructions, 0);

	x->hardirq = tick - tick / 4;
	x->softirq = tick / 4;
	x->kernel += tick;
	x->interrupts = 1;
}

/* One invocation with what its windows say; returns its number. */
static inline unsigned xf_invocation(struct fx *f, unsigned boot, const char *family,
				     const char *workload, const char *params, unsigned perturb,
				     const struct exact_windows *w, const struct exact_profile *p)
{
	struct ds_invocation v = {
		.id = "i",
		.boot = boot,
		.workload = workload,
		.family = family,
		.op = "op",
		.params = params,
		.class = f->class,
		.context = f->context,
		.workload_version = f->version,
		.headline = true,
		.state = DS_OK,
		.windows = w,
		.profile = p,
		.has_perturb = true,
		.perturb = perturb,
	};
	unsigned n = dataset_invocation(&f->d, &v, exact_metrics), i;
	double values[EXACT_METRICS];

	exact_values(w, values);
	for (i = 0; i < EXACT_METRICS; i++) {
		struct record_sample s = { .part = "",
					   .metric = exact_metrics[i].name,
					   .value = values[i] };

		if (isfinite(values[i]))
			dataset_sample(&f->d, n, &s);
	}
	return n;
}

/* Three functions of a kernel, in instructions per op; all else is user space. */
struct xf_code {
	const char *name;
	uint64_t per_op;
};

static inline const struct exact_profile *xf_profile(struct fx *f, const struct exact_windows *w,
						     const struct xf_code *code, size_t n)
{
	struct exact_profile *p = arena_alloc(&f->d.arena, sizeof(*p));
	size_t i, k;

	p->symbols = arena_array(&f->d.arena, n, sizeof(*p->symbols));
	p->n = n;
	for (k = 0; k < n; k++) {
		p->symbols[k].name = code[k].name;
		p->symbols[k].addr = 0xffffffff81000000u + 0x1000 * k;
	}
	for (i = 0; i < w->n; i++) {
		enum exact_in in = exact_window_clean(&w->list[i]) ? EXACT_CLEAN : EXACT_OTHER;

		p->ops[in] += w->list[i].ops;
		p->windows[in]++;
		for (k = 0; k < n; k++) {
			p->symbols[k].count[in] += code[k].per_op * w->list[i].ops;
			p->symbols[k].calls[in] += w->list[i].ops;
		}
	}
	return p;
}

/*
 * A workload whose every op executes the same: 20 windows, two of them with a tick that is longer
 * by the perturbation's number.
 */
static inline void xf_steady(struct fx *f, unsigned boot, const char *family, const char *workload,
			     const char *params, unsigned perturb, uint64_t ops, uint64_t per_op,
			     const struct xf_code *code, size_t n_code)
{
	struct exact_windows *w = xf_windows(f, 20);
	unsigned i;

	for (i = 0; i < 20; i++) {
		if (i % 10 == 9)
			xf_tick(w, ops, ops * per_op, 4000 + perturb);
		else
			xf_window(w, ops, ops * per_op, 0);
	}
	xf_invocation(f, boot, family, workload, params, perturb, w,
		      code ? xf_profile(f, w, code, n_code) : NULL);
}

/*
 * A round trip of two processes: each perturbation off by so many instructions in a window of 16,
 * `early` of 40 windows in another way that costs less and switches more.
 */
static inline void xf_pipe(struct fx *f, unsigned boot, unsigned perturb, uint64_t per_op,
			   uint64_t off, unsigned early, uint64_t early_per_op)
{
	struct exact_windows *w = xf_windows(f, 40);
	unsigned i;

	for (i = 0; i < 40; i++) {
		if (i < early)
			xf_window(w, 16, 16 * early_per_op + off, 48);
		else if (i == early && early)
			xf_window(w, 16, 8 * early_per_op + 8 * per_op + off, 40);
		else
			xf_window(w, 16, 16 * per_op + off, 32);
	}
	xf_invocation(f, boot, "ipc", "pipe", "place=same", perturb, w, NULL);
}

#endif
