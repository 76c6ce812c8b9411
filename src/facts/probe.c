/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "facts/cgroup.h"

#define STAT_MAX (16u << 20) /* /proc/stat has a line for each CPU and a number for each IRQ */

static bool cpu_times(const char *stat, struct probe_sample *s)
{
	CLEANUP_FREE char *row = source_field(stat, "cpu", ' ');
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t v[8], tick;

	if (!row || hz <= 0 ||
	    sscanf(row,
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return false;
	tick = NSEC_PER_SEC / (uint64_t)hz;
	/* user, nice, system, irq, softirq; without idle and iowait */
	s->busy_ns = (v[0] + v[1] + v[2] + v[5] + v[6]) * tick;
	s->steal_ns = v[7] * tick;
	return true;
}

static bool pressure(const struct facts_source *src, uint64_t *ret_ns)
{
	CLEANUP_FREE char *row = source_line(src, NULL, "/proc/pressure/cpu");
	const char *total = row ? strstr(row, " total=") : NULL;
	uint64_t us;

	if (!total || strncmp(row, "some ", 5) != 0 || sscanf(total, " total=%" SCNu64, &us) != 1)
		return false;
	*ret_ns = us * NSEC_PER_USEC;
	return true;
}

/* Of several readings the one in which the two clocks were read closest together. */
static int64_t suspended(void)
{
	uint64_t best = UINT64_MAX;
	int64_t ret = 0;
	int i;

	for (i = 0; i < 3; i++) {
		uint64_t a = clock_mono_ns(), boot = clock_boot_ns(), b = clock_mono_ns();

		if (b - a >= best)
			continue;
		best = b - a;
		ret = (int64_t)(boot - (a + best / 2));
	}
	return ret;
}

void probe_read(const struct facts_source *src, struct probe_sample *ret)
{
	CLEANUP_FREE char *stat = NULL;
	CLEANUP_FREE char *clocksource = NULL;

	memset(ret, 0, sizeof(*ret));
	if (source_text(src, "/proc/stat", STAT_MAX, &stat, NULL) == 0) {
		ret->have_cpu = cpu_times(stat, ret);
		ret->have_ctxt = source_field_u64(stat, "ctxt", ' ', &ret->ctxt);
		ret->have_running = source_field_u64(stat, "procs_running", ' ', &ret->running);
	}
	ret->have_throttled = cgroup_throttled(src, &ret->nr_throttled, NULL) == 0;
	ret->have_pressure = pressure(src, &ret->pressure_ns);
	ret->suspended_ns = suspended();
	clocksource = source_clocksource(src, NULL);
	/* A name that does not fit is none of the kernel's. */
	if (clocksource && strlen(clocksource) < sizeof(ret->clocksource))
		memcpy(ret->clocksource, clocksource, strlen(clocksource) + 1);
}

static bool grown(bool have, uint64_t before, uint64_t after, uint64_t *ret)
{
	if (!have || after < before)
		return false;
	*ret = after - before;
	return true;
}

void probe_diff(const struct probe_sample *before, const struct probe_sample *after,
		struct probe_delta *ret)
{
	int64_t suspend = after->suspended_ns - before->suspended_ns;

	memset(ret, 0, sizeof(*ret));
	ret->have_cpu = grown(before->have_cpu && after->have_cpu, before->busy_ns, after->busy_ns,
			      &ret->busy_ns) &&
			grown(true, before->steal_ns, after->steal_ns, &ret->steal_ns);
	if (ret->have_cpu && ret->steal_ns)
		ret->steal_ratio =
			(double)ret->steal_ns / ((double)ret->busy_ns + (double)ret->steal_ns);
	ret->have_ctxt =
		grown(before->have_ctxt && after->have_ctxt, before->ctxt, after->ctxt, &ret->ctxt);
	ret->have_throttled = grown(before->have_throttled && after->have_throttled,
				    before->nr_throttled, after->nr_throttled, &ret->nr_throttled);
	ret->have_pressure = grown(before->have_pressure && after->have_pressure,
				   before->pressure_ns, after->pressure_ns, &ret->pressure_ns);
	if (suspend >= PROBE_SUSPENDED_MIN_NS)
		ret->suspended_ns = (uint64_t)suspend;
	ret->have_clocksource = *before->clocksource && *after->clocksource;
	ret->clocksource_changed =
		ret->have_clocksource && strcmp(before->clocksource, after->clocksource) != 0;
}
