/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the runner's files share: the page that the supervisor, the leader and the parties all
 * see, and the `struct run` that stands behind the contract (workload/workload.h).
 */
#ifndef KDELTA_RUNNER_INTERNAL_H
#define KDELTA_RUNNER_INTERNAL_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/cpulist.h"
#include "base/str.h"
#include "model/hist.h"
#include "model/plan.h"
#include "model/record.h"
#include "workload/workload.h"

/* ---- the shared page ---- */

struct shared_slot { /* 0 is the leader, then the parties in order */
	_Atomic uint64_t ops;
	_Atomic int32_t pid; /* of a process party */
	char role[28];
};

enum shared_end { SHARED_RUNNING, SHARED_FAILED, SHARED_SKIPPED };

#define SHARED_SLOTS 4096u

struct shared {
	_Atomic uint32_t beat;	      /* grows while work goes on */
	_Atomic uint32_t stop;	      /* TIMED: the time is over */
	_Atomic uint32_t part_over;   /* parties end now, and are meant to */
	_Atomic uint32_t round;	      /* futex: grows at each start */
	_Atomic uint32_t ready;	      /* futex: parties that are set up */
	_Atomic uint32_t done;	      /* futex: measured parties that finished this round */
	_Atomic uint32_t ended;	      /* enum shared_end, set once */
	_Atomic uint32_t worded;      /* `reason` is complete */
	_Atomic int32_t sample_index; /* -1: calibration, warm-up */
	_Atomic uint64_t n;
	_Atomic uint32_t clocked; /* run_clock_ns() was called */
	char reason[600];
	char phase[80]; /* what the leader is at, for the supervisor's words */
	struct shared_slot slot[SHARED_SLOTS];
};

/* First cause wins, from any process. Returns -code. */
int shared_end(struct shared *sh, enum shared_end how, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void shared_phase(struct shared *sh, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- a run ---- */

struct sample {
	unsigned part;
	const char *metric; /* NULL: a batch */
	uint64_t ops, ns, over_ops, over_ns;
	double value;
};

struct hist_use {
	const char *name;
	struct hist *slots; /* shared, one for each slot */
};

/* Of one operation timed by itself, both readings are in the figure: see is_below_clock(). */
#define CLOCK_TIMES 10

struct run {
	const struct workload *w;
	const struct plan_item *item;
	struct args args;
	struct arena *arena;
	struct shared *sh;
	unsigned slot;
	void *state;
	uint64_t ops_per_n;
	/* the leader's alone */
	struct part *parts;
	size_t n_parts, cap_parts;
	struct sample *samples;
	size_t n_samples, cap_samples;
	struct hist_use *hists;
	size_t n_hists;
	double clock_ns; /* what one reading of the clock costs */
	bool exact;	 /* class "exact": batches are marked, n is given */
	unsigned hists_written, hists_refused;
	char refused[200];     /* why the first was */
	struct str facts;      /* records */
	json_t *context;       /* what run_context() adds; NULL: nothing */
	bool executed;	       /* a fresh program image, see runner_invoke() */
	unsigned slots;	       /* leader and parties of this part */
	struct arena **arenas; /* of party threads, which must not share one */
	size_t n_arenas, cap_arenas;
	/* a party's */
	bool serves; /* it supports, and so goes on when a TIMED batch is over */
};

/*
 * A window in time. In exact mode a marker stands at each end: QEMU's plugin counts what lies
 * between (docs/adr/0002-exact.md).
 */
enum window_mark {
	WINDOW_PLAIN = 0, /* no markers */
	WINDOW_BATCH = 1,
	WINDOW_OVERHEAD = 3,
	WINDOW_FINISH = 5, /* window_finish() alone, */
	WINDOW_COUNT = 6,  /* window_count() alone */
};
struct window {
	uint64_t start_ns, end_ns;
	enum window_mark mark;
};
void window_open(struct window *w);
void window_close(struct window *w);
/* Windows follow: until here the plugin counts nothing. */
void window_count(void);
/* No window follows: the plugin writes what it counted. */
void window_finish(void);

/* ---- parties (party.c) ---- */

struct crew {
	struct party *party;
	struct run *run_copy; /* one for each thread party */
	pthread_t *thread;
	size_t n, measured;
};

/* How many the roles ask for at most, the leader not counted. */
size_t crew_size(const struct workload *w, const struct args *args);
unsigned crew_role_size(const struct party_role *role, const struct args *args);
/* Starts all parties of a part and waits until they are set up. `control`: the supervisor. */
int crew_start(struct run *run, const struct cpulist *cpus, int control, struct crew *ret);
/* One round: all measured parties do n (or until stop after time_ns, if not 0). */
int crew_round(struct run *run, struct crew *crew, uint64_t n, uint64_t time_ns,
	       struct window *ret);
/* Ends the parties of a part; waits for them, kills what does not come (a thread: all of us). */
int crew_stop(struct run *run, struct crew *crew);

/* ---- placement (place.c) ---- */

enum place { PLACE_SAME, PLACE_SPREAD, PLACE_FREE };

/* Which CPU each slot gets: a list for the leader and each party, empty where it is left free. */
int place_choose(enum place place, const struct cpulist *allowed, const struct workload *w,
		 const struct args *args, struct arena *a, struct cpulist **ret, struct error *e);
enum place place_of(const struct workload *w, const struct args *args);

/* ---- measuring (measure.c), the invocation (invoke.c) ---- */

struct clock_cost {
	uint64_t resolution_ns; /* smallest step seen or declared */
	double overhead_ns;	/* one read */
	double loop_ns;		/* one turn of an empty counted loop */
};
void clock_cost(struct clock_cost *ret);

/* All samples of one part. */
int measure_part(struct run *run, const struct plan *plan, struct crew *crew, uint64_t *ret_n);

/* The workload's parameters, with `place` where it has parties. Arena memory. */
const struct param *run_params(const struct workload *w, struct arena *a);

/*
 * What an invocation's record says of its workload; the caller drops its reference to `metrics`,
 * sets context and time.
 */
void invocation_head(const struct workload *w, const struct plan_item *item, const char *params,
		     const char *class, struct record_invocation *ret);

#define INVOKE_FD_SHARED  3
#define INVOKE_FD_RESULT  4
#define INVOKE_FD_PLAN	  5
#define INVOKE_FD_CONTROL 6

#endif
