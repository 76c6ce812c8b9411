/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/unit.h"
#include "runner/internal.h"
#include "runner/perturb.h"
#include "runner/runner.h"
#include "runner/stop.h"
#include "workload/kit.h"

#define TICK_MS	     500
#define EXACT_TICK   60000 /* nothing of ours may wake up while something is counted */
#define RECORDS_MAX  (64u << 20)
#define LEADER_LOOKS 10u

struct watched {
	int fd; /* pidfd */
	pid_t pid;
	char role[28];
};

struct watch {
	struct shared *sh;
	pid_t pid;
	int control, result;
	struct watched *party;
	size_t n, cap;
	struct supervised *out;
	uint64_t heartbeat_ns;
	int tick_ms;
	bool alone;  /* we had no children before */
	bool killed; /* by us */
};

/* Descriptors 3..6 of the child, whatever they are here; all others are CLOEXEC. */
static int place_fds(const int from[4])
{
	int high[4], i;

	for (i = 0; i < 4; i++) {
		high[i] = fcntl(from[i], F_DUPFD, 16);
		if (high[i] < 0)
			return -errno;
	}
	for (i = 0; i < 4; i++) {
		if (dup2(high[i], INVOKE_FD_SHARED + i) < 0)
			return -errno;
		close(high[i]);
	}
	return 0;
}

static void child(pid_t parent, const int fds[4], int self)
{
	static char name[] = "kdelta-agent", verb[] = "invoke";
	char *argv[] = { name, verb, NULL };
	sigset_t none;
	int sig, null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Also what was ignored already when the agent was started: exec keeps that. */
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	/* The records' channel may be stdout, and `self` one of the numbers that are now given out.
	 */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (self >= 0)
		self = fcntl(self, F_DUPFD_CLOEXEC, 16);
	if (place_fds(fds) < 0)
		_exit(1);
	if (self >= 0)
		syscall(SYS_execveat, self, "", argv, environ, AT_EMPTY_PATH);
	/* An old or a locked-down kernel: the copy of this process serves, and usage says so. */
	_exit(runner_invoke(false));
}

static int memfd_of(const struct plan *plan, const struct plan_item *item, int *ret,
		    struct error *e)
{
	struct plan one = *plan;
	struct plan_item copy = *item;
	char *text;
	int r;

	one.items = &copy;
	one.n = 1;
	text = plan_encode(&one);
	r = file_memfd("kdelta-item", text, strlen(text), ret, e);
	free(text);
	return r;
}

static void end_with(struct watch *w, enum outcome how, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void end_with(struct watch *w, enum outcome how, const char *fmt, ...)
{
	va_list ap;

	if (w->out->outcome != OUTCOME_OK || w->out->reason[0])
		return;
	w->out->outcome = how;
	va_start(ap, fmt);
	vsnprintf(w->out->reason, sizeof(w->out->reason), fmt, ap);
	va_end(ap);
}

static void watch_party(struct watch *w)
{
	char msg[64], role[28] = "";
	ssize_t n = recv(w->control, msg, sizeof(msg) - 1, MSG_DONTWAIT);
	struct watched *p;
	int pid, fd;

	if (n <= 0) {
		close(w->control);
		w->control = -1;
		return;
	}
	msg[n] = '\0';
	if (sscanf(msg, "%d %27s", &pid, role) != 2)
		return;
	/* Linux 5.3; before that a dead party is noticed by its peer, or as silence. */
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	w->party = mem_grow(w->party, w->n, &w->cap, sizeof(*p));
	p = &w->party[w->n++];
	p->fd = fd;
	p->pid = pid;
	memcpy(p->role, role, sizeof(p->role));
}

/* Its parties die with it, before its threads do: then they are not the cause. */
static bool leader_ended(const struct watch *w)
{
	siginfo_t info = { .si_pid = 0 };
	unsigned i;

	for (i = 0; i < LEADER_LOOKS && !info.si_pid; i++) {
		if (i)
			clock_sleep_ns(5 * NSEC_PER_MSEC);
		if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return false;
	}
	return info.si_pid != 0;
}

/* Is it one of the part that runs now? Those of a part that is over were taken off the page. */
static bool is_party(const struct shared *sh, pid_t pid)
{
	size_t i;

	for (i = 1; i < SHARED_SLOTS; i++)
		if (atomic_load(&sh->slot[i].pid) == pid)
			return true;
	return false;
}

/* A party's process ended. That is right when the part is over, and a failure before. */
static void party_ended(struct watch *w, size_t i)
{
	pid_t pid = w->party[i].pid;
	char role[28];

	memcpy(role, w->party[i].role, sizeof(role));
	close(w->party[i].fd);
	w->party[i] = w->party[--w->n];
	if (atomic_load(&w->sh->part_over) || !is_party(w->sh, pid) || leader_ended(w))
		return;
	/* It may have said why; if not, it was killed. */
	shared_end(w->sh, SHARED_FAILED, EPIPE, "party %s died (%s)", role, w->sh->phase);
}

static int read_result(struct watch *w)
{
	char buf[65536];
	ssize_t n = read(w->result, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 1;
	if (n <= 0)
		return 0;
	str_add_n(&w->out->records, buf, (size_t)n);
	if (w->out->records.len > RECORDS_MAX) {
		shared_end(w->sh, SHARED_FAILED, EFBIG, "more than %u MiB of records",
			   RECORDS_MAX >> 20);
		return 0;
	}
	return 1;
}

/* Until the invocation closes its end, stops beating, or is said to have failed. */
static void loop(struct watch *w)
{
	uint32_t beat = atomic_load(&w->sh->beat);
	uint64_t since = clock_mono_ns();

	for (;;) {
		size_t n = w->n, i;
		CLEANUP_FREE struct pollfd *p = mem_array(n + 2, sizeof(*p));
		uint32_t now;

		p[0].fd = w->result;
		p[1].fd = w->control;
		p[0].events = p[1].events = POLLIN;
		for (i = 0; i < n; i++) {
			p[i + 2].fd = w->party[i].fd;
			p[i + 2].events = POLLIN;
		}
		if (poll(p, (nfds_t)n + 2, w->tick_ms) < 0 && errno != EINTR)
			return;
		for (i = n; i > 0; i--)
			if (p[i + 1].revents)
				party_ended(w, i - 1);
		if (p[1].revents)
			watch_party(w);
		if (p[0].revents && !read_result(w))
			return;
		if (stop_asked()) {
			shared_end(w->sh, SHARED_FAILED, EINTR, "interrupted by %s",
				   strsignal(stop_asked()));
			return;
		}
		now = atomic_load(&w->sh->beat);
		if (now != beat) {
			beat = now;
			since = clock_mono_ns();
		} else if (clock_mono_ns() - since > w->heartbeat_ns) {
			char limit[40];

			unit_format_time(w->heartbeat_ns, limit, sizeof(limit));
			shared_end(w->sh, SHARED_FAILED, ETIMEDOUT, "no sign of life for %s (%s)",
				   limit, w->sh->phase);
		}
		/* The leader may be waiting for what never comes: give it a moment to end. */
		if (atomic_load(&w->sh->ended) && clock_mono_ns() - since > NSEC_PER_SEC)
			return;
	}
}

/* "12 34": our children; NULL where the kernel does not list them (CONFIG_PROC_CHILDREN). */
static char *children(void)
{
	CLEANUP_FREE char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());

	return file_line(path);
}

/*
 * What left the group (setsid) and lost its parent is a child of ours now. A shell that had
 * children may have become us by exec: then whose is whose cannot be told, and none is touched.
 */
static void reap_orphans(void)
{
	unsigned rounds;

	for (rounds = 0; rounds < 100; rounds++) {
		CLEANUP_FREE char *text = children();
		char *save = NULL, *word = text ? strtok_r(text, " ", &save) : NULL;

		if (!word)
			return;
		for (; word; word = strtok_r(NULL, " ", &save)) {
			pid_t pid = (pid_t)atoi(word);

			if (pid > 1) {
				kill(pid, SIGKILL);
				waitpid(pid, NULL, 0);
			}
		}
	}
}

/* Ends the process group and everything that lost its parent; how the leader ended. */
static int reap(struct watch *w)
{
	int status = 0, other;
	bool asked = false;
	pid_t pid;
	unsigned i;

	/* It closed its result; give it a moment to leave by itself, and to end what it started. */
	for (i = 0; i < 200; i++) {
		pid = waitpid(w->pid, &status, WNOHANG);
		if (pid == w->pid || (pid < 0 && errno != EINTR))
			break;
		if (atomic_load(&w->sh->ended) && i > 100)
			break;
		if (atomic_load(&w->sh->ended) && i == 2) {
			kill(w->pid, SIGTERM);
			asked = true;
		}
		clock_sleep_ns(10 * NSEC_PER_MSEC);
	}
	w->killed = asked && pid == w->pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
	kill(-w->pid, SIGKILL);
	if (pid != w->pid) {
		w->killed = true;
		waitpid(w->pid, &status, 0);
	}
	/* As subreaper: orphans come to us, those of the group were just killed. */
	while ((pid = waitpid(-w->pid, &other, 0)) > 0 || (pid < 0 && errno == EINTR))
		;
	if (w->alone)
		reap_orphans();
	return status;
}

static bool complete(const struct supervised *s)
{
	return s->records.len && s->records.s[s->records.len - 1] == '\n';
}

static void judge(struct watch *w, int status)
{
	struct shared *sh = w->sh;
	uint32_t ended = atomic_load(&sh->ended);

	/* A leader that crashed takes its parties' peers away: theirs is not the first cause. */
	if (WIFSIGNALED(status) && !w->killed) {
		end_with(w, OUTCOME_FAILED, "killed by signal %d, %s (%.79s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), sh->phase);
	} else if (ended != SHARED_RUNNING) {
		const char *text = atomic_load(&sh->worded) ? sh->reason : "it failed";

		end_with(w, ended == SHARED_SKIPPED ? OUTCOME_SKIPPED : OUTCOME_FAILED, "%.600s",
			 text);
	} else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		end_with(w, OUTCOME_FAILED, "exited with %d (%.79s)", WEXITSTATUS(status),
			 sh->phase);
	} else if (!complete(w->out)) {
		end_with(w, OUTCOME_FAILED, "its records are incomplete");
	}
	if (w->out->outcome != OUTCOME_OK)
		str_reset(&w->out->records);
}

int supervise(const struct plan *plan, const struct plan_item *item, int self,
	      struct supervised *ret, struct error *e)
{
	CLEANUP_FREE char *before = NULL;
	CLEANUP_CLOSE int page = memfd_create("kdelta-run", MFD_CLOEXEC), in = -1;
	int pair[2] = { -1, -1 }, pipefd[2] = { -1, -1 }, fds[4], r = 0;
	struct watch w = { .out = ret, .heartbeat_ns = plan->heartbeat_ns };
	bool exact = !strcmp(plan->class, PLAN_EXACT);
	pid_t parent = getpid();
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (exact && perturb_hold(&item->perturb, e) < 0)
		return -EIO;
	w.tick_ms = exact ? EXACT_TICK : TICK_MS;
	if (page < 0 || ftruncate(page, sizeof(struct shared)) < 0)
		return error_errno(e, errno, "shared page");
	w.sh = mmap(NULL, sizeof(*w.sh), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	if (w.sh == MAP_FAILED)
		return error_errno(e, errno, "shared page");
	snprintf(w.sh->phase, sizeof(w.sh->phase), "start");
	r = memfd_of(plan, item, &in, e);
	if (!r && (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
		   pipe2(pipefd, O_CLOEXEC) < 0))
		r = error_errno(e, errno, "pipes of an invocation");
	if (r < 0)
		goto out;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fds[0] = page;
	fds[1] = pipefd[1];
	fds[2] = in;
	fds[3] = pair[1];
	before = exact ? NULL : children();
	w.alone = before && !*before;
	w.pid = fork();
	if (w.pid < 0) {
		r = error_errno(e, errno, "cannot start an invocation");
		goto out;
	}
	if (!w.pid) {
		if (exact)
			perturb_environment(&item->perturb);
		child(parent, fds, self);
	}
	setpgid(w.pid, w.pid);
	close(pipefd[1]);
	close(pair[1]);
	pipefd[1] = pair[1] = -1;
	w.control = pair[0];
	w.result = pipefd[0];
	loop(&w);
	/* A run of exact mode has its records, and its machine ends with it. */
	if (!exact || atomic_load(&w.sh->ended) || !complete(ret)) {
		judge(&w, reap(&w));
		kit_tmpdir_sweep(getenv("TMPDIR"), w.pid);
	}
	pair[0] = w.control;
	for (i = 0; i < w.n; i++)
		close(w.party[i].fd);
	free(w.party);
out:
	munmap(w.sh, sizeof(*w.sh));
	for (i = 0; i < 2; i++) {
		mem_close_fd(&pair[i]);
		mem_close_fd(&pipefd[i]);
	}
	return r;
}

void supervised_done(struct supervised *s)
{
	if (!s)
		return;
	str_done(&s->records);
}
