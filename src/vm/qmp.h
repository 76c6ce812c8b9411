/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The little of QMP that is needed: the greeting, commands and whether they were obeyed, and the
 * events that say how the guest fares. Never blocks. Foreign bytes: a line that is not understood
 * is dropped, and a line longer than QMP_LINE_MAX, too. Source: QEMU's docs/interop/qmp-spec; of
 * its reference the events SHUTDOWN, STOP, RESUME, GUEST_PANICKED, MIGRATION (which comes only
 * where the capability `events` is set), the type MigrationInfo.
 */
#ifndef KDELTA_VM_QMP_H
#define KDELTA_VM_QMP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "vm/channel.h"

#define QMP_LINE_MAX 65536

enum qmp_migration { QMP_MIGRATION_NONE, QMP_MIGRATION_DONE, QMP_MIGRATION_FAILED };

struct qmp {
	int fd; /* borrowed, non-blocking; -1: closed */
	struct channel lines;
	bool greeted;
	char shutdown[64]; /* "guest-shutdown", "guest-reset", "host-qmp-quit" ...; "": none yet */
	unsigned stops, resumes, watchdogs, panics; /* events so far */
	enum qmp_migration migration;		    /* what its last event said */
	struct str text;	 /* the last answer that was one, as of HMP's commands */
	unsigned sent, answered; /* commands, which are answered in turn */
	char error[200];	 /* the first command that was refused: "NAME: why"; "": none */
};

void qmp_init(struct qmp *q, int fd);
/* Takes bytes that were read from fd; answers the greeting. */
void qmp_feed(struct qmp *q, const char *data, size_t len);
/*
 * Sends a command: `arguments` is a JSON object as text, NULL: none. `fd` travels with it
 * (SCM_RIGHTS), for getfd; -1: none. Its answer is there when `answered` has reached `sent`.
 * -ENOTCONN before the greeting or after the end, -EPIPE ... if it cannot be sent.
 */
int qmp_command(struct qmp *q, const char *name, const char *arguments, int fd);
/* All commands are answered. */
bool qmp_idle(const struct qmp *q);
/* "quit". As qmp_command(). */
int qmp_quit(struct qmp *q);
void qmp_done(struct qmp *q);

#endif
