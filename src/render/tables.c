/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "render/internal.h"

/* A longer value (a command line) is cut in its middle; its end may be what tells two apart. */
#define VALUE_WIDTH 24u

/* Length of the first "NAME=VALUE" of a list of parameters; a value in quotes may hold ','. */
static size_t param_len(const char *s)
{
	bool quoted = false;
	size_t i;

	for (i = 0; s[i] && (quoted || s[i] != ','); i++) {
		if (quoted && s[i] == '\\' && s[i + 1])
			i++;
		else if (s[i] == '"')
			quoted = !quoted;
	}
	return i;
}

/* The value of a parameter and its length; NULL if it is not there. */
static const char *param_of(const char *params, const char *name, size_t name_len, size_t *ret_len)
{
	size_t n;

	for (; *params; params += n + (params[n] == ',')) {
		n = param_len(params);
		if (n > name_len && params[name_len] == '=' && !strncmp(params, name, name_len)) {
			*ret_len = n - name_len - 1;
			return params + name_len + 1;
		}
	}
	return NULL;
}

static bool same_table(const struct compare_row *a, const struct compare_row *b)
{
	if (a->exact && b->exact)
		return !strcmp(a->family, b->family) && a->context_number == b->context_number;
	return !strcmp(a->family, b->family) && a->metric.unit == b->metric.unit &&
	       str_eq(a->metric.per, b->metric.per) && a->metric.better == b->metric.better &&
	       !strcmp(a->class, b->class) && a->context_number == b->context_number &&
	       (a->metric.kind == METRIC_EVIDENCE) == (b->metric.kind == METRIC_EVIDENCE);
}

/* What all rows of a table have in common need not stand in each name. */
struct common {
	bool workload, metric, version;
};

static bool is_common(const struct comparison *c, const struct table *t, const char *name,
		      size_t name_len)
{
	size_t i, n, m;
	const char *first = param_of(c->rows[t->rows[0]].params, name, name_len, &n), *v;

	for (i = 0; i < t->n; i++) {
		v = param_of(c->rows[t->rows[i]].params, name, name_len, &m);
		if (!v || !first || n != m || strncmp(v, first, n) != 0)
			return false;
	}
	return true;
}

static struct common find_common(const struct comparison *c, const struct table *t)
{
	const struct compare_row *first = &c->rows[t->rows[0]];
	struct common ret = { true, true, true };
	size_t i;

	for (i = 1; i < t->n; i++) {
		const struct compare_row *r = &c->rows[t->rows[i]];

		ret.workload &= !strcmp(r->workload, first->workload);
		ret.metric &= !strcmp(r->metric.name, first->metric.name);
	}
	for (i = 0; i < t->n * t->n; i++) {
		const struct compare_row *a = &c->rows[t->rows[i / t->n]];
		const struct compare_row *b = &c->rows[t->rows[i % t->n]];

		ret.version &= strcmp(a->workload, b->workload) != 0 ||
			       a->workload_version == b->workload_version;
	}
	return ret;
}

static void add_word(struct str *b, const char *sep, const char *s, size_t n)
{
	if (n && b->len)
		str_add(b, sep);
	str_add_n(b, s, n);
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* "NAME=VALUE"; of a setting without the "set:" that keeps it apart in the key. */
static void add_param(struct str *b, const char *sep, const char *p, size_t n, size_t width)
{
	size_t skip = n > 4 && !strncmp(p, "set:", 4) ? 4 : 0;
	size_t value = strcspn(p, "=") + 1, head = value + width / 2 + 2, tail;

	if (n <= value + width) {
		add_word(b, sep, p + skip, n - skip);
		return;
	}
	tail = n - (width - 3 - (head - value));
	/* Not within a character. */
	while (continues(p[head]))
		head--;
	while (tail < n && continues(p[tail]))
		tail++;
	add_word(b, sep, p + skip, head - skip);
	str_add(b, "...");
	str_add_n(b, p + tail, n - tail);
}

/* lmbench's way to write a point of ctx: "2p/16KiB", 0 bytes as "0K". */
static bool add_ctx_point(const char *params, struct str *b)
{
	size_t procs_len, size_len;
	const char *procs = param_of(params, "procs", 5, &procs_len);
	const char *size = param_of(params, "size", 4, &size_len);

	if (!procs || !size)
		return false;
	add_word(b, " ", procs, procs_len);
	str_add(b, "p/");
	str_add_n(b, size, size_len);
	if (size_len == 1 && *size == '0')
		str_add(b, "K");
	return true;
}

static const char *row_name(struct arena *a, const struct comparison *c, const struct table *t,
			    const struct common *common, const struct compare_row *r, size_t width)
{
	struct str b = STR_INIT, safe = STR_INIT;
	const char *p, *ret;
	bool point;
	size_t n;

	if (!common->workload)
		str_add(&b, r->workload);
	point = (!is_common(c, t, "procs", 5) || !is_common(c, t, "size", 4)) &&
		add_ctx_point(r->params, &b);
	for (p = r->params; *p; p += n + (p[n] == ',')) {
		size_t name = strcspn(p, "=");

		n = param_len(p);
		if (name >= n || is_common(c, t, p, name) ||
		    (point && ((name == 5 && !strncmp(p, "procs", 5)) ||
			       (name == 4 && !strncmp(p, "size", 4)))))
			continue;
		if (name == 5 && !strncmp(p, "place", 5))
			add_word(&b, " ", p + 6, n - 6);
		else
			add_param(&b, " ", p, n, width);
	}
	add_word(&b, " ", r->part, strlen(r->part));
	if (!common->metric)
		add_word(&b, " ", r->metric.name, strlen(r->metric.name));
	if (!common->version)
		str_printf(&b, " v%u", r->workload_version);
	if (!b.len)
		str_add(&b, r->workload);
	render_safe(&safe, str_get(&b));
	ret = arena_strdup(a, str_get(&safe));
	str_done(&b);
	str_done(&safe);
	return ret;
}

static const char *direction(const struct compare_row *r)
{
	if (r->metric.kind == METRIC_EVIDENCE)
		return "evidence, not judged";
	if (r->metric.better == METRIC_LESS)
		return "smaller is better";
	if (r->metric.better == METRIC_MORE)
		return "bigger is better";
	return "neither direction is better";
}

static bool several(const struct comparison *c, bool classes)
{
	size_t i;

	for (i = 1; i < c->n_rows; i++)
		if (classes ? strcmp(c->rows[i].class, c->rows[0].class) != 0
			    : c->rows[i].context_number != c->rows[0].context_number)
			return true;
	return false;
}

static void add_measure_title(const struct compare_row *r, const struct table *t,
			      const struct common *common, struct str *b)
{
	if (common->metric)
		str_add(b, r->metric.name);
	/* A count's unit has no name: "switches per op". */
	if (*t->scale.heading == '/')
		str_printf(b, "%sper %s", common->metric ? " " : "", t->scale.heading + 1);
	else if (*t->scale.heading)
		str_printf(b, "%s%s", common->metric ? " in " : "", t->scale.heading);
	str_printf(b, "%s%s", common->metric || *t->scale.heading ? " - " : "", direction(r));
}

/* "instructions per op - exact, 8 perturbations" */
static void add_exact_title(const struct comparison *c, const struct table *t, struct str *b)
{
	unsigned least = UINT_MAX, most = 0, n;
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < c->n_kernels; k++) {
			const struct compare_value *v = &c->rows[t->rows[i]].values[k];

			if (!v->exact)
				continue;
			n = v->exact->n;
			least = n < least ? n : least;
			most = n > most ? n : most;
		}
	str_add(b, "instructions per op - exact, ");
	if (least < most)
		str_printf(b, "%u to ", least);
	str_printf(b, "%u perturbation%s", most, most == 1 ? "" : "s");
}

static const char *make_title(struct arena *a, const struct comparison *c, const struct table *t,
			      const struct common *common)
{
	const struct compare_row *r = &c->rows[t->rows[0]];
	struct str b = STR_INIT, safe = STR_INIT;
	const char *p, *ret;
	size_t n;

	str_add(&b, r->family);
	if (common->workload && strcmp(r->family, r->workload) != 0)
		str_printf(&b, ": %s", r->workload);
	for (p = r->params; *p; p += n + (p[n] == ',')) {
		n = param_len(p);
		if (is_common(c, t, p, strcspn(p, "=")))
			add_param(&b, ", ", p, n, VALUE_WIDTH);
	}
	str_add(&b, " - ");
	if (t->exact)
		add_exact_title(c, t, &b);
	else
		add_measure_title(r, t, common, &b);
	if (t->exact && several(c, false))
		str_printf(&b, " (context %u)", r->context_number);
	else if (several(c, true) || several(c, false))
		str_printf(&b, " (%s, context %u)", r->class, r->context_number);
	render_safe(&safe, str_get(&b));
	ret = arena_strdup(a, str_get(&safe));
	str_done(&b);
	str_done(&safe);
	return ret;
}

/* One scale a table, from the middle of its values on the logarithmic scale. */
static void set_scale(const struct comparison *c, struct table *t)
{
	const struct metric *m = &c->rows[t->rows[0]].metric;
	double sum = 0, v;
	size_t i, k, n = 0;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < c->n_kernels; k++) {
			v = fabs(c->rows[t->rows[i]].values[k].mean);
			if (v > 0 && isfinite(v)) {
				sum += log(v);
				n++;
			}
		}
	unit_scale(m->unit, m->per, n ? exp(sum / (double)n) : 0, &t->scale);
}

/* Do two look alike that are not? */
static bool some_alike(const struct table *t, const char *const *full)
{
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = i + 1; k < t->n; k++)
			if (!strcmp(t->names[i], t->names[k]) && strcmp(full[i], full[k]) != 0)
				return true;
	return false;
}

/* Values are cut as far as all can still be told apart. */
static void set_names(struct arena *a, const struct comparison *c, struct table *t,
		      const struct common *common)
{
	const char **full = arena_array(a, t->n, sizeof(*full));
	size_t i, width = VALUE_WIDTH;

	for (i = 0; i < t->n; i++)
		full[i] = row_name(a, c, t, common, &c->rows[t->rows[i]], SIZE_MAX / 2);
	do {
		for (i = 0; i < t->n; i++)
			t->names[i] = row_name(a, c, t, common, &c->rows[t->rows[i]], width);
		width += width / 2;
	} while (some_alike(t, full));
}

/* The rows of a point together, its headline first; else as they come. */
static void order_exact(struct arena *a, const struct comparison *c, struct table *t)
{
	size_t *sorted = arena_array(a, t->n, sizeof(*sorted)), n = 0, i, k;
	int pass;

	for (i = 0; i < t->n; i++) {
		const struct compare_row *r = &c->rows[t->rows[i]];

		for (k = 0; k < i && !exact_same_point(&c->rows[t->rows[k]], r); k++)
			;
		if (k < i)
			continue;
		for (pass = 0; pass < 2; pass++)
			for (k = i; k < t->n; k++)
				if (exact_same_point(&c->rows[t->rows[k]], r) &&
				    !strcmp(c->rows[t->rows[k]].metric.name, "instructions") ==
					    !pass)
					sorted[n++] = t->rows[k];
	}
	memcpy(t->rows, sorted, n * sizeof(*sorted));
}

void tables_make(const struct comparison *c, struct tables *ret)
{
	size_t i, k;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < c->n_rows; i++) {
		struct table *t;

		for (k = 0; k < ret->n; k++)
			if (same_table(&c->rows[ret->t[k].rows[0]], &c->rows[i]))
				break;
		if (k == ret->n) {
			ret->t = arena_grow(&ret->arena, ret->t, ret->n, &ret->cap, sizeof(*t));
			t = &ret->t[ret->n++];
			memset(t, 0, sizeof(*t));
			t->rows = arena_array(&ret->arena, c->n_rows, sizeof(*t->rows));
			t->names = arena_array(&ret->arena, c->n_rows, sizeof(char *));
		}
		t = &ret->t[k];
		t->rows[t->n++] = i;
	}
	for (k = 0; k < ret->n; k++) {
		struct table *t = &ret->t[k];
		struct common common;

		t->exact = c->rows[t->rows[0]].exact;
		if (t->exact)
			order_exact(&ret->arena, c, t);
		common = find_common(c, t);
		common.metric |= t->exact;
		set_scale(c, t);
		t->title = make_title(&ret->arena, c, t, &common);
		set_names(&ret->arena, c, t, &common);
	}
}

void tables_done(struct tables *t)
{
	arena_done(&t->arena);
	memset(t, 0, sizeof(*t));
}

void table_row_name(const struct compare_row *r, struct str *out)
{
	str_add(out, r->workload);
	if (*r->params)
		str_printf(out, ":%s", r->params);
	if (*r->part)
		str_printf(out, " %s", r->part);
	str_printf(out, " %s", r->metric.name);
}
