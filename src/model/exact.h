/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's data (docs/adr/0002-exact.md): the windows of one invocation and its profile, as
 * records of the kinds `window` and `profile`, and the metrics that are made from them.
 *
 * An invocation is one workload under one perturbation, in the class "exact". A clean window is one
 * without a hard interrupt and without a kworker. "Typical" figures are means over clean windows,
 * "total" ones over all windows of batches. All counts are instructions unless they say otherwise.
 */
#ifndef KDELTA_MODEL_EXACT_H
#define KDELTA_MODEL_EXACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/metric.h"

#define EXACT_CLASS	    "exact"
#define EXACT_RUN_BYTES	    16384u /* of the fw_cfg file with a run's plan: a line, then spaces */
#define EXACT_BATCH_NS	    400000ull	   /* a batch is at most so long: shorter than a tick */
#define EXACT_WARMUP_NS	    50000000ull	   /* and at least so long is warmed up, */
#define EXACT_TIME_NS	    50000000ull	   /* and measured; all three in guest time */
#define EXACT_PERTURB_MIN   8u		   /* fewer say too little: no word but "same" */
#define EXACT_FACT	    "perturbation" /* an invocation's fact: "3: idle 7.121 ms, ..." */
#define EXACT_FACT_QUIET    "quiet"	   /* a boot's: "no" */
#define EXACT_FW_CFG	    "opt/org.kdelta/run"
#define EXACT_PORT_CHANNEL  0xe9u
#define EXACT_PORT_WATCHDOG 0x443u
#define EXACT_PORT_PANIC    0x505u

/*
 * The metrics of an invocation, in this order; a NULL name ends them. All are per op, counts or
 * evidence, neither direction is better, and their values are reported. A value that cannot be
 * had is missing, never 0: typical ones without a clean window, contexts that were not told apart.
 *
 *	instructions  typical; the headline        total         all windows
 *	kernel, user  its parts                    total_kernel, total_user
 *	rep_iterations   apart (unit count)        total_rep_iterations
 * evidence: overhead (of overhead batches), and total by context: task, hardirq, softirq, kworker,
 * idle; interrupts and switches (unit count).
 */
enum exact_metric {
	EXACT_INSTRUCTIONS,
	EXACT_KERNEL,
	EXACT_USER,
	EXACT_REP_ITERATIONS,
	EXACT_TOTAL,
	EXACT_TOTAL_KERNEL,
	EXACT_TOTAL_USER,
	EXACT_TOTAL_REP_ITERATIONS,
	EXACT_OVERHEAD,
	EXACT_TASK,
	EXACT_HARDIRQ,
	EXACT_SOFTIRQ,
	EXACT_KWORKER,
	EXACT_IDLE,
	EXACT_INTERRUPTS,
	EXACT_SWITCHES,
	EXACT_METRICS
};
extern const struct metric exact_metrics[]; /* EXACT_METRICS, and the end */

/* ---- windows ---- */

struct exact_window {
	bool overhead;					/* a batch of overhead, in no total */
	uint64_t ops;					/* operations in it */
	uint64_t task, hardirq, softirq, kworker, idle; /* by context; their sum is the window's */
	uint64_t kernel, user;				/* by address; the same sum */
	uint64_t rep_iterations, interrupts, switches;
};

struct exact_windows {
	struct exact_window *list; /* in the order in which they ran */
	size_t n;
	bool contexts; /* the kernel's symbols told contexts apart; else all is `task` */
};

uint64_t exact_window_sum(const struct exact_window *w); /* instructions */
/* Without contexts no interrupt is known of, and every window is clean. */
bool exact_window_clean(const struct exact_window *w);
/* The windows of batches (those of overhead are not among them). NULL: 0. */
size_t exact_windows_count(const struct exact_windows *w, bool only_clean);

/*
 * Values of exact_metrics, by enum exact_metric, out of windows whose `ops` are known; NaN is
 * missing. Each is the quotient of two sums, so that equal counts give equal digits.
 */
void exact_values(const struct exact_windows *w, double ret[EXACT_METRICS]);

/* ---- profile ---- */

enum exact_in { EXACT_CLEAN, EXACT_OTHER, EXACT_IN }; /* clean windows; the other ones */

#define EXACT_USER_NAME	    "[user]"
#define EXACT_UNKNOWN_BYTES 64u /* see below */

/*
 * Names are those of kallsyms, not folded. Code that no symbol covers is told apart in aligned
 * pieces of EXACT_UNKNOWN_BYTES, called "0x" and the piece's address in 16 digits; all of user
 * space is EXACT_USER_NAME. Of these two it is not known what is a call: see
 * exact_symbol_has_calls().
 */
struct exact_symbol {
	const char *name;
	const char *module; /* NULL: the kernel itself */
	uint64_t addr;	    /* of its first byte; 0: user space */
	uint64_t count[EXACT_IN];
	uint64_t calls[EXACT_IN]; /* executions of its first instruction */
	uint64_t rep_iterations[EXACT_IN];
};
/* False: its `calls` are 0 and mean nothing. */
bool exact_symbol_has_calls(const struct exact_symbol *s);

/*
 * Direct calls and tail jumps, those of a symbol to itself (recursion) among them. Calls through
 * pointers are what is missing from a symbol's calls.
 */
struct exact_edge {
	unsigned from, to; /* in `symbols` */
	uint64_t calls[EXACT_IN];
};

struct exact_profile {
	uint64_t ops[EXACT_IN], windows[EXACT_IN]; /* that it covers */
	struct exact_symbol *symbols;		   /* by address; only those that executed */
	size_t n;
	struct exact_edge *edges; /* by from, then to */
	size_t n_edges;
};

/* A batch as the agent saw it: its operations and the guest time around its window. */
struct exact_batch {
	uint64_t ops, ns;
	bool has_overhead;
	uint64_t over_ops,
		over_ns; /* of the overhead batch that belongs to it, whose window is first */
};

struct exact_batches {
	const char *part; /* "" where the workload has none */
	struct exact_batch *list;
	size_t n;
};

/* ---- the records ---- */

#define EXACT_BATCHES "batches" /* its kind */

/*
 * {"k":"batches","inv":INV,"part":PART,"rows":[[ops,ns],[ops,ns,over_ops,over_ns],...]}, from the
 * agent to the host.
 */
json_t *exact_batches_encode(const char *inv, const struct exact_batches *b);
/* Arena memory. -EINVAL as below. */
int exact_batches_decode(const json_t *j, struct arena *a, struct exact_batches *ret,
			 struct error *e);
/*
 * {"k":"window","inv":INV,"contexts":true,"rows":[[overhead,ops,task,...,switches],...]}: a row is
 * struct exact_window in its order, overhead as 0 or 1.
 */
json_t *exact_windows_encode(const char *inv, const struct exact_windows *w);
/*
 * {"k":"profile","inv":INV,"ops":[CLEAN,OTHER],"windows":[CLEAN,OTHER],
 *  "symbols":[[name,module or null,addr,count,count,calls,calls,rep,rep],...],
 *  "edges":[[from,to,calls,calls],...]}: of a pair, clean comes first. addr is hexadecimal text,
 * because the addresses of kernels have 64 bits.
 */
json_t *exact_profile_encode(const char *inv, const struct exact_profile *p);
/*
 * Arena memory. -EINVAL names what is wrong: a type, a number or a sum over the list of 2^63 or
 * more, a window without operations or with two different sums, symbols or edges out of order, an
 * edge to nowhere. *ret is empty then.
 */
int exact_windows_decode(const json_t *j, struct arena *a, struct exact_windows *ret,
			 struct error *e);
int exact_profile_decode(const json_t *j, struct arena *a, struct exact_profile *ret,
			 struct error *e);

#endif
