/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin without QEMU: the test adds to the counters as translated code would, and calls what
 * QEMU would call. tests/plugin/ has the rest.
 */
#include "plugin/window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

#define KERNEL 0xffffffff81000000ull

struct guest {
	struct table *table;
	struct slots *slots;
	struct contexts *contexts;
	struct windows w;
};

static int set_up(void **state)
{
	struct guest *g = mem_alloc(sizeof(*g));

	g->table = table_new(false);
	g->slots = table_slots(g->table);
	g->contexts = contexts_new(g->slots);
	g->w = (struct windows){ .table = g->table, .contexts = g->contexts };
	*state = g;
	return 0;
}

static int tear_down(void **state)
{
	struct guest *g = *state;

	windows_done(&g->w);
	contexts_free(g->contexts);
	table_free(g->table);
	free(g);
	return 0;
}

static size_t block_at(struct guest *g, uint64_t addr, const char *lengths, uint64_t target)
{
	unsigned char bytes[16];
	size_t n = strlen(lengths), i, slot;

	for (i = 0; i < n; i++)
		bytes[i] = (unsigned char)(lengths[i] - '0');
	assert_int_equal(table_block(g->table, addr, bytes, n, target, &slot), 0);
	return slot;
}

/* Executes a block of n instructions. */
static void run_block(struct guest *g, size_t slot, uint64_t n, uint64_t times)
{
	*slots_cell(g->slots, slot) += times;
	*slots_cell(g->slots, SLOT_KERNEL) += n * times;
}

static void kernel(struct guest *g, uint64_t n)
{
	run_block(g, block_at(g, KERNEL + 0x1000, "1", 0), 1, n);
}

static void user(struct guest *g, uint64_t n)
{
	*slots_cell(g->slots, SLOT_USER) += n;
}

static void happens(struct guest *g, enum context_event event)
{
	context_happens(g->contexts, event);
}

static char *written(struct guest *g)
{
	static char text[4096];
	int fd = memfd_create("out", 0);
	ssize_t n;

	assert_int_equal(windows_write(&g->w, 1, fd), 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static void mark(struct guest *g, enum marker m)
{
	assert_int_equal(windows_mark(&g->w, m), 0);
}

/* ---- table ---- */

static void counts_by_address(void **state)
{
	struct guest *g = *state;
	size_t a = block_at(g, KERNEL, "125", KERNEL + 0x100), b, c, late;

	/* From its midst, and with another call: the code was patched. */
	b = block_at(g, KERNEL + 1, "25", KERNEL + 0x100);
	c = block_at(g, KERNEL + 1, "25", KERNEL + 0x200);
	assert_true(a != b && b != c);
	assert_true(block_at(g, KERNEL + 1, "25", KERNEL + 0x100) == b);

	run_block(g, a, 3, 100); /* before any window */
	mark(g, MARKER_OPEN_BATCH);
	user(g, 2);
	run_block(g, a, 3, 1);
	run_block(g, b, 2, 1);
	run_block(g, c, 2, 5);
	late = block_at(g, KERNEL + 0x100, "1", 0); /* translated in it */
	run_block(g, late, 1, 7);
	mark(g, MARKER_CLOSE_BATCH);
	run_block(g, a, 3, 100);
	mark(g, MARKER_OPEN_BATCH);
	happens(g, CONTEXT_HARDIRQ_ENTER);
	run_block(g, a, 3, 10);
	happens(g, CONTEXT_HARDIRQ_EXIT);
	mark(g, MARKER_CLOSE_BATCH);
	mark(g, MARKER_OPEN_OVERHEAD);
	run_block(g, a, 3, 1000);
	mark(g, MARKER_CLOSE_OVERHEAD);

	assert_string_equal(written(g), "kdelta-plugin 1 api 1 contexts yes\n"
					"window batch 24 0 0 0 0 22 2 0 0 0\n"
					"window batch 0 30 0 0 0 30 0 0 1 0\n"
					"window overhead 3000 0 0 0 0 3000 0 0 0 0\n"
					"count 0 2 0 0 0 -\n"
					"count ffffffff81000000 1 10 0 0 -\n"
					"count ffffffff81000001 7 10 0 0 -\n"
					"count ffffffff81000003 7 10 0 0 ffffffff81000100\n"
					"count ffffffff81000100 7 0 0 0 -\n"
					"end\n");
}

static void the_most_executed_target_is_kept(void **state)
{
	struct guest *g = *state;
	size_t a = block_at(g, KERNEL, "5", KERNEL + 0x100), b = block_at(g, KERNEL, "5", 0);

	mark(g, MARKER_OPEN_BATCH);
	run_block(g, a, 1, 1);
	run_block(g, b, 1, 100); /* a nop now */
	run_block(g, block_at(g, KERNEL, "5", KERNEL + 0x200), 1, 2);
	mark(g, MARKER_CLOSE_BATCH);
	assert_non_null(strstr(written(g), "count ffffffff81000000 103 0 0 0 ffffffff81000200\n"));
}

static void strings_count_once(void **state)
{
	struct guest *g = *state;
	struct table_after *after;
	struct table_rep *p, *same;

	assert_null(table_find_after(g->table, KERNEL + 2));
	assert_int_equal(table_rep(g->table, KERNEL, 2, false, &p), 0);
	assert_int_equal(table_rep(g->table, KERNEL, 2, false, &same), 0);
	assert_ptr_equal(p, same);
	after = table_find_after(g->table, KERNEL + 2);
	assert_non_null(after);
	assert_ptr_equal(after->reps, p);
	/* A look was before the window, what it led to is in it: no iteration, not less than none.
	 */
	*slots_cell(g->slots, p->begun) += 8;
	mark(g, MARKER_OPEN_BATCH);
	run_block(g, p->done, 1, 1);
	mark(g, MARKER_CLOSE_BATCH);
	mark(g, MARKER_OPEN_BATCH);
	*slots_cell(g->slots, p->begun) += 11;
	run_block(g, p->done, 1, 1);
	mark(g, MARKER_CLOSE_BATCH);
	assert_string_equal(written(g), "kdelta-plugin 1 api 1 contexts yes\n"
					"window batch 1 0 0 0 0 1 0 0 0 0\n"
					"window batch 1 0 0 0 0 1 0 10 0 0\n"
					"count ffffffff81000000 2 0 10 0 -\n"
					"end\n");
}

/* More blocks than a chunk holds, between windows and in one. */
static void many_blocks(void **state)
{
	struct guest *g = *state;
	struct table_line *lines;
	size_t n, i;

	for (i = 0; i < 3 * SLOTS_CHUNK; i++) {
		if (i == SLOTS_CHUNK / 2 || i == 2 * SLOTS_CHUNK)
			mark(g, MARKER_OPEN_BATCH);
		run_block(g, block_at(g, KERNEL + 16 * i, "1", 0), 1, i + 1);
		if (i == SLOTS_CHUNK)
			mark(g, MARKER_CLOSE_BATCH);
	}
	mark(g, MARKER_CLOSE_BATCH);
	assert_int_equal(table_lines(g->table, &lines, &n), 0);
	assert_int_equal(n, SLOTS_CHUNK / 2 + 1 + SLOTS_CHUNK);
	for (i = 0; i < n; i++) {
		size_t k = i + SLOTS_CHUNK / 2;

		if (k > SLOTS_CHUNK)
			k += SLOTS_CHUNK - 1;
		assert_true(lines[i].addr == KERNEL + 16 * k);
		assert_true(lines[i].count[TABLE_CLEAN] == k + 1);
	}
	free(lines);
}

/* ---- windows ---- */

static void markers_that_do_not_match(void **state)
{
	struct guest *g = *state;

	mark(g, MARKER_CLOSE_BATCH);
	mark(g, MARKER_OPEN_BATCH);
	user(g, 100);
	mark(g, MARKER_OPEN_OVERHEAD);
	user(g, 10);
	mark(g, MARKER_CLOSE_BATCH);
	user(g, 1);
	mark(g, MARKER_CLOSE_OVERHEAD);
	mark(g, MARKER_CLOSE_OVERHEAD);
	assert_string_equal(written(g), "kdelta-plugin 1 api 1 contexts yes\n"
					"window overhead 11 0 0 0 0 0 11 0 0 0\n"
					"end\n");
}

static void sums_that_differ_are_seen(void **state)
{
	struct guest *g = *state;

	mark(g, MARKER_OPEN_BATCH);
	kernel(g, 5);
	*slots_cell(g->slots, SLOT_KERNEL) += 1;
	assert_int_equal(windows_mark(&g->w, MARKER_CLOSE_BATCH), -EPROTO);
}

/* ---- contexts ---- */

static void assert_window(struct guest *g, const char *numbers)
{
	CLEANUP_FREE char *want = NULL;
	char *text;

	mark(g, MARKER_CLOSE_BATCH);
	text = strstr(written(g), "window");
	assert_true(asprintf(&want, "window batch %s\n", numbers) > 0);
	assert_non_null(text);
	text[strcspn(text, "\n") + 1] = '\0';
	assert_string_equal(text, want);
}

static void interrupts_nest(void **state)
{
	struct guest *g = *state;

	mark(g, MARKER_OPEN_BATCH);
	kernel(g, 1);
	happens(g, CONTEXT_HARDIRQ_EXIT); /* of an exception */
	kernel(g, 2);
	happens(g, CONTEXT_HARDIRQ_ENTER);
	kernel(g, 10);
	happens(g, CONTEXT_SOFTIRQ_ENTER);
	kernel(g, 100);
	happens(g, CONTEXT_HARDIRQ_ENTER);
	kernel(g, 20);
	happens(g, CONTEXT_HARDIRQ_EXIT);
	kernel(g, 200);
	happens(g, CONTEXT_HARDIRQ_EXIT); /* of an exception in the soft interrupt */
	kernel(g, 400);
	happens(g, CONTEXT_SOFTIRQ_EXIT);
	kernel(g, 40);
	happens(g, CONTEXT_SOFTIRQ_EXIT);
	happens(g, CONTEXT_HARDIRQ_EXIT);
	kernel(g, 4);
	user(g, 3);
	assert_window(g, "10 70 700 0 0 777 3 0 2 0");
}

static void classes_are_learned(void **state)
{
	struct guest *g = *state;

	mark(g, MARKER_OPEN_BATCH);
	user(g, 1);
	assert_int_equal(context_switch(g->contexts, 0x100), 0);
	kernel(g, 10); /* before it is known; an interrupt learns nothing of the task */
	happens(g, CONTEXT_HARDIRQ_ENTER);
	happens(g, CONTEXT_IS_IDLE);
	kernel(g, 1000);
	happens(g, CONTEXT_HARDIRQ_EXIT);
	happens(g, CONTEXT_IS_KWORKER);
	kernel(g, 20);
	assert_int_equal(context_switch(g->contexts, 0x200), 0);
	happens(g, CONTEXT_IS_IDLE);
	kernel(g, 300);
	assert_int_equal(context_switch(g->contexts, 0x300), 0);
	happens(g, CONTEXT_IS_RCU);
	kernel(g, 4000);
	assert_int_equal(context_switch(g->contexts, 0x100), 0);
	kernel(g, 40); /* known from before */
	assert_int_equal(context_switch(g->contexts, 0x400), 0);
	kernel(g, 2);
	assert_window(g, "3 1000 4000 70 300 5372 1 0 1 5");
}

static void a_task_in_user_space_is_ordinary(void **state)
{
	struct guest *g = *state;

	context_switch(g->contexts, 0x100);
	happens(g, CONTEXT_IS_KWORKER);
	kernel(g, 1);
	context_switch(g->contexts, 0x200);
	mark(g, MARKER_OPEN_BATCH);
	context_switch(g->contexts, 0x100);
	kernel(g, 10);
	user(g, 1);
	context_switch(g->contexts, 0x200);
	context_switch(g->contexts, 0x100);
	kernel(g, 100);
	assert_window(g, "111 0 0 0 0 110 1 0 0 3");
}

/* What was missed of an interrupt does not last; and there are many tasks. */
static void switches_begin_anew(void **state)
{
	struct guest *g = *state;
	uint64_t i;

	for (i = 1; i <= 5000; i++) {
		context_switch(g->contexts, i << 12);
		if (i % 2)
			happens(g, CONTEXT_IS_IDLE);
	}
	mark(g, MARKER_OPEN_BATCH);
	happens(g, CONTEXT_HARDIRQ_ENTER);
	kernel(g, 1);
	for (i = 5000; i; i--) {
		context_switch(g->contexts, i << 12);
		kernel(g, 2);
	}
	assert_window(g, "5000 1 0 0 5000 10001 0 0 1 5000");
}

/* A window that opens in the midst of a task's turn has its own part of it. */
static void windows_cut_turns(void **state)
{
	struct guest *g = *state;

	context_switch(g->contexts, 0x100);
	kernel(g, 1000);
	mark(g, MARKER_OPEN_BATCH);
	kernel(g, 10);
	happens(g, CONTEXT_IS_IDLE);
	kernel(g, 5);
	assert_window(g, "0 0 0 0 15 15 0 0 0 0");
}

/* ---- where contexts change ---- */

static void places(void **state)
{
	static const char text[] = "hardirq_enter ffffffff81000000\n"
				   "hardirq_exit FFFFFFFF81000100\n"
				   "softirq ffffffff81000200 ffffffff81000300\n"
				   "switch ffffffff81000400 ffffffff81000410\n"
				   "idle 10\nkworker 20\nrcu 30\n";
	const struct insn plain = { .safe = true }, ret = { .flow = INSN_RETURNS },
			  load = { .loads_stack = true };
	struct insn jump = { .flow = INSN_JUMPS, .target = KERNEL + 0x220 };
	struct context_places *p;
	const char *what;
	unsigned line;

	(void)state;
	assert_int_equal(context_parse(text, &p, &line, &what), 0);
	assert_non_null(p);
	assert_int_equal(context_at(p, KERNEL, &plain), CONTEXT_HARDIRQ_ENTER);
	assert_int_equal(context_at(p, KERNEL + 1, &plain), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, KERNEL + 0x100, &ret), CONTEXT_HARDIRQ_EXIT);
	assert_int_equal(context_at(p, KERNEL + 0x200, &plain), CONTEXT_SOFTIRQ_ENTER);
	assert_int_equal(context_at(p, KERNEL + 0x201, &plain), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, KERNEL + 0x201, &ret), CONTEXT_SOFTIRQ_EXIT);
	assert_int_equal(context_at(p, KERNEL + 0x201, &jump), CONTEXT_NO_EVENT);
	jump.target = KERNEL + 0x300;
	assert_int_equal(context_at(p, KERNEL + 0x201, &jump), CONTEXT_SOFTIRQ_EXIT);
	assert_int_equal(context_at(p, KERNEL + 0x300, &ret), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, KERNEL + 0x404, &load), CONTEXT_SWITCH);
	assert_int_equal(context_at(p, KERNEL + 0x404, &plain), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, KERNEL + 0x410, &load), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, 0x10, &plain), CONTEXT_IS_IDLE);
	assert_int_equal(context_at(p, 0x20, &plain), CONTEXT_IS_KWORKER);
	assert_int_equal(context_at(p, 0x30, &plain), CONTEXT_IS_RCU);
	assert_int_equal(context_at(p, 0xf, &plain), CONTEXT_NO_EVENT);
	assert_int_equal(context_at(p, UINT64_MAX, &plain), CONTEXT_NO_EVENT);
	context_places_free(p);
	assert_int_equal(context_parse("", &p, &line, &what), 0);
	assert_null(p);
}

static void places_that_are_wrong(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *what;
	} wrong[] = {
		{ "idle\n", 1, "no address" },
		{ "idle 0x10\n", 1, "no end of the line" },
		{ "idle 1\n\nidle 2\n", 2, "unknown word" },
		{ "idle 1\nidler 1\n", 2, "unknown word" },
		{ "softirq 10\n", 1, "no range" },
		{ "softirq 10 10\n", 1, "no range" },
		{ "switch 20 10\n", 1, "no range" },
		{ "rcu 10 ", 1, "no end of the line" },
		{ "rcu 10", 1, "no end of the line" },
		{ "rcu  10\n", 1, "no address" },
		{ "rcu 10000000000000000\n", 1, "no address" },
	};
	struct context_places *p;
	const char *what;
	unsigned line;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(context_parse(wrong[i].text, &p, &line, &what), -EINVAL);
		assert_int_equal(line, wrong[i].line);
		assert_string_equal(what, wrong[i].what);
		assert_null(p);
	}
}

#define WITH_GUEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_GUEST(counts_by_address),
		WITH_GUEST(the_most_executed_target_is_kept),
		WITH_GUEST(strings_count_once),
		WITH_GUEST(many_blocks),
		WITH_GUEST(markers_that_do_not_match),
		WITH_GUEST(sums_that_differ_are_seen),
		WITH_GUEST(interrupts_nest),
		WITH_GUEST(classes_are_learned),
		WITH_GUEST(a_task_in_user_space_is_ordinary),
		WITH_GUEST(switches_begin_anew),
		WITH_GUEST(windows_cut_turns),
		cmocka_unit_test(places),
		cmocka_unit_test(places_that_are_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
