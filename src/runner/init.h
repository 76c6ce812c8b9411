/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent as init of a guest. Process 1 mounts what programs expect, loads the modules it was
 * given, opens the channel, starts the runner as its child and does nothing but reap; when the
 * runner is gone it powers off. So a crash of the runner is a record, not a kernel panic.
 *
 * The channel is the virtio-serial port INIT_PORT where there is one, else INIT_SERIAL. Without
 * either, and for whatever else goes wrong, it has the console. In exact mode it is a file in
 * memory, which leaves by a port (port.h).
 */
#ifndef KDELTA_RUNNER_INIT_H
#define KDELTA_RUNNER_INIT_H

#define INIT_PLAN    "/kdelta/plan.json"
#define INIT_MODULES "/kdelta/modules" /* NN-NAME.ko, loaded by number */
#define INIT_PORT    "kdelta.channel"
#define INIT_SERIAL  "ttyS1"

/* Never returns. */
_Noreturn void init_main(void);

#endif
