/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks. Time is uint64_t nanoseconds everywhere. clock_gettime(2). */
#ifndef KDELTA_BASE_CLOCK_H
#define KDELTA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC  1000000000ull

/* The clock of measurements: CLOCK_MONOTONIC_RAW, which no NTP slews. */
static inline uint64_t clock_raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC: for timeouts and progress. */
uint64_t clock_mono_ns(void);
/* CLOCK_BOOTTIME: grows in suspend, where CLOCK_MONOTONIC does not. */
uint64_t clock_boot_ns(void);
/* Nanoseconds since the epoch, for "when". */
uint64_t clock_real_ns(void);
/* "2026-11-30T15:59:00Z" into a buffer of at least 32 bytes. */
void clock_iso8601(uint64_t real_ns, char *buf);
void clock_sleep_ns(uint64_t ns);

#endif
