/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parties: other processes and threads that take part in a workload. They start before the first
 * batch of a part, meet at futexes in the shared page, and end with the part. The supervisor is
 * told each process by a message, so that it sees one die.
 */
#include "runner/internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define STOP_WAIT_NS (2 * NSEC_PER_SEC)
#define COUNT_MAX    1000000u /* parties of a role: more than any runner has room for */
#define LOOK_NS	     (100 * NSEC_PER_MSEC) /* how often a wait looks whether the run has ended */
#define WAKE_SIGNAL  SIGURG		   /* ends a blocking call of a serving thread */

/* False: `ns` went by and nothing happened. */
static bool futex_wait(_Atomic uint32_t *f, uint32_t while_is, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };

	return !syscall(SYS_futex, f, FUTEX_WAIT, while_is, ns ? &t : NULL, NULL, 0) ||
	       errno != ETIMEDOUT;
}

static void futex_wake(_Atomic uint32_t *f)
{
	syscall(SYS_futex, f, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

unsigned crew_role_size(const struct party_role *role, const struct args *args)
{
	uint64_t n = role->fixed ? role->fixed : 1, less = 0;

	if (role->count) {
		n = args_u64(args, role->count);
		less = role->count_less > 0 ? (uint64_t)role->count_less : 0;
	}
	n = n > less ? n - less : 0;
	return n > COUNT_MAX ? COUNT_MAX : (unsigned)n;
}

size_t crew_size(const struct workload *w, const struct args *args)
{
	const struct party_role *role;
	size_t n = 0;

	for (role = w->parties; role && role->role; role++)
		n += crew_role_size(role, args);
	return n;
}

/* Measured parties: from one start to the next, until the part is over. */
static int measured_rounds(struct party *p)
{
	struct shared *sh = p->run->sh;
	uint32_t seen = 0;
	int r = 0;

	while (!r) {
		uint32_t now;

		while ((now = atomic_load(&sh->round)) == seen && !atomic_load(&sh->part_over))
			futex_wait(&sh->round, seen, 0);
		if (atomic_load(&sh->part_over))
			break;
		seen = now;
		r = p->role->batch(p, atomic_load(&sh->n));
		if (!r) {
			atomic_fetch_add(&sh->done, 1);
			futex_wake(&sh->done);
		}
	}
	return r;
}

static int party_live(struct party *p)
{
	struct shared *sh = p->run->sh;
	int r = p->role->start ? p->role->start(p) : 0;

	if (!r) {
		atomic_fetch_add(&sh->ready, 1);
		futex_wake(&sh->ready);
		r = p->role->batch ? measured_rounds(p) : p->role->serve(p);
	}
	if (p->role->stop)
		p->role->stop(p);
	if (r < 0 && !atomic_load(&sh->part_over))
		shared_end(sh, SHARED_FAILED, -r, "party %s %u: %s", p->role->role, p->index,
			   strerror(-r));
	else if (!r && !p->role->batch && !atomic_load(&sh->part_over))
		shared_end(sh, SHARED_FAILED, EPIPE, "party %s %u ended before its time",
			   p->role->role, p->index);
	return r;
}

/* A thread or the leader that waits for a dead peer would wait for ever: the leader is told. */
static void *thread_main(void *arg)
{
	struct party *p = arg;

	if (party_live(p) < 0 || !atomic_load(&p->run->sh->part_over)) {
		futex_wake(&p->run->sh->ready);
		futex_wake(&p->run->sh->done);
	}
	return NULL;
}

static int tell(int control, pid_t pid, const char *role)
{
	char msg[64];
	int n = snprintf(msg, sizeof(msg), "%d %s", (int)pid, role);

	return control < 0 || send(control, msg, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -errno;
}

static int start_process(struct run *run, struct party *p, const struct cpulist *cpu, int control)
{
	pid_t parent = getpid(), pid = fork();
	struct error err = ERROR_INIT;

	if (pid < 0)
		return run_fail(run, errno, "cannot start party %s %u: %s", p->role->role, p->index,
				strerror(errno));
	if (!pid) {
		int r;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(INVOKE_FD_RESULT); /* its end is the leader's to say */
		if (cpu->n && cpulist_pin(cpu, &err) < 0) {
			run_fail(run, err.code, "%s", err.text);
			_exit(1);
		}
		r = party_live(p);
		_exit(r < 0 && !atomic_load(&run->sh->part_over) ? 1 : 0);
	}
	atomic_store(&run->sh->slot[p->run->slot].pid, pid);
	tell(control, pid, p->role->role);
	return 0;
}

static int start_thread(struct run *run, struct crew *crew, size_t i, const struct cpulist *cpu)
{
	struct party *p = &crew->party[i];
	pthread_attr_t attr;
	int r;

	pthread_attr_init(&attr);
	if (cpu->n) {
		unsigned c = cpu->cpu[0];
		size_t size = CPU_ALLOC_SIZE(c + 1);
		cpu_set_t *set = CPU_ALLOC(c + 1);

		if (set) {
			CPU_ZERO_S(size, set);
			CPU_SET_S(c, size, set);
			pthread_attr_setaffinity_np(&attr, size, set);
			CPU_FREE(set);
		}
	}
	r = pthread_create(&crew->thread[i], &attr, thread_main, p);
	pthread_attr_destroy(&attr);
	if (r)
		return run_fail(run, r, "cannot start party %s %u: %s", p->role->role, p->index,
				strerror(r));
	return 0;
}

/* Before Linux 5.3 the supervisor cannot watch parties; they are children of the leader. */
static const char *one_died(const struct run *run)
{
	unsigned i;

	for (i = 1; i < run->slots; i++) {
		pid_t pid = atomic_load(&run->sh->slot[i].pid);
		siginfo_t info = { .si_pid = 0 };

		if (pid > 0 && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid && !atomic_load(&run->sh->ended))
			return run->sh->slot[i].role;
	}
	return NULL;
}

/* Waits for a count in the page to come to `want`, or for the run's end. */
static int wait_count(struct run *run, _Atomic uint32_t *count, size_t want)
{
	const char *died;
	uint32_t now;

	while ((now = atomic_load(count)) < want) {
		if (atomic_load(&run->sh->ended))
			return -EPIPE;
		/* Not at each wake-up: that would be part of what is measured. */
		if (!futex_wait(count, now, LOOK_NS) && (died = one_died(run)))
			return run_fail(run, EPIPE, "party %s died", died);
	}
	return 0;
}

static struct arena *arena_new(struct run *run)
{
	struct arena *a = mem_alloc(sizeof(*a));

	run->arenas = mem_grow(run->arenas, run->n_arenas, &run->cap_arenas, sizeof(*run->arenas));
	run->arenas[run->n_arenas++] = a;
	return a;
}

int crew_start(struct run *run, const struct cpulist *cpus, int control, struct crew *ret)
{
	const struct party_role *role;
	size_t n = crew_size(run->w, &run->args), i = 0, cpu = 1;
	struct shared *sh = run->sh;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->party = arena_array(run->arena, n, sizeof(*ret->party));
	ret->run_copy = arena_array(run->arena, n, sizeof(*ret->run_copy));
	ret->thread = arena_array(run->arena, n, sizeof(*ret->thread));
	atomic_store(&sh->part_over, 0);
	atomic_store(&sh->ready, 0);
	atomic_store(&sh->round, 0);
	run->slots = (unsigned)n + 1;
	for (role = run->w->parties; role && role->role && !r; role++) {
		unsigned most = crew_role_size(role, &run->args), count = most, k;

		if (role->now) {
			count = role->now(run);
			if (count > most)
				return run_fail(run, EINVAL, "%u of party %s, %u at most", count,
						role->role, most);
		}

		for (k = 0; k < count && !r; k++, i++) {
			struct party *p = &ret->party[i];

			ret->run_copy[i] = *run;
			ret->run_copy[i].slot = (unsigned)i + 1;
			ret->run_copy[i].serves = !role->batch;
			if (role->kind == PARTY_THREAD)
				ret->run_copy[i].arena = arena_new(run);
			p->run = &ret->run_copy[i];
			p->role = role;
			p->index = k;
			p->count = count;
			snprintf(sh->slot[i + 1].role, sizeof(sh->slot[i + 1].role), "%s",
				 role->role);
			ret->measured += role->batch != NULL;
			r = role->kind == PARTY_THREAD
				    ? start_thread(run, ret, i, &cpus[cpu + k])
				    : start_process(run, p, &cpus[cpu + k], control);
			if (!r)
				ret->n++;
		}
		cpu += most;
	}
	run->slots = (unsigned)ret->n + 1;
	return r < 0 ? r : wait_count(run, &sh->ready, ret->n);
}

int crew_round(struct run *run, struct crew *crew, uint64_t n, uint64_t time_ns, struct window *ret)
{
	struct shared *sh = run->sh;
	bool timed = time_ns > 0;
	int r;

	atomic_store(&sh->n, n);
	atomic_store(&sh->done, 0);
	atomic_store(&sh->stop, 0);
	window_open(ret);
	atomic_fetch_add(&sh->round, 1);
	futex_wake(&sh->round);
	while (time_ns && !atomic_load(&sh->ended)) {
		uint64_t nap = time_ns < LOOK_NS ? time_ns : LOOK_NS;

		clock_sleep_ns(nap);
		time_ns -= nap;
	}
	if (timed)
		atomic_store(&sh->stop, 1);
	r = wait_count(run, &sh->done, crew->measured);
	window_close(ret);
	return r;
}

/*
 * A server that blocks in a read is ended by SIGTERM. One that ended by any other signal died, and
 * perhaps so late that the supervisor did not see it: nothing ends well with a party missing.
 */
static int party_reap(pid_t pid, bool measured, uint64_t until)
{
	int status = 0;
	pid_t r;

	if (!measured)
		kill(pid, SIGTERM);
	while (!(r = waitpid(pid, &status, WNOHANG)) && clock_mono_ns() < until)
		clock_sleep_ns(NSEC_PER_MSEC / 10);
	if (!r) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return 0;
	}
	if (r == pid && WIFSIGNALED(status))
		return WTERMSIG(status) != SIGTERM ? -EPIPE : 0;
	return r == pid && WEXITSTATUS(status) ? -EPIPE : 0;
}

static void on_wake(int sig)
{
	(void)sig;
}

/* A serving thread that blocks in a read is woken, again and again, until it sees the end. */
static int thread_reap(pthread_t thread, bool measured, uint64_t until)
{
	struct sigaction sa = { .sa_handler = on_wake };

	sigaction(WAKE_SIGNAL, &sa, NULL);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
		if (clock_mono_ns() >= until)
			return -ETIMEDOUT;
		if (!measured)
			pthread_kill(thread, WAKE_SIGNAL);
		clock_sleep_ns(NSEC_PER_MSEC / 10);
	}
	return 0;
}

int crew_stop(struct run *run, struct crew *crew)
{
	struct shared *sh = run->sh;
	uint64_t until = clock_mono_ns() + STOP_WAIT_NS;
	bool stuck = false;
	size_t i;
	int r = 0;

	atomic_store(&sh->part_over, 1);
	atomic_fetch_add(&sh->round, 1);
	futex_wake(&sh->round);
	for (i = 0; i < crew->n; i++) {
		const struct party *p = &crew->party[i];
		bool measured = p->role->batch != NULL;

		if (p->role->kind == PARTY_THREAD) {
			if (!thread_reap(crew->thread[i], measured, until))
				continue;
			r = run_fail(run, ETIMEDOUT, "party %s %u does not stop", p->role->role,
				     p->index);
			stuck = true;
			continue;
		}
		if (party_reap(atomic_load(&sh->slot[i + 1].pid), measured, until) < 0)
			r = run_fail(run, EPIPE, "party %s %u died", p->role->role, p->index);
		atomic_store(&sh->slot[i + 1].pid, 0);
	}
	/* It still uses what would be freed below. */
	if (stuck)
		_exit(1);
	return r;
}
