/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/perturb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define PAD_MAX	   65536u
#define SLAB_MAX   256u
#define CHILD_EACH 32u /* a child for so many pipes: one costs as much as thirty */

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
