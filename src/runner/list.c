/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry as the host reads it, and each workload's complete table of parameters. */
#include "runner/runner.h"

#include <string.h>

#include "base/id.h"
#include "base/json.h"
#include "model/record.h"
#include "runner/internal.h"
#include "runner/registry.h"
#include "settings/settings.h"

static const struct param place_param = {
	.name = "place",
	.type = PARAM_CHOICE,
	.def = "same",
	.choices = "same|spread|free",
	.sweep = "same+spread",
	.help = "same: all on one CPU; spread: on different CPUs; free: as the scheduler likes",
};

const struct workload *registry_find(const char *name)
{
	size_t i;

	for (i = 0; workload_registry[i]; i++)
		if (!strcmp(workload_registry[i]->name, name))
			return workload_registry[i];
	return NULL;
}

const struct param *run_params(const struct workload *w, struct arena *a)
{
	size_t n = param_count(w->params);
	struct param *p = arena_array(a, n + 2, sizeof(*p));

	if (n)
		memcpy(p, w->params, n * sizeof(*p));
	if (w->parties)
		p[n] = place_param;
	return p;
}

void invocation_head(const struct workload *w, const struct plan_item *item, const char *params,
		     const char *class, struct record_invocation *ret)
{
	ret->workload = w->name;
	ret->family = w->family;
	ret->op = w->op;
	ret->workload_version = w->version;
	ret->params = params;
	ret->class = class;
	ret->metrics = metric_encode_all(w->metrics);
	ret->headline = item->headline;
}

void runner_list(struct workload_list *ret)
{
	char id[ID_BUILD_SIZE];
	size_t i;

	memset(ret, 0, sizeof(*ret));
	while (workload_registry[ret->n])
		ret->n++;
	ret->agent_version = arena_strdup(&ret->arena, AGENT_VERSION);
	settings_list(&ret->arena, &ret->settings, &ret->n_settings);
	if (id_build_self(id) == 0)
		ret->agent_build_id = arena_strdup(&ret->arena, id);
	ret->items = arena_array(&ret->arena, ret->n, sizeof(*ret->items));
	for (i = 0; i < ret->n; i++) {
		const struct workload *w = workload_registry[i];

		ret->items[i] = (struct workload_info){
			.name = w->name,
			.family = w->family,
			.op = w->op,
			.doc = w->doc,
			.version = w->version,
			.shape = w->shape,
			.placed = w->parties != NULL,
			.params = run_params(w, &ret->arena),
			.metrics = w->metrics,
			.needs = w->needs,
		};
	}
}

json_t *runner_list_encode(const struct workload_list *l)
{
	json_t *j = json_object(), *list = json_array(), *settings = json_array();
	size_t i;

	json_object_set_new(j, "protocol", json_u64(RECORD_PROTOCOL));
	json_object_set_new(j, "agent", json_str(l->agent_version));
	json_object_set_new(j, "agent_build_id", json_str(l->agent_build_id));
	for (i = 0; i < l->n; i++)
		json_array_append_new(list, workload_info_encode(&l->items[i]));
	json_object_set_new(j, "workloads", list);
	for (i = 0; i < l->n_settings; i++)
		json_array_append_new(settings, setting_info_encode(&l->settings[i]));
	json_object_set_new(j, "settings", settings);
	return j;
}
