/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/derive.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Is the line NAME=y there? */
static bool has(const char *config, const char *name)
{
	size_t len = strlen(name);
	const char *p = config;

	while (p && (p = strstr(p, name))) {
		if ((p == config || p[-1] == '\n') && !strncmp(p + len, "=y", 2) &&
		    (!p[len + 2] || p[len + 2] == '\n' || p[len + 2] == '\r'))
			return true;
		p += len;
	}
	return false;
}

static const char *value_of(const struct ds_boot *b, const char *name)
{
	const struct ds_fact *f = dataset_fact_of(b, FACT_BEFORE, name);

	return f ? f->value : NULL;
}

/* The start of what stands behind the last "NAME=" of a command line; *len 0: not there. */
static const char *word_of(const char *cmdline, const char *name, size_t *len)
{
	size_t n = strlen(name);
	const char *p = cmdline, *last = "";

	while (p && (p = strstr(p, name))) {
		if (p == cmdline || p[-1] == ' ')
			last = p + n;
		p += n;
	}
	*len = strcspn(last, " \n");
	return last;
}

/*
 * Built for virt-gen, a kernel still counts ticks until a CPU is tracked. Interrupt time wants a
 * stable TSC: tsc=noirqtime and the like are not looked for.
 */
static bool cputime(const char *config, const char *nohz_full, char *ret, size_t size)
{
	bool tracked = nohz_full && strcmp(nohz_full, "none") != 0;
	const char *kind = tracked ? "virt-gen" : NULL;

	if (!config && !kind)
		return false;
	if (config && has(config, "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE"))
		kind = "virt-native";
	else if (config && has(config, "CONFIG_VIRT_CPU_ACCOUNTING_GEN"))
		kind = tracked || has(config, "CONFIG_CONTEXT_TRACKING_USER_FORCE") ||
				       has(config, "CONFIG_CONTEXT_TRACKING_FORCE")
			       ? "virt-gen"
			       : "tick";
	else if (config && has(config, "CONFIG_TICK_CPU_ACCOUNTING"))
		kind = "tick";
	if (!kind)
		return false;
	snprintf(ret, size, "%s%s", kind,
		 config && has(config, "CONFIG_IRQ_TIME_ACCOUNTING") ? ", irq-time" : "");
	return true;
}

static bool preemption(const char *config, const char *cmdline, char *ret, size_t size)
{
	static const char *const models[][2] = {
		{ "none", "CONFIG_PREEMPT_NONE" },
		{ "voluntary", "CONFIG_PREEMPT_VOLUNTARY" },
		{ "lazy", "CONFIG_PREEMPT_LAZY" },
		{ "full", "CONFIG_PREEMPT" },
	};
	const char *now = NULL, *word;
	size_t len, i;

	/* A word that the kernel does not know changes nothing. */
	word = word_of(cmdline, "preempt=", &len);
	for (i = 0; i < 4; i++)
		if (len && strlen(models[i][0]) == len && !strncmp(word, models[i][0], len))
			now = models[i][0];
	for (i = 0; i < 4 && !now && config; i++)
		if (has(config, models[i][1]))
			now = models[i][0];
	if (now)
		snprintf(ret, size, "dynamic, now %s", now);
	return now != NULL;
}

static void add(struct dataset *d, unsigned boot, const char *name, const char *value)
{
	const struct ds_fact f = {
		.when = FACT_BEFORE, .class = FACT_DERIVED, .name = name, .value = value
	};
	struct ds_boot *b = &d->boots[boot];
	size_t i;

	for (i = 0; i < b->n_facts; i++) {
		/* Both readings, unless one knows better. */
		if (strcmp(b->facts[i].name, name) != 0 ||
		    (b->facts[i].value && !str_eq(b->facts[i].value, "dynamic")))
			continue;
		b->facts[i].value = arena_strdup(&d->arena, value);
		b->facts[i].why = NULL;
	}
	if (!dataset_fact_of(b, FACT_BEFORE, name))
		dataset_boot_fact(d, boot, &f);
}

static void derive_boot(struct dataset *d, unsigned boot)
{
	const struct ds_boot *b = &d->boots[boot];
	const struct ds_kernel *k = &d->kernels[b->kernel];
	const char *cmdline = value_of(b, "cmdline"), *seen = value_of(b, "preemption");
	char text[40];

	if (cputime(k->config, value_of(b, "cpus.nohz_full"), text, sizeof(text)))
		add(d, boot, DERIVE_CPUTIME, text);
	if (k->config && has(k->config, "CONFIG_SMP") && !value_of(b, "sched_smt"))
		add(d, boot, "sched_smt", has(k->config, "CONFIG_SCHED_SMT") ? "on" : "off");
	if (str_eq(seen, "dynamic") &&
	    preemption(k->config, cmdline ? cmdline : k->cmdline, text, sizeof(text)))
		add(d, boot, "preemption", text);
}

void derive_facts(struct dataset *d)
{
	size_t i;

	for (i = 0; i < d->n_boots; i++)
		if (d->boots[i].kernel < d->n_kernels)
			derive_boot(d, (unsigned)i);
}
