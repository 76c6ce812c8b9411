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

static void give(struct cpulist *l, const struct cpulist *allowed, size_t back, struct arena *a)
{
	l->cpu = arena_alloc(a, sizeof(*l->cpu));
	l->cpu[0] = allowed->cpu[allowed->n - 1 - back % allowed->n];
	l->n = 1;
}

int place_choose(enum place place, const struct cpulist *allowed, const struct workload *w,
		 const struct args *args, struct arena *a, struct cpulist **ret, struct error *e)
{
	struct cpulist *l = arena_array(a, crew_size(w, args) + 1, sizeof(*l));
	const struct party_role *role;
	size_t slot = 1, ends = 0;

	*ret = l;
	if (place == PLACE_SPREAD && allowed->n < 2)
		return error_set(e, ENOTSUP, "place=spread wants 2 CPUs, %zu is allowed here",
				 allowed->n);
	if (place == PLACE_FREE)
		return 0;
	give(&l[0], allowed, 0, a);
	for (role = w->parties; role && role->role; role++) {
		unsigned n = crew_role_size(role, args), i;

		for (i = 0; i < n; i++, slot++) {
			size_t spread = place == PLACE_SPREAD;

			give(&l[slot], allowed, role->paired ? i + ends * spread : slot * spread,
			     a);
		}
		ends += role->paired;
	}
	return 0;
}
