/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's instructions, as the plugin decodes them, and its `contexts` file. */
#include "fuzz.h"

#include <stdlib.h>

#include "base/mem.h"
#include "plugin/context.h"
#include "plugin/insn.h"

static void decode(const uint8_t *data, size_t size)
{
	size_t len = size < INSN_BYTES ? size : INSN_BYTES;
	struct insn in;

	insn_decode(data, len, 0xffffffff81000000ull, &in);
	if (in.safe && (in.string != INSN_NO_STRING || in.flow != INSN_GOES_ON || in.loads_stack))
		abort();
	if (in.target && in.flow == INSN_GOES_ON)
		abort();
	if (in.marker > INSN_MARKERS || (in.marker && !in.safe))
		abort();
	/* What is decoded as one must be found from behind. */
	if (in.string != INSN_NO_STRING && !insn_ends_in_rep(data, len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = mem_strndup((const char *)data, size);
	struct context_places *places = NULL;
	const char *what = NULL;
	struct insn in = { 0 };
	unsigned line;

	decode(data, size);
	insn_ends_in_rep(data, size);
	if (context_parse(text, &places, &line, &what)) {
		if (!what || places)
			abort();
	} else if (places) {
		for (uint64_t addr = 0; addr < 64; addr++)
			context_at(places, addr, &in);
	}
	context_places_free(places);
	return 0;
}
