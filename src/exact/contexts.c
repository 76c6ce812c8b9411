/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions of a kernel tell contexts apart. Names are matched without what a compiler
 * appends (.isra.0, .constprop.1), but not in the parts it split off (.cold): those are no entries.
 * Source: arch/x86/include/asm/idtentry.h, kernel/entry/common.c, kernel/softirq.c,
 * kernel/sched/idle.c, kernel/workqueue.c, kernel/rcu/.
 */
#include "exact/exact.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/* '*' at the end of a name stands for any rest. */
static const char *const hardirq_enter[] = {
	"asm_sysvec_*",
	"asm_common_interrupt",
	"asm_spurious_interrupt*",
	NULL,
};
static const char *const hardirq_exit[] = { "irqentry_exit", NULL };
/* Only the idle task runs these, and one of them each time around. */
static const char *const idle[] = {
	"do_idle",
	"default_idle_call",
	"default_idle",
	"native_safe_halt",
	"acpi_idle_enter",
	"acpi_idle_do_entry",
	"acpi_idle_enter_bm",
	"acpi_idle_lpi_enter",
	"cpu_idle_poll",
	"poll_idle",
	"intel_idle",
	"intel_idle_irq",
	"intel_idle_ibrs",
	"intel_idle_xstate",
	"intel_idle_hlt*",
	"mwait_idle",
	"cpuidle_enter",
	"cpuidle_enter_state",
	NULL,
};
static const char *const kworker[] = { "worker_thread", "process_one_work", NULL };
/* Kernel threads that do what softirqs left over, and RCU's. */
static const char *const rcu[] = {
	"rcu_gp_kthread",      "rcu_gp_init",
	"rcu_gp_cleanup",      "rcu_gp_fqs_loop",
	"rcu_cpu_kthread",     "rcu_boost_kthread",
	"rcu_tasks_kthread",   "rcu_tasks_one_gp",
	"rcu_nocb_gp_kthread", "nocb_gp_wait",
	"rcu_nocb_cb_kthread", "nocb_cb_wait",
	"run_ksoftirqd",       NULL,
};

static bool name_matches(const char *name, const char *pattern)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1) && !strstr(name, ".cold");
	if (strncmp(name, pattern, n) != 0)
		return false;
	return !name[n] || (name[n] == '.' && !strstr(name + n, ".cold"));
}

static bool is_one_of(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (name_matches(name, *patterns))
			return true;
	return false;
}

/* A line for each symbol of these names; how many. Aliases of one address are one. */
static unsigned add_all(struct str *out, const struct symbols *s, const char *keyword,
			const char *const *patterns)
{
	uint64_t last = 0;
	unsigned n = 0;
	size_t i;

	for (i = 0; i < symbols_count(s); i++) {
		const struct symbol *y = symbols_get(s, i);

		if (y->module || !symbol_is_text(y) || y->addr == last ||
		    !is_one_of(y->name, patterns))
			continue;
		str_printf(out, "%s %" PRIx64 "\n", keyword, y->addr);
		last = y->addr;
		n++;
	}
	return n;
}

/* The same of one function, with its end. */
static bool add_range(struct str *out, const struct symbols *s, const char *keyword,
		      const char *name)
{
	size_t i;

	for (i = 0; i < symbols_count(s); i++) {
		const struct symbol *y = symbols_get(s, i);

		if (y->module || !symbol_is_text(y) || !name_matches(y->name, name))
			continue;
		str_printf(out, "%s %" PRIx64 " %" PRIx64 "\n", keyword, y->addr, y->end);
		return true;
	}
	return false;
}

char *exact_contexts(const struct symbols *s, const char **ret_missing)
{
	struct str out = STR_INIT;

	*ret_missing = NULL;
	if (!s)
		*ret_missing = "all symbols";
	else if (!add_all(&out, s, "hardirq_enter", hardirq_enter))
		*ret_missing = hardirq_enter[0];
	else if (!add_all(&out, s, "hardirq_exit", hardirq_exit))
		*ret_missing = hardirq_exit[0];
	/* Since 6.11, and in stable kernels before, ksoftirqd comes in behind __do_softirq. */
	else if (!add_range(&out, s, "softirq", "handle_softirqs") &&
		 !add_range(&out, s, "softirq", "__do_softirq"))
		*ret_missing = "__do_softirq";
	else if (!add_range(&out, s, "switch", "__switch_to_asm"))
		*ret_missing = "__switch_to_asm";
	if (*ret_missing) {
		str_done(&out);
		return mem_strdup("");
	}
	add_all(&out, s, "idle", idle);
	add_all(&out, s, "kworker", kworker);
	add_all(&out, s, "rcu", rcu);
	return str_take(&out);
}
