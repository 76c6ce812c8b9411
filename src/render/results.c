/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "render/internal.h"

void render_results(const struct comparison *c, const struct render_options *o,
		    const char *const *next, struct str *out)
{
	struct flag_letters none = { .common = 0 };
	struct notes n = NOTES_INIT;
	bool headline = false, time = false;
	size_t i;

	notes_kernels(c, &n);
	text_notes(out, NULL, &n, o->width);
	notes_done(&n);
	text_tables(c, o, &none, out);
	for (i = 0; i < c->n_rows; i++) {
		time |= !c->rows[i].exact;
		headline |= c->rows[i].headline && !c->rows[i].exact;
	}
	exact_legend(c, o->width, out);
	if (time)
		str_printf(out, "\ncv%% between boots/invocations/samples.%s\n",
			   headline ? " * headline." : "");
	if (!c->n_rows)
		str_add(out, "\nNo results.\n");
	notes_failures(c, o->most, false, &n);
	text_notes(out, "Failed", &n, o->width);
	notes_done(&n);
	notes_failures(c, o->most, true, &n);
	text_notes(out, "Skipped", &n, o->width);
	notes_done(&n);
	if (next && *next)
		str_add_c(out, '\n');
	for (; next && *next; next++) {
		str_add(out, "Next: ");
		render_safe(out, *next);
		str_add_c(out, '\n');
	}
}
