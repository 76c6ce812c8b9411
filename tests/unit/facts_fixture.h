/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of files for facts to be read from, and the facts as a list. Include cmocka.h first. */
#ifndef KDELTA_TESTS_FACTS_FIXTURE_H
#define KDELTA_TESTS_FACTS_FIXTURE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "facts/facts.h"

#define CPU	    "/sys/devices/system/cpu"
#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* ---- trees ---- */

struct tree {
	char root[64];
	struct facts_source src;
};

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline int make(void **state)
{
	struct tree *t = mem_alloc(sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	snprintf(t->root, sizeof(t->root), "%.40s/facts.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(t->root));
	t->src.root = t->root;
	*state = t;
	return 0;
}

static inline int unmake(void **state)
{
	struct tree *t = *state;

	nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

static inline void folder(struct tree *t, const char *path)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", t->root, path);

	assert_int_equal(file_mkdirs(full, NULL), 0);
}

static inline void bytes(struct tree *t, const char *path, const void *data, size_t len)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", t->root, path);
	CLEANUP_FREE char *dir = mem_strdup(path);

	*strrchr(dir, '/') = '\0';
	folder(t, dir);
	assert_int_equal(file_replace(full, data, len, NULL), 0);
}

static inline void text(struct tree *t, const char *path, const char *s)
{
	bytes(t, path, s, strlen(s));
}

/* ---- facts as a list ---- */

struct got {
	char *name, *value, *why;
	enum fact_class class;
	enum fact_when when;
};

struct gots {
	struct got *f;
	size_t n, cap;
};

static inline void keep(void *arg, const struct record_fact *f)
{
	struct gots *g = arg;

	g->f = mem_grow(g->f, g->n, &g->cap, sizeof(*g->f));
	g->f[g->n++] = (struct got){ mem_strdup(f->name), mem_strdup(f->value), mem_strdup(f->why),
				     f->class, f->when };
}

static inline struct gots collect(const struct facts_source *src)
{
	struct gots g = { NULL, 0, 0 };

	facts_collect(src, FACT_BEFORE, keep, &g);
	return g;
}

static inline void gots_done(struct gots *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		free(g->f[i].name);
		free(g->f[i].value);
		free(g->f[i].why);
	}
	free(g->f);
}

static inline const struct got *find(const struct gots *g, const char *name)
{
	const struct got *hit = NULL;
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (strcmp(g->f[i].name, name) != 0)
			continue;
		assert_null(hit); /* a name stands once */
		hit = &g->f[i];
	}
	if (!hit)
		fail_msg("no fact '%s'", name);
	return hit;
}

static inline void expect(const struct gots *g, const char *name, const char *value)
{
	const struct got *f = find(g, name);

	if (!str_eq(f->value, value))
		fail_msg("%s is '%s' (%s), not '%s'", name, f->value ? f->value : "unknown",
			 f->why ? f->why : "", value);
}

/* Unknown, with a reason that has this in it. */
static inline void expect_unknown(const struct gots *g, const char *name, const char *why)
{
	const struct got *f = find(g, name);

	if (f->value || !f->why || !strstr(f->why, why))
		fail_msg("%s: '%s', because '%s', not '%s'", name, f->value ? f->value : "unknown",
			 f->why ? f->why : "", why);
}

#endif
