/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which context instructions run: a stack of interrupts over a task, whose class is learned from
 * what it executes. The addresses at which that changes are in the file `contexts`
 * (docs/adr/0002-exact.md).
 *
 * Instructions of a task go to its class when it is switched away from, or the window closes: what
 * it turned out to be counts for all of them. A task that ran in user space is an ordinary one,
 * whatever was known: its memory may have been another's. There is one vCPU: slots.h says why.
 */
#ifndef KDELTA_PLUGIN_CONTEXT_H
#define KDELTA_PLUGIN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/insn.h"
#include "plugin/slots.h"

enum context {
	CONTEXT_TASK,
	CONTEXT_HARDIRQ,
	CONTEXT_SOFTIRQ,
	CONTEXT_KWORKER,
	CONTEXT_IDLE,
	CONTEXTS
};

enum context_event {
	CONTEXT_NO_EVENT,
	CONTEXT_HARDIRQ_ENTER,
	CONTEXT_HARDIRQ_EXIT,
	CONTEXT_SOFTIRQ_ENTER,
	CONTEXT_SOFTIRQ_EXIT,
	CONTEXT_IS_IDLE,
	CONTEXT_IS_KWORKER,
	CONTEXT_IS_RCU,
	CONTEXT_SWITCH, /* by context_switch(): when memory is read */
};

struct context_places;

/*
 * *ret NULL: the text is empty. -EINVAL: *ret_line is the line that is wrong, and *ret_what says
 * why.
 */
int context_parse(const char *text, struct context_places **ret, unsigned *ret_line,
		  const char **ret_what);
void context_places_free(struct context_places *p);
/* What the execution of an instruction means. */
enum context_event context_at(const struct context_places *p, uint64_t addr,
			      const struct insn *insn);

/* Of a window. */
struct context_sums {
	uint64_t instructions[CONTEXTS];
	uint64_t interrupts, switches;
};

struct contexts;

/* NULL: no memory. The slots SLOT_KERNEL and SLOT_USER are read. */
struct contexts *contexts_new(const struct slots *s);
void contexts_free(struct contexts *c);
void context_happens(struct contexts *c, enum context_event event);
/* The task known by `key` runs from here. -ENOMEM. */
int context_switch(struct contexts *c, uint64_t key);

void contexts_open(struct contexts *c);
void contexts_close(struct contexts *c, struct context_sums *ret);

#endif
