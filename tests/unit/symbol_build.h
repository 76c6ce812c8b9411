/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels with symbol tables for tests, made by hand as scripts/kallsyms.c of the kernel describes
 * them, compression included. What is added to a `struct str` is freed with it.
 */
#ifndef KDELTA_TESTS_SYMBOL_BUILD_H
#define KDELTA_TESTS_SYMBOL_BUILD_H

#include <stdlib.h>

#include "base/mem.h"
#include "image_build.h"

#define BUILD_BASE 0xffffffff81000000ull /* of _text; the file's first byte is loaded there */

enum build_layout {
	BUILD_TO_6_1,
	BUILD_6_2_RC1,
	BUILD_6_2,
	BUILD_FROM_6_4,
	BUILD_OWN_PLACE,
	BUILD_LAYOUTS
};

struct build_symbol {
	uint64_t addr;
	char type;
	char name[600];
};

struct build_symbols {
	struct build_symbol *list;
	size_t n, cap;
};

/* Where the tables were put; 0: this layout has none. */
struct build_places {
	size_t num_syms, names, markers, token_table, token_index, offsets, base;
};

static inline void build_symbol(struct build_symbols *b, uint64_t addr, char type, const char *name)
{
	struct build_symbol *s;

	b->list = mem_grow(b->list, b->n, &b->cap, sizeof(*b->list));
	s = &b->list[b->n++];
	s->addr = addr;
	s->type = type;
	snprintf(s->name, sizeof(s->name), "%s", name);
}

/*
 * So many functions that all three kinds of tables have several parts: three markers, names whose
 * length takes two bytes. `percpu`: with symbols per CPU at low addresses.
 */
static inline void build_many(struct build_symbols *b, bool percpu)
{
	char name[600];
	uint32_t random = 1;

	if (percpu) {
		build_symbol(b, 0, 'A', "fixed_percpu_data");
		build_symbol(b, 0, 'A', "__per_cpu_start");
		build_symbol(b, 0x1000, 'A', "cpu_debug_store");
	}
	build_symbol(b, BUILD_BASE, 'T', "_stext");
	build_symbol(b, BUILD_BASE, 'T', "startup_64");
	for (unsigned i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "%s_%c%u_%s", i % 3 ? "sys" : "__do_sys", 'a' + i % 26,
			 i * 7919 % 1000, i % 5 ? "work" : "entry.isra.0");
		build_symbol(b, BUILD_BASE + 0x40 + i * 16, i % 4 ? 't' : 'T', name);
	}
	for (unsigned i = 0; i < 500; i++) {
		random = random * 1103515245 + 12345;
		name[i] = (char)("abcdefghijklmnopqrstuvwxyzABCDEF"[random >> 16 & 31]);
		name[i + 1] = '\0';
	}
	build_symbol(b, BUILD_BASE + 0x4000, 't', name);
	build_symbol(b, BUILD_BASE + 0x5000, 'T', "_etext");
	build_symbol(b, BUILD_BASE + 0x200000, 'D', "__start_rodata");
	build_symbol(b, BUILD_BASE + 0x7fffff8, 'B', "_end");
}

/* ---- compression ---- */

struct build_packed {
	uint8_t (*name)[640];
	size_t *len;
	char token[256][640];
};

/* Pairs that are most frequent take the free codes, from the last one down; some may stay empty. */
static inline void build_compress(const struct build_symbols *b, struct build_packed *p)
{
	static unsigned count[65536];

	p->name = mem_array(b->n, sizeof(*p->name));
	p->len = mem_array(b->n, sizeof(*p->len));
	memset(p->token, 0, sizeof(p->token));
	for (size_t i = 0; i < b->n; i++) {
		p->name[i][0] = (uint8_t)b->list[i].type;
		memcpy(p->name[i] + 1, b->list[i].name, strlen(b->list[i].name));
		p->len[i] = 1 + strlen(b->list[i].name);
		for (size_t k = 0; k < p->len[i]; k++)
			p->token[p->name[i][k]][0] = (char)p->name[i][k];
	}
	for (unsigned code = 256; code--;) {
		unsigned most = 0;

		if (p->token[code][0])
			continue;
		memset(count, 0, sizeof(count));
		for (size_t i = 0; i < b->n; i++)
			for (size_t k = 0; k + 1 < p->len[i]; k++)
				count[p->name[i][k] << 8 | p->name[i][k + 1]]++;
		for (unsigned pair = 0; pair < 65536; pair++)
			if (count[pair] > count[most])
				most = pair;
		if (!count[most])
			return;
		snprintf(p->token[code], sizeof(p->token[code]), "%.300s%.300s",
			 p->token[most >> 8], p->token[most & 255]);
		for (size_t i = 0; i < b->n; i++) {
			size_t to = 0;

			for (size_t k = 0; k < p->len[i]; k++) {
				bool hit = k + 1 < p->len[i] && p->name[i][k] == most >> 8 &&
					   p->name[i][k + 1] == (most & 255);

				p->name[i][to++] = hit ? (uint8_t)code : p->name[i][k];
				k += hit;
			}
			p->len[i] = to;
		}
	}
}

/* ---- tables ---- */

static inline void build_number(struct str *to, uint64_t v, size_t bytes)
{
	for (; bytes; bytes--, v >>= 8)
		str_add_c(to, (char)(v & 0xff));
}

static inline size_t build_label(struct str *to)
{
	str_add_pad(to, '\0', -to->len & 7);
	return to->len;
}

static inline void build_names(struct str *to, const struct build_symbols *b,
			       const struct build_packed *p, struct build_places *at)
{
	uint32_t *marker = mem_array(b->n / 256 + 1, sizeof(*marker));

	at->num_syms = build_label(to);
	build_number(to, b->n, 4);
	at->names = build_label(to);
	for (size_t i = 0; i < b->n; i++) {
		if (!(i & 255))
			marker[i >> 8] = (uint32_t)(to->len - at->names);
		if (p->len[i] > 127)
			build_number(to, (p->len[i] & 127) | 128 | p->len[i] >> 7 << 8, 2);
		else
			build_number(to, p->len[i], 1);
		str_add_n(to, (const char *)p->name[i], p->len[i]);
	}
	at->markers = build_label(to);
	for (size_t i = 0; i < (b->n + 255) / 256; i++)
		build_number(to, marker[i], 4);
	free(marker);
}

static inline void build_tokens(struct str *to, const struct build_packed *p,
				struct build_places *at)
{
	at->token_table = build_label(to);
	for (unsigned i = 0; i < 256; i++)
		str_add_n(to, p->token[i], strlen(p->token[i]) + 1);
	at->token_index = build_label(to);
	for (size_t i = 0, off = 0; i < 256; off += strlen(p->token[i++]) + 1)
		build_number(to, off, 2);
}

static inline void build_addresses(struct str *to, const struct build_symbols *b,
				   enum build_layout layout, bool absolute, struct build_places *at)
{
	uint64_t base = BUILD_BASE;

	for (size_t i = b->n; i--;)
		if (b->list[i].type != 'A')
			base = b->list[i].addr;
	at->offsets = build_label(to);
	for (size_t i = 0; i < b->n; i++) {
		uint64_t addr = b->list[i].addr;

		if (layout == BUILD_OWN_PLACE)
			build_number(to, addr - (BUILD_BASE + to->len), 4);
		else if (absolute)
			build_number(to, b->list[i].type == 'A' ? addr : base - addr - 1, 4);
		else
			build_number(to, addr - base, 4);
	}
	if (layout == BUILD_OWN_PLACE)
		return;
	at->base = build_label(to);
	build_number(to, base, 8);
}

static inline void build_seqs(struct str *to, size_t n, size_t bytes)
{
	build_label(to);
	for (size_t i = 0; i < n; i++)
		build_number(to, (n - i) * 0x10101, bytes);
}

/* `absolute`: as CONFIG_KALLSYMS_ABSOLUTE_PERCPU. */
static inline struct build_places build_tables(struct str *to, const struct build_symbols *b,
					       enum build_layout layout, bool absolute)
{
	struct build_places at = { 0 };
	struct build_packed p;

	build_compress(b, &p);
	if (layout < BUILD_FROM_6_4)
		build_addresses(to, b, layout, absolute, &at);
	build_names(to, b, &p, &at);
	if (layout == BUILD_6_2_RC1 || layout == BUILD_6_2)
		build_seqs(to, b->n, layout == BUILD_6_2 ? 3 : 4);
	build_tokens(to, &p, &at);
	if (layout >= BUILD_FROM_6_4) {
		build_addresses(to, b, layout, absolute, &at);
		build_seqs(to, b->n, 3);
	}
	free(p.name);
	free(p.len);
	return at;
}

/* ---- around them ---- */

/* An ELF file without sections, as it lies in a bzImage; `b` NULL: without tables. */
static inline struct build_places build_symbol_vmlinux(struct str *to,
						       const struct build_symbols *b,
						       enum build_layout layout, bool absolute)
{
	Elf64_Ehdr eh = { .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT };
	Elf64_Phdr ph[2] = { { .p_type = PT_NOTE }, { .p_type = PT_LOAD, .p_vaddr = BUILD_BASE } };
	unsigned char id[20];
	struct build_places at = { 0 };
	struct str notes = STR_INIT;

	for (unsigned i = 0; i < sizeof(id); i++)
		id[i] = (unsigned char)i;
	build_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	memcpy(eh.e_ident, "\177ELF\2\1\1", 7);
	eh.e_phoff = eh.e_ehsize = sizeof(eh);
	eh.e_phentsize = sizeof(ph[0]);
	eh.e_phnum = 2;
	ph[0].p_offset = sizeof(eh) + sizeof(ph);
	ph[0].p_filesz = notes.len;
	str_reset(to);
	str_add_n(to, (const char *)&eh, sizeof(eh));
	str_add_n(to, (const char *)ph, sizeof(ph));
	str_add_n(to, notes.s, notes.len);
	str_add(to, "Linux version " BUILD_RELEASE " (me@here) (gcc #12) " BUILD_VERSION "\n");
	/* Digits that are in no token table. */
	str_add_pad(to, '\0', 100);
	for (char c = '0'; c <= '9'; c++)
		str_add_n(to, (char[]){ c, '\0' }, 2);
	str_add_n(to, "\1\2\3\4\5\6\7", 7);
	if (b)
		at = build_tables(to, b, layout, absolute);
	str_add_n(to, "what stands behind", 18);
	ph[1].p_filesz = to->len;
	memcpy(to->s + sizeof(eh), ph, sizeof(ph));
	str_done(&notes);
	return at;
}

/* A bzImage around a vmlinux, packed by one of libarchive's filters. */
static inline void build_symbol_bzimage(struct str *to, const struct str *vmlinux, int filter)
{
	static const char banner[] = BUILD_RELEASE " (me@here) " BUILD_VERSION;
	struct str payload = STR_INIT;
	uint32_t size;

	if (filter == ARCHIVE_FILTER_LZ4)
		build_lz4_legacy(&payload, vmlinux);
	else
		build_pack(&payload, filter, NULL, vmlinux, 1);
	if (filter != ARCHIVE_FILTER_GZIP)
		build_number(&payload, vmlinux->len, 4);
	size = (16 + (uint32_t)payload.len + 15) / 16; /* 16: an offset of 0 is "unknown" */
	str_reset(to);
	str_add_pad(to, '\0', 1024 + size * 16);
	build_put(to, 0x1f1, 1, 1);
	build_put(to, 0x1f4, size, 4);
	build_put(to, 0x1fe, 0xaa55, 2);
	memcpy(to->s + 0x202, "HdrS", 4);
	build_put(to, 0x206, 0x20f, 2);
	build_put(to, 0x20e, 0x100, 2);
	build_put(to, 0x211, 1, 1);
	build_put(to, 0x236, 1, 2);
	build_put(to, 0x248, 16, 4);
	build_put(to, 0x24c, (uint32_t)payload.len, 4);
	memcpy(to->s + 0x300, banner, sizeof(banner));
	memcpy(to->s + 1024 + 16, payload.s, payload.len);
	str_done(&payload);
}

#endif
