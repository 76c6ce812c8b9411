/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock and the batches: what a batch costs, how many operations it takes to be long enough,
 * warm-up, samples. Method after McVoy & Staelin, "lmbench: portable tools for performance
 * analysis" (USENIX 1996): n grows until a batch is long against the clock's resolution.
 */
#include "runner/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/exact.h"

#define SAMPLES_MIN    5u
#define SAMPLES_MAX    400u
#define SAMPLES_WANTED 50u /* a batch is at least this share of the time */
#define TIMED_SLICES   10u
#define GROWTH	       10u
#define BEATS	       4u /* batches in a heartbeat, at least */
#define SLICE_MIN_NS   NSEC_PER_USEC
#define EXACT_TRIES    3u /* of each n: the shortest had no tick in it */
#define EXACT_MAX      20000u
#define N_MAX	       (1ull << 40)

static struct shared *alarm_page; /* the handler has no argument; one run a process */

static void on_alarm(int sig)
{
	(void)sig;
	if (alarm_page)
		atomic_store(&alarm_page->stop, 1);
}

static void timer_set(struct run *run, uint64_t ns)
{
	struct itimerval t = { .it_value = { (time_t)(ns / NSEC_PER_SEC),
					     (suseconds_t)(ns % NSEC_PER_SEC / 1000) } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	alarm_page = run->sh;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static uint64_t ops_done(const struct run *run)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < run->slots; i++)
		sum += atomic_load(&run->sh->slot[i].ops);
	return sum;
}

static void ops_reset(struct run *run)
{
	unsigned i;

	for (i = 0; i < run->slots; i++)
		atomic_store(&run->sh->slot[i].ops, 0);
}

static int check(struct run *run, int r, const char *what)
{
	if (r < 0)
		return shared_end(run->sh, SHARED_FAILED, -r, "%s: %s", what, strerror(-r));
	return atomic_load(&run->sh->ended) ? -EIO : 0;
}

/* One batch, with all that belongs to it. n counts for COUNTED and ONCE, slice_ns for TIMED. */
static int one_batch(struct run *run, struct crew *crew, uint64_t n, uint64_t slice_ns,
		     struct batch *ret)
{
	const struct workload *w = run->w;
	bool marked = run->exact && atomic_load(&run->sh->sample_index) >= 0;
	struct window win = { 0, 0, marked ? WINDOW_OVERHEAD : WINDOW_PLAIN };
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	run_beat(run);
	ops_reset(run);
	if (w->before)
		r = check(run, w->before(run), "before");
	if (!r && w->overhead) {
		window_open(&win);
		r = w->overhead(run, n);
		window_close(&win);
		r = check(run, r, "overhead");
		ret->over_ns = win.end_ns - win.start_ns;
		ret->over_ops = n * run->ops_per_n;
	}
	if (r < 0)
		return r;
	win.mark = marked ? WINDOW_BATCH : WINDOW_PLAIN;
	if (!crew->measured && !w->batch)
		return run_fail(run, EINVAL, "there is no party to measure");
	if (crew->measured) {
		r = crew_round(run, crew, n, w->shape == SHAPE_TIMED ? slice_ns : 0, &win);
		ret->ops = w->shape == SHAPE_TIMED ? ops_done(run)
						   : n * crew->measured * run->ops_per_n;
	} else if (w->shape == SHAPE_TIMED) {
		atomic_store(&run->sh->stop, 0);
		window_open(&win);
		timer_set(run, slice_ns);
		r = w->batch(run, 0);
		window_close(&win);
		timer_set(run, 0);
		ret->ops = ops_done(run);
	} else {
		window_open(&win);
		r = w->batch(run, n);
		window_close(&win);
		ret->ops = n * run->ops_per_n;
	}
	ret->ns = win.end_ns - win.start_ns;
	r = check(run, r, w->op);
	if (!r && !ret->ops)
		r = run_fail(run, ENODATA, "no operation was done in %llu ns",
			     (unsigned long long)ret->ns);
	if (!r && w->collect)
		r = check(run, w->collect(run, ret), "collect");
	run_beat(run);
	return r;
}

/* The shorter of two: one batch may be long because something else ran in it. */
static int batch_twice(struct run *run, struct crew *crew, uint64_t n, uint64_t want_ns,
		       uint64_t *ret_ns)
{
	struct batch b;
	int r = one_batch(run, crew, n, 0, &b);

	*ret_ns = b.ns;
	if (r < 0 || b.ns < want_ns)
		return r;
	r = one_batch(run, crew, n, 0, &b);
	if (b.ns < *ret_ns)
		*ret_ns = b.ns;
	return r;
}

/* n for which a batch lasts `want_ns`; what it takes counts as warm-up. */
static int calibrate(struct run *run, struct crew *crew, uint64_t want_ns, uint64_t *ret_n)
{
	uint64_t n = 1, ns;

	for (;;) {
		double factor = GROWTH;
		int r = batch_twice(run, crew, n, want_ns, &ns);

		if (r < 0)
			return r;
		if (ns >= want_ns)
			break;
		if (n >= N_MAX)
			return run_fail(run, ERANGE,
					"%llu operations take no time that can be measured",
					(unsigned long long)n);
		/* A little more than it takes; not in whole numbers, which would overflow. */
		if (ns && (double)want_ns / (double)ns * 17 / 16 < factor)
			factor = (double)want_ns / (double)ns * 17 / 16;
		n = (uint64_t)((double)n * factor) + 1;
	}
	*ret_n = n;
	return 0;
}

static void keep(struct run *run, const struct batch *b)
{
	struct sample *s;

	run->samples =
		mem_grow(run->samples, run->n_samples, &run->cap_samples, sizeof(*run->samples));
	s = &run->samples[run->n_samples++];
	memset(s, 0, sizeof(*s));
	s->part = run->n_parts ? (unsigned)run->n_parts - 1 : 0;
	s->ops = b->ops;
	s->ns = b->ns ? b->ns : 1;
	s->over_ops = b->over_ops;
	s->over_ns = b->over_ns;
}

/* A workload that runs as a whole may say how often: its parameter "samples". */
static uint64_t samples_asked(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->args.n; i++)
		if (!strcmp(run->args.params[i].name, "samples"))
			return run->args.number[i];
	return 0;
}

static bool wants_clock(const struct workload *w)
{
	const struct metric *m;

	for (m = w->metrics; m->name; m++)
		if (m->from != METRIC_FROM_REPORTED && m->from != METRIC_FROM_QUANTILE)
			return true;
	return false;
}

static int warm_up(struct run *run, const struct plan *plan, struct crew *crew, uint64_t n,
		   uint64_t slice_ns, uint64_t time_ns)
{
	uint64_t warm_ns = time_ns / 100 * run->w->warmup_percent;
	uint64_t until = clock_raw_ns() + (warm_ns > plan->warmup_ns ? warm_ns : plan->warmup_ns);
	struct batch b;

	do {
		int r = one_batch(run, crew, n, slice_ns, &b);

		if (r < 0)
			return r;
	} while (clock_raw_ns() < until);
	return 0;
}

/* A part's share of the invocation's time. */
static uint64_t part_time(const struct run *run)
{
	double share = run->n_parts ? run->parts[run->n_parts - 1].share : 0;

	return share > 0 && share < 1 ? (uint64_t)((double)run->item->time_ns * share)
				      : run->item->time_ns;
}

/* The largest power of two whose batch stays within EXACT_BATCH_NS: the same for near neighbours.
 */
static int calibrate_exact(struct run *run, struct crew *crew, uint64_t *ret_n)
{
	struct batch b;

	for (*ret_n = 1;; *ret_n *= 2) {
		uint64_t shortest = UINT64_MAX;
		unsigned i;

		for (i = 0; i < EXACT_TRIES; i++) {
			int r = one_batch(run, crew, *ret_n, 0, &b);

			if (r < 0)
				return r;
			shortest = b.ns < shortest ? b.ns : shortest;
		}
		if (shortest > EXACT_BATCH_NS / 2)
			break;
		if (*ret_n >= N_MAX)
			return run_fail(run, ERANGE,
					"%llu operations take no time that can be measured",
					(unsigned long long)*ret_n);
	}
	return 0;
}

/* One whose n is not known yet is only asked for it. */
static int measure_exact(struct run *run, const struct plan *plan, struct crew *crew,
			 uint64_t *ret_n)
{
	const struct plan_perturb *p = &run->item->perturb;
	uint64_t n = run->item->n, spent = 0, asked = 0;
	struct batch b;
	unsigned i;
	int r = 0;

	*ret_n = 1;
	if (run->w->shape == SHAPE_ONCE) {
		asked = samples_asked(run);
		n = 1;
	} else if (!n) {
		shared_phase(run->sh, "calibration");
		return calibrate_exact(run, crew, ret_n);
	} else {
		*ret_n = n;
		n = n * (p->sixteenths ? p->sixteenths : 16) / 16;
		n = n ? n : 1;
		shared_phase(run->sh, "warm-up");
		r = warm_up(run, plan, crew, n, 0, 0);
	}
	window_count();
	for (i = 0; !r; i++) {
		if (asked ? i >= asked
			  : i >= EXACT_MAX || (spent >= run->item->time_ns && i >= SAMPLES_MIN))
			break;
		atomic_store(&run->sh->sample_index, (int32_t)i);
		shared_phase(run->sh, "sample %u", i);
		r = one_batch(run, crew, n, 0, &b);
		if (!r)
			keep(run, &b);
		spent += b.ns;
	}
	atomic_store(&run->sh->sample_index, -1);
	/* What ends the parties need not be counted, where no other part follows. */
	if (!r && !run->w->next_part)
		window_finish();
	return r;
}

int measure_part(struct run *run, const struct plan *plan, struct crew *crew, uint64_t *ret_n)
{
	const struct workload *w = run->w;
	uint64_t time_ns = part_time(run), want_ns = time_ns / SAMPLES_WANTED;
	uint64_t slice_ns = time_ns / TIMED_SLICES, n = 1, start, asked = 0;
	bool clocked = wants_clock(w);
	unsigned i;
	int r = 0;

	if (want_ns < plan->batch_ns)
		want_ns = plan->batch_ns;
	if (slice_ns < plan->batch_ns)
		slice_ns = plan->batch_ns;
	/* A batch says nothing while it lasts: it must not look like a hang. */
	if (want_ns > plan->heartbeat_ns / BEATS)
		want_ns = plan->heartbeat_ns / BEATS;
	if (slice_ns > plan->heartbeat_ns / BEATS)
		slice_ns = plan->heartbeat_ns / BEATS;
	if (slice_ns < SLICE_MIN_NS)
		slice_ns = SLICE_MIN_NS;
	atomic_store(&run->sh->sample_index, -1);
	if (run->exact)
		return measure_exact(run, plan, crew, ret_n);
	if (w->shape == SHAPE_COUNTED) {
		shared_phase(run->sh, "calibration");
		r = calibrate(run, crew, want_ns, &n);
	}
	if (w->shape != SHAPE_ONCE && !r) {
		shared_phase(run->sh, "warm-up");
		r = warm_up(run, plan, crew, n, slice_ns, time_ns);
	}
	if (w->shape == SHAPE_ONCE)
		asked = samples_asked(run);
	start = clock_raw_ns();
	for (i = 0; !r; i++) {
		struct batch b;
		uint64_t spent = clock_raw_ns() - start;

		if (asked ? i >= asked
			  : i >= SAMPLES_MAX || (spent >= time_ns && i >= SAMPLES_MIN) ||
				    (spent >= 3 * time_ns && i >= 1))
			break;
		atomic_store(&run->sh->sample_index, (int32_t)i);
		shared_phase(run->sh, "sample %u", i);
		r = one_batch(run, crew, n, slice_ns, &b);
		if (!r && clocked)
			keep(run, &b);
	}
	atomic_store(&run->sh->sample_index, -1);
	*ret_n = n;
	return r;
}
