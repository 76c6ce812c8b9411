/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU that halts lets QEMU skip the time to the next timer. With -icount QEMU's main thread runs
 * those timers; if that thread is in the middle of something when the CPU halts, the skip comes too
 * early or too late by what the host happened to do, and the guest's clock differs from run to run.
 * So a CPU waits, before it halts, until the main thread waits, too. Source: proc(5),
 * /proc/PID/task/TID/syscall; QEMU's docs/devel/tcg-icount.rst.
 */
#ifndef KDELTA_PLUGIN_HALT_H
#define KDELTA_PLUGIN_HALT_H

#include <stdbool.h>

#include "plugin/api.h"

/* Once, in QEMU's process. False: what its main thread does cannot be seen (errno). */
bool halt_init(void);
/* For the last instruction of each piece of code that is translated. */
void halt_translate(struct qemu_plugin_insn *insn, const unsigned char *bytes, size_t len);

#endif
