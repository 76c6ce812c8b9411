/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/report.h"

int cmd_compare(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta compare [OPTION]... [BASE NEW...]",
		.summary =
			"Compares what was measured: the latest experiment, its first kernel the base.",
		.description =
			"BASE and NEW are labels (kdelta list labels); LABEL~1 is the label's previous\n"
			"experiment. The verdicts come from boots, not from samples: a kernel that was\n"
			"booted once has none. docs/compare.md explains the table.",
		.examples = "  kdelta compare\n"
			    "  kdelta compare old new --margin 1%\n"
			    "  kdelta compare new~1 new\n"
			    "  kdelta compare -e patch --format json | jq .summary\n"
			    "  kdelta compare --fail-on worse && echo fine",
	};
	struct report_options ro = REPORT_OPTIONS_INIT;
	struct option_list experiments = { NULL, 0, 0 };
	const char *path = NULL;
	const struct option table[] = {
		{ 'e', "experiment", OPTION_TEXTS, &experiments, "NAME", NULL, 0, 0,
		  "of this experiment; again: pooled, and flagged\nas not interleaved" },
		{ 'w', "workload", OPTION_TEXTS, &ro.workloads, "SPEC", NULL, 0, 0,
		  "show these workloads only" },
		REPORT_OPTION_METRIC(&ro),
		REPORT_OPTION_ALL(&ro),
		REPORT_OPTION_MARGIN(&ro),
		REPORT_OPTION_FAIL_ON(&ro),
		REPORT_OPTION_FORMAT(&ro),
		CMD_STORE_OPTION(&path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	struct store_selection sel = { NULL, 0, NULL, 0 };
	struct store *store = NULL;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (!done && (report_check(&ro, &err) < 0 || cmd_store(path, false, &store, &err) < 0)) {
		code = cmd_bad(&err);
	} else if (!done) {
		sel.labels = (const char *const *)(argv + at);
		sel.n_labels = (size_t)(argc - at);
		sel.experiments = experiments.items;
		sel.n_experiments = experiments.n;
		code = report_print(store, &sel, &ro, NULL, CMD_OK);
	}
	store_close(store);
	option_list_done(&experiments);
	report_options_done(&ro);
	return code;
}
