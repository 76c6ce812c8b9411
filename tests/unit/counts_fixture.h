/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the room exact share: a small kernel's symbols, and what a plugin says of it.
 */
#ifndef KDELTA_TESTS_COUNTS_FIXTURE_H
#define KDELTA_TESTS_COUNTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exact/exact.h"
#include "symbol/internal.h"

#define OK(call)                                                                                   \
	do {                                                                                       \
		struct error ok_e = ERROR_INIT, *e = &ok_e;                                        \
		int ok_r = (call);                                                                 \
		if (ok_r < 0)                                                                      \
			fail_msg("%s: %d: %s", #call, ok_r, ok_e.text);                            \
	} while (0)

#define FAILS(code, text_in, call)                                                                 \
	do {                                                                                       \
		struct error f_e = ERROR_INIT, *e = &f_e;                                          \
		assert_int_equal(call, -(code));                                                   \
		if (!strstr(f_e.text, text_in))                                                    \
			fail_msg("'%s' is not in '%s'", text_in, f_e.text);                        \
	} while (0)

#define BASE 0xffffffff81000000ull

struct sym {
	uint64_t at; /* behind BASE */
	char type;
	const char *name, *module;
};

static inline struct symbols *symbols_of(const struct sym *list, size_t n)
{
	struct symbols *s = symbols_new();

	for (size_t i = 0; i < n; i++)
		symbols_append(s, BASE + list[i].at, list[i].type, list[i].name,
			       strlen(list[i].name), list[i].module);
	symbols_index(s);
	return s;
}

/* Behind f_end, which is no code, lies some that no symbol covers. */
static const struct sym few[] = {
	{ 0x000, 'T', "_stext", NULL }, { 0x000, 'T', "entry", NULL },
	{ 0x100, 't', "f", NULL },	{ 0x180, 't', "f.cold", NULL },
	{ 0x200, 'T', "g", NULL },	{ 0x24c, 'D', "f_end", NULL },
	{ 0x10000, 't', "m_one", "m" }, { 0x10040, 'd', "m_data", "m" },
};

/*
 * One overhead, two clean windows, one with a tick. In clean ones: entry 30 (the call of f at +10,
 * 26 times), f 66, g 8; unknown code 5; user space 100, of it none in other windows.
 */
#define COUNTS                                                                                     \
	"kdelta-plugin 1 api 4 contexts yes\n"                                                     \
	"window overhead 20 0 0 0 0 0 20 1 0 0\n"                                                  \
	"window batch 100 0 2 0 0 52 50 40 0 1\n"                                                  \
	"window batch 107 0 0 0 0 57 50 40 0 2\n"                                                  \
	"window batch 50 30 0 0 0 80 0 0 1 2\n"                                                    \
	"count 0 100 0 0 0 -\n"                                                                    \
	"count ffffffff81000000 4 1 0 0 -\n"                                                       \
	"count ffffffff81000010 26 9 0 0 ffffffff81000100\n"                                       \
	"count ffffffff81000100 26 9 0 0 -\n"                                                      \
	"count ffffffff81000104 26 0 80 0 -\n"                                                     \
	"count ffffffff81000110 10 2 0 0 ffffffff81000104\n"                                       \
	"count ffffffff81000118 4 2 0 0 ffffffff81000200\n"                                        \
	"count ffffffff81000184 0 5 0 0 ffffffff81000118\n"                                        \
	"count ffffffff81000200 4 7 0 0 ffffffff81000100\n"                                        \
	"count ffffffff81000208 4 0 0 0 ffffffff81000200\n"                                        \
	"count ffffffff81000250 2 0 0 0 ffffffff81000200\n"                                        \
	"count ffffffff81000290 3 0 0 0 -\n"                                                       \
	"count ffffffff81010000 0 41 0 0 ffffffff81000290\n"                                       \
	"count ffffffff81010004 0 4 0 0 ffffffff81000210\n"                                        \
	"end\n"

#endif
