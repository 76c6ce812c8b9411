/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "campaign/exact.h"

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static void row(struct str *out, const char *what, unsigned n, uint64_t ns)
{
	str_printf(out, "  %-38s %5u %9.2f s", what, n, seconds(ns));
	if (n)
		str_printf(out, " %8.3f s each", seconds(ns) / n);
	str_add_c(out, '\n');
}

void campaign_exact_tell(const struct campaign_exact_timing *t, struct str *out)
{
	uint64_t sum =
		t->boot_ns + t->save_ns + t->symbols_ns + t->calibrate_ns + t->run_ns + t->count_ns;

	str_printf(out, "Timing: %.2f s, %u at once (host time, summed over them):\n",
		   seconds(t->wall_ns), t->jobs);
	row(out, "boot to the quiet point", t->boots, t->boot_ns);
	row(out, "snapshot", t->boots, t->save_ns);
	row(out, "symbols", t->boots, t->symbols_ns);
	row(out, "operations of a batch, found out", t->calibrations, t->calibrate_ns);
	row(out, "runs", t->runs, t->run_ns);
	row(out, "  of which QEMU's start and the restore", t->runs, t->start_ns);
	row(out, "counts put down to symbols", t->runs, t->count_ns);
	row(out, "storing (beside them)", t->runs, t->store_ns);
	str_printf(out, "  %-38s %5s %9.0f %%\n", "threads at work", "",
		   t->wall_ns && t->jobs
			   ? 100 * seconds(sum) / (seconds(t->wall_ns) * (double)t->jobs)
			   : 0);
	str_printf(out, "  %-38s %5s %9.1f MiB\n", "snapshots", "",
		   (double)t->snapshot_bytes / (1 << 20));
}
