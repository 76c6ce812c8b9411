/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/unit.h"
#include "render/internal.h"

/* Ten digits: what is behind them is the machine's rounding, and differs between compilers. */
static json_t *num(double v)
{
	char buf[40];

	if (!isfinite(v))
		return json_null();
	snprintf(buf, sizeof(buf), "%.10g", v);
	if (unit_parse_double(buf, &v, NULL))
		return json_null();
	return json_num(v);
}

static void put(json_t *o, const char *key, json_t *v)
{
	json_object_set_new(o, key, v);
}

static json_t *flags_json(unsigned bits)
{
	json_t *j = json_array();
	unsigned i;

	for (i = 0; i < COMPARE_FLAGS; i++)
		if (bits & COMPARE_BIT(i))
			json_array_append_new(j, json_str(compare_flag_name(i)));
	return j;
}

static json_t *interval(double lo, double hi)
{
	if (!isfinite(lo) || !isfinite(hi))
		return json_null();
	return json_pack("[o,o]", num(lo), num(hi));
}

static json_t *kernel_json(const struct comparison *c, unsigned k)
{
	const struct compare_kernel *n = &c->kernels[k];
	json_t *j = json_object();

	put(j, "label", json_str(n->label));
	put(j, "release", json_str(n->release));
	put(j, "version", json_str(n->version));
	put(j, "build_id", json_str(n->build_id));
	put(j, "cmdline", json_str(n->cmdline));
	put(j, "config_hash", json_str(n->config_hash));
	put(j, "config_known", json_boolean(c->config_known[k]));
	put(j, "source", json_str(n->source));
	put(j, "boots", json_u64(n->boots));
	put(j, "failed", json_u64(n->failed));
	put(j, "same_as_base", json_boolean(n->same_as_base));
	if (n->mitigations)
		put(j, "mitigations", json_str(n->mitigations));
	return j;
}

/* What a value of an exact row has more. Digits are what it is about: none is cut off. */
static void put_exact(json_t *j, const struct compare_exact *x)
{
	json_t *list = json_array(), *o;
	unsigned i;

	put(j, "perturbations", json_u64(x->n));
	put(j, "lo", json_num(x->lo));
	put(j, "hi", json_num(x->hi));
	for (i = 0; i < x->n; i++)
		json_array_append_new(
			list, json_pack("[o,o]", json_u64(x->index[i]), json_num(x->values[i])));
	put(j, "by_perturbation", list);
	put(j, "unrepeated", json_u64(x->unrepeated));
	list = json_array();
	for (i = 0; i < x->modes; i++) {
		o = json_object();
		put(o, "instructions", json_num(x->mode[i].instructions));
		put(o, "switches", num(x->mode[i].switches));
		put(o, "share", num(x->mode[i].share));
		put(o, "perturbations", json_u64(x->mode[i].perturbations));
		json_array_append_new(list, o);
	}
	put(j, "regimes", list);
}

static json_t *top_json(const struct compare_pair *p)
{
	json_t *list = json_array(), *o;
	unsigned i;

	for (i = 0; i < p->n_top; i++) {
		o = json_object();
		put(o, "symbol", json_str(p->top[i].name));
		put(o, "diff", num(p->top[i].diff));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *value_json(const struct compare_value *v)
{
	json_t *j, *list;
	unsigned i;

	if (!v->boots)
		return json_null();
	j = json_object();
	put(j, "boots", json_u64(v->boots));
	put(j, "mean", num(v->mean));
	put(j, "cv_boot", num(v->cv_boot));
	put(j, "cv_invocation", num(v->cv_invocation));
	put(j, "cv_sample", num(v->cv_sample));
	put(j, "samples", v->samples ? json_u64(v->samples) : json_null());
	put(j, "below_resolution", json_u64(v->below));
	put(j, "overhead", num(v->overhead));
	put(j, "bimodal", json_boolean(v->bimodal));
	list = json_array();
	for (i = 0; i < v->n_outliers; i++)
		json_array_append_new(list, json_u64(v->outliers[i]));
	put(j, "outlier_boots", list);
	if (v->exact)
		put_exact(j, v->exact);
	return j;
}

static json_t *pair_json(const struct comparison *c, const struct compare_row *r,
			 const struct compare_pair *p)
{
	json_t *j = json_object();
	bool over = p->boots_needed > VERDICT_BUDGET;

	put(j, "base", json_str(c->kernels[p->base].label));
	put(j, "new", json_str(c->kernels[p->new].label));
	put(j, "ratio", num(p->ratio));
	put(j, "ci", interval(p->lo, p->hi));
	put(j, "diff", num(p->diff));
	put(j, "diff_ci", interval(p->diff_lo, p->diff_hi));
	put(j, "exact", json_boolean(p->exact));
	put(j, "level", num(p->level));
	put(j, "p", num(p->p));
	put(j, "p_adjusted", num(p->p_adjusted));
	put(j, "verdict", json_str(verdict_word(p->verdict)));
	put(j, "beyond_margin", json_boolean(p->beyond_margin));
	put(j, "small_real_shift", json_boolean(p->small_real_shift));
	put(j, "held_back", json_boolean(p->held_back));
	put(j, "boots_needed", p->boots_needed && !over ? json_u64(p->boots_needed) : json_null());
	put(j, "over_budget", json_boolean(over));
	put(j, "drift", num(p->drift));
	put(j, "drift_p", num(p->drift_p));
	put(j, "failures_p", num(p->fisher_p));
	put(j, "flags", flags_json(p->flags));
	put(j, "blocked_by", flags_json(p->blocked));
	if (r->exact)
		put(j, "top", top_json(p));
	return j;
}

static json_t *row_json(const struct comparison *c, const struct compare_row *r)
{
	json_t *j = json_object(), *values = json_object(), *pairs = json_array();
	size_t k;

	put(j, "workload", json_str(r->workload));
	put(j, "workload_version", json_u64(r->workload_version));
	put(j, "family", json_str(r->family));
	put(j, "op", json_str(r->op));
	put(j, "params", json_str(r->params));
	put(j, "part", json_str(r->part));
	put(j, "metric", json_str(r->metric.name));
	put(j, "unit", json_str(unit_name(r->metric.unit)));
	put(j, "per", json_str(r->metric.per));
	put(j, "better", json_str(metric_better_name(r->metric.better)));
	put(j, "kind", json_str(metric_kind_name(r->metric.kind)));
	put(j, "headline", json_boolean(r->headline));
	put(j, "class", json_str(r->class));
	put(j, "context", json_u64(r->context_number));
	for (k = 0; k < c->n_kernels; k++) {
		/* A key is text; a label need not be. */
		json_t *label = json_str(c->kernels[k].label);

		put(values, json_string_value(label), value_json(&r->values[k]));
		json_decref(label);
	}
	put(j, "values", values);
	for (k = 0; k < r->n_pairs; k++)
		json_array_append_new(pairs, pair_json(c, r, &r->pairs[k]));
	put(j, "pairs", pairs);
	return j;
}

static json_t *differences_json(const struct comparison *c)
{
	json_t *list = json_array(), *j;
	size_t i;

	for (i = 0; i < c->n_differences; i++) {
		const struct compare_difference *d = &c->differences[i];
		bool changed = d->class == COMPARE_DIFF_CHANGED;

		j = json_object();
		put(j, "class", json_str(compare_diff_class_name(d->class)));
		put(j, "base", json_str(changed ? NULL : c->kernels[0].label));
		put(j, "new", json_str(c->kernels[d->kernel].label));
		put(j, "name", json_str(d->name));
		put(j, changed ? "before" : "in_base", json_str(d->base));
		put(j, changed ? "after" : "in_new", json_str(d->new));
		put(j, "count", json_u64(d->count));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *failures_json(const struct comparison *c, bool skips)
{
	json_t *list = json_array(), *j;
	size_t i;

	for (i = 0; i < c->n_failures; i++) {
		const struct compare_failure *f = &c->failures[i];

		if (f->skip != skips)
			continue;
		j = json_object();
		put(j, "kernel", json_str(c->kernels[f->kernel].label));
		put(j, "workload", json_str(f->workload));
		put(j, "params", json_str(f->params));
		put(j, "count", json_u64(f->count));
		put(j, "of", json_u64(f->total));
		put(j, "reason", json_str(f->reason));
		if (skips)
			put(j, "implied", json_boolean(f->implied));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *fisher_json(const struct comparison *c)
{
	json_t *list = json_array(), *j;
	size_t i;

	for (i = 0; i < c->n_fisher; i++) {
		const struct compare_fisher *f = &c->fisher[i];

		j = json_object();
		put(j, "workload", json_str(f->workload));
		put(j, "params", json_str(f->params));
		put(j, "base", json_str(c->kernels[f->base].label));
		put(j, "new", json_str(c->kernels[f->new].label));
		put(j, "base_failed", json_u64(f->base_failed));
		put(j, "base_good", json_u64(f->base_good));
		put(j, "new_failed", json_u64(f->new_failed));
		put(j, "new_good", json_u64(f->new_good));
		put(j, "p", num(f->p));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *unmatched_json(const struct comparison *c)
{
	json_t *list = json_array(), *j;
	size_t i;

	for (i = 0; i < c->n_unmatched; i++) {
		j = json_object();
		put(j, "row", json_u64(c->unmatched[i].row));
		put(j, "kernel", json_str(c->kernels[c->unmatched[i].kernel].label));
		put(j, "why", json_str(c->unmatched[i].why));
		put(j, "mirrored", json_boolean(c->unmatched[i].mirrored));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *experiments_json(const struct comparison *c)
{
	json_t *list = json_array(), *j;
	size_t i;

	for (i = 0; i < c->n_experiments; i++) {
		const struct compare_experiment *x = &c->experiments[i];

		j = json_object();
		put(j, "id", json_str(x->id));
		put(j, "name", json_str(x->name));
		put(j, "subject", json_str(x->subject));
		put(j, "seed", x->blocks || x->exact ? json_u64(x->seed) : json_null());
		put(j, "blocks", x->blocks ? json_u64(x->blocks) : json_null());
		put(j, "reproduce", json_str(x->reproduce));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *exact_json(const struct comparison *c)
{
	const struct compare_summary *s = &c->summary;
	json_t *j = json_object();

	put(j, "more", json_u64(s->more));
	put(j, "fewer", json_u64(s->fewer));
	put(j, "same", json_u64(s->same));
	put(j, "within_perturbation", json_u64(s->within));
	put(j, "no_word", json_u64(s->exact_none));
	put(j, "differ_by_chance", num(s->exact_chance));
	return j;
}

static json_t *summary_json(const struct comparison *c)
{
	const struct compare_summary *s = &c->summary;
	json_t *j = json_object(), *scope = json_array();
	size_t i;

	put(j, "worse", json_u64(s->worse));
	put(j, "better", json_u64(s->better));
	put(j, "no_change", json_u64(s->no_change));
	put(j, "cant_tell", json_u64(s->cant_tell));
	put(j, "no_verdict", json_u64(s->none));
	put(j, "worse_beyond_margin", json_u64(s->worse_beyond));
	put(j, "better_beyond_margin", json_u64(s->better_beyond));
	put(j, "confounded", json_u64(s->confounded));
	put(j, "unmatched", json_u64(s->unmatched));
	put(j, "tested", json_u64(s->tested));
	put(j, "tested_headline", json_u64(s->tested_headline));
	put(j, "differ_unadjusted", json_u64(s->p_below));
	put(j, "differ_by_chance", num(s->chance));
	if (has_exact(c))
		put(j, "exact", exact_json(c));
	put(j, "margin", num(c->margin));
	put(j, "level", num(c->level));
	for (i = 0; i < ARRAY_SIZE(c->scope) && c->scope[i]; i++)
		json_array_append_new(scope, json_str(c->scope[i]));
	put(j, "scope", scope);
	put(j, "flags", flags_json(c->flags));
	return j;
}

void render_json(const struct comparison *c, struct str *out)
{
	json_t *j CLEANUP_JSON = json_object();
	json_t *kernels = json_array(), *rows = json_array(), *contexts = json_array();
	CLEANUP_FREE char *text = NULL;
	size_t i;

	for (i = 0; i < c->n_kernels; i++)
		json_array_append_new(kernels, kernel_json(c, (unsigned)i));
	for (i = 0; i < c->n_rows; i++)
		json_array_append_new(rows, row_json(c, &c->rows[i]));
	for (i = 0; i < c->n_contexts; i++)
		json_array_append_new(contexts, json_str(c->contexts[i]));
	put(j, "format", json_str("kdelta-compare"));
	put(j, "version", json_u64(1));
	put(j, "kernels", kernels);
	put(j, "experiments", experiments_json(c));
	put(j, "differences", differences_json(c));
	put(j, "contexts", contexts);
	put(j, "rows", rows);
	put(j, "unmatched", unmatched_json(c));
	put(j, "failures", failures_json(c, false));
	put(j, "skips", failures_json(c, true));
	put(j, "failure_tests", fisher_json(c));
	put(j, "summary", summary_json(c));
	text = json_pretty(j);
	str_add(out, text);
}
