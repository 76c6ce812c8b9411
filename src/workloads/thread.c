/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pthread_create and pthread_join of a thread that returns at once. glibc keeps the stack of the
 * last one, so what is left is clone, the switch there and back, and the exit.
 */
#include "workload/kit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static int thread_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 2;
	return 0;
}

static void *thread_main(void *arg)
{
	return arg;
}

static int thread_batch(struct run *run, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		void *back = NULL;
		pthread_t thread;
		int r = pthread_create(&thread, NULL, thread_main, &i);

		if (r)
			return run_fail(run, r, "pthread_create: %s", strerror(r));
		r = pthread_join(thread, &back);
		if (r)
			return run_fail(run, r, "pthread_join: %s", strerror(r));
		if (back != &i)
			return run_fail(run, EIO, "a thread ended without having run");
	}
	return 0;
}

const struct workload workload_thread = {
	.name = "thread",
	.family = "process",
	.op = "thread",
	.doc = "pthread_create(3) of a thread that returns at once, pthread_join(3).",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.demand = thread_demand,
	.batch = thread_batch,
};
