/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/unit.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/measure.h"
#include "cmd/report.h"

#define RUN_TIME_NS (120 * NSEC_PER_SEC)

static int dry_run(const struct measure *m, const char *label)
{
	struct str out = STR_INIT;
	char cost[40];
	size_t i;

	unit_format_time(work_cost_ns(&m->work), cost, sizeof(cost));
	str_printf(&out, "Would measure the running kernel as '%s': %zu invocations, about %s.\n",
		   label, work_items(&m->work), cost);
	for (i = 0; i < m->work.points.n; i++)
		str_printf(&out, "  %s%s%s\n", m->work.points.items[i].workload->name,
			   *m->work.points.items[i].params ? " " : "",
			   m->work.points.items[i].params);
	measure_tell_sets(m, &out);
	return cmd_print(&out, CMD_OK);
}

/* What a person will want to type after this. */
static int report(const struct measure *m, struct store *s, const char *experiment,
		  const char *label, const struct report_options *ro, int code)
{
	struct str again = STR_INIT, cmp = STR_INIT;
	const char *next[] = { NULL, NULL, NULL };
	struct store_selection sel = { &experiment, 1, &label, 1 };

	if (m->experiment) {
		str_add(&again, "kdelta run -e ");
		cmd_quote(&again, m->experiment);
		measure_words(m, &again);
		str_add(&again, " -l OTHER");
		str_add(&cmp, "kdelta compare -e ");
		cmd_quote(&cmp, m->experiment);
		next[0] = str_get(&again);
		next[1] = str_get(&cmp);
	} else {
		str_add(&again, "kdelta run -e NAME -l ");
		cmd_quote(&again, label);
		measure_words(m, &again);
		next[0] = str_get(&again);
	}
	code = report_print(s, &sel, ro, next, code);
	str_done(&again);
	str_done(&cmp);
	return code;
}

/* A boot parameter wants a boot, which is not ours to make here. */
static int no_boot_words(const struct measure *m, struct error *e)
{
	size_t i;

	for (i = 0; i < m->work.sets.n; i++)
		if (m->work.sets.axes[i].boot)
			return error_set(e, EINVAL,
					 "--set boot:%s: only kdelta vm can boot with it; here "
					 "reboot, and give each its own label",
					 m->work.sets.axes[i].names[0]);
	return 0;
}

static int run(struct measure *m, const char *label, const struct report_options *ro)
{
	struct store_experiment x = { .name = m->experiment,
				      .subject = m->subject,
				      .order = "as it happened" };
	struct campaign c = { .work = &m->work, .agent = m->agent, .stop = cmd_stop() };
	struct campaign_tally tally;
	struct error err = ERROR_INIT;
	struct str words = STR_INIT;
	struct store *s = NULL;
	bool old;
	int code;

	str_add(&words, "kdelta run");
	if (m->experiment) {
		str_add(&words, " -e ");
		cmd_quote(&words, m->experiment);
	}
	str_add(&words, " -l ");
	cmd_quote(&words, label);
	measure_words(m, &words);
	x.reproduce = str_get(&words);
	c.agent_build_id = m->known.agent_build_id;
	if (cmd_store(m->store_path, true, &s, &err) < 0 ||
	    measure_experiment(m, s, &x, c.experiment, &old, &err) < 0) {
		str_done(&words);
		store_close(s);
		return cmd_bad(&err);
	}
	str_done(&words);
	c.store = s;
	progress_start(&c.progress, m->quiet, work_items(&m->work), work_cost_ns(&m->work));
	code = campaign_local(&c, label, &tally, &err);
	progress_end(&c.progress);
	if (code < 0) {
		store_close(s);
		return cmd_bad(&err);
	}
	code = report(m, s, c.experiment, label, ro,
		      campaign_complete(&tally) ? CMD_OK : CMD_PARTIAL);
	store_close(s);
	return code;
}

int cmd_run(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta run [OPTION]...",
		.summary =
			"Measures the kernel that is running, prints the results and what to type next.",
		.description =
			"With -e the results are added to an experiment: boot one kernel, run; boot the\n"
			"other, run; and again in turn, at least four times each. Order and interleaving\n"
			"are judged from what happened.",
		.examples = "  kdelta run\n"
			    "  kdelta run -e patch -l old -w pipe -w ctx:procs=2+8\n"
			    "  kdelta run -w tcp --set net.ipv4.tcp_sack=1+0\n"
			    "  kdelta run -n",
	};
	struct measure m = { .experiment = NULL };
	struct report_options ro = REPORT_OPTIONS_INIT;
	const char *label = NULL;
	const struct option table[] = {
		{ 'l', "label", OPTION_TEXT, &label, "LABEL", NULL, 0, 0,
		  "what to call this kernel (default: its release)" },
		MEASURE_OPTIONS(&m, "for all of it (default about 2m)"),
		REPORT_OPTION_METRIC(&ro),
		REPORT_OPTION_ALL(&ro),
		REPORT_OPTION_FORMAT(&ro),
		CMD_STORE_OPTION(&m.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	struct utsname u;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (!done && at < argc) {
		error_set(&err, 22, "run: '%s': takes no arguments (want -w %s or -l %s?)",
			  argv[at], argv[at], argv[at]);
		code = cmd_bad(&err);
		done = true;
	}
	if (!done && (uname(&u) < 0 || (label && image_label_check(label, &err) < 0) ||
		      measure_prepare(&m, RUN_TIME_NS, &err) < 0 || no_boot_words(&m, &err) < 0 ||
		      measure_check_metrics(&m, &ro.metrics, &err) < 0)) {
		code = cmd_bad(&err);
		done = true;
	}
	if (!done && !label)
		label = u.release;
	if (!done)
		code = m.dry_run ? dry_run(&m, label) : run(&m, label, &ro);
	measure_done(&m);
	report_options_done(&ro);
	return code;
}
