/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin writes, line by line. It is ours, but the file is not: a guest may die midway. */
#include "exact/exact.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define PLUGIN_FORMAT 1u
#define API_MAX	      1000u
#define NUMBER_DIGITS 19u
#define ADDR_DIGITS   16u

/* A line, without its newline; `at` moves on. */
struct scan {
	const char *at, *end;
};

/* Takes exactly this text, if it comes next. */
static bool take(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool at_end(const struct scan *s)
{
	return s->at == s->end;
}

/* Digits without a sign or a zero before them, below 2^63. */
static bool take_number(struct scan *s, uint64_t *ret)
{
	const char *from = s->at;
	uint64_t v = 0;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9' &&
	       (size_t)(s->at - from) < NUMBER_DIGITS)
		v = v * 10 + (uint64_t)(*s->at++ - '0');
	*ret = v;
	return s->at > from && v <= INT64_MAX && (*from != '0' || s->at == from + 1);
}

static bool take_addr(struct scan *s, uint64_t *ret)
{
	const char *from = s->at;
	uint64_t v = 0;

	for (; s->at < s->end && (size_t)(s->at - from) < ADDR_DIGITS; s->at++) {
		if (*s->at >= '0' && *s->at <= '9')
			v = v << 4 | (uint64_t)(*s->at - '0');
		else if (*s->at >= 'a' && *s->at <= 'f')
			v = v << 4 | (uint64_t)(*s->at - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return s->at > from && (*from != '0' || s->at == from + 1);
}

/* Each number behind a space. */
static bool take_numbers(struct scan *s, uint64_t *const *ret, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!take(s, " ") || !take_number(s, ret[i]))
			return false;
	return true;
}

static bool add(uint64_t *sum, uint64_t v)
{
	return !__builtin_add_overflow(*sum, v, sum) && *sum <= INT64_MAX;
}

/* Once from the windows, once from the counts. */
struct sums {
	uint64_t kernel[EXACT_IN], user[EXACT_IN], rep_iterations[EXACT_IN];
};

struct parser {
	struct arena *a;
	struct exact_counts *c;
	struct sums windows, counts;
	uint64_t all, overhead; /* nothing that may be added up exceeds 63 bits */
};

static int parse_head(struct parser *p, struct scan *s, struct error *e)
{
	uint64_t format, api;

	if (!take(s, "kdelta-plugin ") || !take_number(s, &format))
		return error_set(e, EINVAL, "not the head of a plugin's counts");
	if (format != PLUGIN_FORMAT)
		return error_set(e, EINVAL,
				 "counts in format %" PRIu64
				 ", this program reads %u: the plugin is of"
				 " another version",
				 format, PLUGIN_FORMAT);
	if (!take(s, " api ") || !take_number(s, &api) || api > API_MAX || !take(s, " contexts "))
		return error_set(e, EINVAL, "not the head of a plugin's counts");
	p->c->api = (unsigned)api;
	p->c->windows.contexts = take(s, "yes");
	if ((!p->c->windows.contexts && !take(s, "no")) || !at_end(s))
		return error_set(e, EINVAL, "contexts are neither yes nor no");
	return 0;
}

static int check_window(struct parser *p, const struct exact_window *w, struct error *e)
{
	enum exact_in in = exact_window_clean(w) ? EXACT_CLEAN : EXACT_OTHER;
	uint64_t *all = w->overhead ? &p->overhead : &p->all;
	uint64_t sum = 0;

	if (!add(&sum, w->task) || !add(&sum, w->hardirq) || !add(&sum, w->softirq) ||
	    !add(&sum, w->kworker) || !add(&sum, w->idle) || !add(all, sum) ||
	    !add(all, w->rep_iterations) || !add(all, w->interrupts) || !add(all, w->switches))
		return error_set(e, EINVAL, "the sums do not fit into 63 bits");
	/* No overflow: both are below 2^63. */
	if (sum != w->kernel + w->user)
		return error_set(e, EINVAL,
				 "%" PRIu64 " instructions by context, %" PRIu64 " by address", sum,
				 w->kernel + w->user);
	if (!p->c->windows.contexts && (w->task != sum || w->interrupts || w->switches))
		return error_set(e, EINVAL, "contexts, which the first line denies");
	if (w->overhead)
		return 0;
	p->windows.kernel[in] += w->kernel;
	p->windows.user[in] += w->user;
	p->windows.rep_iterations[in] += w->rep_iterations;
	return 0;
}

static int parse_window(struct parser *p, struct scan *s, struct error *e)
{
	struct exact_window *w = &p->c->windows.list[p->c->windows.n];
	uint64_t *const numbers[] = {
		&w->task,   &w->hardirq, &w->softirq,	     &w->kworker,    &w->idle,
		&w->kernel, &w->user,	 &w->rep_iterations, &w->interrupts, &w->switches,
	};

	w->overhead = take(s, "overhead");
	if ((!w->overhead && !take(s, "batch")) || !take_numbers(s, numbers, ARRAY_SIZE(numbers)) ||
	    !at_end(s))
		return error_set(e, EINVAL, "not a window of batch or overhead and %zu numbers",
				 ARRAY_SIZE(numbers));
	p->c->windows.n++;
	return check_window(p, w, e);
}

static int parse_count(struct parser *p, struct scan *s, struct error *e)
{
	struct exact_count *c = &p->c->list[p->c->n];
	uint64_t *const numbers[] = {
		&c->count[EXACT_CLEAN],
		&c->count[EXACT_OTHER],
		&c->rep_iterations[EXACT_CLEAN],
		&c->rep_iterations[EXACT_OTHER],
	};
	bool ok = take_addr(s, &c->addr) && take_numbers(s, numbers, ARRAY_SIZE(numbers)) &&
		  take(s, " ");
	int in;

	if (!ok || (!take(s, "-") && (!take_addr(s, &c->target) || !c->target)) || !at_end(s))
		return error_set(e, EINVAL,
				 "not a count of an address, %zu numbers and a target or -",
				 ARRAY_SIZE(numbers));
	if (p->c->n && c->addr <= c[-1].addr)
		return error_set(e, EINVAL, "addresses do not ascend");
	for (in = 0; in < EXACT_IN; in++)
		if (!add(c->addr ? &p->counts.kernel[in] : &p->counts.user[in], c->count[in]) ||
		    !add(&p->counts.rep_iterations[in], c->rep_iterations[in]))
			return error_set(e, EINVAL, "the sums do not fit into 63 bits");
	p->c->n++;
	return 0;
}

static int check_sum(const char *what, enum exact_in in, uint64_t windows, uint64_t counts,
		     struct error *e)
{
	if (windows == counts)
		return 0;
	return error_set(e, EINVAL,
			 "%s of %s windows: %" PRIu64 " in the windows, %" PRIu64 " in the counts",
			 what, in == EXACT_CLEAN ? "clean" : "other", windows, counts);
}

static int check_sums(const struct parser *p, struct error *e)
{
	enum exact_in in;
	int r = 0;

	for (in = EXACT_CLEAN; !r && in < EXACT_IN; in++) {
		r = check_sum("instructions in the kernel", in, p->windows.kernel[in],
			      p->counts.kernel[in], e);
		if (!r)
			r = check_sum("instructions in user space", in, p->windows.user[in],
				      p->counts.user[in], e);
		if (!r)
			r = check_sum("iterations", in, p->windows.rep_iterations[in],
				      p->counts.rep_iterations[in], e);
	}
	return r;
}

/* Room for all: how many lines begin so. */
static size_t lines_of(const char *text, size_t len, char first)
{
	const char *at = text, *end = text + len;
	size_t n = 0;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		n += *at == first;
		at = nl ? nl + 1 : end;
	}
	return n;
}

static int parse_line(struct parser *p, size_t line, struct scan *s, bool *ret_end, struct error *e)
{
	if (line == 1)
		return parse_head(p, s, e);
	if (take(s, "count "))
		return parse_count(p, s, e);
	if (take(s, "window ")) {
		if (p->c->n)
			return error_set(e, EINVAL, "a window behind counts");
		return parse_window(p, s, e);
	}
	if (!take(s, "end") || !at_end(s))
		return error_set(e, EINVAL, "neither window, count nor end");
	*ret_end = true;
	return check_sums(p, e);
}

int exact_counts_parse(const char *text, size_t len, struct arena *a, struct exact_counts *ret,
		       struct error *e)
{
	struct parser p = { .a = a, .c = ret };
	const char *at = text;
	bool ended = false;
	size_t line;

	memset(ret, 0, sizeof(*ret));
	if (!len)
		return error_set(e, ENODATA, "the plugin wrote nothing: the guest never finished");
	ret->windows.list = arena_array(a, lines_of(text, len, 'w'), sizeof(*ret->windows.list));
	ret->list = arena_array(a, lines_of(text, len, 'c'), sizeof(*ret->list));
	for (line = 1; at < text + len; line++) {
		const char *nl = memchr(at, '\n', (size_t)(text + len - at));
		struct scan s = { at, nl };
		int r;

		if (!nl)
			r = error_set(e, EINVAL, "cut off");
		else if (ended)
			r = error_set(e, EINVAL, "behind the end");
		else
			r = parse_line(&p, line, &s, &ended, e);
		if (r < 0)
			return error_prefix(e, "the plugin's counts: line %zu", line);
		at = nl + 1;
	}
	if (!ended)
		return error_set(e, EINVAL, "the plugin's counts: line %zu: the end is missing",
				 line);
	return 0;
}
