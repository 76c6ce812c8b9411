/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/common.h"
#include "render/render.h"

size_t cmd_cell(struct str *out, const char *s, size_t width)
{
	size_t from = out->len, columns;

	render_safe(out, s);
	columns = out->len > from ? str_width(out->s + from) : 0;
	if (columns < width)
		str_add_pad(out, ' ', width - columns);
	return columns;
}

void cmd_wrap(struct str *out, size_t column, const char *s)
{
	struct str safe = STR_INIT;
	size_t at = column;
	char *word, *rest;

	render_safe(&safe, s);
	word = safe.s;
	for (; word && *word; word = rest) {
		size_t width;

		rest = word + strcspn(word, " ");
		if (*rest)
			*rest++ = '\0';
		width = str_width(word);
		if (at > column && at + 1 + width > CMD_WIDTH) {
			str_add_c(out, '\n');
			str_add_pad(out, ' ', column);
			at = column;
		} else if (at > column) {
			str_add_c(out, ' ');
			at++;
		}
		str_add(out, word);
		at += width;
	}
	str_add_c(out, '\n');
	str_done(&safe);
}

static size_t safe_width(const char *s)
{
	struct str b = STR_INIT;
	size_t n = cmd_cell(&b, s, 0);

	str_done(&b);
	return n;
}

static void add_cell(struct str *out, const char *head, const char *s, size_t width)
{
	size_t columns;

	if (*head == '>') {
		columns = safe_width(s);
		str_add_pad(out, ' ', columns < width ? width - columns : 0);
		width = 0;
	}
	cmd_cell(out, s, width);
}

static void end_line(struct str *out)
{
	while (out->len && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	str_add_c(out, '\n');
}

static void add_row(struct str *out, const char *const *heads, const char *const *cells,
		    const size_t *width, size_t columns)
{
	size_t i;

	for (i = 0; i < columns; i++) {
		const char *s = cells[i] ? cells[i] : "-";

		if (i)
			str_add(out, "  ");
		add_cell(out, heads[i], s, width[i]);
		if (!i && safe_width(s) > width[0] && columns > 1) {
			end_line(out);
			str_add_pad(out, ' ', width[0]);
		}
	}
	end_line(out);
}

void cmd_table(struct str *out, const struct cmd_table *t)
{
	CLEANUP_FREE const char **names = NULL;
	CLEANUP_FREE size_t *width = NULL;
	size_t columns = 0, others = 0, i, row;

	while (t->heads[columns])
		columns++;
	names = mem_array(columns + 1, sizeof(*names));
	width = mem_array(columns + 1, sizeof(*width));
	for (i = 0; i < columns; i++) {
		names[i] = t->heads[i] + 1;
		width[i] = strlen(names[i]);
		for (row = 0; row < t->n; row++) {
			const char *s = t->cells[row * columns + i];
			size_t n = s ? safe_width(s) : 1;

			if (n > width[i])
				width[i] = n;
		}
		others += i ? width[i] + 2 : 0;
	}
	if (width[0] + others > CMD_WIDTH) {
		size_t room = others < CMD_WIDTH ? CMD_WIDTH - others : 0;

		width[0] = room > strlen(names[0]) ? room : strlen(names[0]);
	}
	add_row(out, t->heads, names, width, columns);
	for (row = 0; row < t->n; row++) {
		add_row(out, t->heads, t->cells + row * columns, width, columns);
		if (t->notes && t->notes[row]) {
			str_add(out, "    ");
			cmd_wrap(out, 4, t->notes[row]);
		}
	}
}

void cmd_when(uint64_t ns, char buf[32])
{
	time_t t = (time_t)(ns / NSEC_PER_SEC);
	struct tm tm;

	if (!ns || !localtime_r(&t, &tm) || !strftime(buf, 32, "%Y-%m-%d %H:%M", &tm))
		strcpy(buf, "-");
}

json_t *cmd_when_json(uint64_t ns)
{
	time_t t = (time_t)(ns / NSEC_PER_SEC);
	char buf[40];
	struct tm tm;

	if (!ns || !gmtime_r(&t, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_str(buf);
}

int cmd_print_json(json_t *j, int code)
{
	struct str out = STR_INIT;
	char *text = json_pretty(j);

	json_decref(j);
	str_add(&out, text);
	free(text);
	return cmd_print(&out, code);
}
