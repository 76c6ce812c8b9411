/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * New warnings of the kernel, from /dev/kmsg. Messages that programs wrote into the log (facility
 * other than kern) do not count. Source: the kernel's Documentation/ABI/testing/dev-kmsg.
 */
#ifndef KDELTA_FACTS_KMSG_H
#define KDELTA_FACTS_KMSG_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/source.h"

#define KMSG_LINES_MAX 200u /* messages handed out by one call; the others are counted */

struct kmsg;

struct kmsg_line {
	unsigned level;	  /* 0 (emergency) to 7 (debug) */
	uint64_t seq;	  /* its number in the log */
	uint64_t time_us; /* since boot, the clock of printk */
	/*
	 * Belongs to the beginning of a report (WARNING:, BUG:, Oops, Call Trace, lockup, hung
	 * task, stall, a clock source given up ...), which deserves a flag; one event may have
	 * several such lines. Other messages of level 4 are often harmless.
	 */
	bool report;
	const char *text; /* one line, valid within the call only */
};

struct kmsg_news {
	unsigned lines;	  /* messages that were of interest, handed out or not */
	unsigned reports; /* of these, the ones with `report` */
	bool lost;	  /* records were overwritten before they could be read */
};

/*
 * Opens the log and goes to its end: later calls give what comes from now on. Never NULL; where
 * the log cannot be had, that is no error: kmsg_why() says it and there never is any news.
 */
struct kmsg *kmsg_open(const struct facts_source *src);
/* From a descriptor that gives one record a read() and does not block; it is taken over. */
struct kmsg *kmsg_open_fd_take(int fd);
/* Why there is no log: "/dev/kmsg: Operation not permitted"; NULL while there is one. */
const char *kmsg_why(const struct kmsg *k);
/*
 * Reads all that is new and calls `emit` (NULL: only count) for each message of level 4 (warning)
 * or worse and for each one that begins a report, whatever its level.
 */
void kmsg_new_warnings(struct kmsg *k, void (*emit)(void *arg, const struct kmsg_line *), void *arg,
		       struct kmsg_news *ret);
void kmsg_free(struct kmsg *k);

#endif
