/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "compare/compare.h"
#include "render/render.h"

int report_check(const struct report_options *o, struct error *e)
{
	unsigned gate;

	if (!(o->margin >= 0) || o->margin > 1)
		return error_set(e, EINVAL, "--margin: wanted a ratio from 0 to 100%%");
	if (o->fail_on && compare_gate_parse(o->fail_on, &gate, e) < 0)
		return error_prefix(e, "--fail-on");
	return 0;
}

static void render(const struct comparison *c, const struct report_options *o,
		   const char *const *next, struct str *out)
{
	struct render_options ro = RENDER_OPTIONS_INIT;

	if (!strcmp(o->format, "json"))
		render_json(c, out);
	else if (!strcmp(o->format, "csv"))
		render_csv(c, out);
	else if (!strcmp(o->format, "md"))
		render_md(c, &ro, out);
	else if (c->n_kernels < 2)
		render_results(c, &ro, next, out);
	else
		render_text(c, &ro, out);
}

/* NULL where nothing was asked for: all. */
static const char **ended(const struct option_list *l)
{
	const char **v = l->n ? mem_array(l->n + 1, sizeof(*v)) : NULL;

	if (l->n)
		memcpy(v, l->items, l->n * sizeof(*v));
	return v;
}

static int gate(const struct comparison *c, const struct report_options *o, int code)
{
	struct error err = ERROR_INIT;
	unsigned words;
	bool fail = false;
	int r = compare_gate_parse(o->fail_on, &words, &err);

	if (!r)
		r = compare_gate(c, words, &fail, &err);
	if (r < 0)
		return cmd_bad(&err);
	/* A verdict stands in the table; that there was none to fail on does not. */
	if (fail && !c->summary.worse && !c->summary.cant_tell && !c->summary.more &&
	    !c->summary.fewer && !c->summary.within)
		fprintf(stderr, "kdelta: --fail-on: not all could be judged: not passed\n");
	return fail && code != CMD_USAGE ? CMD_GATE : code;
}

int report_print(struct store *s, const struct store_selection *sel, const struct report_options *o,
		 const char *const *next, int code)
{
	CLEANUP_FREE const char **metrics = ended(&o->metrics), **workloads = ended(&o->workloads);
	struct compare_options co = COMPARE_OPTIONS_INIT;
	struct dataset d = DATASET_INIT;
	struct error err = ERROR_INIT;
	struct str out = STR_INIT;
	struct comparison c;

	if (store_dataset(s, sel, &d, &err) < 0) {
		dataset_done(&d);
		return cmd_bad(&err);
	}
	co.margin = o->margin;
	co.metrics = metrics;
	co.workloads = workloads;
	co.all = o->all;
	if (compare_make(&d, &co, &c, &err) < 0) {
		dataset_done(&d);
		return cmd_bad(&err);
	}
	dataset_done(&d);
	if (c.n_kernels < 2 && !next)
		fputs("kdelta: one kernel: values, and nothing to compare them with\n", stderr);
	render(&c, o, next, &out);
	if (!c.n_rows) {
		fputs("kdelta: there are no results here: kdelta list experiments names the others\n",
		      stderr);
		code = code ? code : CMD_PARTIAL;
	}
	code = cmd_print(&out, code);
	if (o->fail_on)
		code = gate(&c, o, code);
	compare_done(&c);
	return code;
}

void report_options_done(struct report_options *o)
{
	option_list_done(&o->metrics);
	option_list_done(&o->workloads);
}
