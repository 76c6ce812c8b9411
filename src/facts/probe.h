/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the runner reads before and after each invocation, to tell whether the machine was
 * disturbed meanwhile: stolen time, throttling, pressure, suspend, another clock source.
 *
 * Each value has its own `have_`: what could not be read is not 0. Source: proc_stat(5) (ticks of
 * 1/_SC_CLK_TCK s, mostly 10 ms: the resolution of everything taken from there),
 * accounting/psi.rst of the kernel, clock_gettime(2).
 */
#ifndef KDELTA_FACTS_PROBE_H
#define KDELTA_FACTS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/kmsg.h"
#include "facts/source.h"

/* A growth of suspended_ns below this is the jitter of reading two clocks. */
#define PROBE_SUSPENDED_MIN_NS 100000000ll

struct probe_sample {
	bool have_cpu;	  /* busy_ns and steal_ns */
	uint64_t busy_ns; /* CPU time used by tasks and interrupts, of all CPUs, since boot */
	uint64_t
		steal_ns; /* time that a CPU had work and the hypervisor did not run it, all CPUs */
	bool have_ctxt;
	uint64_t ctxt; /* context switches of the whole system */
	bool have_throttled;
	uint64_t nr_throttled; /* see cgroup_throttled() */
	bool have_pressure;
	uint64_t pressure_ns; /* time in which some task waited for a CPU (PSI, since 4.20) */
	bool have_running;
	uint64_t running;     /* tasks that are runnable now, the reader included */
	int64_t suspended_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC, always there */
	char clocksource[32]; /* see source_clocksource(); "": unknown */
};

/* Only what both samples have and what did not run backwards. */
struct probe_delta {
	bool have_cpu;
	uint64_t busy_ns, steal_ns;
	/* steal / (busy + steal), 0 to 1: an idle CPU is not stolen from. 0 if both are 0. */
	double steal_ratio;
	bool have_ctxt;
	uint64_t ctxt;
	bool have_throttled;
	uint64_t nr_throttled;
	bool have_pressure;
	uint64_t pressure_ns;
	uint64_t suspended_ns; /* 0 unless at least PROBE_SUSPENDED_MIN_NS */
	bool have_clocksource; /* both are known */
	bool clocksource_changed;
};

void probe_read(const struct facts_source *src, struct probe_sample *ret);
void probe_diff(const struct probe_sample *before, const struct probe_sample *after,
		struct probe_delta *ret);

#endif
