/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/campaign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "campaign/accel.h"
#include "campaign/host.h"
#include "campaign/ingest.h"
#include "campaign/kernels.h"
#include "plan/order.h"

#define SILENCE_SPARE_NS (60 * NSEC_PER_SEC)

struct target {
	struct campaign *c;
	const struct campaign_vm *v;
	const struct campaign_host *host;
	json_t *context;
};

struct one_boot {
	struct target *t;
	const struct campaign_kernel *kernel;
	const char *kernel_id;
	unsigned index; /* of the kernel */
	unsigned block, position, total;
};

static enum vm_line on_line(void *arg, const char *line, size_t len, char *why, size_t why_size)
{
	struct error err = ERROR_INIT;
	int r = ingest_line(arg, line, len, &err);

	if (r > 0)
		return VM_LINE_DONE;
	if (!r)
		return VM_LINE_MORE;
	snprintf(why, why_size, "%.280s", err.text);
	return VM_LINE_ABORT;
}

static void tell(struct one_boot *o, const struct vm_result *res, const struct store_boot_end *end)
{
	struct progress *p = &o->t->c->progress;
	char took[40];

	unit_format_time(res->total_ns, took, sizeof(took));
	if (end->state != STORE_OK)
		progress_warn(p, "boot %u/%u %s failed: %s", o->position + 1, o->total,
			      o->kernel->label, end->reason);
	else if (!p->terminal)
		progress_say(p, "boot %u/%u %s: %s", o->position + 1, o->total, o->kernel->label,
			     took);
}

/* The agent notices a workload that hangs before we take the guest for dead. */
static uint64_t silence_ns(const struct target *t)
{
	uint64_t least = t->c->work->heartbeat_ns + 2 * t->c->work->time_ns + SILENCE_SPARE_NS;

	if (t->v->silence_timeout_ns)
		return t->v->silence_timeout_ns;
	return least > VM_SILENCE_TIMEOUT_NS ? least : VM_SILENCE_TIMEOUT_NS;
}

/* Runs it and stores how it ended. Negative: the host's fault, the campaign cannot go on. */
static int run_boot(struct one_boot *o, const char *boot, const char *plan_text,
		    struct campaign_tally *tally, struct error *e)
{
	struct target *t = o->t;
	struct ingest in = { .c = t->c, .image = o->kernel->image, .kernel = o->kernel_id };
	struct vm_config cfg;
	struct store_boot_end end = { .state = STORE_OK };
	CLEANUP_FREE char *reason = NULL;
	struct error host = ERROR_INIT;
	struct vm_result res;
	int r, stored;

	host_config(t->c, t->v, o->kernel, o->index, t->host, &cfg);
	cfg.plan_json = plan_text;
	cfg.silence_timeout_ns = silence_ns(t);
	in.sink = store_sink_new(t->c->store, boot, STORE_IDS_KEEP);
	r = vm_run(&cfg, on_line, &in, &res, &host);
	if (r < 0) {
		end.state = STORE_STOPPED;
		end.reason = host.text;
	} else {
		end.console = res.console_tail;
		end.kernel_warnings = res.kernel_warned ? 1 : 0;
		if (res.end != VM_DONE) {
			reason = res.end == VM_STOPPED || !*res.reason
					 ? mem_strdup(vm_end_name(res.end))
					 : mem_printf("%s: %s", vm_end_name(res.end), res.reason);
			end.state = res.end == VM_STOPPED ? STORE_STOPPED : STORE_FAILED;
			end.reason = reason;
		}
		tell(o, &res, &end);
	}
	stored = ingest_end(&in, boot, &end, tally, e);
	if (r < 0)
		error_set(e, -r, "%s", host.text);
	vm_result_done(&res);
	return r < 0 ? r : stored;
}

static int boot_one(struct one_boot *o, struct campaign_tally *tally, struct error *e)
{
	struct campaign *c = o->t->c;
	struct store_boot b = { .experiment = c->experiment,
				.kernel = o->kernel_id,
				.block = o->block,
				.position = o->position };
	struct plan plan = { .arena = ARENA_INIT };
	char boot[ID_UUID_SIZE];
	CLEANUP_FREE char *text =
		work_plan(c->work, NULL, campaign_host_class(o->t->host), o->t->context, &plan, e);
	size_t before = c->progress.done;
	int r = text ? store_boot_begin(c->store, &b, &plan, boot, e) : -EIO;

	if (!r)
		r = run_boot(o, boot, text, tally, e);
	/* A boot that failed has done its share of the waiting. */
	c->progress.done = before + work_items(c->work);
	progress_step(&c->progress, 1);
	plan_done(&plan);
	return r;
}

int campaign_vm(struct campaign *c, const struct campaign_vm *v, const struct campaign_host *host,
		const struct campaign_kernel *kernels, unsigned n, struct campaign_tally *ret,
		struct error *e)
{
	CLEANUP_FREE char(*ids)[ID_UUID_SIZE] = mem_array(n, ID_UUID_SIZE);
	CLEANUP_FREE struct order_boot *order = order_make(n, v->blocks, v->seed);
	struct target t = { .c = c, .v = v, .host = host };
	unsigned i, total = n * v->blocks;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = campaign_store_kernels(c, kernels, n, ids, e);
	if (r < 0)
		return r;
	t.context = host_context(c, v, host);
	for (i = 0; i < total && !r; i++) {
		struct one_boot o = { .t = &t,
				      .kernel = &kernels[order[i].kernel],
				      .kernel_id = ids[order[i].kernel],
				      .index = order[i].kernel,
				      .block = order[i].block,
				      .position = i,
				      .total = total };

		if (c->stop && *c->stop)
			break;
		if (v->done && v->done[i]) {
			progress_step(&c->progress, work_items(c->work) + 1);
			continue;
		}
		progress_what(&c->progress, "boot %u/%u %.30s", i + 1, total, o.kernel->label);
		r = boot_one(&o, ret, e);
	}
	if (host->kvm && ret->boots_ok)
		accel_worked(host);
	json_decref(t.context);
	return r;
}
