/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void reserve(struct str *b, size_t more)
{
	size_t want = b->len + more + 1;

	if (want <= b->cap)
		return;
	b->cap = want < 64 ? 64 : want + want / 2;
	b->s = mem_resize(b->s, b->cap, 1);
}

void str_add_n(struct str *b, const char *s, size_t n)
{
	reserve(b, n);
	memcpy(b->s + b->len, s, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void str_add(struct str *b, const char *s)
{
	str_add_n(b, s, strlen(s));
}

void str_add_c(struct str *b, char c)
{
	str_add_n(b, &c, 1);
}

void str_add_pad(struct str *b, char c, size_t n)
{
	while (n--)
		str_add_c(b, c);
}

void str_printf(struct str *b, const char *fmt, ...)
{
	CLEANUP_FREE char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = mem_printf("%s", ""); /* says "out of memory" if it was that */
	else
		str_add_n(b, text, (size_t)n);
}

void str_reset(struct str *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = '\0';
}

char *str_take(struct str *b)
{
	char *s = b->s ? b->s : mem_strdup("");

	b->s = NULL;
	b->len = b->cap = 0;
	return s;
}

const char *str_get(const struct str *b)
{
	return b->s ? b->s : "";
}

void str_done(struct str *b)
{
	if (!b)
		return;
	free(b->s);
	b->s = NULL;
	b->len = b->cap = 0;
}

bool str_eq(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	return !strcmp(a, b);
}

bool str_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

char *str_trim(char *s)
{
	size_t n;

	while (*s && isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

size_t str_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* What stands at a position: the end and "+" sort between "-rc" (a candidate) and ".1". */
static int version_rank(const char *s)
{
	if (!strncmp(s, "-rc", 3) && isdigit((unsigned char)s[3]))
		return 0;
	if (!*s)
		return 1;
	if (*s == '+')
		return 2;
	if (*s == '-')
		return 3;
	if (*s == '.')
		return isdigit((unsigned char)s[1]) ? 5 : 4;
	return isdigit((unsigned char)*s) ? 6 : 4;
}

static int number_cmp(const char **a, const char **b)
{
	const char *x = *a, *y = *b;
	size_t n, m;
	int r;

	while (*x == '0')
		x++;
	while (*y == '0')
		y++;
	for (n = 0; isdigit((unsigned char)x[n]); n++)
		;
	for (m = 0; isdigit((unsigned char)y[m]); m++)
		;
	*a = x + n;
	*b = y + m;
	if (n != m)
		return n < m ? -1 : 1;
	r = strncmp(x, y, n);
	return r < 0 ? -1 : r > 0;
}

int str_version_cmp(const char *a, const char *b)
{
	const char *x = a, *y = b;
	int r;

	while (*x || *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			r = number_cmp(&x, &y);
			if (r)
				return r;
			continue;
		}
		r = version_rank(x) - version_rank(y);
		if (r)
			return r < 0 ? -1 : 1;
		if (*x != *y)
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		x++;
		y++;
	}
	r = strcmp(a, b);
	return r < 0 ? -1 : r > 0;
}
