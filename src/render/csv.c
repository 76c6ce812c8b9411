/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "render/internal.h"

static const char header[] =
	"workload,version,params,part,metric,unit,per,better,kind,headline,class,context,"
	"base,base_boots,base_mean,base_cv_boot,base_cv_invocation,base_cv_sample,"
	"new,new_boots,new_mean,new_cv_boot,new_cv_invocation,new_cv_sample,"
	"ratio,ci_lo,ci_hi,diff,diff_lo,diff_hi,level,p,p_adjusted,verdict,boots_needed,"
	"drift,drift_p,flags";
/* Behind them, where there are exact rows. */
static const char exact_header[] = ",base_perturbations,base_lo,base_hi,base_values,base_regimes,"
				   "new_perturbations,new_lo,new_hi,new_values,new_regimes,top";

static void add_text(struct str *out, const char *s)
{
	if (!s)
		s = "";
	if (!s[strcspn(s, ",\"\r\n")]) {
		str_add(out, s);
	} else {
		str_add_c(out, '"');
		for (; *s; s++) {
			if (*s == '"')
				str_add_c(out, '"');
			str_add_c(out, *s);
		}
		str_add_c(out, '"');
	}
	str_add_c(out, ',');
}

static void add_number(struct str *out, double v)
{
	if (isfinite(v))
		str_printf(out, "%.10g", v);
	str_add_c(out, ',');
}

static void add_unsigned(struct str *out, unsigned v)
{
	str_printf(out, "%u,", v);
}

static void add_side(const struct comparison *c, const struct compare_row *r, long kernel,
		     struct str *out)
{
	const struct compare_value *v = kernel < 0 ? NULL : &r->values[kernel];

	add_text(out, v ? c->kernels[kernel].label : NULL);
	if (!v) {
		str_add(out, ",,,,,");
		return;
	}
	add_unsigned(out, v->boots);
	add_number(out, v->mean);
	add_number(out, v->cv_boot);
	add_number(out, v->cv_invocation);
	add_number(out, v->cv_sample);
}

static void add_flags(const struct compare_pair *p, struct str *out)
{
	struct str b = STR_INIT;
	unsigned i;

	for (i = 0; i < COMPARE_FLAGS; i++)
		if (p->flags & COMPARE_BIT(i))
			str_printf(&b, "%s%s", b.len ? ";" : "", compare_flag_name(i));
	add_text(out, str_get(&b));
	str_done(&b);
	/* The last field: its comma is one too many. */
	out->s[--out->len] = '\0';
}

/* "3:335.25;4:335.5", and "10524:2:0.12;..." for instructions, switches and share. */
static void add_exact_side(const struct compare_row *r, long kernel, struct str *out)
{
	const struct compare_exact *x = kernel < 0 ? NULL : r->values[kernel].exact;
	unsigned i;

	if (!x) {
		str_add(out, ",,,,,");
		return;
	}
	str_printf(out, ",%u,%.15g,%.15g,", x->n, x->lo, x->hi);
	for (i = 0; i < x->n; i++)
		str_printf(out, "%s%u:%.15g", i ? ";" : "", x->index[i], x->values[i]);
	str_add_c(out, ',');
	for (i = 0; i < x->modes; i++)
		str_printf(out, "%s%.15g:%.10g:%.10g", i ? ";" : "", x->mode[i].instructions,
			   x->mode[i].switches, x->mode[i].share);
}

/* "do_syscall_64:1;exit_to_user_mode_prepare:1" */
static void add_top(const struct compare_pair *p, struct str *out)
{
	struct str b = STR_INIT;
	unsigned i;

	for (i = 0; p && i < p->n_top; i++)
		str_printf(&b, "%s%s:%.10g", i ? ";" : "", p->top[i].name, p->top[i].diff);
	str_add_c(out, ',');
	add_text(out, str_get(&b));
	str_done(&b);
	out->s[--out->len] = '\0';
}

static void add_pair(const struct compare_pair *p, struct str *out)
{
	add_number(out, p->ratio);
	add_number(out, p->lo);
	add_number(out, p->hi);
	add_number(out, p->diff);
	add_number(out, p->diff_lo);
	add_number(out, p->diff_hi);
	add_number(out, p->level);
	add_number(out, p->p);
	add_number(out, p->p_adjusted);
	add_text(out, verdict_word(p->verdict));
	if (p->boots_needed && p->boots_needed <= VERDICT_BUDGET)
		str_printf(out, "%u", p->boots_needed);
	str_add_c(out, ',');
	add_number(out, p->drift);
	add_number(out, p->drift_p);
	add_flags(p, out);
}

static void add_line(const struct comparison *c, const struct compare_row *r, long base, long new,
		     const struct compare_pair *p, bool exact, struct str *out)
{
	add_text(out, r->workload);
	add_unsigned(out, r->workload_version);
	add_text(out, r->params);
	add_text(out, r->part);
	add_text(out, r->metric.name);
	add_text(out, unit_name(r->metric.unit));
	add_text(out, r->metric.per);
	add_text(out, metric_better_name(r->metric.better));
	add_text(out, metric_kind_name(r->metric.kind));
	add_text(out, r->headline ? "true" : "false");
	add_text(out, r->class);
	add_unsigned(out, r->context_number);
	add_side(c, r, base, out);
	add_side(c, r, new, out);
	if (p)
		add_pair(p, out);
	else
		str_add(out, ",,,,,,,,,,,,,");
	if (exact) {
		add_exact_side(r, base, out);
		add_exact_side(r, new, out);
		add_top(p, out);
	}
	str_add(out, "\r\n");
}

void render_csv(const struct comparison *c, struct str *out)
{
	bool exact = has_exact(c);
	size_t i, k;

	str_add(out, header);
	str_printf(out, "%s\r\n", exact ? exact_header : "");
	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		for (k = 0; k < r->n_pairs; k++)
			add_line(c, r, r->pairs[k].base, r->pairs[k].new, &r->pairs[k], exact, out);
		/* A value that has no partner is a line, too. */
		for (k = 0; k < c->n_kernels; k++) {
			if (!r->values[k].boots || pair_of(r, (unsigned)k) || (!k && r->n_pairs))
				continue;
			add_line(c, r, k ? -1 : 0, k ? (long)k : -1, NULL, exact, out);
		}
	}
}
