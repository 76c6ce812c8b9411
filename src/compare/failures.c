/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "compare/internal.h"
#include "stats/dist.h"

static void add_failure(struct compare_work *w, const struct compare_failure *f)
{
	struct comparison *c = w->c;
	struct compare_failure *n;
	size_t i;

	for (i = 0; i < c->n_failures; i++) {
		n = &c->failures[i];
		if (n->skip == f->skip && n->implied == f->implied && n->kernel == f->kernel &&
		    str_eq(n->workload, f->workload) && str_eq(n->params, f->params) &&
		    str_eq(n->reason, f->reason)) {
			n->count++;
			return;
		}
	}
	c->failures = arena_grow(&c->arena, c->failures, c->n_failures, &w->cap_failures,
				 sizeof(*c->failures));
	n = &c->failures[c->n_failures++];
	*n = *f;
	n->count = 1;
	n->workload = arena_strdup(&c->arena, f->workload);
	n->params = arena_strdup(&c->arena, f->params);
	n->reason = arena_strdup(&c->arena, f->reason);
}

static void count_in_boot(const struct dataset *d, unsigned boot, const char *workload,
			  const char *params, unsigned *bad, unsigned *good)
{
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (v->boot != boot || !str_eq(v->workload, workload) ||
		    !str_eq(v->params ? v->params : "", params))
			continue;
		*bad += v->state == DS_FAILED;
		*good += v->state == DS_OK;
	}
}

/*
 * Outcomes of a kernel, in boots, which are the unit of replication: those that failed, or those
 * that worked but in which an invocation of one point failed.
 */
static void count_outcomes(const struct compare_work *w, unsigned kernel, const char *workload,
			   const char *params, unsigned *ret_failed, unsigned *ret_good)
{
	const struct dataset *d = w->d;
	size_t i;

	*ret_failed = *ret_good = 0;
	for (i = 0; !workload && i < d->n_boots; i++) {
		if (w->kernel_of[d->boots[i].kernel] != (int)kernel)
			continue;
		*ret_failed += d->boots[i].state == DS_FAILED;
		*ret_good += d->boots[i].state == DS_OK;
	}
	for (i = 0; workload && i < d->n_boots; i++) {
		unsigned good = 0, bad = 0;

		if (compare_uses_boot(w, (unsigned)i) &&
		    w->kernel_of[d->boots[i].kernel] == (int)kernel)
			count_in_boot(d, (unsigned)i, workload, params, &bad, &good);
		*ret_failed += bad > 0;
		*ret_good += !bad && good;
	}
}

static void add_fisher(struct compare_work *w, const char *workload, const char *params)
{
	struct comparison *c = w->c;
	unsigned bad, good, k;
	size_t i;

	for (i = 0; i < c->n_fisher; i++)
		if (str_eq(c->fisher[i].workload, workload) && str_eq(c->fisher[i].params, params))
			return;
	count_outcomes(w, 0, workload, params, &bad, &good);
	for (k = 1; k < c->n_kernels; k++) {
		struct compare_fisher f = { workload, params, 0, k, bad, good, 0, 0, NAN };

		count_outcomes(w, k, workload, params, &f.new_failed, &f.new_good);
		if (bad + f.new_failed == 0 || bad + good == 0 || f.new_failed + f.new_good == 0 ||
		    dist_fisher(f.base_failed, f.base_good, f.new_failed, f.new_good, &f.p))
			continue;
		c->fisher = arena_grow(&c->arena, c->fisher, c->n_fisher, &w->cap_fisher,
				       sizeof(*c->fisher));
		c->fisher[c->n_fisher++] = f;
	}
}

void compare_failures(struct compare_work *w)
{
	const struct dataset *d = w->d;
	struct comparison *c = w->c;
	unsigned bad, good;
	size_t i;

	for (i = 0; i < d->n_boots; i++) {
		const struct ds_boot *b = &d->boots[i];
		struct compare_failure f = { .reason = b->reason ? b->reason : "reason unknown" };

		if (b->state != DS_FAILED || w->kernel_of[b->kernel] < 0)
			continue;
		f.kernel = (unsigned)w->kernel_of[b->kernel];
		f.total = c->kernels[f.kernel].boots + c->kernels[f.kernel].failed;
		add_failure(w, &f);
	}
	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];
		struct compare_failure f = { .reason = v->reason ? v->reason : "reason unknown" };

		if (v->state == DS_OK || w->kernel_of[d->boots[v->boot].kernel] < 0 ||
		    d->boots[v->boot].state == DS_STOPPED)
			continue;
		f.kernel = (unsigned)w->kernel_of[d->boots[v->boot].kernel];
		f.skip = v->state == DS_SKIPPED;
		f.implied = f.skip && v->implied;
		f.workload = v->workload;
		f.params = v->params ? v->params : "";
		add_failure(w, &f);
	}
	for (i = 0; i < c->n_failures; i++) {
		struct compare_failure *f = &c->failures[i];
		size_t k;

		for (k = 0; f->workload && k < d->n_invocations; k++) {
			const struct ds_invocation *v = &d->invocations[k];

			f->total += w->kernel_of[d->boots[v->boot].kernel] == (int)f->kernel &&
				    str_eq(v->workload, f->workload) &&
				    str_eq(v->params ? v->params : "", f->params);
		}
		if (f->skip)
			continue;
		count_outcomes(w, f->kernel, f->workload, f->params, &bad, &good);
		if (bad)
			add_fisher(w, f->workload, f->params);
	}
}

double compare_failed_p(const struct comparison *c, const struct compare_row *r, unsigned base,
			unsigned new)
{
	double p = NAN;
	size_t i;

	for (i = 0; i < c->n_fisher; i++) {
		const struct compare_fisher *f = &c->fisher[i];

		if (f->base == base && f->new == new &&
		    (!f->workload ||
		     (!strcmp(f->workload, r->workload) && !strcmp(f->params, r->params))))
			p = fmin(p, f->p); /* fmin() takes the number where one is NaN */
	}
	return p;
}
