/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `vm` and `run` share: which workloads, for how long, into which experiment. */
#ifndef KDELTA_CMD_MEASURE_H
#define KDELTA_CMD_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "campaign/campaign.h"
#include "plan/work.h"
#include "store/store.h"

struct measure {
	struct option_list specs, suites, sets;
	const char *experiment, *subject, *store_path;
	uint64_t time_ns; /* a boot's, all invocations together; 0: the default */
	uint64_t invocations, heartbeat_ns;
	bool dry_run, quiet;
	/* made by measure_prepare() */
	char *agent;
	struct workload_list known;
	struct work work;
};

/* clang-format off */
#define MEASURE_OPTIONS(m, time_help) \
	{'w', "workload", OPTION_TEXTS, &(m)->specs, "SPEC", NULL, 0, 0, \
	 "what to run: NAME[:PARAM=VALUE[+VALUE...][,...]],\nor @FILE of such lines; again for more"}, \
	{'s', "suite", OPTION_TEXTS, &(m)->suites, "NAME", NULL, 0, 0, \
	 "a list of them (kdelta list suites)"}, \
	{0, "set", OPTION_TEXTS, &(m)->sets, "NAME=VALUE", NULL, 0, 0, \
	 "measure with this setting, or with each of\nNAME=VALUE+VALUE...; again for more"}, \
	{'e', "experiment", OPTION_TEXT, &(m)->experiment, "NAME", NULL, 0, 0, \
	 "add to this experiment, or begin it"}, \
	{0, "subject", OPTION_TEXT, &(m)->subject, "WORDS", NULL, 0, 0, \
	 "what is meant to differ, like 'governor': a fact of\nthis name is then no confounder"}, \
	{0, "time", OPTION_TIME, &(m)->time_ns, "TIME", NULL, 0, 0, \
	 time_help}, \
	{0, "invocations", OPTION_UINT, &(m)->invocations, "N", NULL, 1, 1000, \
	 "processes for each workload and boot (default 2)"}, \
	{0, "heartbeat", OPTION_TIME, &(m)->heartbeat_ns, "TIME", NULL, 0, 0, \
	 "silence after which a workload has failed\n(default 60s)"}, \
	{'n', "dry-run", OPTION_FLAG, &(m)->dry_run, NULL, NULL, 0, 0, \
	 "only say what it would do and cost"}, \
	{'q', "quiet", OPTION_FLAG, &(m)->quiet, NULL, NULL, 0, 0, \
	 "no progress on stderr"}
/* clang-format on */

/* Finds the agent, expands what to run, shares out the time. */
int measure_prepare(struct measure *m, uint64_t default_time_ns, struct error *e);
/* -ENOENT: what will run has no such metric; said before anything is booted for it. */
int measure_check_metrics(const struct measure *m, const struct option_list *metrics,
			  struct error *e);
/* The experiment of that name, or a new one; *ret_old: it was there. */
int measure_experiment(const struct measure *m, struct store *s, const struct store_experiment *x,
		       char ret_id[ID_UUID_SIZE], bool *ret_old, struct error *e);
/* What --dry-run tells of settings: a line for each combination, or nothing. */
void measure_tell_sets(const struct measure *m, struct str *out);
/* "-w pipe -s demo --time 10s ...": what makes a command repeat this one. */
void measure_words(const struct measure *m, struct str *out);
void measure_done(struct measure *m);

#endif
