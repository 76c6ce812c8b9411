/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of exact mode, and what differs between two: instructions and calls per operation, by
 * symbol. Pure: from the records of an invocation (model/exact.h), no I/O.
 *
 * A kernel has one exact_profile a perturbation. A symbol's figure is the mean over perturbations
 * of count / operations; a symbol that a perturbation did not execute counts 0 there. The sum of
 * all figures is the metric `instructions` (or `total`) of the same windows, and what is not so is
 * an error, never a table. All memory comes from the arena that is handed in, or from the result's
 * own.
 *
 * Folded, which is the default: what a compiler made of one function (.isra.0, .constprop.1,
 * .part.0, .cold) is that function, and a local label belongs to the symbol before it. Calls of a
 * folded symbol are those from outside of it. Calls are executions of a first instruction: also by
 * an interrupt, by a system call, or by falling into it.
 */
#ifndef KDELTA_PROFILE_PROFILE_H
#define KDELTA_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/dataset.h"
#include "model/exact.h"

enum profile_windows {
	PROFILE_TYPICAL, /* the clean ones: no hard interrupt, no kworker; metric `instructions` */
	PROFILE_TOTAL,	 /* all windows of batches; metric `total` */
};

struct profile_options {
	enum profile_windows windows;
	bool no_fold;
	bool addresses; /* what has no symbol stays apart, by address; else it is one "[no symbol]"
			 */
	bool no_marks;	/* several CPUs: code paths only, nothing is called real */
};

/* ---- one kernel ---- */

#define PROFILE_NO_SYMBOL "[no symbol]"

struct profile_symbol {
	const char *name;   /* folded unless no_fold; "[user]"; PROFILE_NO_SYMBOL or an address */
	const char *module; /* NULL: the kernel itself */
	uint64_t addr;	    /* the lowest of its parts; 0: [user] */
	unsigned alike;	    /* how many functions of this very name stand in this figure */
	double instructions, least, most; /* per op: mean, and range over perturbations */
	double calls;			  /* per op, mean; NaN: [user] and what has no symbol */
	double rep_iterations;		  /* the same; in no other figure */
	unsigned first_edge, n_edges;	  /* of profile.edges: who calls it */
};

/*
 * Direct calls and tail jumps from one symbol to another, per op, mean. By `to`, then most first.
 * They are more than its calls where some jump into its middle, and fewer where some come by
 * pointer.
 */
struct profile_edge {
	unsigned from, to; /* in profile.symbols */
	double calls;
};

struct profile {
	struct profile_symbol *symbols; /* by name, then module; without those of no count */
	size_t n;
	struct profile_symbol total; /* name "total"; its calls mean nothing */
	struct profile_edge *edges;
	size_t n_edges;
	unsigned perturbations; /* distinct ones that have such windows */
	unsigned left_out;	/* invocations that have none: missing, not 0 */
	uint64_t windows, ops;	/* that it covers */
	unsigned n_address;	/* symbols that are addresses only */
	double by_address;	/* their instructions per op */
};

/*
 * Profiles of one kernel at one point, and which perturbation each is. One that is there again is
 * in the range, but not again in the mean: so does the comparison of metrics.
 */
struct profile_set {
	const struct exact_profile *const *list;
	const unsigned *perturb; /* NULL: all differ */
	size_t n;
};

/* -ENODATA: no invocation has such windows. */
int profile_make(const struct profile_set *s, const struct profile_options *o, struct arena *a,
		 struct profile *ret, struct error *e);
/* NULL if there is none. Of several (modules), the one with the most instructions. */
const struct profile_symbol *profile_find(const struct profile *p, const char *name,
					  const char *module);

/* Waits for another CPU: spins, or waits for one to answer an IPI. */
bool profile_is_spin(const char *name);

/* ---- two kernels ---- */

enum profile_mark {
	PROFILE_UNJUDGED, /* fewer than EXACT_PERTURB_MIN perturbations, or no_marks */
	PROFILE_SAME,	  /* the same digits in every perturbation of both */
	PROFILE_WITHIN,	  /* the two sets overlap: within perturbation */
	PROFILE_MORE,	  /* real: the least of new is above the most of base */
	PROFILE_FEWER,	  /* real: the other way round */
};

/* Where a difference comes from; bits. A cause under a tenth of the difference is not named. */
enum {
	PROFILE_CALLED_MORE = 1,
	PROFILE_CALLED_LESS = 2,
	PROFILE_LONGER = 4,  /* more instructions per call */
	PROFILE_SHORTER = 8, /* fewer */
	PROFILE_ONLY_BASE = 16,
	PROFILE_ONLY_NEW = 32,
	PROFILE_SPIN = 64, /* waits for another CPU: QEMU's slices, not the kernel, decide */
};

struct profile_delta {
	const char *name;   /* the base's, or the new one's where only that has it */
	const char *module; /* of the same; NULL: the kernel itself */
	const struct profile_symbol *base, *new; /* NULL: it did not execute there */
	double diff;				 /* instructions per op, new - base */
	enum profile_mark mark;
	unsigned why;
	/*
	 * Likely the same code under another name (or in another module): the two rows stay two,
	 * and each names the other: an index in profile_diff.rows; -1: none.
	 */
	long twin;
	const char *twin_why; /* "suffix", ...: see symbol/rename.h; NULL: none */
};

struct profile_diff {
	const struct profile *base, *new;
	struct profile_delta *rows; /* most added first; equal ones by name. All of them. */
	size_t n;
	struct profile_delta total; /* name "total" */
	bool judged;		    /* marks were given */
	bool unranked; /* most of a kernel has no symbols: rows would pair nothing, there are none
			*/
	double chance; /* of one row to be called real by chance alone; NaN: not judged */
};

/* Of two profiles made with the same options; both must live as long as the result. */
void profile_diff_make(const struct profile *base, const struct profile *new,
		       const struct profile_options *o, struct arena *a, struct profile_diff *ret);

/*
 * The symbols (folded) that differ most by absolute difference, real ones first; ties by name. What
 * is the same is left out. Returns how many of `max` there are; 0 also where a side has no such
 * windows or does not hold together.
 */
unsigned profile_top(const struct exact_profile *const *base, size_t nb,
		     const struct exact_profile *const *new, size_t nn,
		     enum profile_windows windows, struct arena *a, struct profile_delta ret[],
		     unsigned max);
/* "called more often, longer per call", "only in new"; "" for none. */
void profile_why_text(unsigned why, char *buf, size_t size);

/* ---- what a dataset holds ---- */

/* One workload point in class exact: what may be compared with itself across kernels. */
struct profile_point {
	const char *workload, *params, *op, *context;
	unsigned workload_version;
	unsigned cpus;		  /* of the guest; from the context, else 1 */
	unsigned context_number;  /* 1, 2, ... as they came */
	struct profile_set *sets; /* one a kernel of the dataset; n 0: nothing */
};

/* Has a point what a SPEC asks for? NAME[:PARAM=VALUE[+VALUE...],...]; 64KiB is 65536. */
bool profile_matches(const char *spec, const char *workload, const char *params);

struct profile_points {
	struct arena arena;
	struct profile_point *list; /* as they came */
	size_t n;
	unsigned contexts;
};

/*
 * The points of a dataset that have profiles. `workloads`: NAME[:PARAM=VALUE,...], ends with NULL;
 * NULL: all. Profiles are borrowed from the dataset. -ENOENT: no exact results, or none of such a
 * workload; -EBADMSG: a profile whose sum is not that of its windows, or of its metric.
 */
int profile_points_make(const struct dataset *d, const char *const *workloads,
			struct profile_points *ret, struct error *e);
void profile_points_done(struct profile_points *p);

#endif
