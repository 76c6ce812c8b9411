/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/work.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"
#include "plan/suite.h"

#define SPEC_FILE_MAX (1u << 20)

static int add_spec(struct work *w, const struct workload_list *known, const char *spec,
		    struct error *e);

static int add_file(struct work *w, const struct workload_list *known, const char *path,
		    struct error *e)
{
	CLEANUP_FREE char *text = NULL;
	char *line, *save = NULL;
	unsigned number = 0;
	int r = file_read(path, SPEC_FILE_MAX, &text, NULL, e);

	if (r < 0)
		return r;
	for (line = text; line && !r; line = save) {
		char *end = strchr(line, '\n');

		number++;
		save = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		line = str_trim(line);
		if (!*line || *line == '#')
			continue;
		if (*line == '@')
			r = error_set(e, EINVAL, "a file of specs names another one");
		else
			r = add_spec(w, known, line, e);
		if (r < 0)
			error_prefix(e, "%s:%u", path, number);
	}
	return r;
}

static int add_spec(struct work *w, const struct workload_list *known, const char *spec,
		    struct error *e)
{
	if (spec[0] == '@')
		return add_file(w, known, spec + 1, e);
	return spec_expand(spec, known, &w->arena, &w->points, e);
}

static int add_suite(struct work *w, const struct workload_list *known, const char *name,
		     struct error *e)
{
	const struct suite *s = suite_find(name), *all;
	size_t i, n;
	int r = 0;

	if (!s) {
		struct str names = STR_INIT;

		all = suite_all(&n);
		for (i = 0; i < n; i++)
			str_printf(&names, "%s%s", i ? ", " : "", all[i].name);
		r = error_set(e, ENOENT, "unknown suite '%s' (known: %s)", name, str_get(&names));
		str_done(&names);
		return r;
	}
	for (i = 0; s->specs[i] && !r; i++)
		r = add_spec(w, known, s->specs[i], e);
	return r;
}

int work_make(struct work *ret, const struct workload_list *known, const char *const *specs,
	      size_t n_specs, const char *const *suites, size_t n_suites, struct error *e)
{
	size_t i;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->invocations = WORK_INVOCATIONS;
	ret->time_ns = PLAN_TIME_NS;
	ret->heartbeat_ns = PLAN_HEARTBEAT_NS;
	for (i = 0; i < n_suites && !r; i++)
		r = add_suite(ret, known, suites[i], e);
	for (i = 0; i < n_specs && !r; i++)
		r = add_spec(ret, known, specs[i], e);
	if (!r && !n_specs && !n_suites)
		r = add_suite(ret, known, SUITE_DEFAULT, e);
	if (!r && !ret->points.n)
		r = error_set(e, EINVAL, "nothing to run");
	return r;
}

size_t work_items(const struct work *w)
{
	return w->points.n * sets_count(&w->sets, false) * w->invocations;
}

void work_share(struct work *w, uint64_t budget_ns)
{
	uint64_t each = budget_ns / work_items(w);

	each = each > WORK_OVERHEAD_NS ? each - WORK_OVERHEAD_NS : 0;
	if (each < WORK_TIME_MIN_NS)
		each = WORK_TIME_MIN_NS;
	w->time_ns = each;
}

uint64_t work_cost_ns(const struct work *w)
{
	return work_items(w) * (w->time_ns + WORK_OVERHEAD_NS);
}

char *work_plan(const struct work *w, const char *boot, const char *class, const json_t *context,
		struct plan *ret, struct error *e)
{
	size_t i, n = work_items(w), combos = sets_count(&w->sets, false);

	memset(ret, 0, sizeof(*ret));
	ret->boot = arena_strdup(&ret->arena, boot);
	ret->class = arena_strdup(&ret->arena, class);
	ret->context = context;
	ret->warmup_ns = PLAN_WARMUP_NS;
	ret->batch_ns = PLAN_BATCH_NS;
	ret->heartbeat_ns = w->heartbeat_ns;
	ret->n = n;
	ret->items = arena_array(&ret->arena, n, sizeof(*ret->items));
	for (i = 0; i < n; i++) {
		const struct spec_point *p = &w->points.items[i % w->points.n];
		size_t at = i / w->points.n % combos, round = i / w->points.n / combos;
		size_t combo = round % 2 ? combos - 1 - at : at;
		char id[ID_UUID_SIZE];

		if (id_uuid(id, e) < 0)
			return NULL;
		ret->items[i] = (struct plan_item){
			.id = arena_strdup(&ret->arena, id),
			.workload = arena_strdup(&ret->arena, p->workload->name),
			.params = arena_strdup(&ret->arena, p->params),
			.headline = p->headline && !combo,
			.implied = p->implied,
			.time_ns = w->time_ns,
		};
		sets_choose(&w->sets, combo, &ret->arena, &ret->items[i].settings,
			    &ret->items[i].n_settings);
	}
	return plan_encode(ret);
}

void work_done(struct work *w)
{
	if (!w)
		return;
	sets_done(&w->sets);
	arena_done(&w->arena);
	memset(w, 0, sizeof(*w));
}
