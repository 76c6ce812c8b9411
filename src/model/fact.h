/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fact: a named property of the kernel or the machine, taken before and after. Its class says
 * what a difference means. Only environment and state can confound a comparison.
 */
#ifndef KDELTA_MODEL_FACT_H
#define KDELTA_MODEL_FACT_H

#include <stdbool.h>

enum fact_class {
	FACT_IDENTITY = 1, /* is the kernel: release, version, build-id, command line */
	FACT_DERIVED,	   /* follows from the kernel: config options, HZ, preemption model */
	FACT_ENVIRONMENT,  /* must agree: CPU model, microcode, governor, clocksource, THP */
	FACT_STATE,	   /* must not change during a run: swap in use, throttling counters */
	FACT_VOLATILE,	   /* informational: load, uptime, free memory */
};

enum fact_when { FACT_BEFORE = 1, FACT_AFTER };

const char *fact_class_name(enum fact_class c);	 /* "identity", ... */
enum fact_class fact_class_parse(const char *s); /* 0: unknown */
const char *fact_when_name(enum fact_when w);
enum fact_when fact_when_parse(const char *s); /* 0: unknown */
/* Is a clock source one that takes a microsecond or more to read (hpet, acpi_pm ...)? */
bool fact_clock_is_slow(const char *clocksource);

#endif
