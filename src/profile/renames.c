/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "profile/internal.h"
#include "symbol/rename.h"

struct side {
	struct rename_symbol *list;
	long *row; /* of each, in profile_diff.rows */
	size_t n;
};

static void take(struct side *s, struct arena *a, const struct profile_diff *d, bool base)
{
	size_t i;

	s->list = arena_array(a, d->n + 1, sizeof(*s->list));
	s->row = arena_array(a, d->n + 1, sizeof(*s->row));
	for (i = 0; i < d->n; i++) {
		const struct profile_delta *r = &d->rows[i];
		const struct profile_symbol *x = base ? r->base : r->new;

		if (!x || (base ? r->new : r->base) || x->name[0] == '[' ||
		    fold_is_address(x->name))
			continue;
		s->list[s->n] = (struct rename_symbol){ x->name, x->instructions, x->calls };
		s->row[s->n++] = (long)i;
	}
}

void profile_pair_renames(struct profile_diff *d, struct arena *a)
{
	struct side base = { NULL, NULL, 0 }, new = { NULL, NULL, 0 };
	struct rename_pair *pairs;
	size_t n, i;

	take(&base, a, d, true);
	take(&new, a, d, false);
	pairs = arena_array(a, (base.n < new.n ? base.n : new.n) + 1, sizeof(*pairs));
	n = rename_pairs(base.list, base.n, new.list, new.n, pairs);
	for (i = 0; i < n; i++) {
		struct profile_delta *x = &d->rows[base.row[pairs[i].a]];
		struct profile_delta *y = &d->rows[new.row[pairs[i].b]];

		x->twin = new.row[pairs[i].b];
		y->twin = base.row[pairs[i].a];
		x->twin_why = y->twin_why = pairs[i].why;
	}
}
