/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "compare/internal.h"
#include "stats/spread.h"

#define STEAL_SHARE  0.01
#define SPREAD_ALPHA 0.01
#define SLOW_NS	     1000 /* of one reading of the clock; a vDSO takes 20 to 100 */

static const struct {
	const char *name, *doc;
	bool blocks;
} flags[COMPARE_FLAGS] = {
	[COMPARE_EMULATED] = { "emulated", "QEMU TCG time, not a machine's", true },
	[COMPARE_SAME_KERNEL] = { "same kernel", "two labels of one kernel (A/A)", true },
	[COMPARE_ONE_BOOT] = { "n=1", "fewer than two boots on a side", true },
	[COMPARE_NO_SPREAD] = { "no spread", "equal values and no known resolution", true },
	[COMPARE_CLOCKSOURCE] = { "clocksource changed", "while it was measured", true },
	[COMPARE_SUSPENDED] = { "suspended", "the machine slept while it was measured", true },
	[COMPARE_CPUTIME] = { "cputime", "user and system time are counted differently", true },
	[COMPARE_FAILED] = { "failed",
			     "boots or invocations failed; without a verdict where one "
			     "side failed more often (Fisher, p <= .05)",
			     false },
	[COMPARE_STEAL] = { "steal",
			    "over 1 % of the time was stolen; can't tell where that could "
			    "explain it",
			    false },
	[COMPARE_CONFOUNDED] = { "confounded", "the environment differs too, see above", false },
	[COMPARE_DEBUG] = { "debug", "a debugging option differs, see above", false },
	[COMPARE_FACTS] = { "facts changed", "during a boot, see above", false },
	[COMPARE_NOT_INTERLEAVED] = { "not interleaved",
				      "one kernel's boots after the other's, or pooled", false },
	[COMPARE_DRIFT] = { "drift", "a trend over the boots (taken out)", false },
	[COMPARE_THROTTLED] = { "throttled", "held up by a CPU quota", false },
	[COMPARE_SLOW_CLOCK] = { "slow clock", "reading it takes a microsecond or more", false },
	[COMPARE_WARNED] = { "kernel warned", "see its log", false },
	[COMPARE_BELOW] = { "below resolution", "values at or below their overhead", false },
	[COMPARE_BIMODAL] = { "bimodal", "two modes: the mean is neither", false },
	[COMPARE_OUTLIERS] = { "outliers", "boots far from the others", false },
	[COMPARE_SPREAD] = { "spread changed", "one side varies more (Brown-Forsythe, p < .01)",
			     false },
	[COMPARE_UNREPEATED] = { "not deterministic",
				 "one perturbation gave two results: what must repeat did not",
				 true },
	[COMPARE_SMP] = { "smp", "several CPUs take turns, in slices: code paths only", true },
	[COMPARE_FEW] = { "few perturbations", "fewer than 8 on a side; no word but \"same\"",
			  false },
	[COMPARE_REGIMES] = { "regimes",
			      "batches of several kinds, shown apart; no word but \"same\"",
			      false },
	[COMPARE_RESTLESS] = { "not quiet",
			       "a guest still worked when it was saved: that may be in the counts",
			       false },
	[COMPARE_NO_CONTEXTS] = { "no contexts",
				  "interrupts are not told apart (kernel symbols are missing, or "
				  "several CPUs): typical includes them; no word where only one "
				  "side's does",
				  false },
};

const char *compare_flag_name(enum compare_flag flag)
{
	return flag < COMPARE_FLAGS ? flags[flag].name : "";
}

const char *compare_flag_doc(enum compare_flag flag)
{
	return flag < COMPARE_FLAGS ? flags[flag].doc : "";
}

bool compare_flag_blocks(enum compare_flag flag)
{
	return flag < COMPARE_FLAGS && flags[flag].blocks;
}

static bool has_slow_clock(const struct ds_boot *b, const struct ds_invocation *v)
{
	const struct ds_fact *source = dataset_fact_of(b, FACT_BEFORE, "clocksource");

	return dataset_usage_of(v, "clock_overhead_ns", 0) >= SLOW_NS ||
	       (source && fact_clock_is_slow(source->value));
}

static bool was_restless(const struct ds_boot *b)
{
	const struct ds_fact *quiet = dataset_fact_of(b, FACT_BEFORE, EXACT_FACT_QUIET);

	return quiet && str_eq(quiet->value, "no");
}

static bool is_cputime(const struct metric *m)
{
	return m->unit == UNIT_NS && (!strcmp(m->name, "user") || !strcmp(m->name, "system"));
}

/* What happened in and around the invocations that the row's values are from. */
static unsigned invocation_flags(const struct compare_work *w, size_t row,
				 const struct compare_pair *p)
{
	const struct ds_series *s = w->series[row];
	unsigned f = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		unsigned boot = s->points[i].boot, number = s->points[i].invocation;
		const struct ds_invocation *v = &w->d->invocations[number];
		const struct ds_boot *b = &w->d->boots[boot];

		if (!compare_uses_boot(w, boot))
			continue;
		if (w->kernel_of[b->kernel] != (int)p->base &&
		    w->kernel_of[b->kernel] != (int)p->new)
			continue;
		if (dataset_usage_of(v, "clocksource_changed", 0) > 0)
			f |= COMPARE_BIT(COMPARE_CLOCKSOURCE);
		if (dataset_usage_of(v, "suspended_ns", 0) > 0)
			f |= COMPARE_BIT(COMPARE_SUSPENDED);
		if (dataset_usage_of(v, "throttled_count", 0) > 0)
			f |= COMPARE_BIT(COMPARE_THROTTLED);
		if (has_slow_clock(b, v))
			f |= COMPARE_BIT(COMPARE_SLOW_CLOCK);
		if (was_restless(b))
			f |= COMPARE_BIT(COMPARE_RESTLESS);
		if (v->kernel_warnings || b->kernel_warnings)
			f |= COMPARE_BIT(COMPARE_WARNED);
		if (w->changed_boots[boot] || w->changed_invocations[number])
			f |= COMPARE_BIT(COMPARE_FACTS);
	}
	return f;
}

/*
 * Boots in random blocks of one each give at least n + 1 runs of one kernel; half of that and
 * less is one kernel after the other. Boots of several experiments were never one order.
 */
static bool is_interleaved(const struct compare_work *w, size_t row, const struct compare_pair *p)
{
	const struct compare_reduced *red = &w->reduced[row];
	unsigned runs = 0, last = UINT_MAX, n[2] = { 0, 0 }, experiment = UINT_MAX, least;
	double previous = -1;

	for (;;) {
		const struct compare_boot *next = NULL;
		size_t i;

		/* By place: the reduced boots are kernel by kernel. */
		for (i = 0; i < red->n; i++) {
			const struct compare_boot *b = &red->boots[i];

			if ((b->kernel == p->base || b->kernel == p->new) && b->index > previous &&
			    (!next || b->index < next->index))
				next = b;
		}
		if (!next)
			break;
		previous = next->index;
		runs += next->kernel != last;
		last = next->kernel;
		n[next->kernel == p->new]++;
		if (experiment != UINT_MAX && experiment != w->d->boots[next->boot].experiment)
			return false;
		experiment = w->d->boots[next->boot].experiment;
	}
	least = n[0] < n[1] ? n[0] : n[1];
	return least < 2 || runs > (least + 2) / 2;
}

static bool spread_differs(const struct compare_work *w, size_t row, const struct compare_pair *p)
{
	const struct compare_row *r = &w->c->rows[row];
	const struct compare_reduced *red = &w->reduced[row];
	CLEANUP_FREE double *a = mem_array(red->n + 1, sizeof(*a));
	CLEANUP_FREE double *b = mem_array(red->n + 1, sizeof(*b));
	size_t i, n = 0, m = 0;
	double f, prob;

	for (i = 0; i < red->n; i++) {
		double y = r->absolute ? red->boots[i].value : log(red->boots[i].value);

		if (red->boots[i].kernel == p->base)
			a[n++] = y;
		else if (red->boots[i].kernel == p->new)
			b[m++] = y;
	}
	return !spread_brown_forsythe(a, n, b, m, &f, &prob) && prob < SPREAD_ALPHA;
}

static bool some_failed(const struct comparison *c, const struct compare_row *r,
			const struct compare_pair *p)
{
	size_t i;

	for (i = 0; i < c->n_failures; i++) {
		const struct compare_failure *f = &c->failures[i];

		if (!f->skip && (f->kernel == p->base || f->kernel == p->new) &&
		    (!f->workload ||
		     (!strcmp(f->workload, r->workload) && !strcmp(f->params, r->params))))
			return true;
	}
	return false;
}

/* Those that stand for themselves; and what failures block. */
static void set_blocked(struct compare_pair *p)
{
	unsigned i;

	for (i = 0; i < COMPARE_FLAGS; i++)
		if (flags[i].blocks)
			p->blocked |= p->flags & COMPARE_BIT(i);
	/* Survivors of one side only are no fair sample of it. */
	if (p->fisher_p <= FISHER_ALPHA)
		p->blocked |= COMPARE_BIT(COMPARE_FAILED);
}

static bool has_several_cpus(const struct compare_row *r)
{
	json_t *j CLEANUP_JSON = NULL;

	if (!r->context || json_parse(r->context, strlen(r->context), "context", &j, NULL) < 0)
		return false;
	return json_opt_u64(j, "cpus", 1) > 1;
}

void compare_exact_flags(struct compare_work *w, size_t row, struct compare_pair *p)
{
	const struct comparison *c = w->c;
	const struct compare_row *r = &c->rows[row];
	const struct compare_exact *a = r->values[p->base].exact, *b = r->values[p->new].exact;
	const struct compare_runs *runs = w->runs[row];
	bool contexts = runs[p->base].contexts && runs[p->new].contexts;
	/* Of time, and of the host's, nothing shows in a count. */
	unsigned f = p->flags | (invocation_flags(w, row, p) &
				 (COMPARE_BIT(COMPARE_WARNED) | COMPARE_BIT(COMPARE_FACTS) |
				  COMPARE_BIT(COMPARE_RESTLESS)));

	if (some_failed(c, r, p))
		f |= COMPARE_BIT(COMPARE_FAILED);
	if (w->confounds[p->new])
		f |= COMPARE_BIT(COMPARE_CONFOUNDED);
	if (w->debugs[p->new])
		f |= COMPARE_BIT(COMPARE_DEBUG);
	if (a->unrepeated || b->unrepeated)
		f |= COMPARE_BIT(COMPARE_UNREPEATED);
	if (has_several_cpus(r))
		f |= COMPARE_BIT(COMPARE_SMP);
	if (a->n < EXACT_PERTURB_MIN || b->n < EXACT_PERTURB_MIN)
		f |= COMPARE_BIT(COMPARE_FEW);
	if (a->modes || b->modes)
		f |= COMPARE_BIT(COMPARE_REGIMES);
	if (!contexts)
		f |= COMPARE_BIT(COMPARE_NO_CONTEXTS);
	p->flags = f;
	set_blocked(p);
	p->blocked |= f & (COMPARE_BIT(COMPARE_FEW) | COMPARE_BIT(COMPARE_REGIMES));
	if (runs[p->base].contexts != runs[p->new].contexts && compare_exact_is_typical(&r->metric))
		p->blocked |= COMPARE_BIT(COMPARE_NO_CONTEXTS);
}

void compare_flags(struct compare_work *w, size_t row, struct compare_pair *p)
{
	const struct comparison *c = w->c;
	const struct compare_row *r = &c->rows[row];
	const struct compare_value *a = &r->values[p->base], *b = &r->values[p->new];
	unsigned f = p->flags | invocation_flags(w, row, p);

	if (!strcmp(r->class, "emulated"))
		f |= COMPARE_BIT(COMPARE_EMULATED);
	if (c->kernels[p->new].same_as_base)
		f |= COMPARE_BIT(COMPARE_SAME_KERNEL);
	if (a->boots < 2 || b->boots < 2)
		f |= COMPARE_BIT(COMPARE_ONE_BOOT);
	else if (!isfinite(p->d_lo))
		f |= COMPARE_BIT(COMPARE_NO_SPREAD);
	if (some_failed(c, r, p))
		f |= COMPARE_BIT(COMPARE_FAILED);
	if (a->steal > STEAL_SHARE || b->steal > STEAL_SHARE)
		f |= COMPARE_BIT(COMPARE_STEAL);
	if (w->confounds[p->new])
		f |= COMPARE_BIT(COMPARE_CONFOUNDED);
	if (w->cputimes[p->new] && is_cputime(&r->metric))
		f |= COMPARE_BIT(COMPARE_CPUTIME);
	if (w->debugs[p->new])
		f |= COMPARE_BIT(COMPARE_DEBUG);
	if (!is_interleaved(w, row, p))
		f |= COMPARE_BIT(COMPARE_NOT_INTERLEAVED);
	if (a->below || b->below)
		f |= COMPARE_BIT(COMPARE_BELOW);
	if (a->bimodal || b->bimodal)
		f |= COMPARE_BIT(COMPARE_BIMODAL);
	if (a->n_outliers || b->n_outliers)
		f |= COMPARE_BIT(COMPARE_OUTLIERS);
	if (spread_differs(w, row, p))
		f |= COMPARE_BIT(COMPARE_SPREAD);
	p->flags = f;
	set_blocked(p);
}
