/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/internal.h"
#include "stats/adjust.h"
#include "stats/fit.h"

const struct compare_pair compare_empty_pair = {
	.ratio = NAN,
	.lo = NAN,
	.hi = NAN,
	.diff = NAN,
	.diff_lo = NAN,
	.diff_hi = NAN,
	.d = NAN,
	.d_lo = NAN,
	.d_hi = NAN,
	.level = NAN,
	.sigma = NAN,
	.p = NAN,
	.p_adjusted = NAN,
	.drift = NAN,
	.drift_p = NAN,
	.fisher_p = NAN,
};

/* The margin on the scale of the row: of a difference, a share of the two means' size. */
static double margin_of(const struct comparison *c, const struct compare_row *r,
			const struct compare_pair *p)
{
	double m;

	if (r->absolute)
		return c->margin * (fabs(r->values[p->base].mean) + fabs(r->values[p->new].mean)) /
		       2;
	return verdict_margin(c->margin, &m) ? NAN : m;
}

static double scaled(const struct compare_row *r, double value)
{
	return r->absolute ? value : log(value);
}

/* Mean of a kernel's boots on the scale of the fit; *ret_same: all are the same number. */
static double kernel_mean(const struct compare_row *r, const struct compare_reduced *red,
			  unsigned kernel, bool *ret_same)
{
	double mean = 0, first = NAN;
	size_t i, n = 0;

	*ret_same = true;
	for (i = 0; i < red->n; i++) {
		if (red->boots[i].kernel != kernel)
			continue;
		if (!n)
			first = red->boots[i].value;
		else if (fabs(red->boots[i].value - first) > 1e-12 * fabs(first))
			*ret_same = false;
		mean += (scaled(r, red->boots[i].value) - mean) / (double)++n;
	}
	return *ret_same ? scaled(r, first) : mean;
}

static double or_nan(double v)
{
	return isfinite(v) ? v : NAN;
}

static void set_estimate(const struct compare_row *r, struct compare_pair *p)
{
	if (!isfinite(p->d_lo) || !isfinite(p->d_hi))
		p->d_lo = p->d_hi = NAN;
	if (r->absolute) {
		p->diff = or_nan(p->d);
		p->diff_lo = p->d_lo;
		p->diff_hi = p->d_hi;
		return;
	}
	p->ratio = or_nan(exp(p->d));
	p->lo = or_nan(exp(p->d_lo));
	p->hi = or_nan(exp(p->d_hi));
}

static void set_pair(struct compare_work *w, size_t row, const struct fit *fit, unsigned kernel,
		     struct compare_pair *p)
{
	const struct compare_row *r = &w->c->rows[row];
	const struct compare_reduced *red = &w->reduced[row];
	const struct fit_contrast *c = fit->n ? &fit->contrasts[kernel] : NULL;
	bool same_base, same_new;
	double base = kernel_mean(r, red, 0, &same_base);
	double new = kernel_mean(r, red, kernel, &same_new);

	p->d = new - base;
	if (r->metric.kind == METRIC_COUNT && same_base && same_new && r->values[0].boots > 1 &&
	    r->values[kernel].boots > 1) {
		p->exact = true;
		p->d_lo = p->d_hi = p->d;
	} else if (c && !c->err) {
		p->d = c->estimate;
		p->p = c->p;
		p->sigma = c->sigma;
		if (fit_interval(c, p->level, &p->d_lo, &p->d_hi))
			p->d_lo = p->d_hi = p->p = NAN;
	}
	set_estimate(r, p);
	if (fit->n && !fit->trend_err) {
		p->drift = or_nan(r->absolute ? fit->trend : expm1(fit->trend));
		p->drift_p = or_nan(fit->trend_p);
	}
}

/* Half the margin over the whole run: less is of no consequence, and is taken out anyway. */
static bool drifts(const struct compare_work *w, size_t row, const struct compare_pair *p)
{
	const struct compare_row *r = &w->c->rows[row];
	const struct compare_reduced *red = &w->reduced[row];
	double first = INFINITY, last = -INFINITY, step;
	size_t i;

	if (!(p->drift_p < 0.05))
		return false;
	for (i = 0; i < red->n; i++) {
		first = fmin(first, red->boots[i].index);
		last = fmax(last, red->boots[i].index);
	}
	step = r->absolute ? p->drift : log1p(p->drift);
	return fabs(step) * (last - first) >= margin_of(w->c, r, p) / 2;
}

static void make_pairs(struct compare_work *w, size_t row)
{
	struct comparison *c = w->c;
	struct compare_row *r = &c->rows[row];
	const struct compare_reduced *red = &w->reduced[row];
	CLEANUP_FREE struct fit_boot *boots = mem_array(red->n + 1, sizeof(*boots));
	struct fit fit = { .n = 0 };
	unsigned k;
	size_t i;

	r->pairs = arena_array(&c->arena, c->n_kernels, sizeof(*r->pairs));
	if (!r->values[0].boots)
		return;
	for (i = 0; i < red->n; i++) {
		boots[i].y = scaled(r, red->boots[i].value);
		boots[i].index = red->boots[i].index;
		boots[i].kernel = red->boots[i].kernel;
	}
	if (fit_kernels(boots, red->n, (unsigned)c->n_kernels, red->floors, &fit))
		fit.n = 0;
	for (k = 1; k < c->n_kernels; k++) {
		struct compare_pair *p = &r->pairs[r->n_pairs];

		if (!r->values[k].boots)
			continue;
		*p = compare_empty_pair;
		p->new = k;
		p->level = c->level;
		set_pair(w, row, &fit, k, p);
		p->fisher_p = compare_failed_p(c, r, 0, k);
		if (drifts(w, row, p))
			p->flags |= COMPARE_BIT(COMPARE_DRIFT);
		compare_flags(w, row, p);
		r->n_pairs++;
	}
	fit_done(&fit);
}

static bool can_have_word(const struct compare_row *r, const struct compare_pair *p)
{
	return r->judged && !p->blocked && isfinite(p->d_lo) && isfinite(p->d_hi);
}

/* Holm on the headlines' pairs, Benjamini-Hochberg on the others: each a family of its own. */
static void adjust_family(struct comparison *c, bool headline)
{
	size_t n = 0, i, k, max = 0;
	CLEANUP_FREE double *p = NULL;
	CLEANUP_FREE struct compare_pair **pair = NULL;
	int err;

	for (i = 0; i < c->n_rows; i++)
		max += c->rows[i].n_pairs;
	p = mem_array(max + 1, sizeof(*p));
	pair = mem_array(max + 1, sizeof(struct compare_pair *));
	for (i = 0; i < c->n_rows; i++) {
		struct compare_row *r = &c->rows[i];

		for (k = 0; k < r->n_pairs && r->headline == headline && !r->exact; k++) {
			if (!can_have_word(r, &r->pairs[k]) || !isfinite(r->pairs[k].p))
				continue;
			pair[n] = &r->pairs[k];
			p[n++] = r->pairs[k].p;
			c->summary.p_below += r->pairs[k].p <= VERDICT_ALPHA;
		}
	}
	c->summary.tested += (unsigned)n;
	if (headline)
		c->summary.tested_headline = (unsigned)n;
	err = headline ? adjust_holm(p, n, p) : adjust_bh(p, n, p);
	for (i = 0; i < n && !err; i++)
		pair[i]->p_adjusted = p[i];
}

static bool judge_shifted(const struct compare_row *r, const struct compare_pair *p, double margin,
			  double widen, struct verdict_result *ret)
{
	struct verdict_input in = {
		.lo = p->d_lo - widen,
		.hi = p->d_hi + widen,
		.margin = margin,
		.p_adjusted = p->exact ? 0 : p->p_adjusted,
		.sense = r->metric.better == METRIC_LESS ? VERDICT_LESS_IS_BETTER
							 : VERDICT_MORE_IS_BETTER,
	};

	return !verdict_judge(&in, ret);
}

/* How far time stolen from one side alone could have moved the estimate. */
static double steal_shift(const struct compare_row *r, const struct compare_pair *p)
{
	const struct compare_value *a = &r->values[p->base], *b = &r->values[p->new];
	double share = fmin(fmax(a->steal, b->steal), 0.99);

	if (!(p->flags & COMPARE_BIT(COMPARE_STEAL)))
		return 0;
	return r->absolute ? share * fmax(fabs(a->mean), fabs(b->mean)) : -log1p(-share);
}

static void judge_pair(const struct comparison *c, const struct compare_row *r,
		       struct compare_pair *p)
{
	double margin = margin_of(c, r, p), widen = steal_shift(r, p), half;
	unsigned have = r->values[p->base].boots, needed;
	struct verdict_result v, wide;

	if (!can_have_word(r, p) || !judge_shifted(r, p, margin, 0, &v) ||
	    !judge_shifted(r, p, margin, widen, &wide))
		return;
	p->verdict = v.verdict;
	p->beyond_margin = v.beyond_margin;
	p->small_real_shift = v.small_real_shift;
	p->held_back = v.held_back;
	if (v.verdict != VERDICT_CANT_TELL && wide.verdict != v.verdict) {
		p->verdict = VERDICT_CANT_TELL;
		p->beyond_margin = p->small_real_shift = false;
		p->taken_back = true;
	}
	p->beyond_margin &= wide.beyond_margin;
	if (p->verdict != VERDICT_CANT_TELL || p->taken_back || p->exact)
		return;
	if (r->values[p->new].boots < have)
		have = r->values[p->new].boots;
	if (verdict_half_width(p->d, margin, &half))
		return;
	switch (verdict_boots_needed(p->sigma, half, p->level, have, VERDICT_BUDGET, &needed)) {
	case 0:
		p->boots_needed = needed;
		break;
	case -ERANGE:
		p->boots_needed = VERDICT_BUDGET + 1;
		break;
	default:
		break;
	}
}

static void count_pair(struct compare_summary *s, const struct compare_pair *p)
{
	bool confounded = p->flags & COMPARE_BIT(COMPARE_CONFOUNDED);

	switch (p->verdict) {
	case VERDICT_WORSE:
		s->worse++;
		s->worse_beyond += p->beyond_margin;
		s->confounded += confounded;
		break;
	case VERDICT_BETTER:
		s->better++;
		s->better_beyond += p->beyond_margin;
		s->confounded += confounded;
		break;
	case VERDICT_NO_CHANGE:
		s->no_change++;
		s->confounded += confounded;
		break;
	case VERDICT_CANT_TELL:
		s->cant_tell++;
		break;
	case VERDICT_NONE:
		s->none++;
		break;
	case VERDICT_MORE:
	case VERDICT_FEWER:
	case VERDICT_SAME:
	case VERDICT_WITHIN:
		break; /* exact rows have counts of their own */
	}
}

/* What an A/A or an emulated comparison is good for: how often its intervals exclude "equal". */
static void count_wordless(struct compare_summary *s, const struct compare_row *r,
			   const struct compare_pair *p)
{
	if (p->verdict != VERDICT_NONE || !isfinite(p->d_lo) || p->exact ||
	    r->metric.kind == METRIC_EVIDENCE)
		return;
	s->none_tested++;
	s->none_outside += p->d_lo > 0 || p->d_hi < 0;
}

void compare_judge(struct compare_work *w)
{
	struct comparison *c = w->c;
	size_t i, k;

	for (i = 0; i < c->n_rows; i++) {
		if (c->rows[i].exact)
			compare_exact_judge(w, i);
		else
			make_pairs(w, i);
	}
	adjust_family(c, true);
	adjust_family(c, false);
	c->summary.chance = VERDICT_ALPHA * c->summary.tested;
	for (i = 0; i < c->n_rows; i++) {
		struct compare_row *r = &c->rows[i];

		for (k = 0; k < r->n_pairs && !r->exact; k++) {
			judge_pair(c, r, &r->pairs[k]);
			c->flags |= r->pairs[k].flags;
			count_wordless(&c->summary, r, &r->pairs[k]);
			if (r->metric.kind != METRIC_EVIDENCE)
				count_pair(&c->summary, &r->pairs[k]);
		}
	}
}
