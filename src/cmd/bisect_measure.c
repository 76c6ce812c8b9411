/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One kernel: is it measured already, and if not, it is. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "cmd/bisect.h"
#include "cmd/common.h"
#include "cmd/vm_kernels.h"
#include "exact/exact.h"
#include "model/exact.h"
#include "vm/exact.h"

void bisect_kernel_done(struct bisect_kernel *k)
{
	free(k->text);
	free(k->label);
	free(k->build_id);
	free(k->shown);
	memset(k, 0, sizeof(*k));
}

/* ---- what does not depend on a kernel ---- */

static int check_metric(const struct bisect *b, struct error *e)
{
	struct str known = STR_INIT;
	const struct metric *m;
	int r = 0;

	for (m = exact_metrics; m->name && !str_eq(m->name, b->metric); m++)
		if (m->kind != METRIC_EVIDENCE)
			str_printf(&known, "%s%s", known.len ? ", " : "", m->name);
	if (!m->name)
		r = error_set(e, ENOENT, "-m: exact mode has no metric '%s': %s", b->metric,
			      str_get(&known));
	else if (m->kind == METRIC_EVIDENCE)
		r = error_set(e, EINVAL, "-m: %s is evidence and never judged: one of %s, ...",
			      b->metric, str_get(&known));
	str_done(&known);
	return r;
}

static int check_options(struct bisect *b, struct error *e)
{
	if (!b->exact)
		return error_set(e, EINVAL,
				 "bisecting by time is not there yet: add --exact, which counts "
				 "instructions in an emulated machine");
	if (!b->m.specs.n)
		return error_set(e, EINVAL,
				 "-w is missing: the workload that changed, such as "
				 "-w getppid (kdelta list workloads)");
	if (b->mem >> 20 < 64 || b->mem >> 20 > 1u << 20)
		return error_set(e, ERANGE, "--mem: wanted 64MiB or more");
	if (b->threshold_text &&
	    (unit_parse_double(b->threshold_text, &b->threshold, NULL) < 0 || !(b->threshold >= 0)))
		return error_set(e, EINVAL, "--threshold: wanted a number of 0 or more, not '%s'",
				 b->threshold_text);
	if (b->append && vm_check_append(b->append, e) < 0)
		return error_prefix(e, "--append");
	if (b->qemu_args && words_split(b->qemu_args, &b->qemu_words, e) < 0)
		return error_prefix(e, "--qemu-args");
	return check_metric(b, e);
}

int bisect_prepare(struct bisect *b, struct error *e)
{
	int r = check_options(b, e);

	b->cv.cpus = 1;
	b->cv.blocks = 1;
	b->cv.mem_mib = (unsigned)(b->mem >> 20);
	b->cv.qemu_args = (const char *const *)b->qemu_words.items;
	if (!r)
		r = measure_prepare(&b->m, EXACT_TIME_NS, e);
	if (!r)
		r = exact_prepare(&b->m, &b->cv, &b->xo, e);
	if (!r && b->m.work.points.n != 1)
		r = error_set(e, EINVAL,
			      "-w %s: that is %zu points, and one is wanted: name the parameters "
			      "of it, as in %s:%s",
			      b->m.specs.items[0], b->m.work.points.n,
			      b->m.work.points.items[0].workload->name,
			      b->m.work.points.items[0].params);
	if (r < 0)
		return r;
	b->point = &b->m.work.points.items[0];
	/* A QEMU that cannot do it is no kernel's fault. */
	r = vm_qemu_version(b->cv.qemu, b->qemu, sizeof(b->qemu), e);
	return r ? r : vm_exact_check(b->cv.qemu, b->qemu, 1, e);
}

static void word(struct str *out, const char *option, const char *value)
{
	if (!value)
		return;
	str_printf(out, " %s ", option);
	cmd_quote(out, value);
}

void bisect_words(const struct bisect *b, struct str *out)
{
	char size[32];

	str_add(out, " --exact");
	if (b->m.specs.n)
		word(out, "-w", b->m.specs.items[0]);
	if (!str_eq(b->metric, "instructions"))
		word(out, "-m", b->metric);
	word(out, "--threshold", b->threshold_text);
	exact_words(&b->xo, out);
	if (b->cv.mem_mib != 512) {
		unit_format_bytes(b->mem, size, sizeof(size));
		str_printf(out, " --mem %s", size);
	}
	word(out, "--cpu", b->cv.cpu_model);
	word(out, "--qemu", b->cv.qemu);
	word(out, "--qemu-args", b->qemu_args);
	word(out, "--tree", b->tree);
	word(out, "--config", b->config);
	word(out, "--append", b->append);
}

/* ---- the experiment ---- */

static char *name_of(const struct bisect *b, const char *form, const char *command)
{
	struct str all = STR_INIT;
	char hash[17], *name;

	str_printf(&all, "%s\n%s\n%s\n%s", command, b->m.known.agent_build_id, b->qemu,
		   b->identity ? b->identity : "");
	id_fnv1a(str_get(&all), all.len, hash);
	str_done(&all);
	hash[8] = '\0';
	name = mem_printf("%s-%s-%s", form, b->point->workload->name, hash);
	return name;
}

static int same_command(const struct bisect *b, const char *command, struct error *e)
{
	struct store_selection sel = { (const char *const *)&b->name, 1, NULL, 0 };
	struct dataset d = DATASET_INIT;
	int r = store_dataset(b->store, &sel, &d, e);
	/* None where nothing was measured yet: it is nobody's. */
	bool any = !r && d.n_experiments;
	const char *then = any ? d.experiments[0].reproduce : NULL;

	if (any && !str_eq(then, command))
		r = error_set(e, EINVAL,
			      "-e %s: that experiment was made by another command (repeat it, or "
			      "use another name): %s",
			      b->name, then ? then : "unknown");
	dataset_done(&d);
	return r;
}

int bisect_open(struct bisect *b, const char *form, const char *command, struct error *e)
{
	struct error none = ERROR_INIT;
	int r = cmd_store(b->m.store_path, true, &b->store, e);

	if (r < 0)
		return r;
	b->name = b->m.experiment ? mem_strdup(b->m.experiment) : name_of(b, form, command);
	b->goes_on = !store_experiment_find(b->store, b->name, b->experiment, &none);
	if (b->goes_on)
		return same_command(b, command, e);
	return store_experiment_begin(b->store,
				      &(struct store_experiment){ .name = b->name,
								  .subject = "kernel",
								  .reproduce = command,
								  .seed = b->xo.seed,
								  .blocks = 1 },
				      b->experiment, e);
}

/* ---- what is stored ---- */

static bool is_kernel(const struct ds_kernel *d, const struct bisect_kernel *k)
{
	if (!str_eq(d->label, k->label) || !str_eq(d->source, k->text))
		return false;
	return !d->build_id || !k->build_id || str_eq(d->build_id, k->build_id);
}

/* Other digits would come of another agent or QEMU. */
static bool same_tools(const struct bisect *b, const char *context)
{
	json_t *j CLEANUP_JSON = NULL;

	if (!context || json_parse(context, strlen(context), "context", &j, NULL) < 0)
		return false;
	return str_eq(json_opt_str(j, "agent", NULL), b->m.known.agent_build_id) &&
	       str_eq(json_opt_str(j, "qemu", NULL), b->qemu);
}

static int wrong_tools(const struct bisect *b, const struct bisect_kernel *k, struct error *e)
{
	return error_set(e, EINVAL,
			 "-e %s: %s was measured there with another kdelta-agent or QEMU, which "
			 "makes other digits: use another name",
			 b->name, k->label);
}

struct found {
	unsigned values; /* perturbations that ended well */
	bool ended;	 /* a boot came to its end, good or bad */
	const char *why; /* the first reason of a failure */
};

static int look_at(const struct bisect *b, const struct bisect_kernel *k, const struct dataset *d,
		   unsigned kernel, struct found *f, struct error *e)
{
	uint64_t seen = 0; /* --perturb is at most 64, and 0 may be one */
	size_t i;

	for (i = 0; i < d->n_boots; i++) {
		if (d->boots[i].kernel != kernel)
			continue;
		f->ended |= d->boots[i].state == DS_OK || d->boots[i].state == DS_FAILED;
		if (d->boots[i].state == DS_FAILED && !f->why)
			f->why = d->boots[i].reason;
	}
	for (i = 0; i < d->n_invocations; i++) {
		const struct ds_invocation *v = &d->invocations[i];

		if (d->boots[v->boot].kernel != kernel || !str_eq(v->class, EXACT_CLASS) ||
		    !str_eq(v->workload, b->point->workload->name) ||
		    !str_eq(v->params, b->point->params))
			continue;
		if (v->state != DS_OK && !f->why)
			f->why = v->reason;
		if (v->state != DS_OK)
			continue;
		if (!same_tools(b, v->context))
			return wrong_tools(b, k, e);
		if (v->has_perturb && v->perturb < 64 && !(seen & 1ull << v->perturb))
			f->values++;
		if (v->has_perturb && v->perturb < 64)
			seen |= 1ull << v->perturb;
	}
	return 0;
}

/* 1: it is stored, good or bad; 0: it is to be measured. */
static int look(struct bisect *b, const struct bisect_kernel *k, struct bisect_result *ret,
		struct error *e)
{
	const char *id = b->experiment;
	struct store_selection sel = { &id, 1, NULL, 0 };
	struct dataset d = DATASET_INIT;
	struct found f = { .values = 0 };
	int r = store_dataset(b->store, &sel, &d, e);
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < d.n_kernels && !r; i++)
		if (is_kernel(&d.kernels[i], k))
			r = look_at(b, k, &d, (unsigned)i, &f, e);
	/* All kernels are measured in batches of the same length. */
	if (!b->xo.x.n_known)
		campaign_exact_know_all(&b->xo.x, &d);
	ret->ok = f.values >= b->xo.perturb;
	ret->stored = ret->ok || f.ended;
	if (!ret->ok)
		snprintf(ret->why, sizeof(ret->why), "%s",
			 f.why ? f.why : "it did not run the workload");
	dataset_done(&d);
	return r < 0 ? r : ret->stored;
}

/* ---- measuring ---- */

/* One that does not build or could never boot is passed over; what else fails, fails for all. */
static int open_kernel(struct bisect *b, const struct bisect_kernel *k, struct vm_kernels *v,
		       struct bisect_result *ret, struct error *e)
{
	char *text = k->text;
	int r = vm_kernels_parse(v, &text, 1, 1, e);

	if (r < 0)
		return r;
	free(v->spec[0].label);
	v->spec[0].label = mem_strdup(k->label);
	r = vm_kernels_open(v, &b->m.quiet, e);
	if (r == -ENOEXEC && v->skipped)
		snprintf(ret->why, sizeof(ret->why), "does not build");
	else if (r == -ENOTSUP)
		snprintf(ret->why, sizeof(ret->why), "%.299s", e->text);
	else
		return r;
	error_clear(e);
	return 1;
}

static int measure(struct bisect *b, const struct bisect_kernel *k, struct bisect_result *ret,
		   struct error *e)
{
	struct vm_kernels v = { .tree = b->tree, .qemu_args = b->qemu_args };
	struct campaign c = { .store = b->store,
			      .agent = b->m.agent,
			      .agent_build_id = b->m.known.agent_build_id,
			      .work = &b->m.work,
			      .stop = cmd_stop() };
	struct campaign_tally tally = { .boots_ok = 0 };
	struct campaign_host host;
	int r = open_kernel(b, k, &v, ret, e);

	memcpy(c.experiment, b->experiment, sizeof(c.experiment));
	c.progress.on = !b->m.quiet;
	if (!r) {
		r = exact_host(&c, &b->cv, &b->xo, v.kernel, v.total, &host, e);
		if (!r)
			r = exact_measure(&b->m, &b->cv, &b->xo, &host, v.kernel, v.total, &c,
					  &tally, e);
		campaign_host_done(&host);
		if (r == -ENOTSUP) {
			snprintf(ret->why, sizeof(ret->why), "%.299s", e->text);
			error_clear(e);
			r = 1;
		}
	}
	vm_kernels_done(&v);
	if (*c.stop && r <= 0) {
		error_clear(e);
		r = error_set(e, ECANCELED, "interrupted");
	}
	/* Something of this machine's that would fail for the others as well. */
	if (!r && error_is_set(e))
		r = -e->code;
	return r;
}

int bisect_measure(struct bisect *b, const struct bisect_kernel *k, struct bisect_result *ret,
		   struct error *e)
{
	int r = look(b, k, ret, e);

	if (r)
		return r < 0 ? r : 0;
	r = measure(b, k, ret, e);
	if (r)
		return r < 0 ? r : 0;
	r = look(b, k, ret, e);
	ret->stored = false;
	return r < 0 ? r : 0;
}

void bisect_done(struct bisect *b)
{
	store_close(b->store);
	words_done(&b->qemu_words);
	exact_options_done(&b->xo);
	measure_done(&b->m);
	free(b->identity);
	free(b->name);
}
