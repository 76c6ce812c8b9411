/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 8u /* a soft interrupt in an interrupt's tail, a hard one over it, and some */

struct cpu {
	enum context stack[DEPTH];
	unsigned depth;
	uint64_t key; /* of the task that runs; 0: not known yet */
	enum context class;
	uint64_t mark,
		user_mark; /* of all instructions, of user space: up to here they are put down */
	uint64_t pending;  /* the task's own since it was switched to, not put down yet */
	bool user;	   /* it was in user space since */
	struct context_sums sums;
};

struct task {
	uint64_t key;
	enum context class;
};

struct contexts {
	const struct slots *slots;
	struct task *tasks; /* hashed, key 0: free */
	size_t n, room;
	struct cpu cpu;
};

struct contexts *contexts_new(const struct slots *s)
{
	struct contexts *c = calloc(1, sizeof(*c));

	if (c)
		c->slots = s;
	return c;
}

void contexts_free(struct contexts *c)
{
	if (c)
		free(c->tasks);
	free(c);
}

static struct task *find_task(struct contexts *c, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20) & (c->room - 1);

	while (c->tasks[i].key && c->tasks[i].key != key)
		i = (i + 1) & (c->room - 1);
	return &c->tasks[i];
}

static int grow_tasks(struct contexts *c)
{
	struct task *old = c->tasks;
	size_t n = c->room, i;
	struct task *list = calloc(n ? 2 * n : 1024, sizeof(*list));

	if (!list)
		return -ENOMEM;
	c->tasks = list;
	c->room = n ? 2 * n : 1024;
	for (i = 0; i < n; i++) {
		if (old[i].key)
			*find_task(c, old[i].key) = old[i];
	}
	free(old);
	return 0;
}

static int set_class(struct contexts *c, uint64_t key, enum context class)
{
	struct task *t;
	int r;

	if (!key)
		return 0;
	if (2 * (c->n + 1) > c->room) {
		r = grow_tasks(c);
		if (r)
			return r;
	}
	t = find_task(c, key);
	c->n += !t->key;
	*t = (struct task){ .key = key, .class = class };
	return 0;
}

/* Puts down what ran since the last time. */
static void settle(struct contexts *c)
{
	struct cpu *cpu = &c->cpu;
	uint64_t user = *slots_cell(c->slots, SLOT_USER);
	uint64_t all = *slots_cell(c->slots, SLOT_KERNEL) + user;

	if (cpu->depth)
		cpu->sums.instructions[cpu->stack[cpu->depth - 1]] += all - cpu->mark;
	else
		cpu->pending += all - cpu->mark;
	cpu->user |= user != cpu->user_mark;
	cpu->mark = all;
	cpu->user_mark = user;
}

static void settle_task(struct contexts *c)
{
	struct cpu *cpu = &c->cpu;

	settle(c);
	if (cpu->user)
		cpu->class = CONTEXT_TASK;
	cpu->sums.instructions[cpu->class] += cpu->pending;
	cpu->pending = 0;
}

static void push(struct contexts *c, enum context what)
{
	struct cpu *cpu = &c->cpu;

	settle(c);
	if (cpu->depth < DEPTH)
		cpu->stack[cpu->depth++] = what;
}

static void pop(struct contexts *c, enum context what)
{
	struct cpu *cpu = &c->cpu;

	if (!cpu->depth || cpu->stack[cpu->depth - 1] != what)
		return;
	settle(c);
	cpu->depth--;
}

static void learn(struct contexts *c, enum context class)
{
	if (c->cpu.depth)
		return;
	settle(c);
	c->cpu.class = class;
	c->cpu.user = false;
}

void context_happens(struct contexts *c, enum context_event event)
{
	switch (event) {
	case CONTEXT_HARDIRQ_ENTER:
		push(c, CONTEXT_HARDIRQ);
		c->cpu.sums.interrupts++;
		break;
	case CONTEXT_HARDIRQ_EXIT:
		pop(c, CONTEXT_HARDIRQ);
		break;
	case CONTEXT_SOFTIRQ_ENTER:
		push(c, CONTEXT_SOFTIRQ);
		break;
	case CONTEXT_SOFTIRQ_EXIT:
		pop(c, CONTEXT_SOFTIRQ);
		break;
	case CONTEXT_IS_IDLE:
		learn(c, CONTEXT_IDLE);
		break;
	case CONTEXT_IS_KWORKER:
		learn(c, CONTEXT_KWORKER);
		break;
	case CONTEXT_IS_RCU:
		learn(c, CONTEXT_SOFTIRQ);
		break;
	case CONTEXT_NO_EVENT:
	case CONTEXT_SWITCH:
		break;
	}
}

int context_switch(struct contexts *c, uint64_t key)
{
	struct cpu *cpu = &c->cpu;
	int r;

	settle_task(c);
	r = set_class(c, cpu->key, cpu->class);
	cpu->sums.switches++;
	cpu->key = key;
	cpu->class = c->room ? find_task(c, key)->class : CONTEXT_TASK;
	cpu->user = false;
	/* Interrupts do not switch tasks: whatever is left of them was missed. */
	cpu->depth = 0;
	return r;
}

void contexts_open(struct contexts *c)
{
	settle_task(c);
	c->cpu.sums = (struct context_sums){ 0 };
}

void contexts_close(struct contexts *c, struct context_sums *ret)
{
	settle_task(c);
	*ret = c->cpu.sums;
}
