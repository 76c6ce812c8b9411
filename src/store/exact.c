/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/exact.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"

/* Other programs write records, too: what they call a window need not be one of ours. */
static void take_windows(const json_t *j, struct dataset *d, struct ds_invocation *v)
{
	struct exact_windows w, *copy;

	if (v->windows || exact_windows_decode(j, &d->arena, &w, NULL) < 0)
		return;
	v->windows = copy = arena_alloc(&d->arena, sizeof(*copy));
	*copy = w;
}

static void take_profile(const json_t *j, struct dataset *d, struct ds_invocation *v)
{
	struct exact_profile p, *copy;

	if (v->profile || exact_profile_decode(j, &d->arena, &p, NULL) < 0)
		return;
	v->profile = copy = arena_alloc(&d->arena, sizeof(*copy));
	*copy = p;
}

int exact_read(struct store *s, sqlite3_stmt **st, int64_t n, struct dataset *d, unsigned index,
	       struct error *e)
{
	struct ds_invocation *v = &d->invocations[index];
	int c;

	c = db_query(s, e, st, "SELECT record FROM raw WHERE invocation = ?1 ORDER BY n", "i", n);
	while (!c && (c = db_step(s, *st, e)) > 0) {
		CLEANUP_JSON json_t *j = NULL;
		const char *text = db_text(*st, 0), *kind;

		c = json_parse(text, strlen(text), "record", &j, e);
		if (c < 0)
			break;
		kind = json_opt_str(j, "k", "");
		if (!strcmp(kind, record_kind_name(RECORD_WINDOW)))
			take_windows(j, d, v);
		else if (!strcmp(kind, record_kind_name(RECORD_PROFILE)))
			take_profile(j, d, v);
	}
	return c;
}
