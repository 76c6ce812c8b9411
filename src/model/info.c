/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/info.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/record.h"

static const char *const shape_names[] = { "", "counted", "timed", "once" };

const char *shape_name(enum shape s)
{
	return s < ARRAY_SIZE(shape_names) ? shape_names[s] : "";
}

static const char *const need_names[] = { "loopback", "tmpdir", "shell", "root" };

const char *need_name(enum need n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(need_names); i++)
		if ((unsigned)n == 1u << i)
			return need_names[i];
	return "";
}

static json_t *needs_encode(unsigned needs)
{
	json_t *j = json_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(need_names); i++)
		if (needs & 1u << i)
			json_array_append_new(j, json_str(need_names[i]));
	return j;
}

/* A word of a newer agent is passed over: it checks its needs itself, and skips. */
static int needs_decode(const json_t *j, unsigned *ret, struct error *e)
{
	size_t k, i;

	*ret = 0;
	if (j && !json_is_array(j))
		return error_set(e, EINVAL, "\"needs\" is not an array");
	for (k = 0; k < json_array_size(j); k++) {
		const char *word = json_string_value(json_array_get(j, k));

		if (!word)
			return error_set(e, EINVAL, "\"needs\" holds what is no word");
		for (i = 0; i < ARRAY_SIZE(need_names); i++)
			if (!strcmp(word, need_names[i]))
				*ret |= 1u << i;
	}
	return 0;
}

json_t *workload_info_encode(const struct workload_info *w)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", json_str(w->name));
	json_object_set_new(j, "family", json_str(w->family));
	json_object_set_new(j, "version", json_u64(w->version));
	json_object_set_new(j, "op", json_str(w->op));
	json_object_set_new(j, "doc", json_str(w->doc));
	json_object_set_new(j, "shape", json_str(shape_name(w->shape)));
	json_object_set_new(j, "placed", json_boolean(w->placed));
	json_object_set_new(j, "needs", needs_encode(w->needs));
	json_object_set_new(j, "params", param_encode_all(w->params));
	json_object_set_new(j, "metrics", metric_encode_all(w->metrics));
	return j;
}

static int decode_one(const json_t *j, struct arena *a, struct workload_info *w, struct error *e)
{
	const char *name, *op, *shape;
	struct metric *metrics;
	struct param *params;
	uint64_t version;
	unsigned s;
	int r;

	if (json_get_str(j, "name", &name, e) < 0 || json_get_str(j, "op", &op, e) < 0 ||
	    json_get_str(j, "shape", &shape, e) < 0 || json_get_u64(j, "version", &version, e) < 0)
		return error_prefix(e, "workload");
	for (s = 1; s < ARRAY_SIZE(shape_names) && strcmp(shape_names[s], shape) != 0; s++)
		;
	if (s == ARRAY_SIZE(shape_names))
		return error_set(e, EINVAL, "workload %s: unknown shape '%s'", name, shape);
	r = param_decode_all(json_object_get(j, "params"), a, &params, e);
	if (!r)
		r = metric_decode_all(json_object_get(j, "metrics"), a, &metrics, NULL, e);
	if (!r)
		r = needs_decode(json_object_get(j, "needs"), &w->needs, e);
	if (r < 0)
		return error_prefix(e, "workload %s", name);
	w->name = arena_strdup(a, name);
	w->family = arena_strdup(a, json_opt_str(j, "family", "other"));
	w->op = arena_strdup(a, op);
	w->doc = arena_strdup(a, json_opt_str(j, "doc", ""));
	w->version = (unsigned)version;
	w->shape = (enum shape)s;
	w->placed = json_opt_bool(j, "placed", false);
	w->params = params;
	w->metrics = metrics;
	return 0;
}

int workload_list_decode(const json_t *j, struct workload_list *ret, struct error *e)
{
	const json_t *list = json_object_get(j, "workloads");
	uint64_t protocol;
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = json_get_u64(j, "protocol", &protocol, e);
	if (r < 0)
		return r;
	if (protocol != RECORD_PROTOCOL)
		return error_set(e, EPROTO,
				 "the agent speaks protocol %llu, this kdelta %d: use the agent "
				 "that came with it",
				 (unsigned long long)protocol, RECORD_PROTOCOL);
	if (!json_is_array(list))
		return error_set(e, EINVAL, "the agent's list has no \"workloads\"");
	ret->agent_version = arena_strdup(&ret->arena, json_opt_str(j, "agent", "?"));
	ret->agent_build_id = arena_strdup(&ret->arena, json_opt_str(j, "agent_build_id", NULL));
	ret->n = json_array_size(list);
	ret->items = arena_array(&ret->arena, ret->n, sizeof(*ret->items));
	for (i = 0; i < ret->n; i++) {
		r = decode_one(json_array_get(list, i), &ret->arena, &ret->items[i], e);
		if (r < 0) {
			workload_list_done(ret);
			return r;
		}
	}
	r = setting_info_decode_all(json_object_get(j, "settings"), &ret->arena, &ret->settings,
				    &ret->n_settings, e);
	if (r < 0)
		workload_list_done(ret);
	return r;
}

const struct workload_info *workload_list_find(const struct workload_list *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].name, name))
			return &l->items[i];
	return NULL;
}

void workload_list_done(struct workload_list *l)
{
	if (!l)
		return;
	arena_done(&l->arena);
	memset(l, 0, sizeof(*l));
}
