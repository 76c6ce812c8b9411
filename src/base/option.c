/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/unit.h"

#define HELP_COLUMN 26u
#define WORD_MAX    40u

void option_list_done(struct option_list *l)
{
	if (!l)
		return;
	free(l->items);
	memset(l, 0, sizeof(*l));
}

static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[WORD_MAX + 1], i, j;

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (j = 0; j <= m; j++)
		row[j] = j;
	for (i = 1; i <= n; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (j = 1; j <= m; j++) {
			size_t best = diag + (a[i - 1] != b[j - 1]);

			diag = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

const char *option_closest(const char *word, const char *const *names)
{
	size_t best = strlen(word) / 3 + 1;
	const char *found = NULL;

	for (; *names; names++) {
		size_t d = distance(word, *names);

		if (d <= best && (!found || d < best)) {
			best = d;
			found = *names;
		}
	}
	return found;
}

static const struct option *find_name(const struct option *t, const char *name, size_t len)
{
	for (; t->name; t++)
		if (t->type != OPTION_HEADING && strlen(t->name) == len &&
		    !strncmp(t->name, name, len))
			return t;
	return NULL;
}

static const struct option *find_letter(const struct option *t, char c)
{
	for (; t->name; t++)
		if (t->letter == c && c && t->type != OPTION_HEADING)
			return t;
	return NULL;
}

static int unknown(const struct option *table, const char *name, size_t len, struct error *e)
{
	CLEANUP_FREE char *word = mem_strndup(name, len);
	CLEANUP_FREE const char **names = NULL;
	const struct option *t;
	const char *close;
	size_t n = 0;

	for (t = table; t->name; t++)
		n++;
	names = mem_array(n + 1, sizeof(*names));
	for (n = 0, t = table; t->name; t++)
		if (t->type != OPTION_HEADING)
			names[n++] = t->name;
	close = option_closest(word, names);
	if (close)
		return error_set(e, EINVAL, "unknown option '--%s': did you mean --%s?", word,
				 close);
	return error_set(e, EINVAL, "unknown option '--%s' (see --help)", word);
}

static bool is_choice(const char *choices, const char *value)
{
	size_t n = strlen(value);
	const char *p = strchr(value, '|') ? NULL : choices;

	for (; p; p = strchr(p, '|')) {
		p += *p == '|';
		if (!strncmp(p, value, n) && (p[n] == '|' || !p[n]) && n)
			return true;
	}
	return false;
}

static int set(const struct option *o, const char *value, struct error *e)
{
	struct option_list *l;
	uint64_t v = 0;
	int r = 0;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)o->target = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)o->target = value;
		return 0;
	case OPTION_TEXTS:
		l = o->target;
		l->items = mem_grow(l->items, l->n, &l->cap, sizeof(*l->items));
		l->items[l->n++] = value;
		return 0;
	case OPTION_CHOICE:
		if (!is_choice(o->choices, value))
			return error_set(e, EINVAL, "--%s: '%s' is none of %s", o->name, value,
					 o->choices);
		*(const char **)o->target = value;
		return 0;
	case OPTION_UINT:
		r = unit_parse_u64(value, &v, e);
		if (!r && (v < o->min || (o->max && v > o->max)))
			r = error_set(e, ERANGE, "%s is not from %llu to %llu", value,
				      (unsigned long long)o->min,
				      (unsigned long long)(o->max ? o->max : UINT64_MAX));
		break;
	case OPTION_TIME:
		r = unit_parse_time_ns(value, &v, e);
		if (!r && !v)
			r = error_set(e, ERANGE, "'%s' is no time at all", value);
		break;
	case OPTION_BYTES:
		r = unit_parse_bytes(value, &v, e);
		break;
	case OPTION_RATIO:
		r = unit_parse_ratio(value, o->target, e);
		return r < 0 ? error_prefix(e, "--%s", o->name) : 0;
	case OPTION_HEADING:
		return 0;
	}
	if (r < 0)
		return error_prefix(e, "--%s", o->name);
	*(uint64_t *)o->target = v;
	return 0;
}

static int parse_long(const struct option *table, int argc, char **argv, int *i, struct error *e)
{
	const char *name = argv[*i] + 2;
	size_t len = strcspn(name, "=");
	const struct option *o = find_name(table, name, len);

	if (!o)
		return unknown(table, name, len, e);
	if (o->type == OPTION_FLAG) {
		if (name[len])
			return error_set(e, EINVAL, "--%s takes no value", o->name);
		return set(o, NULL, e);
	}
	if (name[len])
		return set(o, name + len + 1, e);
	if (*i + 1 >= argc)
		return error_set(e, EINVAL, "--%s wants %s", o->name, o->arg ? o->arg : "a value");
	return set(o, argv[++*i], e);
}

static int parse_short(const struct option *table, int argc, char **argv, int *i, struct error *e)
{
	const char *p = argv[*i] + 1;

	for (; *p; p++) {
		const struct option *o = find_letter(table, *p);
		int r;

		if (!o)
			return error_set(e, EINVAL, "unknown option '-%c' (see --help)", *p);
		if (o->type == OPTION_FLAG) {
			r = set(o, NULL, e);
			if (r < 0)
				return r;
			continue;
		}
		if (p[1])
			return set(o, p + 1, e);
		if (*i + 1 >= argc)
			return error_set(e, EINVAL, "-%c wants %s", *p,
					 o->arg ? o->arg : "a value");
		return set(o, argv[++*i], e);
	}
	return 0;
}

int option_parse(const struct option *table, int argc, char **argv, int *ret_args, bool *ret_help,
		 struct error *e)
{
	CLEANUP_FREE char **rest = mem_array((size_t)argc + 1, sizeof(*rest));
	int n = 0, i, r;

	*ret_help = false;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			*ret_help = true;
			return 0;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			rest[n++] = argv[i];
			continue;
		}
		if (argv[i][1] == '-')
			r = parse_long(table, argc, argv, &i, e);
		else
			r = parse_short(table, argc, argv, &i, e);
		if (r < 0)
			return r;
	}
	for (i++; i < argc; i++)
		rest[n++] = argv[i];
	*ret_args = argc - n;
	for (i = 0; i < n; i++)
		argv[argc - n + i] = rest[i];
	return 0;
}

static void help_one(struct str *out, const struct option *o)
{
	struct str left = STR_INIT;
	const char *p = o->help;

	if (o->type == OPTION_HEADING) {
		str_printf(out, "\n%s\n", o->name);
		return;
	}
	if (o->letter)
		str_printf(&left, "  -%c, --%s", o->letter, o->name);
	else
		str_printf(&left, "      --%s", o->name);
	if (o->type == OPTION_CHOICE)
		str_printf(&left, "=%s", o->choices);
	else if (o->type != OPTION_FLAG)
		str_printf(&left, "=%s", o->arg ? o->arg : "VALUE");
	str_add(out, str_get(&left));
	if (left.len + 2 > HELP_COLUMN) {
		str_add_c(out, '\n');
		str_add_pad(out, ' ', HELP_COLUMN);
	} else {
		str_add_pad(out, ' ', HELP_COLUMN - left.len);
	}
	str_done(&left);
	for (; p && *p; p++) {
		str_add_c(out, *p);
		if (*p == '\n')
			str_add_pad(out, ' ', HELP_COLUMN);
	}
	str_add_c(out, '\n');
}

void option_help(struct str *out, const struct option_doc *doc, const struct option *table)
{
	str_printf(out, "Usage: %s\n\n%s\n", doc->usage, doc->summary);
	if (doc->description)
		str_printf(out, "\n%s\n", doc->description);
	if (table && table->name && table->type != OPTION_HEADING)
		str_add(out, "\nOptions\n");
	for (; table && table->name; table++)
		help_one(out, table);
	if (doc->examples)
		str_printf(out, "\nExamples\n%s\n", doc->examples);
}
