/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "facts/reader.h"

/*
 * The head of /proc/cpuinfo is enough: processors are alike, and with thousands of them the whole
 * has megabytes and takes long.
 */
#define CPUINFO_MAX (1u << 16)
#define MEMINFO_MAX (1u << 16)

#define CPU    "/sys/devices/system/cpu"
#define THP    "/sys/kernel/mm/transparent_hugepage"
#define SYSCTL "/proc/sys"
#define SCHED  "/sys/kernel/debug/sched"

static const struct fact_row rows[] = {
	{ "release", FACT_IDENTITY, fact_read_uname, "release" },
	{ "version", FACT_IDENTITY, fact_read_uname, "version" },
	{ "machine", FACT_IDENTITY, fact_read_uname, "machine" },
	{ "build_id", FACT_IDENTITY, fact_read_build_id, "/sys/kernel/notes" },
	{ "cmdline", FACT_IDENTITY, fact_read_cmdline, "/proc/cmdline" },

	{ "toolchain", FACT_DERIVED, fact_read_toolchain, "/proc/version" },
	{ "preemption", FACT_DERIVED, fact_read_preemption, "/sys/kernel/debug/sched/preempt" },
	{ "hz", FACT_DERIVED, fact_read_hz, NULL },
	{ "highres_timers", FACT_DERIVED, fact_read_highres, NULL },
	{ "sched_smt", FACT_DERIVED, fact_read_sched_smt, SCHED "/domains" },
	/* What these are by default is a matter of the kernel, and most leave them so. */
	{ "sched.slice_ns", FACT_DERIVED, fact_read_first,
	  SCHED "/base_slice_ns|" SCHED "/min_granularity_ns|" SYSCTL
		"/kernel/sched_min_granularity_ns" },
	{ "sched.migration_cost_ns", FACT_DERIVED, fact_read_first,
	  SCHED "/migration_cost_ns|" SYSCTL "/kernel/sched_migration_cost_ns" },
	{ "debug.lockdep", FACT_DERIVED, fact_read_lockdep, "/proc/lockdep" },
	{ "debug.slub", FACT_DERIVED, fact_read_slub, "/sys/kernel/slab/kmalloc-64" },
	{ "lsm", FACT_DERIVED, fact_read_line, "/sys/kernel/security/lsm" },

	{ "system", FACT_ENVIRONMENT, fact_read_dmi, "/sys/class/dmi/id" },
	{ "hypervisor", FACT_ENVIRONMENT, fact_read_hypervisor, "/sys/hypervisor/type" },
	{ "cpu.model", FACT_ENVIRONMENT, fact_read_cpuinfo, "model name|cpu model|Processor|cpu" },
	{ "cpu.id", FACT_ENVIRONMENT, fact_read_cpu_id, NULL },
	{ "cpu.microcode", FACT_ENVIRONMENT, fact_read_cpuinfo, "microcode" },
	{ "vulnerability", FACT_ENVIRONMENT, fact_read_folder, CPU "/vulnerabilities" },
	{ "cpufreq.governor", FACT_ENVIRONMENT, fact_read_policies, "scaling_governor" },
	{ "cpufreq.driver", FACT_ENVIRONMENT, fact_read_policies, "scaling_driver" },
	{ "cpufreq.min_khz", FACT_ENVIRONMENT, fact_read_policies, "scaling_min_freq" },
	{ "cpufreq.max_khz", FACT_ENVIRONMENT, fact_read_policies, "scaling_max_freq" },
	{ "cpufreq.preference", FACT_ENVIRONMENT, fact_read_policies,
	  "energy_performance_preference" },
	{ "turbo", FACT_ENVIRONMENT, fact_read_turbo, CPU },
	{ "cpuidle.driver", FACT_ENVIRONMENT, fact_read_line, CPU "/cpuidle/current_driver" },
	{ "cpuidle.governor", FACT_ENVIRONMENT, fact_read_first,
	  CPU "/cpuidle/current_governor|" CPU "/cpuidle/current_governor_ro" },
	{ "smt.control", FACT_ENVIRONMENT, fact_read_line, CPU "/smt/control" },
	{ "smt.active", FACT_ENVIRONMENT, fact_read_switch, CPU "/smt/active" },
	{ "clocksource", FACT_ENVIRONMENT, fact_read_clocksource, NULL },
	{ "sched_ext", FACT_ENVIRONMENT, fact_read_sched_ext, "/sys/kernel/sched_ext" },
	{ "cpus.present", FACT_ENVIRONMENT, fact_read_list, CPU "/present" },
	{ "cpus.online", FACT_ENVIRONMENT, fact_read_list, CPU "/online" },
	{ "cpus.isolated", FACT_ENVIRONMENT, fact_read_list, CPU "/isolated" },
	{ "cpus.nohz_full", FACT_ENVIRONMENT, fact_read_list, CPU "/nohz_full" },
	{ "cpus.allowed", FACT_ENVIRONMENT, fact_read_cpus_allowed, NULL },
	{ "cpus.allowed_count", FACT_ENVIRONMENT, fact_read_cpus_count, NULL },
	{ "numa.nodes", FACT_ENVIRONMENT, fact_read_list, "/sys/devices/system/node/online" },
	{ "numa.balancing", FACT_ENVIRONMENT, fact_read_line, SYSCTL "/kernel/numa_balancing" },
	{ "memory.total", FACT_ENVIRONMENT, fact_read_memory_total, NULL },
	{ "swap", FACT_ENVIRONMENT, fact_read_swap, NULL },
	{ "zswap", FACT_ENVIRONMENT, fact_read_line, "/sys/module/zswap/parameters/enabled" },
	{ "thp.enabled", FACT_ENVIRONMENT, fact_read_choice, THP "/enabled" },
	{ "thp.defrag", FACT_ENVIRONMENT, fact_read_choice, THP "/defrag" },
	{ "thp.shmem", FACT_ENVIRONMENT, fact_read_choice, THP "/shmem_enabled" },
	{ "ksm", FACT_ENVIRONMENT, fact_read_line, "/sys/kernel/mm/ksm/run" },
	{ "aslr", FACT_ENVIRONMENT, fact_read_line, SYSCTL "/kernel/randomize_va_space" },
	{ "autogroup", FACT_ENVIRONMENT, fact_read_switch,
	  SYSCTL "/kernel/sched_autogroup_enabled" },
	{ "nmi_watchdog", FACT_ENVIRONMENT, fact_read_switch, SYSCTL "/kernel/nmi_watchdog" },
	{ "perf_event_paranoid", FACT_ENVIRONMENT, fact_read_line,
	  SYSCTL "/kernel/perf_event_paranoid" },
	{ "cgroup.cpu_quota", FACT_ENVIRONMENT, fact_read_quota, NULL },
	{ "cgroup.cpuset", FACT_ENVIRONMENT, fact_read_cpuset, NULL },
	{ "cgroup.memory_limit", FACT_ENVIRONMENT, fact_read_memory_limit, NULL },
	{ "offload", FACT_ENVIRONMENT, fact_read_offloads, "/sys/class/net" },
	{ "mtu.lo", FACT_ENVIRONMENT, fact_read_line, "/sys/class/net/lo/mtu" },

	/* Sysctls under their own names, and only such as have been there since 4.19. */
	{ "kernel.sched_rt_runtime_us", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "kernel.sched_schedstats", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "kernel.timer_migration", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "kernel.watchdog", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.overcommit_memory", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.swappiness", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_ratio", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_bytes", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_background_ratio", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_background_bytes", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_expire_centisecs", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.dirty_writeback_centisecs", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.vfs_cache_pressure", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "vm.nr_hugepages", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.rmem_default", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.wmem_default", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.rmem_max", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.wmem_max", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.somaxconn", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.netdev_max_backlog", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.default_qdisc", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.core.bpf_jit_enable", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.ipv4.tcp_congestion_control", FACT_ENVIRONMENT, fact_read_sysctl, NULL },
	{ "net.ipv4.tcp_rmem", FACT_ENVIRONMENT, fact_read_tcp_buffers, NULL },
	{ "net.ipv4.tcp_wmem", FACT_ENVIRONMENT, fact_read_tcp_buffers, NULL },
	{ "net.ipv4.tcp_mem", FACT_VOLATILE, fact_read_sysctl, NULL },

	{ "clocksource.now", FACT_STATE, fact_read_clocksource, NULL },
	{ "swap.used", FACT_STATE, fact_read_swap_used, NULL },
	{ "cgroup.nr_throttled", FACT_STATE, fact_read_throttled, NULL },
	{ "cpu.thermal_throttles", FACT_STATE, fact_read_thermal, CPU },
	{ "oom_kills", FACT_STATE, fact_read_vmstat, "oom_kill" },
	{ "tainted", FACT_STATE, fact_read_line, SYSCTL "/kernel/tainted" },
	{ "kernel.warnings", FACT_STATE, fact_read_line, "/sys/kernel/warn_count" },
	{ "kernel.oopses", FACT_STATE, fact_read_line, "/sys/kernel/oops_count" },

	{ "load", FACT_VOLATILE, fact_read_load, "/proc/loadavg" },
	{ "uptime", FACT_VOLATILE, fact_read_uptime, NULL },
	{ "memory.available", FACT_VOLATILE, fact_read_available, NULL },
};

void fact_put_as(struct collect *c, const struct fact_row *row, const char *name, const char *value,
		 const char *why)
{
	struct record_fact f = {
		.when = c->when,
		.class = row->class,
		.name = name,
		.value = value,
		.why = value ? NULL : why,
	};

	c->emit(c->arg, &f);
}

void fact_put(struct collect *c, const struct fact_row *row, const char *value, const char *why)
{
	fact_put_as(c, row, row->name, value, why);
}

void fact_put_unknown(struct collect *c, const struct fact_row *row, const struct error *why)
{
	fact_put(c, row, NULL, why->text);
}

/* The first line, or NULL after the fact was put as unknown. An empty file tells nothing. */
static char *line_or_put(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	char *s = source_line(c->src, &e, "%s", row->from);

	if (s && !*s) {
		error_set(&e, ENODATA, "%s: empty", row->from);
		free(s);
		s = NULL;
	}
	if (!s)
		fact_put_unknown(c, row, &e);
	return s;
}

void fact_read_line(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = line_or_put(c, row);

	if (s)
		fact_put(c, row, s, NULL);
}

void fact_read_first(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *copy = mem_strdup(row->from);
	CLEANUP_FREE char *value = NULL;
	struct error e = ERROR_INIT;
	char *rest = copy, *path;

	/* Of several that are missing the first is named: where kernels have it today. */
	while (!value && (path = strsep(&rest, "|"))) {
		value = source_line(c->src, &e, "%s", path);
		if (value && !*value) {
			error_set(&e, ENODATA, "%s: empty", path);
			free(value);
			value = NULL;
		}
	}
	fact_put(c, row, value, e.text);
}

/* Blanks between words are told as one each: "4096\t131072\t6291456". */
char *fact_sysctl_or_put(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *path = mem_printf(SYSCTL "/%s", row->name);
	struct error e = ERROR_INIT;
	char *s, *from, *to;

	for (from = path + strlen(SYSCTL "/"); *from; from++)
		if (*from == '.')
			*from = '/';
	s = source_line(c->src, &e, "%s", path);
	if (s && !*s) {
		error_set(&e, ENODATA, "%s: empty", path);
		free(s);
		s = NULL;
	}
	if (!s) {
		fact_put_unknown(c, row, &e);
		return NULL;
	}
	for (from = to = s; *from; from++) {
		if (*from == '\t')
			*from = ' ';
		if (*from != ' ' || to[-1] != ' ')
			*to++ = *from;
	}
	*to = '\0';
	return s;
}

void fact_read_sysctl(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = fact_sysctl_or_put(c, row);

	if (s)
		fact_put(c, row, s, NULL);
}

void fact_read_list(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	struct cpulist list = CPULIST_INIT;
	CLEANUP_FREE char *s = source_line(c->src, &e, "%s", row->from);
	CLEANUP_FREE char *text = NULL;

	/* nohz_full without any CPU reads "(null)". */
	if (s && (!*s || !strcmp(s, "(null)"))) {
		fact_put(c, row, "none", NULL);
	} else if (!s || cpulist_parse(s, &list, &e) < 0) {
		if (s)
			error_prefix(&e, "%s", row->from);
		fact_put_unknown(c, row, &e);
	} else {
		text = cpulist_format(&list);
		fact_put(c, row, text, NULL);
	}
	cpulist_done(&list);
}

void fact_read_choice(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = line_or_put(c, row);
	char *open, *close;

	if (!s)
		return;
	open = strchr(s, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close) {
		*close = '\0';
		fact_put(c, row, open + 1, NULL);
	} else {
		fact_put(c, row, s, NULL);
	}
}

void fact_read_switch(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = line_or_put(c, row);

	if (s)
		fact_put(c, row, !strcmp(s, "0") ? "off" : !strcmp(s, "1") ? "on" : s, NULL);
}

void facts_collect(const struct facts_source *src, enum fact_when when,
		   void (*emit)(void *arg, const struct record_fact *), void *arg)
{
	struct collect c = { .src = src, .when = when, .emit = emit, .arg = arg };
	size_t i;

	source_head(src, "/proc/cpuinfo", CPUINFO_MAX, &c.cpuinfo, &c.no_cpuinfo);
	source_text(src, "/proc/meminfo", MEMINFO_MAX, &c.meminfo, &c.no_meminfo);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i].read(&c, &rows[i]);
	free(c.cpuinfo);
	free(c.meminfo);
}
