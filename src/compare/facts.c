/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that differ between the kernels, and facts that changed while something was measured. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compare/internal.h"
#include "model/derive.h"

struct name {
	const char *name;
	enum fact_class class;
};

struct values {
	const char **v; /* different ones, sorted */
	size_t n, cap;
};

static void add_value(struct arena *a, struct values *s, const char *v)
{
	size_t i = 0, k;

	while (i < s->n && strcmp(s->v[i], v) < 0)
		i++;
	if (i < s->n && !strcmp(s->v[i], v))
		return;
	s->v = arena_grow(a, s->v, s->n, &s->cap, sizeof(*s->v));
	for (k = s->n++; k > i; k--)
		s->v[k] = s->v[k - 1];
	s->v[i] = v;
}

/* The facts named so that were taken before anything ran, in all boots of one kernel. */
static const char *values_of(struct compare_work *w, struct arena *a, unsigned kernel,
			     const struct name *name)
{
	const struct dataset *d = w->d;
	struct values s = { NULL, 0, 0 };
	struct str text = STR_INIT;
	const char *ret;
	size_t i, k;

	for (i = 0; i < d->n_boots; i++) {
		const struct ds_boot *b = &d->boots[i];

		for (k = 0;
		     k < b->n_facts && w->kernel_of[b->kernel] == (int)kernel && b->state == DS_OK;
		     k++)
			if (b->facts[k].when == FACT_BEFORE && b->facts[k].value &&
			    b->facts[k].class == name->class &&
			    !strcmp(b->facts[k].name, name->name))
				add_value(a, &s, b->facts[k].value);
	}
	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		for (k = 0; k < v->n_facts && compare_uses_boot(w, v->boot) &&
			    w->kernel_of[d->boots[v->boot].kernel] == (int)kernel;
		     k++)
			if (v->facts[k].when == FACT_BEFORE && v->facts[k].value &&
			    v->facts[k].class == name->class &&
			    !strcmp(v->facts[k].name, name->name))
				add_value(a, &s, v->facts[k].value);
	}
	if (!s.n)
		return NULL;
	for (i = 0; i < s.n; i++)
		str_printf(&text, "%s%s", i ? " or " : "", s.v[i]);
	ret = arena_strdup(a, str_get(&text));
	str_done(&text);
	return ret;
}

static void add_names(struct arena *a, const struct ds_fact *facts, size_t n, struct name **names,
		      size_t *count, size_t *cap)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct ds_fact *f = &facts[i];

		if (f->class != FACT_ENVIRONMENT && f->class != FACT_IDENTITY &&
		    f->class != FACT_DERIVED)
			continue;
		for (k = 0; k < *count; k++)
			if ((*names)[k].class == f->class && !strcmp((*names)[k].name, f->name))
				break;
		if (k < *count)
			continue;
		*names = arena_grow(a, *names, *count, cap, sizeof(**names));
		(*names)[*count].name = f->name;
		(*names)[(*count)++].class = f->class;
	}
}

/* The header of every report has these already, from the kernel itself. */
static bool is_in_header(const struct compare_kernel *k, const char *value)
{
	return str_eq(value, k->release) || str_eq(value, k->version) ||
	       str_eq(value, k->build_id) || str_eq(value, k->cmdline) ||
	       str_eq(value, k->config_hash);
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	while (*text) {
		size_t n = strcspn(text, " ,;");

		if (n == len && !strncmp(text, word, n))
			return true;
		text += n + strspn(text + n, " ,;");
	}
	return false;
}

/* What an experiment says it varies on purpose does not confound it. */
static bool is_subject(const struct comparison *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->n_experiments; i++)
		if (c->experiments[i].subject && has_word(c->experiments[i].subject, name))
			return true;
	return false;
}

/* Has `all` this item, in a list apart by commas (older kernels) or semicolons? */
static bool has_item(const char *all, const char *item, size_t len)
{
	size_t n;

	for (; *all; all += n + (all[n] != '\0')) {
		all += strspn(all, " ");
		n = strcspn(all, ",;");
		if (n == len && !strncmp(all, item, len))
			return true;
	}
	return false;
}

/* Does `b` say all that `a` says? What a kernel is not affected by, an older one may not know. */
static bool says_all_of(const char *a, const char *b)
{
	static const char none[] = ": Not affected";
	const size_t tail = sizeof(none) - 1;
	size_t n;

	for (; *a; a += n + (a[n] != '\0')) {
		a += strspn(a, " ");
		n = strcspn(a, ",;");
		if (!has_item(b, a, n) && (n < tail || strncmp(a + n - tail, none, tail) != 0))
			return false;
	}
	return true;
}

/*
 * A newer kernel knows of more vulnerabilities, and words them anew: that follows from the kernel.
 * What it does about one that both know is a matter of the environment.
 */
static enum compare_diff_class class_of(const struct name *name, const char *base, const char *new)
{
	static const enum compare_diff_class classes[] = {
		[FACT_IDENTITY] = COMPARE_DIFF_IDENTITY,
		[FACT_DERIVED] = COMPARE_DIFF_DERIVED,
		[FACT_ENVIRONMENT] = COMPARE_DIFF_ENVIRONMENT,
	};

	if (str_starts(name->name, "vulnerability") &&
	    (!base || !new || (says_all_of(base, new) && says_all_of(new, base))))
		return COMPARE_DIFF_DERIVED;
	return classes[name->class];
}

static void compare_fact(struct compare_work *w, struct arena *a, const struct name *name)
{
	struct comparison *c = w->c;
	const char *base = values_of(w, a, 0, name), *new;
	enum compare_diff_class class;
	unsigned k;

	for (k = 1; k < c->n_kernels; k++) {
		/* Of a kernel that never worked nothing is known: that is said once, elsewhere. */
		if (!c->kernels[0].boots || !c->kernels[k].boots)
			continue;
		new = values_of(w, a, k, name);
		if (str_eq(base, new))
			continue;
		if (name->class == FACT_IDENTITY && (!base || is_in_header(&c->kernels[0], base)) &&
		    (!new || is_in_header(&c->kernels[k], new)))
			continue;
		class = class_of(name, base, new);
		compare_add_difference(w, class, k, name->name, base, new);
		/* Unknown on one side is no difference that is known. */
		if (class == COMPARE_DIFF_ENVIRONMENT && base && new && !is_subject(c, name->name))
			w->confounds[k] = true;
		if (!strcmp(name->name, DERIVE_CPUTIME))
			w->cputimes[k] = base && new;
	}
}

/* Environment and state must hold from before to after. */
static bool find_changes(struct compare_work *w, unsigned kernel, const struct ds_fact *facts,
			 size_t n)
{
	bool found = false;
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct ds_fact *f = &facts[i];

		if (f->when != FACT_BEFORE || !f->value ||
		    (f->class != FACT_STATE && f->class != FACT_ENVIRONMENT))
			continue;
		for (k = 0; k < n; k++) {
			const struct ds_fact *g = &facts[k];

			if (g->when != FACT_AFTER || !g->value || strcmp(f->name, g->name) != 0 ||
			    !strcmp(f->value, g->value))
				continue;
			compare_add_difference(w, COMPARE_DIFF_CHANGED, kernel, f->name, f->value,
					       g->value);
			found = true;
		}
	}
	return found;
}

void compare_fact_differences(struct compare_work *w)
{
	const struct dataset *d = w->d;
	struct arena scratch = ARENA_INIT;
	struct name *names = NULL;
	size_t n = 0, cap = 0, i;

	for (i = 0; i < d->n_boots; i++) {
		const struct ds_boot *b = &d->boots[i];

		if (!compare_uses_boot(w, (unsigned)i))
			continue;
		add_names(&scratch, b->facts, b->n_facts, &names, &n, &cap);
		w->changed_boots[i] =
			find_changes(w, (unsigned)w->kernel_of[b->kernel], b->facts, b->n_facts);
	}
	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (!compare_uses_boot(w, v->boot))
			continue;
		add_names(&scratch, v->facts, v->n_facts, &names, &n, &cap);
		w->changed_invocations[i] = find_changes(
			w, (unsigned)w->kernel_of[d->boots[v->boot].kernel], v->facts, v->n_facts);
	}
	for (i = 0; i < n; i++)
		compare_fact(w, &scratch, &names[i]);
	arena_done(&scratch);
}
