/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units, and numbers with units as people type and read them. K is never ambiguous: KiB is 1024
 * bytes, kB is 1000; a suffix that is not known is an error, never ignored. The locale is not
 * asked: the decimal sign is always a point.
 */
#ifndef KDELTA_BASE_UNIT_H
#define KDELTA_BASE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum unit {
	UNIT_NONE,	   /* a plain number */
	UNIT_NS,	   /* nanoseconds */
	UNIT_BYTES,	   /* bytes */
	UNIT_OPS,	   /* operations */
	UNIT_COUNT,	   /* things counted: switches, faults */
	UNIT_PERCENT,	   /* 0 to 100 */
	UNIT_INSTRUCTIONS, /* guest instructions */
	UNIT_N
};

const char *unit_name(enum unit u);		  /* "ns", "bytes", "ops", ... */
int unit_parse(const char *name, enum unit *ret); /* -EINVAL */

/* A whole number without sign or suffix. */
int unit_parse_u64(const char *s, uint64_t *ret, struct error *e);
/* "64KiB", "1MiB", "10kB", "4096", "4096B". */
int unit_parse_bytes(const char *s, uint64_t *ret, struct error *e);
/* "10s", "250ms", "2m", "1h"; a number alone means seconds. */
int unit_parse_time_ns(const char *s, uint64_t *ret_ns, struct error *e);
/* "2%" or "0.02" (a ratio): 0.02. */
int unit_parse_ratio(const char *s, double *ret, struct error *e);
/* A finite decimal number, all of the string. */
int unit_parse_double(const char *s, double *ret, struct error *e);

/* Exact where it can be: 65536 is "64KiB", 1000 is "1000". At most 32 bytes. */
void unit_format_bytes(uint64_t v, char *buf, size_t size);
/* Exact, as it can be typed: "20s", "1500ms", "7ns"; 0 is "0s". At most 32 bytes. */
void unit_format_time_exact(uint64_t ns, char *buf, size_t size);
/* For people: "1.5 s", "20 ms", "3 min 20 s". */
void unit_format_time(uint64_t ns, char *buf, size_t size);

/*
 * How a column of values of one unit is shown: a divisor and a heading ("us", "MB/s").
 * `per` is what the unit is per ("op", "s", NULL). `typical` is a value of the column.
 */
struct unit_scale {
	double divisor;
	char heading[32];
};
void unit_scale(enum unit u, const char *per, double typical, struct unit_scale *ret);
/* `digits` significant digits, no exponent, '.' always; "-" never: missing is the caller's. */
void unit_format_number(double v, unsigned digits, char *buf, size_t size);

#endif
