/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/vm_exact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "compare/compare.h"
#include "model/exact.h"

bool exact_asked(const struct exact_options *xo)
{
	return xo->perturb != EXACT_PERTURB_DEFAULT || xo->seed != EXACT_SEED_DEFAULT ||
	       xo->smp != 1 || xo->jobs || xo->timing;
}

int exact_check_metrics(const struct option_list *metrics, struct error *e)
{
	const struct metric *m;
	struct str known = STR_INIT;
	int r = 0;
	size_t i;

	for (m = exact_metrics; m->name; m++)
		str_printf(&known, " %s", m->name);
	for (i = 0; i < metrics->n && !r; i++) {
		for (m = exact_metrics; m->name && !str_eq(m->name, metrics->items[i]); m++)
			;
		if (!m->name)
			r = error_set(e, ENOENT, "-m: exact mode has no metric '%s' (it has%s)",
				      metrics->items[i], str_get(&known));
	}
	str_done(&known);
	return r;
}

int exact_check_gate(const char *words, bool exact, struct error *e)
{
	const unsigned counts = COMPARE_GATE_MORE | COMPARE_GATE_FEWER | COMPARE_GATE_WITHIN;
	unsigned gate;
	int r = compare_gate_parse(words, &gate, e);

	if (r < 0)
		return error_prefix(e, "--fail-on");
	if (exact && gate & ~counts)
		return error_set(e, EINVAL,
				 "--fail-on: exact results are more, fewer or within: say "
				 "--fail-on more");
	if (!exact && gate & counts)
		return error_set(e, EINVAL,
				 "--fail-on: more, fewer and within go with --exact: say --fail-on "
				 "worse");
	return 0;
}

static void reproduce(const struct measure *m, const struct campaign_vm *cv,
		      const struct exact_options *xo, const struct vm_kernels *v, struct str *out)
{
	str_add(out, "kdelta vm --exact");
	exact_words(xo, out);
	measure_words(m, out);
	if (cv->mem_mib != 512)
		str_printf(out, " --mem %uMiB", cv->mem_mib);
	vm_words(cv, v, out);
}

int vm_exact_dry_run(const struct measure *m, const struct campaign_vm *cv,
		     const struct exact_options *xo, const struct vm_kernels *v)
{
	const struct sets *sets = &m->work.sets;
	unsigned boots = (unsigned)sets_count(sets, true), total = v->n * boots, i;
	struct error err = ERROR_INIT;
	struct arena arena = ARENA_INIT;
	struct str out = STR_INIT;
	char cost[40], from[80];

	(void)cv;
	unit_format_time(exact_cost_ns(m, xo, total), cost, sizeof(cost));
	str_printf(
		&out,
		"Would boot %u kernel%s, once each, and count %zu runs from each snapshot, about "
		"%s.\n",
		total, total == 1 ? "" : "s", work_items(&m->work), cost);
	for (i = 0; i < total && !error_is_set(&err); i++) {
		const char *words = sets_boot_words(sets, i % boots, &arena);

		if (vm_kernels_whence(v, i / boots, from, sizeof(from), &err) < 0)
			break;
		str_printf(&out, "  %c  %s%s%s%s\n", i < 26 ? (char)('A' + i) : '?',
			   v->spec[i / boots].text, *words ? "  with " : "", words, from);
	}
	str_printf(&out, "Each: %zu point%s under %llu perturbation%s.\n", m->work.points.n,
		   m->work.points.n == 1 ? "" : "s", (unsigned long long)xo->perturb,
		   xo->perturb == 1 ? "" : "s");
	for (i = 0; i < m->work.points.n; i++)
		str_printf(&out, "  %s%s%s\n", m->work.points.items[i].workload->name,
			   *m->work.points.items[i].params ? " " : "",
			   m->work.points.items[i].params);
	measure_tell_sets(m, &out);
	arena_done(&arena);
	if (error_is_set(&err)) {
		str_done(&out);
		return cmd_bad(&err);
	}
	return cmd_print(&out, CMD_OK);
}

/*
 * An experiment of that name goes on: with the same command only, and what was counted is not
 * counted again. *ret_left: kernels without a boot that worked.
 */
static int go_on(const struct measure *m, struct exact_options *xo, const struct vm_kernels *v,
		 struct campaign *c, const char *words, struct campaign_kernel *left,
		 unsigned *ret_left, struct error *e)
{
	struct store_selection sel = { &m->experiment, 1, NULL, 0 };
	struct dataset d = DATASET_INIT;
	unsigned i, n = 0;
	size_t b;
	int r = store_dataset(c->store, &sel, &d, e);

	if (!r && (!d.n_experiments || !str_eq(d.experiments[0].reproduce, words)))
		r = error_set(e, EINVAL,
			      "-e %s: that experiment was made by another command (repeat it, or "
			      "use another name): %s",
			      m->experiment,
			      d.n_experiments && d.experiments[0].reproduce
				      ? d.experiments[0].reproduce
				      : "unknown");
	for (i = 0; i < v->total && !r; i++) {
		const struct campaign_kernel *k = &v->kernel[i];
		bool done = false;

		for (b = 0; b < d.n_boots && !r; b++) {
			const struct ds_kernel *old = &d.kernels[d.boots[b].kernel];

			if (d.boots[b].state != DS_OK || !str_eq(old->label, k->label))
				continue;
			done = true;
			if (old->build_id && k->image->build_id &&
			    !str_eq(old->build_id, k->image->build_id))
				r = error_set(
					e, ESTALE,
					"-e %s: '%s' is another kernel by now (build-id %.12s, "
					"counted was %.12s): use another name",
					m->experiment, k->label, k->image->build_id, old->build_id);
		}
		if (!done)
			left[n++] = v->kernel[i];
	}
	for (b = 0; b < d.n_invocations && !r; b++)
		if (d.invocations[b].context &&
		    !strstr(d.invocations[b].context, m->known.agent_build_id))
			r = error_set(e, ESTALE,
				      "-e %s: another kdelta-agent counted that: use another name",
				      m->experiment);
	if (!r)
		campaign_exact_know_all(&xo->x, &d);
	*ret_left = n;
	dataset_done(&d);
	return r;
}

static int campaign(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
		    const struct vm_kernels *v, const struct campaign_host *host,
		    struct campaign *c, struct campaign_tally *tally, struct error *e)
{
	CLEANUP_FREE struct campaign_kernel *left = mem_array(v->total, sizeof(*left));
	struct str words = STR_INIT;
	unsigned n = v->total, i;
	bool found;
	int r;

	for (i = 0; i < v->total; i++)
		left[i] = v->kernel[i];
	reproduce(m, cv, xo, v, &words);
	r = measure_experiment(
		m, c->store,
		&(struct store_experiment){ .name = m->experiment,
					    .subject = m->subject ? m->subject : "kernel",
					    .order = "one boot a kernel",
					    .seed = xo->seed,
					    .blocks = 1,
					    .reproduce = str_get(&words) },
		c->experiment, &found, e);
	if (!r && found)
		r = go_on(m, xo, v, c, str_get(&words), left, &n, e);
	if (!r && n)
		r = exact_measure(m, cv, xo, host, left, n, c, tally, e);
	str_done(&words);
	return r;
}

int vm_exact(struct measure *m, struct campaign_vm *cv, struct exact_options *xo,
	     const struct vm_kernels *v, const struct report_options *ro)
{
	struct campaign c = { .work = &m->work, .agent = m->agent, .stop = cmd_stop() };
	struct campaign_tally tally = { .boots_ok = 0 };
	struct error err = ERROR_INIT;
	struct campaign_host host;
	int r;

	c.agent_build_id = m->known.agent_build_id;
	c.progress.on = !m->quiet;
	/* Before there is an experiment that could never have a boot. */
	r = exact_host(&c, cv, xo, v->kernel, v->total, &host, &err);
	if (!r)
		r = cmd_store(m->store_path, true, &c.store, &err);
	if (!r)
		r = campaign(m, cv, xo, v, &host, &c, &tally, &err);
	campaign_host_done(&host);
	return vm_report(m, v, ro, true, &c, &tally, r, &err);
}

int vm_report(const struct measure *m, const struct vm_kernels *v, const struct report_options *ro,
	      bool exact, struct campaign *c, const struct campaign_tally *tally, int r,
	      struct error *err)
{
	const char *id = c->experiment;
	struct store_selection sel = { &id, 1, NULL, 0 };
	int code = r < 0 ? cmd_bad(err) : CMD_OK;

	/* What was measured before it failed is as good as ever. */
	if (r < 0 && !tally->boots_ok && !tally->boots_failed) {
		store_close(c->store);
		return *c->stop ? CMD_PARTIAL : code;
	}
	code = r < 0 || *c->stop || v->skipped || !campaign_complete(tally) ? CMD_PARTIAL : CMD_OK;
	if (*c->stop)
		fprintf(stderr, "kdelta: interrupted; %s%s%s\n",
			exact ? "a kernel that was not finished will be counted again"
			      : "what was measured is kept",
			m->experiment ? ", the same command goes on with -e " : "",
			m->experiment ? m->experiment : "");
	/* What was skipped has its reasons in the report. */
	if (!tally->ok && !tally->skipped &&
	    tally->boots_ok + tally->boots_failed + tally->boots_stopped) {
		fputs("kdelta: nothing was measured: see the reasons above, and kdelta show LABEL "
		      "--console\n",
		      stderr);
		store_close(c->store);
		return CMD_PARTIAL;
	}
	code = report_print(c->store, &sel, ro, NULL, code);
	store_close(c->store);
	return code;
}
