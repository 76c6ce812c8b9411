/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "store/db.h"
#include "store/exact.h"

struct reader {
	struct store *s;
	struct dataset *d;
	int64_t *experiments; /* local numbers, by index in the dataset */
	size_t cap_experiments;
	struct hist *hist; /* one for all: it is large */
	/* Statements for what there is much of. */
	sqlite3_stmt *samples, *hists, *usage, *facts, *warnings, *raw;
};

static bool same_identity(const struct ds_kernel *a, const struct ds_kernel *b)
{
	return str_eq(a->label, b->label) && str_eq(a->release, b->release) &&
	       str_eq(a->version, b->version) && str_eq(a->build_id, b->build_id) &&
	       str_eq(a->cmdline, b->cmdline) && str_eq(a->config_hash, b->config_hash) &&
	       str_eq(a->source, b->source);
}

static int add_kernel(struct reader *r, const struct pick *p, unsigned *ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	CLEANUP_FREE char *label = NULL;
	struct ds_kernel k;
	unsigned same = 1;
	size_t i;
	int c;

	c = db_query(r->s, e, &st,
		     "SELECT label, release, version, build_id, cmdline, config_hash, config,"
		     " source FROM kernel WHERE n = ?1",
		     "i", p->kernel);
	if (!c)
		c = db_step(r->s, st, e);
	if (c < 0)
		return c;
	k = (struct ds_kernel){
		.label = p->label ? p->label : db_text(st, 0),
		.release = db_text(st, 1),
		.version = db_text(st, 2),
		.build_id = db_text(st, 3),
		.cmdline = db_text(st, 4),
		.config_hash = db_text(st, 5),
		.config = db_text(st, 6),
		.source = db_text(st, 7),
	};
	for (i = 0; i < r->d->n_kernels; i++) {
		/* Stores that were merged know the same kernel under two ids. */
		if (!p->label && same_identity(&r->d->kernels[i], &k)) {
			*ret = (unsigned)i;
			return 0;
		}
		same += str_eq(r->d->kernels[i].label, k.label);
	}
	/* "new (2)" may be a label, too. */
	while (same > 1) {
		free(label);
		label = mem_printf("%s (%u)", k.label, same);
		for (i = 0; i < r->d->n_kernels; i++)
			if (str_eq(r->d->kernels[i].label, label))
				break;
		if (i == r->d->n_kernels) {
			k.label = label;
			break;
		}
		same++;
	}
	*ret = dataset_kernel(r->d, &k);
	return 0;
}

static int add_experiment(struct reader *r, int64_t n, unsigned *ret, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	struct ds_experiment x;
	size_t i;
	int c;

	for (i = 0; i < r->d->n_experiments; i++)
		if (r->experiments[i] == n) {
			*ret = (unsigned)i;
			return 0;
		}
	c = db_query(r->s, e, &st,
		     "SELECT uuid, name, subject, seed, blocks, created_ns, reproduce"
		     " FROM experiment WHERE n = ?1",
		     "i", n);
	if (!c)
		c = db_step(r->s, st, e);
	if (c < 0)
		return c;
	x = (struct ds_experiment){
		.id = db_text(st, 0),
		.name = db_text(st, 1),
		.subject = db_text(st, 2),
		.seed = db_u64(st, 3),
		.blocks = (unsigned)sqlite3_column_int64(st, 4),
		.created_ns = db_u64(st, 5),
		.reproduce = db_text(st, 6),
	};
	r->experiments = mem_grow(r->experiments, i, &r->cap_experiments, sizeof(int64_t));
	r->experiments[i] = n;
	*ret = dataset_experiment(r->d, &x);
	return 0;
}

/* Facts of a boot (invocation 0) or of an invocation. */
static int add_facts(struct reader *r, int64_t boot, int64_t invocation, unsigned index,
		     struct error *e)
{
	int c;

	c = db_query(r->s, e, &r->facts,
		     "SELECT moment, class, name, value, why FROM fact WHERE boot = ?1 AND"
		     " invocation IS nullif(?2, 0) ORDER BY n",
		     "ii", boot, invocation);
	while (!c && (c = db_step(r->s, r->facts, e)) > 0) {
		struct ds_fact f = {
			.when = fact_when_parse(db_text(r->facts, 0)),
			.class = fact_class_parse(db_text(r->facts, 1)),
			.name = db_text(r->facts, 2),
			.value = db_text(r->facts, 3),
			.why = db_text(r->facts, 4),
		};

		c = 0;
		if (invocation)
			dataset_invocation_fact(r->d, index, &f);
		else
			dataset_boot_fact(r->d, index, &f);
	}
	return c;
}

static int add_usage(struct reader *r, int64_t n, unsigned index, struct error *e)
{
	int c;

	c = db_query(r->s, e, &r->usage,
		     "SELECT name, value FROM usage WHERE invocation = ?1 ORDER BY seq", "i", n);
	while (!c && (c = db_step(r->s, r->usage, e)) > 0) {
		c = 0;
		/* What could not be read is missing, not 0. */
		if (sqlite3_column_type(r->usage, 1) != SQLITE_NULL)
			dataset_usage(r->d, index, db_text(r->usage, 0),
				      sqlite3_column_double(r->usage, 1));
	}
	return c;
}

static int add_samples(struct reader *r, int64_t n, unsigned index, struct error *e)
{
	sqlite3_stmt *st;
	int c;

	c = db_query(r->s, e, &r->samples,
		     "SELECT part, metric, ops, ns, over_ops, over_ns, value FROM sample"
		     " WHERE invocation = ?1 ORDER BY seq",
		     "i", n);
	st = r->samples;
	while (!c && (c = db_step(r->s, st, e)) > 0) {
		struct record_sample m = {
			.part = db_text(st, 0),
			.metric = db_text(st, 1),
			.ops = db_u64(st, 2),
			.ns = db_u64(st, 3),
			.has_overhead = sqlite3_column_type(st, 4) != SQLITE_NULL,
			.over_ops = db_u64(st, 4),
			.over_ns = db_u64(st, 5),
			.value = sqlite3_column_double(st, 6),
		};

		c = 0;
		dataset_sample(r->d, index, &m);
	}
	return c;
}

static int add_hists(struct reader *r, int64_t n, unsigned index, struct error *e)
{
	sqlite3_stmt *st;
	int c;

	c = db_query(r->s, e, &r->hists,
		     "SELECT part, name, hist FROM hist WHERE invocation = ?1 ORDER BY seq", "i",
		     n);
	st = r->hists;
	while (!c && (c = db_step(r->s, st, e)) > 0) {
		CLEANUP_JSON json_t *j = NULL;
		const char *text = db_text(st, 2);

		c = json_parse(text, strlen(text), "histogram", &j, e);
		if (!c)
			c = hist_decode(j, r->hist, e);
		if (!c)
			dataset_hist(r->d, index, db_text(st, 0), db_text(st, 1), r->hist);
	}
	return c;
}

/* Kernel warnings in the logs of a boot (invocation 0) or of an invocation. */
static int count_warnings(struct reader *r, int64_t boot, int64_t invocation, unsigned *ret,
			  struct error *e)
{
	int c;

	*ret = 0;
	c = db_query(r->s, e, &r->warnings,
		     "SELECT count(*) FROM log WHERE boot = ?1 AND invocation IS nullif(?2, 0)"
		     " AND source = 'kernel' AND level IN ('warning', 'error')",
		     "ii", boot, invocation);
	if (!c)
		c = db_step(r->s, r->warnings, e);
	if (c < 0)
		return c;
	*ret = (unsigned)sqlite3_column_int64(r->warnings, 0);
	return 0;
}

static const char *or_else(const char *s, const char *def)
{
	return s ? s : def;
}

static enum ds_state state_of(const char *s)
{
	return !strcmp(s, "ok")	       ? DS_OK
	       : !strcmp(s, "skipped") ? DS_SKIPPED
	       : !strcmp(s, "stopped") ? DS_STOPPED
				       : DS_FAILED;
}

/* `st` stands on an invocation's row. */
static int add_invocation(struct reader *r, sqlite3_stmt *st, int64_t boot_n, unsigned boot,
			  struct error *e)
{
	int64_t n = sqlite3_column_int64(st, 0);
	struct ds_invocation v = {
		.id = db_text(st, 1),
		.boot = boot,
		.workload = or_else(db_text(st, 2), ""),
		.workload_version = (unsigned)sqlite3_column_int64(st, 3),
		.family = or_else(db_text(st, 4), "other"),
		.op = or_else(db_text(st, 5), "op"),
		.params = or_else(db_text(st, 6), ""),
		.class = or_else(db_text(st, 7), ""),
		.context = or_else(db_text(st, 8), "{}"),
		.headline = sqlite3_column_int(st, 9) != 0,
		.implied = sqlite3_column_int(st, 10) != 0,
		.state = state_of(db_text(st, 12)),
		.reason = db_text(st, 13),
	};
	const char *metrics = db_text(st, 11);
	struct arena a = ARENA_INIT;
	CLEANUP_JSON json_t *j = NULL;
	struct metric *m = NULL;
	size_t n_metrics;
	double warnings;
	unsigned i;
	int c = 0;

	if (metrics) {
		c = json_parse(metrics, strlen(metrics), "metrics", &j, e);
		if (!c)
			c = metric_decode_all(j, &a, &m, &n_metrics, e);
	}
	if (!c)
		c = count_warnings(r, boot_n, n, &v.kernel_warnings, e);
	if (c < 0)
		goto out;
	i = dataset_invocation(r->d, &v, m);
	c = add_usage(r, n, i, e);
	if (!c)
		c = add_facts(r, boot_n, n, i, e);
	if (!c)
		c = add_samples(r, n, i, e);
	if (!c)
		c = add_hists(r, n, i, e);
	if (!c && v.state == DS_OK && str_eq(v.class, EXACT_CLASS))
		c = exact_read(r->s, &r->raw, n, r->d, i, e);
	warnings = dataset_usage_of(&r->d->invocations[i], "kernel_warnings_count", 0);
	if (warnings > v.kernel_warnings && warnings < UINT32_MAX)
		r->d->invocations[i].kernel_warnings = (unsigned)warnings;
out:
	if (c < 0)
		error_prefix(e, "store %s: invocation %s", r->s->path, v.id);
	arena_done(&a);
	return c;
}

static int add_invocations(struct reader *r, int64_t boot_n, unsigned boot, struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	size_t from = r->d->n_invocations;
	int c;

	c = db_query(r->s, e, &st,
		     "SELECT n, uuid, workload, version, family, op, params, class, context,"
		     " headline, implied, metrics, state, reason FROM invocation"
		     " WHERE boot = ?1 AND state != 'planned' ORDER BY n",
		     "i", boot_n);
	while (!c && (c = db_step(r->s, st, e)) > 0)
		c = add_invocation(r, st, boot_n, boot, e);
	for (; !c && from < r->d->n_invocations; from++)
		r->d->boots[boot].kernel_warnings += r->d->invocations[from].kernel_warnings;
	return c;
}

/*
 * The same life of the kernel in two experiments is one boot, whatever was measured in it: pooling
 * must not make replications out of it.
 */
static unsigned same_boot(struct dataset *d, const struct ds_boot *b)
{
	size_t i;

	for (i = 0; b->boot_id && i < d->n_boots; i++) {
		struct ds_boot *o = &d->boots[i];

		if (o->kernel != b->kernel || !str_eq(o->boot_id, b->boot_id))
			continue;
		o->kernel_warnings += b->kernel_warnings;
		if (b->state == DS_OK)
			o->state = DS_OK;
		return (unsigned)i;
	}
	return dataset_boot(d, b);
}

static int add_boots(struct reader *r, const struct pick *p, unsigned kernel, unsigned experiment,
		     struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int c;

	c = db_query(r->s, e, &st,
		     "SELECT n, uuid, boot_id, block, started_ns, state, reason, kernel_warnings"
		     " FROM boot WHERE experiment = ?1 AND kernel = ?2 AND owner IS NULL"
		     " AND state IN ('ok', 'failed', 'stopped') ORDER BY started_ns, n",
		     "ii", p->experiment, p->kernel);
	while (!c && (c = db_step(r->s, st, e)) > 0) {
		int64_t n = sqlite3_column_int64(st, 0);
		unsigned index, warnings;
		struct ds_boot b = {
			.id = db_text(st, 1),
			.boot_id = db_text(st, 2),
			.kernel = kernel,
			.experiment = experiment,
			.block = (unsigned)sqlite3_column_int64(st, 3),
			.started_ns = db_u64(st, 4),
			.state = state_of(db_text(st, 5)),
			.reason = db_text(st, 6),
			.kernel_warnings = (unsigned)sqlite3_column_int64(st, 7),
		};

		c = count_warnings(r, n, 0, &warnings, e);
		if (c < 0)
			break;
		b.kernel_warnings += warnings;
		index = same_boot(r->d, &b);
		c = add_facts(r, n, 0, index, e);
		if (!c)
			c = add_invocations(r, n, index, e);
	}
	return c;
}

static int fill(struct reader *r, const struct store_selection *sel, struct error *e)
{
	CLEANUP_FREE unsigned *index = NULL; /* in the dataset, by place in the order */
	struct picks p;
	size_t known = 0, i;
	int c;

	c = select_picks(r->s, sel, false, &p, e);
	if (c < 0)
		return c;
	index = mem_array(p.n + 1, sizeof(*index));
	for (i = 0; !c && i < p.n; i++) {
		unsigned x;

		/* Places are given in ascending order. */
		if (p.p[i].as >= known) {
			c = add_kernel(r, &p.p[i], &index[p.p[i].as], e);
			known = p.p[i].as + 1;
		}
		if (!c)
			c = add_experiment(r, p.p[i].experiment, &x, e);
		if (!c)
			c = add_boots(r, &p.p[i], index[p.p[i].as], x, e);
	}
	picks_done(&p);
	return c;
}

int store_dataset(struct store *s, const struct store_selection *sel, struct dataset *ret,
		  struct error *e)
{
	struct reader r = { .s = s, .d = ret };
	int c;

	r.hist = mem_alloc(sizeof(*r.hist));
	c = db_begin_read(s, e);
	if (!c)
		c = fill(&r, sel, e);
	db_finalize(&r.samples);
	db_finalize(&r.hists);
	db_finalize(&r.usage);
	db_finalize(&r.facts);
	db_finalize(&r.warnings);
	db_finalize(&r.raw);
	c = db_end(s, c, e);
	if (!c)
		dataset_finish(ret);
	free(r.hist);
	free(r.experiments);
	return c;
}
