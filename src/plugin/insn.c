/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/insn.h"

#include <string.h>

#define REX_W 8u
#define REX_R 4u

struct cursor {
	const unsigned char *at, *end;
	bool short_operand, lock, rep, repne;
	unsigned rex;
};

static bool is_string(unsigned op)
{
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
	       (op >= 0x6c && op <= 0x6f);
}

static bool take_prefix(struct cursor *c, unsigned byte)
{
	switch (byte) {
	case 0x66:
		c->short_operand = true;
		return true;
	case 0xf0:
		c->lock = true;
		return true;
	case 0xf2:
		c->repne = true;
		return true;
	case 0xf3:
		c->rep = true;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x67:
		return true;
	default:
		return false;
	}
}

static int32_t displacement(const unsigned char *p)
{
	uint32_t v = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

	return (int32_t)v;
}

/* Is the operand that the ModRM byte at c->at describes a register? */
static bool in_register(const struct cursor *c)
{
	return c->at < c->end && *c->at >= 0xc0 && !c->lock;
}

static unsigned modrm_reg(const struct cursor *c)
{
	return c->at < c->end ? *c->at >> 3 & 7u : 8;
}

static bool is_two_byte_safe(struct cursor *c)
{
	unsigned op;

	if (c->at >= c->end)
		return false;
	op = *c->at++;
	if (c->repne || (c->rep && op != 0xb8 && op != 0xbc && op != 0xbd && op != 0x1e))
		return false;
	if ((op & 0xf0) == 0x40 || (op & 0xf0) == 0x90)
		return in_register(c); /* cmov, set */
	if ((op & 0xf8) == 0xc8)
		return !c->lock; /* bswap */
	switch (op) {
	case 0x1e: /* endbr64 alone of the hints in this row */
		return c->rep && c->at < c->end && *c->at == 0xfa;
	case 0x1f: /* nop: its operand is not touched */
		return !c->lock;
	case 0xa3: /* bt, bts, btr, btc, shld, shrd, imul, cmpxchg */
	case 0xab:
	case 0xb3:
	case 0xbb:
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
	case 0xaf:
	case 0xb0:
	case 0xb1:
	case 0xb6: /* movzx, movsx, bsf, bsr, xadd */
	case 0xb7:
	case 0xbe:
	case 0xbf:
	case 0xbc:
	case 0xbd:
	case 0xc0:
	case 0xc1:
		return in_register(c);
	case 0xb8: /* popcnt */
		return c->rep && in_register(c);
	case 0xba:
		return modrm_reg(c) >= 4 && modrm_reg(c) <= 7 && in_register(c);
	case 0xae: /* lfence, mfence, sfence */
		return c->at < c->end && *c->at >= 0xe8 && !c->short_operand && !c->lock;
	default:
		return false;
	}
}

static bool is_one_byte_safe(const struct cursor *c, unsigned op)
{
	if (c->rep || c->repne)
		return false;
	if (op < 0x40)
		return (op & 7) < 4 ? in_register(c) : (op & 7) < 6 && !c->lock;
	if ((op & 0xf0) == 0xb0 || (op >= 0x90 && op <= 0x99)) /* mov, xchg, cbw, cwd */
		return !c->lock;
	switch (op) {
	case 0x63: /* movsxd, imul, the arithmetic group, test, xchg, mov */
	case 0x69:
	case 0x6b:
	case 0x80:
	case 0x81:
	case 0x83:
	case 0x84:
	case 0x85:
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0xc0: /* shifts */
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return in_register(c);
	case 0xc6:
	case 0xc7:
		return modrm_reg(c) == 0 && in_register(c);
	case 0x8d: /* lea: there must be an operand in memory, which is not touched */
		return c->at < c->end && *c->at < 0xc0 && !c->lock;
	case 0xa8:
	case 0xa9:
	case 0xf5: /* cmc, clc, stc, cld, std */
	case 0xf8:
	case 0xf9:
	case 0xfc:
	case 0xfd:
		return !c->lock;
	case 0xf6: /* not div and idiv */
	case 0xf7:
		return modrm_reg(c) < 6 && in_register(c);
	case 0xfe:
	case 0xff: /* inc, dec */
		return modrm_reg(c) < 2 && in_register(c);
	default:
		return false;
	}
}

static void decode_flow(const struct cursor *c, unsigned op, uint64_t next, struct insn *ret)
{
	size_t left = (size_t)(c->end - c->at);

	switch (op) {
	case 0xc2:
	case 0xc3:
		ret->flow = INSN_RETURNS;
		break;
	case 0xe8:
	case 0xe9:
		if (left != 4)
			return;
		ret->flow = op == 0xe8 ? INSN_CALLS : INSN_JUMPS;
		ret->target = next + (uint64_t)(int64_t)displacement(c->at);
		break;
	case 0xeb:
		if (left != 1)
			return;
		ret->flow = INSN_JUMPS;
		ret->target = next + (uint64_t)(int64_t)(int8_t)*c->at;
		break;
	default:
		break;
	}
}

static unsigned char marker_of(const unsigned char *bytes, size_t len)
{
	static const unsigned char start[] = { 0x0f, 0x1f, 0x84, 0x00, 'K', 'D', 'R' };
	bool is = len == sizeof(start) + 1 && !memcmp(bytes, start, sizeof(start));

	return is && bytes[7] >= 1 && bytes[7] <= INSN_MARKERS ? bytes[7] : 0;
}

void insn_decode(const unsigned char *bytes, size_t len, uint64_t addr, struct insn *ret)
{
	struct cursor c = { .at = bytes, .end = bytes + len };
	unsigned op;

	*ret = (struct insn){ .marker = marker_of(bytes, len) };
	while (c.at < c.end && take_prefix(&c, *c.at))
		c.at++;
	if (c.at < c.end && (*c.at & 0xf0) == 0x40)
		c.rex = *c.at++;
	if (c.at >= c.end)
		return;
	op = *c.at++;
	if (op == 0x0f) {
		ret->safe = is_two_byte_safe(&c);
		return;
	}
	ret->safe = is_one_byte_safe(&c, op);
	decode_flow(&c, op, addr + len, ret);
	if (is_string(op) && (c.rep || c.repne) && c.at == c.end)
		ret->string =
			(op & ~1u) == 0xa6 || (op & ~1u) == 0xae ? INSN_COMPARES : INSN_REPEATS;
	ret->loads_stack = op == 0x8b && (c.rex & REX_W) && !(c.rex & REX_R) &&
			   modrm_reg(&c) == 4 && *c.at < 0xc0;
}

bool insn_ends_in_rep(const unsigned char *bytes, size_t len)
{
	struct cursor c = { 0 };
	size_t i = len;

	if (!i || !is_string(bytes[--i]))
		return false;
	if (i && (bytes[i - 1] & 0xf0) == 0x40)
		i--;
	while (i && len - i < INSN_BYTES && take_prefix(&c, bytes[i - 1]))
		i--;
	return c.rep || c.repne;
}
