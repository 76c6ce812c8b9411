/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS	    65536u
#define MAX_SLOTS   (1u << 24)
#define NO_BLOCK    UINT32_MAX
#define MAX_LENGTHS UINT32_MAX

struct block {
	uint64_t addr, target;
	uint32_t slot, lengths, n; /* lengths: where in table.lengths */
	uint32_t chain;
};

struct table {
	struct slots slots;
	struct block *blocks;
	size_t n_blocks, room_blocks;
	unsigned char *lengths;
	size_t n_lengths, room_lengths;
	uint32_t heads[BUCKETS];
	struct table_after *afters[BUCKETS];
	struct table_rep **reps;
	size_t n_reps, room_reps;
	/* By slot: instructions of the kernel an execution is; cells at the window's opening;
	 * counts. */
	uint32_t *weight;
	uint64_t *before, *delta, *count[TABLE_KINDS];
	size_t room_slots;
	size_t at_open; /* slots that there were */
};

/* Makes room for n elements; what is new is zero. */
static int grow(void *array, size_t *room, size_t n, size_t size)
{
	void **at = array;
	size_t more = *room ? *room : 1024;
	char *p;

	while (more < n)
		more *= 2;
	if (more == *room)
		return 0;
	p = realloc(*at, more * size);
	if (!p)
		return -ENOMEM;
	memset(p + *room * size, 0, (more - *room) * size);
	*at = p;
	*room = more;
	return 0;
}

struct table *table_new(bool by_call)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	memset(t->heads, 0xff, sizeof(t->heads));
	if (slots_init(&t->slots, by_call)) {
		free(t);
		return NULL;
	}
	return t;
}

void table_free(struct table *t)
{
	size_t i;
	int k;

	if (!t)
		return;
	for (i = 0; i < BUCKETS; i++) {
		while (t->afters[i]) {
			struct table_after *a = t->afters[i];

			t->afters[i] = a->chain;
			free(a);
		}
	}
	for (i = 0; i < t->n_reps; i++)
		free(t->reps[i]);
	for (k = 0; k < TABLE_KINDS; k++)
		free(t->count[k]);
	free(t->reps);
	free(t->blocks);
	free(t->lengths);
	free(t->weight);
	free(t->before);
	free(t->delta);
	slots_done(&t->slots);
	free(t);
}

struct slots *table_slots(struct table *t)
{
	return &t->slots;
}

static uint32_t bucket_of(uint64_t addr)
{
	return (uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 48);
}

static int new_slot(struct table *t, uint32_t weight, size_t *ret)
{
	size_t room[5], i;
	int r;

	if (t->slots.n >= MAX_SLOTS)
		return -ENOSPC;
	r = slots_add(&t->slots, ret);
	if (r || *ret < t->room_slots) {
		if (!r)
			t->weight[*ret] = weight;
		return r;
	}
	for (i = 0; i < sizeof(room) / sizeof(*room); i++)
		room[i] = t->room_slots;
	if (grow(&t->weight, &room[0], *ret + 1, sizeof(*t->weight)) ||
	    grow(&t->before, &room[1], *ret + 1, sizeof(*t->before)) ||
	    grow(&t->delta, &room[2], *ret + 1, sizeof(*t->delta)) ||
	    grow(&t->count[TABLE_CLEAN], &room[3], *ret + 1, sizeof(uint64_t)) ||
	    grow(&t->count[TABLE_OTHER], &room[4], *ret + 1, sizeof(uint64_t)))
		return -ENOMEM;
	t->room_slots = room[0];
	t->weight[*ret] = weight;
	return 0;
}

int table_block(struct table *t, uint64_t addr, const unsigned char *lengths, size_t n,
		uint64_t target, size_t *ret_slot)
{
	uint32_t *head = &t->heads[bucket_of(addr)], i;
	struct block *b;
	int r;

	for (i = *head; i != NO_BLOCK; i = b->chain) {
		b = &t->blocks[i];
		if (b->addr == addr && b->n == n && b->target == target &&
		    !memcmp(t->lengths + b->lengths, lengths, n)) {
			*ret_slot = b->slot;
			return 0;
		}
	}
	if (t->n_lengths + n > MAX_LENGTHS)
		return -ENOSPC;
	r = new_slot(t, (uint32_t)n, ret_slot);
	if (!r)
		r = grow(&t->blocks, &t->room_blocks, t->n_blocks + 1, sizeof(*t->blocks));
	if (!r)
		r = grow(&t->lengths, &t->room_lengths, t->n_lengths + n, 1);
	if (r)
		return r;
	memcpy(t->lengths + t->n_lengths, lengths, n);
	t->blocks[t->n_blocks] = (struct block){
		.addr = addr,
		.target = target,
		.slot = (uint32_t)*ret_slot,
		.lengths = (uint32_t)t->n_lengths,
		.n = (uint32_t)n,
		.chain = *head,
	};
	t->n_lengths += n;
	*head = (uint32_t)t->n_blocks++;
	return 0;
}

struct table_after *table_find_after(const struct table *t, uint64_t addr)
{
	struct table_after *a = t->afters[bucket_of(addr)];

	while (a && a->addr != addr)
		a = a->chain;
	return a;
}

int table_after(struct table *t, uint64_t addr, struct table_after **ret)
{
	struct table_after **head = &t->afters[bucket_of(addr)];
	struct table_after *a = table_find_after(t, addr);

	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return -ENOMEM;
		a->addr = addr;
		a->chain = *head;
		*head = a;
	}
	*ret = a;
	return 0;
}

int table_rep(struct table *t, uint64_t addr, size_t len, bool compares, struct table_rep **ret)
{
	bool kernel = addr >> 63;
	struct table_after *after;
	struct table_rep *p;
	int r = table_after(t, addr + len, &after);

	for (p = r ? NULL : after->reps; p; p = p->next) {
		if (p->addr == addr && p->compares == compares) {
			*ret = p;
			return 0;
		}
	}
	if (!r)
		r = grow(&t->reps, &t->room_reps, t->n_reps + 1, sizeof(struct table_rep *));
	if (r)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->addr = addr;
	p->kernel = kernel;
	p->compares = compares;
	r = new_slot(t, 0, &p->begun);
	if (!r)
		r = new_slot(t, kernel, &p->done);
	p->looks = p->done;
	if (!r && compares)
		r = new_slot(t, 0, &p->looks);
	if (r) {
		free(p);
		return r;
	}
	p->next = after->reps;
	after->reps = p;
	t->reps[t->n_reps++] = p;
	*ret = p;
	return 0;
}

/* delta: what is in the cells. */
static void copy_cells(struct table *t)
{
	size_t chunk, n;

	for (chunk = 0; chunk < t->slots.n_chunks; chunk++) {
		size_t first = chunk * SLOTS_CHUNK;

		n = t->slots.n - first < SLOTS_CHUNK ? t->slots.n - first : SLOTS_CHUNK;
		memcpy(t->delta + first, slots_cells(&t->slots, chunk), n * sizeof(*t->delta));
	}
}

/* The first two slots were there before the arrays were. */
static int need_arrays(struct table *t)
{
	size_t slot;

	return t->room_slots ? 0 : new_slot(t, 0, &slot);
}

int table_open(struct table *t)
{
	int r = need_arrays(t);

	if (r)
		return r;
	copy_cells(t);
	memcpy(t->before, t->delta, t->slots.n * sizeof(*t->before));
	t->at_open = t->slots.n;
	return 0;
}

static uint64_t close_reps(struct table *t, int kind)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->n_reps; i++) {
		struct table_rep *p = t->reps[i];
		uint64_t begun = t->delta[p->begun], looks = t->delta[p->looks];
		/* A look may have been before the window, and what it led to in it. */
		uint64_t n = begun > looks ? begun - looks : 0;

		if (kind >= 0)
			p->iterations[kind] += n;
		sum += n;
	}
	return sum;
}

void table_close(struct table *t, int kind, struct table_sums *ret)
{
	uint64_t *count = kind >= 0 ? t->count[kind] : NULL, kernel = 0;
	size_t i;

	copy_cells(t);
	for (i = 0; i < t->at_open; i++)
		t->delta[i] -= t->before[i];
	for (i = 0; i < t->slots.n; i++)
		kernel += t->delta[i] * t->weight[i];
	for (i = 0; count && i < t->slots.n; i++)
		count[i] += t->delta[i];
	*ret = (struct table_sums){
		.kernel = kernel,
		.user = t->delta[SLOT_USER],
		.rep_iterations = close_reps(t, kind),
	};
}

/* What ran most comes last: code that was patched has the target that it had most of the time. */
static int by_addr(const void *a, const void *b)
{
	const struct table_line *x = a, *y = b;
	uint64_t nx = x->count[TABLE_CLEAN] + x->count[TABLE_OTHER];
	uint64_t ny = y->count[TABLE_CLEAN] + y->count[TABLE_OTHER];

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return nx < ny ? -1 : nx > ny;
}

struct lines {
	struct table_line *list;
	size_t n, room;
};

static int add_line(struct lines *l, const struct table_line *line)
{
	int r = grow(&l->list, &l->room, l->n + 1, sizeof(*l->list));

	if (!r)
		l->list[l->n++] = *line;
	return r;
}

static int block_lines(const struct table *t, const struct block *b, struct lines *l)
{
	struct table_line line = { .addr = b->addr };
	int r = 0, k;
	uint32_t i;

	for (k = 0; k < TABLE_KINDS; k++)
		line.count[k] = t->count[k][b->slot];
	if (!line.count[TABLE_CLEAN] && !line.count[TABLE_OTHER])
		return 0;
	for (i = 0; !r && i < b->n; i++) {
		line.target = i + 1 == b->n ? b->target : 0;
		r = add_line(l, &line);
		line.addr += t->lengths[b->lengths + i];
	}
	return r;
}

static int rep_line(const struct table *t, const struct table_rep *p, struct lines *l)
{
	struct table_line line = { .addr = p->kernel ? p->addr : 0 };
	uint64_t any = 0;
	int k;

	for (k = 0; k < TABLE_KINDS; k++) {
		/* In user space it is in the one sum. */
		line.count[k] = p->kernel ? t->count[k][p->done] : 0;
		line.rep[k] = p->iterations[k];
		any |= line.count[k] | line.rep[k];
	}
	return any ? add_line(l, &line) : 0;
}

static void merge(struct lines *l)
{
	struct table_line *to = l->list;
	size_t i;
	int k;

	qsort(l->list, l->n, sizeof(*l->list), by_addr);
	for (i = 1; i < l->n; i++) {
		const struct table_line *from = &l->list[i];

		if (to->addr != from->addr) {
			*++to = *from;
			continue;
		}
		for (k = 0; k < TABLE_KINDS; k++) {
			to->count[k] += from->count[k];
			to->rep[k] += from->rep[k];
		}
		if (from->target)
			to->target = from->target;
	}
	l->n = (size_t)(to - l->list) + 1;
}

int table_lines(const struct table *t, struct table_line **ret, size_t *ret_n)
{
	struct table_line user = { 0 };
	struct lines l = { 0 };
	size_t i;
	int r = 0, k;

	for (k = 0; k < TABLE_KINDS && t->room_slots; k++)
		user.count[k] = t->count[k][SLOT_USER];
	if (user.count[TABLE_CLEAN] || user.count[TABLE_OTHER])
		r = add_line(&l, &user);
	for (i = 0; !r && i < t->n_blocks; i++)
		r = block_lines(t, &t->blocks[i], &l);
	for (i = 0; !r && i < t->n_reps; i++)
		r = rep_line(t, t->reps[i], &l);
	if (r) {
		free(l.list);
		return r;
	}
	if (l.n)
		merge(&l);
	*ret = l.list;
	*ret_n = l.n;
	return 0;
}
