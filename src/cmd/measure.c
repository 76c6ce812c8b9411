/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/measure.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/unit.h"
#include "campaign/agent.h"
#include "cmd/common.h"

int measure_prepare(struct measure *m, uint64_t default_time_ns, struct error *e)
{
	int r = agent_find(&m->agent, e);
	size_t i;

	if (!r)
		r = agent_list(m->agent, &m->known, e);
	if (!r)
		r = work_make(&m->work, &m->known, m->specs.items, m->specs.n, m->suites.items,
			      m->suites.n, e);
	for (i = 0; i < m->sets.n && !r; i++)
		r = sets_add(&m->work.sets, m->sets.items[i], &m->known, e);
	if (r < 0)
		return r;
	if (m->invocations)
		m->work.invocations = (unsigned)m->invocations;
	if (m->heartbeat_ns)
		m->work.heartbeat_ns = m->heartbeat_ns;
	work_share(&m->work, m->time_ns ? m->time_ns : default_time_ns);
	return 0;
}

/* Does what will run have this metric? Appends the names of those it has. */
static bool has_metric(const struct measure *m, const char *name, struct str *known)
{
	const char *seen = NULL;
	size_t i;

	for (i = 0; i < m->work.points.n; i++) {
		const struct workload_info *w = m->work.points.items[i].workload;
		const struct metric *metric;

		if (w->name == seen)
			continue;
		seen = w->name;
		str_printf(known, "%s%s:", known->len ? "; " : "", w->name);
		for (metric = w->metrics; metric->name; metric++) {
			if (str_eq(metric->name, name))
				return true;
			str_printf(known, " %s", metric->name);
		}
	}
	return false;
}

int measure_check_metrics(const struct measure *m, const struct option_list *metrics,
			  struct error *e)
{
	struct str known = STR_INIT;
	int r = 0;
	size_t i;

	for (i = 0; i < metrics->n && !r; i++) {
		str_reset(&known);
		if (!has_metric(m, metrics->items[i], &known))
			r = error_set(e, ENOENT, "-m: no metric '%s' in what would run (%s)",
				      metrics->items[i], str_get(&known));
	}
	str_done(&known);
	return r;
}

int measure_experiment(const struct measure *m, struct store *s, const struct store_experiment *x,
		       char ret_id[ID_UUID_SIZE], bool *ret_old, struct error *e)
{
	struct error none = ERROR_INIT;

	*ret_old = m->experiment && store_experiment_find(s, m->experiment, ret_id, &none) == 0;
	return *ret_old ? 0 : store_experiment_begin(s, x, ret_id, e);
}

void measure_tell_sets(const struct measure *m, struct str *out)
{
	size_t n = sets_count(&m->work.sets, false), i, k, n_set;
	struct arena arena = ARENA_INIT;
	struct setting *set;

	for (i = 0; i < n; i++) {
		sets_choose(&m->work.sets, i, &arena, &set, &n_set);
		if (n_set && !i)
			str_printf(out, "Each point with %zu combination%s of settings:\n", n,
				   n == 1 ? "" : "s");
		for (k = 0; k < n_set; k++)
			str_printf(out, "%s%s=%s%s", k ? " " : "  ", set[k].name, set[k].value,
				   k + 1 < n_set ? "" : "\n");
	}
	arena_done(&arena);
}

static void word(struct str *out, const char *option, const char *value)
{
	str_printf(out, " %s ", option);
	cmd_quote(out, value);
}

void measure_words(const struct measure *m, struct str *out)
{
	char time[32];
	size_t i;

	for (i = 0; i < m->specs.n; i++)
		word(out, "-w", m->specs.items[i]);
	for (i = 0; i < m->suites.n; i++)
		word(out, "-s", m->suites.items[i]);
	for (i = 0; i < m->sets.n; i++)
		word(out, "--set", m->sets.items[i]);
	if (m->time_ns) {
		unit_format_time_exact(m->time_ns, time, sizeof(time));
		str_printf(out, " --time %s", time);
	}
	if (m->subject)
		word(out, "--subject", m->subject);
	if (m->invocations)
		str_printf(out, " --invocations %llu", (unsigned long long)m->invocations);
}

void measure_done(struct measure *m)
{
	option_list_done(&m->specs);
	option_list_done(&m->suites);
	option_list_done(&m->sets);
	work_done(&m->work);
	workload_list_done(&m->known);
	free(m->agent);
}
