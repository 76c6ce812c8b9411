/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's quiet point: what a kernel still does after boot (self-tests of crypto, deferred
 * probes) is waited for, so that no measurement has it.
 */
#ifndef KDELTA_RUNNER_QUIET_H
#define KDELTA_RUNNER_QUIET_H

#include "base/str.h"

/*
 * Sleeps until the CPUs were idle for QUIET_ROUNDS seconds on end, at most QUIET_MAX of them in
 * all, and appends the record `quiet` that says how it went.
 */
void quiet_wait(struct str *out);
/* Appends the record `kallsyms`: the first lines of /proc/kallsyms, and those of modules. */
void quiet_symbols(struct str *out);

#define QUIET_ROUNDS 3u
#define QUIET_MAX    60u

#endif
