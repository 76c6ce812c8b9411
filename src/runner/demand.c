/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/demand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "facts/limits.h"
#include "runner/internal.h"
#include "workload/kit.h"

static int too_little(char *why, size_t size, const char *what, uint64_t want, uint64_t have,
		      const char *hint)
{
	snprintf(why, size, "wants %llu %s, %llu left here%s%s", (unsigned long long)want, what,
		 (unsigned long long)have, hint ? ": " : "", hint ? hint : "");
	return -ENOTSUP;
}

static int check_amounts(const struct demand *d, const char *tmp, char *why, size_t size)
{
	struct facts_source here = { .root = "" };
	struct limits l;

	limits_read(&here, d->disk_bytes ? tmp : NULL, &l);
	if (d->descriptors && l.have_descriptors && d->descriptors > l.descriptors)
		return too_little(why, size, "descriptors", d->descriptors, l.descriptors,
				  "raise `ulimit -n`");
	if (d->tasks && l.have_tasks && d->tasks > l.tasks)
		return too_little(why, size, "tasks", d->tasks, l.tasks, l.tasks_by);
	if (d->memory_bytes && l.have_memory && d->memory_bytes > l.memory_bytes)
		return too_little(why, size, "bytes of memory", d->memory_bytes, l.memory_bytes,
				  l.memory_by);
	if (d->disk_bytes && l.have_disk && d->disk_bytes > l.disk_bytes)
		return too_little(why, size, "bytes of disk", d->disk_bytes, l.disk_bytes,
				  "set TMPDIR to a larger file system");
	return 0;
}

int demand_check(const struct workload *w, const struct args *args, char *why, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	struct demand d = { 0 };

	if (!tmp || !*tmp)
		tmp = "/tmp";
	if ((w->needs & NEED_LOOPBACK) && !kit_loopback_up()) {
		snprintf(why, size, "loopback is down: `ip link set lo up`");
		return -ENOTSUP;
	}
	if ((w->needs & NEED_TMPDIR) && access(tmp, W_OK) < 0) {
		snprintf(why, size, "cannot write to %.200s: set TMPDIR", tmp);
		return -ENOTSUP;
	}
	if ((w->needs & NEED_SHELL) && access("/bin/sh", X_OK) < 0) {
		snprintf(why, size, "there is no /bin/sh");
		return -ENOTSUP;
	}
	if ((w->needs & NEED_ROOT) && geteuid() != 0) {
		snprintf(why, size, "wants root");
		return -ENOTSUP;
	}
	if (w->demand) {
		int r = w->demand(args, &d);

		if (r < 0) {
			snprintf(why, size, "its demand cannot be computed: %s", strerror(-r));
			return -ENOTSUP;
		}
	}
	if (!d.tasks)
		d.tasks = crew_size(w, args) + 1;
	return check_amounts(&d, tmp, why, size);
}
