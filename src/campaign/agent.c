/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "model/record.h"

#define AGENT_NAME   "kdelta-agent"
#define TICK_MS	     200
#define END_WAIT_NS  (2 * NSEC_PER_SEC)
#define STOP_WAIT_NS (20 * NSEC_PER_SEC) /* it may have settings to put back */
#define LIST_WAIT_NS (60 * NSEC_PER_SEC)

#ifndef KDELTA_LIBEXECDIR
#define KDELTA_LIBEXECDIR "/usr/local/libexec"
#endif

int agent_find(char **ret_path, struct error *e)
{
	const char *given = getenv("KDELTA_AGENT");
	CLEANUP_FREE char *beside = file_beside_self(AGENT_NAME);

	if (given && *given) {
		if (access(given, X_OK) < 0)
			return error_errno(e, errno, "KDELTA_AGENT=%s", given);
		*ret_path = mem_strdup(given);
		return 0;
	}
	if (beside && access(beside, X_OK) == 0) {
		*ret_path = beside;
		beside = NULL;
		return 0;
	}
	if (access(KDELTA_LIBEXECDIR "/" AGENT_NAME, X_OK) == 0) {
		*ret_path = mem_strdup(KDELTA_LIBEXECDIR "/" AGENT_NAME);
		return 0;
	}
	return error_set(e, ENOENT,
			 "no " AGENT_NAME " at %s or in " KDELTA_LIBEXECDIR
			 ": build it, or set KDELTA_AGENT",
			 beside ? beside : "the folder of kdelta");
}

int agent_list(const char *path, struct workload_list *ret, struct error *e)
{
	const char *const argv[] = { path, "list", "--format", "json", NULL };
	const struct proc_opts opts = { .timeout_ns = LIST_WAIT_NS };
	CLEANUP_JSON json_t *j = NULL;
	struct proc_result out;
	int r = proc_run_ok(argv, &opts, &out, e);

	if (!r)
		r = json_parse(out.out, out.out_len, "its list", &j, e);
	if (!r)
		r = workload_list_decode(j, ret, e);
	proc_result_done(&out);
	return r < 0 ? error_prefix(e, "%s", path) : 0;
}

static void child(const char *path, int in, int out, pid_t parent)
{
	char name[] = AGENT_NAME, verb[] = "run", plan[] = "--plan", dash[] = "-";
	char *argv[] = { name, verb, plan, dash, NULL };

	/* Not SIGKILL: it may have settings to put back. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	/* What children print must not depend on the user's language. */
	setenv("LC_ALL", "C", 1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(1);
	execv(path, argv);
	_exit(127);
}

/* Hands out whole lines; what is left is moved to the front. */
static int take_lines(struct str *buf, AGENT_LINE_CALLBACK(line), void *arg, struct error *e)
{
	size_t at = 0;
	int r = 0;

	while (!r) {
		char *end = memchr(buf->s + at, '\n', buf->len - at);
		size_t len;

		if (!end)
			break;
		*end = '\0';
		len = (size_t)(end - (buf->s + at));
		r = len ? line(arg, buf->s + at, len, e) : 0;
		at += len + 1;
	}
	memmove(buf->s, buf->s + at, buf->len - at);
	buf->len -= at;
	if (!r && buf->len > RECORD_LINE_MAX)
		r = error_set(e, EFBIG, "the agent writes a line longer than %u bytes",
			      RECORD_LINE_MAX);
	return r;
}

static int read_all(int fd, AGENT_LINE_CALLBACK(line), void *arg, const volatile sig_atomic_t *stop,
		    struct error *e)
{
	struct str buf = STR_INIT;
	int r = 0;

	while (!r) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char chunk[65536];
		ssize_t n;

		if (stop && *stop) {
			r = error_set(e, EINTR, "interrupted");
			break;
		}
		if (poll(&p, 1, TICK_MS) <= 0)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = error_errno(e, errno, "the agent's records");
		else if (!n)
			r = -EPIPE;
		if (n <= 0)
			break;
		str_add_n(&buf, chunk, (size_t)n);
		r = take_lines(&buf, line, arg, e);
	}
	str_done(&buf);
	return r;
}

static int reap(pid_t pid, uint64_t wait_ns, bool *ret_killed)
{
	uint64_t until = clock_mono_ns() + wait_ns;
	int status = 0;
	pid_t r;

	while (!(r = waitpid(pid, &status, WNOHANG)) && clock_mono_ns() < until)
		clock_sleep_ns(5 * NSEC_PER_MSEC);
	*ret_killed = !r;
	if (!r) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return status;
}

int agent_run(const char *path, const char *plan_json, AGENT_LINE_CALLBACK(line), void *arg,
	      const volatile sig_atomic_t *stop, struct error *e)
{
	CLEANUP_CLOSE int in = -1;
	int out[2], r, status;
	pid_t parent = getpid(), pid;
	bool killed;

	r = file_memfd("kdelta-plan", plan_json, strlen(plan_json), &in, e);
	if (r < 0)
		return r;
	if (pipe2(out, O_CLOEXEC) < 0)
		return error_errno(e, errno, "pipe");
	pid = fork();
	if (pid < 0) {
		r = error_errno(e, errno, "cannot start the agent");
		close(out[0]);
		close(out[1]);
		return r;
	}
	if (!pid)
		child(path, in, out[1], parent);
	setpgid(pid, pid);
	close(out[1]);
	r = read_all(out[0], line, arg, stop, e);
	close(out[0]);
	if (r < 0 && r != -EPIPE)
		kill(-pid, SIGTERM);
	status = reap(pid, r < 0 && r != -EPIPE ? STOP_WAIT_NS : END_WAIT_NS, &killed);
	if (r == 1)
		return 0;
	if (r == -EPIPE && killed)
		return error_set(e, EPIPE, "the agent closed its channel before it was done");
	if (r == -EPIPE && WIFSIGNALED(status))
		return error_set(e, EPIPE, "the agent was killed by signal %d, %s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (r == -EPIPE)
		return error_set(e, EPIPE, "the agent ended (exit %d) before it was done",
				 WEXITSTATUS(status));
	return r;
}
