/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "compare/internal.h"
#include "profile/profile.h"

#define TOP_SHARE 0.01 /* of the largest: what moved less is not worth a word beside it */

/* Its place among exact_metrics; EXACT_METRICS: none of them. */
static enum exact_metric place_of(const struct metric *m)
{
	unsigned i;

	for (i = 0; i < EXACT_METRICS && strcmp(exact_metrics[i].name, m->name) != 0; i++)
		;
	return i;
}

bool compare_exact_is_default(const struct metric *m)
{
	enum exact_metric place = place_of(m);

	return place == EXACT_INSTRUCTIONS || place == EXACT_TOTAL;
}

bool compare_exact_is_typical(const struct metric *m)
{
	return place_of(m) < EXACT_TOTAL;
}

static int run_cmp(const void *a, const void *b)
{
	const struct compare_run *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	return x->invocation < y->invocation ? -1 : x->invocation > y->invocation;
}

static bool same_run(const struct compare_run *a, const struct compare_run *b)
{
	return a->index == b->index && a->seed == b->seed;
}

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double mean_of(const double *v, size_t n)
{
	double m = 0;
	size_t i;

	for (i = 0; i < n; i++)
		m += (v[i] - m) / (double)(i + 1);
	return m;
}

/* All invocations of one kernel in this row; then each perturbation once. */
static void collect_runs(struct compare_work *w, size_t row, unsigned kernel,
			 struct compare_runs *ret)
{
	const struct ds_series *s = w->series[row];
	const struct dataset *d = w->d;
	size_t i;

	ret->list = arena_array(&w->c->arena, s->n + 1, sizeof(*ret->list));
	ret->contexts = true;
	for (i = 0; i < s->n; i++) {
		const struct ds_point *p = &s->points[i];
		const struct ds_invocation *v = &d->invocations[p->invocation];
		const struct ds_boot *b = &d->boots[p->boot];
		struct compare_run *r;

		if (!p->n || !compare_uses_boot(w, p->boot) ||
		    w->kernel_of[b->kernel] != (int)kernel)
			continue;
		r = &ret->list[ret->n++];
		r->index = v->has_perturb ? v->perturb : 0;
		r->seed = r->index ? d->experiments[b->experiment].seed : 0;
		r->invocation = p->invocation;
		r->value = mean_of(p->values, p->n);
		ret->contexts &= !v->windows || v->windows->contexts;
	}
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), run_cmp);
}

/* Leaves the first of each perturbation; the others must have said the same. */
static void merge_runs(struct compare_runs *runs, struct compare_exact *x)
{
	bool differs = false;
	size_t i, n = 0;

	x->lo = INFINITY;
	x->hi = -INFINITY;
	for (i = 0; i < runs->n; i++) {
		const struct compare_run *r = &runs->list[i];

		x->lo = fmin(x->lo, r->value);
		x->hi = fmax(x->hi, r->value);
		if (!n || !same_run(&runs->list[n - 1], r)) {
			runs->list[n++] = *r;
			differs = false;
		} else if (runs->list[n - 1].value < r->value ||
			   runs->list[n - 1].value > r->value) {
			x->unrepeated += !differs;
			differs = true;
		}
	}
	runs->n = n;
}

static unsigned count_boots(const struct compare_work *w, size_t row, unsigned kernel)
{
	const struct ds_series *s = w->series[row];
	CLEANUP_FREE bool *seen = mem_array(w->d->n_boots + 1, sizeof(*seen));
	unsigned n = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		unsigned boot = s->points[i].boot;

		if (!s->points[i].n || !compare_uses_boot(w, boot) ||
		    w->kernel_of[w->d->boots[boot].kernel] != (int)kernel)
			continue;
		n += !seen[boot];
		seen[boot] = true;
	}
	return n;
}

/* Windows and profiles are of an invocation: where it has several parts they are of no one row. */
static bool has_parts(const struct compare_work *w, size_t row)
{
	const struct ds_series *s = w->series[row];
	size_t i;

	for (i = 0; i < w->d->n_series; i++) {
		const struct ds_series *o = &w->d->series[i];

		if (!str_eq(o->part, s->part) && str_eq(o->workload, s->workload) &&
		    str_eq(o->params, s->params) && str_eq(o->class, s->class) &&
		    str_eq(o->context, s->context) && o->workload_version == s->workload_version)
			return true;
	}
	return false;
}

static void reduce_kernel(struct compare_work *w, size_t row, unsigned kernel)
{
	struct arena *a = &w->c->arena;
	struct compare_value *v = &w->c->rows[row].values[kernel];
	struct compare_runs *runs = &w->runs[row][kernel];
	struct compare_exact *x;
	CLEANUP_FREE const struct exact_windows **windows = NULL;
	CLEANUP_FREE double *sorted = NULL;
	unsigned *index;
	double *values;
	size_t i;

	v->mean = v->cv_boot = v->cv_invocation = v->cv_sample = v->overhead = NAN;
	collect_runs(w, row, kernel, runs);
	if (!runs->n)
		return;
	x = arena_alloc(a, sizeof(*x));
	v->exact = x;
	v->boots = count_boots(w, row, kernel);
	v->samples = (unsigned)runs->n;
	merge_runs(runs, x);
	x->n = (unsigned)runs->n;
	index = arena_array(a, runs->n, sizeof(*index));
	values = arena_array(a, runs->n, sizeof(*values));
	windows = mem_array(runs->n, sizeof(const struct exact_windows *));
	sorted = mem_array(runs->n, sizeof(*sorted));
	for (i = 0; i < runs->n; i++) {
		index[i] = runs->list[i].index;
		sorted[i] = values[i] = runs->list[i].value;
		windows[i] = w->d->invocations[runs->list[i].invocation].windows;
	}
	x->index = index;
	x->values = values;
	/* In the order of their size: equal sets have equal means, to the last digit. */
	qsort(sorted, runs->n, sizeof(*sorted), double_cmp);
	v->mean = sorted[0] < sorted[runs->n - 1] ? mean_of(sorted, runs->n) : sorted[0];
	if (!has_parts(w, row))
		x->modes = compare_regimes(a, windows, runs->n, &x->mode);
}

void compare_exact_reduce(struct compare_work *w, size_t row)
{
	struct compare_row *r = &w->c->rows[row];
	unsigned k;

	r->values = arena_array(&w->c->arena, w->c->n_kernels, sizeof(*r->values));
	w->runs[row] = arena_array(&w->c->arena, w->c->n_kernels, sizeof(struct compare_runs));
	for (k = 0; k < w->c->n_kernels; k++)
		reduce_kernel(w, row, k);
}

/* The values sorted; where `other` is given only those of perturbations that both have. */
static double *sorted_values(const struct compare_runs *runs, const struct compare_runs *other,
			     size_t *ret_n)
{
	double *v = mem_array(runs->n + 1, sizeof(*v));
	size_t i, k, n = 0;

	for (i = 0; i < runs->n; i++) {
		for (k = 0; other && k < other->n && !same_run(&runs->list[i], &other->list[k]);
		     k++)
			;
		if (!other || k < other->n)
			v[n++] = runs->list[i].value;
	}
	qsort(v, n, sizeof(*v), double_cmp);
	*ret_n = n;
	return v;
}

/* Digit for digit. Where one side has fewer, by what both have. */
static bool is_same(const struct compare_runs *a, const struct compare_runs *b)
{
	bool all = a->n == b->n;
	size_t n, m, i;
	CLEANUP_FREE double *x = sorted_values(a, all ? NULL : b, &n);
	CLEANUP_FREE double *y = sorted_values(b, all ? NULL : a, &m);

	for (i = 0; i < n && i < m; i++)
		if (x[i] < y[i] || x[i] > y[i])
			return false;
	return n == m && n;
}

static enum verdict word_of(const struct compare_exact *a, const struct compare_exact *b, bool same)
{
	if (same)
		return VERDICT_SAME;
	if (b->lo > a->hi)
		return VERDICT_MORE;
	if (b->hi < a->lo)
		return VERDICT_FEWER;
	return VERDICT_WITHIN;
}

/* Two sets of one distribution do not overlap: two of the ways to part all their values. */
static double chance_of(unsigned a, unsigned b)
{
	double ways = 1;
	unsigned i;

	for (i = 1; i <= a; i++)
		ways *= (double)(b + i) / i;
	return 2 / ways;
}

static bool is_real(const struct profile_delta *d)
{
	return d->mark == PROFILE_MORE || d->mark == PROFILE_FEWER;
}

static void add_top(struct compare_work *w, size_t row, struct compare_pair *p)
{
	const struct compare_row *r = &w->c->rows[row];
	const struct compare_runs *sides[2] = { &w->runs[row][p->base], &w->runs[row][p->new] };
	const struct exact_profile **list[2] = { NULL, NULL };
	enum exact_metric place = place_of(&r->metric);
	struct profile_delta top[COMPARE_TOP];
	struct arena scratch = ARENA_INIT;
	unsigned n, i, real = 0;
	double most = 0;
	size_t count[2] = { 0, 0 }, k;

	if ((place != EXACT_INSTRUCTIONS && place != EXACT_TOTAL) || has_parts(w, row))
		return;
	for (i = 0; i < 2; i++) {
		list[i] = arena_array(&scratch, sides[i]->n + 1, sizeof(*list[i]));
		for (k = 0; k < sides[i]->n; k++) {
			unsigned number = sides[i]->list[k].invocation;

			if (w->d->invocations[number].profile)
				list[i][count[i]++] = w->d->invocations[number].profile;
		}
	}
	n = profile_top(list[0], count[0], list[1], count[1],
			place == EXACT_TOTAL ? PROFILE_TOTAL : PROFILE_TYPICAL, &scratch, top,
			COMPARE_TOP);
	for (i = 0; i < n; i++) {
		real += is_real(&top[i]);
		most = fmax(most, fabs(top[i].diff));
	}
	/* What perturbations move by themselves explains nothing where something else does. */
	for (i = 0; i < n; i++) {
		if ((real && !is_real(&top[i])) || fabs(top[i].diff) < TOP_SHARE * most)
			continue;
		p->top[p->n_top].name = arena_strdup(&w->c->arena, top[i].name);
		p->top[p->n_top++].diff = top[i].diff;
	}
	arena_done(&scratch);
}

static void count_word(struct compare_summary *s, enum verdict word)
{
	s->more += word == VERDICT_MORE;
	s->fewer += word == VERDICT_FEWER;
	s->same += word == VERDICT_SAME;
	s->within += word == VERDICT_WITHIN;
	s->exact_none += word == VERDICT_NONE;
}

static void judge_pair(struct compare_work *w, size_t row, struct compare_pair *p)
{
	const struct compare_row *r = &w->c->rows[row];
	const struct compare_value *va = &r->values[p->base], *vb = &r->values[p->new];
	const struct compare_exact *a = va->exact, *b = vb->exact;
	bool same = is_same(&w->runs[row][p->base], &w->runs[row][p->new]);
	/* A set that is the same says so, however few there are and whatever they consist of. */
	unsigned spared = COMPARE_BIT(COMPARE_FEW) | COMPARE_BIT(COMPARE_REGIMES);
	unsigned explained = COMPARE_BIT(COMPARE_FEW) | COMPARE_BIT(COMPARE_FAILED);
	enum verdict word = word_of(a, b, same);

	p->exact = !(a->lo < a->hi) && !(b->lo < b->hi);
	p->diff = p->d = same ? 0 : vb->mean - va->mean;
	p->ratio = same ? 1 : va->mean > 0 ? vb->mean / va->mean : NAN;
	compare_exact_flags(w, row, p);
	if (same)
		p->blocked &= ~spared;
	if (r->judged && !p->blocked)
		p->verdict = word;
	/* Not of what is no one number, nor where QEMU's slices decide. */
	if ((word == VERDICT_MORE || word == VERDICT_FEWER) && !(p->blocked & ~explained))
		add_top(w, row, p);
	w->c->flags |= p->flags;
	if (!r->judged)
		return;
	count_word(&w->c->summary, p->verdict);
	if (p->verdict != VERDICT_NONE && p->verdict != VERDICT_SAME)
		w->c->summary.exact_chance += chance_of(a->n, b->n);
}

void compare_exact_judge(struct compare_work *w, size_t row)
{
	struct comparison *c = w->c;
	struct compare_row *r = &c->rows[row];
	unsigned k;

	r->pairs = arena_array(&c->arena, c->n_kernels, sizeof(*r->pairs));
	for (k = 1; k < c->n_kernels && r->values[0].boots; k++) {
		struct compare_pair *p = &r->pairs[r->n_pairs];

		if (!r->values[k].boots)
			continue;
		*p = compare_empty_pair;
		p->new = k;
		p->fisher_p = compare_failed_p(c, r, 0, k);
		judge_pair(w, row, p);
		r->n_pairs++;
	}
}

/* ---- what stands beside the numbers ---- */

static const char *const prefix = "vulnerability.";

/* "spectre_v2 Retpolines; mds Vulnerable": without what does not affect this CPU, and details. */
static void add_mitigations(const struct ds_fact *facts, size_t n, struct str *out, bool *ret_known)
{
	size_t i, len, skip;

	for (i = 0; i < n; i++) {
		const struct ds_fact *f = &facts[i];

		if (f->when != FACT_BEFORE || !str_starts(f->name, prefix) || !f->value)
			continue;
		*ret_known = true;
		if (str_starts(f->value, "Not affected"))
			continue;
		skip = str_starts(f->value, "Mitigation: ") ? strlen("Mitigation: ") : 0;
		len = strcspn(f->value + skip, ",;");
		str_printf(out, "%s%s %.*s", out->len ? "; " : "", f->name + strlen(prefix),
			   (int)len, f->value + skip);
	}
}

void compare_exact_mitigations(struct compare_work *w)
{
	struct comparison *c = w->c;
	size_t i;

	for (i = 0; i < w->d->n_boots; i++) {
		const struct ds_boot *b = &w->d->boots[i];
		struct compare_kernel *k;
		struct str text = STR_INIT;
		bool known = false;

		if (!compare_uses_boot(w, (unsigned)i))
			continue;
		k = &c->kernels[w->kernel_of[b->kernel]];
		if (!k->mitigations)
			add_mitigations(b->facts, b->n_facts, &text, &known);
		if (known)
			k->mitigations =
				arena_strdup(&c->arena, text.len ? str_get(&text) : "none");
		str_done(&text);
	}
}

const char *compare_exact_scope(struct comparison *c)
{
	struct str machines = STR_INIT, one = STR_INIT;
	const char *ret = NULL;
	size_t i, n = 0;

	for (i = 0; i < c->n_rows; i++) {
		const char *text = c->rows[i].context, *qemu;
		json_t *j CLEANUP_JSON = NULL;

		if (!c->rows[i].exact)
			continue;
		n++;
		if (text && json_parse(text, strlen(text), "context", &j, NULL) < 0)
			j = NULL;
		qemu = json_opt_str(j, "qemu", "unknown");
		str_reset(&one);
		/* Without the package behind it. */
		str_printf(&one, "QEMU %.*s, CPU %s", (int)strcspn(qemu, " "), qemu,
			   json_opt_str(j, "cpu", "unknown"));
		if (!machines.len || !strstr(str_get(&machines), str_get(&one)))
			str_printf(&machines, "%s%s", machines.len ? " or " : "", str_get(&one));
	}
	if (n)
		ret = arena_printf(&c->arena,
				   "exact: instructions executed under %s; not time: caches, TLBs, "
				   "contention and NUMA are not seen.",
				   str_get(&machines));
	str_done(&machines);
	str_done(&one);
	return ret;
}
