/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the room: how a row of the table of facts is read. Not for others. */
#ifndef KDELTA_FACTS_READER_H
#define KDELTA_FACTS_READER_H

#include "base/error.h"
#include "facts/source.h"
#include "model/fact.h"
#include "model/record.h"

struct collect {
	const struct facts_source *src;
	enum fact_when when;
	void (*emit)(void *arg, const struct record_fact *);
	void *arg;
	char *cpuinfo, *meminfo; /* NULL: unreadable, see the reason */
	struct error no_cpuinfo, no_meminfo;
};

struct fact_row {
	const char *name;
	enum fact_class class;
	void (*read)(struct collect *, const struct fact_row *);
	const char *from; /* for the reader: a path, a field or an attribute */
};

/* Each reader ends with one of these. `value` NULL: unknown, because of `why`. */
void fact_put(struct collect *c, const struct fact_row *row, const char *value, const char *why);
/* The same under a name of its own. */
void fact_put_as(struct collect *c, const struct fact_row *row, const char *name, const char *value,
		 const char *why);
void fact_put_unknown(struct collect *c, const struct fact_row *row, const struct error *why);

/*
 * Files: the first line; that of the first of several files ("a|b"); a list that may be empty
 * ("none"); the [chosen] word; 0/1 as off/on; the sysctl of the row's name.
 */
void fact_read_line(struct collect *c, const struct fact_row *row);
void fact_read_first(struct collect *c, const struct fact_row *row);
void fact_read_sysctl(struct collect *c, const struct fact_row *row);
/* The value of the sysctl of the row's name; NULL after the fact was put as unknown. */
char *fact_sysctl_or_put(struct collect *c, const struct fact_row *row);
void fact_read_list(struct collect *c, const struct fact_row *row);
void fact_read_choice(struct collect *c, const struct fact_row *row);
void fact_read_switch(struct collect *c, const struct fact_row *row);

/* kernel */
void fact_read_uname(struct collect *c, const struct fact_row *row); /* from: release ... */
void fact_read_cmdline(struct collect *c, const struct fact_row *row);
void fact_read_build_id(struct collect *c, const struct fact_row *row);
void fact_read_toolchain(struct collect *c, const struct fact_row *row);
void fact_read_preemption(struct collect *c, const struct fact_row *row);
void fact_read_hz(struct collect *c, const struct fact_row *row);
void fact_read_highres(struct collect *c, const struct fact_row *row);
void fact_read_sched_smt(struct collect *c, const struct fact_row *row);
void fact_read_sched_ext(struct collect *c, const struct fact_row *row);
void fact_read_vmstat(struct collect *c, const struct fact_row *row); /* from: field */
void fact_read_lockdep(struct collect *c, const struct fact_row *row);
void fact_read_slub(struct collect *c, const struct fact_row *row);
void fact_read_load(struct collect *c, const struct fact_row *row);
void fact_read_uptime(struct collect *c, const struct fact_row *row);

/* machine */
/*
 * Kernels keep different amounts for themselves: rounded up to a quarter of the power of two
 * below, a machine has the same memory under all of them, and so has what is cut to its size.
 */
uint64_t fact_round_memory(uint64_t bytes);
void fact_read_clocksource(struct collect *c, const struct fact_row *row);
void fact_read_cpuinfo(struct collect *c, const struct fact_row *row); /* from: key|key */
void fact_read_cpu_id(struct collect *c, const struct fact_row *row);
void fact_read_folder(struct collect *c, const struct fact_row *row);
void fact_read_policies(struct collect *c, const struct fact_row *row); /* from: attribute */
void fact_read_turbo(struct collect *c, const struct fact_row *row);
void fact_read_hypervisor(struct collect *c, const struct fact_row *row);
void fact_read_dmi(struct collect *c, const struct fact_row *row);
void fact_read_cpus_allowed(struct collect *c, const struct fact_row *row);
void fact_read_cpus_count(struct collect *c, const struct fact_row *row);
void fact_read_thermal(struct collect *c, const struct fact_row *row);
void fact_read_memory_total(struct collect *c, const struct fact_row *row);
void fact_read_swap(struct collect *c, const struct fact_row *row);
void fact_read_swap_used(struct collect *c, const struct fact_row *row);
void fact_read_available(struct collect *c, const struct fact_row *row);
void fact_read_offloads(struct collect *c, const struct fact_row *row);
void fact_read_tcp_buffers(struct collect *c, const struct fact_row *row); /* a sysctl, too */
void fact_read_quota(struct collect *c, const struct fact_row *row);
void fact_read_cpuset(struct collect *c, const struct fact_row *row);
void fact_read_memory_limit(struct collect *c, const struct fact_row *row);
void fact_read_throttled(struct collect *c, const struct fact_row *row);

#endif
