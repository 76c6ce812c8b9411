/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kit: what several workloads share. All of it cleans up after itself when the invocation
 * ends: descriptors are closed by the end of the process, folders are removed by the runner.
 *
 * Everything here returns 0 or -errno with the words set by run_fail(), or what run_skip() gave.
 * Only the transfers, kit_spawn() and kit_wait() are meant for inside a batch; they make raw
 * system calls where libc would put something of its own (a cancellation point) in between.
 */
#ifndef KDELTA_WORKLOAD_KIT_H
#define KDELTA_WORKLOAD_KIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "workload/workload.h"

/* The metrics of a workload that has but one: "time", ns per operation, less is better. */
extern const struct metric kit_metrics_time[];

/*
 * A raw system call gave `got` where only `want` is right: words, and -errno if it failed, -EIO if
 * it did something else. Call it with errno as syscall(2) left it.
 */
int kit_unexpected(struct run *run, const char *call, long got, long want);

/* All `len` bytes or an error: -EIO on a short transfer, -EPIPE when the peer is gone. */
int kit_write_all(struct run *run, int fd, const void *buf, size_t len);
int kit_read_all(struct run *run, int fd, void *buf, size_t len);
/*
 * As kit_read_all(), but 1 at the end of a service: the peer closed before the first byte, or a
 * signal came and run_stopping() is true.
 */
int kit_read_or_eof(struct run *run, int fd, void *buf, size_t len);

/*
 * Pairs of descriptors [read end, write end], CLOEXEC. From the first pair on SIGPIPE is ignored,
 * so that a peer that is gone is an error with a reason. Parties inherit both ends: each process
 * closes those it does not use (a party in `start`, the leader in `before`, which runs when the
 * parties have started), or a dead peer would never be noticed.
 */
int kit_pipe(struct run *run, int fds[2]);
int kit_socketpair(struct run *run, int type, int fds[2]);
/* open(2) with O_CLOEXEC of something that must be there. */
int kit_open(struct run *run, const char *path, int flags, int *ret_fd);
/* Closes *fd if it is open and sets it to -1. */
void kit_close(int *fd);

/*
 * A folder of the invocation's own in $TMPDIR or /tmp, removed with all in it at the end. Call it
 * in setup. The path is absolute.
 */
int kit_tmpdir(struct run *run, const char **ret_path);
/*
 * A regular file of one byte behind a path of four components, relative to the working directory,
 * which becomes kit_tmpdir()'s: a path walk costs the same wherever $TMPDIR is. (lmbench's
 * lat_syscall uses four as well: /usr/include/sys/types.h.)
 */
int kit_file(struct run *run, const char **ret_path);
/*
 * For the runner, when a leader has been reaped, however it ended: removes the folders that
 * kit_tmpdir() made for this process, links not followed. 0 also when there are none.
 */
int kit_tmpdir_sweep(const char *tmpdir, pid_t leader);
/* Removes those whose leader, in this pid namespace, lives no more: of an agent that was killed. */
int kit_tmpdir_sweep_stale(const char *tmpdir);

/*
 * Forks a child that executes what `exe_fd` refers to, without arguments or environment; if it
 * cannot be executed the child exits with that errno. Returns the child's pid.
 */
pid_t kit_spawn(struct run *run, int exe_fd);
/* Waits for one child: -ECHILD and words unless it exited with 0. */
int kit_wait(struct run *run, pid_t pid);

/*
 * An executable of the agent's own that does nothing (src/workloads/true/true.S, in an anonymous
 * file): an open descriptor for execveat(2) and kit_spawn(). It has been tried: where memory
 * cannot be executed (sysctl vm.memfd_noexec=2, a security module) the invocation is skipped.
 */
int kit_true(struct run *run, int *ret_fd);

#endif
