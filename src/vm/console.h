/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel's console: the last lines, and whether it complained. Memory is fixed; what is kept is
 * printable ASCII only, so that a guest cannot send escape sequences to a person's terminal.
 * Sources: the texts printed by kernel/panic.c, lib/bug.c, arch/x86/kernel/dumpstack.c,
 * arch/x86/mm/fault.c, kernel/watchdog.c, kernel/hung_task.c, kernel/rcu/tree_stall.h.
 */
#ifndef KDELTA_VM_CONSOLE_H
#define KDELTA_VM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#define CONSOLE_LINES 50
#define CONSOLE_SLOTS (CONSOLE_LINES + 1) /* and the current one */
#define CONSOLE_WIDTH 400		  /* bytes; the rest of a longer line is lost */
#define CONSOLE_AGENT "kdelta-agent: "	  /* what init puts before its words */

struct console {
	char line[CONSOLE_SLOTS]
		 [CONSOLE_WIDTH + 1]; /* ring; the current one at n % CONSOLE_SLOTS */
	size_t n;		      /* lines that ended, ever */
	size_t len;		      /* of the current line */
	bool panicked;
	bool warned;			 /* includes panicked */
	char panic[CONSOLE_WIDTH + 1];	 /* what it said: "Attempted to kill init! ..." */
	char agent[CONSOLE_WIDTH + 1];	 /* the last that init said there: "no channel: ..." */
	char warning[CONSOLE_WIDTH + 1]; /* the first complaint, without time stamp */
};

enum console_sign { CONSOLE_QUIET, CONSOLE_WARNING, CONSOLE_PANIC };

void console_init(struct console *c);
void console_feed(struct console *c, const char *data, size_t len);
/* Judges the line that has not ended yet too: for the end of the stream. */
void console_finish(struct console *c);
/* What one line means. */
enum console_sign console_sign(const char *line);
/* A line without "<6>", "[    1.234567] ", "[    T1] " in front. */
const char *console_message(const char *line);
/* At most CONSOLE_LINES lines, oldest first, each ended by \n. Caller frees; never NULL. */
char *console_tail(const struct console *c);
/* The last line that is not empty; "" if there is none. Valid until the next feed. */
const char *console_last(const struct console *c);

#endif
