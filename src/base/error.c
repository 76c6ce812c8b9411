/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text of others (a path, a record, a guest) must neither break the line nor steer a terminal. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

int error_set(struct error *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -code;
	if (e->code)
		return -e->code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	one_line(e->text);
	return -code;
}

int error_errno(struct error *e, int code, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	if (!e)
		return -code;
	if (e->code)
		return -e->code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(code));
	one_line(e->text);
	return -code;
}

int error_prefix(struct error *e, const char *fmt, ...)
{
	char where[sizeof(e->text)], old[sizeof(e->text)];
	va_list ap;

	if (!e)
		return -EINVAL;
	if (!e->code)
		return 0;
	va_start(ap, fmt);
	vsnprintf(where, sizeof(where), fmt, ap);
	va_end(ap);
	memcpy(old, e->text, sizeof(old));
	/* Too long together: the end of the old text goes. */
	if (snprintf(e->text, sizeof(e->text), "%s: %s", where, old) < 0)
		memcpy(e->text, old, sizeof(old));
	one_line(e->text);
	return -e->code;
}

bool error_is_set(const struct error *e)
{
	return e && e->code;
}

void error_clear(struct error *e)
{
	if (!e)
		return;
	e->code = 0;
	e->text[0] = '\0';
}
