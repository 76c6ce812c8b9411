/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least of QMP: the greeting, the event that says why the guest ended, and "quit".
 * Source: QEMU's docs/interop/qmp-spec and the reference of its SHUTDOWN event.
 */
#ifndef KDELTA_VM_QMP_H
#define KDELTA_VM_QMP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "vm/channel.h"

struct qmp {
	int fd; /* borrowed, non-blocking; -1: closed */
	struct channel lines;
	bool greeted;
	char shutdown[64]; /* "guest-shutdown", "guest-reset", "host-qmp-quit" ...; "": none yet */
};

void qmp_init(struct qmp *q, int fd);
/* Takes bytes that were read from fd; answers the greeting. */
void qmp_feed(struct qmp *q, const char *data, size_t len);
/* -ENOTCONN before the greeting or after the end, -EPIPE ... if it cannot be sent. */
int qmp_quit(struct qmp *q);
void qmp_done(struct qmp *q);

#endif
