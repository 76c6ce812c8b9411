/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/unit.h"
#include "base/words.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/measure.h"
#include "cmd/report.h"
#include "cmd/vm_exact.h"
#include "cmd/vm_kernels.h"
#include "plan/order.h"

#define VM_TIME_NS (7 * NSEC_PER_SEC)
#define VM_BOOTS   4u

static uint64_t cost_ns(const struct measure *m, const struct campaign_vm *cv, unsigned kernels)
{
	return (work_cost_ns(&m->work) + WORK_BOOT_NS) * kernels * cv->blocks;
}

static int dry_run(const struct measure *m, const struct campaign_vm *cv,
		   const struct vm_kernels *v)
{
	const struct sets *sets = &m->work.sets;
	unsigned boots = (unsigned)sets_count(sets, true), total = v->n * boots, i;
	CLEANUP_FREE struct order_boot *order = order_make(total, cv->blocks, cv->seed);
	CLEANUP_FREE char *text = order_text(order, total, cv->blocks);
	struct error err = ERROR_INIT;
	struct arena arena = ARENA_INIT;
	struct str out = STR_INIT;
	char cost[40], from[80];

	unit_format_time(cost_ns(m, cv, total), cost, sizeof(cost));
	str_printf(&out, "Would boot %u kernel%s, %u time%s each (%s), about %s.\n", total,
		   total == 1 ? "" : "s", cv->blocks, cv->blocks == 1 ? "" : "s", text, cost);
	for (i = 0; i < total && !error_is_set(&err); i++) {
		const char *words = sets_boot_words(sets, i % boots, &arena);

		if (vm_kernels_whence(v, i / boots, from, sizeof(from), &err) < 0)
			break;
		str_printf(&out, "  %c  %s%s%s%s\n", i < 26 ? (char)('A' + i) : '?',
			   v->spec[i / boots].text, *words ? "  with " : "", words, from);
	}
	str_printf(&out, "Each boot: %zu invocations of %zu point%s.\n", work_items(&m->work),
		   m->work.points.n, m->work.points.n == 1 ? "" : "s");
	for (i = 0; i < m->work.points.n; i++)
		str_printf(&out, "  %s%s%s\n", m->work.points.items[i].workload->name,
			   *m->work.points.items[i].params ? " " : "",
			   m->work.points.items[i].params);
	measure_tell_sets(m, &out);
	arena_done(&arena);
	if (error_is_set(&err)) {
		str_done(&out);
		return cmd_bad(&err);
	}
	return cmd_print(&out, CMD_OK);
}

/* The command that repeats this one, seed and all. */
static void reproduce(const struct measure *m, const struct campaign_vm *cv, bool kvm,
		      const struct vm_kernels *v, struct str *out)
{
	str_printf(out, "kdelta vm --boots %u --seed %llu", cv->blocks,
		   (unsigned long long)cv->seed);
	measure_words(m, out);
	if (cv->cpus != 1)
		str_printf(out, " --cpus %u", cv->cpus);
	if (cv->mem_mib != 512)
		str_printf(out, " --mem %uMiB", cv->mem_mib);
	str_printf(out, " --accel %s", kvm ? "kvm" : "tcg");
	vm_words(cv, v, out);
}

static int no_gate(struct error *e)
{
	return error_set(e, EINVAL, "--fail-on: emulated results have no verdict that could fail");
}

static uint64_t new_seed(void)
{
	uint32_t v = 0;

	if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		v = (uint32_t)clock_real_ns();
	return v;
}

/* An experiment of that name goes on: what of its order worked is not done again. */
struct resumed {
	bool old;
	bool *done; /* by position */
};

static int same_kernels(const struct dataset *d, const struct vm_kernels *v, const char *name,
			struct error *e)
{
	unsigned i;

	for (i = 0; i < v->total && i < d->n_kernels; i++)
		if (!str_eq(d->kernels[i].label, v->kernel[i].label))
			break;
	if (i == v->total && i == d->n_kernels)
		return 0;
	return error_set(e, EINVAL,
			 "-e %s: it compares other kernels (%zu, the first '%s'): give the same in "
			 "the same order, or another name",
			 name, d->n_kernels, d->n_kernels ? d->kernels[0].label : "");
}

static void mark_done(const struct dataset *d, const struct vm_kernels *v,
		      const struct order_boot *order, unsigned total, bool *done)
{
	unsigned i;
	size_t b;

	for (b = 0; b < d->n_boots; b++)
		for (i = 0; i < total && d->boots[b].state == DS_OK; i++)
			if (order[i].block == d->boots[b].block &&
			    order[i].kernel == d->boots[b].kernel && order[i].kernel < v->total)
				done[i] = true;
}

/*
 * Boots are of one experiment only if all of them were asked for the same: workloads, settings,
 * the machine, the kernels. The command that repeats it says all of that.
 */
static int same_command(const struct measure *m, const struct campaign_vm *cv, bool kvm,
			const struct vm_kernels *v, const struct ds_experiment *x, struct error *e)
{
	struct campaign_vm then = *cv;
	struct str words = STR_INIT;
	int r = 0;

	then.seed = x->seed;
	then.blocks = x->blocks;
	reproduce(m, &then, kvm, v, &words);
	if (!str_eq(str_get(&words), x->reproduce))
		r = error_set(
			e, EINVAL,
			"-e %s: that experiment was made by another command (repeat it, or use "
			"another name): %s",
			m->experiment, x->reproduce ? x->reproduce : "unknown");
	str_done(&words);
	return r;
}

/* `cv` comes with the seed and boots that were asked for (UINT64_MAX, 0: not). */
static int resume(const struct measure *m, struct store *s, const struct vm_kernels *v, bool kvm,
		  struct campaign_vm *cv, struct resumed *ret, struct error *e)
{
	struct store_selection sel = { &m->experiment, 1, NULL, 0 };
	CLEANUP_FREE struct order_boot *order = NULL;
	struct dataset d = DATASET_INIT;
	struct error none = ERROR_INIT;
	char id[ID_UUID_SIZE];
	int r = 0;

	ret->old = m->experiment && !store_experiment_find(s, m->experiment, id, &none);
	if (!ret->old) {
		cv->seed = cv->seed == UINT64_MAX ? new_seed() : cv->seed;
		cv->blocks = cv->blocks ? cv->blocks : VM_BOOTS;
		return 0;
	}
	r = store_dataset(s, &sel, &d, e);
	if (!r && (!d.n_experiments || !d.experiments[0].blocks))
		r = error_set(e, EINVAL, "-e %s: that experiment was not made by `kdelta vm`",
			      m->experiment);
	if (!r)
		r = same_kernels(&d, v, m->experiment, e);
	if (!r && cv->seed != UINT64_MAX && cv->seed != d.experiments[0].seed)
		r = error_set(e, EINVAL, "-e %s: its order has the seed %llu: leave --seed out",
			      m->experiment, (unsigned long long)d.experiments[0].seed);
	if (!r)
		r = same_command(m, cv, kvm, v, &d.experiments[0], e);
	if (!r) {
		cv->seed = d.experiments[0].seed;
		if (cv->blocks < d.experiments[0].blocks)
			cv->blocks = d.experiments[0].blocks;
		order = order_make(v->total, cv->blocks, cv->seed);
		ret->done = mem_array((size_t)v->total * cv->blocks, sizeof(*ret->done));
		mark_done(&d, v, order, v->total * cv->blocks, ret->done);
		cv->done = ret->done;
	}
	dataset_done(&d);
	return r;
}

/* Makes the experiment, or finds it and its place in the order, and runs what is left. */
static int campaign(struct measure *m, struct campaign_vm *cv, const struct vm_kernels *v,
		    const struct campaign_host *host, struct campaign *c,
		    struct campaign_tally *tally, struct error *e)
{
	CLEANUP_FREE struct order_boot *order = NULL;
	CLEANUP_FREE char *text = NULL;
	struct resumed old = { .done = NULL };
	struct str words = STR_INIT;
	size_t steps;
	bool found;
	int r = resume(m, c->store, v, host->kvm, cv, &old, e);

	if (r < 0)
		return r;
	order = order_make(v->total, cv->blocks, cv->seed);
	text = order_text(order, v->total, cv->blocks);
	reproduce(m, cv, host->kvm, v, &words);
	r = measure_experiment(
		m, c->store,
		&(struct store_experiment){ .name = m->experiment,
					    .subject = m->subject ? m->subject : "kernel",
					    .order = text,
					    .seed = cv->seed,
					    .blocks = cv->blocks,
					    .reproduce = str_get(&words) },
		c->experiment, &found, e);
	if (!r && found)
		r = store_experiment_extend(c->store, c->experiment, cv->blocks, text,
					    str_get(&words), e);
	str_done(&words);
	steps = (work_items(&m->work) + 1) * v->total * cv->blocks;
	if (!r) {
		progress_start(&c->progress, m->quiet, steps, cost_ns(m, cv, v->total));
		r = campaign_vm(c, cv, host, v->kernel, v->total, tally, e);
		progress_end(&c->progress);
	}
	free(old.done);
	return r;
}

static int vm(struct measure *m, struct campaign_vm *cv, const struct vm_kernels *v,
	      const struct report_options *ro)
{
	struct campaign c = { .work = &m->work, .agent = m->agent, .stop = cmd_stop() };
	struct campaign_tally tally = { .boots_ok = 0 };
	struct error err = ERROR_INIT;
	struct campaign_host host;
	int r;

	c.agent_build_id = m->known.agent_build_id;
	c.progress.on = !m->quiet;
	/* Before there is an experiment that could never have a boot. */
	r = campaign_vm_prepare(&c, cv, v->kernel, v->total, &host, &err);
	if (!r && ro->fail_on && !host.kvm)
		r = no_gate(&err);
	if (!r)
		r = cmd_store(m->store_path, true, &c.store, &err);
	if (!r)
		r = campaign(m, cv, v, &host, &c, &tally, &err);
	campaign_host_done(&host);
	return vm_report(m, v, ro, false, &c, &tally, r, &err);
}

int cmd_vm(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta vm [OPTION]... [LABEL=]KERNEL...",
		.summary =
			"Boots each kernel several times in QEMU, measures, and prints the comparison.",
		.description =
			"KERNEL is a bzImage or vmlinux, a kernel .deb, a build tree, running,\n"
			"installed:RELEASE, debian:RELEASE (downloaded by apt into a cache), or\n"
			"git:REV[,config=FILE] (built from the kernel tree in this folder); then\n"
			"optionally ,append=WORDS for the kernel's command line, which comes last and\n"
			"takes the rest. The first kernel is the base. Boots come in blocks of one of\n"
			"each, in random order within a block.\n\n"
			"With KVM results have the class \"kvm\". Without it the guest's clock measures\n"
			"QEMU's emulation: the class is \"emulated\", with a ratio and an interval, and\n"
			"no verdict.\n\n"
			"With --exact QEMU counts instructions instead: the digits repeat, a difference\n"
			"of one instruction shows, and kdelta profile says in which functions it lies.\n"
			"Instructions are not time.",
		.examples =
			"  kdelta vm --exact -w pipe git:HEAD~1 git:HEAD\n"
			"  kdelta vm -s demo debian:6.1.0-47-cloud-amd64 debian:6.1.0-57-cloud-amd64\n"
			"  kdelta vm -w fork old=./bzImage.old new=./bzImage\n"
			"  kdelta vm -w fork plain=./bzImage debug=./bzImage,append=slub_debug=FZPU\n"
			"  kdelta vm -w pipe git:HEAD~1 git:HEAD\n"
			"  kdelta vm --set boot:mitigations=auto+off --set vm.swappiness=60+0 ./bzImage",
	};
	struct measure m = { .experiment = NULL };
	struct report_options ro = REPORT_OPTIONS_INIT;
	struct campaign_vm cv = { .accel = "auto" };
	struct vm_kernels v = { .n = 0 };
	struct words args = { NULL, 0, 0 };
	struct exact_options xo = EXACT_OPTIONS_INIT;
	bool exact = false;
	uint64_t boots = 0, seed = UINT64_MAX, cpus = 1, mem = 512u << 20;
	const struct option table[] = {
		{ 0, "boots", OPTION_UINT, &boots, "N", NULL, 1, 1000,
		  "boots of each kernel (default 4); of an experiment\nthat goes on: in all" },
		MEASURE_OPTIONS(&m, "for the workloads of one boot (default 7s)"),
		{ 0, "seed", OPTION_UINT, &seed, "N", NULL, 0, UINT32_MAX,
		  "of the order of boots (default: a new one)" },
		{ 0, "cpus", OPTION_UINT, &cpus, "N", NULL, 1, 255, "of a guest (default 1)" },
		{ 0, "mem", OPTION_BYTES, &mem, "SIZE", NULL, 0, 0, "of a guest (default 512MiB)" },
		{ 0, "exact", OPTION_FLAG, &exact, NULL, NULL, 0, 0,
		  "count instructions: the same digits in every run and\non any host; one boot a kernel" },
		EXACT_OPTIONS(&xo),
		{ 0, "accel", OPTION_CHOICE, &cv.accel, NULL, "auto|kvm|tcg", 0, 0,
		  "what runs a guest (default auto: KVM if a boot\nwith it works, else TCG)" },
		{ 0, "cpu", OPTION_TEXT, &cv.cpu_model, "MODEL", NULL, 0, 0,
		  "QEMU's CPU model (default host with KVM, else max)" },
		{ 0, "tree", OPTION_TEXT, &v.tree, "DIR", NULL, 0, 0,
		  "kernel tree of git:REV (default: this folder)" },
		{ 0, "qemu", OPTION_TEXT, &cv.qemu, "FILE", NULL, 0, 0,
		  "the QEMU to use (default qemu-system-x86_64)" },
		{ 0, "qemu-args", OPTION_TEXT, &v.qemu_args, "ARGS", NULL, 0, 0,
		  "words to add to its command line; quotes hold\nspaces" },
		{ 0, "boot-timeout", OPTION_TIME, &cv.boot_timeout_ns, "TIME", NULL, 0, 0,
		  "to the first record (default 120s)" },
		{ 0, "silence-timeout", OPTION_TIME, &cv.silence_timeout_ns, "TIME", NULL, 0, 0,
		  "between records (default 120s)" },
		REPORT_OPTION_METRIC(&ro),
		REPORT_OPTION_ALL(&ro),
		REPORT_OPTION_MARGIN(&ro),
		REPORT_OPTION_FAIL_ON(&ro),
		REPORT_OPTION_FORMAT(&ro),
		CMD_STORE_OPTION(&m.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done), r = 0;

	if (done)
		goto out;
	cv.blocks = (unsigned)boots;
	cv.seed = seed;
	cv.cpus = (unsigned)cpus;
	cv.mem_mib = (unsigned)(mem >> 20);
	if (at == argc)
		r = error_set(&err, EINVAL, "vm wants kernels: kdelta vm OLD NEW (see --help)");
	else if (cv.mem_mib < 64 || mem >> 20 > 1u << 20)
		r = error_set(&err, ERANGE, "--mem: wanted 64MiB or more");
	else if (ro.fail_on && str_eq(cv.accel, "tcg") && !exact)
		r = no_gate(&err);
	else if (exact && (boots || seed != UINT64_MAX))
		r = error_set(
			&err, EINVAL,
			"--exact has one boot a kernel: leave --%s out (--perturb says how many "
			"runs of each workload)",
			boots ? "boots" : "seed");
	else if (ro.fail_on && exact_check_gate(ro.fail_on, exact, &err) < 0)
		r = -EINVAL;
	else if (!exact && exact_asked(&xo))
		r = error_set(
			&err, EINVAL,
			"--perturb, --perturb-seed, --smp, --jobs and --timing go with --exact");
	if (!r && v.qemu_args && words_split(v.qemu_args, &args, &err) < 0)
		r = error_prefix(&err, "--qemu-args");
	cv.qemu_args = (const char *const *)args.items;
	if (!r)
		r = report_check(&ro, &err);
	if (!r)
		r = measure_prepare(&m, VM_TIME_NS, &err);
	if (!r && exact)
		r = exact_prepare(&m, &cv, &xo, &err);
	if (!r && exact)
		r = exact_check_metrics(&ro.metrics, &err);
	else if (!r)
		r = measure_check_metrics(&m, &ro.metrics, &err);
	if (!r)
		r = vm_kernels_parse(&v, argv + at, (unsigned)(argc - at),
				     sets_count(&m.work.sets, true), &err);
	if (!r && m.dry_run && exact) {
		code = vm_exact_dry_run(&m, &cv, &xo, &v);
	} else if (!r && m.dry_run) {
		cv.blocks = boots ? (unsigned)boots : VM_BOOTS;
		cv.seed = seed == UINT64_MAX ? new_seed() : seed;
		code = dry_run(&m, &cv, &v);
	}
	if (!r && !m.dry_run)
		r = vm_kernels_open(&v, &m.quiet, &err);
	if (!r && !m.dry_run)
		r = vm_kernels_cross(&v, &m.work.sets, &err);
	if (r < 0)
		code = cmd_bad(&err);
	if (r < 0 && (v.skipped || *cmd_stop()))
		code = CMD_PARTIAL;
	if (!r && !m.dry_run)
		code = exact ? vm_exact(&m, &cv, &xo, &v, &ro) : vm(&m, &cv, &v, &ro);
out:
	vm_kernels_done(&v);
	words_done(&args);
	exact_options_done(&xo);
	measure_done(&m);
	report_options_done(&ro);
	return code;
}
