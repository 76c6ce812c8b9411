/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "compare/internal.h"
#include "model/metric.h"

/* Same name of the result, whatever else may differ. */
static bool same_name(const struct compare_row *a, const struct compare_row *b)
{
	return !strcmp(a->workload, b->workload) && !strcmp(a->params, b->params) &&
	       !strcmp(a->part, b->part) && !strcmp(a->metric.name, b->metric.name);
}

static json_t *context_parse(const char *text)
{
	json_t *j = NULL;

	if (text && json_parse(text, strlen(text), "context", &j, NULL) < 0)
		return NULL;
	return j;
}

static char *value_of(struct arena *a, const json_t *context, const char *key)
{
	const json_t *j = json_object_get(context, key);
	char *line, *s;

	if (!j)
		return NULL;
	if (json_is_string(j))
		return arena_strdup(a, json_string_value(j));
	line = json_line(j);
	s = arena_strdup(a, line);
	mem_free_ptr(&line);
	return s;
}

/* Lists the keys of the base's and a new kernel's context that differ, and adds each. */
static void compare_contexts(struct compare_work *w, unsigned kernel, const char *a, const char *b,
			     struct str *names)
{
	json_t *x CLEANUP_JSON = context_parse(a);
	json_t *y CLEANUP_JSON = context_parse(b);
	struct arena scratch = ARENA_INIT;
	const json_t *objects[2] = { x, y };
	const char *key;
	json_t *value;
	int side;

	for (side = 0; side < 2; side++) {
		json_object_foreach ((json_t *)(uintptr_t)objects[side], key, value) {
			char *v, *u;

			/* A key of both was seen with the first. */
			if (side && json_object_get(x, key))
				continue;
			v = value_of(&scratch, x, key);
			u = value_of(&scratch, y, key);
			if (str_eq(v, u))
				continue;
			str_printf(names, "%s%s", names->len ? ", " : "", key);
			if (kernel)
				compare_add_difference(w, COMPARE_DIFF_CONTEXT, kernel, key, v, u);
		}
	}
	if (!names->len)
		str_add(names, "unknown on one side");
	arena_done(&scratch);
}

/* Why row `a` (which the kernel has no value in) and its own row `b` are not one. */
static const char *explain_pair(struct compare_work *w, const struct compare_row *a,
				const struct compare_row *b, unsigned kernel)
{
	struct arena *arena = &w->c->arena;
	const char *label = w->c->kernels[kernel].label;
	struct str names = STR_INIT;
	unsigned new = 0;
	const char *why;

	if (strcmp(a->class, b->class) != 0)
		return arena_printf(arena, "class %s, in %s %s", a->class, label, b->class);
	if (a->workload_version != b->workload_version)
		return arena_printf(arena, "workload version %u, in %s %u", a->workload_version,
				    label, b->workload_version);
	if (a->metric.unit != b->metric.unit || !str_eq(a->metric.per, b->metric.per) ||
	    a->metric.better != b->metric.better || a->metric.kind != b->metric.kind)
		return arena_printf(arena, "the metric is declared otherwise in %s", label);
	/* Where neither is the base's, the keys are named and no more. */
	if (!kernel)
		for (new = 1; new + 1 < w->c->n_kernels && !a->values[new].boots; new ++)
			;
	else if (a->values[0].boots)
		new = kernel;
	if (kernel)
		compare_contexts(w, new, a->context, b->context, &names);
	else
		compare_contexts(w, new, b->context, a->context, &names);
	why = arena_printf(arena, "the context differs in %s: %s", label, str_get(&names));
	str_done(&names);
	return why;
}

/* Did the runner refuse histograms of this workload? */
static bool was_refused(const struct compare_work *w, const struct compare_row *r, unsigned kernel)
{
	const struct dataset *d = w->d;
	size_t i;

	for (i = 0; i < d->n_invocations && r->metric.from == METRIC_FROM_QUANTILE; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (compare_uses_boot(w, v->boot) &&
		    w->kernel_of[d->boots[v->boot].kernel] == (int)kernel &&
		    !strcmp(v->workload, r->workload) && !strcmp(v->params, r->params) &&
		    dataset_usage_of(v, "refused_count", 0) > 0)
			return true;
	}
	return false;
}

/* Is there any result of this workload? */
static bool was_measured(const struct compare_work *w, const struct compare_row *r, unsigned kernel)
{
	const struct dataset *d = w->d;
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (compare_uses_boot(w, v->boot) &&
		    w->kernel_of[d->boots[v->boot].kernel] == (int)kernel && v->state == DS_OK &&
		    str_eq(v->class, r->class) && !strcmp(v->workload, r->workload) &&
		    !strcmp(v->params ? v->params : "", r->params))
			return true;
	}
	return false;
}

static const char *explain_missing(const struct compare_work *w, const struct compare_row *r,
				   unsigned kernel)
{
	const struct comparison *c = w->c;
	const struct compare_failure *skip = NULL;
	size_t i;

	for (i = 0; i < c->n_failures; i++) {
		const struct compare_failure *f = &c->failures[i];

		if (f->kernel != kernel || !f->workload || strcmp(f->workload, r->workload) != 0 ||
		    strcmp(f->params, r->params) != 0)
			continue;
		if (!f->skip)
			return arena_printf(&w->c->arena, "failed: %s", f->reason);
		skip = f;
	}
	if (skip)
		return arena_printf(&w->c->arena, "skipped: %s", skip->reason);
	if (was_refused(w, r, kernel))
		return "refused: hardly longer than reading the clock takes";
	if (r->exact && was_measured(w, r, kernel))
		return compare_exact_is_typical(&r->metric)
			       ? "no batch is without an interrupt"
			       : "its kernel's symbols tell no contexts apart";
	if (!c->kernels[kernel].boots && c->kernels[kernel].failed)
		return "all its boots failed";
	return "not measured";
}

static void add_unmatched(struct compare_work *w, size_t row, unsigned kernel)
{
	struct comparison *c = w->c;
	struct compare_unmatched *u;
	size_t i;

	c->unmatched =
		arena_grow(&c->arena, c->unmatched, c->n_unmatched, &w->cap_unmatched, sizeof(*u));
	u = &c->unmatched[c->n_unmatched++];
	u->row = row;
	u->kernel = kernel;
	u->other_row = -1;
	for (i = 0; i < c->n_rows && u->other_row < 0; i++)
		if (i != row && same_name(&c->rows[i], &c->rows[row]) &&
		    c->rows[i].values[kernel].boots)
			u->other_row = (long)i;
	for (i = 0; i + 1 < c->n_unmatched && u->other_row >= 0; i++)
		u->mirrored |= c->unmatched[i].row == (size_t)u->other_row &&
			       c->unmatched[i].other_row == (long)row;
	w->c->summary.unmatched += !u->mirrored;
	if (u->other_row >= 0)
		u->why = explain_pair(w, &c->rows[row], &c->rows[u->other_row], kernel);
	else
		u->why = explain_missing(w, &c->rows[row], kernel);
}

void compare_unmatched(struct compare_work *w)
{
	struct comparison *c = w->c;
	size_t i;
	unsigned k;

	for (i = 0; i < c->n_rows && c->n_kernels > 1; i++)
		for (k = 0; k < c->n_kernels; k++)
			if (!c->rows[i].values[k].boots)
				add_unmatched(w, i, k);
}
