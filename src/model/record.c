/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static const char *const kind_names[] = {
	"unknown", "hello", "fact", "invocation", "sample", "hist", "window",
	"profile", "usage", "skip", "fail",	  "log",    "done",
};

const char *record_kind_name(enum record_kind k)
{
	return k < ARRAY_SIZE(kind_names) ? kind_names[k] : "unknown";
}

/* A text that may be absent or null; of another type it would get lost, and with it a key. */
static int opt_text(const json_t *j, const char *key, const char *def, const char **ret,
		    struct error *e)
{
	const json_t *v = json_object_get(j, key);

	*ret = def;
	return !v || json_is_null(v) ? 0 : json_get_str(j, key, ret, e);
}

static int decode_hello(const json_t *j, struct record_hello *h, struct error *e)
{
	if (json_get_u64(j, "protocol", &h->protocol, e) < 0 ||
	    json_get_str(j, "agent", &h->agent, e) < 0 ||
	    json_get_str(j, "release", &h->release, e) < 0 ||
	    json_get_str(j, "version", &h->version, e) < 0)
		return -EINVAL;
	if (h->protocol != RECORD_PROTOCOL)
		return error_set(e, EPROTO, "protocol %llu, this program speaks %d",
				 (unsigned long long)h->protocol, RECORD_PROTOCOL);
	if (opt_text(j, "machine", "", &h->machine, e) < 0 ||
	    opt_text(j, "agent_build_id", NULL, &h->agent_build_id, e) < 0 ||
	    opt_text(j, "build_id", NULL, &h->build_id, e) < 0 ||
	    opt_text(j, "boot_id", NULL, &h->boot_id, e) < 0 ||
	    opt_text(j, "cmdline", NULL, &h->cmdline, e) < 0)
		return -EINVAL;
	h->init = json_opt_bool(j, "init", false);
	h->time_ns = json_opt_u64(j, "time_ns", 0);
	return 0;
}

static int decode_fact(const json_t *j, struct record_fact *f, struct error *e)
{
	const char *when, *class;

	if (json_get_str(j, "when", &when, e) < 0 || json_get_str(j, "class", &class, e) < 0 ||
	    json_get_str(j, "name", &f->name, e) < 0)
		return -EINVAL;
	f->when = fact_when_parse(when);
	f->class = fact_class_parse(class);
	if (!f->when || !f->class)
		return error_set(e, EINVAL, "fact %s: when '%s', class '%s'", f->name, when, class);
	if (opt_text(j, "value", NULL, &f->value, e) < 0 ||
	    opt_text(j, "why", NULL, &f->why, e) < 0)
		return -EINVAL;
	return 0;
}

static int decode_invocation(const json_t *j, struct record_invocation *v, struct error *e)
{
	if (json_get_str(j, "workload", &v->workload, e) < 0 ||
	    json_get_u64(j, "workload_version", &v->workload_version, e) < 0 ||
	    json_get_str(j, "params", &v->params, e) < 0 ||
	    json_get_str(j, "class", &v->class, e) < 0)
		return -EINVAL;
	if (opt_text(j, "op", "op", &v->op, e) < 0 ||
	    opt_text(j, "family", "other", &v->family, e) < 0)
		return -EINVAL;
	v->context = json_object_get(j, "context");
	v->metrics = json_object_get(j, "metrics");
	if (!json_is_object(v->context) || !json_is_array(v->metrics))
		return error_set(e, EINVAL, "invocation: context or metrics missing");
	v->headline = json_opt_bool(j, "headline", false);
	v->time_ns = json_opt_u64(j, "time_ns", 0);
	return 0;
}

static int decode_sample(const json_t *j, struct record_sample *s, struct error *e)
{
	if (opt_text(j, "part", "", &s->part, e) < 0 ||
	    opt_text(j, "metric", NULL, &s->metric, e) < 0)
		return -EINVAL;
	if (s->metric)
		return json_get_num(j, "value", &s->value, e);
	if (json_get_u64(j, "ops", &s->ops, e) < 0 || json_get_u64(j, "ns", &s->ns, e) < 0)
		return -EINVAL;
	if (!s->ops || !s->ns)
		return error_set(e, EINVAL, "sample: %llu operations in %llu ns is no measurement",
				 (unsigned long long)s->ops, (unsigned long long)s->ns);
	s->has_overhead = json_object_get(j, "over_ops") != NULL;
	if (!s->has_overhead)
		return 0;
	if (json_get_u64(j, "over_ops", &s->over_ops, e) < 0 ||
	    json_get_u64(j, "over_ns", &s->over_ns, e) < 0)
		return -EINVAL;
	if (!s->over_ops)
		return error_set(e, EINVAL, "sample: an overhead of no operations");
	return 0;
}

/* Numbers, or null for what is not known. */
static int check_usage(const json_t *values, struct error *e)
{
	const char *name;
	json_t *v;

	if (!json_is_object(values))
		return error_set(e, EINVAL, "usage: no values");
	/* jansson iterates over what is not const only; nothing is changed */
	json_object_foreach ((json_t *)(uintptr_t)values, name, v) {
		if (!json_is_number(v) && !json_is_null(v))
			return error_set(e, EINVAL, "usage: %s is not a number", name);
	}
	return 0;
}

static int decode_kind(const json_t *j, struct record *r, struct error *e)
{
	switch (r->kind) {
	case RECORD_HELLO:
		return decode_hello(j, &r->hello, e);
	case RECORD_FACT:
		return decode_fact(j, &r->fact, e);
	case RECORD_INVOCATION:
		return decode_invocation(j, &r->invocation, e);
	case RECORD_SAMPLE:
		return decode_sample(j, &r->sample, e);
	case RECORD_HIST:
		if (opt_text(j, "part", "", &r->hist.part, e) < 0)
			return -EINVAL;
		r->hist.hist = json_object_get(j, "hist");
		if (!json_is_object(r->hist.hist))
			return error_set(e, EINVAL, "hist: no histogram");
		return json_get_str(j, "name", &r->hist.name, e);
	case RECORD_USAGE:
		r->usage.values = json_object_get(j, "values");
		return check_usage(r->usage.values, e);
	case RECORD_SKIP:
		if (opt_text(j, "workload", "", &r->skip.workload, e) < 0 ||
		    opt_text(j, "params", "", &r->skip.params, e) < 0)
			return -EINVAL;
		r->skip.implied = json_opt_bool(j, "implied", false);
		return json_get_str(j, "reason", &r->skip.reason, e);
	case RECORD_FAIL:
		if (opt_text(j, "workload", NULL, &r->fail.workload, e) < 0 ||
		    opt_text(j, "params", NULL, &r->fail.params, e) < 0)
			return -EINVAL;
		return json_get_str(j, "reason", &r->fail.reason, e);
	case RECORD_LOG:
		r->log.level = json_opt_str(j, "level", "info");
		r->log.source = json_opt_str(j, "source", "agent");
		return json_get_str(j, "text", &r->log.text, e);
	case RECORD_DONE:
		if (json_get_u64(j, "invocations", &r->done.invocations, e) < 0 ||
		    json_get_u64(j, "failed", &r->done.failed, e) < 0 ||
		    json_get_u64(j, "skipped", &r->done.skipped, e) < 0)
			return -EINVAL;
		return 0;
	case RECORD_WINDOW:
	case RECORD_PROFILE:
	case RECORD_UNKNOWN:
		return 0;
	}
	return 0;
}

static bool needs_invocation(enum record_kind k)
{
	return k == RECORD_INVOCATION || k == RECORD_SAMPLE || k == RECORD_HIST ||
	       k == RECORD_USAGE;
}

int record_decode(const char *line, size_t len, struct record *ret, struct error *e)
{
	const char *k;
	unsigned i;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (len > RECORD_LINE_MAX)
		return error_set(e, EFBIG, "record: a line of %zu bytes", len);
	r = json_parse(line, len, "record", &ret->raw, e);
	if (r < 0)
		return r;
	if (!json_is_object(ret->raw)) {
		record_done(ret);
		return error_set(e, EINVAL, "record: not an object");
	}
	r = json_get_str(ret->raw, "k", &k, e);
	if (!r) {
		for (i = 1; i < ARRAY_SIZE(kind_names); i++)
			if (!strcmp(kind_names[i], k))
				ret->kind = (enum record_kind)i;
		r = opt_text(ret->raw, "inv", NULL, &ret->inv, e);
	}
	if (!r) {
		if (needs_invocation(ret->kind) && (!ret->inv || !*ret->inv))
			r = error_set(e, EINVAL, "no \"inv\"");
		else
			r = decode_kind(ret->raw, ret, e);
	}
	if (r < 0) {
		error_prefix(e, "record %s", record_kind_name(ret->kind));
		record_done(ret);
	}
	return r;
}

void record_done(struct record *r)
{
	if (!r)
		return;
	json_decref(r->raw);
	memset(r, 0, sizeof(*r));
}

static void set(json_t *j, const char *key, json_t *v)
{
	json_object_set_new(j, key, v);
}

static void set_opt(json_t *j, const char *key, const char *s)
{
	if (s)
		set(j, key, json_str(s));
}

/* A copy of a borrowed value: jansson counts references in it, so it cannot stay const. */
static void set_copy(json_t *j, const char *key, const json_t *v)
{
	set(j, key, v ? json_deep_copy(v) : json_null());
}

static void encode_sample(json_t *j, const struct record_sample *s)
{
	if (*s->part)
		set(j, "part", json_str(s->part));
	if (s->metric) {
		set(j, "metric", json_str(s->metric));
		set(j, "value", json_num(s->value));
		return;
	}
	set(j, "ops", json_u64(s->ops));
	set(j, "ns", json_u64(s->ns));
	if (s->has_overhead) {
		set(j, "over_ops", json_u64(s->over_ops));
		set(j, "over_ns", json_u64(s->over_ns));
	}
}

static void encode_hello(json_t *j, const struct record_hello *h)
{
	set(j, "protocol", json_u64(h->protocol));
	set(j, "agent", json_str(h->agent));
	set_opt(j, "agent_build_id", h->agent_build_id);
	set(j, "release", json_str(h->release));
	set(j, "version", json_str(h->version));
	set_opt(j, "machine", h->machine);
	set_opt(j, "build_id", h->build_id);
	set_opt(j, "boot_id", h->boot_id);
	set_opt(j, "cmdline", h->cmdline);
	set(j, "init", json_boolean(h->init));
	set(j, "time_ns", json_u64(h->time_ns));
}

static void encode_invocation(json_t *j, const struct record_invocation *v)
{
	set(j, "workload", json_str(v->workload));
	set(j, "workload_version", json_u64(v->workload_version));
	set_opt(j, "family", v->family);
	set_opt(j, "op", v->op);
	set(j, "params", json_str(v->params));
	set(j, "class", json_str(v->class));
	set_copy(j, "context", v->context);
	set_copy(j, "metrics", v->metrics);
	set(j, "headline", json_boolean(v->headline));
	set(j, "time_ns", json_u64(v->time_ns));
}

char *record_encode(const struct record *r)
{
	CLEANUP_JSON json_t *j = json_object();

	set(j, "k", json_str(record_kind_name(r->kind)));
	set_opt(j, "inv", r->inv);
	switch (r->kind) {
	case RECORD_HELLO:
		encode_hello(j, &r->hello);
		break;
	case RECORD_FACT:
		set(j, "when", json_str(fact_when_name(r->fact.when)));
		set(j, "class", json_str(fact_class_name(r->fact.class)));
		set(j, "name", json_str(r->fact.name));
		set(j, "value", json_str(r->fact.value));
		set_opt(j, "why", r->fact.why);
		break;
	case RECORD_INVOCATION:
		encode_invocation(j, &r->invocation);
		break;
	case RECORD_SAMPLE:
		encode_sample(j, &r->sample);
		break;
	case RECORD_HIST:
		if (*r->hist.part)
			set(j, "part", json_str(r->hist.part));
		set(j, "name", json_str(r->hist.name));
		set_copy(j, "hist", r->hist.hist);
		break;
	case RECORD_USAGE:
		set_copy(j, "values", r->usage.values);
		break;
	case RECORD_SKIP:
		set(j, "workload", json_str(r->skip.workload));
		set(j, "params", json_str(r->skip.params));
		set(j, "reason", json_str(r->skip.reason));
		set(j, "implied", json_boolean(r->skip.implied));
		break;
	case RECORD_FAIL:
		set_opt(j, "workload", r->fail.workload);
		set_opt(j, "params", r->fail.params);
		set(j, "reason", json_str(r->fail.reason));
		break;
	case RECORD_LOG:
		set(j, "level", json_str(r->log.level));
		set(j, "source", json_str(r->log.source));
		set(j, "text", json_str(r->log.text));
		break;
	case RECORD_DONE:
		set(j, "invocations", json_u64(r->done.invocations));
		set(j, "failed", json_u64(r->done.failed));
		set(j, "skipped", json_u64(r->done.skipped));
		break;
	case RECORD_WINDOW:
	case RECORD_PROFILE:
	case RECORD_UNKNOWN:
		break;
	}
	return json_line(j);
}

void record_append(struct str *out, const struct record *r)
{
	CLEANUP_FREE char *line = record_encode(r);

	str_add(out, line);
	str_add_c(out, '\n');
}
