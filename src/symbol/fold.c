/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/internal.h"

#define DEEPEST 8u /* suffixes of one name; "x.constprop.0.isra.0.cold" has three */

static bool is_suffix(const char *s, size_t len)
{
	static const char *const known[] = { "isra", "constprop", "part",      "cold",
					     "llvm", "lto_priv",  "localalias" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == len && !memcmp(s, known[i], len))
			return true;
	return false;
}

/* The last dot in name[1..len), or 0. */
static size_t last_dot(const char *name, size_t len)
{
	while (len > 1)
		if (name[--len] == '.')
			return len;
	return 0;
}

/* The length without the last suffix, number included; `len` itself if there is none. */
static size_t strip_one(const char *name, size_t len)
{
	size_t dot = last_dot(name, len), i = dot + 1, before;

	if (!dot || i == len)
		return len;
	if (is_suffix(name + i, len - i))
		return dot;
	while (i < len && isdigit((unsigned char)name[i]))
		i++;
	if (i < len)
		return len;
	before = last_dot(name, dot);
	if (before && is_suffix(name + before + 1, dot - before - 1))
		return before;
	return dot;
}

size_t symbol_fold_len(const char *name)
{
	size_t len = strlen(name), less = len;

	if (name[0] == '.')
		return len;
	do {
		len = less;
		less = strip_one(name, len);
	} while (less < len);
	return len;
}

static uint64_t distance(const struct symbol *a, const struct symbol *b)
{
	return a->addr < b->addr ? b->addr - a->addr : a->addr - b->addr;
}

/* The text symbol of exactly this name and the same module that is nearest. */
static const struct symbol *nearest(const struct symbols *s, const struct symbol *sym, size_t len)
{
	CLEANUP_FREE char *name = mem_strndup(sym->name, len);
	const struct symbol *first = symbols_named(s, name), *best = NULL;

	for (size_t i = first ? (size_t)(first - s->list) + 1 : 0; i; i = s->chain[i - 1]) {
		const struct symbol *c = &s->list[i - 1];

		if (!strcmp(c->name, name) && str_eq(c->module, sym->module) && symbol_is_text(c) &&
		    (!best || distance(c, sym) < distance(best, sym)))
			best = c;
	}
	return best;
}

static const struct symbol *owner_of_label(const struct symbols *s, const struct symbol *sym)
{
	const struct symbol *here = symbols_at(s, sym->addr);

	if (here && here->addr == sym->addr && here->name[0] != '.')
		return here;
	for (size_t i = (size_t)(sym - s->list); i--;) {
		const struct symbol *c = &s->list[i];

		if (!str_eq(c->module, sym->module))
			return NULL;
		if (symbol_is_text(c) && c->name[0] != '.')
			return symbols_at(s, c->addr);
	}
	return NULL;
}

const struct symbol *symbols_fold(const struct symbols *s, const struct symbol *sym)
{
	const struct symbol *found;
	size_t lens[DEEPEST], n = 0, len, less;

	if (sym->name[0] == '.') {
		found = owner_of_label(s, sym);
		if (!found)
			return sym;
		sym = found;
	}
	for (len = strlen(sym->name); n < DEEPEST; len = less) {
		less = strip_one(sym->name, len);
		if (less == len)
			break;
		lens[n++] = less;
	}
	/* What is folded furthest first; x.isra.0.cold may find no x, but x.isra.0. */
	while (n--) {
		found = nearest(s, sym, lens[n]);
		if (found)
			return found;
	}
	return sym;
}
