/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters that translated code adds to: slots, a 64-bit cell each. In generation 1 of QEMU's
 * interface code adds to plain memory, in later ones to a scoreboard's. They come in chunks, as
 * many as are needed, and keep their places.
 *
 * With several vCPUs each addition is a call. QEMU 10 takes the vCPU's number, while one runs at a
 * time, for a constant of the code it translates (and then multiplies that constant in place, so
 * that a 1 elsewhere in the same code is no 1 any more): whose instruction it was cannot be told,
 * and all add to the same cells.
 */
#ifndef KDELTA_PLUGIN_SLOTS_H
#define KDELTA_PLUGIN_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/api.h"

#define SLOTS_CHUNK 16384u /* slots in a chunk */

#define SLOTS_BY UINT16_MAX

#define SLOT_KERNEL 0u /* the first two: all instructions of the kernel, */
#define SLOT_USER   1u /* of user space */

struct slots {
	bool by_call;
	size_t n;
	struct slots_chunk *chunks;
	size_t n_chunks;
};

/* 0 or -errno. */
int slots_init(struct slots *s, bool by_call);
int slots_add(struct slots *s, size_t *ret_slot);
void slots_done(struct slots *s);

uint64_t *slots_cell(const struct slots *s, size_t slot);
/* A chunk's cells, SLOTS_CHUNK of them. */
const uint64_t *slots_cells(const struct slots *s, size_t chunk);

/* From now on each execution of `insn` adds `by`, at most SLOTS_BY, to the cell. */
void slots_count(const struct slots *s, struct qemu_plugin_insn *insn, size_t slot, uint64_t by);

#endif
