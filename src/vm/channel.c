/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/channel.h"

#include <string.h>

void channel_init(struct channel *c, size_t max)
{
	memset(c, 0, sizeof(*c));
	c->max = max;
}

static void channel_add(struct channel *c, const char *data, size_t len)
{
	if (c->dropping)
		return;
	/* One byte more than max: the \r of a \r\n is no part of the line. */
	if (len <= c->max + 1 - c->buf.len) {
		str_add_n(&c->buf, data, len);
		return;
	}
	c->dropping = true;
	c->overlong++;
	str_done(&c->buf);
}

static void channel_end(struct channel *c, void (*line)(void *, const char *, size_t), void *arg)
{
	if (!c->dropping && c->buf.len && c->buf.s[c->buf.len - 1] == '\r')
		c->buf.s[--c->buf.len] = '\0';
	if (!c->dropping && c->buf.len > c->max)
		c->overlong++;
	else if (!c->dropping && c->buf.len)
		line(arg, c->buf.s, c->buf.len);
	c->dropping = false;
	str_reset(&c->buf);
}

void channel_feed(struct channel *c, const char *data, size_t len,
		  void (*line)(void *arg, const char *line, size_t len), void *arg)
{
	while (len) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len;

		channel_add(c, data, n);
		if (!nl)
			return;
		channel_end(c, line, arg);
		data += n + 1;
		len -= n + 1;
	}
}

bool channel_torn(const struct channel *c)
{
	return c->dropping || c->buf.len;
}

void channel_done(struct channel *c)
{
	if (c)
		str_done(&c->buf);
}
