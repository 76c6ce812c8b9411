/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/perturb.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define PAD_MAX	     65536u
#define SLAB_MAX     256u
#define HOLD_NAMES   8u
#define HOLD_BUFFERS 8u
#define HOLD_STACK   16384u

static _Atomic unsigned not_held;

/* Nobody writes, so that open() returns only where it fails. */
static int hold_name(void *path)
{
	open(path, O_RDONLY);
	not_held++;
	return 0;
}

static int hold_names(char *path, unsigned n)
{
	static char stack[HOLD_NAMES][HOLD_STACK] __attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	unsigned i;
	int r = 0;

	if (mkfifo(path, 0600) < 0)
		return -errno;
	/* Without libc's threads: each piece of code that runs for the first time costs the host.
	 */
	for (i = 0; i < n && !r; i++)
		if (clone(hold_name, stack[i] + HOLD_STACK, flags, path) < 0)
			r = -errno;
	clock_sleep_ns(NSEC_PER_MSEC);
	unlink(path);
	return !r && not_held ? -EIO : r;
}

/* Paths (4 KiB each, as many as a slab of the kernel's names_cache has) and buffers of messages. */
static int hold_objects(unsigned names, unsigned buffers)
{
	static const size_t sizes[] = { 1, 400, 900, 1900, 3900 };
	static char message[4096];
	const char *tmp = getenv("TMPDIR");
	CLEANUP_FREE char *path =
		mem_printf("%s/kdelta-hold-%d", tmp && *tmp ? tmp : "/tmp", (int)getpid());
	int pair[2];
	unsigned i, k;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	for (i = 0; i < buffers; i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			if (send(pair[0], message, sizes[k], MSG_DONTWAIT) < 0)
				return -errno;
	return hold_names(path, names);
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
		if (pipe(fds[i]) < 0) {
			r = run_fail(run, errno, "perturbation: pipe: %s", strerror(errno));
			break;
		}
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
