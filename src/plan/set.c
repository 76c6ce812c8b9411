/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/set.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define BOOT "boot:"

/* Values are few: they are added one by one. */
static void add_text(struct arena *a, const char ***list, size_t *n, const char *s)
{
	const char **more = arena_array(a, *n + 1, sizeof(*more));

	if (*n)
		memcpy(more, *list, *n * sizeof(*more));
	more[(*n)++] = s;
	*list = more;
}

static int take_value(const char **text, struct str *out, struct error *e)
{
	const char *p = *text;

	str_reset(out);
	if (*p != '"') {
		size_t n = strcspn(p, "+");

		if (!n)
			return error_set(e, EINVAL, "an empty value (\"\" in quotes is one)");
		str_add_n(out, p, n);
		*text = p + n;
		return 0;
	}
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
		str_add_c(out, *p);
	}
	if (*p != '"')
		return error_set(e, EINVAL, "the quote does not end");
	if (p[1] && p[1] != '+')
		return error_set(e, EINVAL, "'%s' behind the quote", p + 1);
	*text = p + 1;
	return 0;
}

static bool in_choices(const char *choices, const char *value)
{
	size_t n = strlen(value), m;

	for (; *choices; choices += m + (choices[m] == '|')) {
		m = strcspn(choices, "|");
		if (m == n && !strncmp(choices, value, n))
			return true;
	}
	return false;
}

static int parse_values(struct sets *s, struct set_axis *x, const char *text, const char *choices,
			struct error *e)
{
	struct str b = STR_INIT;
	int r = 0;
	size_t i;

	for (text--; *text && !r;) {
		const char *value = NULL;

		text++;
		r = take_value(&text, &b, e);
		if (!r)
			r = setting_value(str_get(&b), &s->arena, &value, e);
		if (!r && choices && !in_choices(choices, value))
			r = error_set(e, EINVAL, "'%s': choose one of %s", value, choices);
		if (!r && x->boot && strchr(value, '"'))
			r = error_set(e, EINVAL, "a quote in a boot parameter");
		for (i = 0; i < x->n_values && !r; i++)
			if (setting_same(x->values[i], value))
				r = error_set(e, EINVAL, "the value '%s' is given twice", value);
		if (!r)
			add_text(&s->arena, &x->values, &x->n_values, value);
	}
	str_done(&b);
	return r;
}

static const struct setting_info *find_kind(const struct workload_list *known, const char *name)
{
	size_t i;

	for (i = 0; i < known->n_settings; i++)
		if (!strcmp(known->settings[i].name, name))
			return &known->settings[i];
	return NULL;
}

static int unknown_kind(const struct workload_list *known, const char *name, struct error *e)
{
	struct str b = STR_INIT;
	size_t i;
	int r;

	for (i = 0; i < known->n_settings; i++)
		str_printf(&b, "%s%s", i ? ", " : "", known->settings[i].form);
	r = error_set(e, EINVAL,
		      "unknown setting '%s' (known: %s; for a kernel's command line boot:PARAM)",
		      name, b.len ? str_get(&b) : "none");
	str_done(&b);
	return r;
}

static unsigned colons(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == ':';
	return n;
}

static int add_name(struct sets *s, struct set_axis *x, const char *text, struct error *e)
{
	const char *name;
	size_t i;

	if (setting_name(text, &s->arena, &name, e) < 0)
		return -EINVAL;
	for (i = 0; i < x->n_names; i++)
		if (!strcmp(x->names[i], name))
			return error_set(e, EINVAL, "'%s' is given twice", name);
	add_text(&s->arena, &x->names, &x->n_names, name);
	return 0;
}

/* KIND:ARGUMENT:A,B are the settings KIND:ARGUMENT:A and KIND:ARGUMENT:B. */
static int parse_names(struct sets *s, struct set_axis *x, const char *text,
		       const struct workload_list *known, const char **ret_choices, struct error *e)
{
	const struct setting_info *kind;
	const char *last = strrchr(text, ':'), *name, *arg;
	size_t head = last ? (size_t)(last + 1 - text) : 0, n;
	int r = 0;

	if (!*text || setting_name(arena_strndup(&s->arena, text, strcspn(text, ",")), &s->arena,
				   &name, e) < 0)
		return error_set(e, EINVAL, "wanted NAME=VALUE[+VALUE...]");
	kind = find_kind(known, setting_kind(name, &s->arena, &arg));
	if (!kind)
		return unknown_kind(known, text, e);
	*ret_choices = kind->choices;
	/* Not of a sysctl, whose form is described in words. */
	if (arg != name && (colons(kind->form) != colons(text) || (last && !last[1])))
		return error_set(e, EINVAL, "it is written %s", kind->form);
	if (!head)
		return add_name(s, x, text, e);
	for (text += head; !r; text += n + 1) {
		n = strcspn(text, ",");
		if (!n)
			return error_set(e, EINVAL, "it is written %s", kind->form);
		r = add_name(s, x,
			     arena_printf(&s->arena, "%.*s%.*s", (int)head, last + 1 - head, (int)n,
					  text),
			     e);
		if (!text[n])
			break;
	}
	return r;
}

static int parse_boot(struct sets *s, struct set_axis *x, const char *text, struct error *e)
{
	const char *p;

	x->boot = true;
	for (p = text; *p > ' ' && *p <= '~' && *p != '"'; p++)
		;
	if (*p || p == text)
		return error_set(e, EINVAL, "boot:PARAM wants the name of a parameter");
	add_text(&s->arena, &x->names, &x->n_names, arena_strdup(&s->arena, text));
	return 0;
}

static int check_new(const struct sets *s, const struct set_axis *x, struct error *e)
{
	size_t i, k, m, settings = x->boot ? 0 : x->n_names;

	for (i = 0; i < s->n; i++) {
		const struct set_axis *o = &s->axes[i];

		if (o->boot != x->boot)
			continue;
		settings += o->n_names;
		for (k = 0; k < o->n_names; k++)
			for (m = 0; m < x->n_names; m++)
				if (!strcmp(o->names[k], x->names[m]))
					return error_set(e, EINVAL, "'%s' is given twice",
							 x->names[m]);
	}
	if (settings > SETTINGS_MAX)
		return error_set(e, E2BIG, "more than %u settings", SETTINGS_MAX);
	if (sets_count(s, x->boot) > SETS_MAX / x->n_values)
		return error_set(e, E2BIG, "more than %u combinations", SETS_MAX);
	return 0;
}

int sets_add(struct sets *s, const char *text, const struct workload_list *known, struct error *e)
{
	const char *eq = strchr(text, '='), *choices = NULL;
	const char *name = eq ? arena_strndup(&s->arena, text, (size_t)(eq - text)) : text;
	struct set_axis x = { .boot = false };
	int r;

	if (!eq)
		return error_set(e, EINVAL, "--set %s: wanted NAME=VALUE[+VALUE...]", text);
	r = str_starts(name, BOOT) ? parse_boot(s, &x, name + strlen(BOOT), e)
				   : parse_names(s, &x, name, known, &choices, e);
	if (!r)
		r = parse_values(s, &x, eq + 1, choices, e);
	if (!r)
		r = check_new(s, &x, e);
	if (r < 0)
		return error_prefix(e, "--set %s", text);
	s->axes = arena_grow(&s->arena, s->axes, s->n, &s->cap, sizeof(*s->axes));
	s->axes[s->n++] = x;
	return 0;
}

size_t sets_count(const struct sets *s, bool boot)
{
	size_t n = 1, i;

	for (i = 0; i < s->n; i++)
		if (s->axes[i].boot == boot)
			n *= s->axes[i].n_values;
	return n;
}

/* Which value axis `x` has in combination i; `stride` is that of the axes behind it. */
static size_t digit(const struct set_axis *x, size_t i, size_t stride, bool gray)
{
	size_t at = i / stride % x->n_values;

	/* Each round of an axis goes the other way: a reflected Gray code. */
	return gray && i / stride / x->n_values % 2 ? x->n_values - 1 - at : at;
}

void sets_choose(const struct sets *s, size_t i, struct arena *a, struct setting **ret,
		 size_t *ret_n)
{
	size_t n = 0, stride = 1, k, m;

	for (k = 0; k < s->n; k++)
		n += s->axes[k].boot ? 0 : s->axes[k].n_names;
	*ret = arena_array(a, n, sizeof(**ret));
	*ret_n = n;
	for (n = 0, k = s->n; k > 0; k--) {
		const struct set_axis *x = &s->axes[k - 1];
		const char *value;

		if (x->boot)
			continue;
		value = x->values[digit(x, i, stride, true)];
		stride *= x->n_values;
		for (m = 0; m < x->n_names; m++) {
			(*ret)[n].name = arena_strdup(a, x->names[m]);
			(*ret)[n++].value = arena_strdup(a, value);
		}
	}
	settings_sort(*ret, *ret_n);
}

char *sets_boot_words(const struct sets *s, size_t i, struct arena *a)
{
	size_t stride = sets_count(s, true), k;
	struct str b = STR_INIT;
	char *ret;

	for (k = 0; k < s->n; k++) {
		const struct set_axis *x = &s->axes[k];
		const char *value, *quote;

		if (!x->boot)
			continue;
		stride /= x->n_values;
		value = x->values[digit(x, i, stride, false)];
		/* As the kernel's own parser takes it: PARAM="a b". */
		quote = strchr(value, ' ') ? "\"" : "";
		str_printf(&b, "%s%s=%s%s%s", b.len ? " " : "", x->names[0], quote, value, quote);
	}
	ret = arena_strdup(a, str_get(&b));
	str_done(&b);
	return ret;
}

void sets_done(struct sets *s)
{
	if (!s)
		return;
	arena_done(&s->arena);
	memset(s, 0, sizeof(*s));
}
