/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "cmd/text.h"

#define NAME_WIDTH 28u
#define MOST	   3u /* different values of one fact that are shown */

/* The two readings of a fact; either may be missing. */
struct reading {
	const struct ds_fact *before, *after;
};

static struct reading find(const struct ds_fact *facts, size_t n, const char *name)
{
	struct reading r = { NULL, NULL };
	size_t i;

	for (i = 0; i < n; i++) {
		if (strcmp(facts[i].name, name) != 0)
			continue;
		if (facts[i].when == FACT_BEFORE && !r.before)
			r.before = &facts[i];
		else if (facts[i].when == FACT_AFTER)
			r.after = &facts[i];
	}
	return r;
}

/* Is this the first fact of its name? */
static bool is_first(const struct ds_fact *facts, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (!strcmp(facts[k].name, facts[i].name))
			return false;
	return true;
}

static bool changed(const struct reading *r)
{
	return r->before && r->after && !str_eq(r->before->value, r->after->value);
}

static void add_value(struct str *out, const struct ds_fact *f)
{
	if (!f)
		str_add(out, "not taken");
	else if (f->value)
		str_add(out, *f->value ? f->value : "(empty)");
	else
		str_printf(out, "unreadable (%s)", f->why ? f->why : "no reason given");
}

/* "tsc -> hpet (changed)" */
static void add_reading(struct str *out, const struct reading *r)
{
	const struct ds_fact *any = r->before ? r->before : r->after;

	if (r->before || !r->after)
		add_value(out, r->before);
	else
		str_add(out, "not taken");
	if (changed(r) || !r->before) {
		str_add(out, " -> ");
		add_value(out, r->after);
	}
	if (changed(r) && any->class != FACT_VOLATILE)
		str_add(out, " (changed)");
}

/* One fact over all boots of a kernel: its different readings, each with its boots. */
struct variants {
	char *text[MOST];
	struct str boots[MOST];
	size_t n, more, of; /* `of`: boots that have it at all */
};

static void add_variant(struct variants *v, const struct reading *r, unsigned number)
{
	struct str text = STR_INIT;
	size_t i;

	add_reading(&text, r);
	v->of++;
	for (i = 0; i < v->n; i++)
		if (!strcmp(v->text[i], str_get(&text)))
			break;
	if (i == MOST) {
		v->more++;
		str_done(&text);
		return;
	}
	if (i == v->n) {
		v->text[i] = str_take(&text);
		v->n++;
	}
	str_printf(&v->boots[i], "%s%u", v->boots[i].len ? ", " : "", number);
	str_done(&text);
}

static void fact_text(struct str *out, const struct show *s, unsigned kernel, const char *name,
		      size_t boots)
{
	struct variants v = { .n = 0 };
	struct str line = STR_INIT;
	unsigned b;
	size_t i;

	for (b = 0; b < s->d->n_boots; b++) {
		const struct ds_boot *boot = &s->d->boots[b];
		struct reading r = find(boot->facts, boot->n_facts, name);

		if (boot->kernel == kernel && (r.before || r.after))
			add_variant(&v, &r, s->number[b]);
	}
	str_add(out, "  ");
	if (cmd_cell(out, name, NAME_WIDTH) > NAME_WIDTH) {
		str_add_c(out, '\n');
		str_add_pad(out, ' ', NAME_WIDTH + 2);
	}
	str_add_c(out, ' ');
	for (i = 0; i < v.n; i++) {
		if (i)
			str_add_pad(out, ' ', NAME_WIDTH + 3);
		str_reset(&line);
		str_add(&line, v.text[i]);
		if (v.n > 1 || v.of < boots)
			str_printf(&line, " [boot %s]", str_get(&v.boots[i]));
		cmd_wrap(out, NAME_WIDTH + 3, str_get(&line));
		mem_free_ptr(&v.text[i]);
		str_done(&v.boots[i]);
	}
	if (v.more) {
		str_add_pad(out, ' ', NAME_WIDTH + 3);
		str_printf(out, "and others in %zu more boots\n", v.more);
	}
	str_done(&line);
}

/* What stands above as the kernel's identity need not be said again. */
static bool is_said(const struct show *s, unsigned kernel, const char *name)
{
	const struct ds_kernel *k = &s->d->kernels[kernel];
	const char *said = !strcmp(name, "release")    ? k->release
			   : !strcmp(name, "version")  ? k->version
			   : !strcmp(name, "build_id") ? k->build_id
			   : !strcmp(name, "cmdline")  ? k->cmdline
						       : NULL;
	size_t b, i;

	for (b = 0; said && b < s->d->n_boots; b++) {
		const struct ds_boot *boot = &s->d->boots[b];

		for (i = 0; boot->kernel == kernel && i < boot->n_facts; i++)
			if (!strcmp(boot->facts[i].name, name) &&
			    !str_eq(boot->facts[i].value, said))
				return false;
	}
	return said != NULL;
}

/* Is there this fact in an earlier boot of the kernel? */
static bool is_earlier(const struct show *s, unsigned kernel, size_t before, const char *name)
{
	size_t b;

	for (b = 0; b < before; b++) {
		const struct ds_boot *boot = &s->d->boots[b];
		struct reading r = find(boot->facts, boot->n_facts, name);

		if (boot->kernel == kernel && (r.before || r.after))
			return true;
	}
	return false;
}

static void class_text(struct str *out, const struct show *s, unsigned kernel,
		       enum fact_class class, size_t boots)
{
	bool any = false;
	size_t b, i;

	for (b = 0; b < s->d->n_boots; b++) {
		const struct ds_boot *boot = &s->d->boots[b];

		for (i = 0; boot->kernel == kernel && i < boot->n_facts; i++) {
			const struct ds_fact *f = &boot->facts[i];

			if (f->class != class || !is_first(boot->facts, i) ||
			    is_earlier(s, kernel, b, f->name) || is_said(s, kernel, f->name))
				continue;
			if (!any)
				str_printf(out, "\nFacts: %s\n", fact_class_name(class));
			any = true;
			fact_text(out, s, kernel, f->name, boots);
		}
	}
}

/* Facts that changed around one invocation. */
static void invocations_text(struct str *out, const struct show *s, unsigned kernel)
{
	const struct dataset *d = s->d;
	struct str line = STR_INIT;
	bool any = false;
	size_t i, k;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		for (k = 0; d->boots[v->boot].kernel == kernel && k < v->n_facts; k++) {
			struct reading r = find(v->facts, v->n_facts, v->facts[k].name);

			if (!is_first(v->facts, k) || !changed(&r) ||
			    r.before->class == FACT_VOLATILE)
				continue;
			if (!any)
				str_add(out, "\nFacts that changed during a workload\n");
			any = true;
			str_reset(&line);
			str_printf(&line, "boot %u, %s%s%s: %s ", s->number[v->boot], v->workload,
				   *v->params ? ":" : "", v->params, r.before->name);
			add_reading(&line, &r);
			str_add(out, "  ");
			cmd_wrap(out, 4, str_get(&line));
		}
	}
	str_done(&line);
}

void show_facts_text(struct str *out, const struct show *s, unsigned kernel)
{
	size_t boots = 0, b;
	unsigned c;

	for (b = 0; b < s->d->n_boots; b++)
		boots += s->d->boots[b].kernel == kernel && s->d->boots[b].n_facts;
	for (c = FACT_IDENTITY; c <= FACT_VOLATILE; c++)
		class_text(out, s, kernel, (enum fact_class)c, boots);
	invocations_text(out, s, kernel);
}

static json_t *value_json(const struct ds_fact *f)
{
	return f ? json_str(f->value) : json_null();
}

json_t *show_facts_json(const struct ds_fact *facts, size_t n)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < n; i++) {
		struct reading r = find(facts, n, facts[i].name);
		const char *why = r.before && r.before->why ? r.before->why
				  : r.after		    ? r.after->why
							    : NULL;
		json_t *j;

		if (!is_first(facts, i))
			continue;
		j = json_object();
		json_object_set_new(j, "name", json_str(facts[i].name));
		json_object_set_new(j, "class", json_str(fact_class_name(facts[i].class)));
		json_object_set_new(j, "before", value_json(r.before));
		json_object_set_new(j, "after", value_json(r.after));
		json_object_set_new(j, "changed", json_boolean(changed(&r)));
		if (why)
			json_object_set_new(j, "why", json_str(why));
		json_array_append_new(array, j);
	}
	return array;
}
