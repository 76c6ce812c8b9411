/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "compare/compare.h"
#include "render/profile.h"
#include "symbol/symbol.h"

struct options {
	struct option_list experiments, workloads;
	uint64_t min, top;
	bool all, total, no_fold, classic, most;
	const char *callers, *format;
};

struct work {
	const struct options *o;
	const struct dataset *d;
	struct profile_points points;
	struct comparison compared; /* for its regimes; empty where it cannot be */
	struct arena arena;
	struct profile_table *tables;
	size_t n, cap, n_missing;
};

static int check_options(const struct options *o, struct error *e)
{
	bool text = !strcmp(o->format, "text");

	if (o->classic && !text)
		return error_set(e, EINVAL, "--classic is a form of its own: leave out --format");
	if (o->classic && o->callers)
		return error_set(e, EINVAL, "--classic does not show callers: leave one out");
	if (o->callers && !strcmp(o->format, "folded"))
		return error_set(e, EINVAL, "--callers: as text, csv or json");
	if (o->callers && !*o->callers)
		return error_set(e, EINVAL, "--callers: a symbol's name is wanted");
	return 0;
}

/* Was it measured there, but in a way that must not be compared? */
static const char *why_not(struct work *w, const struct profile_point *t, unsigned kernel)
{
	const char *label = w->d->kernels[kernel].label;
	size_t i;

	for (i = 0; i < w->points.n; i++) {
		const struct profile_point *x = &w->points.list[i];

		if (x == t || !x->sets[kernel].n || !str_eq(x->workload, t->workload) ||
		    !str_eq(x->params, t->params))
			continue;
		return arena_printf(&w->arena,
				    "%s was measured in another way (`kdelta compare` says which)",
				    label);
	}
	return arena_printf(&w->arena, "%s has no profile of it", label);
}

/* One kernel's; NULL with *ret_missing. */
static const struct profile *one(struct work *w, const struct profile_point *t, unsigned kernel,
				 const struct profile_options *o, const char **ret_missing)
{
	struct profile *p = arena_alloc(&w->arena, sizeof(*p));
	struct error err = ERROR_INIT;

	if (!t->sets[kernel].n)
		*ret_missing = why_not(w, t, kernel);
	else if (profile_make(&t->sets[kernel], o, &w->arena, p, &err) < 0)
		*ret_missing =
			arena_printf(&w->arena, "%s: %s", w->d->kernels[kernel].label, err.text);
	else
		return p;
	return NULL;
}

/* The point's metric, as it was compared: kernels have the dataset's places there. */
static const struct compare_value *value_of(const struct work *w, const struct profile_point *t,
					    unsigned kernel)
{
	const char *metric = w->o->total ? "total" : "instructions";
	size_t i;

	for (i = 0; i < w->compared.n_rows; i++) {
		const struct compare_row *r = &w->compared.rows[i];

		if (!strcmp(r->workload, t->workload) && str_eq(r->params, t->params) &&
		    r->workload_version == t->workload_version && str_eq(r->context, t->context) &&
		    !strcmp(r->class, EXACT_CLASS) && !strcmp(r->metric.name, metric))
			return &r->values[kernel];
	}
	return NULL;
}

static bool has_regimes(const struct compare_value *v)
{
	return v && v->exact && v->exact->modes > 1;
}

static void add_table(struct work *w, const struct profile_point *t, unsigned base, long new)
{
	struct profile_options o = {
		.windows = w->o->total ? PROFILE_TOTAL : PROFILE_TYPICAL,
		.no_fold = w->o->no_fold,
		.addresses = w->o->no_fold || new<0, .no_marks = t->cpus> 1,
	};
	const struct profile *a, *b = NULL;
	struct profile_table *n;
	struct profile_diff *d;

	if (!t->sets[base].n && (new < 0 || !t->sets[new].n))
		return;
	w->tables = arena_grow(&w->arena, w->tables, w->n, &w->cap, sizeof(*n));
	n = &w->tables[w->n++];
	*n = (struct profile_table){ .point = t, .base = &w->d->kernels[base] };
	n->base_value = value_of(w, t, base);
	a = one(w, t, base, &o, &n->missing);
	if (new >= 0) {
		n->new = &w->d->kernels[new];
		n->new_value = value_of(w, t, (unsigned)new);
		o.no_marks |= has_regimes(n->base_value) || has_regimes(n->new_value);
		if (a)
			b = one(w, t, (unsigned)new, &o, &n->missing);
	}
	w->n_missing += n->missing != NULL;
	if (n->missing)
		return;
	if (new < 0) {
		n->profile = a;
		return;
	}
	d = arena_alloc(&w->arena, sizeof(*d));
	profile_diff_make(a, b, &o, &w->arena, d);
	n->diff = d;
}

/* Each pair in turn, the base first; a kernel alone is itself. */
static void make_tables(struct work *w)
{
	size_t n = w->d->n_kernels, i, a, b;

	for (a = 0; a < n; a++)
		for (b = n > 1 ? a + 1 : 0; b < n; b++)
			for (i = 0; i < w->points.n; i++)
				add_table(w, &w->points.list[i], (unsigned)a, n > 1 ? (long)b : -1);
}

/* Of the total, as a share; -1: it cannot be shown. */
static double moved(const struct profile_table *t)
{
	if (!t->diff || !(t->diff->base->total.instructions > 0))
		return -1;
	return fabs(t->diff->total.diff) / t->diff->base->total.instructions;
}

/* The one table whose total moved most; of equal ones the first. */
static void keep_most(struct work *w)
{
	size_t most = 0, i;

	for (i = 1; i < w->n; i++)
		if (moved(&w->tables[i]) > moved(&w->tables[most]))
			most = i;
	if (w->n)
		w->tables[0] = w->tables[most];
	w->n = w->n ? 1 : 0;
	w->n_missing = w->n && w->tables[0].missing;
}

static int unknown_symbol(const struct work *w, const char *name, struct error *e)
{
	const char **names = NULL, *near;
	size_t n = 0, cap = 0, i, k;
	int side, r;

	for (i = 0; i < w->n; i++) {
		const struct profile_table *t = &w->tables[i];

		for (side = 0; side < 2; side++) {
			const struct profile *p = !t->diff ? side ? NULL : t->profile
						  : side   ? t->diff->new
							   : t->diff->base;

			for (k = 0; p && k < p->n; k++) {
				names = mem_grow(names, n, &cap, sizeof(*names));
				names[n++] = p->symbols[k].name;
				if (strcmp(p->symbols[k].name, name) != 0)
					continue;
				mem_free_ptr(&names);
				return 0;
			}
		}
	}
	names = mem_grow(names, n, &cap, sizeof(*names));
	names[n] = NULL;
	near = n ? option_closest(name, names) : NULL;
	r = near ? error_set(e, ENOENT, "--callers: '%s' does not run here: did you mean %s?", name,
			     near)
		 : error_set(e, ENOENT, "--callers: '%s' does not run here", name);
	mem_free_ptr(&names);
	return r;
}

static void render(const struct work *w, const char *callers, struct str *out)
{
	struct profile_report r = { w->o->total ? PROFILE_TOTAL : PROFILE_TYPICAL, w->tables,
				    w->n };
	struct profile_show s = PROFILE_SHOW_INIT;

	s.min = (double)w->o->min;
	s.top = (unsigned)w->o->top;
	s.all = w->o->all;
	s.callers = callers;
	if (w->o->classic)
		render_profile_classic(&r, &s, out);
	else if (!strcmp(w->o->format, "json"))
		render_profile_json(&r, &s, out);
	else if (!strcmp(w->o->format, "csv"))
		render_profile_csv(&r, &s, out);
	else if (!strcmp(w->o->format, "folded"))
		render_profile_folded(&r, &s, out);
	else
		render_profile_text(&r, &s, out);
}

static int print(struct work *w, struct error *e)
{
	const struct options *o = w->o;
	CLEANUP_FREE char *callers = NULL;
	struct str out = STR_INIT;
	size_t i;
	int r = 0;

	make_tables(w);
	if (o->most && w->d->n_kernels < 2)
		return error_set(e, EINVAL, "--most: of two kernels or more: name another one");
	if (o->most)
		keep_most(w);
	if (!strcmp(o->format, "folded") && w->d->n_kernels > 2)
		return error_set(e, EINVAL, "folded lines hold one kernel or two: name them");
	if (o->callers) {
		size_t n = o->no_fold ? 0 : symbol_fold_len(o->callers);

		if (o->callers[0] == '[' || !strncmp(o->callers, "0x", 2))
			return error_set(e, EINVAL, "--callers: '%s' is no function", o->callers);
		callers = mem_strndup(o->callers, n ? n : strlen(o->callers));
		r = unknown_symbol(w, callers, e);
	}
	if (r < 0)
		return r;
	/* Where a table cannot say it. */
	for (i = 0; i < w->n; i++)
		if (w->tables[i].missing && strcmp(o->format, "text") != 0)
			fprintf(stderr, "kdelta: %s: %s\n", w->tables[i].point->workload,
				w->tables[i].missing);
	render(w, callers, &out);
	return cmd_print(&out, w->n_missing ? CMD_PARTIAL : CMD_OK);
}

static int profile(struct store *s, const struct store_selection *sel, const struct options *o)
{
	static const char *const metrics[] = { "instructions", "total", NULL };
	CLEANUP_FREE const char **specs = NULL;
	struct compare_options co = COMPARE_OPTIONS_INIT;
	struct dataset d = DATASET_INIT;
	struct work w = { .o = o, .d = &d, .arena = ARENA_INIT };
	struct error err = ERROR_INIT;
	int code;

	if (o->workloads.n) {
		specs = mem_array(o->workloads.n + 1, sizeof(*specs));
		memcpy(specs, o->workloads.items, o->workloads.n * sizeof(*specs));
	}
	if (store_dataset(s, sel, &d, &err) < 0 ||
	    profile_points_make(&d, specs, &w.points, &err) < 0) {
		code = cmd_bad(&err);
	} else {
		co.metrics = metrics;
		co.workloads = specs;
		/* What it cannot compare has no regimes to tell of. */
		compare_make(&d, &co, &w.compared, NULL);
		code = print(&w, &err);
		compare_done(&w.compared);
		if (code < 0)
			code = cmd_bad(&err);
	}
	profile_points_done(&w.points);
	arena_done(&w.arena);
	dataset_done(&d);
	return code;
}

int cmd_profile(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta profile [OPTION]... [A [B...]]",
		.summary = "Shows exact results by function, and what differs between two kernels.",
		.description =
			"Of two kernels: by function, instructions and calls per operation of both, from\n"
			"the most added to the most saved, and whether it is called more often or takes\n"
			"longer per call. Of one kernel: where its instructions go. A and B are labels as\n"
			"in kdelta compare; without any: the latest experiment. Of several kernels each\n"
			"pair is shown.\n"
			"\n"
			"Differences are real (more, fewer) where no perturbation of one kernel reaches\n"
			"into the range of the other; what is within perturbation is summed up.",
		.examples =
			"  kdelta vm --exact -w pipe debian:6.1.0-47-cloud-amd64 \\\n"
			"    debian:6.1.0-57-cloud-amd64\n"
			"  kdelta profile\n"
			"  kdelta profile old new -w pipe --min 2\n"
			"  kdelta profile old new -w pipe --callers __wake_up_common\n"
			"  kdelta profile old new -w pipe --classic\n"
			"  kdelta profile new -w fork --format folded | flamegraph.pl >fork.svg",
	};
	struct options o = { .format = "text" };
	const char *path = NULL;
	const struct option table[] = {
		{ 'e', "experiment", OPTION_TEXTS, &o.experiments, "NAME", NULL, 0, 0,
		  "of this experiment; again: pooled" },
		{ 'w', "workload", OPTION_TEXTS, &o.workloads, "SPEC", NULL, 0, 0,
		  "of this workload only; again for more" },
		{ 0, "min", OPTION_UINT, &o.min, "N", NULL, 0, UINT32_MAX,
		  "leave out differences (of one kernel: figures)\nunder N per operation; the cut "
		  "is said" },
		{ 0, "top", OPTION_UINT, &o.top, "N", NULL, 1, UINT32_MAX,
		  "the N largest only; the rest is summed up" },
		{ 0, "most", OPTION_FLAG, &o.most, NULL, NULL, 0, 0,
		  "only the workload whose sum differs most, as a\nshare of it" },
		{ 0, "all", OPTION_FLAG, &o.all, NULL, NULL, 0, 0,
		  "also what is the same or within perturbation" },
		{ 0, "total", OPTION_FLAG, &o.total, NULL, NULL, 0, 0,
		  "of all windows (default: typical, those\nwithout interrupts)" },
		{ 0, "callers", OPTION_TEXT, &o.callers, "SYMBOL", NULL, 0, 0,
		  "who calls it, how often" },
		{ 0, "no-fold", OPTION_FLAG, &o.no_fold, NULL, NULL, 0, 0,
		  "keep .isra.0, .part.0, .cold and local labels\napart, and list what has no symbol" },
		{ 0, "classic", OPTION_FLAG, &o.classic, NULL, NULL, 0, 0,
		  "the form of 2003: difference and symbol; of one\nkernel: address, ticks, percent, "
		  "symbol" },
		{ 0, "format", OPTION_CHOICE, &o.format, NULL, "text|json|csv|folded", 0, 0,
		  "how it is printed (default text); folded: lines\nfor flame graphs" },
		CMD_STORE_OPTION(&path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	struct store_selection sel = { NULL, 0, NULL, 0 };
	struct store *store = NULL;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (!done && (check_options(&o, &err) < 0 || cmd_store(path, false, &store, &err) < 0)) {
		code = cmd_bad(&err);
	} else if (!done) {
		sel.labels = (const char *const *)(argv + at);
		sel.n_labels = (size_t)(argc - at);
		sel.experiments = o.experiments.items;
		sel.n_experiments = o.experiments.n;
		code = profile(store, &sel, &o);
	}
	store_close(store);
	option_list_done(&o.experiments);
	option_list_done(&o.workloads);
	return code;
}
