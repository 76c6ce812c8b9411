/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/metric.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static const char *const better_names[] = { "", "less", "more", "neither" };
static const char *const kind_names[] = { "", "measure", "count", "evidence" };
static const char *const from_names[] = { "",	 "time",     "rate",	"overhead",
					  "net", "quantile", "reported" };

static unsigned find(const char *const *names, size_t n, const char *s)
{
	unsigned i;

	for (i = 1; i < n; i++)
		if (!strcmp(names[i], s))
			return i;
	return 0;
}

const char *metric_better_name(enum metric_better b)
{
	return b < ARRAY_SIZE(better_names) ? better_names[b] : "";
}

const char *metric_kind_name(enum metric_kind k)
{
	return k < ARRAY_SIZE(kind_names) ? kind_names[k] : "";
}

json_t *metric_encode(const struct metric *m)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", json_str(m->name));
	json_object_set_new(j, "unit", json_str(unit_name(m->unit)));
	if (m->per)
		json_object_set_new(j, "per", json_str(m->per));
	json_object_set_new(j, "better", json_str(better_names[m->better]));
	json_object_set_new(j, "kind", json_str(kind_names[m->kind]));
	json_object_set_new(j, "from", json_str(from_names[m->from]));
	if (m->headline)
		json_object_set_new(j, "headline", json_true());
	if (m->from == METRIC_FROM_QUANTILE) {
		json_object_set_new(j, "hist", json_str(m->hist));
		json_object_set_new(j, "quantile", json_num(m->quantile));
	}
	if (m->resolution > 0)
		json_object_set_new(j, "resolution", json_num(m->resolution));
	if (m->doc)
		json_object_set_new(j, "doc", json_str(m->doc));
	return j;
}

static int choice(const json_t *j, const char *key, const char *const *names, size_t n,
		  unsigned *ret, struct error *e)
{
	const char *s;
	int r = json_get_str(j, key, &s, e);

	if (r < 0)
		return r;
	*ret = find(names, n, s);
	if (!*ret)
		return error_set(e, EINVAL, "\"%s\": unknown word '%s'", key, s);
	return 0;
}

int metric_decode(const json_t *j, struct arena *a, struct metric *ret, struct error *e)
{
	unsigned better, kind, from;
	const char *s;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = json_get_str(j, "name", &s, e);
	if (r < 0)
		return error_prefix(e, "metric");
	ret->name = arena_strdup(a, s);
	r = json_get_str(j, "unit", &s, e);
	if (r < 0)
		return error_prefix(e, "metric %s", ret->name);
	if (unit_parse(s, &ret->unit) < 0)
		return error_set(e, EINVAL, "metric %s: unknown unit '%s'", ret->name, s);
	r = choice(j, "better", better_names, ARRAY_SIZE(better_names), &better, e);
	if (!r)
		r = choice(j, "kind", kind_names, ARRAY_SIZE(kind_names), &kind, e);
	if (!r)
		r = choice(j, "from", from_names, ARRAY_SIZE(from_names), &from, e);
	if (r < 0)
		return error_prefix(e, "metric %s", ret->name);
	ret->better = (enum metric_better)better;
	ret->kind = (enum metric_kind)kind;
	ret->from = (enum metric_from)from;
	ret->per = arena_strdup(a, json_opt_str(j, "per", NULL));
	ret->headline = json_opt_bool(j, "headline", false);
	ret->hist = arena_strdup(a, json_opt_str(j, "hist", NULL));
	ret->quantile = json_opt_num(j, "quantile", 0);
	ret->resolution = json_opt_num(j, "resolution", 0);
	ret->doc = arena_strdup(a, json_opt_str(j, "doc", NULL));
	if (ret->from == METRIC_FROM_QUANTILE &&
	    (!ret->hist || !(ret->quantile > 0) || !(ret->quantile < 1)))
		return error_set(e, EINVAL, "metric %s: a quantile wants hist and 0 < quantile < 1",
				 ret->name);
	if (!(ret->resolution >= 0))
		return error_set(e, EINVAL, "metric %s: negative resolution", ret->name);
	return 0;
}

int metric_decode_all(const json_t *array, struct arena *a, struct metric **ret, size_t *ret_n,
		      struct error *e)
{
	size_t n = json_array_size(array), i;
	struct metric *m = arena_array(a, n + 1, sizeof(*m));

	if (!json_is_array(array))
		return error_set(e, EINVAL, "\"metrics\" is not an array");
	for (i = 0; i < n; i++) {
		int r = metric_decode(json_array_get(array, i), a, &m[i], e);

		if (r < 0)
			return r;
	}
	*ret = m;
	if (ret_n)
		*ret_n = n;
	return 0;
}

json_t *metric_encode_all(const struct metric *m)
{
	json_t *array = json_array();

	for (; m && m->name; m++)
		json_array_append_new(array, metric_encode(m));
	return array;
}
