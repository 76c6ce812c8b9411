/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

#define ROW_NUMBERS    12u /* of a window */
#define BATCH_NUMBERS  4u  /* of a batch with an overhead */
#define SYMBOL_NUMBERS 6u  /* behind name, module and address */

#define OF_OP(n, u, k, d)                                                                          \
	{                                                                                          \
		.name = (n), .unit = (u), .per = "op", .better = METRIC_NEITHER, .kind = (k),      \
		.from = METRIC_FROM_REPORTED, .doc = (d),                                          \
	}

const struct metric exact_metrics[EXACT_METRICS + 1] = {
	[EXACT_INSTRUCTIONS] = { .name = "instructions",
				 .unit = UNIT_INSTRUCTIONS,
				 .per = "op",
				 .better = METRIC_NEITHER,
				 .kind = METRIC_COUNT,
				 .headline = true,
				 .from = METRIC_FROM_REPORTED,
				 .doc = "in windows without a hard interrupt or a kworker" },
	[EXACT_KERNEL] = OF_OP("kernel", UNIT_INSTRUCTIONS, METRIC_COUNT, "of these in the kernel"),
	[EXACT_USER] = OF_OP("user", UNIT_INSTRUCTIONS, METRIC_COUNT, "of these in user space"),
	[EXACT_REP_ITERATIONS] =
		OF_OP("rep_iterations", UNIT_COUNT, METRIC_COUNT,
		      "iterations of string instructions there, in no other figure"),
	[EXACT_TOTAL] = OF_OP("total", UNIT_INSTRUCTIONS, METRIC_COUNT,
			      "in all windows, housekeeping included"),
	[EXACT_TOTAL_KERNEL] =
		OF_OP("total_kernel", UNIT_INSTRUCTIONS, METRIC_COUNT, "of these in the kernel"),
	[EXACT_TOTAL_USER] =
		OF_OP("total_user", UNIT_INSTRUCTIONS, METRIC_COUNT, "of these in user space"),
	[EXACT_TOTAL_REP_ITERATIONS] = OF_OP("total_rep_iterations", UNIT_COUNT, METRIC_COUNT,
					     "iterations of string instructions in all windows"),
	[EXACT_OVERHEAD] = OF_OP("overhead", UNIT_INSTRUCTIONS, METRIC_EVIDENCE,
				 "the same work without the thing measured"),
	[EXACT_TASK] = OF_OP("task", UNIT_INSTRUCTIONS, METRIC_EVIDENCE, "of the total, by tasks"),
	[EXACT_HARDIRQ] = OF_OP("hardirq", UNIT_INSTRUCTIONS, METRIC_EVIDENCE,
				"of the total, in hard interrupts"),
	[EXACT_SOFTIRQ] = OF_OP("softirq", UNIT_INSTRUCTIONS, METRIC_EVIDENCE,
				"of the total, in soft interrupts, RCU's threads among them"),
	[EXACT_KWORKER] =
		OF_OP("kworker", UNIT_INSTRUCTIONS, METRIC_EVIDENCE, "of the total, by kworkers"),
	[EXACT_IDLE] =
		OF_OP("idle", UNIT_INSTRUCTIONS, METRIC_EVIDENCE, "of the total, by the idle task"),
	[EXACT_INTERRUPTS] =
		OF_OP("interrupts", UNIT_COUNT, METRIC_EVIDENCE, "hard interrupts in all windows"),
	[EXACT_SWITCHES] =
		OF_OP("switches", UNIT_COUNT, METRIC_EVIDENCE, "switches of tasks in all windows"),
	{ .name = NULL },
};

uint64_t exact_window_sum(const struct exact_window *w)
{
	return w->task + w->hardirq + w->softirq + w->kworker + w->idle;
}

bool exact_window_clean(const struct exact_window *w)
{
	return !w->interrupts && !w->hardirq && !w->kworker;
}

size_t exact_windows_count(const struct exact_windows *w, bool only_clean)
{
	size_t n = 0, i;

	for (i = 0; w && i < w->n; i++)
		n += !w->list[i].overhead && (!only_clean || exact_window_clean(&w->list[i]));
	return n;
}

static void add_window(struct exact_window *sum, const struct exact_window *w)
{
	sum->ops += w->ops;
	sum->task += w->task;
	sum->hardirq += w->hardirq;
	sum->softirq += w->softirq;
	sum->kworker += w->kworker;
	sum->idle += w->idle;
	sum->kernel += w->kernel;
	sum->user += w->user;
	sum->rep_iterations += w->rep_iterations;
	sum->interrupts += w->interrupts;
	sum->switches += w->switches;
}

static double per_op(uint64_t count, const struct exact_window *of)
{
	return of->ops ? (double)count / (double)of->ops : (double)NAN;
}

void exact_values(const struct exact_windows *w, double ret[EXACT_METRICS])
{
	struct exact_window clean = { 0 }, all = { 0 }, over = { 0 };
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct exact_window *x = &w->list[i];

		add_window(x->overhead ? &over : &all, x);
		if (!x->overhead && exact_window_clean(x))
			add_window(&clean, x);
	}
	ret[EXACT_INSTRUCTIONS] = per_op(exact_window_sum(&clean), &clean);
	ret[EXACT_KERNEL] = per_op(clean.kernel, &clean);
	ret[EXACT_USER] = per_op(clean.user, &clean);
	ret[EXACT_REP_ITERATIONS] = per_op(clean.rep_iterations, &clean);
	ret[EXACT_TOTAL] = per_op(exact_window_sum(&all), &all);
	ret[EXACT_TOTAL_KERNEL] = per_op(all.kernel, &all);
	ret[EXACT_TOTAL_USER] = per_op(all.user, &all);
	ret[EXACT_TOTAL_REP_ITERATIONS] = per_op(all.rep_iterations, &all);
	ret[EXACT_OVERHEAD] = per_op(exact_window_sum(&over), &over);
	ret[EXACT_TASK] = per_op(all.task, &all);
	ret[EXACT_HARDIRQ] = per_op(all.hardirq, &all);
	ret[EXACT_SOFTIRQ] = per_op(all.softirq, &all);
	ret[EXACT_KWORKER] = per_op(all.kworker, &all);
	ret[EXACT_IDLE] = per_op(all.idle, &all);
	ret[EXACT_INTERRUPTS] = per_op(all.interrupts, &all);
	ret[EXACT_SWITCHES] = per_op(all.switches, &all);
	if (!w->contexts)
		for (i = EXACT_TASK; i < EXACT_METRICS; i++)
			ret[i] = (double)NAN;
}

bool exact_symbol_has_calls(const struct exact_symbol *s)
{
	return s->addr && !str_starts(s->name, "0x");
}

/* ---- to JSON ---- */

static json_t *head(const char *kind, const char *inv)
{
	json_t *j = json_object();

	json_object_set_new(j, "k", json_str(kind));
	json_object_set_new(j, "inv", json_str(inv));
	return j;
}

static void push(json_t *array, uint64_t v)
{
	json_array_append_new(array, json_u64(v));
}

static void push_pair(json_t *array, const uint64_t v[EXACT_IN])
{
	push(array, v[EXACT_CLEAN]);
	push(array, v[EXACT_OTHER]);
}

json_t *exact_batches_encode(const char *inv, const struct exact_batches *b)
{
	json_t *j = head(EXACT_BATCHES, inv), *rows = json_array();
	size_t i;

	json_object_set_new(j, "part", json_str(b->part));
	for (i = 0; i < b->n; i++) {
		const struct exact_batch *x = &b->list[i];
		json_t *row = json_array();

		push(row, x->ops);
		push(row, x->ns);
		if (x->has_overhead) {
			push(row, x->over_ops);
			push(row, x->over_ns);
		}
		json_array_append_new(rows, row);
	}
	json_object_set_new(j, "rows", rows);
	return j;
}

json_t *exact_windows_encode(const char *inv, const struct exact_windows *w)
{
	json_t *j = head("window", inv), *rows = json_array();
	size_t i, k;

	json_object_set_new(j, "contexts", json_boolean(w->contexts));
	for (i = 0; i < w->n; i++) {
		const struct exact_window *x = &w->list[i];
		const uint64_t numbers[ROW_NUMBERS] = {
			x->overhead,   x->ops,	    x->task,   x->hardirq, x->softirq,
			x->kworker,    x->idle,	    x->kernel, x->user,	   x->rep_iterations,
			x->interrupts, x->switches,
		};
		json_t *row = json_array();

		for (k = 0; k < ROW_NUMBERS; k++)
			push(row, numbers[k]);
		json_array_append_new(rows, row);
	}
	json_object_set_new(j, "rows", rows);
	return j;
}

json_t *exact_profile_encode(const char *inv, const struct exact_profile *p)
{
	json_t *j = head("profile", inv), *ops = json_array(), *windows = json_array();
	json_t *symbols = json_array(), *edges = json_array();
	size_t i;

	push_pair(ops, p->ops);
	push_pair(windows, p->windows);
	for (i = 0; i < p->n; i++) {
		const struct exact_symbol *s = &p->symbols[i];
		json_t *row = json_array();
		char addr[17];

		snprintf(addr, sizeof(addr), "%" PRIx64, s->addr);
		json_array_append_new(row, json_str(s->name));
		json_array_append_new(row, json_str(s->module));
		json_array_append_new(row, json_str(addr));
		push_pair(row, s->count);
		push_pair(row, s->calls);
		push_pair(row, s->rep_iterations);
		json_array_append_new(symbols, row);
	}
	for (i = 0; i < p->n_edges; i++) {
		json_t *row = json_array();

		push(row, p->edges[i].from);
		push(row, p->edges[i].to);
		push_pair(row, p->edges[i].calls);
		json_array_append_new(edges, row);
	}
	json_object_set_new(j, "ops", ops);
	json_object_set_new(j, "windows", windows);
	json_object_set_new(j, "symbols", symbols);
	json_object_set_new(j, "edges", edges);
	return j;
}

/* ---- from JSON ---- */

/* An array of exactly n whole numbers that begins at `from` of `row`. */
static int numbers_of(const json_t *row, size_t from, size_t n, uint64_t *ret, struct error *e)
{
	size_t i;

	if (!json_is_array(row) || json_array_size(row) != from + n)
		return error_set(e, EINVAL, "not an array of %zu", from + n);
	for (i = 0; i < n; i++) {
		const json_t *v = json_array_get(row, from + i);

		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return error_set(e, EINVAL,
					 "element %zu is not a whole number of 0 or more",
					 from + i + 1);
		ret[i] = (uint64_t)json_integer_value(v);
	}
	return 0;
}

static int array_of(const json_t *j, const char *key, const json_t **ret, struct error *e)
{
	*ret = json_object_get(j, key);
	return json_is_array(*ret) ? 0 : error_set(e, EINVAL, "\"%s\" is not an array", key);
}

/* Sums over a whole list stay below 2^63: whoever adds them up need not look. */
static bool add(uint64_t *sum, uint64_t v)
{
	return !__builtin_add_overflow(*sum, v, sum) && *sum <= INT64_MAX;
}

static int check_window(const struct exact_window *w, uint64_t *sum, uint64_t *rest,
			struct error *e)
{
	uint64_t s = 0, address = 0;

	if (!w->ops)
		return error_set(e, EINVAL, "no operations");
	if (!add(&s, w->task) || !add(&s, w->hardirq) || !add(&s, w->softirq) ||
	    !add(&s, w->kworker) || !add(&s, w->idle) || !add(&address, w->kernel) ||
	    !add(&address, w->user) || !add(sum, s) || !add(rest, w->ops) ||
	    !add(rest, w->rep_iterations) || !add(rest, w->interrupts) || !add(rest, w->switches))
		return error_set(e, EINVAL, "its sums do not fit into 63 bits");
	if (s != address)
		return error_set(e, EINVAL,
				 "%" PRIu64 " instructions by context, %" PRIu64 " by address", s,
				 address);
	return 0;
}

static int decode_window(const json_t *row, struct exact_window *ret, struct error *e)
{
	uint64_t v[ROW_NUMBERS];
	int r = numbers_of(row, 0, ROW_NUMBERS, v, e);

	if (r < 0)
		return r;
	if (v[0] > 1)
		return error_set(e, EINVAL, "overhead is neither 0 nor 1");
	*ret = (struct exact_window){
		.overhead = v[0],
		.ops = v[1],
		.task = v[2],
		.hardirq = v[3],
		.softirq = v[4],
		.kworker = v[5],
		.idle = v[6],
		.kernel = v[7],
		.user = v[8],
		.rep_iterations = v[9],
		.interrupts = v[10],
		.switches = v[11],
	};
	return 0;
}

static int decode_batch(const json_t *row, struct exact_batch *ret, struct error *e)
{
	uint64_t v[BATCH_NUMBERS] = { 0 };
	bool overhead = json_array_size(row) > BATCH_NUMBERS / 2;
	int r = numbers_of(row, 0, overhead ? BATCH_NUMBERS : BATCH_NUMBERS / 2, v, e);

	if (r < 0)
		return r;
	*ret = (struct exact_batch){ v[0], v[1], overhead, v[2], v[3] };
	if (!ret->ops || !ret->ns || (overhead && !ret->over_ops))
		return error_set(e, EINVAL, "no operations, or no time");
	return 0;
}

int exact_batches_decode(const json_t *j, struct arena *a, struct exact_batches *ret,
			 struct error *e)
{
	const json_t *rows;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (json_get_str(j, "part", &ret->part, e) < 0 || array_of(j, "rows", &rows, e) < 0)
		return error_prefix(e, EXACT_BATCHES);
	ret->n = json_array_size(rows);
	ret->list = arena_array(a, ret->n, sizeof(*ret->list));
	for (i = 0; i < ret->n; i++) {
		if (decode_batch(json_array_get(rows, i), &ret->list[i], e) < 0) {
			memset(ret, 0, sizeof(*ret));
			return error_prefix(e, EXACT_BATCHES ": row %zu", i + 1);
		}
	}
	return 0;
}

int exact_windows_decode(const json_t *j, struct arena *a, struct exact_windows *ret,
			 struct error *e)
{
	uint64_t sum = 0, rest = 0;
	const json_t *rows;
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!json_is_boolean(json_object_get(j, "contexts"))) {
		error_set(e, EINVAL, "\"contexts\" is not a boolean");
		return error_prefix(e, "window");
	}
	if (array_of(j, "rows", &rows, e) < 0)
		return error_prefix(e, "window");
	ret->contexts = json_is_true(json_object_get(j, "contexts"));
	ret->n = json_array_size(rows);
	ret->list = arena_array(a, ret->n, sizeof(*ret->list));
	for (i = 0; i < ret->n; i++) {
		r = decode_window(json_array_get(rows, i), &ret->list[i], e);
		if (!r)
			r = check_window(&ret->list[i], &sum, &rest, e);
		if (r < 0) {
			memset(ret, 0, sizeof(*ret));
			return error_prefix(e, "window: row %zu", i + 1);
		}
	}
	return 0;
}

/* 1 to 16 digits, small letters, no leading zero: as it is encoded. */
static int parse_addr(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; s[n]; n++) {
		unsigned digit;

		if (s[n] >= '0' && s[n] <= '9')
			digit = (unsigned)(s[n] - '0');
		else if (s[n] >= 'a' && s[n] <= 'f')
			digit = (unsigned)(s[n] - 'a') + 10;
		else
			return -EINVAL;
		v = v << 4 | digit;
	}
	if (!n || n > 16 || (n > 1 && *s == '0'))
		return -EINVAL;
	*ret = v;
	return 0;
}

struct totals {
	uint64_t count, calls, rep_iterations;
};

static int decode_symbol(const json_t *row, struct arena *a, struct totals *t,
			 struct exact_symbol *ret, struct error *e)
{
	const json_t *name = json_array_get(row, 0), *module = json_array_get(row, 1);
	const char *addr = json_string_value(json_array_get(row, 2));
	uint64_t v[SYMBOL_NUMBERS];
	int r = numbers_of(row, 3, SYMBOL_NUMBERS, v, e), i;

	if (r < 0)
		return r;
	if (!json_string_length(name))
		return error_set(e, EINVAL, "no name");
	if (!json_is_string(module) && !json_is_null(module))
		return error_set(e, EINVAL, "its module is neither a text nor null");
	if (!addr || parse_addr(addr, &ret->addr) < 0)
		return error_set(e, EINVAL, "its address is not a hexadecimal text");
	ret->name = arena_strdup(a, json_string_value(name));
	ret->module = arena_strdup(a, json_string_value(module));
	for (i = 0; i < EXACT_IN; i++) {
		ret->count[i] = v[i];
		ret->calls[i] = v[EXACT_IN + i];
		ret->rep_iterations[i] = v[2 * EXACT_IN + i];
		if (!add(&t->count, ret->count[i]) || !add(&t->calls, ret->calls[i]) ||
		    !add(&t->rep_iterations, ret->rep_iterations[i]))
			return error_set(e, EINVAL, "the sums do not fit into 63 bits");
	}
	return 0;
}

static int decode_symbols(const json_t *rows, struct arena *a, struct exact_profile *p,
			  struct error *e)
{
	struct totals t = { 0 };
	size_t i;

	p->n = json_array_size(rows);
	p->symbols = arena_array(a, p->n, sizeof(*p->symbols));
	for (i = 0; i < p->n; i++) {
		int r = decode_symbol(json_array_get(rows, i), a, &t, &p->symbols[i], e);

		if (!r && i && p->symbols[i].addr <= p->symbols[i - 1].addr)
			r = error_set(e, EINVAL, "not behind the one before");
		if (r < 0)
			return error_prefix(e, "symbol %zu", i + 1);
	}
	return 0;
}

static int decode_edges(const json_t *rows, struct arena *a, struct exact_profile *p,
			struct error *e)
{
	uint64_t sum = 0;
	size_t i;

	p->n_edges = json_array_size(rows);
	p->edges = arena_array(a, p->n_edges, sizeof(*p->edges));
	for (i = 0; i < p->n_edges; i++) {
		struct exact_edge *x = &p->edges[i];
		uint64_t v[2 + EXACT_IN];
		int r = numbers_of(json_array_get(rows, i), 0, ARRAY_SIZE(v), v, e);

		if (!r && (v[0] >= p->n || v[1] >= p->n))
			r = error_set(e, EINVAL, "there is no symbol of that number");
		if (r < 0)
			return error_prefix(e, "edge %zu", i + 1);
		*x = (struct exact_edge){ (unsigned)v[0], (unsigned)v[1], { v[2], v[3] } };
		if (i && (x->from < x[-1].from || (x->from == x[-1].from && x->to <= x[-1].to)))
			return error_set(e, EINVAL, "edge %zu: not behind the one before", i + 1);
		if (!add(&sum, v[2]) || !add(&sum, v[3]))
			return error_set(e, EINVAL, "edge %zu: the sums do not fit into 63 bits",
					 i + 1);
	}
	return 0;
}

int exact_profile_decode(const json_t *j, struct arena *a, struct exact_profile *ret,
			 struct error *e)
{
	const json_t *symbols, *edges;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = numbers_of(json_object_get(j, "ops"), 0, EXACT_IN, ret->ops, e);
	if (r < 0)
		error_prefix(e, "\"ops\"");
	if (!r) {
		r = numbers_of(json_object_get(j, "windows"), 0, EXACT_IN, ret->windows, e);
		if (r < 0)
			error_prefix(e, "\"windows\"");
	}
	if (!r)
		r = array_of(j, "symbols", &symbols, e);
	if (!r)
		r = array_of(j, "edges", &edges, e);
	if (!r)
		r = decode_symbols(symbols, a, ret, e);
	if (!r)
		r = decode_edges(edges, a, ret, e);
	if (!r)
		return 0;
	memset(ret, 0, sizeof(*ret));
	return error_prefix(e, "profile");
}
