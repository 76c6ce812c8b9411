/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/text.h"
#include "render/render.h"

/* Of the invocations of a boot. */
struct counts {
	uint64_t ok, failed, skipped;
};

static struct counts count(const struct dataset *d, unsigned boot)
{
	struct counts c = { 0, 0, 0 };
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		if (d->invocations[i].boot != boot)
			continue;
		c.ok += d->invocations[i].state == DS_OK;
		c.failed += d->invocations[i].state == DS_FAILED;
		c.skipped += d->invocations[i].state == DS_SKIPPED;
	}
	return c;
}

static const char *state_name(enum ds_state s)
{
	static const char *const names[] = { "", "ok", "failed", "skipped", "stopped" };

	return names[s];
}

static const char *experiment_name(const struct ds_experiment *x)
{
	return x->name ? x->name : x->id;
}

/* ---- text ---- */

static void add_field(struct str *out, const char *name, const char *value)
{
	str_printf(out, "  %-13s", name);
	cmd_wrap(out, 15, value ? value : "unknown");
}

static void identity_text(struct str *out, const struct ds_kernel *k)
{
	render_safe(out, k->label);
	str_add_c(out, '\n');
	add_field(out, "release", k->release);
	add_field(out, "version", k->version);
	add_field(out, "build-id", k->build_id);
	add_field(out, "config hash", k->config_hash);
	add_field(out, "command line", k->cmdline);
	add_field(out, "source", k->source ? k->source : "the kernel that ran");
}

static void boots_text(struct str *out, const struct show *s, unsigned kernel)
{
	static const char *const heads[] = { ">boot",	 ">block",    "<state",
					     "<when",	 ">results",  ">failed",
					     ">skipped", ">warnings", NULL };
	const struct dataset *d = s->d;
	CLEANUP_FREE const char **cells = mem_array(8 * d->n_boots + 1, sizeof(*cells));
	CLEANUP_FREE const char **notes = mem_array(d->n_boots + 1, sizeof(*notes));
	struct cmd_table t = { .heads = heads, .cells = cells, .notes = notes };
	struct arena a = ARENA_INIT;
	unsigned i, experiment = 0;

	for (i = 0; i < d->n_boots; i++) {
		const struct ds_boot *b = &d->boots[i];
		struct counts c = count(d, i);
		const char **cell = cells + 8 * t.n;
		char when[32];

		if (b->kernel != kernel)
			continue;
		experiment = b->experiment;
		cmd_when(b->started_ns, when);
		cell[0] = arena_printf(&a, "%u", s->number[i]);
		cell[1] = arena_printf(&a, "%u", b->block + 1);
		cell[2] = state_name(b->state);
		cell[3] = arena_strdup(&a, when);
		cell[4] = arena_printf(&a, "%llu", (unsigned long long)c.ok);
		cell[5] = arena_printf(&a, "%llu", (unsigned long long)c.failed);
		cell[6] = arena_printf(&a, "%llu", (unsigned long long)c.skipped);
		cell[7] = arena_printf(&a, "%u", b->kernel_warnings);
		if (b->reason)
			notes[t.n] = b->reason;
		else if (d->n_experiments > 1)
			notes[t.n] = arena_printf(&a, "experiment %s",
						  experiment_name(&d->experiments[b->experiment]));
		t.n++;
	}
	str_printf(out, "\nBoots%s", t.n ? "" : ": none");
	if (t.n && d->n_experiments == 1) {
		str_add(out, " in experiment ");
		render_safe(out, experiment_name(&d->experiments[experiment]));
	}
	str_add_c(out, '\n');
	if (t.n)
		cmd_table(out, &t);
	arena_done(&a);
}

static void failures_text(struct str *out, const struct show *s, unsigned kernel)
{
	const struct dataset *d = s->d;
	struct str line = STR_INIT;
	bool any = false;
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (d->boots[v->boot].kernel != kernel || v->state == DS_OK || v->implied)
			continue;
		if (!any)
			str_add(out, "\nFailed and skipped\n");
		any = true;
		str_reset(&line);
		str_printf(&line, "boot %u: %s%s%s %s: %s", s->number[v->boot],
			   *v->workload ? v->workload : "the agent", *v->params ? ":" : "",
			   v->params, state_name(v->state), v->reason ? v->reason : "no reason");
		str_add(out, "  ");
		cmd_wrap(out, 4, str_get(&line));
	}
	str_done(&line);
}

/* Lines of a console, each made safe. */
static void console_text(struct str *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = mem_strndup(text, n);

		while (n && line[n - 1] == '\r')
			line[--n] = '\0';
		str_add(out, "  | ");
		render_safe(out, line);
		str_add_c(out, '\n');
		free(line);
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
}

static void consoles_text(struct str *out, const struct show *s, unsigned kernel)
{
	bool any = false;
	unsigned i;

	for (i = 0; i < s->d->n_boots; i++) {
		if (s->d->boots[i].kernel != kernel || !s->console[i])
			continue;
		any = true;
		if (!s->with_console)
			continue;
		str_printf(out, "\nEnd of the console of boot %u\n", s->number[i]);
		console_text(out, s->console[i]);
	}
	if (s->with_console && !any)
		str_add(out, "\nNo console was kept: that is done for boots in a VM.\n");
	if (any && !s->with_console)
		str_add(out,
			"\n--console shows the end of the console of boots that failed or warned.\n");
}

static int print_text(const struct show *s)
{
	struct str out = STR_INIT;
	unsigned i;

	for (i = 0; i < s->d->n_kernels; i++) {
		if (i)
			str_add_c(&out, '\n');
		identity_text(&out, &s->d->kernels[i]);
		boots_text(&out, s, i);
		failures_text(&out, s, i);
		consoles_text(&out, s, i);
		show_facts_text(&out, s, i);
	}
	return cmd_print(&out, CMD_OK);
}

/* ---- JSON ---- */

static json_t *failures_json(const struct dataset *d, unsigned boot)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];
		json_t *j;

		if (v->boot != boot || v->state == DS_OK)
			continue;
		j = json_object();
		json_object_set_new(j, "workload", json_str(v->workload));
		json_object_set_new(j, "params", json_str(v->params));
		json_object_set_new(j, "state", json_str(state_name(v->state)));
		json_object_set_new(j, "implied", json_boolean(v->implied));
		json_object_set_new(j, "reason", json_str(v->reason));
		json_array_append_new(array, j);
	}
	return array;
}

static json_t *boot_json(const struct show *s, unsigned boot)
{
	const struct ds_boot *b = &s->d->boots[boot];
	const struct ds_experiment *x = &s->d->experiments[b->experiment];
	struct counts c = count(s->d, boot);
	json_t *j = json_object();

	json_object_set_new(j, "boot", json_u64(s->number[boot]));
	json_object_set_new(j, "block", json_u64(b->block + 1));
	json_object_set_new(j, "experiment", json_str(experiment_name(x)));
	json_object_set_new(j, "id", json_str(b->id));
	json_object_set_new(j, "boot_id", json_str(b->boot_id));
	json_object_set_new(j, "state", json_str(state_name(b->state)));
	json_object_set_new(j, "reason", json_str(b->reason));
	json_object_set_new(j, "started", cmd_when_json(b->started_ns));
	json_object_set_new(j, "invocations", json_u64(c.ok));
	json_object_set_new(j, "failed", json_u64(c.failed));
	json_object_set_new(j, "skipped", json_u64(c.skipped));
	json_object_set_new(j, "kernel_warnings", json_u64(b->kernel_warnings));
	json_object_set_new(j, "failures", failures_json(s->d, boot));
	json_object_set_new(j, "facts", show_facts_json(b->facts, b->n_facts));
	if (s->with_console)
		json_object_set_new(j, "console", json_str(s->console[boot]));
	return j;
}

static json_t *kernel_json(const struct show *s, unsigned kernel)
{
	const struct ds_kernel *k = &s->d->kernels[kernel];
	json_t *j = json_object(), *boots = json_array();
	unsigned i;

	json_object_set_new(j, "label", json_str(k->label));
	json_object_set_new(j, "release", json_str(k->release));
	json_object_set_new(j, "version", json_str(k->version));
	json_object_set_new(j, "build_id", json_str(k->build_id));
	json_object_set_new(j, "config_hash", json_str(k->config_hash));
	json_object_set_new(j, "cmdline", json_str(k->cmdline));
	json_object_set_new(j, "source", json_str(k->source));
	for (i = 0; i < s->d->n_boots; i++)
		if (s->d->boots[i].kernel == kernel)
			json_array_append_new(boots, boot_json(s, i));
	json_object_set_new(j, "boots", boots);
	return j;
}

static int print_json(const struct show *s)
{
	json_t *j = json_object(), *kernels = json_array();
	unsigned i;

	for (i = 0; i < s->d->n_kernels; i++)
		json_array_append_new(kernels, kernel_json(s, i));
	json_object_set_new(j, "label", json_str(s->label));
	json_object_set_new(j, "kernels", kernels);
	return cmd_print_json(j, CMD_OK);
}

/* ---- the command ---- */

/* The numbers of the boots among all of their experiments, as `compare` counts them. */
static int number_boots(struct store *st, const struct dataset *d, unsigned *number,
			struct error *e)
{
	size_t i, k, n;
	int r = 0;

	for (i = 0; !r && i < d->n_experiments; i++) {
		const char *id = d->experiments[i].id;
		struct store_selection sel = { &id, 1, NULL, 0 };
		struct dataset all = DATASET_INIT;

		r = store_dataset(st, &sel, &all, e);
		for (k = 0; !r && k < d->n_boots; k++)
			for (n = 0; n < all.n_boots; n++)
				if (str_eq(d->boots[k].id, all.boots[n].id))
					number[k] = all.boots[n].index + 1;
		dataset_done(&all);
	}
	return r;
}

static int show(struct store *st, const struct store_selection *sel, const char *format,
		bool with_console)
{
	struct dataset d = DATASET_INIT;
	CLEANUP_FREE unsigned *number = NULL;
	CLEANUP_FREE char **console = NULL;
	struct show s = { .d = &d, .label = sel->labels[0], .with_console = with_console };
	struct error err = ERROR_INIT;
	int r, code = CMD_USAGE;
	size_t i;

	r = store_dataset(st, sel, &d, &err);
	number = mem_array(d.n_boots + 1, sizeof(*number));
	console = mem_array(d.n_boots + 1, sizeof(*console));
	if (!r)
		r = number_boots(st, &d, number, &err);
	for (i = 0; !r && i < d.n_boots; i++)
		if (d.boots[i].state != DS_OK || d.boots[i].kernel_warnings)
			r = store_boot_console(st, d.boots[i].id, &console[i], &err);
	s.number = number;
	s.console = (const char *const *)console;
	if (r < 0)
		cmd_bad(&err);
	else
		code = !strcmp(format, "json") ? print_json(&s) : print_text(&s);
	for (i = 0; i < d.n_boots; i++)
		free(console[i]);
	dataset_done(&d);
	return code;
}

int cmd_show(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta show [OPTION]... LABEL",
		.summary = "Shows a kernel that was measured: identity, boots, failures, facts.",
		.description = "LABEL means its latest experiment, LABEL~1 the one before.",
		.examples = "  kdelta show new\n"
			    "  kdelta show new --console\n"
			    "  kdelta show new~1 --format json | jq '.kernels[].boots[].facts'",
	};
	struct option_list experiments = { NULL, 0, 0 };
	const char *path = NULL, *format = "text";
	bool done, console = false;
	const struct option table[] = {
		{ 'e', "experiment", OPTION_TEXTS, &experiments, "NAME", NULL, 0, 0,
		  "in this experiment; again for more" },
		{ 0, "console", OPTION_FLAG, &console, NULL, NULL, 0, 0,
		  "the last lines of the consoles of boots that failed or\nwarned, too" },
		{ 0, "format", OPTION_CHOICE, &format, NULL, "text|json", 0, 0,
		  "how it is printed (default text)" },
		CMD_STORE_OPTION(&path),
		CMD_OPTIONS_END,
	};
	struct store_selection sel = { .n_labels = 1 };
	struct error err = ERROR_INIT;
	struct store *st = NULL;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (!done && argc - at != 1) {
		error_set(&err, EINVAL, "show wants one LABEL (see kdelta list labels)");
		code = cmd_bad(&err);
	} else if (!done && cmd_store(path, false, &st, &err) < 0) {
		code = cmd_bad(&err);
	} else if (!done) {
		sel.experiments = experiments.items;
		sel.n_experiments = experiments.n;
		sel.labels = (const char *const *)(argv + at);
		code = show(st, &sel, format, console);
	}
	store_close(st);
	option_list_done(&experiments);
	return code;
}
