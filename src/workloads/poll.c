/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process asks which of many descriptors is ready: the last of them is, all others are idle.
 * It asks without waiting (wait=no), as lmbench's lat_select does; wait=yes is what a server does,
 * which has poll and select put it into each descriptor's queue first.
 */
#include "workload/kit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct poll_state {
	int (*call)(struct run *run, struct poll_state *p);
	unsigned handles;
	bool wait;
	int ready; /* the descriptor that is */
	struct pollfd *pollfd;
	fd_set all;
	int epoll;
};

static const struct param poll_params[] = {
	{ .name = "call",
	  .type = PARAM_CHOICE,
	  .def = "poll",
	  .choices = "poll|select|epoll",
	  .sweep = "poll+epoll",
	  .help = "which system call" },
	{ .name = "handles",
	  .type = PARAM_UINT,
	  .def = "10",
	  .min = 1,
	  .max = 500,
	  .sweep = "10+500",
	  .help = "descriptors, the last of which is ready" },
	{ .name = "kind",
	  .type = PARAM_CHOICE,
	  .def = "pipe",
	  .choices = "pipe|tcp",
	  .help = "what they are" },
	{ .name = "wait",
	  .type = PARAM_CHOICE,
	  .def = "no",
	  .choices = "no|yes",
	  .help = "a call that would wait if none were ready" },
	{ .name = NULL },
};

static int poll_demand(const struct args *args, struct demand *demand)
{
	demand->tasks = 1;
	demand->descriptors = 2 * args_u64(args, "handles") + 16;
	return 0;
}

/* The calls' older forms where an architecture has them: what libc and programs use there. */
static long sys_poll(struct pollfd *fds, unsigned n, bool wait)
{
#ifdef SYS_poll
	return syscall(SYS_poll, fds, n, wait ? -1 : 0);
#else
	struct timespec now = { 0, 0 };

	return syscall(SYS_ppoll, fds, n, wait ? NULL : &now, NULL, 0);
#endif
}

static long sys_select(int n, fd_set *set, bool wait)
{
#ifdef SYS_select
	struct timeval now = { 0, 0 };

	return syscall(SYS_select, n, set, NULL, NULL, wait ? NULL : &now);
#else
	struct timespec now = { 0, 0 };

	return syscall(SYS_pselect6, n, set, NULL, NULL, wait ? NULL : &now, NULL);
#endif
}

static long sys_epoll(int fd, struct epoll_event *event, bool wait)
{
#ifdef SYS_epoll_wait
	return syscall(SYS_epoll_wait, fd, event, 1, wait ? -1 : 0);
#else
	return syscall(SYS_epoll_pwait, fd, event, 1, wait ? -1 : 0, NULL, 0);
#endif
}

static int wrong_one(struct run *run, const char *call)
{
	return run_fail(run, EIO, "%s: it is not the ready one that is ready", call);
}

static int call_poll(struct run *run, struct poll_state *p)
{
	long got = sys_poll(p->pollfd, p->handles, p->wait);

	if (got != 1)
		return kit_unexpected(run, "poll", got, 1);
	return p->pollfd[p->handles - 1].revents == POLLIN ? 0 : wrong_one(run, "poll");
}

static int call_select(struct run *run, struct poll_state *p)
{
	fd_set set = p->all;
	long got = sys_select(p->ready + 1, &set, p->wait);

	if (got != 1)
		return kit_unexpected(run, "select", got, 1);
	return FD_ISSET(p->ready, &set) ? 0 : wrong_one(run, "select");
}

static int call_epoll(struct run *run, struct poll_state *p)
{
	struct epoll_event event = { .events = 0 };
	long got = sys_epoll(p->epoll, &event, p->wait);

	if (got != 1)
		return kit_unexpected(run, "epoll_wait", got, 1);
	return event.data.fd == p->ready && event.events == EPOLLIN ? 0
								    : wrong_one(run, "epoll_wait");
}

static int handle_add(struct run *run, struct poll_state *p, unsigned i, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	p->pollfd[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (p->call == call_select) {
		if (fd >= FD_SETSIZE)
			return run_fail(run, EMFILE, "descriptor %d is too high for select", fd);
		FD_SET(fd, &p->all);
	}
	if (p->call == call_epoll && epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return run_fail(run, errno, "epoll_ctl: %s", strerror(errno));
	p->ready = fd;
	return 0;
}

static int handles_make(struct run *run, struct poll_state *p, bool tcp)
{
	int fds[2] = { -1, -1 }, r = 0;

	for (unsigned i = 0; i < p->handles && r == 0; i++) {
		/* The other ends stay open: a handle without one would be ready. */
		r = tcp ? kit_loopback(run, SOCK_STREAM, "auto", fds) : kit_pipe(run, fds);
		if (r == 0)
			r = handle_add(run, p, i, fds[0]);
	}
	/* Never read, so the last one is ready for good; behind a send it may take a moment. */
	if (r == 0)
		r = kit_write_all(run, fds[1], "x", 1);
	if (r == 0 && poll(&p->pollfd[p->handles - 1], 1, 1000) != 1)
		r = run_fail(run, EIO, "a byte was sent and does not arrive");
	return r;
}

static int poll_setup(struct run *run)
{
	const char *call = run_text(run, "call");
	struct poll_state *p = run_alloc(run, sizeof(*p));

	if (!p)
		return run_fail(run, ENOMEM, "no memory");
	p->call = !strcmp(call, "poll")	    ? call_poll
		  : !strcmp(call, "select") ? call_select
					    : call_epoll;
	p->handles = (unsigned)run_u64(run, "handles");
	p->wait = !strcmp(run_text(run, "wait"), "yes");
	p->pollfd = run_alloc(run, p->handles * sizeof(*p->pollfd));
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!p->pollfd)
		return run_fail(run, ENOMEM, "no memory");
	if (p->epoll < 0)
		return run_fail(run, errno, "epoll_create1: %s", strerror(errno));
	FD_ZERO(&p->all);
	run_set_state(run, p);
	return handles_make(run, p, !strcmp(run_text(run, "kind"), "tcp"));
}

static int poll_batch(struct run *run, uint64_t n)
{
	struct poll_state *p = run_state(run);
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++)
		r = p->call(run, p);
	return r;
}

const struct workload workload_poll = {
	.name = "poll",
	.family = "ipc",
	.op = "call",
	.doc = "poll(2), select(2) or epoll_wait(2) on many descriptors, one of them ready.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = poll_params,
	.metrics = kit_metrics_time,
	.demand = poll_demand,
	.setup = poll_setup,
	.batch = poll_batch,
};
