/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison: what a dataset says about its kernels, as pure data. No store, no I/O, no clock.
 *
 * Every rule is that of docs/compare.md: a boot is one number (the mean of its samples, or the
 * quantile of its whole histogram); least squares on the logarithm of the boots' numbers with the
 * drift taken out (a row with a boot of 0 or less: on the numbers themselves, by difference);
 * the verdict from the interval, the margin and the adjusted p. Missing is NaN in a double here,
 * and null, "-" or an empty field in print; it is never 0.
 *
 * Rows of class "exact" have a rule of their own. Their unit is the perturbation, and one boot is
 * enough: "same" where the values of all perturbations are equal digit for digit, "more" or "fewer"
 * where no value of one side reaches one of the other's, else "within perturbation". They have no
 * interval, no p, no margin, and are never better or worse. docs/adr/0002-exact.md.
 *
 * compare_make() copies all it needs: the dataset may go. One arena holds a comparison.
 * Kernel numbers here are places in `kernels`, 0 is the base.
 */
#ifndef KDELTA_COMPARE_COMPARE_H
#define KDELTA_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/dataset.h"
#include "stats/verdict.h"

#define COMPARE_MARGIN 0.02
#define COMPARE_LEVEL  0.95

struct compare_options {
	double margin;		      /* relative, >= 0: .02 is 2 % */
	const char *const *kernels;   /* labels, the base first, ends with NULL; NULL: all */
	const char *const *metrics;   /* names, ends with NULL; NULL: all */
	const char *const *workloads; /* NAME[:PARAM=VALUE[+VALUE...],...]; NULL: all */
	bool all;		      /* evidence metrics too */
};

#define COMPARE_OPTIONS_INIT                                                                       \
	{                                                                                          \
		.margin = COMPARE_MARGIN                                                           \
	}

/* Why a result deserves less trust. Those of compare_flag_blocks() leave a pair without a word. */
enum compare_flag {
	COMPARE_EMULATED,    /* class emulated: QEMU's time, not a machine's. Blocks. */
	COMPARE_SAME_KERNEL, /* base and new are one kernel (A/A). Blocks. */
	COMPARE_ONE_BOOT,    /* n=1: fewer than two boots on a side. Blocks. */
	COMPARE_NO_SPREAD,   /* equal measured values and no known resolution. Blocks. */
	COMPARE_CLOCKSOURCE, /* the clock source changed during an invocation. Blocks. */
	COMPARE_SUSPENDED,   /* the machine slept during an invocation. Blocks. */
	COMPARE_CPUTIME,     /* user or system time, which the two count differently. Blocks. */
	COMPARE_FAILED,	     /* boots or invocations failed; blocks where Fisher's p <= .05 */
	COMPARE_STEAL,	     /* over 1 % stolen: "can't tell" where that could have made the word */
	COMPARE_CONFOUNDED,  /* an environment fact differs between the two */
	COMPARE_DEBUG,	     /* a debugging option of the config differs between the two */
	COMPARE_FACTS,	     /* a state or environment fact changed during a boot */
	COMPARE_NOT_INTERLEAVED, /* the two were booted one after the other, or pooled */
	COMPARE_DRIFT,		 /* trend over the boots: p < .05 and half the margin in all */
	COMPARE_THROTTLED,	 /* a CPU quota held the measurement up */
	COMPARE_SLOW_CLOCK,	 /* reading the clock takes a microsecond or more */
	COMPARE_WARNED,		 /* the kernel warned */
	COMPARE_BELOW,		 /* values at or below their overhead: below resolution */
	COMPARE_BIMODAL,	 /* two modes, in the boots or inside most of them */
	COMPARE_OUTLIERS,	 /* boots far from the others */
	COMPARE_SPREAD,		 /* the two differ in spread (Brown-Forsythe, p < .01) */
	/* Of exact rows. */
	COMPARE_UNREPEATED,  /* one perturbation gave two values. Blocks. */
	COMPARE_SMP,	     /* several CPUs, one at a time: code paths only. Blocks. */
	COMPARE_FEW,	     /* fewer than EXACT_PERTURB_MIN perturbations: no word but "same" */
	COMPARE_REGIMES,     /* batches of several modes: no word but "same" */
	COMPARE_RESTLESS,    /* a guest still worked when it was saved */
	COMPARE_NO_CONTEXTS, /* typical includes interrupts; blocks where only one side's does */
	COMPARE_FLAGS
};

#define COMPARE_BIT(flag) (1u << (flag))

struct compare_kernel {
	const char *label;
	const char *release, *version, *build_id; /* NULL where unknown */
	const char *cmdline, *config_hash, *source;
	unsigned boots, failed;	 /* boots that worked, and that did not */
	bool same_as_base;	 /* one identity under two labels; never set for the base */
	const char *mitigations; /* in the guest of exact rows; NULL: not known */
};

struct compare_experiment {
	const char *id, *name, *subject, *reproduce;
	uint64_t seed, created_ns;
	unsigned blocks;
	bool exact; /* of counts: the seed is the perturbations' */
};

/* In the order in which they are to be shown. */
enum compare_diff_class {
	COMPARE_DIFF_ENVIRONMENT = 1, /* between the kernels: confounds */
	COMPARE_DIFF_CHANGED, /* during a boot: base is before, new is after, `kernel` is whose */
	COMPARE_DIFF_CONTEXT, /* what makes numbers incomparable */
	COMPARE_DIFF_DEBUG,   /* a debugging option of the config */
	COMPARE_DIFF_CMDLINE, /* one word of the command line */
	COMPARE_DIFF_IDENTITY,
	COMPARE_DIFF_DERIVED, /* follows from the kernel: HZ, preemption */
	COMPARE_DIFF_CONFIG,
};

struct compare_difference {
	enum compare_diff_class class;
	unsigned kernel;	/* the new one; the base is always the other */
	const char *name;	/* "CONFIG_HZ", "governor", "slub_debug=FZPU" */
	const char *base, *new; /* NULL: not there (config, words) or unknown (facts) */
	unsigned count;		/* COMPARE_DIFF_CHANGED: times seen */
};

/* Where batches of an exact row gather that had others before or after, or in other perturbations.
 */
struct compare_mode {
	double instructions;	/* per op, of its median batch */
	double switches;	/* of tasks per op */
	double share;		/* of the batches; all modes' together are 1 */
	unsigned perturbations; /* in which it was seen */
};

/* What an exact row has more of a kernel. */
struct compare_exact {
	unsigned n;			 /* perturbations with a value, each once */
	unsigned unrepeated;		 /* of them, those that gave other values as well */
	const unsigned *index;		 /* of the perturbations, ascending */
	const double *values;		 /* theirs; the first one of an unrepeated one */
	double lo, hi;			 /* over all values */
	unsigned modes;			 /* 0: no regimes, or no windows to see them by */
	const struct compare_mode *mode; /* by instructions, of the workload's typical batches */
};

struct compare_value {
	unsigned boots; /* with a value; 0: missing, and all doubles are NaN */
	double mean; /* of the boots' numbers (exact: of the perturbations'), in the metric's unit
		      */
	double cv_boot, cv_invocation, cv_sample; /* NaN: nothing repeats there */
	unsigned below;				  /* samples at or below their overhead */
	unsigned samples;
	double overhead; /* NaN: none */
	double steal;	 /* share of the elapsed time */
	bool bimodal;
	unsigned n_outliers;
	const unsigned *outliers;	   /* boots, by index */
	const struct compare_exact *exact; /* of exact rows with a value, else NULL */
};

#define COMPARE_TOP 3u

/* A function that executes more or fewer instructions per op, by so many. */
struct compare_symbol {
	const char *name;
	double diff;
};

struct compare_pair {
	unsigned base, new;
	bool exact;		       /* a count, equal in all boots of a side: no p */
	double ratio, lo, hi;	       /* new / base and its interval; NaN in an absolute row */
	double diff, diff_lo, diff_hi; /* new - base; NaN unless the row is absolute or exact */
	double level;		       /* NaN: exact row */
	double d, d_lo, d_hi;	       /* what was judged: ln(ratio), or the difference */
	double sigma;		       /* residual standard deviation of one boot on that scale */
	double p, p_adjusted;	       /* p_adjusted: NaN unless it could have got a word */
	enum verdict verdict;
	bool beyond_margin, small_real_shift, held_back; /* see stats/verdict.h */
	bool taken_back;	 /* a word that the stolen time could explain */
	unsigned boots_needed;	 /* 0: none; above VERDICT_BUDGET: not within the budget */
	double drift, drift_p;	 /* of the row: a step of one boot, as a ratio - 1 or in units */
	double fisher_p;	 /* on failures; NaN: none failed */
	unsigned flags, blocked; /* COMPARE_BIT()s; blocked is a part of flags */
	/* Exact rows that differ: those that differ most, the first by most; NULL-free names. */
	struct compare_symbol top[COMPARE_TOP];
	unsigned n_top;
};

struct compare_row {
	const char *workload, *family, *op, *params, *part, *class, *context;
	unsigned workload_version;
	unsigned context_number; /* 1, 2, ...: which of comparison.contexts */
	bool headline;
	bool exact;    /* class exact */
	bool judged;   /* not evidence; exact, or has a direction and class native or kvm */
	bool absolute; /* compared by difference */
	struct metric metric;
	struct compare_value *values; /* one a kernel */
	struct compare_pair *pairs;   /* where base and new both have values */
	size_t n_pairs;
};

/* A row that a kernel has no value in. */
struct compare_unmatched {
	size_t row;
	unsigned kernel; /* which has none */
	const char *why; /* one line */
	long other_row;	 /* its nearest own row, which must not be compared; -1: none */
	bool mirrored;	 /* said already: that row's own entry names this one */
};

struct compare_failure {
	bool skip;		       /* a skip, not a failure */
	bool implied;		       /* a skip that only a default asked for */
	unsigned kernel, count, total; /* times of so many */
	const char *workload, *params; /* NULL: the boot itself */
	const char *reason;	       /* never NULL */
};

/* Fisher's exact test on failed and good ones, for what failed anywhere. */
struct compare_fisher {
	const char *workload, *params; /* NULL: boots */
	unsigned base, new;
	unsigned base_failed, base_good, new_failed, new_good;
	double p;
};

struct compare_summary {
	unsigned worse, better, no_change, cant_tell, none; /* pairs */
	unsigned worse_beyond, better_beyond;		    /* of them, beyond the margin */
	unsigned confounded; /* of the better, worse, no change: with COMPARE_CONFOUNDED */
	unsigned rows, unmatched;
	unsigned tested, tested_headline;   /* pairs whose p was adjusted */
	unsigned p_below;		    /* of them, plain p <= .05 */
	double chance;			    /* differences that chance alone would have shown */
	unsigned none_tested, none_outside; /* pairs with an interval but no word; 1 is outside */
	/* Pairs of exact rows, which are in none of the above but rows and unmatched. */
	unsigned more, fewer, same, within, exact_none;
	double exact_chance; /* of more and fewer: what chance alone would have given, at most */
};

struct comparison {
	struct arena arena;
	double margin, level;
	struct compare_kernel *kernels;
	struct compare_experiment *experiments;
	struct compare_difference *differences;
	struct compare_row *rows;
	struct compare_unmatched *unmatched;
	struct compare_failure *failures;
	struct compare_fisher *fisher;
	const char **contexts;
	size_t n_kernels, n_experiments, n_differences, n_rows, n_unmatched, n_failures, n_fisher;
	size_t n_contexts;
	bool *config_known; /* one a kernel */
	struct compare_summary summary;
	unsigned flags;	      /* all of the pairs' */
	const char *scope[4]; /* sentences, ends with NULL */
};

/*
 * -ENOENT: a label, metric or workload that the dataset does not have, or no kernel at all.
 * -EINVAL: a label twice, a bad margin. On an error *ret is empty. A dataset with one kernel is
 * fine: values, no pairs.
 */
int compare_make(const struct dataset *d, const struct compare_options *o, struct comparison *ret,
		 struct error *e);
void compare_done(struct comparison *c);

const char *compare_flag_name(enum compare_flag flag); /* "n=1", "not interleaved" */
const char *compare_flag_doc(enum compare_flag flag);  /* one clause */
/* Does it always block? COMPARE_FAILED and some of exact rows do so case by case: see `blocked`. */
bool compare_flag_blocks(enum compare_flag flag);
const char *compare_diff_class_name(enum compare_diff_class class);

/* --fail-on */
enum {
	COMPARE_GATE_WORSE = 1,
	COMPARE_GATE_CANT_TELL = 2,
	COMPARE_GATE_MORE = 4, /* these three: of exact results */
	COMPARE_GATE_FEWER = 8,
	COMPARE_GATE_WITHIN = 16,
};
/* "worse,cant-tell", "more,fewer,within" */
int compare_gate_parse(const char *words, unsigned *ret_gate, struct error *e);
/*
 * *ret_fail: a pair has one of these words. cant-tell also stands for a judged row without a
 * word (one boot, blocked, no number). Whatever the words, the gate fails where a judged row has a
 * value for one kernel only, and where no pair got a word: what was not compared has not passed.
 * The words for exact results look at these alone, the others at the others alone. `within` also
 * stands for an exact row without a word; with too few perturbations to differ, or where one did
 * not repeat, such a row fails whatever the words.
 * -EOPNOTSUPP where results are emulated or none can be judged, or none by these words.
 */
int compare_gate(const struct comparison *c, unsigned gate, bool *ret_fail, struct error *e);

#endif
