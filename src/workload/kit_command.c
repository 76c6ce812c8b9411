/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/proc.h"

#define STDERR_KEPT   4096u
#define PROGRAM_MAX   (64u << 20)
#define SWEEP_WAIT_NS (2 * NSEC_PER_SEC)
#define FD_LAST	      4095 /* closed one by one where the kernel cannot do it at once */

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2) /* since Linux 5.11; close_range(2) */
#endif

static volatile sig_atomic_t ending; /* the runner has gone, or wants us to go */

static void on_end(int sig)
{
	(void)sig;
	ending = 1;
}

/* The first sign that only a shell would understand, outside of quotes; NULL: none. */
static const char *shell_sign(const char *s)
{
	char quote = 0;

	for (; *s; s++) {
		if (*s == '\\' && quote != '\'' && s[1])
			s++;
		else if (quote ? *s == quote : *s == '\'' || *s == '"')
			quote = quote ? 0 : *s;
		else if (!quote && strchr("|&;<>()", *s))
			return s;
	}
	return NULL;
}

int kit_command_words(struct run *run, const char *line, struct words *ret)
{
	struct error e = ERROR_INIT;
	const char *sign;

	if (words_split(line, ret, &e) < 0)
		return run_fail(run, EINVAL, "the command line: %s", e.text);
	if (!ret->n)
		return run_fail(run, EINVAL, "the command line is empty");
	sign = shell_sign(line);
	if (sign)
		return run_fail(run, EINVAL,
				"the command line: there is no shell for \"%.40s\": put it in "
				"quotes, or write /bin/sh -c '...'",
				sign);
	return 0;
}

/* What execvp(3) would take; NULL: nothing. Caller frees. */
static char *find(const char *name)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return access(name, F_OK) == 0 ? mem_strdup(name) : NULL;
	for (; path && *path; path = *end ? end + 1 : end) {
		char *file;

		end = strchrnul(path, ':');
		file = mem_printf("%.*s/%s", (int)(end - path), path, name);
		if (access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

/* "make 0123456789abcdef": its name and a hash of its bytes, where they can be read. */
static void tell_program(struct run *run, const char *name)
{
	CLEANUP_FREE char *path = find(name);
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FREE char *text = NULL;
	char hash[17];
	size_t len;

	if (!path || file_read(path, PROGRAM_MAX, &bytes, &len, NULL) < 0)
		return;
	id_fnv1a(bytes, len, hash);
	text = mem_printf("%s %s", basename(path), hash);
	run_context(run, "program", text);
}

int kit_command_setup(struct run *run, const struct words *words)
{
	struct sigaction sa = { .sa_handler = on_end };

	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		for (int fd = 3; fd <= FD_LAST; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return run_fail(run, errno, "prctl: %s", strerror(errno));
	/*
	 * Killed with the runner, we would leave the command's children behind; so we are asked
	 * to end, and kit_command_run() does. One that is stuck elsewhere is killed by the runner.
	 */
	if (sigaction(SIGTERM, &sa, NULL) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return run_fail(run, errno, "a signal cannot be caught: %s", strerror(errno));
	tell_program(run, words->items[0]);
	return 0;
}

/* Process 1 is this agent, on an initramfs: a guest of ours. */
static bool in_guest(void)
{
	struct stat first, self;
	struct statfs root;

	return stat("/proc/1/exe", &first) == 0 && stat("/proc/self/exe", &self) == 0 &&
	       first.st_ino == self.st_ino && first.st_dev == self.st_dev &&
	       statfs("/", &root) == 0 &&
	       ((unsigned long)root.f_type == RAMFS_MAGIC ||
		(unsigned long)root.f_type == TMPFS_MAGIC);
}

static int not_there(struct run *run, const char *name)
{
	CLEANUP_FREE char *path = NULL;

	if (in_guest())
		return run_skip(run,
				"%s cannot be run in this guest, which holds the agent and at "
				"most a shell, no other programs",
				name);
	path = find(name);
	if (path)
		return run_fail(run, ENOENT,
				"cannot run %s: the interpreter or dynamic linker that it names "
				"is not there",
				name);
	return run_fail(run, ENOENT, "cannot run %s: there is no such program%s", name,
			strchr(name, '/') ? "" : " in PATH");
}

static int tick(void *run)
{
	run_beat(run);
	return ending;
}

static uint64_t tv_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NSEC_PER_SEC + (uint64_t)t->tv_usec * NSEC_PER_USEC;
}

/* To or from what a program that we start inherits. */
static void inherit(int fd, bool yes)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, yes ? 0 : FD_CLOEXEC);
}

int kit_command_run(struct run *run, const struct kit_command *command, struct kit_usage *ret)
{
	const struct proc_opts o = { .env = command->env,
				     .max_output = STDERR_KEPT,
				     .keep_end = true,
				     .no_out = true,
				     .timeout_ns = command->timeout_ns,
				     .tick = tick,
				     .arg = run };
	struct error e = ERROR_INIT;
	const char *const *argv;
	struct proc_result p;
	int r;

	memset(ret, 0, sizeof(*ret));
	memcpy(&argv, &command->words->items, sizeof(argv));
	inherit(command->inherit, true);
	r = proc_run_ok(argv, &o, &p, &e);
	inherit(command->inherit, false);
	if (r == -ENOENT)
		r = not_there(run, argv[0]);
	else if (r < 0)
		r = run_fail(run, -r, "%s", e.text);
	ret->user_ns = tv_ns(&p.usage.ru_utime);
	ret->system_ns = tv_ns(&p.usage.ru_stime);
	ret->maxrss_bytes = (uint64_t)p.usage.ru_maxrss * 1024;
	ret->voluntary = (uint64_t)p.usage.ru_nvcsw;
	ret->involuntary = (uint64_t)p.usage.ru_nivcsw;
	proc_result_done(&p);
	return r;
}

/* The parent's pid, 0 if it cannot be told. The name before it may hold anything. */
static long parent_of(const char *pid)
{
	CLEANUP_FREE char *path = mem_printf("/proc/%s/stat", pid);
	CLEANUP_FREE char *line = file_line(path);
	const char *end = line ? strrchr(line, ')') : NULL;
	long parent = 0;

	return end && sscanf(end, ") %*c %ld", &parent) == 1 ? parent : 0;
}

static void kill_children(void)
{
	const struct dirent *d;
	DIR *proc = opendir("/proc");

	while (proc && (d = readdir(proc)))
		if (isdigit((unsigned char)d->d_name[0]) && parent_of(d->d_name) == getpid())
			kill((pid_t)atol(d->d_name), SIGKILL);
	if (proc)
		closedir(proc);
}

int kit_command_sweep(struct run *run)
{
	uint64_t until = clock_mono_ns() + SWEEP_WAIT_NS;

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return 0;
		if (pid > 0)
			continue;
		if (clock_mono_ns() > until)
			return run_fail(run, EBUSY,
					"a process that the command left behind cannot be killed");
		/* The children of what is killed become ours: again until there are none. */
		kill_children();
		clock_sleep_ns(NSEC_PER_MSEC);
	}
}
