/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unit.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define FORMAT_DIGITS_MAX 9 /* behind the point */

static const char *const names[UNIT_N] = {
	[UNIT_NONE] = "none",
	[UNIT_NS] = "ns",
	[UNIT_BYTES] = "bytes",
	[UNIT_OPS] = "ops",
	[UNIT_COUNT] = "count",
	[UNIT_PERCENT] = "percent",
	[UNIT_INSTRUCTIONS] = "instructions",
};

const char *unit_name(enum unit u)
{
	return u < UNIT_N ? names[u] : "none";
}

int unit_parse(const char *name, enum unit *ret)
{
	unsigned i;

	for (i = 0; i < UNIT_N; i++) {
		if (!strcmp(names[i], name)) {
			*ret = (enum unit)i;
			return 0;
		}
	}
	return -EINVAL;
}

int unit_parse_u64(const char *s, uint64_t *ret, struct error *e)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end || errno)
		return error_set(e, EINVAL, "'%s' is not a whole number", s);
	*ret = v;
	return 0;
}

/* strtod() asks the locale for its decimal sign; here it is a point, whatever the user's is. */
static double number(const char *s, char **end)
{
	static const char digits[] = "0123456789.";
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	const char *p = *s == '-' || *s == '+' ? s + 1 : s;
	double v;

	/* No "inf", no "nan", no hexadecimal. */
	if (!*p || !strchr(digits, *p) || (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))) {
		*end = (char *)(uintptr_t)s;
		if (c)
			freelocale(c);
		return 0;
	}
	v = c ? strtod_l(s, end, c) : strtod(s, end);
	if (c)
		freelocale(c);
	return v;
}

int unit_parse_double(const char *s, double *ret, struct error *e)
{
	char *end;
	double v = number(s, &end);

	if (end == s || *end || !isfinite(v))
		return error_set(e, EINVAL, "'%s' is not a number", s);
	*ret = v;
	return 0;
}

struct suffix {
	const char *name;
	double factor;
};

/* A whole number of units is not sent through a double, which has but 53 bits. */
static bool exact(const char *s, const char *end, double factor, uint64_t *ret)
{
	unsigned long long v;
	uint64_t product;
	char *stop;

	errno = 0;
	v = strtoull(s, &stop, 10);
	if (!isdigit((unsigned char)*s) || stop != end || errno ||
	    __builtin_mul_overflow((uint64_t)v, (uint64_t)factor, &product))
		return false;
	*ret = product;
	return true;
}

static int scaled(const char *s, const struct suffix *table, size_t n, const char *known,
		  uint64_t *ret, struct error *e)
{
	char *end;
	double v = number(s, &end);
	size_t i;

	if (end == s || v < 0 || !isfinite(v))
		return error_set(e, EINVAL, "'%s' is not a number with a unit (%s)", s, known);
	for (i = 0; i < n; i++) {
		if (strcmp(end, table[i].name) != 0)
			continue;
		if (exact(s, end, table[i].factor, ret))
			return 0;
		v *= table[i].factor;
		if (v > 9e18)
			return error_set(e, ERANGE, "'%s' is too large", s);
		*ret = (uint64_t)round(v);
		return 0;
	}
	return error_set(e, EINVAL, "'%s': unknown unit '%s' (known: %s)", s, end, known);
}

int unit_parse_bytes(const char *s, uint64_t *ret, struct error *e)
{
	static const struct suffix table[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "KiB", 1024.0 },
		{ "MiB", 1048576.0 },
		{ "GiB", 1073741824.0 },
		{ "kB", 1e3 },
		{ "MB", 1e6 },
		{ "GB", 1e9 },
	};

	return scaled(s, table, ARRAY_SIZE(table), "B, kB, KiB, MB, MiB, GB, GiB", ret, e);
}

int unit_parse_time_ns(const char *s, uint64_t *ret_ns, struct error *e)
{
	static const struct suffix table[] = {
		{ "", 1e9 },   { "s", 1e9 },  { "ms", 1e6 },   { "us", 1e3 },
		{ "ns", 1.0 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};

	return scaled(s, table, ARRAY_SIZE(table), "ns, us, ms, s, m, h", ret_ns, e);
}

int unit_parse_ratio(const char *s, double *ret, struct error *e)
{
	char *end;
	double v = number(s, &end);

	if (end == s || !isfinite(v) || (*end && strcmp(end, "%") != 0))
		return error_set(e, EINVAL, "'%s' is not a ratio (like 2%% or 0.02)", s);
	*ret = *end ? v / 100 : v;
	return 0;
}

void unit_format_bytes(uint64_t v, char *buf, size_t size)
{
	static const char *const suffix[] = { "", "KiB", "MiB", "GiB" };
	unsigned i = 0;

	while (i < 3 && v && v % 1024 == 0) {
		v /= 1024;
		i++;
	}
	snprintf(buf, size, "%llu%s", (unsigned long long)v, suffix[i]);
}

void unit_format_time_exact(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		uint64_t ns;
		const char *suffix;
	} units[] = {
		{ NSEC_PER_SEC, "s" }, { NSEC_PER_MSEC, "ms" }, { NSEC_PER_USEC, "us" }, { 1, "ns" }
	};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(buf, size, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].suffix);
}

void unit_format_time(uint64_t ns, char *buf, size_t size)
{
	uint64_t s = (ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;

	if (ns < NSEC_PER_USEC)
		snprintf(buf, size, "%llu ns", (unsigned long long)ns);
	else if (ns < NSEC_PER_MSEC)
		snprintf(buf, size, "%llu us", (unsigned long long)(ns / NSEC_PER_USEC));
	else if (ns < NSEC_PER_SEC)
		snprintf(buf, size, "%llu ms", (unsigned long long)(ns / NSEC_PER_MSEC));
	else if (ns < 10 * NSEC_PER_SEC)
		snprintf(buf, size, "%llu.%llu s", (unsigned long long)(ns / NSEC_PER_SEC),
			 (unsigned long long)(ns % NSEC_PER_SEC / (100 * NSEC_PER_MSEC)));
	else if (s < 60)
		snprintf(buf, size, "%llu s", (unsigned long long)s);
	else if (s < 3600)
		snprintf(buf, size, "%llu min %02llu s", (unsigned long long)(s / 60),
			 (unsigned long long)(s % 60));
	else
		snprintf(buf, size, "%llu h %02llu min", (unsigned long long)(s / 3600),
			 (unsigned long long)(s % 3600 / 60));
}

void unit_scale(enum unit u, const char *per, double typical, struct unit_scale *ret)
{
	double a = fabs(typical);
	const char *name = "";

	ret->divisor = 1;
	switch (u) {
	case UNIT_NS:
		if (a < 1e2)
			name = "ns";
		else if (a < 1e5)
			name = "us", ret->divisor = 1e3;
		else if (a < 1e9)
			name = "ms", ret->divisor = 1e6;
		else
			name = "s", ret->divisor = 1e9;
		/* A time per operation is shown as lmbench does: the time alone. */
		snprintf(ret->heading, sizeof(ret->heading), "%s", name);
		return;
	case UNIT_BYTES:
		if (a >= 1e9)
			name = "GB", ret->divisor = 1e9;
		else if (a >= 1e6)
			name = "MB", ret->divisor = 1e6;
		else if (a >= 1e4)
			name = "kB", ret->divisor = 1e3;
		else
			name = "B";
		break;
	case UNIT_OPS:
	case UNIT_COUNT:
	case UNIT_INSTRUCTIONS:
	case UNIT_NONE:
		name = u == UNIT_OPS ? "ops" : u == UNIT_INSTRUCTIONS ? "insns" : "";
		if (a >= 1e7) {
			ret->divisor = 1e6;
			name = u == UNIT_OPS ? "Mops" : u == UNIT_INSTRUCTIONS ? "Minsns" : "x10^6";
		} else if (a >= 1e5) {
			ret->divisor = 1e3;
			name = u == UNIT_OPS ? "kops" : u == UNIT_INSTRUCTIONS ? "kinsns" : "x10^3";
		}
		break;
	case UNIT_PERCENT:
		name = "%";
		break;
	case UNIT_N:
		break;
	}
	snprintf(ret->heading, sizeof(ret->heading), "%s%s%s", name, per && *per ? "/" : "",
		 per ? per : "");
}

void unit_format_number(double v, unsigned digits, char *buf, size_t size)
{
	char rounded[64], *p;
	long after;

	if (!isfinite(v)) {
		snprintf(buf, size, "?");
		return;
	}
	/* The power of ten after rounding: 9.9996 has it of 10.00. */
	snprintf(rounded, sizeof(rounded), "%.*e", (int)digits - 1, v);
	p = strchr(rounded, 'e');
	after = (long)digits - 1 - (p ? strtol(p + 1, NULL, 10) : 0);
	if (after < 0)
		after = 0;
	if (after > FORMAT_DIGITS_MAX)
		after = FORMAT_DIGITS_MAX;
	snprintf(buf, size, "%.*f", (int)after, v);
	/* Whatever the locale put there, in one byte or more. */
	for (p = buf + (*buf == '-'); isdigit((unsigned char)*p); p++)
		;
	if (*p) {
		char *rest = p;

		while (*rest && !isdigit((unsigned char)*rest))
			rest++;
		*p++ = '.';
		memmove(p, rest, strlen(rest) + 1);
	}
}
