/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "profile/profile.h"

/* A metric is a double in a record: the sum of a profile agrees to so much of it. */
#define AGREES 1e-9

/* ---- what a SPEC asks for ---- */

/* The end of one item; what stands in quotes does not end it. */
static size_t item_len(const char *s, char stop)
{
	bool quoted = false;
	size_t i;

	for (i = 0; s[i] && (quoted || s[i] != stop); i++) {
		if (quoted && s[i] == '\\' && s[i + 1])
			i++;
		else if (s[i] == '"')
			quoted = !quoted;
	}
	return i;
}

static bool same_value(const char *a, size_t n, const char *b, size_t m)
{
	CLEANUP_FREE char *x = mem_strndup(a, n), *y = mem_strndup(b, m);
	uint64_t u, v;

	return !strcmp(x, y) ||
	       (!unit_parse_bytes(x, &u, NULL) && !unit_parse_bytes(y, &v, NULL) && u == v) ||
	       (!unit_parse_time_ns(x, &u, NULL) && !unit_parse_time_ns(y, &v, NULL) && u == v);
}

/* `want`: NAME=VALUE[+VALUE...], n long. */
static bool has_param(const char *params, const char *want, size_t n)
{
	size_t name = strcspn(want, "=") + 1, len, at, v;

	for (; *params; params += len + (params[len] == ',')) {
		len = item_len(params, ',');
		if (name > n || len < name || strncmp(params, want, name) != 0)
			continue;
		for (at = name; at <= n; at += v + 1) {
			v = item_len(want + at, '+');
			v = v < n - at ? v : n - at;
			if (same_value(params + name, len - name, want + at, v))
				return true;
		}
	}
	return false;
}

bool profile_matches(const char *spec, const char *workload, const char *params)
{
	size_t n = strcspn(spec, ":");

	if (strlen(workload) != n || strncmp(spec, workload, n) != 0)
		return false;
	for (spec += n + (spec[n] == ':'); *spec; spec += n + (spec[n] == ',')) {
		n = item_len(spec, ',');
		if (!has_param(params ? params : "", spec, n))
			return false;
	}
	return true;
}

static bool wanted(const char *const *specs, const struct ds_invocation *v)
{
	if (!specs)
		return true;
	for (; *specs; specs++)
		if (profile_matches(*specs, v->workload, v->params))
			return true;
	return false;
}

/* ---- does a profile hold together? ---- */

static int disagree(struct error *e, const struct ds_invocation *v, const char *what)
{
	return error_set(e, EBADMSG,
			 "%s%s%s, invocation %s: its profile does not agree with its %s",
			 v->workload, v->params && *v->params ? ":" : "",
			 v->params ? v->params : "", v->id ? v->id : "?", what);
}

/* Adds, and says whether that went over. */
static bool add(uint64_t *sum, uint64_t v)
{
	return !__builtin_add_overflow(*sum, v, sum);
}

static int check_windows(const struct ds_invocation *v, struct error *e)
{
	uint64_t count[EXACT_IN] = { 0 }, ops[EXACT_IN] = { 0 }, sum[EXACT_IN] = { 0 };
	uint64_t windows[EXACT_IN] = { 0 };
	const struct exact_profile *p = v->profile;
	bool fits = true;
	size_t i;
	int in;

	if (!v->windows)
		return disagree(e, v, "windows: there are none");
	for (i = 0; i < v->windows->n; i++) {
		const struct exact_window *w = &v->windows->list[i];

		if (w->overhead)
			continue;
		in = exact_window_clean(w) ? EXACT_CLEAN : EXACT_OTHER;
		fits &= add(&count[in], exact_window_sum(w)) && add(&ops[in], w->ops);
		windows[in]++;
	}
	for (i = 0; i < p->n; i++)
		for (in = 0; in < EXACT_IN; in++)
			fits &= add(&sum[in], p->symbols[i].count[in]);
	if (!fits)
		return disagree(e, v, "windows: counts above 2^64");
	for (in = 0; in < EXACT_IN; in++)
		if (count[in] != sum[in] || ops[in] != p->ops[in] || windows[in] != p->windows[in])
			return disagree(e, v, "windows");
	return 0;
}

/* The mean of an invocation's values of a metric; NaN: there is none, or several parts. */
static double metric_of(const struct dataset *d, unsigned invocation, const char *name)
{
	double ret = NAN;
	size_t i, k, n;

	for (i = 0; i < d->n_series; i++) {
		const struct ds_series *s = &d->series[i];

		if (strcmp(s->metric.name, name) != 0)
			continue;
		for (k = 0; k < s->n; k++) {
			const struct ds_point *t = &s->points[k];
			double sum = 0;

			if (t->invocation != invocation || !t->n)
				continue;
			if (!isnan(ret))
				return NAN;
			for (n = 0; n < t->n; n++)
				sum += t->values[n];
			ret = sum / (double)t->n;
		}
	}
	return ret;
}

static int check_metric(const struct dataset *d, unsigned invocation, const char *name,
			enum profile_windows windows, struct error *e)
{
	const struct ds_invocation *v = &d->invocations[invocation];
	double metric = metric_of(d, invocation, name), sum = 0, ops;
	const struct exact_profile *p = v->profile;
	bool all = windows == PROFILE_TOTAL;
	size_t i;

	ops = (double)p->ops[EXACT_CLEAN] + (all ? (double)p->ops[EXACT_OTHER] : 0);
	if (isnan(metric) || !(ops > 0))
		return 0;
	for (i = 0; i < p->n; i++)
		sum += (double)p->symbols[i].count[EXACT_CLEAN] +
		       (all ? (double)p->symbols[i].count[EXACT_OTHER] : 0);
	if (fabs(sum / ops - metric) > AGREES * fmax(1, fabs(metric)))
		return disagree(e, v, name);
	return 0;
}

static int check(const struct dataset *d, unsigned invocation, struct error *e)
{
	int r = check_windows(&d->invocations[invocation], e);

	if (!r)
		r = check_metric(d, invocation, "instructions", PROFILE_TYPICAL, e);
	return r ? r : check_metric(d, invocation, "total", PROFILE_TOTAL, e);
}

/* ---- points ---- */

static unsigned cpus_of(const char *context)
{
	json_t *j CLEANUP_JSON = NULL;
	uint64_t n;

	if (!context || json_parse(context, strlen(context), "context", &j, NULL) < 0)
		return 1;
	n = json_opt_u64(j, "cpus", json_opt_u64(j, "smp", 1));
	return n && n < 1u << 16 ? (unsigned)n : 1;
}

static unsigned context_number(struct profile_points *p, const char *context)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (str_eq(p->list[i].context, context))
			return p->list[i].context_number;
	return ++p->contexts;
}

static struct profile_point *point_of(struct profile_points *p, size_t *cap,
				      const struct dataset *d, const struct ds_invocation *v)
{
	struct profile_point *n;
	size_t i;

	for (i = 0; i < p->n; i++) {
		n = &p->list[i];
		if (str_eq(n->workload, v->workload) && str_eq(n->params, v->params) &&
		    n->workload_version == v->workload_version && str_eq(n->context, v->context))
			return n;
	}
	p->list = arena_grow(&p->arena, p->list, p->n, cap, sizeof(*n));
	n = &p->list[p->n];
	memset(n, 0, sizeof(*n));
	n->context_number = context_number(p, v->context);
	n->workload = v->workload;
	n->params = v->params;
	n->op = v->op;
	n->context = v->context;
	n->workload_version = v->workload_version;
	n->cpus = cpus_of(v->context);
	n->sets = arena_array(&p->arena, d->n_kernels + 1, sizeof(*n->sets));
	p->n++;
	return n;
}

static bool has_profile(const struct dataset *d, const struct ds_invocation *v)
{
	return v->profile && v->state == DS_OK && str_eq(v->class, EXACT_CLASS) &&
	       d->boots[v->boot].state == DS_OK;
}

struct one {
	const struct exact_profile *profile;
	unsigned perturb;
	uint64_t seed; /* 3 of this seed is not 3 of another */
	size_t at;
};

static int compare_ones(const void *pa, const void *pb)
{
	const struct one *a = pa, *b = pb;

	if (a->perturb != b->perturb)
		return (a->perturb > b->perturb) - (a->perturb < b->perturb);
	if (a->seed != b->seed)
		return (a->seed > b->seed) - (a->seed < b->seed);
	return (a->at > b->at) - (a->at < b->at);
}

static struct one one_of(const struct dataset *d, const struct ds_invocation *v, size_t at)
{
	unsigned n = v->has_perturb ? v->perturb : 0;

	return (struct one){ v->profile, n,
			     n ? d->experiments[d->boots[v->boot].experiment].seed : 0, at };
}

/* By perturbation: sums of the same numbers are then the same to the last bit. */
static void fill_set(struct profile_points *p, const struct dataset *d,
		     const struct profile_point *t, unsigned kernel, struct profile_set *ret)
{
	struct one *ones = mem_array(d->n_invocations + 1, sizeof(*ones));
	const struct exact_profile **list;
	unsigned *perturb;
	size_t i, n = 0;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (has_profile(d, v) && d->boots[v->boot].kernel == kernel &&
		    str_eq(t->workload, v->workload) && str_eq(t->params, v->params) &&
		    t->workload_version == v->workload_version && str_eq(t->context, v->context))
			ones[n++] = one_of(d, v, i);
	}
	qsort(ones, n, sizeof(*ones), compare_ones);
	list = arena_array(&p->arena, n + 1, sizeof(*list));
	perturb = arena_array(&p->arena, n + 1, sizeof(*perturb));
	for (i = 0; i < n; i++) {
		list[i] = ones[i].profile;
		perturb[i] = !i ? 0
				: perturb[i - 1] + (ones[i].perturb != ones[i - 1].perturb ||
						    ones[i].seed != ones[i - 1].seed);
	}
	*ret = (struct profile_set){ list, perturb, n };
	mem_free_ptr(&ones);
}

/* Is there something for each SPEC, or anything at all? Else what to do. */
static int check_wanted(const struct dataset *d, const struct profile_points *p,
			const char *const *specs, struct error *e)
{
	struct str known = STR_INIT;
	size_t i, k;
	int r = 0;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		for (k = 0; k < i; k++)
			if (has_profile(d, &d->invocations[k]) &&
			    str_eq(d->invocations[k].workload, v->workload))
				break;
		if (k == i && has_profile(d, v))
			str_printf(&known, "%s%s", known.len ? ", " : "", v->workload);
	}
	if (!known.len)
		r = error_set(e, ENOENT,
			      "there are no exact results here: `kdelta vm --exact KERNEL...` "
			      "makes them");
	for (; !r && specs && *specs; specs++) {
		for (i = 0; i < p->n; i++)
			if (profile_matches(*specs, p->list[i].workload, p->list[i].params))
				break;
		if (i == p->n)
			r = error_set(e, ENOENT,
				      "there is no profile of the workload '%s' (there are: %s)",
				      *specs, str_get(&known));
	}
	str_done(&known);
	return r;
}

int profile_points_make(const struct dataset *d, const char *const *workloads,
			struct profile_points *ret, struct error *e)
{
	size_t cap = 0, i;
	unsigned k;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; !r && i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (!has_profile(d, v) || !wanted(workloads, v))
			continue;
		point_of(ret, &cap, d, v);
		r = check(d, (unsigned)i, e);
	}
	for (i = 0; !r && i < ret->n; i++)
		for (k = 0; k < d->n_kernels; k++)
			fill_set(ret, d, &ret->list[i], k, &ret->list[i].sets[k]);
	if (!r)
		r = check_wanted(d, ret, workloads, e);
	if (r < 0)
		profile_points_done(ret);
	return r;
}

void profile_points_done(struct profile_points *p)
{
	if (!p)
		return;
	arena_done(&p->arena);
	memset(p, 0, sizeof(*p));
}
