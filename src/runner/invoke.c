/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invocation's own process: one workload, one set of parameters. It gets four descriptors
 * from the supervisor (internal.h), measures, and only then writes its records to one of them.
 */
#include "runner/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/exact.h"
#include "model/record.h"
#include "runner/internal.h"
#include "runner/perturb.h"
#include "runner/registry.h"

static int prepare_hists(struct run *run)
{
	const struct metric *m;
	size_t slots = crew_size(run->w, &run->args) + 1, i;

	for (m = run->w->metrics; m->name; m++) {
		struct hist_use *u;

		if (m->from != METRIC_FROM_QUANTILE)
			continue;
		for (i = 0; i < run->n_hists && strcmp(run->hists[i].name, m->hist) != 0; i++)
			;
		if (i < run->n_hists)
			continue;
		run->hists = mem_resize(run->hists, run->n_hists + 1, sizeof(*run->hists));
		u = &run->hists[run->n_hists++];
		u->name = m->hist;
		u->slots = run_alloc_shared(run, slots * sizeof(struct hist));
	}
	return 0;
}

/* Latencies that the workload took itself, of which half are hardly more than reading the clock. */
static bool is_below_clock(struct run *run, const struct hist_use *u, const struct hist *h)
{
	const struct metric *m;
	double median;

	for (m = run->w->metrics; m->name; m++)
		if (m->from == METRIC_FROM_QUANTILE && m->unit == UNIT_NS &&
		    !strcmp(m->hist, u->name))
			break;
	if (!m->name || !atomic_load(&run->sh->clocked) || hist_quantile(h, 0.5, &median) < 0 ||
	    median >= CLOCK_TIMES * run->clock_ns)
		return false;
	if (!run->hists_refused++)
		snprintf(run->refused, sizeof(run->refused),
			 "refused: half of the latencies '%s' are shorter than %u readings of the "
			 "clock",
			 u->name, CLOCK_TIMES);
	return true;
}

static void write_refusal(const struct run *run, struct str *out)
{
	struct record r = { .kind = RECORD_LOG, .inv = run->item->id };

	r.log.level = "warning";
	r.log.source = "agent";
	r.log.text = run->refused;
	record_append(out, &r);
}

/* The histograms of a part, all slots merged; emptied for the next part. */
static void write_hists(struct run *run, const char *part, struct str *out)
{
	size_t i, s;

	for (i = 0; i < run->n_hists; i++) {
		struct record r = { .kind = RECORD_HIST, .inv = run->item->id };
		struct hist *sum = &run->hists[i].slots[0];
		json_t *j;

		for (s = 1; s < run->slots; s++) {
			hist_merge(sum, &run->hists[i].slots[s]);
			memset(&run->hists[i].slots[s], 0, sizeof(struct hist));
		}
		if (!sum->count)
			continue;
		if (!is_below_clock(run, &run->hists[i], sum)) {
			j = hist_encode(sum);
			r.hist.part = part;
			r.hist.name = run->hists[i].name;
			r.hist.hist = j;
			record_append(out, &r);
			json_decref(j);
			run->hists_written++;
		}
		memset(sum, 0, sizeof(*sum));
	}
}

static int part_live(struct run *run, const struct plan *plan, const struct cpulist *cpus,
		     struct str *hists, uint64_t *ret_n)
{
	const char *name = run->parts[run->n_parts - 1].name;
	struct crew crew;
	int r, stop;

	shared_phase(run->sh, "start of its parties");
	r = crew_start(run, cpus, INVOKE_FD_CONTROL, &crew);
	if (!r)
		r = measure_part(run, plan, &crew, ret_n);
	/* The machine of exact mode ends with its run, and what is in it. */
	if (!r && run->exact && !run->w->next_part)
		return 0;
	shared_phase(run->sh, "end of its parties");
	stop = crew_stop(run, &crew);
	if (!r)
		r = stop;
	if (!r)
		write_hists(run, name, hists);
	return r;
}

static int all_parts(struct run *run, const struct plan *plan, const struct cpulist *cpus,
		     struct str *hists, uint64_t *ret_n)
{
	for (;;) {
		struct part part = { .name = "" };
		int r = 1;

		if (run->w->next_part)
			r = run->w->next_part(run, &part);
		else if (run->n_parts)
			r = 0;
		if (r <= 0)
			return r;
		run->parts =
			mem_grow(run->parts, run->n_parts, &run->cap_parts, sizeof(*run->parts));
		run->parts[run->n_parts++] = part;
		r = part_live(run, plan, cpus, hists, ret_n);
		if (r < 0)
			return r;
	}
}

/* What exact mode needs of them. In it a text for each would be a tenth of a run. */
static void write_batches(const struct run *run, struct str *out)
{
	CLEANUP_FREE struct exact_batch *list = mem_array(run->n_samples, sizeof(*list));
	size_t i, k;

	for (i = 0; i < run->n_parts; i++) {
		struct exact_batches b = { run->parts[i].name, list, 0 };
		CLEANUP_JSON json_t *j = NULL;
		CLEANUP_FREE char *line = NULL;

		for (k = 0; k < run->n_samples; k++) {
			const struct sample *s = &run->samples[k];

			if (s->part != i || s->metric)
				continue;
			list[b.n++] = (struct exact_batch){ s->ops, s->ns, s->over_ops > 0,
							    s->over_ops, s->over_ns };
		}
		if (!b.n)
			continue;
		j = exact_batches_encode(run->item->id, &b);
		line = json_line(j);
		str_printf(out, "%s\n", line);
	}
}

static void write_samples(const struct run *run, struct str *out)
{
	size_t i;

	if (run->exact) {
		write_batches(run, out);
		return;
	}
	for (i = 0; i < run->n_samples; i++) {
		const struct sample *s = &run->samples[i];
		struct record r = { .kind = RECORD_SAMPLE, .inv = run->item->id };

		r.sample.part = run->parts[s->part].name;
		r.sample.metric = s->metric;
		r.sample.ops = s->ops;
		r.sample.ns = s->ns;
		r.sample.has_overhead = s->over_ops > 0;
		r.sample.over_ops = s->over_ops;
		r.sample.over_ns = s->over_ns;
		r.sample.value = s->value;
		record_append(out, &r);
	}
}

static uint64_t tv_ns(const struct timeval *a, const struct timeval *b)
{
	int64_t us = ((int64_t)b->tv_sec - a->tv_sec) * 1000000 + (b->tv_usec - a->tv_usec);

	return us > 0 ? (uint64_t)us * 1000 : 0;
}

struct used {
	struct rusage self, children;
};

static void used_now(struct used *u)
{
	getrusage(RUSAGE_SELF, &u->self);
	getrusage(RUSAGE_CHILDREN, &u->children);
}

static void put(json_t *o, const char *name, double v)
{
	json_object_set_new(o, name, json_num(v));
}

#define DELTA(field)                                                                               \
	((double)(b->self.field - a->self.field + b->children.field - a->children.field))

static void write_usage(const struct run *run, const struct used *a, const struct used *b,
			uint64_t elapsed_ns, uint64_t n, const struct clock_cost *clock,
			struct str *out)
{
	struct record r = { .kind = RECORD_USAGE, .inv = run->item->id };
	CLEANUP_JSON json_t *o = json_object();

	put(o, "elapsed_ns", (double)elapsed_ns);
	put(o, "user_ns",
	    (double)(tv_ns(&a->self.ru_utime, &b->self.ru_utime) +
		     tv_ns(&a->children.ru_utime, &b->children.ru_utime)));
	put(o, "system_ns",
	    (double)(tv_ns(&a->self.ru_stime, &b->self.ru_stime) +
		     tv_ns(&a->children.ru_stime, &b->children.ru_stime)));
	put(o, "voluntary_count", DELTA(ru_nvcsw));
	put(o, "involuntary_count", DELTA(ru_nivcsw));
	put(o, "minor_faults_count", DELTA(ru_minflt));
	put(o, "major_faults_count", DELTA(ru_majflt));
	put(o, "maxrss_bytes", (double)b->self.ru_maxrss * 1024);
	put(o, "executed", run->executed ? 1 : 0);
	put(o, "n", (double)n);
	put(o, "batches_count", (double)run->n_samples);
	put(o, "clock_resolution_ns", (double)clock->resolution_ns);
	if (!run->exact)
		put(o, "clock_overhead_ns", clock->overhead_ns);
	if (run->hists_refused)
		put(o, "refused_count", (double)run->hists_refused);
	if (!run->exact)
		put(o, "loop_ns", clock->loop_ns);
	r.usage.values = o;
	record_append(out, &r);
}

static void write_cpus(const struct run *run, const struct cpulist *cpus, struct str *out)
{
	struct record r = { .kind = RECORD_FACT, .inv = run->item->id };
	struct str text = STR_INIT;
	size_t i, slots = crew_size(run->w, &run->args) + 1;

	for (i = 0; i < slots && i < 64; i++)
		str_printf(&text, "%s%u", i ? " " : "", cpus[i].n ? cpus[i].cpu[0] : 0);
	r.fact.when = FACT_BEFORE;
	r.fact.class = FACT_VOLATILE;
	r.fact.name = "invocation.cpus";
	r.fact.value = cpus[0].n ? str_get(&text) : "not pinned";
	record_append(out, &r);
	str_done(&text);
}

/* The head of a burst: whose numbers follow, and what they mean. */
static void write_invocation(const struct run *run, const struct plan *plan, uint64_t started_ns,
			     struct str *out)
{
	struct record r = { .kind = RECORD_INVOCATION, .inv = run->item->id };
	CLEANUP_JSON json_t *context =
		plan->context ? json_deep_copy(plan->context) : json_object();
	CLEANUP_FREE char *params = settings_key(args_canonical(&run->args, run->arena),
						 run->item->settings, run->item->n_settings);

	if (run->context)
		json_object_update(context, run->context);
	invocation_head(run->w, run->item, params, plan->class, &r.invocation);
	r.invocation.context = context;
	r.invocation.time_ns = started_ns;
	record_append(out, &r);
	json_decref((json_t *)(uintptr_t)r.invocation.metrics);
}

static int place(struct run *run, struct cpulist **ret)
{
	struct cpulist allowed = CPULIST_INIT;
	size_t slots = crew_size(run->w, &run->args) + 1;
	struct error err = ERROR_INIT;
	int r;

	if (slots > SHARED_SLOTS)
		return run_skip(run, "wants %zu parties, the runner has room for %u", slots - 1,
				SHARED_SLOTS - 1);
	r = cpulist_allowed(&allowed, &err);
	if (r < 0)
		return run_fail(run, -r, "%s", err.text);
	r = place_choose(place_of(run->w, &run->args), &allowed, run->w, &run->args, run->arena,
			 ret, &err);
	cpulist_done(&allowed);
	if (r < 0)
		return run_skip(run, "%s", err.text);
	if ((*ret)[0].n && cpulist_pin(&(*ret)[0], &err) < 0)
		return run_fail(run, err.code, "%s", err.text);
	return 0;
}

static int live(struct run *run, const struct plan *plan, struct str *out)
{
	struct str hists = STR_INIT;
	struct cpulist *cpus = NULL;
	struct clock_cost clock = { 1, 0, 0 };
	struct used before, after;
	uint64_t start, started = clock_real_ns(), n = 0;
	int r;

	r = place(run, &cpus);
	if (!r && prepare_hists(run) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	/* Guest time is the number of instructions: its clock has no noise to be known. */
	if (run->exact) {
		shared_phase(run->sh, "perturbation");
		r = perturb_apply(run, &run->item->perturb);
	} else {
		shared_phase(run->sh, "measuring the clock");
		clock_cost(&clock);
	}
	if (r < 0)
		return r;
	run->clock_ns = clock.overhead_ns;
	shared_phase(run->sh, "setup");
	r = run->w->setup ? run->w->setup(run) : 0;
	if (r < 0)
		shared_end(run->sh, SHARED_FAILED, -r, "setup: %s", strerror(-r));
	used_now(&before);
	start = clock_raw_ns();
	if (!r)
		r = all_parts(run, plan, cpus, &hists, &n);
	if (!r && run->exact && run->w->next_part)
		window_finish();
	start = clock_raw_ns() - start;
	used_now(&after);
	shared_phase(run->sh, "clean-up");
	if (run->w->after && (r || !run->exact))
		run->w->after(run);
	if (!r && !run->n_samples && !run->hists_written && !(run->exact && !run->item->n))
		r = run->hists_refused ? run_skip(run, "%s", run->refused)
				       : run_fail(run, ENODATA, "it measured nothing");
	if (!r && !atomic_load(&run->sh->ended)) {
		write_invocation(run, plan, started, out);
		write_cpus(run, cpus, out);
		str_add(out, str_get(&run->facts));
		write_samples(run, out);
		str_add(out, str_get(&hists));
		if (run->hists_refused)
			write_refusal(run, out);
		write_usage(run, &before, &after, start, n, &clock, out);
	}
	str_done(&hists);
	return r;
}

int runner_invoke(bool executed)
{
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED, INVOKE_FD_SHARED, 0);
	struct arena arena = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct str out = STR_INIT;
	struct run run = { .executed = executed, .ops_per_n = 1, .arena = &arena, .slots = 1 };
	struct plan plan;
	char *text = NULL;
	size_t len, i;
	int r;

	if (sh == MAP_FAILED)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	run.sh = sh;
	atomic_store(&sh->sample_index, -1);
	r = file_read_fd(INVOKE_FD_PLAN, "plan", 64 << 20, &text, &len, &err);
	if (!r)
		r = plan_decode(text, len, &plan, &err);
	free(text);
	if (r < 0) {
		shared_end(sh, SHARED_FAILED, -r, "%s", err.text);
		return 1;
	}
	run.item = &plan.items[0];
	run.exact = !strcmp(plan.class, PLAN_EXACT);
	run.w = registry_find(run.item->workload);
	if (!run.w ||
	    args_parse(run_params(run.w, &arena), run.item->params, &arena, &run.args, &err) < 0) {
		shared_end(sh, SHARED_FAILED, EINVAL, "%s",
			   run.w ? err.text : "this agent has no such workload");
		r = -EINVAL;
	} else {
		r = live(&run, &plan, &out);
	}
	if (!r)
		r = file_write_fd(INVOKE_FD_RESULT, str_get(&out), out.len, NULL);
	if (!r && run.exact && !run.w->next_part) {
		/* Its parties live, and to end takes code that ran nowhere before. */
		close(INVOKE_FD_RESULT);
		for (;;)
			pause();
	}
	str_done(&out);
	free(run.samples);
	free(run.parts);
	free(run.hists);
	for (i = 0; i < run.n_arenas; i++) {
		arena_done(run.arenas[i]);
		free(run.arenas[i]);
	}
	free(run.arenas);
	str_done(&run.facts);
	json_decref(run.context);
	plan_done(&plan);
	arena_done(&arena);
	return r < 0 ? 1 : 0;
}
