/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was translated, and how often it ran. A block is a run of kernel instructions that, once its
 * first has begun, all begin: only the last may fault or go elsewhere. Its slot counts its
 * executions. The same block translated anew has the same slot. One that writes into the page it is
 * in begins twice in QEMU, and so here.
 *
 * A string instruction with a rep prefix is executed by QEMU one iteration at a time, each a begin
 * of its own. Its `begun` slot counts these. Whether it is over the next instruction tells: it
 * runs, and the string instruction has begun since the last time it did. That is counted as `done`,
 * and what is neither an iteration nor a begin (the look at a count that is 0) as `looks`. An
 * iteration that faults and begins again is two.
 */
#ifndef KDELTA_PLUGIN_TABLE_H
#define KDELTA_PLUGIN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/slots.h"

#define TABLE_CLEAN 0 /* counts of windows without a hard interrupt or a kworker, */
#define TABLE_OTHER 1 /* of the others */
#define TABLE_KINDS 2

struct table_after;

struct table_rep {
	uint64_t addr;
	bool kernel, compares;
	size_t begun, done, looks; /* slots; done == looks unless it compares */
	uint64_t iterations[TABLE_KINDS];
	struct table_rep *next; /* of the same table_after */
	uint64_t seen;		/* of `begun`, when the instruction behind it ran last */
	bool touched;		/* it compares: memory was read since it began last */
};

/* The instruction behind a string instruction. */
struct table_after {
	uint64_t addr;
	struct table_rep *reps;
	struct table_after *chain;
};

/* Of a window. */
struct table_sums {
	uint64_t kernel, user, rep_iterations;
};

struct table;

/* NULL: no memory. */
struct table *table_new(bool by_call); /* as slots_init */
void table_free(struct table *t);
struct slots *table_slots(struct table *t);

/* All: 0 or -errno. `lengths` are those of n instructions; target 0: none. */
int table_block(struct table *t, uint64_t addr, const unsigned char *lengths, size_t n,
		uint64_t target, size_t *ret_slot);
int table_rep(struct table *t, uint64_t addr, size_t len, bool compares, struct table_rep **ret);
int table_after(struct table *t, uint64_t addr, struct table_after **ret);
/* NULL: no string instruction that is known ends there. */
struct table_after *table_find_after(const struct table *t, uint64_t addr);

/* A window opens; one closes, and what ran in it is added to the counts of a kind (-1: to none). */
int table_open(struct table *t);
void table_close(struct table *t, int kind, struct table_sums *ret);

/* One address's counts. */
struct table_line {
	uint64_t addr; /* 0: user space */
	uint64_t count[TABLE_KINDS], rep[TABLE_KINDS];
	uint64_t target;
};
/* All that executed in windows of a kind, ascending. The caller frees. */
int table_lines(const struct table *t, struct table_line **ret, size_t *ret_n);

#endif
