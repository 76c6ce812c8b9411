/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbol tables: in an unpacked kernel without more ado, and in what passes for a kernel. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/internal.h"

static void use(struct symbols *s)
{
	size_t n = symbols_count(s);

	if (!n)
		abort(); /* tables without symbols are none */
	for (size_t i = 0; i < n; i++) {
		const struct symbol *sym = symbols_get(s, i), *at = symbols_at(s, sym->addr);

		if ((i && sym->addr < symbols_get(s, i - 1)->addr) || sym->end < sym->addr ||
		    !symbol_name_ok(sym->name, strlen(sym->name)))
			abort();
		if (symbol_is_text(sym) && sym->end > sym->addr && (!at || at->addr != sym->addr))
			abort();
		if (!symbols_fold(s, sym) || !symbols_named(s, sym->name))
			abort();
	}
	symbols_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols *s;

	if (!kallsyms_read(data, size, &s, NULL))
		use(s);
	if (!symbols_read(data, size, "it", &s, NULL))
		use(s);
	return 0;
}
