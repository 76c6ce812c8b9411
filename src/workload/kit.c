/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const struct metric kit_metrics_time[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .headline = true,
	  .from = METRIC_FROM_TIME,
	  .doc = "time of one operation" },
	{ .name = NULL },
};

int kit_unexpected(struct run *run, const char *call, long got, long want)
{
	if (got == -1 && errno)
		return run_fail(run, errno, "%s: %s", call, strerror(errno));
	return run_fail(run, EIO, "%s: gave %ld instead of %ld", call, got, want);
}

int kit_write_all(struct run *run, int fd, const void *buf, size_t len)
{
	const char *p = buf;

	for (size_t done = 0; done < len;) {
		long r = syscall(SYS_write, fd, p + done, len - done);

		if (r > 0)
			done += (size_t)r;
		else if (r == 0)
			return run_fail(run, EIO, "write: %zu of %zu bytes", done, len);
		else if (errno == EPIPE || errno == ECONNRESET)
			return run_fail(run, EPIPE, "write: the peer is gone");
		else if (errno != EINTR)
			return run_fail(run, errno, "write: %s", strerror(errno));
	}
	return 0;
}

/* 1: the end before the first byte, or (only where `serving`) told to stop. */
static int read_some(struct run *run, int fd, void *buf, size_t len, bool serving)
{
	char *p = buf;

	for (size_t done = 0; done < len;) {
		long r = syscall(SYS_read, fd, p + done, len - done);

		if (r > 0)
			done += (size_t)r;
		else if (r == 0 && done == 0)
			return 1;
		else if (r == 0)
			return run_fail(run, EIO, "read: %zu of %zu bytes", done, len);
		else if (errno == ECONNRESET)
			return run_fail(run, EPIPE, "read: the peer is gone");
		else if (errno != EINTR)
			return run_fail(run, errno, "read: %s", strerror(errno));
		else if (serving && done == 0 && run_stopping(run))
			return 1;
	}
	return 0;
}

int kit_read_all(struct run *run, int fd, void *buf, size_t len)
{
	int r = read_some(run, fd, buf, len, false);

	return r > 0 ? run_fail(run, EPIPE, "read: the peer is gone") : r;
}

int kit_read_or_eof(struct run *run, int fd, void *buf, size_t len)
{
	return read_some(run, fd, buf, len, true);
}

static int pair_made(struct run *run, const char *call, int r)
{
	if (r < 0)
		return run_fail(run, errno, "%s: %s", call, strerror(errno));
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return run_fail(run, errno, "signal: %s", strerror(errno));
	return 0;
}

int kit_pipe(struct run *run, int fds[2])
{
	return pair_made(run, "pipe2", pipe2(fds, O_CLOEXEC));
}

int kit_socketpair(struct run *run, int type, int fds[2])
{
	return pair_made(run, "socketpair", socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds));
}

int kit_open(struct run *run, const char *path, int flags, int *ret_fd)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		return run_fail(run, errno, "open %s: %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

void kit_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int kit_wait(struct run *run, pid_t pid)
{
	int status;
	long r;

	do
		r = syscall(SYS_wait4, pid, &status, 0, NULL);
	while (r < 0 && errno == EINTR);
	if (r != pid)
		return kit_unexpected(run, "wait4", r, pid);
	if (WIFSIGNALED(status))
		return run_fail(run, ECHILD, "a child was killed by signal %d (%s)",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		return run_fail(run, ECHILD, "a child exited with %d", WEXITSTATUS(status));
	return 0;
}
