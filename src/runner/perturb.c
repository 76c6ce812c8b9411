/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/perturb.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define PAD_MAX	     65536u
#define SLAB_MAX     256u
#define CHILD_EACH   32u /* a child for so many pipes: one costs as much as thirty */
#define HOLD_NAMES   8u
#define HOLD_BUFFERS 8u
#define HOLD_STACK   65536u

static void *hold_name(void *path)
{
	open(path, O_RDONLY); /* never returns: nobody writes */
	return NULL;
}

/* Paths (4 KiB each, as many as a slab of the kernel's names_cache has) and buffers of messages. */
static int hold_objects(unsigned names, unsigned buffers)
{
	static const size_t sizes[] = { 1, 400, 900, 1900, 3900 };
	static char message[4096];
	const char *tmp = getenv("TMPDIR");
	CLEANUP_FREE char *path =
		mem_printf("%s/kdelta-hold-%d", tmp && *tmp ? tmp : "/tmp", (int)getpid());
	pthread_attr_t attr;
	pthread_t thread;
	int pair[2], r = 0;
	unsigned i, k;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	for (i = 0; i < buffers; i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			if (send(pair[0], message, sizes[k], MSG_DONTWAIT) < 0)
				return -errno;
	if (mkfifo(path, 0600) < 0)
		return -errno;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, HOLD_STACK);
	for (i = 0; i < names && !r; i++)
		r = -pthread_create(&thread, &attr, hold_name, path);
	clock_sleep_ns(NSEC_PER_MSEC);
	unlink(path);
	return r;
}

int perturb_hold(const struct plan_perturb *p, struct error *e)
{
	unsigned names = p->slab % HOLD_NAMES, buffers = p->slab / HOLD_NAMES;
	int ready[2], r = -EIO;
	pid_t parent = getpid(), pid;

	if (!p->slab)
		return 0;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return error_errno(e, errno, "perturbation: pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		r = hold_objects(names, buffers < HOLD_BUFFERS ? buffers : HOLD_BUFFERS);
		if (getppid() != parent || write(ready[1], &r, sizeof(r)) != sizeof(r) || r)
			_exit(1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid < 0)
		r = -errno;
	else if (read(ready[0], &r, sizeof(r)) != sizeof(r))
		r = -EIO;
	close(ready[0]);
	return r < 0 ? error_errno(e, -r, "perturbation: objects cannot be held") : 0;
}

int perturb_apply(struct run *run, const struct plan_perturb *p)
{
	int fds[SLAB_MAX][2];
	unsigned n = p->slab < SLAB_MAX ? p->slab : SLAB_MAX, i;
	int r = 0;

	for (i = 0; i < n && !r; i++) {
		pid_t pid;

		if (pipe(fds[i]) < 0) {
			r = run_fail(run, errno, "perturbation: pipe: %s", strerror(errno));
			break;
		}
		if (i % CHILD_EACH)
			continue;
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			r = run_fail(run, EAGAIN, "perturbation: a child cannot be started");
	}
	/* Every other one first, so that slabs are left half full. */
	n = i;
	for (i = 0; i < 2 * n; i++) {
		unsigned k = i < n ? i : i - n;

		if ((k % 2 == 0) == (i < n)) {
			close(fds[k][0]);
			close(fds[k][1]);
		}
	}
	if (!r && p->idle_ns)
		clock_sleep_ns(p->idle_ns);
	return r;
}

void perturb_environment(const struct plan_perturb *p)
{
	unsigned n = p->env_bytes < PAD_MAX ? p->env_bytes : PAD_MAX;
	char *pad;

	if (!n)
		return;
	pad = mem_alloc(n + 1);
	memset(pad, 'x', n);
	setenv("KDELTA_PAD", pad, 1);
	free(pad);
}
