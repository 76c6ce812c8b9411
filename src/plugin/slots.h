/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters that translated code adds to: slots, one 64-bit cell of each for every vCPU. Plain
 * memory in generation 1 of QEMU's interface (then there is one vCPU), scoreboards in later ones.
 * They come in chunks, as many as are needed, and keep their places.
 */
#ifndef KDELTA_PLUGIN_SLOTS_H
#define KDELTA_PLUGIN_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/api.h"

#define SLOTS_CPUS  64u	   /* at most */
#define SLOTS_CHUNK 16384u /* slots in a chunk */

#define SLOT_KERNEL 0u /* the first two: all instructions of the kernel, */
#define SLOT_USER   1u /* of user space */

struct slots {
	unsigned cpus;
	size_t n;
	struct slots_chunk *chunks;
	size_t n_chunks;
};

/* 0 or -errno. */
int slots_init(struct slots *s, unsigned cpus);
int slots_add(struct slots *s, size_t *ret_slot);
void slots_done(struct slots *s);

uint64_t *slots_cell(const struct slots *s, size_t slot, unsigned cpu);
/* A chunk's cells of one vCPU, SLOTS_CHUNK of them. */
const uint64_t *slots_cells(const struct slots *s, size_t chunk, unsigned cpu);

/* From now on each execution of `insn` adds `by` to the executing vCPU's cell. */
void slots_count(const struct slots *s, struct qemu_plugin_insn *insn, size_t slot, uint64_t by);

#endif
