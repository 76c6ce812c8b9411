/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CHUNK_BYTES  (SLOTS_CHUNK * sizeof(uint64_t))
#define ADDRESS_BITS 48 /* of a process, x86_64; SLOTS_BY fits above */

struct slots_chunk {
	struct qemu_plugin_scoreboard *score; /* NULL: */
	uint64_t *plain;
};

static int add_chunk(struct slots *s)
{
	struct slots_chunk *list = realloc(s->chunks, (s->n_chunks + 1) * sizeof(*list));
	struct slots_chunk *c;

	if (!list)
		return -ENOMEM;
	s->chunks = list;
	c = &list[s->n_chunks];
	*c = (struct slots_chunk){ 0 };
	if (qemu_plugin_scoreboard_new && !s->by_call) {
		c->score = qemu_plugin_scoreboard_new(CHUNK_BYTES);
	} else {
		/* Below 4 GiB an address is five bytes of code less, in each block. */
		void *p = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

		if (p == MAP_FAILED)
			p = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		c->plain = p == MAP_FAILED ? NULL : p;
	}
	if (!c->score && !c->plain)
		return -ENOMEM;
	s->n_chunks++;
	return 0;
}

int slots_init(struct slots *s, bool by_call)
{
	size_t first;
	int r;

	*s = (struct slots){ .by_call = by_call };
	r = slots_add(s, &first);
	return r ? r : slots_add(s, &first);
}

int slots_add(struct slots *s, size_t *ret_slot)
{
	int r;

	if (s->n == s->n_chunks * SLOTS_CHUNK) {
		r = add_chunk(s);
		if (r)
			return r;
	}
	*ret_slot = s->n++;
	return 0;
}

void slots_done(struct slots *s)
{
	size_t i;

	for (i = 0; i < s->n_chunks; i++) {
		if (s->chunks[i].score)
			qemu_plugin_scoreboard_free(s->chunks[i].score);
		else
			munmap(s->chunks[i].plain, CHUNK_BYTES);
	}
	free(s->chunks);
	*s = (struct slots){ 0 };
}

static uint64_t *chunk_cells(const struct slots_chunk *c)
{
	return c->score ? qemu_plugin_scoreboard_find(c->score, 0) : c->plain;
}

uint64_t *slots_cell(const struct slots *s, size_t slot)
{
	return chunk_cells(&s->chunks[slot / SLOTS_CHUNK]) + slot % SLOTS_CHUNK;
}

const uint64_t *slots_cells(const struct slots *s, size_t chunk)
{
	return chunk_cells(&s->chunks[chunk]);
}

/* A call's argument: where to add, and above the bits of an address what. */
static void on_count(unsigned cpu, void *arg)
{
	uintptr_t what = (uintptr_t)arg;

	(void)cpu;
	*(uint64_t *)(what & (((uintptr_t)1 << ADDRESS_BITS) - 1)) += what >> ADDRESS_BITS;
}

static void *call_argument(uint64_t *cell, uint64_t by)
{
	return (void *)((uintptr_t)cell | (uintptr_t)by << ADDRESS_BITS);
}

void slots_count(const struct slots *s, struct qemu_plugin_insn *insn, size_t slot, uint64_t by)
{
	const struct slots_chunk *c = &s->chunks[slot / SLOTS_CHUNK];
	size_t i = slot % SLOTS_CHUNK;

	if (s->by_call)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_count, API_NO_REGISTERS,
						       call_argument(c->plain + i, by));
	else if (c->score)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, API_ADD,
			(struct api_counter){ .score = c->score, .offset = i * sizeof(uint64_t) },
			by);
	else
		qemu_plugin_register_vcpu_insn_exec_inline(insn, API_ADD, c->plain + i, by);
}
