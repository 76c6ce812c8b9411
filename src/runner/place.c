/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placement: a parameter, never an accident. The last allowed CPU comes first, because CPU 0
 * takes more interrupts than the others on most machines.
 */
#include "runner/internal.h"

#include <errno.h>
#include <string.h>

enum place place_of(const struct workload *w, const struct args *args)
{
	const char *s;

	if (!w->parties)
		return w->pinned_free ? PLACE_FREE : PLACE_SAME;
	s = args_text(args, "place");
	if (!strcmp(s, "spread"))
		return PLACE_SPREAD;
	return !strcmp(s, "free") ? PLACE_FREE : PLACE_SAME;
}

int place_choose(enum place place, const struct cpulist *allowed, size_t slots, struct arena *a,
		 struct cpulist **ret, struct error *e)
{
	struct cpulist *l = arena_array(a, slots, sizeof(*l));
	size_t i;

	if (place == PLACE_SPREAD && allowed->n < 2)
		return error_set(e, ENOTSUP, "place=spread wants 2 CPUs, %zu is allowed here",
				 allowed->n);
	for (i = 0; i < slots && place != PLACE_FREE; i++) {
		size_t back = place == PLACE_SPREAD ? i % allowed->n : 0;

		l[i].cpu = arena_alloc(a, sizeof(*l[i].cpu));
		l[i].cpu[0] = allowed->cpu[allowed->n - 1 - back];
		l[i].n = 1;
	}
	*ret = l;
	return 0;
}
