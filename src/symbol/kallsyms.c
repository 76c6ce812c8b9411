/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables stand one behind the other in .rodata of one object file, each aligned to 8:
 *
 *	to 6.1		offsets base num_syms names markers            token_table token_index
 *	6.2, 6.3	offsets base num_syms names markers seqs       token_table token_index
 *	from 6.4	num_syms names markers token_table token_index offsets base seqs
 *	later		num_syms names markers token_table token_index offsets seqs
 *
 * No symbol or section says where. The token table gives itself away by the tokens of the digits,
 * and each step from there is proved by another table: the token index, the markers, addresses
 * that ascend.
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/internal.h"

#define TOKENS	     256u
#define DIGIT_TOKENS 48u		   /* before that of '0' */
#define TOKEN_MAX    512u		   /* a token is a part of a name */
#define NAMES_MAX    ((size_t)64 << 20)	   /* of the names and what stands behind them */
#define COUNT_MAX    ((uint32_t)1 << 21)   /* a kernel with all debugging has 400 000 */
#define STEPS_MAX    ((size_t)32 << 20)	   /* names stepped over in search of the right start */
#define KERNEL_START 0xffffffff80000000ull /* __START_KERNEL_map */

struct tables {
	const uint8_t *data;
	size_t len;
	size_t token_table, token_index;
	uint16_t token[TOKENS + 1]; /* where each begins in the table; the last: its end */
	size_t num_syms, names;
	uint32_t count;
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static size_t align8(size_t at)
{
	return (at + 7) & ~(size_t)7;
}

/* ---- tokens ---- */

static bool tokens_at(struct tables *t, size_t at)
{
	size_t end = at, index;

	for (unsigned i = 0; i < TOKENS; i++) {
		size_t left = t->len - end;
		const uint8_t *nul = memchr(t->data + end, 0, left < TOKEN_MAX ? left : TOKEN_MAX);

		if (!nul || end - at > UINT16_MAX)
			return false;
		t->token[i] = (uint16_t)(end - at);
		end = (size_t)(nul - t->data) + 1;
	}
	index = align8(end);
	if (end - at > UINT16_MAX || index > t->len || t->len - index < 2 * TOKENS)
		return false;
	for (unsigned i = 0; i < TOKENS; i++)
		if (get16(t->data + index + 2 * (size_t)i) != t->token[i])
			return false;
	t->token[TOKENS] = (uint16_t)(end - at);
	t->token_table = at;
	t->token_index = index;
	return true;
}

/* The next place from `from` on that has digits as a token table has them; t->len if none. */
static size_t next_digits(const struct tables *t, size_t from)
{
	static const char digits[] = "0\0"
				     "1\0"
				     "2\0"
				     "3\0"
				     "4\0"
				     "5\0"
				     "6\0"
				     "7\0"
				     "8\0"
				     "9";
	const uint8_t *p = memmem(t->data + from, t->len - from, digits, sizeof(digits));

	return p ? (size_t)(p - t->data) : t->len;
}

static bool tokens_around(struct tables *t, size_t digits)
{
	size_t at = digits, most = DIGIT_TOKENS * 64u, nuls = 0;

	while (at && digits - at < most) {
		nuls += !t->data[--at];
		if (nuls == DIGIT_TOKENS)
			break;
	}
	/* `at` ends the first token: it begins at any aligned place before which no other ends. */
	for (size_t n = 0; nuls == DIGIT_TOKENS && n < TOKEN_MAX; n++, at--) {
		if (n && !t->data[at])
			return false;
		if (!(at & 7) && tokens_at(t, at))
			return true;
		if (!at)
			return false;
	}
	return false;
}

/* ---- names ---- */

/* Length of the name at *at, which steps to its first byte. 0: no name is there. */
static size_t name_len(const struct tables *t, size_t *at, size_t end)
{
	size_t n;

	if (*at >= end)
		return 0;
	n = t->data[(*at)++];
	if (n & 0x80) {
		if (*at >= end)
			return 0;
		n = (n & 0x7f) | (size_t)(t->data[(*at)++] & 0x7f) << 7;
	}
	return n <= end - *at ? n : 0;
}

/* Behind the names, or 0. */
static size_t names_end(const struct tables *t, size_t *steps)
{
	size_t at = t->names;

	for (uint32_t i = 0; i < t->count; i++) {
		size_t n = name_len(t, &at, t->token_table);

		if (!n || ++*steps > STEPS_MAX)
			return 0;
		at += n;
	}
	return at;
}

static bool markers_agree(const struct tables *t, size_t markers)
{
	size_t at = t->names, n;

	for (uint32_t i = 0; i < t->count; i++) {
		if (!(i & 0xff) && get32(t->data + markers + (size_t)(i >> 8) * 4) != at - t->names)
			return false;
		n = name_len(t, &at, t->token_table);
		at += n;
	}
	return true;
}

static bool names_at(struct tables *t, size_t num_syms, size_t *steps)
{
	size_t markers, behind;

	t->num_syms = num_syms;
	t->names = num_syms + 8;
	t->count = get32(t->data + num_syms);
	if (!t->count || t->count > COUNT_MAX || get32(t->data + num_syms + 4) ||
	    t->count > (t->token_table - t->names) / 2)
		return false;
	markers = align8(names_end(t, steps));
	if (!markers)
		return false;
	behind = align8(markers + ((size_t)t->count + 255) / 256 * 4);
	/* Sequence numbers take 3 bytes; in 6.2-rc1 they took 4. */
	if (behind != t->token_table && align8(behind + 3 * (size_t)t->count) != t->token_table &&
	    align8(behind + 4 * (size_t)t->count) != t->token_table)
		return false;
	return markers_agree(t, markers);
}

static bool find_names(struct tables *t)
{
	size_t lowest = t->token_table > NAMES_MAX ? t->token_table - NAMES_MAX : 0, steps = 0;

	for (size_t at = t->token_table; at >= lowest + 16 && steps <= STEPS_MAX;) {
		at -= 8;
		if (at + 8 < t->token_table && names_at(t, at, &steps))
			return true;
	}
	return false;
}

/* The type and the name; length of both, 0: no name, or one too long. */
static size_t expand(const struct tables *t, size_t *at, char *ret)
{
	size_t n = name_len(t, at, t->token_table), have = 0;

	for (; n; n--) {
		unsigned token = t->data[(*at)++];
		size_t part = t->token[token + 1] - (size_t)t->token[token] - 1;

		if (part > SYMBOL_NAME_MAX + 1 - have)
			return 0;
		memcpy(ret + have, t->data + t->token_table + t->token[token], part);
		have += part;
	}
	ret[have] = '\0';
	return have;
}

/* ---- addresses ---- */

enum how {
	OLD_PLACE, /* base before num_syms, offsets before it */
	NEW_PLACE, /* behind the token index */
	OWN_PLACE, /* offsets behind the token index, each from where it stands itself */
	HOWS
};

struct addresses {
	size_t offsets;
	uint64_t base;	/* OWN_PLACE: the address of the offsets */
	uint64_t first; /* what the first must be; 0: not known */
	enum how how;
	bool absolute; /* CONFIG_KALLSYMS_ABSOLUTE_PERCPU */
};

/* By the segments: the address of a place in the file, and the lowest there is. */
static bool address_of(const struct tables *t, size_t at, uint64_t *ret_addr, uint64_t *ret_lowest)
{
	bool found = false;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	*ret_lowest = UINT64_MAX;
	if (t->len < sizeof(eh))
		return false;
	memcpy(&eh, t->data, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph) ||
	    eh.e_phoff > t->len)
		return false;
	for (size_t i = 0; i < eh.e_phnum; i++) {
		if (t->len - eh.e_phoff < (i + 1) * sizeof(ph))
			return false;
		memcpy(&ph, t->data + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_vaddr < *ret_lowest)
			*ret_lowest = ph.p_vaddr;
		if (at >= ph.p_offset && at - ph.p_offset < ph.p_filesz) {
			*ret_addr = ph.p_vaddr + (at - ph.p_offset);
			found = true;
		}
	}
	return found;
}

static bool place(const struct tables *t, enum how how, struct addresses *a)
{
	size_t size = align8(4 * (size_t)t->count), base;

	a->first = 0;
	a->how = how;
	a->absolute = false;
	if (how == OLD_PLACE) {
		if (t->num_syms < 8 || t->num_syms - 8 < size)
			return false;
		base = t->num_syms - 8;
		a->offsets = base - size;
	} else {
		a->offsets = align8(t->token_index + 2 * TOKENS);
		base = a->offsets + size;
		if (base > t->len || (how == NEW_PLACE && t->len - base < 8))
			return false;
	}
	if (how == OWN_PLACE)
		return address_of(t, a->offsets, &a->base, &a->first);
	a->base = get64(t->data + base);
	for (uint32_t i = 0; i < t->count && !a->absolute; i++)
		a->absolute = get32(t->data + a->offsets + 4 * (size_t)i) >> 31;
	return a->base >= KERNEL_START;
}

static uint64_t address(const struct tables *t, const struct addresses *a, uint32_t i)
{
	uint32_t off = get32(t->data + a->offsets + 4 * (size_t)i);
	uint64_t wide = off;

	if (off >> 31)
		wide |= 0xffffffff00000000ull;
	if (a->how == OWN_PLACE)
		return a->base + 4 * (uint64_t)i + wide;
	if (!a->absolute)
		return a->base + off;
	return off >> 31 ? a->base - 1 - wide : off;
}

/*
 * They ascend, and all that are not per CPU lie where kernels lie. Offsets from a base that cannot
 * be read would ascend as well if they were taken for ones from their own places: the first symbol,
 * _text, tells them apart.
 */
static bool addresses_agree(const struct tables *t, const struct addresses *a)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t addr = address(t, a, i);

		if (addr < last || (addr < KERNEL_START && !a->absolute))
			return false;
		last = addr;
	}
	return last >= KERNEL_START && (!a->first || address(t, a, 0) == a->first);
}

static bool find_addresses(const struct tables *t, struct addresses *a)
{
	for (unsigned how = 0; how < HOWS; how++)
		if (place(t, how, a) && addresses_agree(t, a))
			return true;
	return false;
}

/* ---- all ---- */

static struct symbols *read_symbols(const struct tables *t, const struct addresses *a)
{
	struct symbols *s = symbols_new();
	char name[SYMBOL_NAME_MAX + 2];
	size_t at = t->names;

	for (uint32_t i = 0; i < t->count; i++) {
		size_t n = expand(t, &at, name);

		if (n < 2 || !symbol_type_ok(name[0]) || !symbol_name_ok(name + 1, n - 1)) {
			symbols_free(s);
			return NULL;
		}
		symbols_append(s, address(t, a, i), name[0], name + 1, n - 1, NULL);
	}
	symbols_index(s);
	return s;
}

int kallsyms_read(const uint8_t *data, size_t len, struct symbols **ret, struct error *e)
{
	struct tables t = { .data = data, .len = len };
	struct addresses a;
	const char *missing = NULL;

	for (size_t at = next_digits(&t, 0); at < len; at = next_digits(&t, at + 1)) {
		if (!tokens_around(&t, at))
			continue;
		missing = "names";
		if (!find_names(&t))
			continue;
		missing = "addresses";
		if (!find_addresses(&t, &a))
			continue;
		*ret = read_symbols(&t, &a);
		if (*ret)
			return 0;
		missing = "readable names";
	}
	if (missing)
		return error_set(e, ENOENT,
				 "its symbol tables have no %s where 4.20 and later have them: a "
				 "layout that kdelta does not know",
				 missing);
	return error_set(e, ENOENT,
			 "carries no symbol tables: it was built without CONFIG_KALLSYMS");
}
