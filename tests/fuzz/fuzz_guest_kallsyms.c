/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest says its symbols are, and a cache file. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/internal.h"

#define CACHE_ID "0123456789abcdef"

static void check(const struct symbols *s)
{
	for (size_t i = 0; i < symbols_count(s); i++) {
		const struct symbol *sym = symbols_get(s, i);

		if ((i && sym->addr < symbols_get(s, i - 1)->addr) ||
		    !symbol_name_ok(sym->name, strlen(sym->name)) ||
		    symbol_fold_len(sym->name) > strlen(sym->name) || !symbols_fold(s, sym))
			abort();
	}
}

/* The kernel's own lines of the text: what it says must agree with itself. */
static struct symbols *own_lines(const char *text)
{
	struct symbols *s = symbols_new();
	struct symbol_line l;

	while (symbol_line_next(&text, &l) > 0 && !l.module)
		symbols_append(s, l.addr, l.type, l.name, l.name_len, NULL);
	symbols_index(s);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = mem_alloc(size + 1), *made = NULL;
	struct symbols *s, *again;
	size_t n, before, len;

	memcpy(text, data, size);
	s = own_lines(text);
	check(s);
	symbols_verify(s, text, &n, NULL);
	if (n > symbols_count(s))
		abort();
	made = symbols_encode(s, CACHE_ID, &len);
	again = symbols_decode(made, len, CACHE_ID);
	if (!again != !symbols_count(s) || (again && symbols_count(again) != symbols_count(s)))
		abort(); /* what was written is what is read */
	symbols_free(again);
	before = symbols_count(s);
	if (symbols_add_modules(s, text, NULL) && symbols_count(s) != before)
		abort(); /* nothing was promised to go in */
	check(s);
	symbols_free(s);
	s = symbols_decode(text, size, CACHE_ID);
	if (s)
		check(s);
	symbols_free(s);
	return 0;
}
