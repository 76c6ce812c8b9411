/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dataset: everything a comparison needs, in memory, without a database. The store fills it, a
 * test fills it by hand, `compare` reads it and nothing else. One arena holds all of it.
 *
 * Indexes (kernel, experiment, boot, invocation) are positions in the arrays. `kernels` is in the
 * order of comparison: the first is the base. Values are in the metric's declared unit and per.
 */
#ifndef KDELTA_MODEL_DATASET_H
#define KDELTA_MODEL_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/exact.h"
#include "model/fact.h"
#include "model/hist.h"
#include "model/metric.h"
#include "model/record.h"

struct ds_kernel {
	const char *label;
	const char *release, *version, *build_id; /* NULL where unknown */
	const char *cmdline, *config_hash;
	const char *config; /* the text of .config; NULL: unknown */
	const char *source; /* the KERNEL argument it came from; NULL: the one that ran */
};

struct ds_fact {
	enum fact_when when;
	enum fact_class class;
	const char *name, *value, *why; /* value NULL: unknown */
};

struct ds_experiment {
	const char *id, *name, *subject;
	uint64_t seed;
	unsigned blocks; /* 0: no order was planned, and `seed` means nothing */
	uint64_t created_ns;
	const char *reproduce; /* a command; NULL: none */
};

/* DS_STOPPED, of boots: ended by a signal or by the host; no outcome of the kernel's. */
enum ds_state { DS_OK = 1, DS_FAILED, DS_SKIPPED, DS_STOPPED };

struct ds_boot {
	const char *id, *boot_id; /* boot_id NULL: unknown */
	unsigned kernel, experiment;
	unsigned index; /* 0, 1, ... in the experiment, as it happened */
	unsigned block;
	uint64_t started_ns; /* CLOCK_REALTIME */
	enum ds_state state;
	const char *reason; /* of a failed boot */
	struct ds_fact *facts;
	size_t n_facts, cap_facts;
	unsigned kernel_warnings; /* new warnings in the kernel's log, or on the console */
};

struct ds_usage {
	const char *name;
	double value;
};

struct ds_invocation {
	const char *id;
	unsigned boot;
	const char *workload, *family, *op, *params, *class, *context; /* context: JSON text */
	unsigned workload_version;
	bool headline;
	enum ds_state state;
	bool implied;		      /* a skip that only a default asked for */
	const char *reason;	      /* failed, skipped */
	const struct metric *metrics; /* ends with a NULL name; set by dataset_invocation() */
	struct ds_usage *usage;
	size_t n_usage, cap_usage;
	struct ds_fact *facts; /* taken around this invocation */
	size_t n_facts, cap_facts;
	unsigned kernel_warnings;
	/* Of class "exact" (model/exact.h); not copied: in the dataset's arena. NULL: none. */
	const struct exact_windows *windows;
	const struct exact_profile *profile;
	/* Of class "exact", out of its fact EXACT_FACT. */
	bool has_perturb;
	unsigned perturb; /* which perturbation; 0: none */
};

/* The values of one key in one invocation. */
struct ds_point {
	unsigned boot, invocation;
	double *values;
	size_t n, cap;
	unsigned below;	   /* of them at or below their overhead (METRIC_FROM_NET) */
	double overhead;   /* mean overhead, in the metric's unit; NaN: none */
	double resolution; /* smallest relative step a value can have; 0: unknown */
	struct hist *hist; /* METRIC_FROM_QUANTILE: the histogram; values empty */
};

/* One key: what may be compared with itself across kernels, and with nothing else. */
struct ds_series {
	const char *workload, *family, *op, *params, *part, *class, *context;
	unsigned workload_version;
	bool headline; /* the workload's default point and a headline metric */
	struct metric metric;
	struct ds_point *points; /* by invocation */
	size_t n, cap;
};

struct dataset {
	struct arena arena;
	struct ds_kernel *kernels;
	struct ds_experiment *experiments;
	struct ds_boot *boots;
	struct ds_invocation *invocations;
	struct ds_series *series;
	size_t n_kernels, cap_kernels, n_experiments, cap_experiments, n_boots, cap_boots;
	size_t n_invocations, cap_invocations, n_series, cap_series;
};

#define DATASET_INIT                                                                               \
	{                                                                                          \
		.arena = ARENA_INIT                                                                \
	}

/*
 * Filling. Each adds a copy (strings into the arena) and returns its index. Boots get their
 * `index` from dataset_finish(), by start time. Usage comes before samples (the clock's resolution
 * is in it). Samples of a failed or skipped invocation are ignored: no number from a failed run.
 */
unsigned dataset_kernel(struct dataset *d, const struct ds_kernel *k);
unsigned dataset_experiment(struct dataset *d, const struct ds_experiment *x);
unsigned dataset_boot(struct dataset *d, const struct ds_boot *b);
void dataset_boot_fact(struct dataset *d, unsigned boot, const struct ds_fact *f);
/* `metrics` (ending with a NULL name) are what samples are turned into values by. */
unsigned dataset_invocation(struct dataset *d, const struct ds_invocation *v,
			    const struct metric *metrics);
void dataset_usage(struct dataset *d, unsigned invocation, const char *name, double value);
void dataset_invocation_fact(struct dataset *d, unsigned invocation, const struct ds_fact *f);
/* A batch or a reported value, turned into values of every metric that comes from it. */
void dataset_sample(struct dataset *d, unsigned invocation, const struct record_sample *s);
void dataset_hist(struct dataset *d, unsigned invocation, const char *part, const char *name,
		  const struct hist *h);
/*
 * Numbers the boots of each experiment by their start, and adds the facts that follow from a
 * configuration (model/derive.h). Call once, when all is in.
 */
void dataset_finish(struct dataset *d);
void dataset_done(struct dataset *d);

/* A usage value of an invocation; def if it was not recorded. */
double dataset_usage_of(const struct ds_invocation *v, const char *name, double def);
/* A boot's fact; NULL if it was not taken. */
const struct ds_fact *dataset_fact_of(const struct ds_boot *b, enum fact_when when,
				      const char *name);

#endif
