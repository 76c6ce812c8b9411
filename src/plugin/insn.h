/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be known of one x86-64 instruction to count it: whether the ones behind it run for
 * certain once it has begun, whether it repeats, and where it goes. Its length is QEMU's to say.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A.
 */
#ifndef KDELTA_PLUGIN_INSN_H
#define KDELTA_PLUGIN_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_BYTES   15u /* the longest */
#define INSN_MARKERS 6u

enum insn_string {
	INSN_NO_STRING,
	INSN_REPEATS,  /* rep movs, stos, lods, ins, outs: ends when its count is 0 */
	INSN_COMPARES, /* repe, repne cmps, scas: or when the flags say so */
};

enum insn_flow { INSN_GOES_ON, INSN_CALLS, INSN_JUMPS, INSN_RETURNS };

struct insn {
	bool safe; /* once begun the next one runs: no memory, no jump, all known */
	enum insn_string string;
	enum insn_flow flow;
	uint64_t target;      /* of a direct call or an unconditional direct jump, else 0 */
	bool loads_stack;     /* mov MEMORY, %rsp */
	unsigned char marker; /* 1 to INSN_MARKERS: a marker of docs/adr/0002-exact.md, else 0 */
};

/* Any bytes; what is not understood is not safe, and nothing else. */
void insn_decode(const unsigned char *bytes, size_t len, uint64_t addr, struct insn *ret);

/*
 * Do the `len` bytes that stand right before an address end in a string instruction with a rep
 * prefix? May say yes wrongly (the bytes may be another instruction's), never no.
 */
bool insn_ends_in_rep(const unsigned char *bytes, size_t len);

#endif
