/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's ports to QEMU in exact mode: records out, "stop me here", the run's plan in.
 *
 * Each is used by a child that asks for the ports (ioperm(2)), does it and exits: a task that has
 * ports pays for them in its own system calls. After the quiet point, where each new piece of code
 * costs the host time, there is no child. Where the kernel has no ioperm
 * (CONFIG_X86_IOPL_IOPERM) /dev/port serves. Sources: QEMU's docs/specs/fw_cfg.rst and
 * docs/specs/pvpanic.rst; ioperm(2), mem(4).
 */
#ifndef KDELTA_RUNNER_PORT_H
#define KDELTA_RUNNER_PORT_H

#include <stddef.h>

#include "base/error.h"

/* What is in the file `fd`, from its beginning; then it is empty. */
int port_flush(int fd, struct error *e);
/*
 * Text, by the caller itself, who measures nothing behind it. port_flush() has worked before:
 * without a way to the ports the process ends.
 */
void port_send(const char *text, size_t len);
/*
 * QEMU stops the machine while this sleeps, and it returns when it goes on, perhaps in another
 * QEMU. A machine that stops itself from within an instruction is stopped at a point that the host
 * decides by some instructions; one that idles rests at one point. So a watchdog (ib700) is set,
 * and it fires in the middle of the sleep.
 */
int port_stop(struct error *e);
/* The first line of the fw_cfg file EXACT_FW_CFG. Caller frees. -ENOENT: not there. */
int port_read_plan(char **ret_text, size_t *ret_len, struct error *e);

#endif
