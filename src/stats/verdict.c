/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/verdict.h"

#include <errno.h>
#include <math.h>

#include "stats/dist.h"

int verdict_margin(double x, double *ret)
{
	if (!isfinite(x) || x < 0)
		return -EDOM;
	*ret = log1p(x);
	return 0;
}

int verdict_judge(const struct verdict_input *input, struct verdict_result *ret)
{
	double lo = input->lo, hi = input->hi, m = input->margin;
	bool rose, fell, beyond;

	*ret = (struct verdict_result){ .verdict = VERDICT_NONE };
	if (!isfinite(lo) || !isfinite(hi) || lo > hi || !isfinite(m) || m < 0 ||
	    !(input->p_adjusted >= 0 && input->p_adjusted <= 1))
		return -EDOM;
	if (input->sense == VERDICT_SENSE_UNKNOWN)
		return 0;
	rose = lo > 0;
	fell = hi < 0;
	beyond = lo > m || hi < -m;
	if (!beyond && -m < lo && hi < m) {
		ret->verdict = VERDICT_NO_CHANGE;
		ret->small_real_shift = rose || fell;
	} else if (!rose && !fell) {
		ret->verdict = VERDICT_CANT_TELL;
	} else if (input->p_adjusted > VERDICT_ALPHA) {
		ret->verdict = VERDICT_CANT_TELL;
		ret->held_back = true;
	} else {
		bool better = input->sense == VERDICT_MORE_IS_BETTER ? rose : fell;

		ret->verdict = better ? VERDICT_BETTER : VERDICT_WORSE;
		ret->beyond_margin = beyond;
	}
	return 0;
}

const char *verdict_name(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_BETTER:
		return "better";
	case VERDICT_WORSE:
		return "worse";
	case VERDICT_NO_CHANGE:
		return "no change";
	case VERDICT_CANT_TELL:
		return "can't tell";
	case VERDICT_MORE:
		return "more";
	case VERDICT_FEWER:
		return "fewer";
	case VERDICT_SAME:
		return "same";
	case VERDICT_WITHIN:
		return "within perturbation";
	case VERDICT_NONE:
		break;
	}
	return "none";
}

int verdict_half_width(double estimate, double margin, double *ret)
{
	double d = fabs(estimate);

	if (!isfinite(estimate) || !isfinite(margin) || margin < 0)
		return -EDOM;
	*ret = d > margin - d ? d : margin - d;
	return 0;
}

int verdict_boots_needed(double sigma, double half_width, double level, unsigned have,
			 unsigned budget, unsigned *ret)
{
	unsigned n = have < 2 ? 3 : have + 1;
	double t;
	int r;

	if (!isfinite(sigma) || sigma < 0 || !isfinite(half_width) || half_width <= 0 ||
	    !(level > 0 && level < 1))
		return -EDOM;
	for (; n <= budget && n > have; n++) {
		r = dist_t_critical(1 - level, 2 * (double)n - 3, &t);
		if (r)
			return r;
		if (t * sigma * sqrt(2 / (double)n) <= half_width) {
			*ret = n;
			return 0;
		}
	}
	return -ERANGE;
}
