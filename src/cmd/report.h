/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a selection in the store to a comparison on stdout: what `vm`, `run` and `compare` end with.
 */
#ifndef KDELTA_CMD_REPORT_H
#define KDELTA_CMD_REPORT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/option.h"
#include "store/store.h"

struct report_options {
	double margin;
	struct option_list metrics, workloads;
	bool all;
	const char *format;  /* "text", "md", "csv", "json" */
	const char *fail_on; /* "worse,cant-tell" or NULL */
};

#define REPORT_OPTIONS_INIT                                                                        \
	{                                                                                          \
		.margin = 0.02, .format = "text"                                                   \
	}

#define REPORT_FORMATS "text|md|csv|json"

/* The options that all three have, for their tables. */
#define REPORT_OPTION_FORMAT(o)                                                                    \
	{                                                                                          \
		0, "format", OPTION_CHOICE, &(o)->format, NULL, REPORT_FORMATS, 0, 0,              \
			"how results are printed (default text)"                                   \
	}
#define REPORT_OPTION_MARGIN(o)                                                                    \
	{                                                                                          \
		0, "margin", OPTION_RATIO, &(o)->margin, "RATIO", NULL, 0, 0,                      \
			"a change below this does not matter (default 2%)"                         \
	}
#define REPORT_OPTION_METRIC(o)                                                                    \
	{                                                                                          \
		'm', "metric", OPTION_TEXTS, &(o)->metrics, "NAME", NULL, 0, 0,                    \
			"show this metric only; again for more"                                    \
	}
#define REPORT_OPTION_ALL(o)                                                                       \
	{                                                                                          \
		0, "all", OPTION_FLAG, &(o)->all, NULL, NULL, 0, 0,                                \
			"show evidence too: raw times, overheads"                                  \
	}
#define REPORT_OPTION_FAIL_ON(o)                                                                   \
	{                                                                                          \
		0, "fail-on", OPTION_TEXT, &(o)->fail_on, "WORDS", NULL, 0, 0,                     \
			"exit 1 if a verdict is one of these: worse,\n"                            \
			"cant-tell; exact: more, fewer, within (a,b: both)"                        \
	}

/* Checks what can be checked before anything runs. -EINVAL. */
int report_check(const struct report_options *o, struct error *e);
/*
 * Prints the comparison (or, for one kernel, its values and `next`) and applies --fail-on to
 * `code`, the exit code so far; returns the exit code.
 */
int report_print(struct store *s, const struct store_selection *sel, const struct report_options *o,
		 const char *const *next, int code);
void report_options_done(struct report_options *o);

#endif
