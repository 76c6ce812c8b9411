/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is used of QEMU's plugin interface. Generation 1 (QEMU 4.2 to 8.2) and 2 and later (9.0 and
 * later) differ in how a counter is added to inline: a plain u64, or one of each vCPU's in a
 * scoreboard. All of it is weak: what this QEMU has not is NULL, so one file is loaded by both.
 *
 * Source: QEMU's documentation of TCG plugins, docs/devel/tcg-plugins.rst.
 */
#ifndef KDELTA_PLUGIN_API_H
#define KDELTA_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_OURS   __attribute__((visibility("default")))
#define API_THEIRS __attribute__((weak, visibility("default")))

#define API_NO_REGISTERS 0 /* of a callback: it reads and writes none */
#define API_READ_WRITE	 3 /* memory accesses of both kinds */
#define API_ADD		 0 /* the only operation that all have */

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

struct api_counter { /* handed over by value */
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

struct api_info {
	const char *target;
	struct {
		int min, cur;
	} version;
	bool system;
	struct {
		int now, max;
	} cpus;
};

/* ---- ours ---- */

extern API_OURS int qemu_plugin_version;
API_OURS int qemu_plugin_install(uint64_t id, const struct api_info *info, int argc, char **argv);

/* ---- theirs: all generations ---- */

API_THEIRS void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
						      void (*cb)(uint64_t id,
								 struct qemu_plugin_tb *tb));
/* Later, between two pieces of code: forgets all that was translated and every callback, then
 * calls. */
API_THEIRS void qemu_plugin_reset(uint64_t id, void (*cb)(uint64_t id));
API_THEIRS size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
API_THEIRS struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
							    size_t i);
API_THEIRS uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
API_THEIRS size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
API_THEIRS void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
/* To generation 2 it takes `insn` alone and returns the bytes; then it copies and returns how many.
 */
API_THEIRS uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
					   size_t size);
API_THEIRS void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						       void (*cb)(unsigned cpu, void *arg),
						       int flags, void *arg);
API_THEIRS void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
						 void (*cb)(unsigned cpu, uint32_t what,
							    uint64_t vaddr, void *arg),
						 int flags, int rw, void *arg);

/* ---- generation 1 ---- */

API_THEIRS void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op,
							   void *counter, uint64_t by);

/* ---- generation 2 and later ---- */

API_THEIRS struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
API_THEIRS void qemu_plugin_scoreboard_free(struct qemu_plugin_scoreboard *score);
API_THEIRS void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned cpu);
API_THEIRS void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
								    int op,
								    struct api_counter counter,
								    uint64_t by);

#endif
