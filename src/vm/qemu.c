/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#define VERSION_TIMEOUT_NS (10 * NSEC_PER_SEC)

static bool qemu_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int qemu_find(const char *qemu, char **ret_path, struct error *e)
{
	const char *name = qemu && *qemu ? qemu : VM_QEMU_NAME;
	const char *dir = getenv("PATH");

	if (strchr(name, '/')) {
		if (access(name, F_OK) < 0)
			return error_errno(e, errno, "%s (%s is in the package qemu-system-x86)",
					   name, VM_QEMU_NAME);
		if (!qemu_executable(name))
			return error_set(e, EACCES,
					 "%s: not executable, so no QEMU (%s is in the package "
					 "qemu-system-x86)",
					 name, VM_QEMU_NAME);
		*ret_path = mem_strdup(name);
		return 0;
	}
	if (!dir)
		dir = "/usr/local/bin:/usr/bin:/bin";
	for (;;) {
		size_t n = strcspn(dir, ":");
		char *path = mem_printf("%.*s/%s", n ? (int)n : 1, n ? dir : ".", name);

		if (qemu_executable(path)) {
			*ret_path = path;
			return 0;
		}
		free(path);
		if (!dir[n])
			break;
		dir += n + 1;
	}
	return error_set(e, ENOENT, "%s not found: install qemu-system-x86", name);
}

int qemu_cmdline(const char *append, char **ret_cmdline, struct error *e)
{
	CLEANUP_FREE char *s = append && *append ? mem_printf("%s %s", VM_CMDLINE, append)
						 : mem_strdup(VM_CMDLINE);
	size_t i, len = strlen(s);

	/* The kernel would cut it off without a word. */
	if (len > VM_CMDLINE_MAX)
		return error_set(e, EINVAL, "kernel command line of %zu bytes: at most %d fit", len,
				 VM_CMDLINE_MAX);
	for (i = 0; i < len; i++)
		if (s[i] < ' ' || s[i] == 0x7f)
			return error_set(e, EINVAL,
					 "kernel command line: byte 0x%02x is not printable ASCII",
					 (unsigned char)s[i]);
	*ret_cmdline = s;
	s = NULL;
	return 0;
}

int vm_check_append(const char *append, struct error *e)
{
	char *cmdline = NULL;
	int r = qemu_cmdline(append, &cmdline, e);

	free(cmdline);
	return r;
}

void qemu_words_take(struct qemu_words *w, char *word)
{
	w->v = mem_grow(w->v, w->n, &w->cap, sizeof(*w->v));
	w->v[w->n++] = word;
}

void qemu_words_add(struct qemu_words *w, const char *option, char *value_take)
{
	qemu_words_take(w, mem_strdup(option));
	if (value_take)
		qemu_words_take(w, value_take);
}

const char *qemu_cpu_model(const struct vm_config *cfg)
{
	if (cfg->cpu_model)
		return cfg->cpu_model;
	return cfg->kvm ? "host" : "max";
}

char **qemu_argv(const struct vm_config *cfg, const char *path, const char *cmdline,
		 const struct qemu_fds *fds)
{
	struct qemu_words a = { NULL, 0, 0 };
	size_t i;

	qemu_words_add(&a, path, NULL);
	qemu_words_add(&a, "-no-user-config", NULL);
	qemu_words_add(&a, "-nodefaults", NULL);
	qemu_words_add(&a, "-display", mem_strdup("none"));
	qemu_words_add(&a, "-no-reboot", NULL);
	qemu_words_add(&a, "-machine", mem_strdup("pc"));
	qemu_words_add(&a, "-accel", mem_strdup(cfg->kvm ? "kvm" : "tcg"));
	qemu_words_add(&a, "-cpu", mem_strdup(qemu_cpu_model(cfg)));
	qemu_words_add(&a, "-smp", mem_printf("%u", cfg->cpus ? cfg->cpus : 1));
	qemu_words_add(&a, "-m", mem_printf("%u", cfg->mem_mib ? cfg->mem_mib : 512));
	qemu_words_add(&a, "-kernel", mem_printf("/proc/self/fd/%d", fds->kernel));
	qemu_words_add(&a, "-initrd", mem_printf("/proc/self/fd/%d", fds->initrd));
	qemu_words_add(&a, "-append", mem_strdup(cmdline));
	qemu_words_add(&a, "-chardev", mem_printf("socket,id=console,fd=%d", fds->console));
	qemu_words_add(&a, "-serial", mem_strdup("chardev:console"));
	qemu_words_add(&a, "-chardev", mem_printf("socket,id=serial,fd=%d", fds->serial));
	qemu_words_add(&a, "-serial", mem_strdup("chardev:serial"));
	qemu_words_add(&a, "-device", mem_strdup("virtio-serial-pci"));
	qemu_words_add(&a, "-chardev", mem_printf("socket,id=port,fd=%d", fds->port));
	qemu_words_add(&a, "-device", mem_strdup("virtserialport,chardev=port,name=" VM_PORT_NAME));
	qemu_words_add(&a, "-chardev", mem_printf("socket,id=control,fd=%d", fds->control));
	qemu_words_add(&a, "-mon", mem_strdup("chardev=control,mode=control"));
	for (i = 0; cfg->qemu_args && cfg->qemu_args[i]; i++)
		qemu_words_add(&a, cfg->qemu_args[i], NULL);
	qemu_words_take(&a, NULL);
	return a.v;
}

void qemu_argv_free(char **argv)
{
	size_t i;

	for (i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

/* Between fork and exec, perhaps of a process with threads: async-signal-safe calls only. */
static void qemu_child(char *const argv[], const int *keep, size_t n, int null_fd, int output_fd,
		       int error_fd, pid_t parent) __attribute__((noreturn));
static void qemu_child(char *const argv[], const int *keep, size_t n, int null_fd, int output_fd,
		       int error_fd, pid_t parent)
{
	static const int reset[] = { SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD };
	struct sigaction sa;
	sigset_t none;
	size_t i;
	int err = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		goto fail;
	/* The parent may have died before that call. */
	if (getppid() != parent)
		_exit(127);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	for (i = 0; i < ARRAY_SIZE(reset); i++)
		sigaction(reset[i], &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (dup2(null_fd, 0) < 0 || dup2(output_fd, 1) < 0 || dup2(output_fd, 2) < 0)
		goto fail;
	/* Before Linux 5.11 this fails: then what the caller left open is inherited, no harm. */
	close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	for (i = 0; i < n; i++)
		if (fcntl(keep[i], F_SETFD, 0) < 0)
			goto fail;
	execv(argv[0], argv);
fail:
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int qemu_spawn(char *const argv[], const int *keep, size_t n, int output_fd,
	       struct qemu_proc *ret_proc, struct error *e)
{
	CLEANUP_CLOSE int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_CLOSE int error_read = -1;
	CLEANUP_CLOSE int error_write = -1;
	pid_t parent = getpid(), pid;
	int p[2], err = 0;
	ssize_t r;

	if (null_fd < 0)
		return error_errno(e, errno, "/dev/null");
	if (pipe2(p, O_CLOEXEC) < 0)
		return error_errno(e, errno, "cannot start %s", argv[0]);
	error_read = p[0];
	/* A caller without stdio must not have it on 0..2, where the child puts its own. */
	error_write = fcntl(p[1], F_DUPFD_CLOEXEC, 3);
	close(p[1]);
	if (error_write < 0)
		return error_errno(e, errno, "cannot start %s", argv[0]);
	pid = fork();
	if (pid < 0)
		return error_errno(e, errno, "cannot start %s", argv[0]);
	if (!pid)
		qemu_child(argv, keep, n, null_fd, output_fd, error_write, parent);
	close(error_write);
	error_write = -1;
	do {
		r = read(error_read, &err, sizeof(err));
	} while (r < 0 && errno == EINTR);
	if (r > 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return error_errno(e, err ? err : EIO, "cannot start %s", argv[0]);
	}
	ret_proc->pid = pid;
	ret_proc->status = 0;
	ret_proc->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

int qemu_reap(struct qemu_proc *proc)
{
	siginfo_t info;

	if (!proc->pid)
		return 1;
	memset(&info, 0, sizeof(info));
	if (waitid(P_PID, (id_t)proc->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
		if (errno != ECHILD)
			return 0;
		/* SIGCHLD is ignored, or someone else reaped it: gone, its status unknown. */
		proc->status = 0;
		goto gone;
	}
	if (!info.si_pid)
		return 0;
	/* Its number is not free before the reaping: the session's rest can be killed by it. */
	kill(-proc->pid, SIGKILL);
	while (waitpid(proc->pid, &proc->status, 0) < 0 && errno == EINTR)
		;
gone:
	if (proc->pidfd >= 0)
		close(proc->pidfd);
	proc->pidfd = -1;
	proc->pid = 0;
	return 1;
}

void qemu_kill(struct qemu_proc *proc)
{
	if (!proc->pid)
		return;
	kill(-proc->pid, SIGKILL);
	kill(proc->pid, SIGKILL);
	while (!qemu_reap(proc)) {
		struct pollfd p = { .fd = proc->pidfd, .events = POLLIN };

		poll(&p, 1, 10);
	}
}

void qemu_status(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "exit %d", WEXITSTATUS(status));
}

bool qemu_new_enough(const char *version)
{
	unsigned least_major = 0, least_minor = 0;

	return sscanf(VM_QEMU_MIN, "%u.%u", &least_major, &least_minor) == 2 &&
	       qemu_at_least(version, least_major, least_minor);
}

bool qemu_at_least(const char *version, unsigned major, unsigned minor)
{
	unsigned is_major, is_minor;

	return sscanf(version, "%u.%u", &is_major, &is_minor) == 2 &&
	       (is_major > major || (is_major == major && is_minor >= minor));
}

int vm_qemu_version(const char *qemu, char *ret_version, size_t size, struct error *e)
{
	static const char key[] = "version ";
	const struct proc_opts opts = { .max_output = 4096, .timeout_ns = VERSION_TIMEOUT_NS };
	CLEANUP_FREE char *path = NULL;
	struct proc_result out;
	const char *s;
	int r;

	r = qemu_find(qemu, &path, e);
	if (r < 0)
		return r;
	r = proc_run_ok((const char *const[]){ path, "--version", NULL }, &opts, &out, e);
	if (!r) {
		out.out[strcspn(out.out, "\n")] = '\0';
		s = strstr(out.out, key);
		if (s)
			snprintf(ret_version, size, "%s", s + strlen(key));
		else
			r = error_set(e, EPROTO, "%s --version: says '%.100s': not a QEMU", path,
				      out.out);
		if (!r && !qemu_new_enough(ret_version))
			r = error_set(e, ENOTSUP, "%s is QEMU %.60s: %s or newer is needed", path,
				      ret_version, VM_QEMU_MIN);
	}
	proc_result_done(&out);
	return r;
}
