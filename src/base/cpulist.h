/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of CPUs as the kernel writes them ("0-7,9,11"), without a limit of 1024.
 * Source: cpuset(7) "List format"; sched_setaffinity(2) for machines with more CPUs.
 */
#ifndef KDELTA_BASE_CPULIST_H
#define KDELTA_BASE_CPULIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct cpulist {
	unsigned *cpu; /* ascending, no duplicates */
	size_t n;
};

#define CPULIST_INIT                                                                               \
	{                                                                                          \
		NULL, 0                                                                            \
	}
#define CPULIST_MAX 65536u /* highest CPU number taken as meant */

int cpulist_parse(const char *s, struct cpulist *ret_list, struct error *e);
char *cpulist_format(const struct cpulist *list); /* caller frees */
bool cpulist_has(const struct cpulist *list, unsigned cpu);
/* The CPUs that the calling thread may run on; needs no /proc. */
int cpulist_allowed(struct cpulist *ret_list, struct error *e);
/* Pins the calling thread to these and reads back that it holds; -EINVAL with the reason if not. */
int cpulist_pin(const struct cpulist *list, struct error *e);
void cpulist_done(struct cpulist *list);

#endif
