/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/spec.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct axis {
	const char **value; /* as typed, unquoted */
	size_t n, cap;
	bool given;
};

static char *names(const struct workload_list *known, struct arena *a)
{
	struct str b = STR_INIT;
	size_t i;
	char *s;

	for (i = 0; i < known->n; i++)
		str_printf(&b, "%s%s", i ? ", " : "", known->items[i].name);
	s = arena_strdup(a, str_get(&b));
	str_done(&b);
	return s;
}

static void add_value(struct axis *x, struct arena *a, const char *s, size_t n)
{
	x->value = arena_grow(a, x->value, x->n, &x->cap, sizeof(*x->value));
	x->value[x->n++] = arena_strndup(a, s, n);
}

/* One value at *text, up to '+' or ',' unless it is quoted; *text is moved behind it. */
static int take_value(const char **text, const char *name, struct axis *x, struct arena *a,
		      struct error *e)
{
	const char *p = *text;
	struct str b = STR_INIT;

	if (*p != '"') {
		size_t n = strcspn(p, "+,");

		if (!n)
			return error_set(e, EINVAL, "%s: an empty value", name);
		add_value(x, a, p, n);
		*text = p + n;
		return 0;
	}
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
		str_add_c(&b, *p);
	}
	if (*p != '"') {
		str_done(&b);
		return error_set(e, EINVAL, "%s: the quote does not end", name);
	}
	add_value(x, a, str_get(&b), b.len);
	str_done(&b);
	*text = p + 1;
	return 0;
}

static int parse_axes(const char *text, const struct workload_info *w, struct axis *axes,
		      struct arena *a, struct error *e)
{
	size_t n = param_count(w->params), i;

	while (*text) {
		size_t len = strcspn(text, "=,");
		const char *name = arena_strndup(a, text, len);
		int r;

		if (text[len] != '=' || !len)
			return error_set(e, EINVAL, "'%s': wanted PARAM=VALUE", text);
		for (i = 0; i < n && strcmp(w->params[i].name, name) != 0; i++)
			;
		if (i == n) {
			struct str b = STR_INIT;

			for (i = 0; i < n; i++)
				str_printf(&b, "%s%s", i ? ", " : "", w->params[i].name);
			r = error_set(e, EINVAL, "unknown parameter '%s' (known: %s)", name,
				      n ? str_get(&b) : "none");
			str_done(&b);
			return r;
		}
		if (axes[i].given)
			return error_set(e, EINVAL, "parameter '%s' is given twice", name);
		axes[i].given = true;
		text += len;
		do {
			text++;
			r = take_value(&text, name, &axes[i], a, e);
			if (r < 0)
				return r;
		} while (*text == '+');
		if (*text && *text != ',')
			return error_set(e, EINVAL, "%s: '%s' behind the value", name, text);
		if (*text == ',' && !*++text)
			return error_set(e, EINVAL, "nothing behind the last comma");
	}
	return 0;
}

/* Placement is asked of every workload that has parties, whatever else a spec names. */
static bool is_place(const struct param *p)
{
	return !strcmp(p->name, "place");
}

static void add_unnamed(const struct param *p, struct axis *x, bool sweep, struct arena *a)
{
	const char *s = sweep ? p->sweep : NULL;

	add_value(x, a, p->def, strlen(p->def));
	while (s && *s) {
		size_t n = strcspn(s, "+");

		if (strlen(p->def) != n || strncmp(p->def, s, n) != 0)
			add_value(x, a, s, n);
		s += n + (s[n] == '+');
	}
}

static int add_point(const struct workload_info *w, const struct axis *axes, const size_t *at,
		     struct arena *a, struct spec_points *points, struct error *e)
{
	size_t n = param_count(w->params), i;
	struct spec_point pt = { .workload = w, .headline = true };
	struct args args = { .params = w->params, .n = n };

	args.value = arena_array(a, n, sizeof(*args.value));
	args.number = arena_array(a, n, sizeof(*args.number));
	for (i = 0; i < n; i++) {
		const char *def = NULL;
		uint64_t unused;
		int r = param_check(&w->params[i], axes[i].value[at[i]], a, &args.value[i],
				    &args.number[i], e);

		if (!r && !param_required(&w->params[i]))
			r = param_check(&w->params[i], w->params[i].def, a, &def, &unused, e);
		if (r < 0)
			return r;
		/* What has no default: the first value that is given is the headline's. */
		if (def ? strcmp(def, args.value[i]) != 0 : at[i] > 0) {
			pt.headline = false;
			pt.implied |= !axes[i].given;
		}
	}
	pt.params = args_canonical(&args, a);
	for (i = 0; i < points->n; i++) {
		struct spec_point *o = &points->items[i];

		if (o->workload == w && !strcmp(o->params, pt.params)) {
			o->implied &= pt.implied;
			return 0;
		}
	}
	if (points->n >= SPEC_POINTS_MAX)
		return error_set(e, E2BIG, "more than %u points", SPEC_POINTS_MAX);
	points->items =
		arena_grow(a, points->items, points->n, &points->cap, sizeof(*points->items));
	points->items[points->n++] = pt;
	return 0;
}

int spec_expand(const char *text, const struct workload_list *known, struct arena *a,
		struct spec_points *points, struct error *e)
{
	size_t len = strcspn(text, ":"), n, i;
	const char *name = arena_strndup(a, text, len);
	const struct workload_info *w = workload_list_find(known, name);
	bool named = false;
	struct axis *axes;
	size_t *at;
	int r;

	if (!w)
		return error_set(e, ENOENT, "unknown workload '%s' (known: %s)", name,
				 names(known, a));
	n = param_count(w->params);
	axes = arena_array(a, n, sizeof(*axes));
	at = arena_array(a, n, sizeof(*at));
	if (text[len] == ':' && !text[len + 1])
		return error_set(e, EINVAL, "%s: nothing behind ':'", name);
	r = parse_axes(text[len] ? text + len + 1 : "", w, axes, a, e);
	if (r < 0)
		return error_prefix(e, "%s", name);
	for (i = 0; i < n; i++)
		named |= axes[i].given && !is_place(&w->params[i]);
	for (i = 0; i < n; i++)
		if (!axes[i].given)
			add_unnamed(&w->params[i], &axes[i], !named || is_place(&w->params[i]), a);
	/* An odometer over the axes, the last one turning fastest. */
	for (;;) {
		r = add_point(w, axes, at, a, points, e);
		if (r < 0)
			return error_prefix(e, "%s", name);
		for (i = n; i > 0; i--) {
			if (++at[i - 1] < axes[i - 1].n)
				break;
			at[i - 1] = 0;
		}
		if (!i)
			return 0;
	}
}
