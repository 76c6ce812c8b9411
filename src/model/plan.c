/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/plan.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "model/record.h"

static void decode_perturb(const json_t *j, struct plan_perturb *ret)
{
	ret->index = (unsigned)json_opt_u64(j, "index", 0);
	ret->idle_ns = json_opt_u64(j, "idle_ns", 0);
	ret->sixteenths = (unsigned)json_opt_u64(j, "sixteenths", 0);
	ret->env_bytes = (unsigned)json_opt_u64(j, "env_bytes", 0);
	ret->slab = (unsigned)json_opt_u64(j, "slab", 0);
}

static json_t *encode_perturb(const struct plan_perturb *p)
{
	json_t *j = json_object();

	json_object_set_new(j, "index", json_u64(p->index));
	json_object_set_new(j, "idle_ns", json_u64(p->idle_ns));
	json_object_set_new(j, "sixteenths", json_u64(p->sixteenths));
	json_object_set_new(j, "env_bytes", json_u64(p->env_bytes));
	json_object_set_new(j, "slab", json_u64(p->slab));
	return j;
}

static int decode_item(const json_t *j, struct arena *a, struct plan_item *ret, struct error *e)
{
	const char *id, *workload;

	if (json_get_str(j, "id", &id, e) < 0 || json_get_str(j, "workload", &workload, e) < 0)
		return -EINVAL;
	ret->id = arena_strdup(a, id);
	ret->workload = arena_strdup(a, workload);
	ret->params = arena_strdup(a, json_opt_str(j, "params", ""));
	ret->headline = json_opt_bool(j, "headline", false);
	ret->implied = json_opt_bool(j, "implied", false);
	ret->time_ns = json_opt_u64(j, "time_ns", PLAN_TIME_NS);
	ret->n = json_opt_u64(j, "n", 0);
	decode_perturb(json_object_get(j, "perturb"), &ret->perturb);
	if (settings_decode(json_object_get(j, "settings"), a, &ret->settings, &ret->n_settings,
			    e) < 0)
		return -EINVAL;
	settings_sort(ret->settings, ret->n_settings);
	return 0;
}

int plan_decode(const char *text, size_t len, struct plan *ret, struct error *e)
{
	const json_t *items;
	uint64_t protocol;
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = json_parse(text, len, "plan", &ret->raw, e);
	if (r < 0)
		return r;
	r = json_get_u64(ret->raw, "protocol", &protocol, e);
	if (!r && protocol != RECORD_PROTOCOL)
		r = error_set(e, EPROTO, "protocol %llu, this agent speaks %d",
			      (unsigned long long)protocol, RECORD_PROTOCOL);
	items = json_object_get(ret->raw, "items");
	if (!r && !json_is_array(items))
		r = error_set(e, EINVAL, "\"items\" is missing");
	ret->context = json_object_get(ret->raw, "context");
	if (!r && ret->context && !json_is_object(ret->context))
		r = error_set(e, EINVAL, "\"context\" is not an object");
	if (r < 0)
		goto bad;
	ret->boot = arena_strdup(&ret->arena, json_opt_str(ret->raw, "boot", NULL));
	ret->class = arena_strdup(&ret->arena, json_opt_str(ret->raw, "class", "native"));
	ret->warmup_ns = json_opt_u64(ret->raw, "warmup_ns", PLAN_WARMUP_NS);
	ret->batch_ns = json_opt_u64(ret->raw, "batch_ns", PLAN_BATCH_NS);
	ret->heartbeat_ns = json_opt_u64(ret->raw, "heartbeat_ns", PLAN_HEARTBEAT_NS);
	ret->n = json_array_size(items);
	ret->items = arena_array(&ret->arena, ret->n, sizeof(*ret->items));
	for (i = 0; i < ret->n; i++) {
		r = decode_item(json_array_get(items, i), &ret->arena, &ret->items[i], e);
		if (r < 0) {
			error_prefix(e, "item %zu", i + 1);
			goto bad;
		}
	}
	return 0;
bad:
	plan_done(ret);
	return error_prefix(e, "plan");
}

char *plan_encode(const struct plan *p)
{
	CLEANUP_JSON json_t *j = json_object();
	json_t *items = json_array();
	size_t i;

	json_object_set_new(j, "protocol", json_u64(RECORD_PROTOCOL));
	if (p->boot)
		json_object_set_new(j, "boot", json_str(p->boot));
	json_object_set_new(j, "class", json_str(p->class));
	json_object_set_new(j, "context", p->context ? json_deep_copy(p->context) : json_object());
	json_object_set_new(j, "warmup_ns", json_u64(p->warmup_ns));
	json_object_set_new(j, "batch_ns", json_u64(p->batch_ns));
	json_object_set_new(j, "heartbeat_ns", json_u64(p->heartbeat_ns));
	for (i = 0; i < p->n; i++) {
		const struct plan_item *it = &p->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "id", json_str(it->id));
		json_object_set_new(o, "workload", json_str(it->workload));
		json_object_set_new(o, "params", json_str(it->params));
		json_object_set_new(o, "headline", json_boolean(it->headline));
		json_object_set_new(o, "implied", json_boolean(it->implied));
		json_object_set_new(o, "time_ns", json_u64(it->time_ns));
		if (it->n_settings)
			json_object_set_new(o, "settings",
					    settings_encode(it->settings, it->n_settings));
		if (str_eq(p->class, PLAN_EXACT)) {
			json_object_set_new(o, "n", json_u64(it->n));
			json_object_set_new(o, "perturb", encode_perturb(&it->perturb));
		}
		json_array_append_new(items, o);
	}
	json_object_set_new(j, "items", items);
	return json_line(j);
}

void plan_done(struct plan *p)
{
	if (!p)
		return;
	json_decref(p->raw);
	arena_done(&p->arena);
	memset(p, 0, sizeof(*p));
}
