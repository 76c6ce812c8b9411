/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exact/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/record.h"

#define TIME_SHARE 100u	   /* a window's time may differ by 1 / this of it */
#define IRQ_NS	   200000u /* in some, by an interrupt's work */
#define LATE_SHARE 4u	   /* at most 1 / this of them */
#define TIME_NS	   2000u   /* and by so much: reading the clock, around the markers */

/* A burst, taken apart. */
struct burst {
	struct record *r;
	size_t n, cap;
	struct sample {
		const char *part;
		struct exact_batch batch;
	} * sample;
	size_t n_samples, cap_samples;
	struct arena a;
};

static void burst_done(struct burst *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		record_done(&b->r[i]);
	free(b->r);
	free(b->sample);
	arena_done(&b->a);
}
#define CLEANUP_BURST CLEANUP(burst_done)

static int read_lines(const char *text, size_t len, struct burst *b, struct error *e)
{
	const char *at = text, *end = text + len;
	size_t line = 0;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = nl ? (size_t)(nl - at) : (size_t)(end - at);
		int r;

		line++;
		if (n) {
			b->r = mem_grow(b->r, b->n, &b->cap, sizeof(*b->r));
			r = record_decode(at, n, &b->r[b->n], e);
			if (r < 0)
				return error_prefix(e, "the agent's burst: line %zu", line);
			b->n++;
		}
		at += n + (nl != NULL);
	}
	if (!b->n)
		return error_set(e, EINVAL, "the agent's burst: no records");
	return 0;
}

static int add_samples(const struct record *r, struct burst *b, struct error *e)
{
	struct exact_batches batches;
	size_t i;
	int err = exact_batches_decode(r->raw, &b->a, &batches, e);

	if (err < 0)
		return error_prefix(e, "the agent's burst");
	for (i = 0; i < batches.n; i++) {
		b->sample = mem_grow(b->sample, b->n_samples, &b->cap_samples, sizeof(*b->sample));
		b->sample[b->n_samples++] = (struct sample){ batches.part, batches.list[i] };
	}
	return 0;
}

static bool is_batches(const struct record *r)
{
	return r->kind == RECORD_UNKNOWN && !strcmp(json_opt_str(r->raw, "k", ""), EXACT_BATCHES);
}

static int check_burst(struct burst *b, struct error *e)
{
	const char *inv = b->r[0].inv;
	size_t i;

	if (b->r[0].kind != RECORD_INVOCATION || b->r[b->n - 1].kind != RECORD_USAGE)
		return error_set(
			e, EINVAL, "the agent's burst: from %s to %s, not from invocation to usage",
			record_kind_name(b->r[0].kind), record_kind_name(b->r[b->n - 1].kind));
	for (i = 0; i < b->n; i++) {
		const struct record *r = &b->r[i];

		if (!r->inv || strcmp(r->inv, inv) != 0 || (i && r->kind == RECORD_INVOCATION) ||
		    (i + 1 < b->n && r->kind == RECORD_USAGE))
			return error_set(e, EINVAL, "the agent's burst: record %zu is out of place",
					 i + 1);
		if (is_batches(r) && add_samples(r, b, e) < 0)
			return -EINVAL;
	}
	return 0;
}

/*
 * Guest time is instructions and iterations, unless the idle task let some of it pass. The clock is
 * read outside of the markers, so an interrupt may come between: in a few windows. `late`
 * counts those.
 */
static int check_time(const struct exact_window *w, bool contexts, uint64_t ns, size_t sample,
		      size_t *late, struct error *e)
{
	uint64_t ran = exact_window_sum(w) + w->rep_iterations;
	uint64_t slack = ran / TIME_SHARE + TIME_NS;
	bool idle = w->idle || !contexts;

	if (ns > ran && ns - ran > slack && !idle)
		++*late;
	if ((ns >= ran || ran - ns <= slack) && (ns <= ran || ns - ran <= slack + IRQ_NS || idle))
		return 0;
	return error_set(e, EBADMSG,
			 "sample %zu%s took %" PRIu64 " ns, its window has %" PRIu64
			 " instructions and %" PRIu64 " iterations",
			 sample + 1, w->overhead ? "'s overhead" : "", ns, exact_window_sum(w),
			 w->rep_iterations);
}

/* Gives each window the operations of its sample. */
static int pair_up(const struct burst *b, struct exact_windows *w, struct error *e)
{
	size_t batches = exact_windows_count(w, false), over = 0, at = 0, late = 0, i;

	for (i = 0; i < b->n_samples; i++)
		over += b->sample[i].batch.has_overhead;
	if (!b->n_samples)
		return error_set(e, EBADMSG, "no samples: nothing was measured");
	if (batches != b->n_samples || w->n - batches != over)
		return error_set(
			e, EBADMSG,
			"%zu samples, %zu with an overhead; windows of %zu batches and of %zu"
			" overheads",
			b->n_samples, over, batches, w->n - batches);
	for (i = 0; i < b->n_samples; i++) {
		const struct exact_batch *s = &b->sample[i].batch;
		int r = 0;

		/* The numbers agree, so that there is one; their order may not. */
		if (w->list[at].overhead != s->has_overhead ||
		    (s->has_overhead && w->list[at + 1].overhead))
			return error_set(e, EBADMSG,
					 "sample %zu: the windows do not alternate as it needs",
					 i + 1);
		if (s->has_overhead) {
			w->list[at].ops = s->over_ops;
			r = check_time(&w->list[at], w->contexts, s->over_ns, i, &late, e);
			at++;
		}
		if (r < 0)
			return r;
		w->list[at].ops = s->ops;
		r = check_time(&w->list[at], w->contexts, s->ns, i, &late, e);
		if (r < 0)
			return r;
		at++;
	}
	if (late > 1 + w->n / LATE_SHARE)
		return error_set(e, EBADMSG,
				 "%zu of %zu samples took longer than their windows have "
				 "instructions",
				 late, w->n);
	return 0;
}

static void append_json(struct str *out, const json_t *j)
{
	CLEANUP_FREE char *line = json_line(j);

	str_add(out, line);
	str_add_c(out, '\n');
}

static void add_invocation(const struct record *r, const json_t *context, struct str *out)
{
	CLEANUP_JSON json_t *j = json_deep_copy(r->raw);
	/* jansson copies no const; nothing of it is changed. */
	json_t *over = json_deep_copy((json_t *)(uintptr_t)context);

	json_object_set_new(j, "class", json_str(EXACT_CLASS));
	if (over)
		json_object_update(json_object_get(j, "context"), over);
	json_decref(over);
	json_object_set_new(j, "metrics", metric_encode_all(exact_metrics));
	append_json(out, j);
}

static void add_perturbation(const char *inv, const struct plan_perturb *p, struct str *out)
{
	struct record r = { .kind = RECORD_FACT, .inv = inv };
	char text[EXACT_PERTURB_SIZE];

	exact_perturb_text(p, text, sizeof(text));
	r.fact.when = FACT_BEFORE;
	r.fact.class = FACT_VOLATILE;
	r.fact.name = EXACT_FACT;
	r.fact.value = text;
	record_append(out, &r);
}

static bool is_replaced(const struct record *r)
{
	return is_batches(r) || r->kind == RECORD_SAMPLE || r->kind == RECORD_HIST ||
	       r->kind == RECORD_WINDOW || r->kind == RECORD_PROFILE ||
	       (r->kind == RECORD_FACT && !strcmp(r->fact.name, EXACT_FACT));
}

static void add_values(const struct burst *b, const struct exact_windows *w, const char *part,
		       struct str *out)
{
	CLEANUP_FREE struct exact_window *list = mem_array(w->n, sizeof(*list));
	struct exact_windows of = { .list = list, .contexts = w->contexts };
	double values[EXACT_METRICS];
	size_t at = 0, i;

	for (i = 0; i < b->n_samples; i++) {
		size_t n = b->sample[i].batch.has_overhead ? 2 : 1;

		if (!strcmp(b->sample[i].part, part)) {
			memcpy(&list[of.n], &w->list[at], n * sizeof(*list));
			of.n += n;
		}
		at += n;
	}
	exact_values(&of, values);
	for (i = 0; i < EXACT_METRICS; i++) {
		struct record r = { .kind = RECORD_SAMPLE, .inv = b->r[0].inv };

		if (isnan(values[i]))
			continue;
		r.sample.part = part;
		r.sample.metric = exact_metrics[i].name;
		r.sample.value = values[i];
		record_append(out, &r);
	}
}

/* Parts are few. */
static void add_parts(const struct burst *b, const struct exact_windows *w, struct str *out)
{
	size_t i, k;

	for (i = 0; i < b->n_samples; i++) {
		const char *part = b->sample[i].part;

		for (k = 0; strcmp(b->sample[k].part, part) != 0; k++)
			;
		if (k == i)
			add_values(b, w, part, out);
	}
}

/* Guest time of all windows: in -icount a nanosecond is an instruction or an iteration. */
static uint64_t guest_ns(const struct burst *b)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < b->n_samples; i++)
		sum += b->sample[i].batch.ns + b->sample[i].batch.over_ns;
	return sum;
}

static void add_usage(const struct record *r, const struct burst *b, const struct exact_counts *c,
		      struct str *out)
{
	CLEANUP_JSON json_t *j = json_deep_copy(r->raw);
	json_t *values = json_object_get(j, "values");
	size_t all = exact_windows_count(&c->windows, false);
	size_t clean = exact_windows_count(&c->windows, true);

	json_object_set_new(values, "windows_count", json_num((double)all));
	json_object_set_new(values, "clean_windows_count", json_num((double)clean));
	json_object_set_new(values, "guest_ns", json_num((double)guest_ns(b)));
	json_object_set_new(values, "api", json_num(c->api));
	append_json(out, j);
}

static int add_profile(const char *inv, const struct exact_counts *c, const struct symbols *s,
		       struct arena *a, struct str *out, struct error *e)
{
	CLEANUP_JSON json_t *j = NULL;
	struct exact_profile profile;
	size_t before = out->len;
	int r = exact_profile_make(c, s, a, &profile, e);

	if (r < 0)
		return r;
	j = exact_profile_encode(inv, &profile);
	append_json(out, j);
	if (out->len - before > RECORD_LINE_MAX)
		return error_set(e, EFBIG, "a profile of %zu symbols and %zu edges is too long",
				 profile.n, profile.n_edges);
	return 0;
}

static int make(const struct burst *b, struct exact_counts *c, const struct symbols *s,
		const json_t *context, const struct plan_perturb *p, struct arena *a,
		struct str *out, struct error *e)
{
	CLEANUP_JSON json_t *windows = NULL;
	const char *inv = b->r[0].inv;
	size_t i;
	int r;

	r = pair_up(b, &c->windows, e);
	if (r < 0)
		return r;
	add_invocation(&b->r[0], context, out);
	if (p)
		add_perturbation(inv, p, out);
	for (i = 1; i + 1 < b->n; i++)
		if (!is_replaced(&b->r[i]))
			append_json(out, b->r[i].raw);
	add_parts(b, &c->windows, out);
	windows = exact_windows_encode(inv, &c->windows);
	append_json(out, windows);
	r = add_profile(inv, c, s, a, out, e);
	if (!r)
		add_usage(&b->r[b->n - 1], b, c, out);
	return r;
}

int exact_burst(const char *burst, size_t len, const struct exact_counts *c,
		const struct symbols *s, const json_t *context, const struct plan_perturb *p,
		struct str *out, struct error *e)
{
	CLEANUP_BURST struct burst b = { 0 };
	struct arena a = ARENA_INIT;
	struct str made = STR_INIT;
	struct exact_counts own;
	enum record_kind last;
	int r;

	r = read_lines(burst, len, &b, e);
	if (r < 0)
		return r;
	last = b.r[b.n - 1].kind;
	if (last == RECORD_FAIL || last == RECORD_SKIP) {
		str_add_n(out, burst, len);
		if (burst[len - 1] != '\n')
			str_add_c(out, '\n');
		return 0;
	}
	r = check_burst(&b, e);
	if (!r && !c)
		r = error_set(e, EBADMSG, "no counts: the plugin wrote none");
	if (r < 0)
		return r;
	own = *c;
	own.windows.list = arena_array(&a, c->windows.n, sizeof(*own.windows.list));
	if (c->windows.n)
		memcpy(own.windows.list, c->windows.list, c->windows.n * sizeof(*own.windows.list));
	r = make(&b, &own, s, context, p, &a, &made, e);
	if (!r)
		str_add_n(out, str_get(&made), made.len);
	str_done(&made);
	arena_done(&a);
	return r;
}
