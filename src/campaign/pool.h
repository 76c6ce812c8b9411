/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A few threads that do tasks while the one that made them waits for results. Tasks are the
 * caller's: an intrusive link, done first in, first out.
 */
#ifndef KDELTA_CAMPAIGN_POOL_H
#define KDELTA_CAMPAIGN_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

struct pool_task {
	struct pool_task *next;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct pool_task *todo, *todo_last, *finished, *finished_last;
	unsigned running; /* queued, being done, or finished and not taken */
	bool over;
	void (*act)(struct pool_task *);
	pthread_t *threads;
	unsigned n;
};

/* CPUs that this process may use. */
unsigned pool_cpus(void);
int pool_start(struct pool *p, unsigned threads, void (*act)(struct pool_task *), struct error *e);
void pool_add(struct pool *p, struct pool_task *t);
/* The next that is finished; NULL: none within a tenth of a second, or nothing is running at all.
 */
struct pool_task *pool_take(struct pool *p);
bool pool_busy(struct pool *p);
/* Drops what nobody began. */
void pool_drop(struct pool *p);
/* Waits for what is being done, ends the threads. */
void pool_stop(struct pool *p);

#endif
