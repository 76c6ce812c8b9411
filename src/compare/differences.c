/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare/internal.h"

struct option {
	const char *name, *value;
};

/* Options that make a kernel slow on purpose: prefixes, without CONFIG_. */
static const char *const debugging[] = {
	"DEBUG_",
	"PROVE_",
	"LOCKDEP",
	"LOCK_STAT",
	"KASAN",
	"KCSAN",
	"KMSAN",
	"UBSAN",
	"KFENCE",
	"KMEMLEAK",
	"SLUB_DEBUG_ON",
	"PAGE_POISON",
	"PAGE_OWNER",
	"KCOV",
	"GCOV",
	"FAULT_INJECTION",
	"SCHED_DEBUG_",
	"TRACE_IRQFLAGS",
	"PAGE_TABLE_CHECK",
	"RCU_TRACE",
};

/* Those of that kind that cost nothing to speak of, and that all distributions set or not. */
static const char *const harmless[] = {
	"DEBUG_INFO",	       "DEBUG_FS",	   "DEBUG_KERNEL",
	"DEBUG_MISC",	       "DEBUG_BUGVERBOSE", "DEBUG_SECTION",
	"KASAN_SHADOW_OFFSET", "LOCKDEP_SUPPORT",  "KFENCE_",
};

static bool is_debugging(const char *name)
{
	size_t i;

	name += str_starts(name, "CONFIG_") ? 7 : 0;
	if (str_starts(name, "HAVE_") || str_starts(name, "ARCH_"))
		return false;
	for (i = 0; i < ARRAY_SIZE(harmless); i++)
		if (str_starts(name, harmless[i]))
			return false;
	for (i = 0; i < ARRAY_SIZE(debugging); i++)
		if (str_starts(name, debugging[i]))
			return true;
	return false;
}

struct compare_difference *compare_add_difference(struct compare_work *w,
						  enum compare_diff_class class, unsigned kernel,
						  const char *name, const char *base,
						  const char *new)
{
	struct comparison *c = w->c;
	struct compare_difference *n;
	size_t i;

	for (i = 0; i < c->n_differences; i++) {
		n = &c->differences[i];
		if (n->class == class && n->kernel == kernel && !strcmp(n->name, name) &&
		    str_eq(n->base, base) && str_eq(n->new, new)) {
			n->count++;
			return n;
		}
	}
	c->differences = arena_grow(&c->arena, c->differences, c->n_differences,
				    &w->cap_differences, sizeof(*n));
	n = &c->differences[c->n_differences++];
	n->class = class;
	n->kernel = kernel;
	n->name = arena_strdup(&c->arena, name);
	n->base = arena_strdup(&c->arena, base);
	n->new = arena_strdup(&c->arena, new);
	n->count = 1;
	return n;
}

static int option_cmp(const void *a, const void *b)
{
	return strcmp(((const struct option *)a)->name, ((const struct option *)b)->name);
}

/* The options of a .config, sorted by name; one that is not set is not there. */
static struct option *config_parse(struct arena *a, const char *text, size_t *ret_n)
{
	struct option *list = NULL;
	size_t n = 0, cap = 0, len, name;

	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		name = strcspn(text, "=");
		if (!str_starts(text, "CONFIG_") || name >= len)
			continue;
		list = arena_grow(a, list, n, &cap, sizeof(*list));
		list[n].name = arena_strndup(a, text, name);
		list[n++].value = arena_strndup(a, text + name + 1, len - name - 1);
	}
	if (n)
		qsort(list, n, sizeof(*list), option_cmp);
	*ret_n = n;
	return list;
}

static void add_option(struct compare_work *w, unsigned kernel, const char *name, const char *base,
		       const char *new)
{
	bool debug = is_debugging(name);

	w->debugs[kernel] |= debug;
	compare_add_difference(w, debug ? COMPARE_DIFF_DEBUG : COMPARE_DIFF_CONFIG, kernel, name,
			       base, new);
}

static void compare_configs(struct compare_work *w, unsigned kernel, const char *base,
			    const char *new)
{
	struct arena scratch = ARENA_INIT;
	struct option *a, *b;
	size_t n, m, i = 0, k = 0;
	int order;

	a = config_parse(&scratch, base, &n);
	b = config_parse(&scratch, new, &m);
	while (i < n || k < m) {
		order = i == n ? 1 : k == m ? -1 : strcmp(a[i].name, b[k].name);
		if (order < 0) {
			add_option(w, kernel, a[i].name, a[i].value, NULL);
			i++;
		} else if (order > 0) {
			add_option(w, kernel, b[k].name, NULL, b[k].value);
			k++;
		} else {
			if (strcmp(a[i].value, b[k].value) != 0)
				add_option(w, kernel, a[i].name, a[i].value, b[k].value);
			i++;
			k++;
		}
	}
	arena_done(&scratch);
}

/* The words of a command line: blanks in double quotes do not part them. */
static char **split_words(struct arena *a, const char *s, size_t *ret_n)
{
	char **words = NULL;
	size_t n = 0, cap = 0, len;
	bool quoted;

	for (; s && *s; s += len) {
		s += strspn(s, " \t\n");
		quoted = false;
		for (len = 0; s[len] && (quoted || !strchr(" \t\n", s[len])); len++)
			quoted ^= s[len] == '"';
		/* Where the boot loader found the image says nothing that the image does not. */
		if (!len || str_starts(s, "BOOT_IMAGE="))
			continue;
		words = arena_grow(a, words, n, &cap, sizeof(*words));
		words[n++] = arena_strndup(a, s, len);
	}
	*ret_n = n;
	return words;
}

static void add_words(struct compare_work *w, unsigned kernel, char **words, size_t n,
		      char **others, size_t m, bool in_base)
{
	size_t i, k, have, there;

	for (i = 0; i < n; i++) {
		/* The same word twice on one side is a difference, too: the second is left over. */
		for (have = 0, k = 0; k <= i; k++)
			have += !strcmp(words[k], words[i]);
		for (there = 0, k = 0; k < m; k++)
			there += !strcmp(others[k], words[i]);
		if (have > there)
			compare_add_difference(w, COMPARE_DIFF_CMDLINE, kernel, words[i],
					       in_base ? words[i] : NULL,
					       in_base ? NULL : words[i]);
	}
}

bool compare_same_cmdline(const char *a, const char *b)
{
	struct arena scratch = ARENA_INIT;
	size_t n, m, i;
	char **x, **y;
	bool same;

	if (!a || !b)
		return a == b;
	x = split_words(&scratch, a, &n);
	y = split_words(&scratch, b, &m);
	same = n == m;
	for (i = 0; same && i < n; i++)
		same = !strcmp(x[i], y[i]);
	arena_done(&scratch);
	return same;
}

static void compare_cmdlines(struct compare_work *w, unsigned kernel, const char *base,
			     const char *new)
{
	struct arena scratch = ARENA_INIT;
	size_t n, m;
	char **a = split_words(&scratch, base, &n), **b = split_words(&scratch, new, &m);

	add_words(w, kernel, a, n, b, m, true);
	add_words(w, kernel, b, m, a, n, false);
	arena_done(&scratch);
}

static int difference_cmp(const void *a, const void *b)
{
	const struct compare_difference *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	/* Only in the base, only in the new, in both. */
	if (!x->new != !y->new)
		return !x->new ? -1 : 1;
	if (!x->base != !y->base)
		return !x->base ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const struct ds_kernel *kernel_at(const struct compare_work *w, unsigned kernel)
{
	size_t i;

	for (i = 0; i < w->d->n_kernels; i++)
		if (w->kernel_of[i] == (int)kernel)
			return &w->d->kernels[i];
	return NULL;
}

void compare_differences(struct compare_work *w)
{
	struct comparison *c = w->c;
	const struct ds_kernel *base = kernel_at(w, 0), *new;
	unsigned k;

	for (k = 1; k < c->n_kernels; k++) {
		new = kernel_at(w, k);
		if (base->cmdline && new->cmdline)
			compare_cmdlines(w, k, base->cmdline, new->cmdline);
		if (base->config && new->config)
			compare_configs(w, k, base->config, new->config);
	}
	if (c->n_differences)
		qsort(c->differences, c->n_differences, sizeof(*c->differences), difference_cmp);
}

const char *compare_diff_class_name(enum compare_diff_class class)
{
	static const char *const names[] = {
		[COMPARE_DIFF_ENVIRONMENT] = "environment", [COMPARE_DIFF_CHANGED] = "changed",
		[COMPARE_DIFF_CONTEXT] = "context",	    [COMPARE_DIFF_DEBUG] = "debug",
		[COMPARE_DIFF_CMDLINE] = "command line",    [COMPARE_DIFF_IDENTITY] = "identity",
		[COMPARE_DIFF_DERIVED] = "derived",	    [COMPARE_DIFF_CONFIG] = "config",
	};

	return class < ARRAY_SIZE(names) && names[class] ? names[class] : "";
}
