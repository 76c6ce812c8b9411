/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory in which a program marks its windows (include/kdelta.h). */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "workloads/cmd/marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error e = ERROR_INIT;
	struct marks_windows w;
	uint64_t *page = malloc(size ? size : 1); /* aligned, as a page is */
	size_t i;
	int r;

	if (!page)
		return 0;
	memcpy(page, data, size);
	r = marks_read(page, size, &w, &e);
	if (r < 0 && (w.items || w.n || w.lost || !e.text[0]))
		abort();
	for (i = 0; i < w.n; i++)
		if (w.items[i].number >= MARKS_NUMBERS)
			abort();
	if (2 * w.n > size / 24)
		abort();
	free(w.items);
	free(page);
	return 0;
}
