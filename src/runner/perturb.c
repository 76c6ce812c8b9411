/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/perturb.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

/* To the process that holds, -1: there is none. */
static int holder = -1;

/* Nobody writes, so that it does not return. */
static int hold_name(void *path)
{
	open(path, O_RDONLY);
	return 0;
}

/* Without libc's threads: each piece of code that runs for the first time costs the host. */
static int hold_names(char *path, unsigned n)
{
	static char stack[HOLD_NAMES][HOLD_STACK] __attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	unsigned i;

	for (i = 0; i < n; i++)
		if (clone(hold_name, stack[i] + HOLD_STACK, flags, path) < 0)
			return -errno;
	return 0;
}

static int hold_buffers(int fd, unsigned n)
{
	static const size_t sizes[] = { 1, 400, 900, 1900, 3900 };
	static char message[4096];
	unsigned i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			if (send(fd, message, sizes[k], MSG_DONTWAIT) < 0)
				return -errno;
	return 0;
}

static _Noreturn void hold(int control)
{
	const char *tmp = getenv("TMPDIR");
	char *path = mem_printf("%s/kdelta-hold-%d", tmp && *tmp ? tmp : "/tmp", (int)getpid());
	unsigned slab, buffers;
	int pair[2], r = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || mkfifo(path, 0600) < 0)
		r = -errno;
	if (write(control, &r, sizeof(r)) != sizeof(r) || r ||
	    read(control, &slab, sizeof(slab)) != sizeof(slab))
		_exit(1);
	buffers = slab / HOLD_NAMES;
	r = hold_buffers(pair[0], buffers < HOLD_BUFFERS ? buffers : HOLD_BUFFERS);
	if (!r)
		r = hold_names(path, slab % HOLD_NAMES);
	if (write(control, &r, sizeof(r)) != sizeof(r))
		_exit(1);
	for (;;)
		pause();
}

/* What the holder says of what it was to do. */
static int answer(struct error *e)
{
	int r;

	if (read(holder, &r, sizeof(r)) != sizeof(r))
		r = -EIO;
	return r < 0 ? error_errno(e, -r, "perturbation: objects cannot be held") : 0;
}

int perturb_prepare(struct error *e)
{
	pid_t parent = getpid(), pid;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(e, errno, "perturbation: socketpair");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (getppid() != parent)
			_exit(1);
		hold(pair[1]);
	}
	close(pair[1]);
	holder = pair[0];
	r = pid < 0 ? error_errno(e, errno, "perturbation: fork") : answer(e);
	if (r < 0) {
		close(holder);
		holder = -1;
	}
	return r;
}

int perturb_hold(const struct plan_perturb *p, struct error *e)
{
	if (!p->slab || holder < 0)
		return 0;
	if (write(holder, &p->slab, sizeof(p->slab)) != sizeof(p->slab))
		return error_errno(e, errno, "perturbation: objects cannot be held");
	return answer(e);
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
