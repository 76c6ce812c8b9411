/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plugin writes, read strictly; and put down to symbols with nothing lost. */
#include "counts_fixture.h"

#include <errno.h>

/* ---- reading ---- */

static void counts_are_read(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_counts c;

	(void)state;
	OK(exact_counts_parse(COUNTS, strlen(COUNTS), &a, &c, e));
	assert_int_equal(c.api, 4);
	assert_true(c.windows.contexts);
	assert_int_equal(c.windows.n, 4);
	assert_true(c.windows.list[0].overhead && !c.windows.list[1].overhead);
	assert_int_equal(c.windows.list[1].task, 100);
	assert_int_equal(c.windows.list[1].softirq, 2);
	assert_int_equal(c.windows.list[1].ops, 0);
	assert_int_equal(c.windows.list[3].hardirq, 30);
	assert_int_equal(c.windows.list[3].kernel, 80);
	assert_int_equal(c.windows.list[2].rep_iterations, 40);
	assert_int_equal(c.windows.list[3].interrupts, 1);
	assert_int_equal(c.windows.list[3].switches, 2);
	assert_int_equal(c.n, 14);
	assert_true(c.list[0].addr == 0 && c.list[0].count[EXACT_CLEAN] == 100);
	assert_true(c.list[2].addr == BASE + 0x10 && c.list[2].target == BASE + 0x100);
	assert_int_equal(c.list[2].count[EXACT_OTHER], 9);
	assert_int_equal(c.list[4].rep_iterations[EXACT_CLEAN], 80);
	assert_int_equal(c.list[4].target, 0);
	arena_done(&a);
}

#define HEAD "kdelta-plugin 1 api 2 contexts yes\n"
#define ONE  "window batch 7 0 0 0 0 5 2 3 0 0\n"
#define USER "count 0 2 0 0 0 -\n"
#define K1   "count f000000000000000 5 0 3 0 -\n"
#define BIG  "9223372036854775807"

static void other_texts_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "\n", "line 1: not the head" },
		{ "end\n", "line 1: not the head" },
		{ "kdelta-plugin x api 2 contexts yes\n", "line 1: not the head" },
		{ "kdelta-plugin 2 api 2 contexts yes\nend\n", "line 1: counts in format 2" },
		{ "kdelta-plugin 1 api 1001 contexts yes\nend\n", "line 1: not the head" },
		{ "kdelta-plugin 1 api 2 contexts maybe\nend\n", "line 1: contexts are neither" },
		{ "kdelta-plugin 1 api 2 contexts yes \nend\n", "line 1: contexts are neither" },
		{ HEAD, "line 2: the end is missing" },
		{ HEAD ONE USER K1, "line 5: the end is missing" },
		{ HEAD ONE USER K1 "end", "line 5: cut off" },
		{ HEAD ONE USER K1 "en", "line 5: cut off" },
		{ HEAD ONE USER K1 "end\n\n", "line 6: behind the end" },
		{ HEAD ONE USER K1 "end\nend\n", "line 6: behind the end" },
		{ HEAD ONE USER K1 "end \n", "line 5: neither window, count nor end" },
		{ HEAD HEAD "end\n", "line 2: neither window, count nor end" },
		{ HEAD "\nend\n", "line 2: neither window" },
		{ HEAD "window batch 7 0 0 0 0 5 2 3 0\nend\n", "line 2: not a window" },
		{ HEAD "window batch 7 0 0 0 0 5 2 3 0 0 0\nend\n", "line 2: not a window" },
		{ HEAD "window pause 7 0 0 0 0 5 2 3 0 0\nend\n", "line 2: not a window" },
		{ HEAD "window batch 7 0 0 0 0 5 2 3 0 \nend\n", "line 2: not a window" },
		{ HEAD "window batch  7 0 0 0 0 5 2 3 0 0\nend\n", "line 2: not a window" },
		{ HEAD "window batch 07 0 0 0 0 5 2 3 0 0\nend\n", "line 2: not a window" },
		{ HEAD "window batch -7 0 0 0 0 5 2 3 0 0\nend\n", "line 2: not a window" },
		{ HEAD "window batch 9223372036854775808 0 0 0 0 5 2 3 0 0\nend\n",
		  "line 2: not a window" },
		{ HEAD "window batch 99999999999999999999 0 0 0 0 5 2 3 0 0\nend\n",
		  "line 2: not a window" },
		{ HEAD "window batch 7 0 0 0 0 4 2 3 0 0\nend\n",
		  "line 2: 7 instructions by context, 6 by address" },
		{ HEAD "window batch " BIG " 1 0 0 0 5 2 3 0 0\nend\n", "line 2: the sums" },
		{ HEAD "window batch 7 0 0 0 0 5 2 " BIG " 0 0\nend\n", "line 2: the sums" },
		{ HEAD "window overhead " BIG " 0 0 0 0 " BIG " 0 0 0 0\n"
		       "window overhead 1 0 0 0 0 1 0 0 0 0\nend\n",
		  "line 3: the sums" },
		{ HEAD ONE USER "window batch 7 0 0 0 0 5 2 3 0 0\n" K1 "end\n",
		  "line 4: a window behind counts" },
		{ HEAD ONE USER "count f000000000000000 5 0 3 0\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count f000000000000000 5 0 3 0 \nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count f000000000000000 5 0 3 0 0\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count f000000000000000 5 0 3 0 - \nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count F000000000000000 5 0 3 0 -\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count f0000000000000000 5 0 3 0 -\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count 0f00000000000000 5 0 3 0 -\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count 0xf0 5 0 3 0 -\nend\n", "line 4: not a count" },
		{ HEAD ONE USER "count  5 0 3 0 -\nend\n", "line 4: not a count" },
		{ HEAD ONE K1 USER "end\n", "line 4: addresses do not ascend" },
		{ HEAD ONE USER K1 K1 "end\n", "line 5: addresses do not ascend" },
		{ HEAD ONE "count 1 " BIG " 0 0 0 -\ncount 2 1 0 0 0 -\nend\n",
		  "line 4: the sums" },
		{ HEAD ONE "count 1 1 0 " BIG " 0 -\ncount 2 1 0 1 0 -\nend\n",
		  "line 4: the sums" },
		/* Where they executed, and in which windows, must agree. */
		{ HEAD ONE K1 "end\n", "instructions in user space of clean windows: 2 in the" },
		{ HEAD ONE USER "end\n", "instructions in the kernel of clean windows: 5 in the" },
		{ HEAD ONE USER "count f0 5 0 2 0 -\nend\n",
		  "iterations of clean windows: 3 in the windows, 2 in the counts" },
		{ HEAD ONE USER "count f0 5 1 3 0 -\nend\n",
		  "instructions in the kernel of other windows: 0 in the windows, 1" },
		{ HEAD "window batch 4 3 0 0 0 5 2 3 1 0\n" USER K1 "end\n",
		  "instructions in the kernel of clean windows: 0 in the windows, 5" },
		{ HEAD "window batch 7 0 0 0 0 5 2 3 1 0\n" USER K1 "end\n", "clean windows: 0" },
		{ HEAD "window batch 4 0 0 3 0 5 2 3 0 0\n" USER K1 "end\n", "clean windows: 0" },
		{ HEAD "window overhead 7 0 0 0 0 5 2 3 0 0\n" USER K1 "end\n",
		  "clean windows: 0" },
		{ "kdelta-plugin 1 api 2 contexts no\nwindow batch 4 0 0 0 3 5 2 3 0 0\n" USER K1
		  "end\n",
		  "line 2: contexts, which the first line denies" },
		{ "kdelta-plugin 1 api 2 contexts no\nwindow batch 7 0 0 0 0 5 2 3 0 1\n" USER K1
		  "end\n",
		  "line 2: contexts, which the first line denies" },
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error e = ERROR_INIT;
		struct exact_counts c;

		if (exact_counts_parse(bad[i].text, strlen(bad[i].text), &a, &c, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(e.text, bad[i].why) || !str_starts(e.text, "the plugin's counts: line"))
			fail_msg("%s: %s", bad[i].text, e.text);
	}
	arena_done(&a);
}

/* The same as above, but right; and what else is. */
static void right_texts_are_taken(void **state)
{
	static const char *const good[] = {
		HEAD "end\n",
		HEAD ONE USER K1 "end\n",
		HEAD
		"window batch 7 0 0 0 0 5 2 3 0 0\nwindow overhead 9 1 0 0 0 5 5 3 1 0\n" USER K1
		"end\n",
		HEAD "window batch 4 0 1 0 2 5 2 3 0 5\n" USER K1 "end\n",
		HEAD "window batch 4 0 0 3 0 5 2 3 0 0\n"
		     "count 0 0 2 0 0 -\ncount f000000000000000 0 5 0 3 1\nend\n",
		HEAD "window batch 0 0 0 0 0 0 0 0 0 0\nend\n",
		"kdelta-plugin 1 api 1 contexts no\n" ONE USER K1 "end\n",
		HEAD "window batch " BIG " 0 0 0 0 " BIG " 0 0 0 0\ncount ffffffffffffffff " BIG
		     " 0 0 0 ffffffffffffffff\nend\n",
	};
	struct arena a = ARENA_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct exact_counts c;

		OK(exact_counts_parse(good[i], strlen(good[i]), &a, &c, e));
	}
	FAILS(ENODATA, "never finished",
	      exact_counts_parse("", 0, &a, &(struct exact_counts){ 0 }, e));
	arena_done(&a);
}

/* Wherever the file is cut off, it is not taken. */
static void no_part_is_a_whole(void **state)
{
	struct arena a = ARENA_INIT;
	size_t n;

	(void)state;
	for (n = 1; n < strlen(COUNTS); n++) {
		CLEANUP_FREE char *part = mem_dup(COUNTS, n);
		struct exact_counts c;

		assert_int_equal(exact_counts_parse(part, n, &a, &c, NULL), -EINVAL);
	}
	arena_done(&a);
}

/* ---- attribution ---- */

static const struct exact_symbol *named(const struct exact_profile *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->symbols[i].name, name))
			return &p->symbols[i];
	return NULL;
}

static void is_symbol(const struct exact_profile *p, const char *name, uint64_t at, uint64_t clean,
		      uint64_t other, uint64_t calls, uint64_t other_calls)
{
	const struct exact_symbol *s = named(p, name);

	if (!s)
		fail_msg("no %s", name);
	assert_int_equal(s->addr, at);
	assert_int_equal(s->count[EXACT_CLEAN], clean);
	assert_int_equal(s->count[EXACT_OTHER], other);
	assert_int_equal(s->calls[EXACT_CLEAN], calls);
	assert_int_equal(s->calls[EXACT_OTHER], other_calls);
}

static void is_edge(const struct exact_profile *p, size_t i, const char *from, const char *to,
		    uint64_t clean, uint64_t other)
{
	assert_true(i < p->n_edges);
	assert_string_equal(p->symbols[p->edges[i].from].name, from);
	assert_string_equal(p->symbols[p->edges[i].to].name, to);
	assert_int_equal(p->edges[i].calls[EXACT_CLEAN], clean);
	assert_int_equal(p->edges[i].calls[EXACT_OTHER], other);
}

static void same_sums(const struct exact_counts *c, const struct exact_profile *p)
{
	for (int in = 0; in < EXACT_IN; in++) {
		uint64_t sum = 0, reps = 0, want = 0, want_reps = 0;

		for (size_t i = 0; i < p->n; i++) {
			sum += p->symbols[i].count[in];
			reps += p->symbols[i].rep_iterations[in];
		}
		for (size_t i = 0; i < c->windows.n; i++) {
			const struct exact_window *w = &c->windows.list[i];

			if (w->overhead || exact_window_clean(w) != (in == EXACT_CLEAN))
				continue;
			want += exact_window_sum(w);
			want_reps += w->rep_iterations;
		}
		assert_int_equal(sum, want);
		assert_int_equal(reps, want_reps);
	}
}

static void counts_go_to_their_symbols(void **state)
{
	struct symbols *s = symbols_of(few, ARRAY_SIZE(few));
	struct arena a = ARENA_INIT;
	struct exact_counts c;
	struct exact_profile p;

	(void)state;
	OK(exact_counts_parse(COUNTS, strlen(COUNTS), &a, &c, e));
	for (size_t i = 0; i < c.windows.n; i++)
		c.windows.list[i].ops = i + 1;
	OK(exact_profile_make(&c, s, &a, &p, e));
	symbols_free(s); /* names are the profile's own */
	assert_int_equal(p.ops[EXACT_CLEAN], 2 + 3);
	assert_int_equal(p.ops[EXACT_OTHER], 4);
	assert_int_equal(p.windows[EXACT_CLEAN], 2);
	assert_int_equal(p.windows[EXACT_OTHER], 1);
	assert_int_equal(p.n, 8);
	is_symbol(&p, "[user]", 0, 100, 0, 0, 0);
	is_symbol(&p, "entry", BASE, 30, 10, 4, 1);
	is_symbol(&p, "f", BASE + 0x100, 66, 13, 26, 9);
	is_symbol(&p, "f.cold", BASE + 0x180, 0, 5, 0,
		  0); /* not folded, and never from its start */
	is_symbol(&p, "g", BASE + 0x200, 8, 7, 4, 7);
	/* The piece begins where the symbol before it ends; data has no code. */
	is_symbol(&p, "0xffffffff8100024c", BASE + 0x24c, 2, 0, 0, 0);
	is_symbol(&p, "0xffffffff81000280", BASE + 0x280, 3, 0, 0, 0);
	is_symbol(&p, "m_one", BASE + 0x10000, 0, 45, 0, 41);
	assert_string_equal(named(&p, "m_one")->module, "m");
	assert_null(named(&p, "f")->module);
	assert_int_equal(named(&p, "f")->rep_iterations[EXACT_CLEAN], 80);
	assert_false(exact_symbol_has_calls(&p.symbols[0]));
	assert_false(exact_symbol_has_calls(named(&p, "0xffffffff81000280")));
	assert_true(exact_symbol_has_calls(named(&p, "g")));
	same_sums(&c, &p);
	arena_done(&a);
}

static void jumps_become_edges(void **state)
{
	struct symbols *s = symbols_of(few, ARRAY_SIZE(few));
	struct arena a = ARENA_INIT;
	struct exact_counts c;
	struct exact_profile p;

	(void)state;
	OK(exact_counts_parse(COUNTS, strlen(COUNTS), &a, &c, e));
	OK(exact_profile_make(&c, s, &a, &p, e));
	/*
	 * Dropped: the jump inside of f, what goes to unknown code (f290) and to what never ran
	 * (g + 10). No more than arrived: 2 at g + 0 in other windows are fewer than 7.
	 */
	assert_int_equal(p.n_edges, 6);
	is_edge(&p, 0, "entry", "f", 26, 9);
	is_edge(&p, 1, "f", "g", 4, 2);
	is_edge(&p, 2, "f.cold", "f", 0, 2); /* back into the middle: of 5 begun 2 arrived */
	is_edge(&p, 3, "g", "f", 4, 7);
	is_edge(&p, 4, "g", "g", 4, 0); /* recursion */
	is_edge(&p, 5, "0xffffffff8100024c", "g", 2, 0);
	symbols_free(s);
	arena_done(&a);
}

/* Several calls of one function from another are one edge. */
static void edges_are_merged(void **state)
{
	static const char text[] = HEAD "window batch 12 0 0 0 0 12 0 0 0 0\n"
					"count ffffffff81000000 3 0 0 0 ffffffff81000200\n"
					"count ffffffff81000008 2 0 0 0 ffffffff81000100\n"
					"count ffffffff81000010 2 0 0 0 ffffffff81000200\n"
					"count ffffffff81000100 0 0 0 0 -\n"
					"count ffffffff81000200 5 0 0 0 -\n"
					"end\n";
	struct symbols *s = symbols_of(few, ARRAY_SIZE(few));
	struct arena a = ARENA_INIT;
	struct exact_counts c;
	struct exact_profile p;

	(void)state;
	OK(exact_counts_parse(text, strlen(text), &a, &c, e));
	OK(exact_profile_make(&c, s, &a, &p, e));
	assert_int_equal(p.n, 2); /* f has a line, but executed nothing */
	assert_int_equal(p.n_edges, 1);
	is_edge(&p, 0, "entry", "g", 5, 0);
	symbols_free(s);
	arena_done(&a);
}

static void without_symbols_pieces_remain(void **state)
{
	struct arena a = ARENA_INIT;
	struct exact_counts c;
	struct exact_profile p;

	(void)state;
	OK(exact_counts_parse(COUNTS, strlen(COUNTS), &a, &c, e));
	OK(exact_profile_make(&c, NULL, &a, &p, e));
	assert_string_equal(p.symbols[0].name, "[user]");
	is_symbol(&p, "0xffffffff81000100", BASE + 0x100, 66, 13, 0, 0);
	is_symbol(&p, "0xffffffff81000180", BASE + 0x180, 0, 5, 0, 0);
	assert_int_equal(p.n_edges, 0);
	same_sums(&c, &p);
	/* A kernel with no symbol at all is the same. */
	{
		struct symbols *none = symbols_of(few, 0);
		struct exact_profile other;

		OK(exact_profile_make(&c, none, &a, &other, e));
		assert_int_equal(other.n, p.n);
		symbols_free(none);
	}
	arena_done(&a);
}

/* What was made is what is stored. */
static void profiles_are_fit_to_be_stored(void **state)
{
	struct symbols *s = symbols_of(few, ARRAY_SIZE(few));
	struct arena a = ARENA_INIT;
	struct exact_profile p, again;
	struct exact_counts c;
	json_t *j;

	(void)state;
	OK(exact_counts_parse(COUNTS, strlen(COUNTS), &a, &c, e));
	OK(exact_profile_make(&c, s, &a, &p, e));
	j = exact_profile_encode("1", &p);
	OK(exact_profile_decode(j, &a, &again, e));
	assert_int_equal(again.n, p.n);
	assert_int_equal(again.n_edges, p.n_edges);
	json_decref(j);
	symbols_free(s);
	arena_done(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_read),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(right_texts_are_taken),
		cmocka_unit_test(no_part_is_a_whole),
		cmocka_unit_test(counts_go_to_their_symbols),
		cmocka_unit_test(jumps_become_edges),
		cmocka_unit_test(edges_are_merged),
		cmocka_unit_test(without_symbols_pieces_remain),
		cmocka_unit_test(profiles_are_fit_to_be_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
