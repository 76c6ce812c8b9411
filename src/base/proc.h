/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command and waits for it: no shell, no terminal, no surprises from the environment.
 *
 * The command gets /dev/null as stdin, default signal handling, LC_ALL=C (so that its messages can
 * be parsed) and a process group of its own; no other descriptor of ours is inherited if it was
 * opened with O_CLOEXEC, as all of ours are. It is killed when the thread that called proc_run()
 * ends: prctl(2), PR_SET_PDEATHSIG. The group is killed on a timeout or when `tick` says so, and
 * with `guard` also when our process ends in any way: PDEATHSIG reaches the command alone, not what
 * it started.
 */
#ifndef KDELTA_BASE_PROC_H
#define KDELTA_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/error.h"

#define PROC_OUTPUT_MAX (16u << 20) /* default for max_output, bytes a stream */

struct proc_opts {
	const char *const *env; /* NAME=VALUE over our own environment, ends with NULL; or NULL */
	const char *cwd;	/* NULL: ours */
	size_t max_output;   /* bytes kept of each stream, 0: PROC_OUTPUT_MAX; the rest is lost */
	bool keep_end;	     /* keep the last bytes of a stream, not the first */
	bool no_out;	     /* its stdout goes to /dev/null */
	bool guard;	     /* a process of ours kills its group when we are gone */
	uint64_t timeout_ns; /* 0: none */
	int out_fd; /* above 2: both streams go there and nothing is kept; borrowed; 0: kept */
	int (*tick)(void *arg); /* called about 4 times a second; not 0: kill, -ECANCELED */
	void *arg;
};

struct proc_result {
	int status;	 /* exit status, or -1 when a signal ended it */
	int signal;	 /* that signal, or 0 */
	bool truncated;	 /* a stream was longer than max_output */
	char *out, *err; /* never NULL after success; a NUL stands behind them */
	size_t out_len, err_len;
	struct rusage usage; /* of it and the children that it waited for; getrusage(2) */
};

/*
 * Runs argv[0], looked up in PATH unless it has a slash. 0 when it ran and ended, whatever its
 * status. -ENOENT and the like when it could not be started, -ETIMEDOUT, -ECANCELED.
 * `opts` may be NULL. Call proc_result_done() in every case.
 */
int proc_run(const char *const *argv, const struct proc_opts *opts, struct proc_result *ret_result,
	     struct error *e);
/* The same, and a signal or a status other than 0 is an error (-EIO) with its last line on stderr.
 */
int proc_run_ok(const char *const *argv, const struct proc_opts *opts,
		struct proc_result *ret_result, struct error *e);
void proc_result_done(struct proc_result *result);

#endif
