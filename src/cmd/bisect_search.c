/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search: both ends, then what the policy asks for; and what it came to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/bisect.h"
#include "cmd/cmd.h"
#include "cmd/common.h"

/* What was seen of a node. */
struct seen {
	unsigned node;
	enum bisect_word word;
	struct bisect_result result;
	struct bisect_judged judged; /* against the good end; of that itself, `new` alone */
	struct bisect_kernel kernel;
};

struct search {
	struct bisect *b;
	const struct bisect_subject *s;
	struct seen *seen;
	size_t n, cap;
	unsigned skipped;
	void *policy;
};

static const struct bisect_policy *const policy = &bisect_halving;

static struct seen *find(struct search *x, unsigned node)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		if (x->seen[i].node == node)
			return &x->seen[i];
	return NULL;
}

static struct seen *good_end(struct search *x)
{
	return &x->seen[0];
}

/* "3 of about 5: debian:6.1.0-51-cloud-amd64: 336.0 (good)" */
static void tell(struct search *x, const struct seen *s, unsigned left, const char *word)
{
	struct str line = STR_INIT;
	char number[40];

	str_printf(&line, "%zu of about %zu: %s", x->n, x->n + left, s->kernel.shown);
	if (s->result.ok) {
		bisect_number(s->judged.new, number);
		str_printf(&line, ": %s (%s%s)", number, word,
			   s->result.stored ? ", was stored" : "");
	} else {
		str_printf(&line, ": skipped%s: %s", s->result.stored ? ", as before" : "",
			   s->result.why);
	}
	if (s->result.ok && s->word == BISECT_SKIP)
		str_printf(&line, ": %s", s->judged.why);
	if (!x->b->m.quiet)
		fprintf(stderr, "%s\n", str_get(&line));
	str_done(&line);
}

/* Measures a node; *ret points into x->seen until the next one. */
static int see(struct search *x, unsigned node, struct seen **ret, struct error *e)
{
	struct seen *s;
	int r;

	x->seen = mem_grow(x->seen, x->n, &x->cap, sizeof(*x->seen));
	s = *ret = &x->seen[x->n];
	memset(s, 0, sizeof(*s));
	s->node = node;
	r = x->s->kernel(x->s->arg, node, &s->kernel, e);
	if (!r) {
		x->n++;
		r = bisect_measure(x->b, &s->kernel, &s->result, e);
	}
	return r;
}

static int judge(const struct search *x, const struct seen *base, const struct seen *new,
		 struct bisect_judged *ret, struct error *e)
{
	const char *id = x->b->experiment;

	return bisect_judge(x->b, &id, 1, base->kernel.label, 0, new->kernel.label, ret, e);
}

/* ---- the ends ---- */

static int end_failed(const struct seen *s)
{
	fprintf(stderr, "kdelta: %s is an end and cannot be measured (%s): give another one\n",
		s->kernel.shown, s->result.why);
	return CMD_PARTIAL;
}

/* Measures both ends; *ret_code: nothing more to do. */
static int see_ends(struct search *x, bool *ret_over, int *ret_code, struct error *e)
{
	struct bisect_step step;
	struct seen *good, *bad;
	const char *id = x->b->experiment;
	struct str what = STR_INIT;
	char a[40], b[40];
	int r;

	*ret_over = true;
	*ret_code = CMD_PARTIAL;
	policy->next(x->policy, &step);
	r = see(x, x->s->good, &good, e);
	if (r < 0)
		return r;
	if (!good->result.ok) {
		*ret_code = end_failed(good);
		return 0;
	}
	good->word = BISECT_GOOD;
	r = bisect_judge(x->b, &id, 1, NULL, 0, good->kernel.label, &good->judged, e);
	if (r < 0)
		return r;
	tell(x, good, step.left, "the good end");
	r = see(x, x->s->history.n - 1, &bad, e);
	good = good_end(x);
	if (r < 0)
		return r;
	if (!bad->result.ok) {
		*ret_code = end_failed(bad);
		return 0;
	}
	r = judge(x, good, bad, &bad->judged, e);
	if (r < 0)
		return r;
	bad->word = bad->judged.word;
	policy->see(x->policy, &(struct bisect_seen){ bad->node, bad->word });
	tell(x, bad, step.left - 1, bad->word == BISECT_BAD ? "the bad end" : "the other end");
	if (bad->word == BISECT_BAD) {
		*ret_over = false;
		return 0;
	}
	bisect_metric_text(x->b, &what);
	bisect_number(good->judged.new, a);
	bisect_number(bad->judged.new, b);
	if (bad->word == BISECT_SKIP) {
		fprintf(stderr,
			"kdelta: %s: it cannot be told whether the two ends differ (%s and %s): "
			"%s\n",
			str_get(&what), a, b, bad->judged.why);
		str_done(&what);
		return 0;
	}
	str_reset(&what);
	str_add(&what, "There is nothing to find: ");
	bisect_metric_text(x->b, &what);
	str_printf(&what, ", is %s at %s and %s at %s", a, good->kernel.shown, b,
		   bad->kernel.shown);
	if (bad->judged.verdict == VERDICT_SAME)
		str_add(&what, ": the same.\n");
	else if (bad->judged.verdict == VERDICT_WITHIN)
		str_add(&what, ": within perturbation.\n");
	else
		str_printf(&what, ": no more than %s apart.\n", x->b->threshold_text);
	*ret_code = cmd_print(&what, CMD_OK);
	return 0;
}

/* ---- between them ---- */

/*
 * What overlaps with both ends could be either; with the good one alone it is good. An end is
 * never asked for again.
 */
static int judge_between(struct search *x, struct seen *s, struct error *e)
{
	struct bisect_judged other;
	int r = judge(x, good_end(x), s, &s->judged, e);

	s->word = s->judged.word;
	if (r < 0 || s->judged.verdict != VERDICT_WITHIN || s->word != BISECT_GOOD)
		return r;
	r = judge(x, &x->seen[1], s, &other, e);
	if (!r && other.verdict != VERDICT_MORE && other.verdict != VERDICT_FEWER) {
		s->word = BISECT_SKIP;
		snprintf(s->judged.why, sizeof(s->judged.why), "within perturbation of both ends");
	}
	return r;
}

static const char *word_name(enum bisect_word w)
{
	return w == BISECT_GOOD ? "good" : w == BISECT_BAD ? "bad" : "undecided";
}

static int see_between(struct search *x, struct bisect_step *step, struct error *e)
{
	struct seen *s;
	int r = 0;

	for (;;) {
		policy->next(x->policy, step);
		if (step->what != BISECT_MEASURE)
			return 0;
		r = see(x, step->node, &s, e);
		if (!r && s->result.ok)
			r = judge_between(x, s, e);
		else
			s->word = BISECT_SKIP;
		if (r < 0)
			return r;
		x->skipped += s->word == BISECT_SKIP;
		policy->see(x->policy, &(struct bisect_seen){ s->node, s->word });
		/* How much is left is known when it is seen what this one was. */
		policy->next(x->policy, step);
		tell(x, s, step->left, word_name(s->word));
	}
}

/* ---- what it came to ---- */

/* Its good side: a parent that was measured; of a merge perhaps none was, so the first one is. */
static int last_good(struct search *x, unsigned first_bad, struct seen **ret, struct error *e)
{
	const struct bisect_history *h = &x->s->history;
	unsigned from = h->first ? h->first[first_bad] : 0;
	unsigned n = h->first ? h->first[first_bad + 1] - from : 1, k, parent;
	struct seen *s = NULL;
	int r;

	*ret = NULL;
	for (k = 0; k < n && !s; k++)
		s = find(x, h->first ? h->parents[from + k] : first_bad - 1);
	if (!n)
		return 0;
	parent = h->first ? h->parents[from] : first_bad - 1;
	if (!s) {
		r = see(x, parent, &s, e);
		if (!r && s->result.ok)
			r = judge(x, good_end(x), s, &s->judged, e);
		if (r < 0)
			return r;
		s->word = s->result.ok ? s->judged.word : BISECT_SKIP;
		tell(x, s, 0, word_name(s->word));
	}
	if (s->result.ok)
		*ret = s;
	return 0;
}

static void line_of(const struct seen *s, const char *what, struct str *out)
{
	char number[40];

	bisect_number(s->judged.new, number);
	str_printf(out, "  %-10s %10s  %s\n", what, s->result.ok ? number : "-", s->kernel.shown);
}

static void tell_count(const struct search *x, struct str *out)
{
	unsigned kernels = x->s->history.n, i;

	/* What stands at the edge of a history was not asked about. */
	for (i = 0; x->s->taken_good && i < x->s->history.n; i++)
		kernels -= x->s->taken_good[i] && i != x->s->good;
	str_printf(out, "%zu of %u %s were measured%s", x->n - x->skipped, kernels,
		   x->s->commits ? "commits" : "kernels", x->skipped ? "" : ".\n");
	if (x->skipped)
		str_printf(out, ", %u skipped.\n", x->skipped);
}

/* What `kdelta profile GOOD BAD` prints. */
static int profile(const struct search *x, const struct seen *good, const struct seen *bad,
		   int code)
{
	const struct bisect *b = x->b;
	struct words argv = { NULL, 0, 0 };
	const char *const words[] = { "profile",
				      "-e",
				      b->name,
				      str_starts(b->metric, "total") ? "--total" : NULL,
				      b->m.store_path ? "--store" : NULL,
				      b->m.store_path,
				      "--",
				      good->kernel.label,
				      bad->kernel.label };
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!words[i])
			continue;
		argv.items = mem_grow(argv.items, argv.n + 1, &argv.cap, sizeof(*argv.items));
		argv.items[argv.n++] = mem_strdup(words[i]);
		argv.items[argv.n] = NULL;
	}
	r = cmd_profile((int)argv.n, argv.items);
	words_done(&argv);
	return r ? CMD_PARTIAL : code;
}

static int found(struct search *x, unsigned node, struct error *e)
{
	struct seen *bad, *good;
	struct str out = STR_INIT;
	struct bisect_judged step;
	char number[40], diff[42];
	int r = last_good(x, node, &good, e), code;

	bad = find(x, node); /* the list may have moved */
	if (r < 0)
		return r;
	if (!good)
		good = good_end(x);
	r = judge(x, good, bad, &step, e);
	if (r < 0)
		return r;
	bisect_metric_text(x->b, &out);
	str_add(&out, ", moved here:\n");
	line_of(good, "last good", &out);
	line_of(bad, "first bad", &out);
	bisect_number(step.diff, number);
	snprintf(diff, sizeof(diff), "%s%s", step.diff > 0 ? "+" : "", number);
	str_printf(&out, "  %-10s %10s  %s\n", "", diff, verdict_name(step.verdict));
	if (good->word != BISECT_GOOD)
		str_add(&out,
			"The one before, taken for good, is not: the metric moves to and fro here, and "
			"this\nis one of its moves.\n");
	tell_count(x, &out);
	str_add_c(&out, '\n');
	code = cmd_print(&out, CMD_OK);
	code = profile(x, good, bad, code);
	str_printf(&out, "\nWhat else differs: kdelta compare -e ");
	cmd_quote(&out, x->b->name);
	str_add_c(&out, ' ');
	cmd_quote(&out, good->kernel.label);
	str_add_c(&out, ' ');
	cmd_quote(&out, bad->kernel.label);
	if (x->b->m.store_path) {
		str_add(&out, " --store ");
		cmd_quote(&out, x->b->m.store_path);
	}
	str_printf(&out, "\nReproduce: %s\n", x->s->command);
	return cmd_print(&out, code);
}

static int ambiguous(struct search *x, const struct bisect_step *step, struct error *e)
{
	struct str out = STR_INIT;
	struct seen *s;
	unsigned i;

	bisect_metric_text(x->b, &out);
	str_printf(&out, ", moved at one of these %u, all but the last of which were skipped:\n",
		   step->n_suspects);
	s = !x->s->history.first && step->suspects[0] ? find(x, step->suspects[0] - 1) : NULL;
	if (s)
		line_of(s, "last good", &out);
	for (i = 0; i < step->n_suspects; i++) {
		s = find(x, step->suspects[i]);
		line_of(s, i + 1 < step->n_suspects ? "skipped" : "bad", &out);
		if (i + 1 < step->n_suspects)
			str_printf(&out, "  %-10s %10s  %s\n", "", "",
				   s->result.ok ? s->judged.why : s->result.why);
	}
	tell_count(x, &out);
	(void)e;
	return cmd_print(&out, CMD_PARTIAL);
}

static int search(struct search *x, struct error *e)
{
	struct bisect_step step;
	bool over;
	int code, r = see_ends(x, &over, &code, e);

	if (r < 0 || over)
		return r < 0 ? r : code;
	r = see_between(x, &step, e);
	if (r < 0)
		return r;
	return step.what == BISECT_FOUND ? found(x, step.node, e) : ambiguous(x, &step, e);
}

static int dry_run(struct search *x, struct error *e)
{
	unsigned ends[3] = { x->s->good, x->s->history.n - 1, 0 }, i;
	struct bisect_step step;
	struct str out = STR_INIT, what = STR_INIT;

	policy->see(x->policy, &(struct bisect_seen){ x->s->history.n - 1, BISECT_BAD });
	policy->next(x->policy, &step);
	bisect_metric_text(x->b, &what);
	str_printf(&out, "Would seek where this moves: %s%s%s.\n", str_get(&what),
		   x->b->threshold > 0 ? ", by more than " : "",
		   x->b->threshold > 0 ? x->b->threshold_text : "");
	str_done(&what);
	str_printf(
		&out,
		"%s %u of %u %s, each once, with %u perturbations; one that fails costs one more."
		"\n",
		x->s->commits ? "Would build and boot about" : "Would boot about", step.left + 2,
		step.n_suspects + 1, x->s->commits ? "commits" : "kernels",
		(unsigned)x->b->xo.perturb);
	ends[2] = step.node;
	for (i = 0; i < (step.what == BISECT_MEASURE ? 3 : 2) && !error_is_set(e); i++) {
		struct bisect_kernel k = { .text = NULL };

		if (!x->s->kernel(x->s->arg, ends[i], &k, e))
			str_printf(&out, "  %-10s %s\n",
				   i == 0   ? "good end"
				   : i == 1 ? "bad end"
					    : "then",
				   k.shown);
		bisect_kernel_done(&k);
	}
	if (error_is_set(e)) {
		str_done(&out);
		return -e->code;
	}
	return cmd_print(&out, CMD_OK);
}

static int run(struct search *x, struct error *e)
{
	int r = bisect_open(x->b, x->s->commits ? "bisect-git" : "bisect", x->s->command, e);

	if (r < 0)
		return r;
	if (!x->b->m.quiet)
		fprintf(stderr, "experiment %s%s\n", x->b->name,
			x->b->goes_on ? ", which goes on" : "");
	return search(x, e);
}

int bisect_search(struct bisect *b, const struct bisect_subject *s)
{
	struct search x = { .b = b, .s = s };
	struct error err = ERROR_INIT;
	unsigned i;
	size_t k;
	int r = policy->begin(&s->history, &x.policy, &err);

	if (!r) {
		policy->see(x.policy, &(struct bisect_seen){ s->good, BISECT_GOOD });
		for (i = 0; s->taken_good && i < s->history.n; i++)
			if (s->taken_good[i])
				policy->see(x.policy, &(struct bisect_seen){ i, BISECT_GOOD });
		r = b->m.dry_run ? dry_run(&x, &err) : run(&x, &err);
		policy->end(x.policy);
	}
	if (r == -ECANCELED || (r < 0 && *cmd_stop())) {
		fprintf(stderr, "kdelta: interrupted; the same command goes on where it was\n");
		r = CMD_PARTIAL;
	} else if (r < 0) {
		cmd_bad(&err);
		if (x.n > 1)
			fputs("kdelta: what was measured is kept: the same command goes on where "
			      "it was\n",
			      stderr);
		r = x.n > 1 ? CMD_PARTIAL : CMD_USAGE;
	}
	for (k = 0; k < x.n; k++)
		bisect_kernel_done(&x.seen[k].kernel);
	free(x.seen);
	return r;
}
