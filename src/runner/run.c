/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the contract offers to a workload: run_*(). */
#include "workload/workload.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/record.h"
#include "runner/internal.h"

uint64_t run_u64(const struct run *run, const char *param)
{
	return args_u64(&run->args, param);
}

const char *run_text(const struct run *run, const char *param)
{
	return args_text(&run->args, param);
}

void *run_state(const struct run *run)
{
	return run->state;
}

void run_set_state(struct run *run, void *state)
{
	run->state = state;
}

void *run_alloc(struct run *run, size_t size)
{
	return arena_alloc(run->arena, size);
}

void *run_alloc_shared(struct run *run, size_t size)
{
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		run_fail(run, errno, "no %zu bytes of shared memory: %s", size, strerror(errno));
		_exit(1);
	}
	return p;
}

void run_ops_per_n(struct run *run, uint64_t ops)
{
	run->ops_per_n = ops ? ops : 1;
}

bool run_stopping(const struct run *run)
{
	return (!run->serves && atomic_load_explicit(&run->sh->stop, memory_order_relaxed)) ||
	       atomic_load_explicit(&run->sh->part_over, memory_order_relaxed);
}

void run_did(struct run *run, uint64_t ops)
{
	atomic_fetch_add_explicit(&run->sh->slot[run->slot].ops, ops, memory_order_relaxed);
}

int run_report(struct run *run, const char *metric, double value)
{
	const struct metric *m;
	struct sample *s;

	for (m = run->w->metrics; m->name && strcmp(m->name, metric) != 0; m++)
		;
	if (!m->name || m->from != METRIC_FROM_REPORTED)
		return run_fail(run, EINVAL, "reports '%s', which it does not declare", metric);
	if (!isfinite(value))
		return run_fail(run, EDOM, "%s is not a finite number", metric);
	if (run->slot)
		return run_fail(run, EINVAL, "a party reports '%s': the leader must", metric);
	if (run_sample_index(run) < 0)
		return 0; /* calibration and warm-up are not results */
	run->samples =
		mem_grow(run->samples, run->n_samples, &run->cap_samples, sizeof(*run->samples));
	s = &run->samples[run->n_samples++];
	memset(s, 0, sizeof(*s));
	s->part = run->n_parts ? (unsigned)run->n_parts - 1 : 0;
	s->metric = m->name;
	s->value = value;
	return 0;
}

void run_hist(struct run *run, const char *hist, uint64_t value)
{
	size_t i;

	if (run_sample_index(run) < 0)
		return;
	for (i = 0; i < run->n_hists; i++) {
		if (strcmp(run->hists[i].name, hist) != 0)
			continue;
		hist_add(&run->hists[i].slots[run->slot], value);
		return;
	}
	run_fail(run, EINVAL, "fills a histogram '%s' that no metric names", hist);
}

uint64_t run_clock_ns(const struct run *run)
{
	/* Read before it is written: all parties share the line. */
	if (!atomic_load_explicit(&run->sh->clocked, memory_order_relaxed))
		atomic_store_explicit(&run->sh->clocked, 1, memory_order_relaxed);
	return clock_raw_ns();
}

void run_fact(struct run *run, enum fact_class class, const char *name, const char *value)
{
	struct record r = { .kind = RECORD_FACT, .inv = run->item->id };

	if (run->slot) {
		run_fail(run, EINVAL, "a party states the fact %s: the leader must", name);
		return;
	}
	r.fact.when = FACT_BEFORE;
	r.fact.class = class;
	r.fact.name = name;
	r.fact.value = value;
	record_append(&run->facts, &r);
}

void run_context(struct run *run, const char *name, const char *value)
{
	if (run->slot) {
		run_fail(run, EINVAL, "a party sets the context %s: the leader must", name);
		return;
	}
	if (!run->context)
		run->context = json_object();
	json_object_set_new(run->context, name, json_str(value));
}

void run_beat(struct run *run)
{
	atomic_fetch_add_explicit(&run->sh->beat, 1, memory_order_relaxed);
}

int run_sample_index(const struct run *run)
{
	return atomic_load_explicit(&run->sh->sample_index, memory_order_relaxed);
}

int run_fail(struct run *run, int code, const char *fmt, ...)
{
	char text[sizeof(run->sh->reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return shared_end(run->sh, SHARED_FAILED, code, "%s", text);
}

int run_skip(struct run *run, const char *fmt, ...)
{
	char text[sizeof(run->sh->reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return shared_end(run->sh, SHARED_SKIPPED, ENOTSUP, "%s", text);
}

const char *run_env(const struct run *run, const char *name)
{
	(void)run;
	return getenv(name);
}
