/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static int number(const char **s, unsigned *ret)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	errno = 0;
	v = strtoul(*s, &end, 10);
	if (errno || v > CPULIST_MAX)
		return -ERANGE;
	*s = end;
	*ret = (unsigned)v;
	return 0;
}

int cpulist_parse(const char *s, struct cpulist *ret_list, struct error *e)
{
	const char *p = s;
	unsigned *cpu = NULL;
	size_t n = 0, cap = 0, i, k;

	while (*p && *p != '\n') {
		unsigned lo, hi, v;

		if (number(&p, &lo) < 0)
			goto bad;
		hi = lo;
		if (*p == '-') {
			p++;
			if (number(&p, &hi) < 0 || hi < lo)
				goto bad;
		}
		for (v = lo; v <= hi; v++) {
			cpu = mem_grow(cpu, n, &cap, sizeof(*cpu));
			cpu[n++] = v;
		}
		if (*p == ',' && isdigit((unsigned char)p[1]))
			p++;
		else if (*p && *p != '\n')
			goto bad;
	}
	if (n)
		qsort(cpu, n, sizeof(*cpu), compare);
	for (i = k = 0; i < n; i++)
		if (!k || cpu[k - 1] != cpu[i])
			cpu[k++] = cpu[i];
	ret_list->cpu = cpu;
	ret_list->n = k;
	return 0;
bad:
	free(cpu);
	return error_set(e, EINVAL, "'%s' is not a list of CPUs (like 0-3,8)", s);
}

char *cpulist_format(const struct cpulist *list)
{
	struct str b = STR_INIT;
	size_t i, j;

	for (i = 0; i < list->n; i = j) {
		for (j = i + 1; j < list->n && list->cpu[j] == list->cpu[j - 1] + 1; j++)
			;
		str_printf(&b, "%s%u", b.len ? "," : "", list->cpu[i]);
		if (j - i > 1)
			str_printf(&b, "-%u", list->cpu[j - 1]);
	}
	return str_take(&b);
}

bool cpulist_has(const struct cpulist *list, unsigned cpu)
{
	return list->n && bsearch(&cpu, list->cpu, list->n, sizeof(cpu), compare);
}

int cpulist_allowed(struct cpulist *ret_list, struct error *e)
{
	unsigned cpus;

	for (cpus = 1024; cpus <= CPULIST_MAX * 2; cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC(cpus);
		size_t size = CPU_ALLOC_SIZE(cpus), cap = 0;
		struct cpulist l = CPULIST_INIT;
		unsigned i;

		if (!set)
			return error_errno(e, ENOMEM, "affinity mask");
		CPU_ZERO_S(size, set);
		if (sched_getaffinity(0, size, set) < 0) {
			CPU_FREE(set);
			if (errno == EINVAL)
				continue;
			return error_errno(e, errno, "sched_getaffinity");
		}
		for (i = 0; i < cpus; i++) {
			if (!CPU_ISSET_S(i, size, set))
				continue;
			l.cpu = mem_grow(l.cpu, l.n, &cap, sizeof(*l.cpu));
			l.cpu[l.n++] = i;
		}
		CPU_FREE(set);
		*ret_list = l;
		return 0;
	}
	return error_set(e, EOVERFLOW, "sched_getaffinity: more than %u CPUs", CPULIST_MAX);
}

int cpulist_pin(const struct cpulist *list, struct error *e)
{
	CLEANUP_FREE char *want = cpulist_format(list);
	struct cpulist now = CPULIST_INIT;
	unsigned cpus = list->n ? list->cpu[list->n - 1] + 1 : 1;
	size_t size = CPU_ALLOC_SIZE(cpus), i;
	cpu_set_t *set = CPU_ALLOC(cpus);
	int r;

	if (!set)
		return error_errno(e, ENOMEM, "affinity mask");
	CPU_ZERO_S(size, set);
	for (i = 0; i < list->n; i++)
		CPU_SET_S(list->cpu[i], size, set);
	r = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	if (r < 0)
		return error_errno(e, errno, "cannot pin to CPU %s", want);
	r = cpulist_allowed(&now, e);
	if (r < 0)
		return r;
	if (now.n != list->n || memcmp(now.cpu, list->cpu, now.n * sizeof(*now.cpu)) != 0) {
		CLEANUP_FREE char *got = cpulist_format(&now);

		r = error_set(e, EINVAL, "asked for CPU %s, the kernel gave %s", want, got);
	}
	cpulist_done(&now);
	return r;
}

void cpulist_done(struct cpulist *list)
{
	if (!list)
		return;
	free(list->cpu);
	list->cpu = NULL;
	list->n = 0;
}
