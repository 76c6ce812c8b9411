/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/unit.h"
#include "compare/internal.h"

#define COPY(w, s) arena_strdup(&(w)->c->arena, s)

bool compare_uses_boot(const struct compare_work *w, unsigned boot)
{
	const struct ds_boot *b = &w->d->boots[boot];

	return b->state == DS_OK && w->kernel_of[b->kernel] >= 0;
}

static bool same_words(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * One identity: nothing known that differs, and enough known: the build-id, or release and
 * version. One unknown command line or build-id is no proof of sameness.
 */
static bool same_kernel(const struct compare_kernel *a, const struct compare_kernel *b)
{
	if (!same_words(a->release, b->release) || !same_words(a->version, b->version) ||
	    !same_words(a->build_id, b->build_id) || !compare_same_cmdline(a->cmdline, b->cmdline))
		return false;
	if (a->config_hash && b->config_hash && strcmp(a->config_hash, b->config_hash) != 0)
		return false;
	return a->build_id || (a->release && a->version);
}

static unsigned add_kernel(struct compare_work *w, unsigned from)
{
	const struct ds_kernel *k = &w->d->kernels[from];
	struct comparison *c = w->c;
	struct compare_kernel *n = &c->kernels[c->n_kernels];
	size_t i;

	w->kernel_of[from] = (int)c->n_kernels;
	n->label = COPY(w, k->label ? k->label : "?");
	n->release = COPY(w, k->release);
	n->version = COPY(w, k->version);
	n->build_id = COPY(w, k->build_id);
	n->cmdline = COPY(w, k->cmdline);
	n->config_hash = COPY(w, k->config_hash);
	n->source = COPY(w, k->source);
	c->config_known[c->n_kernels] = k->config != NULL;
	for (i = 0; i < w->d->n_boots; i++) {
		if (w->d->boots[i].kernel != from)
			continue;
		n->boots += w->d->boots[i].state == DS_OK;
		n->failed += w->d->boots[i].state == DS_FAILED;
	}
	n->same_as_base = c->n_kernels && same_kernel(&c->kernels[0], n);
	return (unsigned)c->n_kernels++;
}

static int unknown_label(const struct compare_work *w, const char *label, struct error *e)
{
	struct str known = STR_INIT;
	size_t i;
	int r;

	for (i = 0; i < w->d->n_kernels; i++)
		str_printf(&known, "%s%s", i ? ", " : "", w->d->kernels[i].label);
	r = error_set(e, ENOENT, "no kernel has the label '%s' (there are: %s)", label,
		      str_get(&known));
	str_done(&known);
	return r;
}

static int choose_kernels(struct compare_work *w, struct error *e)
{
	const struct dataset *d = w->d;
	struct comparison *c = w->c;
	const char *const *label = w->o->kernels;
	size_t i;

	if (!d->n_kernels)
		return error_set(e, ENOENT, "there is no kernel to compare");
	w->kernel_of = arena_array(&c->arena, d->n_kernels, sizeof(*w->kernel_of));
	c->kernels = arena_array(&c->arena, d->n_kernels, sizeof(*c->kernels));
	c->config_known = arena_array(&c->arena, d->n_kernels, sizeof(*c->config_known));
	for (i = 0; i < d->n_kernels; i++)
		w->kernel_of[i] = -1;
	for (i = 0; !label && i < d->n_kernels; i++)
		add_kernel(w, (unsigned)i);
	for (; label && *label; label++) {
		for (i = 0; i < d->n_kernels && !str_eq(d->kernels[i].label, *label); i++)
			;
		if (i == d->n_kernels)
			return unknown_label(w, *label, e);
		if (w->kernel_of[i] >= 0)
			return error_set(e, EINVAL, "'%s' cannot be compared with itself", *label);
		add_kernel(w, (unsigned)i);
	}
	if (!c->n_kernels)
		return error_set(e, ENOENT, "there is no kernel to compare");
	return 0;
}

/* The place of each boot among all, as they happened: with several experiments too. */
static void order_boots(struct compare_work *w)
{
	const struct dataset *d = w->d;
	size_t i, k;

	w->order = arena_array(&w->c->arena, d->n_boots + 1, sizeof(*w->order));
	w->sorted = arena_array(&w->c->arena, d->n_boots + 1, sizeof(*w->sorted));
	for (i = 0; i < d->n_boots; i++) {
		for (k = 0; k < d->n_boots; k++)
			w->order[i] += d->boots[k].started_ns < d->boots[i].started_ns ||
				       (d->boots[k].started_ns == d->boots[i].started_ns && k < i);
		w->sorted[w->order[i]] = (unsigned)i;
	}
}

static bool is_exact(const struct dataset *d, unsigned experiment)
{
	size_t i;

	for (i = 0; i < d->n_invocations; i++)
		if (d->boots[d->invocations[i].boot].experiment == experiment &&
		    str_eq(d->invocations[i].class, EXACT_CLASS))
			return true;
	return false;
}

static void copy_experiments(struct compare_work *w)
{
	const struct dataset *d = w->d;
	struct comparison *c = w->c;
	size_t i, k;

	c->experiments = arena_array(&c->arena, d->n_experiments + 1, sizeof(*c->experiments));
	for (i = 0; i < d->n_experiments; i++) {
		const struct ds_experiment *x = &d->experiments[i];
		struct compare_experiment *n = &c->experiments[c->n_experiments];

		for (k = 0; k < d->n_boots; k++)
			if (d->boots[k].experiment == i && w->kernel_of[d->boots[k].kernel] >= 0)
				break;
		if (k == d->n_boots)
			continue;
		n->id = COPY(w, x->id);
		n->name = COPY(w, x->name);
		n->subject = COPY(w, x->subject);
		n->reproduce = COPY(w, x->reproduce);
		n->seed = x->seed;
		n->created_ns = x->created_ns;
		n->blocks = x->blocks;
		n->exact = is_exact(d, (unsigned)i);
		c->n_experiments++;
	}
}

/* The end of one "NAME=VALUE" of a list; what stands in quotes does not end it. */
static size_t item_len(const char *s, char stop)
{
	bool quoted = false;
	size_t i;

	for (i = 0; s[i] && (quoted || s[i] != stop); i++) {
		if (quoted && s[i] == '\\' && s[i + 1])
			i++;
		else if (s[i] == '"')
			quoted = !quoted;
	}
	return i;
}

static bool same_value(const char *a, size_t n, const char *b, size_t m)
{
	char x[64], y[64];
	uint64_t u, v;

	if (n == m && !strncmp(a, b, n))
		return true;
	if (n >= sizeof(x) || m >= sizeof(y))
		return false;
	memcpy(x, a, n);
	memcpy(y, b, m);
	x[n] = y[m] = '\0';
	return (!unit_parse_bytes(x, &u, NULL) && !unit_parse_bytes(y, &v, NULL) && u == v) ||
	       (!unit_parse_time_ns(x, &u, NULL) && !unit_parse_time_ns(y, &v, NULL) && u == v);
}

/* Has `params` this NAME=VALUE[+VALUE...]? */
static bool has_param(const char *params, const char *want, size_t len)
{
	size_t name = 0, n;

	while (name < len && want[name] != '=')
		name++;
	for (; params && *params; params += n + (params[n] == ',')) {
		const char *v = want + name + 1, *end = want + len;

		n = item_len(params, ',');
		if (name >= len || n <= name || strncmp(params, want, name + 1) != 0)
			continue;
		while (v <= end) {
			size_t m = item_len(v, '+');

			if (m > (size_t)(end - v))
				m = (size_t)(end - v);
			if (same_value(params + name + 1, n - name - 1, v, m))
				return true;
			v += m + 1;
		}
	}
	return false;
}

static bool matches_spec(const char *spec, const char *workload, const char *params)
{
	size_t name = strcspn(spec, ":"), n;

	if (strlen(workload) != name || strncmp(spec, workload, name) != 0)
		return false;
	for (spec += name + (spec[name] == ':'); *spec; spec += n + (spec[n] == ',')) {
		n = item_len(spec, ',');
		if (!has_param(params, spec, n))
			return false;
	}
	return true;
}

static bool is_wanted(const struct compare_options *o, const struct ds_series *s)
{
	const char *const *f;
	bool found = !o->workloads;

	for (f = o->workloads; f && *f; f++)
		found |= matches_spec(*f, s->workload, s->params);
	if (!found)
		return false;
	for (f = o->metrics; f && *f; f++)
		if (!strcmp(*f, s->metric.name))
			return true;
	if (o->metrics || o->all)
		return !o->metrics;
	return str_eq(s->class, EXACT_CLASS) ? compare_exact_is_default(&s->metric)
					     : s->metric.kind != METRIC_EVIDENCE;
}

/* Adds a word to a list unless it is there. */
static void add_word(struct str *list, const char *word)
{
	const char *p = list->s;
	size_t n = strlen(word);

	for (; p && (p = strstr(p, word)); p++)
		if ((p == list->s || p[-1] == ' ') && (!p[n] || p[n] == ','))
			return;
	str_printf(list, "%s%s", list->len ? ", " : "", word);
}

static int unknown_name(const struct compare_work *w, struct error *e, bool metric,
			const char *name)
{
	const struct dataset *d = w->d;
	struct str known = STR_INIT;
	const struct metric *m;
	size_t i;
	int r;

	for (i = 0; i < d->n_invocations; i++) {
		if (!metric)
			add_word(&known, d->invocations[i].workload);
		for (m = d->invocations[i].metrics; metric && m && m->name; m++)
			add_word(&known, m->name);
	}
	r = error_set(e, ENOENT, "there are no results %s '%s' (there are: %s)",
		      metric ? "with the metric" : "of the workload", name, str_get(&known));
	str_done(&known);
	return r;
}

static int check_filters(const struct compare_work *w, struct error *e)
{
	const struct dataset *d = w->d;
	const char *const *f;
	const struct metric *m;
	size_t i;
	bool found;

	if (!(w->o->margin >= 0) || !isfinite(w->o->margin))
		return error_set(e, EINVAL, "the margin must be 0 or more");
	for (f = w->o->workloads; f && *f; f++) {
		for (i = 0; i < d->n_invocations; i++)
			if (matches_spec(*f, d->invocations[i].workload, d->invocations[i].params))
				break;
		if (i == d->n_invocations)
			return unknown_name(w, e, false, *f);
	}
	for (f = w->o->metrics; f && *f; f++) {
		found = false;
		for (i = 0; i < d->n_invocations; i++)
			for (m = d->invocations[i].metrics; m && m->name; m++)
				found |= !strcmp(m->name, *f);
		if (!found)
			return unknown_name(w, e, true, *f);
	}
	return 0;
}

static unsigned context_number(struct compare_work *w, const char *context)
{
	struct comparison *c = w->c;
	size_t i;

	for (i = 0; i < c->n_contexts; i++)
		if (str_eq(c->contexts[i], context))
			return (unsigned)i + 1;
	c->contexts = arena_grow(&c->arena, c->contexts, c->n_contexts, &w->cap_contexts,
				 sizeof(*c->contexts));
	c->contexts[c->n_contexts++] = COPY(w, context);
	return (unsigned)c->n_contexts;
}

static void add_row(struct compare_work *w, const struct ds_series *s)
{
	struct comparison *c = w->c;
	struct compare_row *r = &c->rows[c->n_rows];
	size_t i;

	for (i = 0; i < s->n && !compare_uses_boot(w, s->points[i].boot); i++)
		;
	if (i == s->n)
		return;
	w->series[c->n_rows] = s;
	r->workload = COPY(w, s->workload);
	r->family = COPY(w, s->family ? s->family : s->workload);
	r->op = COPY(w, s->op);
	r->params = COPY(w, s->params ? s->params : "");
	r->part = COPY(w, s->part ? s->part : "");
	r->class = COPY(w, s->class ? s->class : "unknown");
	r->context = COPY(w, s->context);
	r->workload_version = s->workload_version;
	r->context_number = context_number(w, s->context);
	r->headline = s->headline;
	r->metric = s->metric;
	r->metric.name = COPY(w, s->metric.name);
	r->metric.per = COPY(w, s->metric.per);
	r->metric.hist = COPY(w, s->metric.hist);
	r->metric.doc = COPY(w, s->metric.doc);
	r->exact = !strcmp(r->class, EXACT_CLASS);
	r->judged = s->metric.kind != METRIC_EVIDENCE &&
		    (r->exact ||
		     ((s->metric.better == METRIC_LESS || s->metric.better == METRIC_MORE) &&
		      (!strcmp(r->class, "native") || !strcmp(r->class, "kvm"))));
	if (r->exact)
		compare_exact_reduce(w, c->n_rows++);
	else
		compare_reduce(w, c->n_rows++);
}

static void set_scope(struct comparison *c)
{
	bool emulated = false, real = false, one = false;
	size_t i, k, n = 0;

	for (i = 0; i < c->n_rows; i++) {
		emulated |= !strcmp(c->rows[i].class, "emulated");
		real |= !strcmp(c->rows[i].class, "native") || !strcmp(c->rows[i].class, "kvm");
		for (k = 0; k < c->rows[i].n_pairs; k++)
			one |= (c->rows[i].pairs[k].flags & COMPARE_BIT(COMPARE_ONE_BOOT)) != 0;
	}
	if (emulated)
		c->scope[n++] = "emulated: QEMU TCG time, not a machine's: no verdicts.";
	c->scope[n] = compare_exact_scope(c);
	n += c->scope[n] != NULL;
	if (real && c->n_kernels > 1)
		c->scope[n++] = "these builds on this machine. Linking the same source anew "
				"can move results by itself.";
	if (one && n < 3)
		c->scope[n++] = "one boot each: the kernel's effect cannot be told from the "
				"boot's.";
}

int compare_make(const struct dataset *d, const struct compare_options *o, struct comparison *ret,
		 struct error *e)
{
	struct compare_work w = { .d = d, .o = o, .c = ret };
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->margin = o->margin;
	ret->level = COMPARE_LEVEL;
	r = choose_kernels(&w, e);
	if (!r)
		r = check_filters(&w, e);
	if (r) {
		compare_done(ret);
		return r;
	}
	order_boots(&w);
	copy_experiments(&w);
	w.confounds = arena_array(&ret->arena, ret->n_kernels, sizeof(*w.confounds));
	w.debugs = arena_array(&ret->arena, ret->n_kernels, sizeof(*w.debugs));
	w.cputimes = arena_array(&ret->arena, ret->n_kernels, sizeof(*w.cputimes));
	w.changed_boots = arena_array(&ret->arena, d->n_boots + 1, sizeof(bool));
	w.changed_invocations = arena_array(&ret->arena, d->n_invocations + 1, sizeof(bool));
	ret->rows = arena_array(&ret->arena, d->n_series + 1, sizeof(*ret->rows));
	w.series = arena_array(&ret->arena, d->n_series + 1, sizeof(struct ds_series *));
	w.reduced = arena_array(&ret->arena, d->n_series + 1, sizeof(*w.reduced));
	w.runs = arena_array(&ret->arena, d->n_series + 1, sizeof(struct compare_runs *));
	for (i = 0; i < d->n_series; i++)
		if (is_wanted(o, &d->series[i]))
			add_row(&w, &d->series[i]);
	ret->summary.rows = (unsigned)ret->n_rows;
	compare_failures(&w);
	compare_unmatched(&w);
	compare_fact_differences(&w);
	compare_differences(&w);
	compare_judge(&w);
	for (i = 0; i < ret->n_rows && !ret->rows[i].exact; i++)
		;
	if (i < ret->n_rows)
		compare_exact_mitigations(&w);
	set_scope(ret);
	return 0;
}

void compare_done(struct comparison *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	memset(c, 0, sizeof(*c));
}
