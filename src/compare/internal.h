/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share while a comparison is made. */
#ifndef KDELTA_COMPARE_INTERNAL_H
#define KDELTA_COMPARE_INTERNAL_H

#include "compare/compare.h"
#include "model/exact.h"

#define FISHER_ALPHA 0.05

/* One boot of one row. */
struct compare_boot {
	unsigned boot;	 /* in the dataset */
	unsigned kernel; /* in the comparison */
	double index;	 /* place among all boots, as they happened */
	double value;
	double resolution; /* relative; 0: unknown */
};

/* The boots of one row, by kernel, in the order they happened. */
struct compare_reduced {
	struct compare_boot *boots;
	size_t n;
	double *floors; /* one a kernel, on the scale of the fit */
};

/* One perturbation of one kernel in an exact row. */
struct compare_run {
	unsigned index;
	uint64_t seed; /* of its experiment: the same index of another is another one; 0 for index 0
			*/
	unsigned invocation;
	double value;
};

struct compare_runs {
	struct compare_run *list; /* by index, then seed */
	size_t n;
	bool contexts; /* interrupts were told apart in all of them, or it is not known */
};

struct compare_work {
	const struct dataset *d;
	const struct compare_options *o;
	struct comparison *c;
	int *kernel_of;			 /* dataset kernel -> comparison kernel, -1: left out */
	unsigned *order;		 /* dataset boot -> place among all boots by start */
	unsigned *sorted;		 /* the other way round */
	const struct ds_series **series; /* one a row */
	struct compare_reduced *reduced; /* one a row */
	struct compare_runs **runs;	 /* of exact rows: one a kernel */
	size_t cap_rows, cap_differences, cap_failures, cap_fisher, cap_unmatched, cap_contexts;
	bool *confounds;	   /* one a kernel: an environment fact differs from the base's */
	bool *debugs;		   /* one a kernel: a debugging option differs from the base's */
	bool *cputimes;		   /* one a kernel: it counts CPU time otherwise than the base */
	bool *changed_boots;	   /* one a dataset boot: a fact changed during it */
	bool *changed_invocations; /* the same around a dataset invocation */
};

extern const struct compare_pair compare_empty_pair; /* nothing is known: numbers are NaN */

/* A dataset boot that worked and is compared? */
bool compare_uses_boot(const struct compare_work *w, unsigned boot);

/* reduce.c: fills values[] and reduced[] of every row. */
void compare_reduce(struct compare_work *w, size_t row);
/* facts.c, then differences.c, which sorts all of them. */
void compare_fact_differences(struct compare_work *w);
void compare_differences(struct compare_work *w);
struct compare_difference *compare_add_difference(struct compare_work *w,
						  enum compare_diff_class class, unsigned kernel,
						  const char *name, const char *base,
						  const char *new);
/* Word by word, without what the boot loader says of where it found the image. */
bool compare_same_cmdline(const char *a, const char *b);
/* failures.c */
void compare_failures(struct compare_work *w);
double compare_failed_p(const struct comparison *c, const struct compare_row *r, unsigned base,
			unsigned new);
/* unmatched.c */
void compare_unmatched(struct compare_work *w);
/* flags.c: the flags of a pair, before it is judged. */
void compare_flags(struct compare_work *w, size_t row, struct compare_pair *p);
void compare_exact_flags(struct compare_work *w, size_t row, struct compare_pair *p);
/*
 * exact.c: the same for exact rows: which of them are shown unasked, values[], then the pairs with
 * their words.
 */
bool compare_exact_is_default(const struct metric *m);
bool compare_exact_is_typical(const struct metric *m); /* of batches without interrupts */
void compare_exact_reduce(struct compare_work *w, size_t row);
void compare_exact_judge(struct compare_work *w, size_t row);
void compare_exact_mitigations(struct compare_work *w);
/* One sentence with the QEMU and CPU of all exact rows; NULL: there is none. */
const char *compare_exact_scope(struct comparison *c);
/*
 * regimes.c: the modes of a workload's typical batches; `runs` is one list of windows a
 * perturbation. 0: they are one. Arena memory.
 */
unsigned compare_regimes(struct arena *a, const struct exact_windows *const *runs, size_t n,
			 const struct compare_mode **ret);
/* judge.c: the pairs of all rows, then adjusted p, verdicts and the summary. */
void compare_judge(struct compare_work *w);

#endif
