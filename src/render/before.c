/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands above the tables: the kernels, and what differs beside them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/derive.h"
#include "render/internal.h"

#define ID_SHOWN 12

void notes_take(struct notes *notes, struct str *b)
{
	struct str safe = STR_INIT;

	render_safe(&safe, str_get(b));
	notes->line =
		arena_grow(&notes->arena, notes->line, notes->n, &notes->cap, sizeof(*notes->line));
	notes->line[notes->n++] = arena_strdup(&notes->arena, str_get(&safe));
	str_done(&safe);
	str_done(b);
}

void notes_add(struct notes *notes, const char *fmt, ...)
{
	struct str b = STR_INIT;
	char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = mem_strdup("");
	va_end(ap);
	str_add(&b, line);
	mem_free_ptr(&line);
	notes_take(notes, &b);
}

void notes_done(struct notes *notes)
{
	arena_done(&notes->arena);
	memset(notes, 0, sizeof(*notes));
}

/* "NAME, NAME" of the differences of one class that have values on both or on one side. */
static void list_names(const struct comparison *c, enum compare_diff_class class, unsigned kernel,
		       bool both, struct str *out)
{
	size_t i, n = 0;

	for (i = 0; i < c->n_differences; i++) {
		const struct compare_difference *d = &c->differences[i];

		if (d->class != class || d->kernel != kernel || (both && (!d->base || !d->new)))
			continue;
		if (++n > 5)
			continue;
		if (class == COMPARE_DIFF_DEBUG && !(d->base && d->new))
			str_printf(out, "%sonly in %s: %s=%s", n > 1 ? ", " : "",
				   c->kernels[d->new ? kernel : 0].label, d->name,
				   d->new ? d->new : d->base);
		else
			str_printf(out, "%s%s", n > 1 ? ", " : "", d->name);
	}
	if (n > 5)
		str_printf(out, " and %zu more", n - 5);
}

static bool has_flag(const struct comparison *c, unsigned kernel, enum compare_flag flag)
{
	size_t i, k;

	for (i = 0; i < c->n_rows; i++)
		for (k = 0; k < c->rows[i].n_pairs; k++)
			if (c->rows[i].pairs[k].new == kernel &&
			    (c->rows[i].pairs[k].flags & COMPARE_BIT(flag)))
				return true;
	return false;
}

static bool has_time(const struct comparison *c)
{
	size_t i;

	for (i = 0; i < c->n_rows && c->rows[i].exact; i++)
		;
	return i < c->n_rows;
}

void notes_warnings(const struct comparison *c, struct notes *ret)
{
	const char *base = c->kernels[0].label;
	unsigned k;

	for (k = 1; k < c->n_kernels; k++) {
		const struct compare_kernel *n = &c->kernels[k];
		struct str names = STR_INIT;

		list_names(c, COMPARE_DIFF_ENVIRONMENT, k, true, &names);
		if (names.len && has_flag(c, k, COMPARE_CONFOUNDED))
			notes_add(ret,
				  "Confounded: between %s and %s the environment differs, not only "
				  "the kernel: %s.",
				  base, n->label, str_get(&names));
		str_reset(&names);
		list_names(c, COMPARE_DIFF_DEBUG, k, false, &names);
		if (names.len)
			notes_add(ret, "Debugging options differ between %s and %s: %s.", base,
				  n->label, str_get(&names));
		str_done(&names);
		if (n->same_as_base && has_exact(c))
			notes_add(ret,
				  "A/A: %s and %s are one kernel. Counts must be the same, or "
				  "within perturbation where other perturbations were run%s.",
				  base, n->label,
				  has_time(c) ? "; other numbers show noise and have no verdicts"
					      : "");
		else if (n->same_as_base)
			notes_add(ret,
				  "A/A: %s and %s are one kernel. What differs below is the noise "
				  "of this setup; there are no verdicts.",
				  base, n->label);
		else if (c->kernels[0].release && n->release &&
			 !strcmp(c->kernels[0].release, n->release))
			notes_add(ret, "%s and %s have one release string and are not one kernel.",
				  base, n->label);
	}
}

/* Of the guests of exact rows: what they do decides what a system call costs. */
static void add_mitigations(const struct comparison *c, struct notes *ret)
{
	bool same = true;
	unsigned k;

	for (k = 1; k < c->n_kernels; k++)
		same &= str_eq(c->kernels[0].mitigations, c->kernels[k].mitigations);
	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_kernel *n = &c->kernels[k];

		if (n->mitigations && (!same || !k))
			notes_add(ret, "Mitigations in %s%s: %s", same ? "the guest" : "",
				  same ? "" : n->label, n->mitigations);
	}
}

void notes_kernels(const struct comparison *c, struct notes *ret)
{
	struct str short_name = STR_INIT, label = STR_INIT;
	unsigned k;

	for (k = 0; k < c->n_kernels; k++) {
		const struct compare_kernel *n = &c->kernels[k];
		struct str b = STR_INIT;

		kernel_short(c, k, &short_name);
		str_reset(&label);
		render_safe(&label, n->label);
		if (!str_eq(str_get(&short_name), str_get(&label)))
			str_printf(&b, "%s = ", str_get(&short_name));
		str_printf(&b, "%s: %s", n->label, n->release ? n->release : "release unknown");
		if (n->build_id)
			str_printf(&b, ", build-id %.*s", ID_SHOWN, n->build_id);
		str_printf(&b, ", %u boot%s", n->boots, n->boots == 1 ? "" : "s");
		if (n->failed)
			str_printf(&b, ", %u failed", n->failed);
		notes_take(ret, &b);
		if (n->version)
			notes_add(ret, "  %s", n->version);
	}
	add_mitigations(c, ret);
	str_done(&short_name);
	str_done(&label);
}

static void add_difference(const struct comparison *c, const struct compare_difference *d,
			   struct notes *ret)
{
	const char *base = c->kernels[0].label, *new = c->kernels[d->kernel].label;
	struct str b = STR_INIT;

	switch (d->class) {
	case COMPARE_DIFF_ENVIRONMENT:
	case COMPARE_DIFF_CONTEXT:
	case COMPARE_DIFF_IDENTITY:
	case COMPARE_DIFF_DERIVED:
		str_printf(&b, "%s %s: %s in %s, %s in %s", compare_diff_class_name(d->class),
			   d->name, d->base ? d->base : "unknown", base,
			   d->new ? d->new : "unknown", new);
		if (!strcmp(d->name, DERIVE_CPUTIME) && d->base && d->new)
			str_add(&b, "; user and system times cannot be compared");
		break;
	case COMPARE_DIFF_CHANGED:
		str_printf(&b, "changed during a boot of %s: %s from %s to %s", new, d->name,
			   d->base, d->new);
		if (d->count > 1)
			str_printf(&b, " (%u times)", d->count);
		break;
	case COMPARE_DIFF_CMDLINE:
		str_printf(&b, "only in %s: %s", d->base ? base : new, d->name);
		break;
	case COMPARE_DIFF_DEBUG:
	case COMPARE_DIFF_CONFIG:
		if (d->base && d->new)
			str_printf(&b, "%s: %s in %s, %s in %s", d->name, d->base, base, d->new,
				   new);
		else
			str_printf(&b, "only in %s: %s=%s", d->base ? base : new, d->name,
				   d->base ? d->base : d->new);
		break;
	}
	notes_take(ret, &b);
}

/* "only in" can be said of two configs, not of one. */
static void add_unknown(const struct comparison *c, const char *what, bool cmdline,
			struct notes *ret)
{
	struct str b = STR_INIT;
	unsigned k, n = 0;

	for (k = 0; k < c->n_kernels && c->n_kernels > 1; k++)
		if (cmdline ? !c->kernels[k].cmdline : !c->config_known[k])
			str_printf(&b, "%s%s", n++ ? ", " : "", c->kernels[k].label);
	if (n)
		notes_add(ret, "%s unknown: %s", what, str_get(&b));
	str_done(&b);
}

/* The environment and what changed are never cut: they decide what the numbers are worth. */
void notes_differences(const struct comparison *c, unsigned most, struct notes *ret)
{
	size_t i, shown = 0, hidden = 0;

	for (i = 0; i < c->n_differences; i++) {
		const struct compare_difference *d = &c->differences[i];

		if (i && d->class != c->differences[i - 1].class)
			shown = 0;
		if (most && d->class > COMPARE_DIFF_CONTEXT && shown >= most) {
			hidden++;
			continue;
		}
		shown++;
		add_difference(c, d, ret);
	}
	if (hidden)
		notes_add(ret, "and %zu more (--format json has all)", hidden);
	add_unknown(c, "config", false, ret);
	add_unknown(c, "command line", true, ret);
}
