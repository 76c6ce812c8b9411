/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/derive.h"

#define COPY(d, p, field) ((p)->field = arena_strdup(&(d)->arena, (p)->field))

unsigned dataset_kernel(struct dataset *d, const struct ds_kernel *k)
{
	struct ds_kernel *n;

	d->kernels = arena_grow(&d->arena, d->kernels, d->n_kernels, &d->cap_kernels, sizeof(*n));
	n = &d->kernels[d->n_kernels];
	*n = *k;
	COPY(d, n, label);
	COPY(d, n, release);
	COPY(d, n, version);
	COPY(d, n, build_id);
	COPY(d, n, cmdline);
	COPY(d, n, config_hash);
	COPY(d, n, config);
	COPY(d, n, source);
	return (unsigned)d->n_kernels++;
}

unsigned dataset_experiment(struct dataset *d, const struct ds_experiment *x)
{
	struct ds_experiment *n;

	d->experiments = arena_grow(&d->arena, d->experiments, d->n_experiments,
				    &d->cap_experiments, sizeof(*n));
	n = &d->experiments[d->n_experiments];
	*n = *x;
	COPY(d, n, id);
	COPY(d, n, name);
	COPY(d, n, subject);
	COPY(d, n, reproduce);
	return (unsigned)d->n_experiments++;
}

unsigned dataset_boot(struct dataset *d, const struct ds_boot *b)
{
	struct ds_boot *n;

	d->boots = arena_grow(&d->arena, d->boots, d->n_boots, &d->cap_boots, sizeof(*n));
	n = &d->boots[d->n_boots];
	*n = *b;
	n->facts = NULL;
	n->n_facts = n->cap_facts = 0;
	COPY(d, n, id);
	COPY(d, n, boot_id);
	COPY(d, n, reason);
	return (unsigned)d->n_boots++;
}

static void add_fact(struct dataset *d, struct ds_fact **facts, size_t *n, size_t *cap,
		     const struct ds_fact *f)
{
	struct ds_fact *c;

	*facts = arena_grow(&d->arena, *facts, *n, cap, sizeof(*c));
	c = &(*facts)[(*n)++];
	*c = *f;
	COPY(d, c, name);
	COPY(d, c, value);
	COPY(d, c, why);
}

void dataset_boot_fact(struct dataset *d, unsigned boot, const struct ds_fact *f)
{
	struct ds_boot *b = &d->boots[boot];

	add_fact(d, &b->facts, &b->n_facts, &b->cap_facts, f);
}

/* The number in front of "3: idle 7.121 ms". */
static bool leading_number(const char *s, unsigned *ret)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; s[n] >= '0' && s[n] <= '9' && v <= UINT_MAX; n++)
		v = v * 10 + (uint64_t)(s[n] - '0');
	if (!n || s[n] != ':' || v > UINT_MAX)
		return false;
	*ret = (unsigned)v;
	return true;
}

void dataset_invocation_fact(struct dataset *d, unsigned invocation, const struct ds_fact *f)
{
	struct ds_invocation *v = &d->invocations[invocation];

	add_fact(d, &v->facts, &v->n_facts, &v->cap_facts, f);
	if (str_eq(v->class, EXACT_CLASS) && f->value && !strcmp(f->name, EXACT_FACT))
		v->has_perturb = leading_number(f->value, &v->perturb);
}

void dataset_usage(struct dataset *d, unsigned invocation, const char *name, double value)
{
	struct ds_invocation *v = &d->invocations[invocation];

	v->usage = arena_grow(&d->arena, v->usage, v->n_usage, &v->cap_usage, sizeof(*v->usage));
	v->usage[v->n_usage].name = arena_strdup(&d->arena, name);
	v->usage[v->n_usage++].value = value;
}

/* Each metric of a workload has its own series; parts make more of them. */
static bool same_series(const struct ds_series *s, const struct ds_invocation *v, const char *part,
			const struct metric *m)
{
	return s->workload_version == v->workload_version && str_eq(s->workload, v->workload) &&
	       str_eq(s->params, v->params) && str_eq(s->part, part) &&
	       str_eq(s->metric.name, m->name) && s->metric.unit == m->unit &&
	       str_eq(s->metric.per, m->per) && s->metric.better == m->better &&
	       s->metric.kind == m->kind && str_eq(s->class, v->class) &&
	       str_eq(s->context, v->context);
}

static struct ds_point *point_of(struct dataset *d, unsigned invocation, const char *part,
				 const struct metric *m)
{
	const struct ds_invocation *v = &d->invocations[invocation];
	struct ds_series *s = NULL;
	struct ds_point *p;
	size_t i;

	for (i = 0; i < d->n_series && !s; i++)
		if (same_series(&d->series[i], v, part, m))
			s = &d->series[i];
	if (!s) {
		d->series =
			arena_grow(&d->arena, d->series, d->n_series, &d->cap_series, sizeof(*s));
		s = &d->series[d->n_series++];
		memset(s, 0, sizeof(*s));
		s->workload = v->workload;
		s->family = v->family;
		s->op = v->op;
		s->params = v->params;
		s->class = v->class;
		s->context = v->context;
		s->workload_version = v->workload_version;
		s->part = arena_strdup(&d->arena, part);
		s->metric = *m;
		s->headline = v->headline && m->headline;
	}
	for (i = s->n; i > 0; i--)
		if (s->points[i - 1].invocation == invocation)
			return &s->points[i - 1];
	s->points = arena_grow(&d->arena, s->points, s->n, &s->cap, sizeof(*p));
	p = &s->points[s->n++];
	memset(p, 0, sizeof(*p));
	p->boot = v->boot;
	p->invocation = invocation;
	p->overhead = NAN;
	return p;
}

static void add_value(struct dataset *d, struct ds_point *p, double v)
{
	p->values = arena_grow(&d->arena, p->values, p->n, &p->cap, sizeof(*p->values));
	p->values[p->n++] = v;
}

unsigned dataset_invocation(struct dataset *d, const struct ds_invocation *v,
			    const struct metric *metrics)
{
	struct ds_invocation *n;
	size_t count = 0;
	struct metric *m;

	d->invocations = arena_grow(&d->arena, d->invocations, d->n_invocations,
				    &d->cap_invocations, sizeof(*n));
	n = &d->invocations[d->n_invocations];
	*n = *v;
	n->usage = NULL;
	n->facts = NULL;
	n->n_usage = n->cap_usage = n->n_facts = n->cap_facts = 0;
	COPY(d, n, id);
	COPY(d, n, workload);
	COPY(d, n, family);
	COPY(d, n, op);
	COPY(d, n, params);
	COPY(d, n, class);
	COPY(d, n, context);
	COPY(d, n, reason);
	while (metrics && metrics[count].name)
		count++;
	m = arena_array(&d->arena, count + 1, sizeof(*m));
	if (count)
		memcpy(m, metrics, count * sizeof(*m));
	for (size_t i = 0; i < count; i++) {
		COPY(d, &m[i], name);
		COPY(d, &m[i], per);
		COPY(d, &m[i], hist);
		COPY(d, &m[i], doc);
	}
	n->metrics = m;
	return (unsigned)d->n_invocations++;
}

static void from_batch(struct dataset *d, unsigned invocation, const struct metric *m,
		       const struct record_sample *s)
{
	double time = (double)s->ns / (double)s->ops;
	double over = s->has_overhead ? (double)s->over_ns / (double)s->over_ops : NAN;
	double clock = dataset_usage_of(&d->invocations[invocation], "clock_resolution_ns", 0);
	struct ds_point *p;
	double v, step;

	switch (m->from) {
	case METRIC_FROM_TIME:
		v = time;
		break;
	case METRIC_FROM_RATE:
		v = 1e9 / time;
		break;
	case METRIC_FROM_OVERHEAD:
		v = over;
		break;
	case METRIC_FROM_NET:
		v = time - over;
		break;
	case METRIC_FROM_QUANTILE:
	case METRIC_FROM_REPORTED:
	default:
		return;
	}
	if (!isfinite(v))
		return;
	p = point_of(d, invocation, s->part, m);
	if (m->from == METRIC_FROM_NET) {
		double n = (double)p->n;

		p->below += v <= 0;
		p->overhead = p->n ? (p->overhead * n + over) / (n + 1) : over;
	}
	add_value(d, p, v);
	/* One tick of the clock, as a share of the batch; of a net value its share grows. */
	step = clock / (double)s->ns;
	if (m->from == METRIC_FROM_NET && v > 0)
		step *= time / v;
	if (step > p->resolution)
		p->resolution = step;
}

void dataset_sample(struct dataset *d, unsigned invocation, const struct record_sample *s)
{
	const struct ds_invocation *v = &d->invocations[invocation];
	const struct metric *m;

	if (v->state != DS_OK || (!s->metric && (!s->ops || !s->ns)))
		return;
	for (m = v->metrics; m->name; m++) {
		struct ds_point *p;

		if (!s->metric) {
			from_batch(d, invocation, m, s);
			continue;
		}
		if (m->from != METRIC_FROM_REPORTED || strcmp(m->name, s->metric) != 0 ||
		    !isfinite(s->value))
			continue;
		p = point_of(d, invocation, s->part, m);
		add_value(d, p, s->value);
		if (m->resolution > 0 && s->value != 0) {
			double step = m->resolution / fabs(s->value);

			if (step > p->resolution)
				p->resolution = step;
		}
	}
}

void dataset_hist(struct dataset *d, unsigned invocation, const char *part, const char *name,
		  const struct hist *h)
{
	const struct ds_invocation *v = &d->invocations[invocation];
	const struct metric *m;

	if (v->state != DS_OK || !h->count)
		return;
	for (m = v->metrics; m->name; m++) {
		struct ds_point *p;

		if (m->from != METRIC_FROM_QUANTILE || strcmp(m->hist, name) != 0)
			continue;
		p = point_of(d, invocation, part, m);
		if (!p->hist)
			p->hist = arena_alloc(&d->arena, sizeof(*p->hist));
		hist_merge(p->hist, h);
		p->resolution = ldexp(1.0, -(int)HIST_BITS);
	}
}

void dataset_finish(struct dataset *d)
{
	size_t i, k;

	/* A few hundred boots at most: count how many of the same experiment came before. */
	for (i = 0; i < d->n_boots; i++) {
		struct ds_boot *b = &d->boots[i];

		b->index = 0;
		for (k = 0; k < d->n_boots; k++) {
			const struct ds_boot *o = &d->boots[k];

			if (o->experiment == b->experiment &&
			    (o->started_ns < b->started_ns ||
			     (o->started_ns == b->started_ns && k < i)))
				b->index++;
		}
	}
	derive_facts(d);
}

void dataset_done(struct dataset *d)
{
	if (!d)
		return;
	arena_done(&d->arena);
	memset(d, 0, sizeof(*d));
}

double dataset_usage_of(const struct ds_invocation *v, const char *name, double def)
{
	size_t i;

	for (i = 0; i < v->n_usage; i++)
		if (!strcmp(v->usage[i].name, name))
			return v->usage[i].value;
	return def;
}

const struct ds_fact *dataset_fact_of(const struct ds_boot *b, enum fact_when when,
				      const char *name)
{
	size_t i;

	for (i = 0; i < b->n_facts; i++)
		if (b->facts[i].when == when && !strcmp(b->facts[i].name, name))
			return &b->facts[i];
	return NULL;
}
