/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/exact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "campaign/exact_task.h"
#include "campaign/host.h"
#include "campaign/ingest.h"
#include "campaign/kernels.h"
#include "exact/exact.h"
#include "image/sha256.h"
#include "model/record.h"

/* One kernel as the store sees it. */
struct side {
	struct exact_kernel k;
	struct exact_task boot, *runs; /* one a plan item */
	char boot_id[ID_UUID_SIZE];
	struct plan plan;
	struct ingest in;
	bool begun, up, over, failed;
	char *reason, *console, *boot_plan;
	size_t stored; /* runs, in their order */
};

struct exact_campaign {
	struct campaign *c;
	struct campaign_exact *x;
	struct pool pool;
	struct side *sides;
	unsigned n;
	size_t items, points; /* of a side; those of one perturbation */
	struct exact_task *calibrations;
	size_t calibrated;
	unsigned calibrates; /* the side that does; n: none yet */
	json_t *context;
	char *cache_dir;
	bool running; /* the runs were begun */
	int r;	      /* the host's fault that ends it all, with e */
	struct error *e;
};

static bool stopped(const struct exact_campaign *x)
{
	return x->r < 0 || (x->c->stop && *x->c->stop);
}

/* ---- what cannot be exact ---- */

static const char *why_not(const struct spec_point *p, unsigned smp)
{
	const struct workload_info *w = p->workload;

	if (w->shape == SHAPE_TIMED)
		return "it works until a time is over: how much it does depends on the host";
	if (str_eq(w->name, "mock"))
		return "it plays numbers and does nothing that could be counted";
	if (strstr(p->params, "windows=marked"))
		return "the program's own windows are not counted yet: give windows=whole";
	if (smp < 2 && strstr(p->params, "place=spread"))
		return "place=spread wants 2 CPUs, exact mode has one (--smp 2 shows code paths)";
	return NULL;
}

int campaign_exact_check(struct work *w, unsigned smp, struct error *e)
{
	size_t i, kept = 0;

	for (i = 0; i < w->points.n; i++) {
		const struct spec_point *p = &w->points.items[i];
		const char *why = why_not(p, smp);

		if (!why)
			w->points.items[kept++] = *p;
		else if (!p->implied)
			return error_set(e, ENOTSUP, "%s %s cannot be exact: %s", p->workload->name,
					 p->params, why);
	}
	w->points.n = kept;
	return kept ? 0 : error_set(e, ENOTSUP, "nothing of this can be exact");
}

/* ---- operations of a batch ---- */

void campaign_exact_know(struct campaign_exact *x, const char *workload, const char *key,
			 uint64_t n)
{
	struct campaign_exact_n *k;

	x->known = mem_grow(x->known, x->n_known, &x->cap_known, sizeof(*x->known));
	k = &x->known[x->n_known++];
	k->workload = mem_strdup(workload);
	k->key = mem_strdup(key);
	k->n = n;
}

void campaign_exact_know_all(struct campaign_exact *x, const struct dataset *d)
{
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];
		double n = dataset_usage_of(v, "n", 0);

		if (v->state == DS_OK && str_eq(v->class, PLAN_EXACT) && n >= 1)
			campaign_exact_know(x, v->workload, v->params, (uint64_t)n);
	}
}

void campaign_exact_done(struct campaign_exact *x)
{
	size_t i;

	for (i = 0; i < x->n_known; i++) {
		free(x->known[i].workload);
		free(x->known[i].key);
	}
	free(x->known);
	x->known = NULL;
	x->n_known = x->cap_known = 0;
}

/* ---- storing ---- */

static void store_line(struct exact_campaign *x, struct side *s, const char *line, size_t len)
{
	struct error err = ERROR_INIT;
	int r = ingest_line(&s->in, line, len, &err);

	if (r >= 0 || s->failed)
		return;
	s->failed = true;
	s->reason = mem_strdup(err.text);
	if (!x->r && (err.code == ENOSPC || err.code == EIO || err.code == EBUSY)) {
		x->r = -err.code;
		error_set(x->e, err.code, "%s", err.text);
	}
}

static void store_lines(struct exact_campaign *x, struct side *s, const char *text)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1)
		if (!s->failed)
			store_line(x, s, text, (size_t)(end - text));
}

static void store_record(struct exact_campaign *x, struct side *s, const struct record *r)
{
	CLEANUP_FREE char *line = record_encode(r);

	store_line(x, s, line, strlen(line));
}

static void store_symbols_fact(struct exact_campaign *x, struct side *s)
{
	struct record r = { .kind = RECORD_FACT };

	r.fact.when = FACT_BEFORE;
	r.fact.class = FACT_VOLATILE;
	r.fact.name = "symbols";
	r.fact.value = s->k.symbols_known ? s->k.symbols_said : NULL;
	r.fact.why = s->k.symbols_known ? NULL : s->k.symbols_said;
	store_record(x, s, &r);
	if (!s->k.symbols_known)
		progress_warn(&x->c->progress,
			      "kdelta: %s: no symbols, so profiles have addresses, and interrupts "
			      "are not told apart: %s",
			      s->k.kernel->label, s->k.symbols_said);
}

static void store_restless(struct exact_campaign *x, struct side *s)
{
	struct record r = { .kind = RECORD_FACT };

	r.fact.when = FACT_BEFORE;
	r.fact.class = FACT_VOLATILE;
	r.fact.name = EXACT_FACT_QUIET;
	r.fact.value = "no";
	store_record(x, s, &r);
	progress_warn(
		&x->c->progress,
		"kdelta: %s: the guest was never quiet, though it was waited for: what it still "
		"did may be in the counts",
		s->k.kernel->label);
}

static void store_failed_run(struct exact_campaign *x, struct side *s, const struct exact_task *t)
{
	struct record r = { .kind = RECORD_FAIL, .inv = t->item->id };

	r.fail.workload = t->item->workload;
	r.fail.params = t->item->params;
	r.fail.reason = t->reason;
	store_record(x, s, &r);
}

/* Results go in by their order, not by which came first: the same experiment reads the same. */
static void store_runs(struct exact_campaign *x, struct side *s)
{
	uint64_t start = clock_mono_ns();

	while (s->stored < x->items && s->runs[s->stored].over && !s->failed) {
		struct exact_task *t = &s->runs[s->stored];

		/* Stopped by a signal: it says nothing of the kernel, and is unfinished. */
		if (t->reason && t->result.end == VM_STOPPED)
			break;
		s->stored++;
		if (t->reason)
			store_failed_run(x, s, t);
		else
			store_lines(x, s, str_get(&t->lines));
		exact_task_done(t);
	}
	x->x->timing.store_ns += clock_mono_ns() - start;
}

static void end_side(struct exact_campaign *x, struct side *s, struct campaign_tally *tally,
		     struct error *e)
{
	struct store_boot_end end = { .state = STORE_OK, .console = s->console };
	const struct store_tally *t;
	struct record done = { .kind = RECORD_DONE };

	if (!s->begun || s->over)
		return;
	s->over = true;
	t = store_sink_tally(s->in.sink);
	done.done.invocations = t->ok;
	done.done.failed = t->failed;
	done.done.skipped = t->skipped;
	if (s->up && s->stored == x->items && !s->failed)
		store_record(x, s, &done);
	else if (!s->failed && (stopped(x) || !s->up))
		end.state = STORE_STOPPED;
	else
		end.state = STORE_FAILED;
	end.reason = end.state == STORE_OK	  ? NULL
		     : s->reason		  ? s->reason
		     : end.state == STORE_STOPPED ? "stopped"
						  : "unfinished";
	if (ingest_end(&s->in, s->boot_id, &end, tally, e) < 0 && !x->r)
		x->r = -EIO;
	progress_step(&x->c->progress, 1);
	/* Where some are left, threads may be at them. */
	if (s->stored == x->items) {
		vm_snapshot_done(&s->k.snapshot);
		s->k.snapshot = (struct vm_snapshot)VM_SNAPSHOT_INIT;
	}
}

/* ---- tasks ---- */

static struct exact_task task_of(const struct exact_campaign *x, struct side *s, enum exact_act act)
{
	return (struct exact_task){
		.act = act,
		.k = &s->k,
		.smp = x->x->smp ? x->x->smp : 1,
		.plugin = x->x->plugin,
		.context = x->context,
		.cache_dir = x->cache_dir,
		.plan = &s->plan,
	};
}

/* 0: not known, or it failed where it was to be found out. */
static uint64_t n_of(const struct campaign_exact *x, const struct plan_item *item)
{
	CLEANUP_FREE char *key = settings_key(item->params, item->settings, item->n_settings);
	size_t i;

	for (i = 0; i < x->n_known; i++)
		if (str_eq(x->known[i].workload, item->workload) && str_eq(x->known[i].key, key))
			return x->known[i].n;
	return 0;
}

static const struct exact_task *calibration_of(const struct exact_campaign *x,
					       const struct plan_item *item)
{
	CLEANUP_FREE char *key = settings_key(item->params, item->settings, item->n_settings);
	size_t i;

	for (i = 0; i < x->points; i++) {
		const struct plan_item *it = x->calibrations[i].item;
		CLEANUP_FREE char *its = settings_key(it->params, it->settings, it->n_settings);

		if (str_eq(it->workload, item->workload) && str_eq(its, key))
			return &x->calibrations[i];
	}
	return NULL;
}

static void start_run(struct exact_campaign *x, struct side *s, size_t i)
{
	struct exact_task *t = &s->runs[i];
	const struct exact_task *c;

	*t = task_of(x, s, EXACT_RUN);
	t->item = &s->plan.items[i];
	c = calibration_of(x, t->item);
	/* How many operations could not be found out, and not by the guest's fault. */
	if (c && c->reason) {
		t->reason = mem_strdup(c->reason);
		t->over = true;
		return;
	}
	t->n = n_of(x->x, t->item);
	/* It failed or was skipped where it was tried first: let it say so itself, here. */
	t->n = t->n ? t->n : 1;
	exact_perturb(x->x->seed, (unsigned)(i / x->points), &t->perturb);
	pool_add(&x->pool, &t->link);
}

/* Round by round, the kernels side by side: what is interrupted has something of all. */
static void start_runs(struct exact_campaign *x, struct side *only)
{
	size_t i;
	unsigned k;

	for (i = 0; i < x->items; i++)
		for (k = 0; k < x->n; k++)
			if (x->sides[k].up && (!only || only == &x->sides[k]))
				start_run(x, &x->sides[k], i);
}

static void start_calibrations(struct exact_campaign *x, struct side *s)
{
	size_t i;

	x->calibrates = (unsigned)(s - x->sides);
	for (i = 0; i < x->points; i++) {
		struct exact_task *t = &x->calibrations[i];

		*t = task_of(x, s, EXACT_CALIBRATE);
		t->item = &s->plan.items[i];
		if (n_of(x->x, t->item))
			x->calibrated++;
		else
			pool_add(&x->pool, &t->link);
	}
}

/*
 * The first kernel of the command line that came up is the one that is asked, whichever came up
 * first: the same command counts the same.
 */
static void go_on(struct exact_campaign *x)
{
	unsigned i;

	for (i = 0; i < x->n && x->calibrates == x->n; i++) {
		if (x->sides[i].up)
			start_calibrations(x, &x->sides[i]);
		else if (!x->sides[i].over)
			return;
	}
	if (x->calibrates == x->n || x->calibrated < x->points || x->running || stopped(x))
		return;
	x->running = true;
	start_runs(x, NULL);
}

static void boot_over(struct exact_campaign *x, struct side *s, struct campaign_tally *tally,
		      struct error *e)
{
	struct campaign_exact_timing *time = &x->x->timing;
	struct exact_task *t = &s->boot;

	time->boots++;
	time->boot_ns += t->host_ns - t->symbols_ns - s->k.snapshot.save_ns;
	time->save_ns += s->k.snapshot.save_ns;
	time->symbols_ns += t->symbols_ns;
	time->snapshot_bytes += s->k.snapshot.bytes;
	store_lines(x, s, str_get(&t->lines));
	if (t->result.console_tail)
		s->console = mem_strdup(t->result.console_tail);
	if (t->reason || s->failed) {
		/* Stopped, or the host's fault: it says nothing of the kernel. */
		s->failed = t->result.end != VM_STOPPED && t->r >= 0;
		if (!s->reason)
			s->reason = mem_strdup(t->reason);
		if (!stopped(x))
			progress_warn(&x->c->progress, "boot of %s failed: %s", s->k.kernel->label,
				      s->reason);
		if (t->r < 0 && t->result.end != VM_STOPPED)
			*e = t->err;
		end_side(x, s, tally, e);
	} else {
		s->up = true;
		store_symbols_fact(x, s);
		if (s->k.restless)
			store_restless(x, s);
	}
	exact_task_done(t);
	if (s->up && x->running)
		start_runs(x, s);
	else
		go_on(x);
}

static void calibration_over(struct exact_campaign *x, struct exact_task *t)
{
	x->x->timing.calibrations++;
	x->x->timing.calibrate_ns += t->host_ns;
	/* QEMU was killed, or hung: once is no reason to give the point up. */
	if (t->reason && !stopped(x) && !t->again) {
		exact_task_done(t);
		t->again = true;
		t->r = 0;
		t->err = (struct error)ERROR_INIT;
		pool_add(&x->pool, &t->link);
		return;
	}
	if (!t->reason && t->n) {
		CLEANUP_FREE char *key =
			settings_key(t->item->params, t->item->settings, t->item->n_settings);

		campaign_exact_know(x->x, t->item->workload, key, t->n);
	}
	x->calibrated++;
	go_on(x);
}

static struct side *side_of(struct exact_campaign *x, const struct exact_task *t)
{
	unsigned i = 0;

	while (&x->sides[i].k != t->k)
		i++;
	return &x->sides[i];
}

static void task_over(struct exact_campaign *x, struct exact_task *t, struct campaign_tally *tally,
		      struct error *e)
{
	struct side *s = side_of(x, t);

	switch (t->act) {
	case EXACT_BOOT:
		boot_over(x, s, tally, e);
		break;
	case EXACT_CALIBRATE:
		calibration_over(x, t);
		break;
	case EXACT_RUN:
		x->x->timing.runs++;
		x->x->timing.run_ns += t->host_ns - t->count_ns;
		x->x->timing.start_ns += t->result.boot_ns;
		x->x->timing.count_ns += t->count_ns;
		t->over = true;
		store_runs(x, s);
		if (s->stored == x->items || s->failed)
			end_side(x, s, tally, e);
		break;
	}
}

/* ---- the whole ---- */

static json_t *exact_context(const struct exact_campaign *x, const struct campaign_vm *v,
			     const struct campaign_host *host)
{
	CLEANUP_FREE char *cpu = vm_exact_cpu(v->cpu_model);
	json_t *j = host_context(x->c, v, host);
	char sha[SHA256_HEX_SIZE];

	sha256_hex(host->initrd, host->initrd_len, sha);
	json_object_set_new(j, "accel", json_string("tcg,icount"));
	json_object_set_new(j, "cpu", json_str(cpu));
	json_object_set_new(j, "cpus", json_u64(x->x->smp));
	json_object_set_new(j, "initramfs", json_string(sha));
	return j;
}

static int begin_side(struct exact_campaign *x, const struct campaign_vm *v,
		      const struct campaign_host *host, const struct campaign_kernel *kernels,
		      unsigned i, char (*ids)[ID_UUID_SIZE], struct error *e)
{
	struct side *s = &x->sides[i];
	struct store_boot b = { .experiment = x->c->experiment, .kernel = ids[i], .position = i };
	CLEANUP_FREE char *text = NULL;
	struct plan empty;
	int r;

	s->k.kernel = &kernels[i];
	s->k.snapshot = (struct vm_snapshot)VM_SNAPSHOT_INIT;
	host_config(x->c, v, &kernels[i], i, host, &s->k.cfg);
	s->k.cfg.exact_plugin = x->x->plugin;
	text = work_plan(x->c->work, NULL, PLAN_EXACT, x->context, &s->plan, e);
	if (!text)
		return -EIO;
	empty = s->plan;
	empty.items = NULL;
	empty.n = 0;
	s->boot_plan = plan_encode(&empty);
	r = store_boot_begin(x->c->store, &b, &s->plan, s->boot_id, e);
	if (r < 0)
		return r;
	s->begun = true;
	s->in = (struct ingest){ .c = x->c, .image = kernels[i].image, .kernel = ids[i] };
	s->in.sink = store_sink_new(x->c->store, s->boot_id, STORE_IDS_KEEP);
	s->runs = mem_array(x->items, sizeof(*s->runs));
	s->boot = task_of(x, s, EXACT_BOOT);
	s->k.cfg.plan_json = s->boot_plan;
	return 0;
}

static void run_all(struct exact_campaign *x, struct campaign_tally *tally, struct error *e)
{
	unsigned i;

	for (i = 0; i < x->n; i++)
		pool_add(&x->pool, &x->sides[i].boot.link);
	while (pool_busy(&x->pool)) {
		struct exact_task *t = (struct exact_task *)pool_take(&x->pool);

		if (stopped(x))
			pool_drop(&x->pool);
		if (t)
			task_over(x, t, tally, e);
		progress_step(&x->c->progress, 0);
	}
}

int campaign_exact(struct campaign *c, const struct campaign_vm *v, struct campaign_exact *xo,
		   const struct campaign_host *host, const struct campaign_kernel *kernels,
		   unsigned n, struct campaign_tally *ret, struct error *e)
{
	struct exact_campaign x = { .c = c, .x = xo, .n = n, .calibrates = n, .e = e };
	CLEANUP_FREE char(*ids)[ID_UUID_SIZE] = mem_array(n, ID_UUID_SIZE);
	uint64_t start = clock_mono_ns();
	unsigned i;
	size_t k;
	int r;

	memset(ret, 0, sizeof(*ret));
	memset(&xo->timing, 0, sizeof(xo->timing));
	xo->timing.jobs = xo->jobs ? xo->jobs : pool_cpus();
	x.items = work_items(c->work);
	x.points = x.items / c->work->invocations;
	x.sides = mem_array(n, sizeof(*x.sides));
	x.calibrations = mem_array(x.points, sizeof(*x.calibrations));
	x.context = exact_context(&x, v, host);
	x.cache_dir = image_cache_dir();
	r = campaign_store_kernels(c, kernels, n, ids, e);
	for (i = 0; i < n && !r; i++)
		r = begin_side(&x, v, host, kernels, i, ids, e);
	if (!r)
		r = pool_start(&x.pool, xo->timing.jobs, exact_task_do, e);
	if (!r) {
		progress_what(&c->progress, "exact, %u kernel%s", n, n == 1 ? "" : "s");
		run_all(&x, ret, e);
		pool_stop(&x.pool);
	}
	for (i = 0; i < n; i++) {
		struct side *s = &x.sides[i];

		if (s->up && x.running)
			store_runs(&x, s);
		end_side(&x, s, ret, e);
		for (k = 0; s->runs && k < x.items; k++)
			exact_task_done(&s->runs[k]);
		free(s->runs);
		free(s->reason);
		free(s->console);
		free(s->boot_plan);
		exact_kernel_done(&s->k);
		plan_done(&s->plan);
	}
	for (k = 0; k < x.points; k++)
		exact_task_done(&x.calibrations[k]);
	free(x.calibrations);
	free(x.sides);
	free(x.cache_dir);
	json_decref(x.context);
	xo->timing.wall_ns = clock_mono_ns() - start;
	return r < 0 ? r : x.r;
}
