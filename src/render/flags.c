/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "render/internal.h"

void flags_letter(const struct comparison *c, struct flag_letters *ret)
{
	unsigned i, next = 0;
	size_t k, p, n = 0;

	memset(ret, 0, sizeof(*ret));
	ret->common = ~0u;
	for (k = 0; k < c->n_rows; k++)
		for (p = 0; p < c->rows[k].n_pairs; p++, n++)
			ret->common &= c->rows[k].pairs[p].flags;
	if (!n)
		ret->common = 0;
	/* What holds for all is said once, below. */
	for (i = 0; i < COMPARE_FLAGS; i++)
		if ((c->flags & COMPARE_BIT(i)) && !(ret->common & COMPARE_BIT(i)))
			ret->letter[i] = (char)('a' + next++);
}

static void add_detail(const struct comparison *c, const struct compare_row *r,
		       const struct compare_pair *p, enum compare_flag flag, struct str *b)
{
	struct str s = STR_INIT;
	struct unit_scale scale;
	unsigned sides[2] = { p->base, p->new }, i, k;

	unit_scale(r->metric.unit, r->metric.per, r->values[p->base].mean, &scale);
	switch (flag) {
	case COMPARE_DRIFT:
		if (r->absolute) {
			cell_number(p->drift, &scale, &s);
			str_printf(b, "%s %s a boot", str_get(&s), scale.heading);
		} else {
			str_printf(b, "%+.2f %% a boot", p->drift * 100);
		}
		cell_p(p->drift_p, &s);
		str_printf(b, ", p %s", str_get(&s));
		break;
	case COMPARE_BELOW:
		for (i = 0; i < 2; i++) {
			const struct compare_value *v = &r->values[sides[i]];

			if (!v->below)
				continue;
			unit_scale(r->metric.unit, r->metric.per, v->overhead, &scale);
			cell_number(v->overhead, &scale, &s);
			str_printf(b, "%s%s %u of %u (overhead %s %s)", b->len ? ", " : "",
				   c->kernels[sides[i]].label, v->below, v->samples, str_get(&s),
				   scale.heading);
		}
		break;
	case COMPARE_OUTLIERS:
		for (i = 0; i < 2; i++) {
			const struct compare_value *v = &r->values[sides[i]];

			for (k = 0; k < v->n_outliers; k++)
				str_printf(b, "%s%s%u",
					   k	    ? ", "
					   : b->len ? "; "
						    : "",
					   k ? "" : "boot ", v->outliers[k] + 1);
		}
		break;
	case COMPARE_BIMODAL:
	case COMPARE_STEAL:
		for (i = 0; i < 2; i++) {
			const struct compare_value *v = &r->values[sides[i]];

			if (flag == COMPARE_BIMODAL ? !v->bimodal : v->steal <= 0)
				continue;
			str_printf(b, "%s%s", b->len ? ", " : "", c->kernels[sides[i]].label);
			if (flag == COMPARE_STEAL)
				str_printf(b, " %.1f %%", v->steal * 100);
		}
		break;
	case COMPARE_UNREPEATED:
		for (i = 0; i < 2; i++) {
			const struct compare_exact *x = r->values[sides[i]].exact;

			if (x->unrepeated)
				str_printf(b, "%s%s, %u of %u perturbations", b->len ? "; " : "",
					   c->kernels[sides[i]].label, x->unrepeated, x->n);
		}
		break;
	default:
		break;
	}
	str_done(&s);
}

/* Where a flag has a number of its own, it is named for each result. */
static void add_details(const struct comparison *c, enum compare_flag flag, unsigned most,
			struct notes *ret)
{
	size_t i, k, n = 0, hidden = 0;

	if (flag != COMPARE_DRIFT && flag != COMPARE_BELOW && flag != COMPARE_OUTLIERS &&
	    flag != COMPARE_BIMODAL && flag != COMPARE_STEAL && flag != COMPARE_UNREPEATED)
		return;
	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		for (k = 0; k < r->n_pairs; k++) {
			struct str b = STR_INIT, line = STR_INIT;

			if (!(r->pairs[k].flags & COMPARE_BIT(flag)))
				continue;
			if (most && n++ >= most) {
				hidden++;
				continue;
			}
			add_detail(c, r, &r->pairs[k], flag, &b);
			str_add(&line, "  ");
			table_row_name(r, &line);
			str_printf(&line, ": %s", str_get(&b));
			str_done(&b);
			notes_take(ret, &line);
		}
	}
	if (hidden)
		notes_add(ret, "  and %zu more", hidden);
}

void notes_flags(const struct comparison *c, const struct flag_letters *l, unsigned most,
		 struct notes *ret)
{
	unsigned i;

	for (i = 0; i < COMPARE_FLAGS; i++) {
		struct str b = STR_INIT;

		if (!(c->flags & COMPARE_BIT(i)))
			continue;
		if (l && l->letter[i])
			str_printf(&b, "%c ", l->letter[i]);
		else if (l)
			str_add(&b, "(all) ");
		str_printf(&b, "%s: %s%s", compare_flag_name(i), compare_flag_doc(i),
			   compare_flag_blocks(i) ? "; no verdict" : "");
		notes_take(ret, &b);
		add_details(c, i, most, ret);
	}
}
