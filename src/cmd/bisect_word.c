/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Good, bad or neither: the words of the comparison, and the threshold. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/bisect.h"
#include "compare/compare.h"
#include "model/exact.h"

void bisect_number(double v, char buf[40])
{
	size_t n;

	snprintf(buf, 40, "%.3f", v);
	n = strlen(buf);
	while (n > 2 && buf[n - 1] == '0' && buf[n - 2] != '.')
		buf[--n] = '\0';
}

void bisect_metric_text(const struct bisect *b, struct str *out)
{
	const struct workload_info *w = b->point->workload;

	str_printf(out, "%s%s%s, %s per %s", w->name, *b->point->params ? ":" : "",
		   b->point->params, b->metric, w->op);
}

static bool is_wanted(const struct bisect *b, const struct compare_row *r)
{
	return r->exact && str_eq(r->metric.name, b->metric) &&
	       str_eq(r->workload, b->point->workload->name) && str_eq(r->params, b->point->params);
}

/* A number: all of the values above it are more, as if it were a set of one. */
static enum verdict word_of(const struct compare_exact *x, double value)
{
	if (x->lo > value)
		return VERDICT_MORE;
	if (x->hi < value)
		return VERDICT_FEWER;
	return x->hi > x->lo ? VERDICT_WITHIN : VERDICT_SAME;
}

static void judge_value(const struct compare_row *r, double value, struct bisect_judged *ret)
{
	const struct compare_exact *x = r->values[0].exact;

	ret->base = value;
	ret->new = r->values[0].mean;
	ret->diff = ret->new - value;
	ret->verdict = word_of(x, value);
	if (x->unrepeated)
		snprintf(ret->why, sizeof(ret->why), "%s", compare_flag_doc(COMPARE_UNREPEATED));
	else if (ret->verdict != VERDICT_SAME && x->modes)
		snprintf(ret->why, sizeof(ret->why), "%s", compare_flag_doc(COMPARE_REGIMES));
	else if (ret->verdict != VERDICT_SAME && x->n < EXACT_PERTURB_MIN)
		snprintf(ret->why, sizeof(ret->why), "%s", compare_flag_doc(COMPARE_FEW));
	if (*ret->why)
		ret->verdict = VERDICT_NONE;
}

static void judge_pair(const struct compare_row *r, const struct compare_pair *p,
		       struct bisect_judged *ret)
{
	unsigned flag;

	ret->base = r->values[0].mean;
	ret->new = r->values[1].mean;
	ret->diff = p->diff;
	ret->verdict = p->verdict;
	for (flag = 0; flag < COMPARE_FLAGS && ret->verdict == VERDICT_NONE; flag++)
		if (p->blocked & COMPARE_BIT(flag) && !*ret->why)
			snprintf(ret->why, sizeof(ret->why), "%s: %s", compare_flag_name(flag),
				 compare_flag_doc(flag));
}

static void decide(const struct bisect *b, struct bisect_judged *ret)
{
	bool far = fabs(ret->diff) > b->threshold;

	switch (ret->verdict) {
	case VERDICT_SAME:
		ret->word = BISECT_GOOD;
		break;
	case VERDICT_MORE:
	case VERDICT_FEWER:
		ret->word = far ? BISECT_BAD : BISECT_GOOD;
		break;
	case VERDICT_WITHIN:
		/* A threshold is a claim about the size, and this may be more. */
		ret->word = b->threshold > 0 && far ? BISECT_SKIP : BISECT_GOOD;
		if (ret->word == BISECT_SKIP)
			snprintf(ret->why, sizeof(ret->why),
				 "more than the threshold apart, and within perturbation");
		break;
	default:
		ret->word = BISECT_SKIP;
		if (!*ret->why)
			snprintf(ret->why, sizeof(ret->why), "no word on it");
	}
}

/* Why there is no pair: what the comparison says of rows that have no other side. */
static int no_pair(const struct bisect *b, const struct comparison *c, const char *base,
		   const char *new, struct error *e)
{
	struct str what = STR_INIT;
	const char *why = "no exact result of it is stored";
	size_t i;
	int r;

	for (i = 0; i < c->n_unmatched; i++)
		if (is_wanted(b, &c->rows[c->unmatched[i].row]))
			why = c->unmatched[i].why;
	bisect_metric_text(b, &what);
	r = base ? error_set(e, ENODATA, "%s: '%s' cannot be compared with '%s': %s",
			     str_get(&what), new, base, why)
		 : error_set(e, ENODATA, "%s: '%s': %s", str_get(&what), new, why);
	str_done(&what);
	return r;
}

static bool judge_rows(const struct bisect *b, const struct comparison *c, bool pair, double value,
		       struct bisect_judged *ret)
{
	bool found = false;
	size_t i;

	/* Of a workload with parts the headline is meant. */
	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		if (!is_wanted(b, r) || (found && !r->headline))
			continue;
		if (pair && r->n_pairs)
			judge_pair(r, &r->pairs[0], ret);
		else if (!pair && r->values[0].exact)
			judge_value(r, value, ret);
		else
			continue;
		found = true;
	}
	return found;
}

int bisect_judge(const struct bisect *b, const char *const *experiments, size_t n_experiments,
		 const char *base, double value, const char *new, struct bisect_judged *ret,
		 struct error *e)
{
	const char *labels[] = { base ? base : new, new };
	struct store_selection sel = { experiments, n_experiments, labels, base ? 2 : 1 };
	const char *const metrics[] = { b->metric, NULL };
	struct compare_options co = COMPARE_OPTIONS_INIT;
	struct dataset d = DATASET_INIT;
	struct comparison c;
	int r;

	memset(ret, 0, sizeof(*ret));
	co.metrics = metrics;
	co.all = true;
	r = store_dataset(b->store, &sel, &d, e);
	if (!r) {
		r = compare_make(&d, &co, &c, e);
		if (!r && !judge_rows(b, &c, base, value, ret))
			r = no_pair(b, &c, base, new, e);
		if (!r)
			decide(b, ret);
		compare_done(&c);
	}
	dataset_done(&d);
	return r;
}
