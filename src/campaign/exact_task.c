/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/exact_task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "exact/exact.h"
#include "model/record.h"

/*
 * Whatever is in a plan is read by the guest, and takes instructions: the invocation's own id would
 * take others each time.
 */
#define GUEST_ID "00000000-0000-4000-8000-000000000000"

/* ---- a boot ---- */

static enum vm_line boot_line(void *arg, const char *line, size_t len, char *why, size_t size)
{
	struct exact_task *t = arg;
	struct error err = ERROR_INIT;
	struct record r;
	const char *kind;
	enum vm_line ret = VM_LINE_MORE;

	if (record_decode(line, len, &r, &err) < 0) {
		snprintf(why, size, "%.280s", err.text);
		return VM_LINE_ABORT;
	}
	kind = json_opt_str(r.raw, "k", "");
	if (str_eq(kind, "kallsyms")) {
		free(t->k->kallsyms);
		t->k->kallsyms = mem_strndup(line, len);
	} else {
		str_printf(&t->lines, "%.*s\n", (int)len, line);
	}
	if (str_eq(kind, "quiet")) {
		t->k->restless = !json_opt_bool(r.raw, "quiet", false);
		ret = VM_LINE_DONE;
	}
	if (r.kind == RECORD_FAIL) {
		snprintf(why, size, "the agent failed: %.200s", r.fail.reason);
		ret = VM_LINE_ABORT;
	}
	record_done(&r);
	return ret;
}

static void say_symbols(struct exact_kernel *k, bool known, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say_symbols(struct exact_kernel *k, bool known, const char *fmt, ...)
{
	va_list ap;

	free(k->symbols_said);
	va_start(ap, fmt);
	if (vasprintf(&k->symbols_said, fmt, ap) < 0)
		k->symbols_said = mem_strdup("out of memory");
	va_end(ap);
	k->symbols_known = known;
}

/* The image's symbols hold for this guest only if its own agree. */
static void check_symbols(struct exact_kernel *k)
{
	CLEANUP_JSON json_t *j = NULL;
	struct error err = ERROR_INIT;
	size_t compared = 0;
	int r;

	if (!k->kallsyms ||
	    json_parse(k->kallsyms, strlen(k->kallsyms), "kallsyms", &j, &err) < 0) {
		say_symbols(k, true, "from the image, not verified: the guest told none");
		return;
	}
	r = symbols_verify(k->symbols, json_opt_str(j, "head", ""), &compared, &err);
	if (r == -ESTALE) {
		symbols_free(k->symbols);
		k->symbols = NULL;
		say_symbols(k, false, "%s", err.text);
		return;
	}
	if (r < 0)
		say_symbols(k, true, "from the image, not verified: %s", err.text);
	else
		say_symbols(k, true, "from the image, %zu verified", compared);
	err = (struct error)ERROR_INIT;
	if (symbols_add_modules(k->symbols, json_opt_str(j, "modules", ""), &err) < 0)
		say_symbols(k, true, "from the image; those of modules are missing: %s", err.text);
}

static void find_symbols(struct exact_task *t)
{
	struct exact_kernel *k = t->k;
	const struct image *img = k->kernel->image;
	const char *missing = NULL;
	struct error err = ERROR_INIT;
	uint64_t start = clock_mono_ns();

	if (symbols_open(img->fd, img->build_id, t->cache_dir, img->source_text, &k->symbols,
			 &err) < 0)
		say_symbols(k, false, "%s", err.text);
	else
		check_symbols(k);
	if (k->symbols) {
		k->contexts = exact_contexts(k->symbols, &missing);
		k->contexts_known = !missing;
	}
	t->symbols_ns = clock_mono_ns() - start;
}

static void end_words(struct exact_task *t)
{
	const struct vm_result *res = &t->result;

	if (t->r < 0)
		t->reason = mem_strdup(t->err.text);
	else if (res->end == VM_STOPPED || (res->end != VM_DONE && !*res->reason))
		t->reason = mem_strdup(vm_end_name(res->end));
	else if (res->end != VM_DONE)
		t->reason = mem_printf("%s: %s", vm_end_name(res->end), res->reason);
}

static void do_boot(struct exact_task *t)
{
	t->r = vm_exact_boot(&t->k->cfg, t->smp, boot_line, t, &t->result, &t->k->snapshot,
			     &t->err);
	end_words(t);
	if (!t->reason)
		find_symbols(t);
}

/* ---- a run ---- */

static enum vm_line run_line(void *arg, const char *line, size_t len, char *why, size_t size)
{
	struct exact_task *t = arg;
	struct error err = ERROR_INIT;
	struct record r;
	enum vm_line ret = VM_LINE_MORE;

	if (record_decode(line, len, &r, &err) < 0) {
		snprintf(why, size, "the channel carried no record: %.200s", err.text);
		return VM_LINE_ABORT;
	}
	if (r.kind == RECORD_DONE)
		ret = VM_LINE_DONE;
	else if (r.kind == RECORD_FAIL && !r.inv) {
		snprintf(why, size, "the agent failed: %.200s", r.fail.reason);
		ret = VM_LINE_ABORT;
	} else {
		str_printf(&t->lines, "%.*s\n", (int)len, line);
	}
	record_done(&r);
	return ret;
}

static char *run_plan(const struct exact_task *t)
{
	struct plan_item item = *t->item;
	CLEANUP_JSON json_t *none = json_object();
	struct plan one = *t->plan;

	item.id = GUEST_ID;
	item.n = t->act == EXACT_CALIBRATE ? 0 : t->n;
	item.perturb = t->perturb;
	one.class = PLAN_EXACT;
	one.boot = NULL;
	one.context = none;
	one.items = &item;
	one.n = 1;
	return plan_encode(&one);
}

/* What the usage record of a calibration says; 0: it says none. */
static uint64_t found_n(const struct str *lines)
{
	const char *line = str_get(lines), *end;
	uint64_t n = 0;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		struct record r;

		if (record_decode(line, (size_t)(end - line), &r, NULL) < 0)
			continue;
		if (r.kind == RECORD_USAGE)
			n = (uint64_t)json_number_value(json_object_get(r.usage.values, "n"));
		record_done(&r);
	}
	return n;
}

/* How long the invocation's burst is; *ret_good: it ends in usage. */
static size_t burst_length(const struct str *lines, bool *ret_good)
{
	const char *text = str_get(lines), *line = text, *end;
	size_t len = 0;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		struct record r;

		if (record_decode(line, (size_t)(end - line), &r, NULL) < 0)
			continue;
		if (r.kind == RECORD_USAGE || r.kind == RECORD_SKIP || r.kind == RECORD_FAIL)
			len = (size_t)(end + 1 - text);
		*ret_good |= r.kind == RECORD_USAGE;
		record_done(&r);
	}
	return len;
}

static char *with_id(const char *text, const char *id)
{
	struct str out = STR_INIT;
	const char *at;

	while ((at = strstr(text, GUEST_ID))) {
		str_add_n(&out, text, (size_t)(at - text));
		str_add(&out, id);
		text = at + strlen(GUEST_ID);
	}
	str_add(&out, text);
	return str_take(&out);
}

/* From what the guest and the plugin said to what is stored. */
static void make_burst(struct exact_task *t, const char *counts, size_t len)
{
	struct arena arena = ARENA_INIT;
	struct exact_counts c = { .n = 0 };
	struct str out = STR_INIT;
	bool good = false;
	size_t burst = burst_length(&t->lines, &good);
	int r = 0;

	/* One that failed or was skipped in the guest never came to its end. */
	if (good)
		r = exact_counts_parse(counts ? counts : "", len, &arena, &c, &t->err);
	if (!r)
		r = exact_burst(str_get(&t->lines), burst, &c, t->k->symbols, t->context,
				&t->perturb, &out, &t->err);
	if (r < 0) {
		t->reason = mem_strdup(t->err.text);
	} else {
		CLEANUP_FREE char *named = NULL;

		str_add(&out, str_get(&t->lines) + burst);
		named = with_id(str_get(&out), t->item->id);
		str_reset(&t->lines);
		str_add(&t->lines, named);
	}
	str_done(&out);
	arena_done(&arena);
}

static void do_run(struct exact_task *t)
{
	CLEANUP_FREE char *plan = run_plan(t), *counts = NULL;
	struct vm_exact_run run = {
		.snapshot = &t->k->snapshot,
		.plan_json = plan,
		.plugin = t->act == EXACT_RUN ? t->plugin : NULL,
		.contexts = t->k->contexts,
	};
	size_t len = 0;
	uint64_t start;

	t->r = vm_exact_run(&t->k->cfg, t->smp, &run, run_line, t, &t->result, &counts, &len,
			    &t->err);
	end_words(t);
	start = clock_mono_ns();
	if (!t->reason && t->act == EXACT_CALIBRATE)
		t->n = found_n(&t->lines);
	else if (!t->reason)
		make_burst(t, counts, len);
	t->count_ns = clock_mono_ns() - start;
}

void exact_task_do(struct pool_task *link)
{
	struct exact_task *t = (struct exact_task *)link;
	uint64_t start = clock_mono_ns();

	if (t->act == EXACT_BOOT)
		do_boot(t);
	else
		do_run(t);
	t->host_ns = clock_mono_ns() - start;
}

void exact_task_done(struct exact_task *t)
{
	if (!t)
		return;
	vm_result_done(&t->result);
	memset(&t->result, 0, sizeof(t->result));
	free(t->reason);
	t->reason = NULL;
	str_done(&t->lines);
}

void exact_kernel_done(struct exact_kernel *k)
{
	if (!k)
		return;
	vm_snapshot_done(&k->snapshot);
	symbols_free(k->symbols);
	free(k->contexts);
	free(k->symbols_said);
	free(k->kallsyms);
}
