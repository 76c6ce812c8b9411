/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far it is, on stderr: on a terminal one line that is redrawn, with a bar and the time left;
 * elsewhere a line a boot. Never on stdout.
 */
#ifndef KDELTA_CAMPAIGN_PROGRESS_H
#define KDELTA_CAMPAIGN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool on, terminal;
	size_t done, total;   /* steps: invocations, and boots as one each */
	uint64_t start_ns;    /* CLOCK_MONOTONIC */
	uint64_t estimate_ns; /* of all of it, before anything was measured */
	uint64_t drawn_ns;
	char what[80];
};

void progress_start(struct progress *p, bool quiet, size_t total, uint64_t estimate_ns);
/* The line's text: "boot 3/8 new". */
void progress_what(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void progress_step(struct progress *p, size_t steps);
/* A message of its own line; the bar is drawn again below it. */
void progress_say(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for what went wrong: said also where progress is not wanted. */
void progress_warn(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *p);
/* Nanoseconds left, from the pace so far; UINT64_MAX: cannot tell yet. */
uint64_t progress_left_ns(const struct progress *p, uint64_t now_ns);

#endif
