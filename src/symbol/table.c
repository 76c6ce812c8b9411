/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/internal.h"

struct symbols *symbols_new(void)
{
	return mem_alloc(sizeof(struct symbols));
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	free(s->list);
	free(s->text);
	free(s->bucket);
	free(s->chain);
	arena_done(&s->strings);
	free(s);
}

void symbols_append(struct symbols *s, uint64_t addr, char type, const char *name, size_t len,
		    const char *module)
{
	s->list = mem_grow(s->list, s->n, &s->cap, sizeof(*s->list));
	s->list[s->n++] = (struct symbol){
		.addr = addr,
		.name = arena_strndup(&s->strings, name, len),
		.module = module,
		.type = type,
	};
}

bool symbol_is_text(const struct symbol *sym)
{
	return sym->type == 't' || sym->type == 'T' || sym->type == 'w' || sym->type == 'W';
}

/* ---- order ---- */

/* A merge sort: symbols at one address must stay in the kernel's order, and mostly all are in
 * order. */
static void sort(struct symbol *list, size_t n, struct symbol *spare)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort(list, half, spare);
	sort(list + half, n - half, spare);
	if (list[half - 1].addr <= list[half].addr)
		return;
	memcpy(spare, list, half * sizeof(*list));
	while (i < half)
		list[k++] = j < n && list[j].addr < spare[i].addr ? list[j++] : spare[i++];
}

static void set_ends(struct symbols *s)
{
	const struct symbol *next = NULL; /* the first behind whose address is another */

	for (size_t i = s->n; i--;) {
		struct symbol *sym = &s->list[i];
		uint64_t most = sym->addr > UINT64_MAX - SYMBOL_LAST_BYTES
					? UINT64_MAX
					: sym->addr + SYMBOL_LAST_BYTES;

		if (i + 1 < s->n && s->list[i + 1].addr != sym->addr)
			next = &s->list[i + 1];
		sym->end = next ? next->addr : most;
		if (next && !str_eq(next->module, sym->module) && sym->end > most)
			sym->end = most;
	}
}

/* ---- one of several at an address ---- */

static bool is_label(const char *name)
{
	static const char *const names[] = { "_text",	   "_stext", "_etext",	     "_sinittext",
					     "_einittext", "_ftext", "__init_begin", "__init_end" };

	if (str_starts(name, "__pfx_") || str_starts(name, "__cfi_") || name[0] == '.')
		return true;
	if (str_ends(name, "_thunk_array"))
		return true;
	if (str_starts(name, "__") &&
	    (str_starts(name, "__start_") || str_starts(name, "__stop_") ||
	     str_starts(name, "__end_") || str_ends(name, "_start") || str_ends(name, "_end")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Less is better. */
static unsigned rank(const struct symbol *sym)
{
	unsigned type = sym->type == 'T' ? 0 : sym->type == 't' ? 1 : 2;
	size_t underscores = strspn(sym->name, "_");

	/* A system call without arguments is one function for 32 and 64 bit; ours are 64 bit. */
	return (is_label(sym->name) ? 1000u : 0) + type * 100u +
	       (strstr(sym->name, "__ia32_") ? 50u : 0) +
	       (underscores < 49 ? (unsigned)underscores : 49u);
}

static void find_text(struct symbols *s)
{
	free(s->text);
	s->text = mem_array(s->n + 1, sizeof(*s->text));
	s->n_text = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct symbol *sym = &s->list[i], *last;

		if (!symbol_is_text(sym))
			continue;
		last = s->n_text ? &s->list[s->text[s->n_text - 1]] : NULL;
		if (!last || last->addr != sym->addr)
			s->text[s->n_text++] = (uint32_t)i;
		else if (rank(sym) < rank(last))
			s->text[s->n_text - 1] = (uint32_t)i;
	}
}

/* ---- names ---- */

static size_t hash(const struct symbols *s, const char *name)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211u;
	return (size_t)(h ^ h >> 32) & (s->buckets - 1);
}

static void hash_names(struct symbols *s)
{
	free(s->bucket);
	free(s->chain);
	for (s->buckets = 1; s->buckets < s->n;)
		s->buckets *= 2;
	s->bucket = mem_array(s->buckets, sizeof(*s->bucket));
	s->chain = mem_array(s->n + 1, sizeof(*s->chain));
	for (size_t i = s->n; i--;) {
		uint32_t *b = &s->bucket[hash(s, s->list[i].name)];

		s->chain[i] = *b;
		*b = (uint32_t)i + 1;
	}
}

void symbols_index(struct symbols *s)
{
	struct symbol *spare = mem_array(s->n / 2 + 1, sizeof(*spare));

	sort(s->list, s->n, spare);
	free(spare);
	set_ends(s);
	find_text(s);
	hash_names(s);
}

/* ---- look-ups ---- */

const struct symbol *symbols_at(const struct symbols *s, uint64_t addr)
{
	size_t low = 0, high = s->n_text;
	const struct symbol *sym;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->list[s->text[mid]].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	sym = &s->list[s->text[low - 1]];
	return addr < sym->end ? sym : NULL;
}

const struct symbol *symbols_named(const struct symbols *s, const char *name)
{
	for (uint32_t i = s->bucket[hash(s, name)]; i; i = s->chain[i - 1])
		if (!strcmp(s->list[i - 1].name, name))
			return &s->list[i - 1];
	return NULL;
}

const struct symbol *symbols_next(const struct symbols *s, const struct symbol *prev,
				  const char *prefix)
{
	for (size_t i = prev ? (size_t)(prev - s->list) + 1 : 0; i < s->n; i++)
		if (str_starts(s->list[i].name, prefix))
			return &s->list[i];
	return NULL;
}

size_t symbols_count(const struct symbols *s)
{
	return s->n;
}

const struct symbol *symbols_get(const struct symbols *s, size_t i)
{
	return &s->list[i];
}
