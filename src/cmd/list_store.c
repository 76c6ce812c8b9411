/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/common.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/text.h"

static json_t *label_json(const struct store_label_row *r)
{
	json_t *j = json_object();

	json_object_set_new(j, "label", json_str(r->label));
	json_object_set_new(j, "release", json_str(r->release));
	json_object_set_new(j, "version", json_str(r->version));
	json_object_set_new(j, "build_id", json_str(r->build_id));
	json_object_set_new(j, "source", json_str(r->source));
	json_object_set_new(j, "kernels", json_u64(r->kernels));
	json_object_set_new(j, "experiments", json_u64(r->experiments));
	json_object_set_new(j, "boots", json_u64(r->boots_ok));
	json_object_set_new(j, "failed", json_u64(r->boots_failed));
	json_object_set_new(j, "invocations", json_u64(r->invocations));
	json_object_set_new(j, "last", cmd_when_json(r->last_ns));
	return j;
}

static const char *number(struct arena *a, uint64_t v)
{
	return arena_printf(a, "%llu", (unsigned long long)v);
}

static const char *when(struct arena *a, uint64_t ns)
{
	char buf[32];

	cmd_when(ns, buf);
	return arena_strdup(a, buf);
}

static void labels_text(struct str *out, const struct store_labels *l)
{
	static const char *const heads[] = { "<label",	 "<release", ">boots", ">failed",
					     ">results", "<last",    NULL };
	CLEANUP_FREE const char **cells = mem_array(6 * l->n + 1, sizeof(*cells));
	CLEANUP_FREE const char **notes = mem_array(l->n + 1, sizeof(*notes));
	const struct cmd_table t = { heads, l->n, cells, notes };
	struct arena a = ARENA_INIT;
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct store_label_row *r = &l->rows[i];

		cells[6 * i] = r->label;
		cells[6 * i + 1] = r->release;
		cells[6 * i + 2] = number(&a, r->boots_ok);
		cells[6 * i + 3] = number(&a, r->boots_failed);
		cells[6 * i + 4] = number(&a, r->invocations);
		cells[6 * i + 5] = when(&a, r->last_ns);
		if (r->kernels > 1)
			notes[i] = arena_printf(&a, "stood for %llu kernels; this is the newest",
						(unsigned long long)r->kernels);
	}
	cmd_table(out, &t);
	arena_done(&a);
}

int list_labels(const struct list *l, struct error *e)
{
	struct store_labels labels;
	struct str out = STR_INIT;
	struct store *s = NULL;
	json_t *j = NULL;
	size_t i;

	if (cmd_store(l->store, false, &s, e) < 0 || store_list_labels(s, &labels, e) < 0) {
		store_close(s);
		return cmd_bad(e);
	}
	if (l->json) {
		j = json_array();
		for (i = 0; i < labels.n; i++)
			json_array_append_new(j, label_json(&labels.rows[i]));
	} else if (labels.n) {
		labels_text(&out, &labels);
	} else {
		fprintf(stderr,
			"kdelta: no label yet: `kdelta vm`, `run` and `import` make them\n");
	}
	store_labels_done(&labels);
	store_close(s);
	return j ? cmd_print_json(j, CMD_OK) : cmd_print(&out, CMD_OK);
}

/*
 * The labels of an experiment, out of "a, b": a label may itself hold ", ", so the longest one
 * that is known and fits is taken.
 */
static json_t *labels_split(const char *text, const struct store_labels *known)
{
	json_t *j = json_array();

	while (*text) {
		size_t best = strcspn(text, ","), i;

		for (i = 0; i < known->n; i++) {
			size_t n = strlen(known->rows[i].label);

			if (n > best && !strncmp(text, known->rows[i].label, n) &&
			    (!text[n] || !strncmp(text + n, ", ", 2)))
				best = n;
		}
		json_array_append_new(j, json_stringn(text, best));
		text += best;
		if (!strncmp(text, ", ", 2))
			text += 2;
		else if (*text)
			text++;
	}
	return j;
}

static json_t *experiment_json(const struct store_experiment_row *x,
			       const struct store_labels *known)
{
	json_t *j = json_object();

	json_object_set_new(j, "id", json_str(x->id));
	json_object_set_new(j, "name", json_str(x->name));
	json_object_set_new(j, "subject", json_str(x->subject));
	json_object_set_new(j, "labels", labels_split(x->labels, known));
	json_object_set_new(j, "boots", json_u64(x->boots_ok));
	json_object_set_new(j, "failed", json_u64(x->boots_failed));
	json_object_set_new(j, "open", json_u64(x->boots_open));
	json_object_set_new(j, "invocations", json_u64(x->invocations));
	json_object_set_new(j, "created", cmd_when_json(x->created_ns));
	json_object_set_new(j, "last", cmd_when_json(x->last_ns));
	return j;
}

static void experiments_text(struct str *out, const struct store_experiments *x)
{
	static const char *const heads[] = { "<experiment", ">boots", ">failed",
					     ">results",    "<last",  NULL };
	CLEANUP_FREE const char **cells = mem_array(5 * x->n + 1, sizeof(*cells));
	CLEANUP_FREE const char **notes = mem_array(x->n + 1, sizeof(*notes));
	const struct cmd_table t = { heads, x->n, cells, notes };
	struct arena a = ARENA_INIT;
	size_t i;

	for (i = 0; i < x->n; i++) {
		const struct store_experiment_row *r = &x->rows[i];
		const char *open = "";

		if (r->boots_open)
			open = arena_printf(&a, " (%llu boots to come or running)",
					    (unsigned long long)r->boots_open);
		cells[5 * i] = r->name ? r->name : r->id;
		cells[5 * i + 1] = number(&a, r->boots_ok);
		cells[5 * i + 2] = number(&a, r->boots_failed);
		cells[5 * i + 3] = number(&a, r->invocations);
		cells[5 * i + 4] = when(&a, r->last_ns);
		notes[i] = arena_printf(&a, "%s%s", *r->labels ? r->labels : "no kernel yet", open);
	}
	cmd_table(out, &t);
	arena_done(&a);
}

int list_experiments(const struct list *l, struct error *e)
{
	struct store_labels labels = { .n = 0 };
	struct store_experiments x;
	struct str out = STR_INIT;
	struct store *s = NULL;
	json_t *j = NULL;
	size_t i;

	if (cmd_store(l->store, false, &s, e) < 0 || store_list_labels(s, &labels, e) < 0 ||
	    store_list_experiments(s, &x, e) < 0) {
		store_labels_done(&labels);
		store_close(s);
		return cmd_bad(e);
	}
	if (l->json) {
		j = json_array();
		for (i = 0; i < x.n; i++)
			json_array_append_new(j, experiment_json(&x.rows[i], &labels));
	} else if (x.n) {
		experiments_text(&out, &x);
	} else {
		fprintf(stderr,
			"kdelta: no experiment yet: `kdelta vm`, `run` and `import` make them\n");
	}
	store_labels_done(&labels);
	store_experiments_done(&x);
	store_close(s);
	return j ? cmd_print_json(j, CMD_OK) : cmd_print(&out, CMD_OK);
}
