/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/runner.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "facts/facts.h"
#include "facts/kmsg.h"
#include "facts/probe.h"
#include "model/record.h"
#include "runner/demand.h"
#include "runner/internal.h"
#include "runner/perturb.h"
#include "runner/port.h"
#include "runner/quiet.h"
#include "runner/registry.h"
#include "runner/stop.h"
#include "runner/supervise.h"
#include "settings/settings.h"
#include "workload/kit.h"

static const struct facts_source here = { .root = "" };

struct job {
	const struct runner_config *c;
	struct plan plan; /* a copy that borrows */
	struct kmsg *kmsg;
	struct settings *settings;
	struct str burst; /* what goes out at once */
	uint64_t ok, failed, skipped;
	struct error *e;
	int gone;  /* -errno once the channel is broken */
	bool kept; /* a run of exact mode: all goes out at its end */
};

static void add(struct job *j, const struct record *r)
{
	record_append(&j->burst, r);
}

static void flush(struct job *j)
{
	if (j->kept)
		return;
	if (!j->gone && j->burst.len)
		j->gone = file_write_fd(j->c->out, j->burst.s, j->burst.len, j->e);
	str_reset(&j->burst);
}

static void hello(struct job *j)
{
	CLEANUP_FREE char *boot_id = file_line("/proc/sys/kernel/random/boot_id");
	CLEANUP_FREE char *cmdline = file_line("/proc/cmdline");
	CLEANUP_FREE char *notes = NULL;
	char self[ID_BUILD_SIZE], kernel[ID_BUILD_SIZE];
	struct record r = { .kind = RECORD_HELLO };
	struct utsname u;
	size_t len;

	if (uname(&u) < 0)
		memset(&u, 0, sizeof(u));
	r.hello.protocol = RECORD_PROTOCOL;
	r.hello.agent = AGENT_VERSION;
	r.hello.agent_build_id = id_build_self(self) == 0 ? self : NULL;
	r.hello.release = u.release;
	r.hello.version = u.version;
	r.hello.machine = u.machine;
	if (file_read("/sys/kernel/notes", 65536, &notes, &len, NULL) == 0 &&
	    id_build_from_notes(notes, len, kernel) == 0)
		r.hello.build_id = kernel;
	r.hello.boot_id = boot_id;
	r.hello.cmdline = cmdline;
	r.hello.init = j->c->init;
	r.hello.time_ns = clock_real_ns();
	add(j, &r);
	flush(j);
}

static void emit_fact(void *arg, const struct record_fact *f)
{
	struct record r = { .kind = RECORD_FACT, .fact = *f };

	add(arg, &r);
}

/* The same, and what the hypervisor, if there is one, makes of the time that passes here. */
static void emit_first_fact(void *arg, const struct record_fact *f)
{
	struct job *j = arg;

	emit_fact(j, f);
	if (strcmp(f->name, "hypervisor") != 0 || !f->value || strcmp(j->plan.class, "native") != 0)
		return;
	if (strstr(f->value, "TCG"))
		j->plan.class = "emulated";
	else if (strcmp(f->value, "none") != 0)
		j->plan.class = "kvm";
}

/* Warnings that cannot be seen are not the same as none. */
static void emit_kmsg_why(struct job *j)
{
	struct record r = { .kind = RECORD_FACT };

	r.fact.when = FACT_BEFORE;
	r.fact.class = FACT_VOLATILE;
	r.fact.name = "kernel.log";
	r.fact.value = kmsg_why(j->kmsg) ? NULL : "read";
	r.fact.why = kmsg_why(j->kmsg);
	add(j, &r);
}

struct kernel_lines {
	struct job *j;
	const char *inv;
};

static void emit_kmsg(void *arg, const struct kmsg_line *l)
{
	const struct kernel_lines *k = arg;
	struct record r = { .kind = RECORD_LOG, .inv = k->inv };

	/* Many a message of level 4 is harmless; what begins a report is not. */
	r.log.level = l->report ? "warning" : "info";
	r.log.source = "kernel";
	r.log.text = l->text;
	add(k->j, &r);
}

/* Of one that did not get as far as to write its own. */
static void add_invocation(struct job *j, const struct plan_item *item, const struct workload *w,
			   const char *params, uint64_t started_ns)
{
	struct record r = { .kind = RECORD_INVOCATION, .inv = item->id };
	CLEANUP_JSON json_t *none = json_object();

	invocation_head(w, item, params, j->plan.class, &r.invocation);
	r.invocation.context = j->plan.context ? j->plan.context : none;
	r.invocation.time_ns = started_ns;
	add(j, &r);
	json_decref((json_t *)(uintptr_t)r.invocation.metrics);
}

static void add_end(struct job *j, const struct plan_item *item, const char *params,
		    enum outcome how, const char *reason)
{
	struct record r = { .inv = item->id };

	if (how == OUTCOME_SKIPPED) {
		r.kind = RECORD_SKIP;
		r.skip.workload = item->workload;
		r.skip.params = params;
		r.skip.reason = reason;
		r.skip.implied = item->implied;
		j->skipped++;
	} else {
		r.kind = RECORD_FAIL;
		r.fail.workload = item->workload;
		r.fail.params = params;
		r.fail.reason = reason;
		j->failed++;
	}
	add(j, &r);
}

static void put(json_t *o, bool have, const char *name, double v)
{
	if (have)
		json_object_set_new(o, name, json_num(v));
}

static void put_delta(json_t *values, const struct probe_delta *d)
{
	put(values, d->have_cpu, "steal_ns", (double)d->steal_ns);
	put(values, d->have_cpu, "steal_ratio", d->steal_ratio);
	put(values, d->have_ctxt, "system_switches_count", (double)d->ctxt);
	put(values, d->have_throttled, "throttled_count", (double)d->nr_throttled);
	put(values, d->have_pressure, "pressure_ns", (double)d->pressure_ns);
	put(values, true, "suspended_ns", (double)d->suspended_ns);
	put(values, d->have_clocksource, "clocksource_changed", d->clocksource_changed ? 1 : 0);
}

/* The invocation's last line is its usage: what was seen from outside is added to it (NULL: nothing
 * was looked at). */
static int add_records(struct job *j, const struct str *records, const struct probe_delta *d,
		       const struct plan_item *item)
{
	size_t cut = records->len - 1;
	struct error err = ERROR_INIT;
	struct kernel_lines lines = { j, item->id };
	struct kmsg_news news;
	struct record r, out = { .kind = RECORD_USAGE, .inv = item->id };
	json_t *values;

	while (cut > 0 && records->s[cut - 1] != '\n')
		cut--;
	if (record_decode(records->s + cut, records->len - 1 - cut, &r, &err) < 0 ||
	    r.kind != RECORD_USAGE)
		return error_set(j->e, EBADMSG, "an invocation's records do not end with usage");
	str_add_n(&j->burst, records->s, cut);
	kmsg_new_warnings(j->kmsg, emit_kmsg, &lines, &news);
	values = json_deep_copy(r.usage.values);
	if (d)
		put_delta(values, d);
	out.usage.values = values;
	add(j, &out);
	json_decref(values);
	record_done(&r);
	return 0;
}

static void progress(const struct job *j, size_t i, const char *params)
{
	if (j->c->progress)
		fprintf(stderr, "[%zu/%zu] %s %s\n", i + 1, j->plan.n, j->plan.items[i].workload,
			params);
}

/* Of settings that were found changed, or cannot be put back: for the store and for a person. */
static void say_setting(void *arg, const char *text)
{
	struct record r = { .kind = RECORD_LOG };

	r.log.level = "warning";
	r.log.source = "agent";
	r.log.text = text;
	add(arg, &r);
	fprintf(stderr, "kdelta-agent: %s\n", text);
}

/* The machine as this item wants it; its settings with the values that the kernel tells. */
static int apply_settings(struct job *j, const struct plan_item *item, struct arena *a,
			  struct plan_item *ret, enum outcome *ret_how, char *why, size_t size)
{
	struct error err = ERROR_INIT;
	bool skip = false;
	int r;

	*ret = *item;
	ret->settings = arena_array(a, item->n_settings, sizeof(*ret->settings));
	r = settings_want(j->settings, item->settings, item->n_settings, a, ret->settings, &skip,
			  &err);
	if (r < 0) {
		*ret = *item;
		*ret_how = skip ? OUTCOME_SKIPPED : OUTCOME_FAILED;
		snprintf(why, size, "%.690s", err.text);
	}
	return r;
}

static void run_item(struct job *j, size_t i)
{
	const struct plan_item *item = &j->plan.items[i];
	const struct workload *w = registry_find(item->workload);
	struct kernel_lines lines = { j, item->id };
	struct probe_sample before, after;
	struct error err = ERROR_INIT;
	struct arena arena = ARENA_INIT;
	const char *params = item->params;
	struct supervised s = { .outcome = OUTCOME_FAILED };
	bool exact = !strcmp(j->plan.class, PLAN_EXACT); /* nothing else is there to be seen */
	struct kmsg_news news;
	struct probe_delta d;
	uint64_t started = clock_real_ns();
	CLEANUP_FREE char *key = settings_key(params, item->settings, item->n_settings);
	struct plan_item set;
	enum outcome how;
	struct args args;
	char why[700];

	params = key;
	if (!w) {
		add_end(j, item, params, OUTCOME_FAILED, "this agent has no such workload");
		goto out;
	}
	if (args_parse(run_params(w, &arena), item->params, &arena, &args, &err) < 0) {
		add_end(j, item, params, OUTCOME_FAILED, err.text);
		goto out;
	}
	free(key);
	params = key =
		settings_key(args_canonical(&args, &arena), item->settings, item->n_settings);
	progress(j, i, params);
	if (apply_settings(j, item, &arena, &set, &how, why, sizeof(why)) < 0) {
		add_end(j, item, params, how, why);
		goto out;
	}
	item = &set;
	free(key);
	params = key =
		settings_key(args_canonical(&args, &arena), item->settings, item->n_settings);
	/* The run that asked for n has looked. */
	if (!(exact && item->n) && demand_check(w, &args, why, sizeof(why)) < 0) {
		add_end(j, item, params, OUTCOME_SKIPPED, why);
		goto out;
	}
	if (!exact)
		probe_read(&here, &before);
	if (supervise(&j->plan, item, j->c->self, &s, &err) < 0) {
		add_end(j, item, params, OUTCOME_FAILED, err.text);
		goto out;
	}
	if (!exact) {
		probe_read(&here, &after);
		probe_diff(&before, &after, &d);
	}
	if (s.outcome == OUTCOME_OK &&
	    settings_check(j->settings, item->settings, item->n_settings, &err) < 0) {
		s.outcome = OUTCOME_FAILED;
		snprintf(s.reason, sizeof(s.reason), "%.690s", err.text);
	}
	if (s.outcome == OUTCOME_OK && add_records(j, &s.records, exact ? NULL : &d, item) == 0) {
		j->ok++;
	} else {
		add_invocation(j, item, w, params, started);
		kmsg_new_warnings(j->kmsg, emit_kmsg, &lines, &news);
		add_end(j, item, params, s.outcome, s.reason[0] ? s.reason : "no usage record");
	}
	supervised_done(&s);
out:
	flush(j);
	arena_done(&arena);
}

/*
 * Exact mode: all that is said before goes out, then QEMU stops the machine, and whenever it goes
 * on, it is to do the one item of the plan that it then finds.
 */
static int quiet_point(struct job *j, struct plan *ret, struct error *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t len = 0;
	int r;

	if (perturb_prepare(e) < 0)
		return -EIO;
	quiet_symbols(&j->burst);
	flush(j);
	quiet_wait(&j->burst);
	flush(j);
	r = j->gone ? j->gone : port_flush(j->c->out, e);
	if (!r)
		r = port_stop(e);
	if (!r)
		r = port_read_plan(&text, &len, e);
	if (!r)
		r = plan_decode(text, len, ret, e);
	if (r < 0)
		return r;
	ret->class = PLAN_EXACT;
	j->kept = true;
	j->plan = *ret;
	return 0;
}

/* What went wrong outside of any invocation. */
static void fail_all(struct job *j, const char *reason)
{
	struct record r = { .kind = RECORD_FAIL };

	r.fail.reason = reason;
	add(j, &r);
	j->failed++;
	flush(j);
}

int runner_run(const struct runner_config *c, const struct plan *plan, struct error *e)
{
	bool exact = c->init && !strcmp(plan->class, PLAN_EXACT);
	struct plan run = { .n = 0 };
	struct error why = ERROR_INIT;
	struct job j = { .c = c, .plan = *plan, .e = e, .burst = STR_INIT };
	struct settings_config sc = { "", NULL, !c->init, say_setting, &j };
	struct record done = { .kind = RECORD_DONE };
	struct kernel_lines lines = { &j, NULL };
	struct kmsg_news news;
	unsigned stuck;
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* ignored by whoever started us, children could not be reaped */
	stop_catch();
	kit_tmpdir_sweep_stale(getenv("TMPDIR"));
	hello(&j);
	j.settings = settings_new(&sc);
	settings_recover(j.settings);
	j.kmsg = kmsg_open(&here);
	emit_kmsg_why(&j);
	facts_collect(&here, FACT_BEFORE, emit_first_fact, &j);
	flush(&j);
	if (exact && quiet_point(&j, &run, &why) < 0)
		fail_all(&j, why.text);
	for (i = 0; i < j.plan.n && !j.gone && !stop_asked(); i++)
		run_item(&j, i);
	stuck = settings_restore(j.settings);
	settings_free(j.settings);
	if (stop_asked()) {
		flush(&j);
		stop_die();
	}
	/* A run of exact mode is one of hundreds from one state, and over. */
	if (!exact)
		facts_collect(&here, FACT_AFTER, emit_fact, &j);
	kmsg_new_warnings(j.kmsg, emit_kmsg, &lines, &news);
	done.done.invocations = j.ok;
	done.done.failed = j.failed;
	done.done.skipped = j.skipped;
	add(&j, &done);
	flush(&j);
	if (j.kept)
		port_send(j.burst.s, j.burst.len);
	kmsg_free(j.kmsg);
	str_done(&j.burst);
	plan_done(&run);
	if (j.gone)
		return j.gone;
	return (int)(j.failed + stuck);
}
