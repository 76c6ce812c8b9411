/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plugin is said to have written; behind a NUL, if there is one, the agent's burst that
 * belongs to it. What is taken loses nothing on its way to a profile, and is stored so that it can
 * be read.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exact/exact.h"
#include "model/record.h"
#include "symbol/internal.h"

static void must(int r, const char *what, const struct error *e)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, e->text);
	abort();
}

/* Symbols among the addresses of the corpus. */
static struct symbols *some_symbols(void)
{
	static const struct {
		uint64_t addr;
		char type;
		const char *name, *module;
	} list[] = {
		{ 0x10, 'd', "low", NULL },
		{ 0xffffffff81000000, 'T', "_stext", NULL },
		{ 0xffffffff81000000, 'T', "entry", NULL },
		{ 0xffffffff81000100, 't', "f", NULL },
		{ 0xffffffff81000210, 't', "g", NULL },
		{ 0xffffffff81000225, 'D', "end", NULL },
		{ 0xffffffffc0000000, 't', "m_one", "m" },
		{ 0xfffffffffffffff0, 't', "last", "m" },
	};
	struct symbols *s = symbols_new();

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		symbols_append(s, list[i].addr, list[i].type, list[i].name, strlen(list[i].name),
			       list[i].module);
	symbols_index(s);
	return s;
}

static void same_sums(const struct exact_counts *c, const struct exact_profile *p)
{
	for (int in = 0; in < EXACT_IN; in++) {
		uint64_t count = 0, reps = 0;

		for (size_t i = 0; i < c->windows.n; i++) {
			const struct exact_window *w = &c->windows.list[i];

			if (w->overhead || exact_window_clean(w) != (in == EXACT_CLEAN))
				continue;
			count += exact_window_sum(w);
			reps += w->rep_iterations;
		}
		for (size_t i = 0; i < p->n; i++) {
			count -= p->symbols[i].count[in];
			reps -= p->symbols[i].rep_iterations[in];
		}
		if (count || reps) {
			fprintf(stderr, "sums differ\n");
			abort();
		}
	}
}

static void try_profile(const struct exact_counts *c, const struct symbols *s, struct arena *a)
{
	struct exact_profile p, again;
	struct error e = ERROR_INIT;
	json_t *j, *k;

	must(exact_profile_make(c, s, a, &p, &e), "profile", &e);
	same_sums(c, &p);
	j = exact_profile_encode("1", &p);
	must(exact_profile_decode(j, a, &again, &e), "decode", &e);
	k = exact_profile_encode("1", &again);
	if (!json_equal(j, k))
		abort();
	json_decref(j);
	json_decref(k);
}

/* Line by line what came out is a record; good ones come with windows and a profile. */
static void try_burst(const char *text, size_t len, const struct exact_counts *c,
		      const struct symbols *s, struct arena *a)
{
	struct plan_perturb perturb;
	struct error e = ERROR_INIT;
	struct str out = STR_INIT;
	const char *line;
	size_t n;

	exact_perturb(len, (unsigned)len, &perturb);
	if (exact_burst(text, len, c, s, NULL, &perturb, &out, &e) < 0) {
		if (out.len || !error_is_set(&e))
			abort();
		return;
	}
	/* A failed one is handed on, NULs and all: it was decoded once already. */
	for (line = out.s; line < out.s + out.len; line += n + 1) {
		struct exact_profile p;
		struct exact_windows w;
		struct record r;

		n = (size_t)((char *)memchr(line, '\n', (size_t)(out.s + out.len - line)) - line);
		if (!n)
			continue;
		must(record_decode(line, n, &r, &e), line, &e);
		if (r.kind == RECORD_WINDOW && json_object_get(r.raw, "rows"))
			exact_windows_decode(r.raw, a, &w, NULL);
		if (r.kind == RECORD_PROFILE && json_object_get(r.raw, "symbols"))
			exact_profile_decode(r.raw, a, &p, NULL);
		record_done(&r);
	}
	str_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t len = size ? strnlen(text, size) : 0;
	struct symbols *s = some_symbols();
	struct arena a = ARENA_INIT;
	struct error e = ERROR_INIT;
	struct exact_counts c;

	if (exact_counts_parse(text, len, &a, &c, &e) < 0) {
		if (!error_is_set(&e))
			abort();
	} else {
		try_profile(&c, s, &a);
		try_profile(&c, NULL, &a);
		if (len < size)
			try_burst(text + len + 1, size - len - 1, &c, s, &a);
	}
	symbols_free(s);
	arena_done(&a);
	return 0;
}
