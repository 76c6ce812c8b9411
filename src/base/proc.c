/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define TICK_NS (250 * NSEC_PER_MSEC)

struct stream {
	int fd;
	struct str text;
	size_t max;
	bool truncated, keep_end;
};

static bool env_is_set(const char *const *env, const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (; env && *env; env++)
		if (!strncmp(*env, entry, n) && (*env)[n] == '=')
			return true;
	return false;
}

/* Our environment with the overrides over it. The strings are borrowed. */
static char **env_build(const char *const *env)
{
	static const char *const lc = "LC_ALL=C";
	size_t n = 0, at = 0;
	char **all;

	while (environ && environ[n])
		n++;
	for (const char *const *s = env; s && *s; s++)
		n++;
	all = mem_array(n + 2, sizeof(*all));
	for (char **s = environ; s && *s; s++)
		if (!env_is_set(env, *s) && !str_starts(*s, "LC_ALL=") &&
		    !str_starts(*s, "LANGUAGE="))
			all[at++] = *s;
	for (const char *const *s = env; s && *s; s++)
		memcpy(&all[at++], s, sizeof(*s));
	if (!env_is_set(env, lc))
		memcpy(&all[at++], &lc, sizeof(lc));
	return all;
}

struct child {
	char *const *argv;
	char *const *envp;
	const char *cwd;
	pid_t parent;
	int in, out, err, report; /* report: closed by a successful exec, else gets the errno */
	int guard;		  /* its guard's pipe, or -1 */
};

/* Between fork and exec: only what is safe there; descriptors 0-2 are replaced last. */
static void __attribute__((noreturn)) child_exec(const struct child *c)
{
	const pid_t self = getpid();
	sigset_t none;
	int err, sig;

	setpgid(0, 0);
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The parent may have died before the request was in force. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->parent)
		_exit(127);
	/* From here on the guard knows whom to end. Without one it runs as well. */
	while (c->guard >= 0 && write(c->guard, &self, sizeof(self)) < 0 && errno == EINTR)
		;
	if ((!c->cwd || !chdir(c->cwd)) && dup2(c->in, 0) == 0 && dup2(c->out, 1) == 1 &&
	    dup2(c->err, 2) == 2)
		execvpe(c->argv[0], c->argv, c->envp);
	err = errno;
	while (write(c->report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* A close-on-exec descriptor above 2, so that dup2() over 0-2 in the child cannot hit it. */
static int fd_above(int fd)
{
	int up;

	if (fd < 0 || fd > 2)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	mem_close_fd(&fd);
	return up;
}

static int pipe_above(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = fd_above(fds[0]);
	*ret_write = fd_above(fds[1]);
	return *ret_read < 0 || *ret_write < 0 ? -EMFILE : 0;
}

/* Takes what is there. False at the end of the stream. */
static bool stream_read(struct stream *s)
{
	char buf[65536];
	ssize_t n = read(s->fd, buf, sizeof(buf));
	size_t room = s->max - s->text.len;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (!n)
		return false;
	if ((size_t)n > room)
		s->truncated = true;
	str_add_n(&s->text, buf, (size_t)n < room || s->keep_end ? (size_t)n : room);
	if (s->text.len > s->max) {
		memmove(s->text.s, s->text.s + s->text.len - s->max, s->max + 1);
		s->text.len = s->max;
	}
	return true;
}

static bool stream_ready(const struct stream *s)
{
	struct pollfd p = { s->fd, POLLIN, 0 };

	return s->fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Reads both streams until the child has ended; reaps it. */
static int child_wait(pid_t pid, struct stream s[2], const struct proc_opts *o, int *ret_wait,
		      struct rusage *ret_usage, struct error *e, const char *name)
{
	CLEANUP_CLOSE int pidfd = pidfd_open(pid, 0); /* Linux 5.3; else by polling */
	uint64_t start = clock_mono_ns(), ticked = start;
	int r = 0;

	for (;;) {
		struct pollfd p[3] = { { s[0].fd, POLLIN, 0 },
				       { s[1].fd, POLLIN, 0 },
				       { pidfd, POLLIN, 0 } };
		uint64_t now;
		pid_t got;
		int i;

		poll(p, 3, pidfd < 0 ? 10 : 100);
		for (i = 0; i < 2; i++) {
			if (p[i].revents && !stream_read(&s[i])) {
				mem_close_fd(&s[i].fd);
				s[i].fd = -1;
			}
		}
		got = wait4(pid, ret_wait, WNOHANG, ret_usage);
		if (got == pid)
			break;
		if (got < 0 && errno != EINTR) {
			error_errno(e, errno, "cannot wait for %s", name);
			return r ? r : -ECHILD;
		}
		now = clock_mono_ns();
		if (!r && o->timeout_ns && now - start > o->timeout_ns) {
			error_set(e, ETIMEDOUT, "%s: not done after %.1f s, killed", name,
				  (double)o->timeout_ns / 1e9);
			r = -ETIMEDOUT;
		}
		if (!r && o->tick && now - ticked >= TICK_NS) {
			ticked = now;
			if (o->tick(o->arg)) {
				error_set(e, ECANCELED, "%s: interrupted", name);
				r = -ECANCELED;
			}
		}
		if (r) {
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
		}
	}
	/* What it left in the pipes; a grandchild that keeps them open is not waited for. */
	for (int i = 0; i < 2; i++)
		while (stream_ready(&s[i]) && stream_read(&s[i]))
			;
	return r;
}

/* Forks; `report` tells whether exec worked. */
static int child_start(struct child *c, int report_read, pid_t *ret_pid, struct error *e)
{
	ssize_t n;
	int err;
	pid_t pid;

	c->parent = getpid();
	pid = fork();
	if (pid < 0)
		return error_errno(e, errno, "cannot start %s", c->argv[0]);
	if (!pid)
		child_exec(c);
	setpgid(pid, pid);
	mem_close_fd(&c->report);
	c->report = -1;
	do {
		n = read(report_read, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(err)) {
		waitpid(pid, NULL, 0);
		if (c->cwd && access(c->cwd, X_OK) < 0)
			return error_errno(e, err, "cannot run %s in %s", c->argv[0], c->cwd);
		return error_errno(e, err, "cannot run %s", c->argv[0]);
	}
	*ret_pid = pid;
	return 0;
}

struct guard {
	pid_t pid;
	int fd; /* closed by the kernel when we end, however we do */
};

/* Only what is safe after a fork of many threads. */
static void __attribute__((noreturn)) guard_wait(int fd)
{
	pid_t group = 0;
	sigset_t all;
	ssize_t n;

	/* Neither Ctrl-C nor a hangup is for it. */
	setpgid(0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Above all the other end of its own pipe, and those of other threads' commands. */
	if (dup2(fd, 0) < 0)
		_exit(1);
	close_range(1, ~0u, 0);
	/* The command's own first words, then nothing until all ends are closed. */
	do {
		n = read(0, &group, sizeof(group));
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (group > 1)
		kill(-group, SIGKILL);
	_exit(0);
}

/*
 * Before the command, so that there is no moment without. Without one the command runs as well: it
 * is for the worst case.
 */
static void guard_start(struct guard *g)
{
	int read_end = -1, write_end = -1;

	if (pipe_above(&read_end, &write_end) == 0) {
		g->pid = fork();
		if (!g->pid)
			guard_wait(read_end);
	}
	mem_close_fd(&read_end);
	if (g->pid > 0)
		g->fd = write_end;
	else
		mem_close_fd(&write_end);
}

static void guard_stop(struct guard *g)
{
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	mem_close_fd(&g->fd);
}

int proc_run(const char *const *argv, const struct proc_opts *opts, struct proc_result *ret_result,
	     struct error *e)
{
	static const struct proc_opts none;
	const struct proc_opts *o = opts ? opts : &none;
	size_t max = o->max_output ? o->max_output : PROC_OUTPUT_MAX;
	struct stream s[2] = { { -1, STR_INIT, max, false, o->keep_end },
			       { -1, STR_INIT, max, false, o->keep_end } };
	struct child c = {
		.cwd = o->cwd, .in = -1, .out = -1, .err = -1, .report = -1, .guard = -1
	};
	CLEANUP_FREE char **envp = env_build(o->env);
	struct guard guard = { -1, -1 };
	int report = -1, wait = 0, r;
	pid_t pid = -1;

	*ret_result = (struct proc_result){ .status = -1 };
	memcpy(&c.argv, &argv, sizeof(argv)); /* exec does not write to them */
	c.envp = envp;
	c.in = fd_above(open("/dev/null", O_RDONLY | O_CLOEXEC));
	r = c.in < 0 ? -errno : pipe_above(&s[0].fd, &c.out);
	if (!r)
		r = pipe_above(&s[1].fd, &c.err);
	if (!r)
		r = pipe_above(&report, &c.report);
	if (!r && o->no_out) {
		mem_close_fd(&c.out);
		c.out = fd_above(open("/dev/null", O_WRONLY | O_CLOEXEC));
		r = c.out < 0 ? -errno : 0;
	}
	if (!r && o->out_fd > 2) {
		mem_close_fd(&c.out);
		mem_close_fd(&c.err);
		c.out = fcntl(o->out_fd, F_DUPFD_CLOEXEC, 3);
		c.err = fcntl(o->out_fd, F_DUPFD_CLOEXEC, 3);
		if (c.out < 0 || c.err < 0)
			r = -errno;
	}
	if (!r && o->guard)
		guard_start(&guard);
	c.guard = guard.fd;
	if (r < 0)
		error_errno(e, -r, "cannot start %s", argv[0]);
	else
		r = child_start(&c, report, &pid, e);
	mem_close_fd(&c.in);
	mem_close_fd(&c.out);
	mem_close_fd(&c.err);
	mem_close_fd(&c.report);
	mem_close_fd(&report);
	if (!r)
		r = child_wait(pid, s, o, &wait, &ret_result->usage, e, argv[0]);
	guard_stop(&guard);
	mem_close_fd(&s[0].fd);
	mem_close_fd(&s[1].fd);
	ret_result->out_len = s[0].text.len;
	ret_result->err_len = s[1].text.len;
	ret_result->out = str_take(&s[0].text);
	ret_result->err = str_take(&s[1].text);
	ret_result->truncated = s[0].truncated || s[1].truncated;
	if (r < 0)
		return r;
	if (WIFEXITED(wait))
		ret_result->status = WEXITSTATUS(wait);
	else if (WIFSIGNALED(wait))
		ret_result->signal = WTERMSIG(wait);
	return 0;
}

int proc_run_ok(const char *const *argv, const struct proc_opts *opts,
		struct proc_result *ret_result, struct error *e)
{
	CLEANUP_FREE char *copy = NULL;
	const char *last;
	char *trimmed;
	int r = proc_run(argv, opts, ret_result, e);

	if (r < 0 || ret_result->status == 0)
		return r;
	copy = mem_strdup(ret_result->err);
	trimmed = str_trim(copy);
	last = strrchr(trimmed, '\n');
	last = last ? last + 1 : trimmed;
	if (ret_result->signal)
		return error_set(e, EIO, "%s: ended by signal %d (%s)%s%s", argv[0],
				 ret_result->signal, strsignal(ret_result->signal),
				 *last ? ": " : "", last);
	return error_set(e, EIO, "%s: exit status %d%s%s", argv[0], ret_result->status,
			 *last ? ": " : "", last);
}

void proc_result_done(struct proc_result *result)
{
	if (!result)
		return;
	free(result->out);
	free(result->err);
	*result = (struct proc_result){ .status = -1 };
}
