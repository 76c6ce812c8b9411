/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/unit.h"
#include "campaign/agent.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/list.h"
#include "cmd/text.h"
#include "image/image.h"
#include "plan/suite.h"

static int known_workloads(struct workload_list *ret, struct error *e)
{
	CLEANUP_FREE char *agent = NULL;
	int r = agent_find(&agent, e);

	return r < 0 ? r : agent_list(agent, ret, e);
}

/* ---- workloads ---- */

static void add_range(struct str *out, const struct param *p)
{
	void (*format)(uint64_t v, char *buf, size_t size) = NULL;
	char min[40], max[40];

	if (p->type == PARAM_CHOICE || p->type == PARAM_TEXT) {
		str_add(out, p->type == PARAM_CHOICE ? p->choices : "text");
		return;
	}
	if (p->type == PARAM_BYTES)
		format = unit_format_bytes;
	else if (p->type == PARAM_TIME)
		format = unit_format_time;
	if (format) {
		format(p->min, min, sizeof(min));
		format(p->max, max, sizeof(max));
	} else {
		snprintf(min, sizeof(min), "%llu", (unsigned long long)p->min);
		snprintf(max, sizeof(max), "%llu", (unsigned long long)p->max);
	}
	if (p->max)
		str_printf(out, "%s to %s", min, max);
	else
		str_printf(out, "%s or more", min);
}

/* "ns/op" */
static void add_unit(struct str *out, const struct metric *m)
{
	str_printf(out, "%s%s%s", unit_name(m->unit), m->per ? "/" : "", m->per ? m->per : "");
}

static void workload_text(struct str *out, const struct workload_info *w)
{
	const struct metric *m;
	const struct param *p;
	struct str line = STR_INIT;

	cmd_cell(out, w->name, 12);
	str_add_c(out, ' ');
	cmd_wrap(out, 13, w->doc);
	str_printf(&line, "op: %s; family %s", w->op, w->family);
	str_add_pad(out, ' ', 13);
	cmd_wrap(out, 13, str_get(&line));
	for (p = w->params; p->name; p++) {
		str_reset(&line);
		str_printf(&line, "%s=%s", p->name, p->def);
		str_add_pad(out, ' ', 13);
		cmd_cell(out, str_get(&line), 14);
		str_add_c(out, ' ');
		str_reset(&line);
		add_range(&line, p);
		str_printf(&line, "; %s", p->help);
		if (p->sweep)
			str_printf(&line, " (a default run: %s)", p->sweep);
		cmd_wrap(out, 28, str_get(&line));
	}
	str_reset(&line);
	for (m = w->metrics; m->name; m++) {
		str_printf(&line, "%s%s%s ", line.len ? ", " : "", m->name, m->headline ? "*" : "");
		add_unit(&line, m);
		str_printf(&line, " %s", metric_better_name(m->better));
	}
	str_add_pad(out, ' ', 13);
	cmd_wrap(out, 13, str_get(&line));
	str_done(&line);
}

static int list_workloads(const struct list *l, struct error *e)
{
	struct workload_list known;
	struct str out = STR_INIT;
	json_t *j = l->json ? json_array() : NULL;
	size_t i;

	if (known_workloads(&known, e) < 0) {
		json_decref(j);
		return cmd_bad(e);
	}
	for (i = 0; i < known.n; i++) {
		if (j) {
			json_array_append_new(j, workload_info_encode(&known.items[i]));
			continue;
		}
		workload_text(&out, &known.items[i]);
		str_add_c(&out, '\n');
	}
	str_add(&out,
		"PARAM=DEFAULT, then its values. Metrics: *headline, unit, what is better.\n");
	workload_list_done(&known);
	if (!j)
		return cmd_print(&out, CMD_OK);
	str_done(&out);
	return cmd_print_json(j, CMD_OK);
}

/* ---- metrics ---- */

static void metric_text(struct str *out, const struct workload_info *w, const struct metric *m)
{
	struct str cell = STR_INIT;

	cmd_cell(out, w->name, 11);
	str_printf(&cell, " %s%s", m->name, m->headline ? "*" : "");
	cmd_cell(out, str_get(&cell), 13);
	str_reset(&cell);
	str_add_c(&cell, ' ');
	add_unit(&cell, m);
	cmd_cell(out, str_get(&cell), 10);
	str_reset(&cell);
	str_printf(&cell, " %s", metric_better_name(m->better));
	cmd_cell(out, str_get(&cell), 9);
	str_reset(&cell);
	str_printf(&cell, " %s", metric_kind_name(m->kind));
	cmd_cell(out, str_get(&cell), 11);
	str_done(&cell);
	cmd_wrap(out, 54, m->doc ? m->doc : "");
}

static json_t *metric_json(const struct workload_info *w, const struct metric *m)
{
	json_t *j = metric_encode(m), *all = json_object();

	json_object_set_new(all, "workload", json_str(w->name));
	json_object_update(all, j);
	json_decref(j);
	return all;
}

static int list_metrics(const struct list *l, struct error *e)
{
	struct workload_list known;
	struct str out = STR_INIT;
	json_t *j = l->json ? json_array() : NULL;
	size_t i;

	if (known_workloads(&known, e) < 0) {
		json_decref(j);
		return cmd_bad(e);
	}
	str_add(&out, "workload    metric       unit      better   kind      meaning\n");
	for (i = 0; i < known.n; i++) {
		const struct metric *m;

		for (m = known.items[i].metrics; m->name; m++) {
			if (j)
				json_array_append_new(j, metric_json(&known.items[i], m));
			else
				metric_text(&out, &known.items[i], m);
		}
	}
	str_add(&out, "\n* the headline. evidence is shown with --all only and never judged.\n");
	workload_list_done(&known);
	if (!j)
		return cmd_print(&out, CMD_OK);
	str_done(&out);
	return cmd_print_json(j, CMD_OK);
}

/* ---- suites ---- */

static json_t *suite_json(const struct suite *s)
{
	json_t *j = json_object(), *specs = json_array();
	const char *const *spec;

	for (spec = s->specs; *spec; spec++)
		json_array_append_new(specs, json_str(*spec));
	json_object_set_new(j, "name", json_str(s->name));
	json_object_set_new(j, "doc", json_str(s->doc));
	json_object_set_new(j, "specs", specs);
	return j;
}

static int list_suites(const struct list *l, struct error *e)
{
	json_t *j = l->json ? json_array() : NULL;
	struct str out = STR_INIT, specs = STR_INIT;
	const struct suite *s;
	size_t n, i;

	(void)e;
	s = suite_all(&n);
	for (i = 0; i < n; i++) {
		const char *const *spec;

		if (j) {
			json_array_append_new(j, suite_json(&s[i]));
			continue;
		}
		cmd_cell(&out, s[i].name, 12);
		str_add_c(&out, ' ');
		cmd_wrap(&out, 13, s[i].doc);
		str_reset(&specs);
		for (spec = s[i].specs; *spec; spec++)
			str_printf(&specs, "%s%s", specs.len ? " " : "", *spec);
		str_add_pad(&out, ' ', 13);
		cmd_wrap(&out, 13, str_get(&specs));
	}
	str_done(&specs);
	if (!j)
		return cmd_print(&out, CMD_OK);
	str_done(&out);
	return cmd_print_json(j, CMD_OK);
}

/* ---- settings ---- */

static int list_settings(const struct list *l, struct error *e)
{
	json_t *j = l->json ? json_array() : NULL;
	struct workload_list known;
	struct str out = STR_INIT, what = STR_INIT;
	size_t i;

	if (known_workloads(&known, e) < 0) {
		json_decref(j);
		return cmd_bad(e);
	}
	for (i = 0; i < known.n_settings; i++) {
		const struct setting_info *s = &known.settings[i];

		if (j) {
			json_array_append_new(j, setting_info_encode(s));
			continue;
		}
		str_reset(&what);
		str_printf(&what, "%s. %s%s%s", s->form, s->doc, s->choices ? " One of " : "",
			   s->choices ? s->choices : "");
		cmd_cell(&out, s->name, 12);
		str_add_c(&out, ' ');
		cmd_wrap(&out, 13, str_get(&what));
	}
	str_done(&what);
	workload_list_done(&known);
	if (j) {
		str_done(&out);
		return cmd_print_json(j, CMD_OK);
	}
	cmd_cell(&out, "boot", 12);
	str_add_c(&out, ' ');
	cmd_wrap(&out, 13,
		 "boot:PARAM. A parameter of the kernel's command line, for kdelta vm alone.");
	return cmd_print(&out, CMD_OK);
}

/* ---- kernels ---- */

static json_t *kernel_json(const struct image_entry *k)
{
	json_t *j = json_object();

	json_object_set_new(j, "where", json_str(image_where_name(k->where)));
	json_object_set_new(j, "release", json_str(k->release));
	json_object_set_new(j, "kernel", json_str(k->kernel));
	json_object_set_new(j, "package", json_str(k->package));
	json_object_set_new(j, "version", json_str(k->version));
	json_object_set_new(j, "size_bytes", k->size ? json_u64(k->size) : json_null());
	if (k->where == IMAGE_RUNNING)
		json_object_set_new(j, "why_not", json_str(k->why_not));
	return j;
}

static const char *size_text(struct arena *a, uint64_t bytes)
{
	char number[40];

	if (!bytes)
		return NULL;
	unit_format_number((double)bytes / 1e6, 3, number, sizeof(number));
	return arena_printf(a, "%s MB", number);
}

/* Those of one place, under its heading; returns how many. */
static size_t kernels_text(struct str *out, const struct image_entry *k, size_t n,
			   enum image_where where)
{
	static const char *const heads[] = { "<kernel", "<version", ">size", NULL };
	CLEANUP_FREE const char **cells = mem_array(3 * n + 1, sizeof(*cells));
	struct cmd_table t = { .heads = heads, .cells = cells };
	struct arena a = ARENA_INIT;
	size_t i;

	for (i = 0; i < n; i++) {
		if (k[i].where != where)
			continue;
		cells[3 * t.n] = k[i].kernel;
		cells[3 * t.n + 1] = k[i].version;
		cells[3 * t.n + 2] = size_text(&a, k[i].size);
		t.n++;
	}
	str_printf(out, "%s%s%s\n", out->len ? "\n" : "", image_where_name(where),
		   t.n ? "" : ": none");
	if (t.n)
		cmd_table(out, &t);
	arena_done(&a);
	return t.n;
}

/* The kernel that runs, and whether it can be booted in a guest. */
static void running_text(struct str *out, const struct image_entry *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (k[i].where != IMAGE_RUNNING)
			continue;
		str_printf(out, "%s: ", image_where_name(k[i].where));
		cmd_cell(out, k[i].release, 0);
		str_add(out, "\n  ");
		cmd_wrap(out, 2, k[i].why_not ? k[i].why_not : k[i].kernel);
	}
}

static int list_kernels(const struct list *l, struct error *e)
{
	struct image_entry *k = NULL;
	struct str out = STR_INIT;
	size_t n = 0, i;
	json_t *j;

	if (image_list(NULL, l->offered, &k, &n, e) < 0)
		return cmd_bad(e);
	if (l->json) {
		j = json_array();
		for (i = 0; i < n; i++)
			json_array_append_new(j, kernel_json(&k[i]));
		image_list_free(k, n);
		return cmd_print_json(j, CMD_OK);
	}
	running_text(&out, k, n);
	kernels_text(&out, k, n, IMAGE_INSTALLED);
	kernels_text(&out, k, n, IMAGE_CACHED);
	if (l->offered && !kernels_text(&out, k, n, IMAGE_OFFERED))
		str_add(&out, "(apt offers none, or is not here; `apt-get update` may help)\n");
	if (!l->offered)
		str_add(&out, "\n--offered lists what apt offers, too.\n");
	image_list_free(k, n);
	return cmd_print(&out, CMD_OK);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(const struct list *l, struct error *e);
} lists[] = {
	{ "workloads", list_workloads },     { "metrics", list_metrics }, { "suites", list_suites },
	{ "settings", list_settings },	     { "kernels", list_kernels }, { "labels", list_labels },
	{ "experiments", list_experiments },
};

#define LISTS "workloads, metrics, suites, settings, kernels, labels, experiments"

static int no_such_list(const char *word, struct error *e)
{
	const char *names[ARRAY_SIZE(lists) + 1] = { NULL };
	const char *close;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		names[i] = lists[i].name;
	close = option_closest(word, names);
	if (close)
		error_set(e, EINVAL, "list: unknown '%s': did you mean `kdelta list %s`?", word,
			  close);
	else
		error_set(e, EINVAL, "list: unknown '%s': there are " LISTS, word);
	return cmd_bad(e);
}

int cmd_list(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta list [OPTION]... WHAT",
		.summary = "Lists what can be measured, what can be booted, and what was measured.",
		.description =
			"WHAT is one of\n"
			"  workloads    with their parameters: what -w takes\n"
			"  metrics      what each workload tells: what -m takes\n"
			"  suites       lists of workloads: what -s takes\n"
			"  settings     of the machine: what --set takes\n"
			"  kernels      running, installed, in the cache: what `kdelta vm` boots\n"
			"  labels       kernels that were measured, the latest first\n"
			"  experiments  commands that measured, the latest first",
		.examples = "  kdelta list kernels --offered\n"
			    "  kdelta list labels --format json | jq -r '.[].label'",
	};
	const char *format = "text";
	struct list l = { .json = false };
	const struct option table[] = {
		{ 0, "format", OPTION_CHOICE, &format, NULL, "text|json", 0, 0,
		  "how it is printed (default text)" },
		{ 0, "offered", OPTION_FLAG, &l.offered, NULL, NULL, 0, 0,
		  "of kernels: what apt offers, too" },
		CMD_STORE_OPTION(&l.store),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	size_t i;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (done)
		return code;
	l.json = !strcmp(format, "json");
	if (at == argc)
		error_set(&err, EINVAL, "list what? There are " LISTS);
	else if (argc - at > 1)
		error_set(&err, EINVAL, "list: '%s': one list at a time", argv[at + 1]);
	else if (l.offered && strcmp(argv[at], "kernels") != 0)
		error_set(&err, EINVAL, "list: --offered goes with kernels");
	if (error_is_set(&err))
		return cmd_bad(&err);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		if (!strcmp(argv[at], lists[i].name))
			return lists[i].run(&l, &err);
	return no_such_list(argv[at], &err);
}
