/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "compare/compare.h"

int compare_gate_parse(const char *words, unsigned *ret_gate, struct error *e)
{
	unsigned gate = 0;
	size_t n;

	for (;; words += n + 1) {
		n = strcspn(words, ",");
		if (n == 5 && !strncmp(words, "worse", n))
			gate |= COMPARE_GATE_WORSE;
		else if (n == 9 && !strncmp(words, "cant-tell", n))
			gate |= COMPARE_GATE_CANT_TELL;
		else
			return error_set(e, EINVAL, "'%.*s': known words are worse and cant-tell",
					 (int)n, words);
		if (!words[n])
			break;
	}
	*ret_gate = gate;
	return 0;
}

static bool pair_fails(const struct compare_pair *p, unsigned gate)
{
	if (p->verdict == VERDICT_WORSE)
		return gate & COMPARE_GATE_WORSE;
	if (p->verdict == VERDICT_CANT_TELL)
		return gate & COMPARE_GATE_CANT_TELL;
	/* One kernel under two labels cannot be told apart, and has not got worse. */
	if (p->verdict == VERDICT_NONE && !(p->blocked & COMPARE_BIT(COMPARE_SAME_KERNEL)))
		return gate & COMPARE_GATE_CANT_TELL;
	return false;
}

int compare_gate(const struct comparison *c, unsigned gate, bool *ret_fail, struct error *e)
{
	bool emulated = false, judged = false, word = false, same = false, fail = false;
	size_t i, k;

	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		emulated |= !strcmp(r->class, "emulated");
		if (!r->judged)
			continue;
		judged = true;
		for (k = 0; k < r->n_pairs; k++) {
			word |= r->pairs[k].verdict != VERDICT_NONE;
			same |= (r->pairs[k].blocked & COMPARE_BIT(COMPARE_SAME_KERNEL)) != 0;
			fail |= pair_fails(&r->pairs[k], gate);
		}
		fail |= r->n_pairs + 1 < c->n_kernels;
	}
	if (emulated)
		return error_set(e, EOPNOTSUPP,
				 "--fail-on cannot judge emulated results: QEMU's time is not a "
				 "machine's");
	if (!judged)
		return error_set(e, EOPNOTSUPP, "--fail-on: there is nothing that can be judged");
	*ret_fail = fail || (!word && !same);
	return 0;
}
