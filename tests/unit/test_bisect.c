/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy of `kdelta bisect`: which kernel is next, and what it comes to. */
#include "plan/bisect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define MOST 33u

/* What a search came to. */
struct outcome {
	enum bisect_what what;
	unsigned node, measured, skips;
	unsigned suspects[64], n_suspects;
};

static unsigned log2_up(unsigned n)
{
	unsigned r = 0;

	while (1u << r < n)
		r++;
	return r;
}

/* Plays a search: `words` is the truth of each node. Never is a node asked for twice. */
static struct outcome play(const struct bisect_history *h, const enum bisect_word *words)
{
	const struct bisect_policy *p = &bisect_halving;
	CLEANUP_FREE bool *asked = mem_array(h->n, sizeof(*asked));
	struct outcome out = { .measured = 0 };
	struct bisect_step step;
	void *search;

	assert_int_equal(p->begin(h, &search, NULL), 0);
	p->see(search, &(struct bisect_seen){ .node = 0, .word = words[0] });
	p->see(search, &(struct bisect_seen){ .node = h->n - 1, .word = words[h->n - 1] });
	asked[0] = asked[h->n - 1] = true;
	for (;;) {
		p->next(search, &step);
		if (step.what != BISECT_MEASURE)
			break;
		assert_true(step.node < h->n);
		assert_false(asked[step.node]);
		assert_true(step.left >= 1);
		asked[step.node] = true;
		out.measured++;
		out.skips += words[step.node] == BISECT_SKIP;
		p->see(search, &(struct bisect_seen){ step.node, words[step.node] });
	}
	out.what = step.what;
	out.node = step.node;
	assert_true(step.n_suspects <= 64);
	out.n_suspects = step.n_suspects;
	memcpy(out.suspects, step.suspects, step.n_suspects * sizeof(*step.suspects));
	p->end(search);
	return out;
}

static void list_words(enum bisect_word *words, unsigned n, unsigned first_bad)
{
	unsigned i;

	for (i = 0; i < n; i++)
		words[i] = i < first_bad ? BISECT_GOOD : BISECT_BAD;
}

/* The answer, whatever was skipped: exact where both neighbours of the step could be told. */
static void check_list(const enum bisect_word *words, unsigned n, unsigned first_bad)
{
	struct bisect_history h = { .n = n };
	struct outcome o = play(&h, words);
	unsigned low = first_bad, high = first_bad, i;

	while (words[high] == BISECT_SKIP)
		high++;
	while (words[low - 1] == BISECT_SKIP)
		low--;
	assert_int_equal(o.node, high);
	assert_int_equal(o.what, low == high ? BISECT_FOUND : BISECT_AMBIGUOUS);
	assert_int_equal(o.n_suspects, high - low + 1);
	for (i = 0; i < o.n_suspects; i++)
		assert_int_equal(o.suspects[i], low + i);
	/* Each skip costs itself, and a half that is less equal: at most one more. */
	assert_true(o.measured <= log2_up(n - 1) + 2 * o.skips);
}

static void every_step_of_every_list(void **state)
{
	enum bisect_word words[MOST];
	unsigned n, bad;

	(void)state;
	for (n = 2; n <= MOST; n++) {
		for (bad = 1; bad < n; bad++) {
			struct bisect_history h = { .n = n };
			struct outcome o;

			list_words(words, n, bad);
			o = play(&h, words);
			assert_int_equal(o.what, BISECT_FOUND);
			assert_int_equal(o.node, bad);
			assert_int_equal(o.n_suspects, 1);
			/* With the two ends: log2, rounded up, and 2. */
			assert_true(o.measured <= log2_up(n - 1));
		}
	}
}

static void one_kernel_is_skipped(void **state)
{
	enum bisect_word words[MOST];
	unsigned n, bad, skip;

	(void)state;
	for (n = 3; n <= MOST; n++) {
		for (bad = 1; bad < n; bad++) {
			for (skip = 1; skip + 1 < n; skip++) {
				list_words(words, n, bad);
				words[skip] = BISECT_SKIP;
				check_list(words, n, bad);
			}
		}
	}
}

static void two_kernels_are_skipped(void **state)
{
	enum bisect_word words[MOST];
	unsigned n, bad, skip, other;

	(void)state;
	for (n = 4; n <= MOST; n += n < 12 ? 1 : 7) {
		for (bad = 1; bad < n; bad++) {
			for (skip = 1; skip + 2 < n; skip++) {
				for (other = skip + 1; other + 1 < n; other++) {
					list_words(words, n, bad);
					words[skip] = words[other] = BISECT_SKIP;
					check_list(words, n, bad);
				}
			}
		}
	}
}

/* What does not build is often a whole stretch: it is leapt over, not felt along. */
static void a_stretch_is_leapt_over(void **state)
{
	enum { N = 1001 };
	CLEANUP_FREE enum bisect_word *words = mem_array(N, sizeof(*words));
	struct bisect_history h = { .n = N };
	struct outcome o;
	unsigned i;

	(void)state;
	list_words(words, N, 100);
	for (i = 450; i < 550; i++)
		words[i] = BISECT_SKIP;
	o = play(&h, words);
	assert_int_equal(o.what, BISECT_FOUND);
	assert_int_equal(o.node, 100);
	assert_true(o.skips < 10);
	assert_true(o.measured < 10 + 12);

	/* The step lies inside: all of it is suspected, and nothing else. */
	list_words(words, N, 500);
	for (i = 480; i < 520; i++)
		words[i] = BISECT_SKIP;
	o = play(&h, words);
	assert_int_equal(o.what, BISECT_AMBIGUOUS);
	assert_int_equal(o.node, 520);
	assert_int_equal(o.n_suspects, 41);
	assert_int_equal(o.suspects[0], 480);
}

static void all_between_is_skipped(void **state)
{
	enum bisect_word words[5] = { BISECT_GOOD, BISECT_SKIP, BISECT_SKIP, BISECT_SKIP,
				      BISECT_BAD };
	struct bisect_history h = { .n = 5 };
	struct outcome o = play(&h, words);

	(void)state;
	assert_int_equal(o.what, BISECT_AMBIGUOUS);
	assert_int_equal(o.n_suspects, 4);
	assert_int_equal(o.measured, 3);
}

static void ends_that_are_alike(void **state)
{
	enum bisect_word words[3] = { BISECT_GOOD, BISECT_BAD, BISECT_GOOD };
	struct bisect_history h = { .n = 3 };

	(void)state;
	assert_int_equal(play(&h, words).what, BISECT_NOTHING);
	words[2] = BISECT_SKIP;
	assert_int_equal(play(&h, words).what, BISECT_NOTHING);
	assert_int_equal(play(&h, words).n_suspects, 0);
}

/* The middle is first, and what is left is told: 32 kernels between are 5 boots. */
static void the_plan_can_be_told_beforehand(void **state)
{
	const struct bisect_policy *p = &bisect_halving;
	struct bisect_history h = { .n = 33 };
	struct bisect_step step;
	void *search;

	(void)state;
	assert_int_equal(p->begin(&h, &search, NULL), 0);
	/* Nothing was seen: the bad end is wanted. */
	p->next(search, &step);
	assert_int_equal(step.what, BISECT_MEASURE);
	assert_int_equal(step.node, 32);
	p->see(search, &(struct bisect_seen){ 0, BISECT_GOOD });
	p->next(search, &step);
	assert_int_equal(step.what, BISECT_MEASURE);
	assert_int_equal(step.node, 32);
	assert_int_equal(step.left, 6);
	p->see(search, &(struct bisect_seen){ 32, BISECT_BAD });
	p->see(search, &(struct bisect_seen){ 33, BISECT_BAD }); /* there is none */
	p->next(search, &step);
	assert_int_equal(step.what, BISECT_MEASURE);
	assert_int_equal(step.node, 16);
	assert_int_equal(step.left, 5);
	assert_int_equal(step.n_suspects, 32);
	/* Asked twice it says the same: nothing is drawn by lot. */
	p->next(search, &step);
	assert_int_equal(step.node, 16);
	/* The last word counts. */
	p->see(search, &(struct bisect_seen){ 16, BISECT_BAD });
	p->next(search, &step);
	assert_int_equal(step.node, 8);
	p->see(search, &(struct bisect_seen){ 16, BISECT_GOOD });
	p->next(search, &step);
	assert_int_equal(step.node, 24);
	p->end(search);
	p->end(NULL);
}

/*
 *	0 - 1 - 2 - 3 ------ 8 - 9 - 10
 *	 \                  /
 *	  4 - 5 - 6 - 7 ---+
 */
static const unsigned merge_parents[] = { 0, 1, 2, 0, 4, 5, 6, 3, 7, 8, 9 };
static const unsigned merge_first[] = { 0, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11 };

static bool has_ancestor(const struct bisect_history *h, unsigned node, unsigned wanted)
{
	unsigned k;

	if (node == wanted)
		return true;
	for (k = h->first[node]; k < h->first[node + 1]; k++)
		if (has_ancestor(h, h->parents[k], wanted))
			return true;
	return false;
}

static void graph_words(const struct bisect_history *h, enum bisect_word *words, unsigned bad)
{
	unsigned i;

	for (i = 0; i < h->n; i++)
		words[i] = has_ancestor(h, i, bad) ? BISECT_BAD : BISECT_GOOD;
}

static void histories_with_merges(void **state)
{
	struct bisect_history h = { .n = 11, .first = merge_first, .parents = merge_parents };
	enum bisect_word words[11];
	unsigned bad, skip;

	(void)state;
	for (bad = 1; bad < h.n; bad++) {
		struct outcome o;

		graph_words(&h, words, bad);
		o = play(&h, words);
		assert_int_equal(o.what, BISECT_FOUND);
		assert_int_equal(o.node, bad);
		assert_true(o.measured <= 5);
		for (skip = 1; skip + 1 < h.n; skip++) {
			graph_words(&h, words, bad);
			words[skip] = BISECT_SKIP;
			o = play(&h, words);
			/* One skip leaves two suspects at most, and only beside the step. */
			if (o.what == BISECT_AMBIGUOUS) {
				assert_int_equal(o.n_suspects, 2);
				assert_true(o.suspects[0] == bad || o.suspects[1] == bad);
				assert_true(o.suspects[0] == skip);
			} else {
				assert_int_equal(o.what, BISECT_FOUND);
				assert_int_equal(o.node, bad);
			}
		}
	}
}

/* Of 10 suspects 5 are 7 and what is before it, or 3 and ... : the one nearest to half is asked. */
static void the_half_of_a_history_is_counted_by_ancestors(void **state)
{
	const struct bisect_policy *p = &bisect_halving;
	struct bisect_history h = { .n = 11, .first = merge_first, .parents = merge_parents };
	struct bisect_step step;
	void *search;

	(void)state;
	assert_int_equal(p->begin(&h, &search, NULL), 0);
	p->see(search, &(struct bisect_seen){ 0, BISECT_GOOD });
	p->see(search, &(struct bisect_seen){ 10, BISECT_BAD });
	p->next(search, &step);
	/* 7 has 4 of the 10 behind it; the merge 8 has 8, 3 has 3. */
	assert_int_equal(step.node, 7);
	p->see(search, &(struct bisect_seen){ 7, BISECT_GOOD });
	p->next(search, &step);
	/* Left: 1 2 3 8 9 10. 3 has 3 of 6. */
	assert_int_equal(step.node, 3);
	assert_int_equal(step.n_suspects, 6);
	p->end(search);
}

/* Random histories, each commit with one or two parents anywhere before it. */
static void any_history_comes_to_its_end(void **state)
{
	enum { N = 40 };
	unsigned first[N + 1], parents[2 * N], round, i, n, bad;
	enum bisect_word words[N];
	uint64_t r = 12345;

	(void)state;
	for (round = 0; round < 60; round++) {
		struct bisect_history h = { .n = N, .first = first, .parents = parents };

		for (i = 0, n = 0; i < N; i++) {
			first[i] = n;
			r = r * 6364136223846793005ull + 1442695040888963407ull;
			if (i)
				parents[n++] = i - 1 - (unsigned)(r >> 33) % (i < 4 ? i : 4);
			if (i && (r >> 40) % 3 == 0)
				parents[n++] = (unsigned)(r >> 20) % i;
		}
		first[N] = n;
		for (bad = 1; bad < N; bad++) {
			struct outcome o;

			/* Only what the bad end comes from is in its history. */
			if (!has_ancestor(&h, N - 1, bad))
				continue;
			graph_words(&h, words, bad);
			o = play(&h, words);
			assert_int_equal(o.what, BISECT_FOUND);
			assert_int_equal(o.node, bad);
			assert_true(o.measured <= 10);
		}
	}
}

static void a_history_that_is_none(void **state)
{
	static const unsigned first[] = { 0, 1, 2 }, ring[] = { 1, 0 };
	struct bisect_history h = { .n = 0 };
	struct error err = ERROR_INIT;
	void *search;

	(void)state;
	assert_int_equal(bisect_halving.begin(&h, &search, &err), -EINVAL);
	assert_null(search);
	error_clear(&err);
	h = (struct bisect_history){ .n = 2, .first = first, .parents = ring };
	assert_int_equal(bisect_halving.begin(&h, &search, &err), -EINVAL);
	assert_non_null(strstr(err.text, "node 0"));
}

static void a_long_history_is_no_burden(void **state)
{
	enum { N = 20000 };
	CLEANUP_FREE unsigned *first = mem_array(N + 1, sizeof(*first));
	CLEANUP_FREE unsigned *parents = mem_array(2 * N, sizeof(*parents));
	CLEANUP_FREE enum bisect_word *words = mem_array(N, sizeof(*words));
	struct bisect_history h = { .n = N, .first = first, .parents = parents };
	unsigned i, n = 0;
	struct outcome o;

	(void)state;
	/* Two lines that meet every tenth commit. */
	for (i = 0; i < N; i++) {
		first[i] = n;
		if (i)
			parents[n++] = i < 2 ? 0 : i - 2;
		if (i > 2 && (i % 10 == 0 || i == N - 1))
			parents[n++] = i - 1;
		words[i] = i && (i == 777 || (n && words[parents[n - 1]] == BISECT_BAD) ||
				 words[parents[first[i]]] == BISECT_BAD)
				   ? BISECT_BAD
				   : BISECT_GOOD;
	}
	first[N] = n;
	o = play(&h, words);
	assert_int_equal(o.what, BISECT_FOUND);
	assert_int_equal(o.node, 777);
	assert_true(o.measured <= 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_of_every_list),
		cmocka_unit_test(one_kernel_is_skipped),
		cmocka_unit_test(two_kernels_are_skipped),
		cmocka_unit_test(a_stretch_is_leapt_over),
		cmocka_unit_test(all_between_is_skipped),
		cmocka_unit_test(ends_that_are_alike),
		cmocka_unit_test(the_plan_can_be_told_beforehand),
		cmocka_unit_test(histories_with_merges),
		cmocka_unit_test(the_half_of_a_history_is_counted_by_ancestors),
		cmocka_unit_test(any_history_comes_to_its_end),
		cmocka_unit_test(a_history_that_is_none),
		cmocka_unit_test(a_long_history_is_no_burden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
