/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/console.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define PANIC_TEXT "Kernel panic - not syncing"

void console_init(struct console *c)
{
	memset(c, 0, sizeof(*c));
}

const char *console_message(const char *line)
{
	if (*line == '<' && strchr("01234567", line[1]) && line[1] && line[2] == '>')
		line += 3;
	while (*line == '[') {
		size_t n = strspn(line + 1, " .0123456789TC");

		if (!n || line[1 + n] != ']')
			break;
		line += n + 2;
		line += strspn(line, " ");
	}
	return line;
}

enum console_sign console_sign(const char *line)
{
	/* Anywhere in a line: other CPUs' words may stand before them. */
	static const char *const words[] = {
		"------------[ cut here ]------------",
		"BUG: ",
		"kernel BUG at ",
		"WARNING: CPU: ",
		"WARNING: possible ",
		"WARNING: suspicious RCU usage",
		"WARNING: inconsistent lock state",
		"WARNING: bad unlock balance",
		"general protection fault",
		"double fault: ",
		"Oops: ",
		"UBSAN: ",
		"KFENCE: ",
		"unregister_netdevice: waiting for ",
		"self-detected stall on CPU",
		"detected stalls on CPUs",
		"detected expedited stalls on CPUs",
		"nobody cared (try booting with",
	};
	const char *m = console_message(line);
	size_t i;

	if (strstr(m, PANIC_TEXT))
		return CONSOLE_PANIC;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(m, words[i]))
			return CONSOLE_WARNING;
	if (str_starts(m, "WARNING: ") && strstr(m, ", CPU#"))
		return CONSOLE_WARNING;
	if (str_starts(m, "INFO: task ") && strstr(m, " blocked for more than "))
		return CONSOLE_WARNING;
	return CONSOLE_QUIET;
}

static void console_judge(struct console *c, const char *line)
{
	enum console_sign sign = console_sign(line);
	const char *m = console_message(line), *said = strstr(m, CONSOLE_AGENT);

	if (said)
		strcpy(c->agent, said + strlen(CONSOLE_AGENT));
	if (sign == CONSOLE_QUIET)
		return;
	/* The scissors say nothing; the line behind them does. */
	if (!c->warned || str_starts(c->warning, "----"))
		strcpy(c->warning, m);
	c->warned = true;
	if (sign == CONSOLE_PANIC && !c->panicked) {
		const char *why = strstr(m, PANIC_TEXT) + strlen(PANIC_TEXT);

		why += strspn(why, ": ");
		strcpy(c->panic, *why ? why : "no reason given");
		c->panicked = true;
	}
}

static void console_end_line(struct console *c)
{
	console_judge(c, c->line[c->n % CONSOLE_SLOTS]);
	c->n++;
	c->len = 0;
	c->line[c->n % CONSOLE_SLOTS][0] = '\0';
}

void console_feed(struct console *c, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		char *cur = c->line[c->n % CONSOLE_SLOTS];
		unsigned char b = (unsigned char)data[i];

		if (b == '\n') {
			console_end_line(c);
			continue;
		}
		if (b == '\r' || c->len == CONSOLE_WIDTH)
			continue;
		if (b == '\t')
			b = ' ';
		cur[c->len++] = b >= 0x20 && b < 0x7f ? (char)b : '?';
		cur[c->len] = '\0';
	}
}

void console_finish(struct console *c)
{
	if (c->len)
		console_end_line(c);
}

static size_t console_end(const struct console *c)
{
	return c->n + (c->len ? 1 : 0);
}

static size_t console_first(const struct console *c)
{
	size_t end = console_end(c);

	return end > CONSOLE_LINES ? end - CONSOLE_LINES : 0;
}

char *console_tail(const struct console *c)
{
	struct str s = STR_INIT;
	size_t i;

	for (i = console_first(c); i < console_end(c); i++) {
		str_add(&s, c->line[i % CONSOLE_SLOTS]);
		str_add_c(&s, '\n');
	}
	return str_take(&s);
}

const char *console_last(const struct console *c)
{
	size_t end = console_end(c), first = console_first(c);

	while (end-- > first) {
		const char *line = c->line[end % CONSOLE_SLOTS];

		if (line[strspn(line, " ")])
			return line;
	}
	return "";
}
