/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent as init of a guest. Process 1 mounts what programs expect, opens the channel, starts
 * the runner as its child and does nothing but reap; when the runner is gone it powers off.
 * So a crash of the runner is a record, not a kernel panic.
 */
#ifndef KDELTA_RUNNER_INIT_H
#define KDELTA_RUNNER_INIT_H

#define INIT_PLAN    "/kdelta/plan.json"
#define INIT_CHANNEL "/dev/ttyS1"

/* Never returns. */
_Noreturn void init_main(void);

#endif
