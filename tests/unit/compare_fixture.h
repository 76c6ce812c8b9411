/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datasets made by hand, for the tests of compare and render. */
#ifndef KDELTA_TESTS_COMPARE_FIXTURE_H
#define KDELTA_TESTS_COMPARE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compare/compare.h"
#include "model/dataset.h"

static const struct metric fx_latency = {
	.name = "latency",
	.unit = UNIT_NS,
	.per = "op",
	.better = METRIC_LESS,
	.kind = METRIC_MEASURE,
	.headline = true,
	.from = METRIC_FROM_REPORTED,
};

static const struct metric fx_rate = {
	.name = "rate",
	.unit = UNIT_BYTES,
	.per = "s",
	.better = METRIC_MORE,
	.kind = METRIC_MEASURE,
	.from = METRIC_FROM_REPORTED,
};

static const struct metric fx_switches = {
	.name = "switches",
	.unit = UNIT_COUNT,
	.per = "op",
	.better = METRIC_LESS,
	.kind = METRIC_COUNT,
	.from = METRIC_FROM_REPORTED,
};

/* Noise of a boot: means 0 over any four in a row, sd about 1. */
static const double fx_noise[] = { 0.9, -1.1, 0.6,  -0.4, 1.2,	-0.8, -0.9, 0.5,
				   0.3, 0.8,  -1.3, 0.2,  -0.6, 1.0,  -0.7, 0.3 };
/* Blocks of two in mixed order: 0 is the base. */
static const unsigned fx_order[] = { 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0 };

struct fx {
	struct dataset d;
	uint64_t clock;
	unsigned boots[64], kernel_of[64], n_boots;
	const char *class, *context;
	unsigned version;
};

static inline void fx_start(struct fx *f, const char *reproduce)
{
	struct ds_experiment x = { .id = "3e0c", .name = "demo", .seed = 42, .blocks = 4 };

	memset(f, 0, sizeof(*f));
	x.reproduce = reproduce;
	f->clock = 1000;
	f->class = "native";
	f->context = "{\"agent\":\"0.1\"}";
	f->version = 1;
	dataset_experiment(&f->d, &x);
}

static inline unsigned fx_kernel(struct fx *f, const char *label, const char *release,
				 const char *build_id, const char *cmdline, const char *config)
{
	struct ds_kernel k = {
		.label = label,
		.release = release,
		.version = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.170-3 (2026-05-08)",
		.build_id = build_id,
		.cmdline = cmdline,
		.config = config,
	};

	return dataset_kernel(&f->d, &k);
}

static inline unsigned fx_boot_state(struct fx *f, unsigned kernel, enum ds_state state,
				     const char *reason)
{
	struct ds_boot b = { .id = "b", .kernel = kernel, .state = state, .reason = reason };
	unsigned n;

	b.started_ns = f->clock++;
	n = dataset_boot(&f->d, &b);
	if (state == DS_OK) {
		f->kernel_of[f->n_boots] = kernel;
		f->boots[f->n_boots++] = n;
	}
	return n;
}

/* n boots of two kernels in mixed blocks (n of both together). */
static inline void fx_blocks(struct fx *f, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		fx_boot_state(f, fx_order[i % 16], DS_OK, NULL);
}

static inline unsigned fx_invocation(struct fx *f, unsigned boot, const char *family,
				     const char *workload, const char *params,
				     const struct metric *m, bool headline, enum ds_state state,
				     const char *reason)
{
	struct metric list[2] = { *m, { .name = NULL } };
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
		.headline = headline,
		.state = state,
		.reason = reason,
	};
	unsigned n = dataset_invocation(&f->d, &v, list);

	dataset_usage(&f->d, n, "elapsed_ns", 1e9);
	return n;
}

static inline void fx_sample(struct fx *f, unsigned invocation, const struct metric *m, double v)
{
	struct record_sample s = { .part = "", .metric = m->name, .value = v };

	dataset_sample(&f->d, invocation, &s);
}

/* One invocation of one sample in one boot; returns the invocation. */
static inline unsigned fx_value(struct fx *f, unsigned boot, const char *family,
				const char *workload, const char *params, const struct metric *m,
				bool headline, double v)
{
	unsigned n = fx_invocation(f, boot, family, workload, params, m, headline, DS_OK, NULL);

	fx_sample(f, n, m, v);
	return n;
}

/*
 * One workload in all boots: `mean` for kernel 0, mean * ratio for the others (ratio to the power
 * of the kernel's number), each boot off by noise * fx_noise percent.
 */
static inline void fx_measure(struct fx *f, const char *family, const char *workload,
			      const char *params, const struct metric *m, bool headline,
			      double mean, double ratio, double noise)
{
	unsigned i, k, seen[8] = { 0 };

	for (i = 0; i < f->n_boots; i++) {
		unsigned kernel = f->kernel_of[i];
		double v = mean;

		for (k = 0; k < kernel; k++)
			v *= ratio;
		v *= 1 + noise / 100 * fx_noise[(seen[kernel]++ + 5 * kernel) % 16];
		fx_value(f, f->boots[i], family, workload, params, m, headline, v);
	}
}

static inline void fx_two(struct fx *f)
{
	fx_start(f, NULL);
	fx_kernel(f, "a", "6.1", "aa", "quiet", NULL);
	fx_kernel(f, "b", "6.2", "bb", "quiet", NULL);
}

static inline void fx_fact(struct fx *f, unsigned boot, enum fact_class class, enum fact_when when,
			   const char *name, const char *value)
{
	struct ds_fact fact = { .when = when, .class = class, .name = name, .value = value };

	dataset_boot_fact(&f->d, boot, &fact);
}

/* Finishes and compares; o NULL: the defaults. Include cmocka.h first. */
static inline void fx_make(struct fx *f, const struct compare_options *o, struct comparison *ret)
{
	static const struct compare_options defaults = COMPARE_OPTIONS_INIT;
	struct error e = ERROR_INIT;

	dataset_finish(&f->d);
	if (compare_make(&f->d, o ? o : &defaults, ret, &e))
		fail_msg("%s", e.text);
}

static inline void fx_done(struct fx *f, struct comparison *c)
{
	compare_done(c);
	dataset_done(&f->d);
}

static inline bool fx_flagged(const struct compare_pair *p, enum compare_flag flag)
{
	return p->flags & COMPARE_BIT(flag);
}

#endif
