/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends are made and connected here, before anything is measured: no server is looked for on
 * a port, so there is none that could be somebody else's.
 */
#include "workload/kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static const struct family {
	int number;
	const char *name, *address;
} families[] = { { AF_INET, "ipv4", "127.0.0.1" }, { AF_INET6, "ipv6", "::1" } };

static int socket_fail(struct run *run, const struct family *f, const char *call)
{
	return run_fail(run, errno, "%s %s: %s", call, f->address, strerror(errno));
}

static int name_of(struct run *run, const struct family *f, int fd, bool peer, union address *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	if ((peer ? getpeername(fd, &ret->any, &len) : getsockname(fd, &ret->any, &len)) < 0)
		return socket_fail(run, f, peer ? "getpeername" : "getsockname");
	return 0;
}

static socklen_t length_of(const struct family *f)
{
	return f->number == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The family's loopback address, any port. */
static void loopback_of(const struct family *f, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (f->number == AF_INET) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_addr = in6addr_loopback;
	}
}

/*
 * Can it be bound, and is there a way to it? Where loopback was never up, the first alone is true.
 * A datagram socket is connected without a packet.
 */
static bool family_up(const struct family *f)
{
	union address at;
	socklen_t len = sizeof(at);
	int fd = socket(f->number, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool up;

	if (fd < 0)
		return errno != EAFNOSUPPORT; /* for want of something else: said later */
	loopback_of(f, &at);
	up = bind(fd, &at.any, length_of(f)) == 0 && getsockname(fd, &at.any, &len) == 0 &&
	     connect(fd, &at.any, len) == 0;
	close(fd);
	return up;
}

bool kit_loopback_up(void)
{
	return family_up(&families[0]) || family_up(&families[1]);
}

/* On a free port of the family's loopback address. */
static int bound(struct run *run, const struct family *f, int type, int *ret_fd)
{
	union address at;

	loopback_of(f, &at);
	*ret_fd = socket(f->number, type | SOCK_CLOEXEC, 0);
	if (*ret_fd < 0)
		return socket_fail(run, f, "socket");
	return bind(*ret_fd, &at.any, length_of(f)) < 0 ? socket_fail(run, f, "bind") : 0;
}

/* A signal ends the wait, not the attempt: connect(2) must not be called again. */
static int connect_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int r;
	socklen_t len = sizeof(r);

	do
		r = poll(&p, 1, -1);
	while (r < 0 && errno == EINTR);
	if (r < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &r, &len) < 0)
		return -1;
	errno = r;
	return r ? -1 : 0;
}

static int connect_to(struct run *run, const struct family *f, int fd, int other)
{
	union address to;
	int r = name_of(run, f, other, false, &to);

	if (r == 0 && connect(fd, &to.any, length_of(f)) < 0 &&
	    (errno != EINTR || connect_end(fd) < 0))
		r = socket_fail(run, f, "connect");
	return r;
}

/* What reached a socket before it was connected may be from anybody. */
static int drain(struct run *run, const struct family *f, int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		;
	return errno == EAGAIN ? 0 : socket_fail(run, f, "recv");
}

static int datagram_pair(struct run *run, const struct family *f, int fds[2])
{
	int r = bound(run, f, SOCK_DGRAM, &fds[0]);

	if (r == 0)
		r = bound(run, f, SOCK_DGRAM, &fds[1]);
	for (int i = 0; i < 2 && r == 0; i++) {
		r = connect_to(run, f, fds[i], fds[!i]);
		if (r == 0)
			r = drain(run, f, fds[i]);
	}
	return r;
}

/* Whoever else came to the port meanwhile is sent away. */
static int accept_own(struct run *run, const struct family *f, int listener, int client, int *ret)
{
	union address want, got;
	int r = name_of(run, f, client, false, &want);

	while (r == 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0)
			return socket_fail(run, f, "accept");
		r = name_of(run, f, fd, true, &got);
		if (r == 0 && !memcmp(&got, &want, sizeof(got))) {
			*ret = fd;
			return 0;
		}
		close(fd);
	}
	return r;
}

/* A reset at the end instead of a TIME_WAIT, which would take the port for a minute. */
static int stream_options(struct run *run, const struct family *f, const int fds[2])
{
	const struct linger l = { .l_onoff = 1, .l_linger = 0 };

	for (int i = 0; i < 2; i++)
		if (setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &l, sizeof(l)) < 0)
			return socket_fail(run, f, "setsockopt SO_LINGER");
	return 0;
}

static int stream_pair(struct run *run, const struct family *f, int fds[2])
{
	int listener = -1, r = bound(run, f, SOCK_STREAM, &listener);

	if (r == 0 && listen(listener, 8) < 0)
		r = socket_fail(run, f, "listen");
	if (r == 0)
		r = bound(run, f, SOCK_STREAM, &fds[0]);
	if (r == 0)
		r = connect_to(run, f, fds[0], listener);
	if (r == 0)
		r = accept_own(run, f, listener, fds[0], &fds[1]);
	kit_close(&listener);
	return r < 0 ? r : stream_options(run, f, fds);
}

/* The one to use; NULL: none is there, a skip. */
static const struct family *family_choose(struct run *run, const char *name)
{
	bool any = !strcmp(name, "auto");

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *f = &families[i];

		if (!any && strcmp(name, f->name) != 0)
			continue;
		if (family_up(f))
			return f;
		if (!any) {
			run_skip(run, "loopback has no %s here (family=%s)", f->address, name);
			return NULL;
		}
	}
	run_skip(run, "loopback is down: neither 127.0.0.1 nor ::1");
	return NULL;
}

int kit_loopback(struct run *run, int type, const char *family, int fds[2])
{
	const struct family *f = family_choose(run, family);
	int r;

	fds[0] = fds[1] = -1;
	if (!f)
		return -ENOTSUP;
	r = type == SOCK_STREAM ? stream_pair(run, f, fds) : datagram_pair(run, f, fds);
	if (r == 0 && signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		r = run_fail(run, errno, "signal: %s", strerror(errno));
	if (r < 0) {
		kit_close(&fds[0]);
		kit_close(&fds[1]);
		return r;
	}
	run_context(run, "address_family", f->name);
	return 0;
}

static int message_done(struct run *run, const char *call, long got, size_t len)
{
	if (got >= 0)
		return run_fail(run, EIO, "%s: a message of %ld bytes instead of %zu", call, got,
				len);
	if (errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED)
		return run_fail(run, EPIPE, "%s: the peer is gone", call);
	return run_fail(run, errno, "%s: %s", call, strerror(errno));
}

int kit_send_message(struct run *run, int fd, const void *buf, size_t len)
{
	long got;

	do
		got = syscall(SYS_sendto, fd, buf, len, 0, NULL, 0);
	while (got < 0 && errno == EINTR);
	return got == (long)len ? 0 : message_done(run, "send", got, len);
}

/* Has a child ended? It stays to be waited for. */
static bool child_ended(void)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

int kit_recv_message(struct run *run, int fd, void *buf, size_t len)
{
	for (;;) {
		/* MSG_TRUNC: the length that it had, also where it was too long. */
		long got = syscall(SYS_recvfrom, fd, buf, len, MSG_TRUNC, NULL, NULL);

		if (got == (long)len)
			return 0;
		if (got >= 0 || errno != EINTR)
			return message_done(run, "recv", got, len);
		if (child_ended())
			return run_fail(run, EPIPE, "recv: the peer is gone");
	}
}
