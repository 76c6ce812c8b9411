/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between a workload and the runner.
 *
 * A workload says what it is and does n operations, or returns an error. The runner owns all the
 * rest: processes, pinning, barriers, warm-up, the choice of n, the clock, resource usage, and
 * what happens when something fails. A workload is one file in src/workloads/ that defines
 *
 *	const struct workload workload_NAME = { ... };      (file NAME.c)
 *
 * and is then found by the build. docs/adr/0001-contract.md shows how this one contract carries
 * micro and macro benchmarks.
 *
 * One invocation runs so, in a fresh process:
 *
 *	demand -> setup -> [ next_part -> parties start -> warm-up -> batches -> parties stop ]...
 *-> after where a batch is: before (untimed) -> overhead (timed, if any) -> batch (timed)
 *
 * Functions return 0 or -errno; run_fail() adds the words. Any error discards the whole
 * invocation and records why: a failure is never fast. A short read or write is an error: the kit
 * (workload/kit.h) has transfers that see to that. Everything the runner hands out lives until the
 * invocation ends. No workload exits, prints, times its batches or leaves a process behind.
 */
#ifndef KDELTA_WORKLOAD_WORKLOAD_H
#define KDELTA_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/fact.h"
#include "model/info.h"
#include "model/metric.h"
#include "model/param.h"

struct run;

/* How much of it; what stays 0 is not checked. */
struct demand {
	uint64_t descriptors; /* in one process */
	uint64_t tasks;	      /* processes and threads at once, the parties included */
	uint64_t memory_bytes;
	uint64_t disk_bytes; /* in the temporary folder */
};

/*
 * A party: another process or thread that takes part. With `serve` it supports (a server, an
 * echo): it runs until its peer closes or run_stopping() is true. With `batch` it is measured:
 * all parties of all measured roles do their batch at once, from one barrier to the next, their
 * operations are added up, and the workload's own `batch` is not needed.
 */
enum party_kind { PARTY_PROCESS, PARTY_THREAD };

struct party_role;
struct party {
	struct run *run;
	const struct party_role *role;
	unsigned index, count; /* within its role */
	void *state;	       /* its own, set by `start` */
};

struct party_role {
	const char *role; /* NULL ends an array */
	enum party_kind kind;
	const char *count; /* parameter that says how many at most; NULL: `fixed` */
	unsigned fixed;	   /* 0 means 1 */
	int count_less;	   /* taken off the parameter (procs=8: 7 and the leader) */
	/* How many in the part that now begins, up to the above (a walk over loads). NULL: all. */
	unsigned (*now)(const struct run *run);
	/*
	 * Number i of this role and number i of the other paired roles belong together, on a CPU of
	 * their own: place=same puts each such pair on one CPU, place=spread its ends on two.
	 */
	bool paired;
	int (*start)(struct party *); /* untimed, in the party, before the first barrier */
	int (*serve)(struct party *);
	int (*batch)(struct party *, uint64_t n);
	void (*stop)(struct party *); /* in the party, when the part is over */
};

/*
 * A phase, a load, or a point of a curve: measured by itself, in order. A point of a curve is named
 * by its value alone, as a parameter would be ("64KiB", "8"): that is its place on the axis.
 */
struct part {
	char name[48]; /* "rand_read", "64KiB" */
	double share;  /* of the invocation's time, up to 1; 0: all of it */
};

/* What one batch was, as it is recorded. */
struct batch {
	uint64_t ops, ns;
	uint64_t over_ops, over_ns; /* of the overhead batch; 0: none */
};

struct workload {
	const char *name;
	const char *family; /* tables are grouped by it: "syscall", "ipc", "process", ... */
	const char *op;	    /* what one operation is: "call", "round trip" */
	const char *doc;    /* one sentence for `kdelta list workloads` */
	unsigned version;   /* raise it when figures change meaning */
	unsigned needs;	    /* NEED_ bits (model/info.h) */
	enum shape shape;
	unsigned warmup_percent;      /* of the time, where that is more than the plan's */
	bool pinned_free;	      /* one party, yet not to be pinned (a build on all CPUs) */
	const struct param *params;   /* ends with a NULL name; NULL: none */
	const struct metric *metrics; /* ends with a NULL name */
	const struct party_role *parties; /* ends with a NULL role; NULL: the leader alone */
	int (*demand)(const struct args *, struct demand *);
	int (*setup)(struct run *); /* once; untimed */
	/* 1: *part is the next one to measure, 0: no more. NULL: one part without a name. */
	int (*next_part)(struct run *, struct part *part);
	int (*before)(struct run *); /* untimed, before each batch */
	/* COUNTED: does n. TIMED: works while !run_stopping(), then run_did(). ONCE: n is 1. */
	int (*batch)(struct run *, uint64_t n);
	/* The same n without the thing measured: for METRIC_FROM_OVERHEAD and _NET. */
	int (*overhead)(struct run *, uint64_t n);
	/* Untimed, behind each batch, in the leader: what it has to say of it (run_report). */
	int (*collect)(struct run *, const struct batch *);
	void (*after)(struct run *); /* once, also behind a failure in or after setup; not in exact
					mode, whose machine ends */
};

/* ---- what the runner offers ---- */

uint64_t run_u64(const struct run *run, const char *param);	/* a number, bytes, or ns */
const char *run_text(const struct run *run, const char *param); /* a choice or a text */
void *run_state(const struct run *run);				/* what run_set_state() was given */
void run_set_state(struct run *run, void *state);
/* Zeroed memory that lives until the invocation ends; shared: all parties see the same. */
void *run_alloc(struct run *run, size_t size);
void *run_alloc_shared(struct run *run, size_t size);
/* Each n of a batch is `ops` operations (a ring of 8 passes 8 tokens). Default 1. */
void run_ops_per_n(struct run *run, uint64_t ops);
/* TIMED: true once the time is over. Also true for a party's `serve` when the part ends. */
bool run_stopping(const struct run *run);
/* TIMED: operations done in this batch; called from the leader or from each measured party. */
void run_did(struct run *run, uint64_t ops);
/* A value of a METRIC_FROM_REPORTED metric, in the metric's unit. Not finite: an error. */
int run_report(struct run *run, const char *metric, double value);
/* Adds one value to a histogram (METRIC_FROM_QUANTILE names it); safe in every party. */
void run_hist(struct run *run, const char *hist, uint64_t value);
/* The run's clock, for latencies of single operations; batches are timed by the runner. */
uint64_t run_clock_ns(const struct run *run);
/* What was found out in setup: the file system that is really used, for example. */
void run_fact(struct run *run, enum fact_class class, const char *name, const char *value);
/* The same where numbers of different values must never be compared (a toolchain): in the key. */
void run_context(struct run *run, const char *name, const char *value);
/* Says that work goes on; the runner calls it itself between batches. */
void run_beat(struct run *run);
/* Which sample of the invocation this batch is: 0, 1, ...; -1 in calibration and warm-up. */
int run_sample_index(const struct run *run);
/* Sets the reason (first one wins) and returns -code. */
int run_fail(struct run *run, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The invocation cannot be done here: a skip with this reason. Returns a negative value. */
int run_skip(struct run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An environment variable of the agent ("KDELTA_MOCK"), NULL if not set. */
const char *run_env(const struct run *run, const char *name);

#endif
