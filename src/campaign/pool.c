/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define TURN_NS (100 * NSEC_PER_MSEC)

unsigned pool_cpus(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	n = CPU_COUNT(&set);
	return n > 0 ? (unsigned)n : 1;
}

static void append(struct pool_task **first, struct pool_task **last, struct pool_task *t)
{
	t->next = NULL;
	if (*first)
		(*last)->next = t;
	else
		*first = t;
	*last = t;
}

static struct pool_task *shift(struct pool_task **first)
{
	struct pool_task *t = *first;

	if (t)
		*first = t->next;
	return t;
}

static void *work(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct pool_task *t;

		while (!p->over && !p->todo)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->over)
			break;
		t = shift(&p->todo);
		pthread_mutex_unlock(&p->lock);
		p->act(t);
		pthread_mutex_lock(&p->lock);
		append(&p->finished, &p->finished_last, t);
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_start(struct pool *p, unsigned threads, void (*act)(struct pool_task *), struct error *e)
{
	sigset_t all, old;
	int r = 0;

	memset(p, 0, sizeof(*p));
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	p->act = act;
	p->threads = mem_array(threads, sizeof(*p->threads));
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->n < threads && !r) {
		r = pthread_create(&p->threads[p->n], NULL, work, p);
		p->n += !r;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* Fewer are slower, and no fault. */
	return p->n ? 0 : error_errno(e, r, "cannot start a thread");
}

void pool_add(struct pool *p, struct pool_task *t)
{
	pthread_mutex_lock(&p->lock);
	append(&p->todo, &p->todo_last, t);
	p->running++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

struct pool_task *pool_take(struct pool *p)
{
	struct pool_task *t;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)TURN_NS;
	if (until.tv_nsec >= (long)NSEC_PER_SEC) {
		until.tv_sec++;
		until.tv_nsec -= (long)NSEC_PER_SEC;
	}
	pthread_mutex_lock(&p->lock);
	while (!p->finished && p->running)
		if (pthread_cond_timedwait(&p->done, &p->lock, &until) == ETIMEDOUT)
			break;
	t = shift(&p->finished);
	if (t)
		p->running--;
	pthread_mutex_unlock(&p->lock);
	return t;
}

bool pool_busy(struct pool *p)
{
	bool busy;

	pthread_mutex_lock(&p->lock);
	busy = p->running > 0;
	pthread_mutex_unlock(&p->lock);
	return busy;
}

void pool_drop(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (shift(&p->todo))
		p->running--;
	pthread_mutex_unlock(&p->lock);
}

void pool_stop(struct pool *p)
{
	unsigned i;

	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->n; i++)
		pthread_join(p->threads[i], NULL);
	free(p->threads);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
}
