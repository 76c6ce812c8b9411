/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare.h"

#define TIME_WORDS  (COMPARE_GATE_WORSE | COMPARE_GATE_CANT_TELL)
#define EXACT_WORDS (COMPARE_GATE_MORE | COMPARE_GATE_FEWER | COMPARE_GATE_WITHIN)

static const struct {
	const char *name;
	unsigned gate;
} words[] = {
	{ "worse", COMPARE_GATE_WORSE },   { "cant-tell", COMPARE_GATE_CANT_TELL },
	{ "more", COMPARE_GATE_MORE },	   { "fewer", COMPARE_GATE_FEWER },
	{ "within", COMPARE_GATE_WITHIN },
};

int compare_gate_parse(const char *text, unsigned *ret_gate, struct error *e)
{
	unsigned gate = 0;
	size_t n, i;

	for (;; text += n + 1) {
		n = strcspn(text, ",");
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i].name) == n && !strncmp(text, words[i].name, n))
				break;
		if (i == ARRAY_SIZE(words))
			return error_set(e, EINVAL,
					 "'%.*s': known words are worse and cant-tell; of exact "
					 "results more, fewer and within",
					 (int)n, text);
		gate |= words[i].gate;
		if (!text[n])
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

static bool exact_pair_fails(const struct compare_pair *p, unsigned gate)
{
	const unsigned unjudged = COMPARE_BIT(COMPARE_UNREPEATED) | COMPARE_BIT(COMPARE_FEW);

	switch (p->verdict) {
	case VERDICT_MORE:
		return gate & COMPARE_GATE_MORE;
	case VERDICT_FEWER:
		return gate & COMPARE_GATE_FEWER;
	case VERDICT_WITHIN:
		return gate & COMPARE_GATE_WITHIN;
	case VERDICT_NONE:
		/* It differs, and nobody knows whether that means anything. */
		return gate & COMPARE_GATE_WITHIN || p->blocked & unjudged;
	default:
		return false;
	}
}

/* Why no row can be looked at. */
static int nothing_to_judge(unsigned gate, bool time, bool exact, struct error *e)
{
	if (exact && !(gate & EXACT_WORDS))
		return error_set(e, EOPNOTSUPP,
				 "--fail-on: exact results are not worse or better: say more, "
				 "fewer or within");
	if (time && !(gate & TIME_WORDS))
		return error_set(e, EOPNOTSUPP,
				 "--fail-on: more, fewer and within are words for exact results, "
				 "and there are none: say worse or cant-tell");
	return error_set(e, EOPNOTSUPP, "--fail-on: there is nothing that can be judged");
}

int compare_gate(const struct comparison *c, unsigned gate, bool *ret_fail, struct error *e)
{
	bool emulated = false, time = false, exact = false, fail = false;
	bool word[2] = { false, false }, same = false, judged[2] = { false, false };
	size_t i, k;

	for (i = 0; i < c->n_rows; i++) {
		const struct compare_row *r = &c->rows[i];

		emulated |= !strcmp(r->class, "emulated");
		if (!r->judged)
			continue;
		time |= !r->exact;
		exact |= r->exact;
		if (!(gate & (r->exact ? EXACT_WORDS : TIME_WORDS)))
			continue;
		judged[r->exact] = true;
		for (k = 0; k < r->n_pairs; k++) {
			const struct compare_pair *p = &r->pairs[k];

			word[r->exact] |= p->verdict != VERDICT_NONE;
			same |= (p->blocked & COMPARE_BIT(COMPARE_SAME_KERNEL)) != 0;
			fail |= r->exact ? exact_pair_fails(p, gate) : pair_fails(p, gate);
		}
		fail |= r->n_pairs + 1 < c->n_kernels;
	}
	if (emulated && gate & TIME_WORDS)
		return error_set(e, EOPNOTSUPP,
				 "--fail-on cannot judge emulated results: QEMU's time is not a "
				 "machine's");
	if (!judged[0] && !judged[1])
		return nothing_to_judge(gate, time, exact, e);
	*ret_fail = fail || (judged[0] && !word[0] && !same) || (judged[1] && !word[1]);
	return 0;
}
