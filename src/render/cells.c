/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/internal.h"

#define LABEL_WIDTH 12

const char *verdict_word(enum verdict v)
{
	return v == VERDICT_NONE ? NULL : verdict_name(v);
}

const struct compare_pair *pair_of(const struct compare_row *r, unsigned kernel)
{
	size_t i;

	for (i = 0; i < r->n_pairs; i++)
		if (r->pairs[i].new == kernel)
			return &r->pairs[i];
	return NULL;
}

const char *margin_text(double margin, char buf[16])
{
	snprintf(buf, 16, "%.4g %%", margin * 100);
	return buf;
}

/* Labels where they are short, else letters that the list of kernels explains. */
const char *kernel_short(const struct comparison *c, unsigned kernel, struct str *out)
{
	bool longer = false;
	size_t i;

	for (i = 0; i < c->n_kernels; i++) {
		str_reset(out);
		render_safe(out, c->kernels[i].label);
		longer |= str_width(str_get(out)) > LABEL_WIDTH;
	}
	str_reset(out);
	if (!longer)
		render_safe(out, c->kernels[kernel].label);
	else if (kernel < 26)
		str_add_c(out, (char)('A' + kernel));
	else
		str_printf(out, "K%u", kernel + 1);
	return str_get(out);
}

void cell_number(double v, const struct unit_scale *scale, struct str *out)
{
	char buf[64];

	str_reset(out);
	if (!isfinite(v)) {
		str_add_c(out, '-');
		return;
	}
	unit_format_number(v / scale->divisor, 4, buf, sizeof(buf));
	str_add(out, buf);
}

void cell_value(const struct compare_value *v, const struct unit_scale *scale, struct str *out)
{
	cell_number(v->mean, scale, out);
	if (v->below && v->mean <= 0) {
		str_reset(out);
		str_add(out, "<res");
	}
}

static void add_cv(double cv, struct str *out)
{
	if (!isfinite(cv))
		str_add_c(out, '-');
	else
		str_printf(out, cv < 0.0995 ? "%.1f" : "%.0f", cv * 100);
}

void cell_cv(const struct compare_value *v, bool all, struct str *out)
{
	str_reset(out);
	if (!v->boots)
		return;
	add_cv(v->cv_boot, out);
	if (!all)
		return;
	str_add_c(out, '/');
	add_cv(v->cv_invocation, out);
	str_add_c(out, '/');
	add_cv(v->cv_sample, out);
}

static void add_ratio(double v, struct str *out)
{
	char buf[64];

	if (v >= 0.1 && v < 100)
		snprintf(buf, sizeof(buf), "%.3f", v);
	else
		unit_format_number(v, 4, buf, sizeof(buf));
	str_add(out, buf);
}

static void add_difference(double v, const struct unit_scale *scale, struct str *out)
{
	char buf[64];

	unit_format_number(v / scale->divisor, 4, buf, sizeof(buf));
	str_printf(out, "%s%s", v > 0 ? "+" : "", buf);
}

void cell_ratio(const struct compare_row *r, const struct compare_pair *p,
		const struct unit_scale *scale, struct str *out)
{
	str_reset(out);
	if (!isfinite(r->absolute ? p->diff : p->ratio))
		str_add_c(out, '-');
	else if (r->absolute)
		add_difference(p->diff, scale, out);
	else
		add_ratio(p->ratio, out);
}

void cell_interval(const struct compare_row *r, const struct compare_pair *p,
		   const struct unit_scale *scale, struct str *out)
{
	str_reset(out);
	if (p->exact) {
		str_add(out, "exact");
		return;
	}
	if (!isfinite(r->absolute ? p->diff_lo : p->lo) ||
	    !isfinite(r->absolute ? p->diff_hi : p->hi)) {
		str_add_c(out, '-');
		return;
	}
	str_add_c(out, '[');
	if (r->absolute)
		add_difference(p->diff_lo, scale, out);
	else
		add_ratio(p->lo, out);
	str_add_c(out, ' ');
	if (r->absolute)
		add_difference(p->diff_hi, scale, out);
	else
		add_ratio(p->hi, out);
	str_add_c(out, ']');
}

void cell_p(double p, struct str *out)
{
	char buf[16];

	str_reset(out);
	if (!isfinite(p))
		return;
	if (p < 0.001) {
		str_add(out, "<.001");
		return;
	}
	snprintf(buf, sizeof(buf), "%.3f", p);
	str_add(out, *buf == '0' ? buf + 1 : buf);
}

void cell_mark(const struct compare_pair *p, struct str *out)
{
	static const char *const marks[] = {
		[VERDICT_NONE] = "",	   [VERDICT_BETTER] = "+",    [VERDICT_WORSE] = "-",
		[VERDICT_NO_CHANGE] = "=", [VERDICT_CANT_TELL] = "?", [VERDICT_MORE] = "",
		[VERDICT_FEWER] = "",	   [VERDICT_SAME] = "",	      [VERDICT_WITHIN] = "",
	};

	str_reset(out);
	str_add(out, marks[p->verdict]);
	if (p->small_real_shift)
		str_add_c(out, '~');
	if (p->boots_needed > VERDICT_BUDGET)
		str_printf(out, " >%d", VERDICT_BUDGET);
	else if (p->boots_needed)
		str_printf(out, " %u", p->boots_needed);
}

void cell_flags(const struct compare_pair *p, const struct flag_letters *l, struct str *out)
{
	unsigned i;

	str_reset(out);
	for (i = 0; i < COMPARE_FLAGS; i++)
		if ((p->flags & COMPARE_BIT(i)) && l->letter[i])
			str_add_c(out, l->letter[i]);
}
