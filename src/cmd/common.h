/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What subcommands share: errors and output, the store, the signals that end a run. */
#ifndef KDELTA_CMD_COMMON_H
#define KDELTA_CMD_COMMON_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/option.h"
#include "base/str.h"
#include "store/store.h"

/* "kdelta: TEXT" on stderr; returns CMD_USAGE. */
int cmd_bad(const struct error *e);
/* The help text of a command on stdout; returns the exit code. */
int cmd_help(const struct option_doc *doc, const struct option *table);
/*
 * Parses options; *ret_done: nothing more to do (help was printed, or an error, and the exit code
 * is returned).
 */
int cmd_parse(const struct option_doc *doc, const struct option *table, int argc, char **argv,
	      int *ret_args, bool *ret_done);
/*
 * Writes results to stdout and empties the string. A reader that went away is no fault; a full
 * disk or a closed stdout is: it is said, and `code` becomes at least CMD_PARTIAL.
 */
int cmd_print(struct str *out, int code);
/* The store at `path`, or the default one. `create`: for commands that write. */
int cmd_store(const char *path, bool create, struct store **ret, struct error *e);
/* SIGINT, SIGTERM and SIGHUP set what this points to; a second one ends the process. */
const volatile sig_atomic_t *cmd_stop(void);
/* A word as a POSIX shell reads it back. */
void cmd_quote(struct str *out, const char *word);

#define CMD_STORE_OPTION(target)                                                                   \
	{                                                                                          \
		0, "store", OPTION_TEXT, target, "FILE", NULL, 0, 0,                               \
			"the store (default: $KDELTA_STORE, else\n"                                \
			"$XDG_DATA_HOME/kdelta/store.db)"                                          \
	}
#define CMD_OPTIONS_END                                                                            \
	{                                                                                          \
		0, NULL, OPTION_FLAG, NULL, NULL, NULL, 0, 0, NULL                                 \
	}

#endif
