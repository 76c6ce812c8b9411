/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's process: its arguments, its start and its end. See vm.h for the rule that none is left
 * behind. Works for any program that takes descriptors.
 */
#ifndef KDELTA_VM_QEMU_H
#define KDELTA_VM_QEMU_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "vm/vm.h"

/* The child's descriptors, which keep their numbers in it; all above 2. */
struct qemu_fds {
	int kernel, initrd;
	int console, serial, port, control;
};

struct qemu_proc {
	pid_t pid;  /* 0: none, or reaped */
	int pidfd;  /* readable at its end; -1: the kernel is too old, use qemu_reap() in turns */
	int status; /* of waitpid(2), once reaped */
};

#define QEMU_PROC_INIT                                                                             \
	{                                                                                          \
		0, -1, 0                                                                           \
	}

/*
 * The program's path, looked for in PATH. NULL means VM_QEMU_NAME. Caller frees. -ENOENT, -EACCES
 * (there, but not executable).
 */
int qemu_find(const char *qemu, char **ret_path, struct error *e);
/* VM_CMDLINE and the user's append. -EINVAL if too long or not printable. Caller frees. */
int qemu_cmdline(const char *append, char **ret_cmdline, struct error *e);
/* Which CPU model a configuration means. */
const char *qemu_cpu_model(const struct vm_config *cfg);
/* Arguments in the making: `v` is for qemu_argv_free() once a NULL was taken as the last one. */
struct qemu_words {
	char **v;
	size_t n, cap;
};

void qemu_words_take(struct qemu_words *w, char *word);
/* An option and its value, which is consumed; NULL: it has none. */
void qemu_words_add(struct qemu_words *w, const char *option, char *value_take);
/* NULL-terminated; free with qemu_argv_free(). Source: qemu(1) 7.2. */
char **qemu_argv(const struct vm_config *cfg, const char *path, const char *cmdline,
		 const struct qemu_fds *fds);
void qemu_argv_free(char **argv);
/*
 * Starts argv[0] in a session of its own (a terminal's ^C is for kdelta alone), stdin /dev/null,
 * stdout and stderr to output_fd, no other descriptor than the n of keep. Returns after the exec.
 * It dies with the calling thread.
 */
int qemu_spawn(char *const argv[], const int *keep, size_t n, int output_fd,
	       struct qemu_proc *ret_proc, struct error *e);
/* 1: ended, *proc has the status, its whole session is gone; 0: still runs. Never blocks. */
int qemu_reap(struct qemu_proc *proc);
/* SIGKILL to it and its children, then reaps. */
void qemu_kill(struct qemu_proc *proc);
/* Is "7.2.22 (Debian ...)" VM_QEMU_MIN or newer? False for what is no version. */
bool qemu_new_enough(const char *version);
/* Is it MAJOR.MINOR or newer? False for what is no version. */
bool qemu_at_least(const char *version, unsigned major, unsigned minor);
/* "exit 0", "signal 9 (Killed)" for people. */
void qemu_status(int status, char *buf, size_t size);

#endif
