/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as a program: where it is, what it can do, and running it on this machine. */
#ifndef KDELTA_CAMPAIGN_AGENT_H
#define KDELTA_CAMPAIGN_AGENT_H

#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "model/info.h"

/*
 * Beside this executable, then in libexecdir; $KDELTA_AGENT names another one. Caller frees.
 * -ENOENT says where it was looked for.
 */
int agent_find(char **ret_path, struct error *e);
/* Asks the agent for its workloads; workload_list_done() it. */
int agent_list(const char *path, struct workload_list *ret, struct error *e);

/*
 * Called with each record line (a NUL behind it): 0 to go on, 1: that was the last one, negative:
 * give up.
 */
#define AGENT_LINE_CALLBACK(name)                                                                  \
	int (*name)(void *arg, const char *line, size_t len, struct error *e)

/*
 * Runs a plan here. Returns when the agent is gone; it never outlives us. 0: the callback said
 * last; -EPIPE: the agent ended before that (the error says how); -EINTR: *stop.
 */
int agent_run(const char *path, const char *plan_json, AGENT_LINE_CALLBACK(line), void *arg,
	      const volatile sig_atomic_t *stop, struct error *e);

#endif
