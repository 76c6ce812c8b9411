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

#include "base/words.h"
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
/*
 * Two sockets that are connected to each other and to nobody else over loopback, on free ports:
 * SOCK_STREAM or SOCK_DGRAM. `family` is "ipv4" (127.0.0.1), "ipv6" (::1), or "auto": IPv4 where
 * it is there, else IPv6. Which one it is goes into the result's context as "address_family", so
 * the two are never compared. An address that is not there is a skip. The ports of a stream are
 * free again as soon as it is closed: it ends with a reset, without TIME_WAIT.
 */
int kit_loopback(struct run *run, int type, const char *family, int fds[2]);
/* For the runner: is 127.0.0.1 or ::1 there? */
bool kit_loopback_up(void);
/* The parameter that kit_loopback() is given. */
#define KIT_PARAM_FAMILY                                                                           \
	{                                                                                          \
		.name = "family", .type = PARAM_CHOICE, .def = "auto",                             \
		.choices = "auto|ipv4|ipv6",                                                       \
		.help = "127.0.0.1 or ::1; auto: the first that is there"                          \
	}
/* open(2) with O_CLOEXEC of something that must be there. */
int kit_open(struct run *run, const char *path, int flags, int *ret_fd);
/* Closes *fd if it is open and sets it to -1. */
void kit_close(int *fd);

/*
 * One message of a connected datagram socket: all of it in one call, or an error: -EIO where it is
 * shorter or longer, -EPIPE when the peer is gone. Nothing tells who waits that a peer of UDP has
 * died; if it is a child of this process and SIGCHLD interrupts the wait (kit_echo_setup() sees to
 * that), the death is noticed.
 */
int kit_send_message(struct run *run, int fd, const void *buf, size_t len);
int kit_recv_message(struct run *run, int fd, void *buf, size_t len);

/*
 * Round trips of a message between the leader and one process that sends it back: what workloads
 * over sockets share. The first byte is a different one each time, and must come back.
 *
 * kit_echo_setup() takes over a connected pair [leader's end, echo's end], reads the parameter
 * `size` (KIT_PARAM_SIZE), and sets the run's state; `message`: by kit_send_message() and
 * kit_recv_message(). The others are what the workload's `parties`, `demand`, `before` and `batch`
 * want.
 */
int kit_echo_setup(struct run *run, const int fds[2], bool message);
extern const struct party_role kit_echo_parties[];
int kit_echo_demand(const struct args *args, struct demand *demand);
int kit_echo_before(struct run *run);
int kit_echo_batch(struct run *run, uint64_t n);
#define KIT_PARAM_SIZE(def_, max_)                                                                 \
	{                                                                                          \
		.name = "size", .type = PARAM_BYTES, .def = def_, .min = 1, .max = max_,           \
		.help = "bytes there, and as many back"                                            \
	}

/*
 * A ring of pipes: link i leads from member i to member i + 1, the last one to member 0, which is
 * the leader. Its memory is the run's.
 */
struct kit_ring {
	unsigned members;
	int (*link)[2]; /* read end, write end */
};
int kit_ring_make(struct run *run, unsigned members, struct kit_ring *ret);
/*
 * Closes every end but the two of member `me`, in its process; else the death of one member would
 * be hidden by the others. More than once does no harm.
 */
void kit_ring_keep(struct kit_ring *ring, unsigned me);
int kit_ring_in(const struct kit_ring *ring, unsigned me);  /* what it reads from */
int kit_ring_out(const struct kit_ring *ring, unsigned me); /* what it writes to */
/* The leader's turn: sends the token around and checks that the same comes back. */
int kit_ring_turn(struct run *run, int out, int in, uint32_t token);

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
/* The same with a path and arguments. */
pid_t kit_spawn_path(struct run *run, const char *path, char *const argv[]);
/* Waits for one child: -ECHILD and words unless it exited with 0. */
int kit_wait(struct run *run, pid_t pid);

/*
 * A command of the user's, with the user's environment and LC_ALL=C, in the working directory, as
 * proc_run() (base/proc.h) starts it: stdin and stdout are /dev/null, of its stderr the end is
 * kept for the reason. A descriptor of ours reaches it only as `inherit`.
 *
 * kit_command_words() splits a command line (base/words.h). It refuses the signs of a shell
 * outside of quotes, since there is none: who wants one writes /bin/sh -c '...'.
 * kit_command_setup(), once in setup: closes our other descriptors to all commands, and has
 * whatever a command leaves behind become a child of the leader, also where the leader is ended.
 * The program's name and a hash of its file go into the result's context as "program": results of
 * two programs are never compared.
 * kit_command_run(): beats while it waits. 0 only if it exited with 0. A program that is not there
 * is a failure, but a skip in a guest, which holds little but the agent.
 * kit_command_sweep(): kills what commands have left behind; -EBUSY with words if something stays.
 * Call it behind each command (in `collect`, untimed) and in `after`.
 */
struct kit_command {
	const struct words *words;
	const char *const *env; /* NAME=VALUE over the user's, ends with NULL; or NULL */
	int inherit;		/* a descriptor that it gets, by the same number; -1: none */
	uint64_t timeout_ns;	/* 0: none */
};
struct kit_usage {
	uint64_t user_ns, system_ns;
	uint64_t maxrss_bytes;		 /* of the largest process; at least the agent's own */
	uint64_t voluntary, involuntary; /* context switches */
};
int kit_command_words(struct run *run, const char *line, struct words *ret);
int kit_command_setup(struct run *run, const struct words *words);
int kit_command_run(struct run *run, const struct kit_command *command, struct kit_usage *ret);
int kit_command_sweep(struct run *run);

/*
 * An executable of the agent's own that does nothing (src/workloads/true/true.S, in an anonymous
 * file): an open descriptor for execveat(2) and kit_spawn(). It has been tried: where memory
 * cannot be executed (sysctl vm.memfd_noexec=2, a security module) the invocation is skipped.
 */
int kit_true(struct run *run, int *ret_fd);
/*
 * The same program as a file in a folder of kit_tmpdir(), which becomes the working directory; the
 * path is "./true", so the walk costs the same wherever $TMPDIR is. It has been tried: a temporary
 * folder whose programs cannot be executed is a skip that says so.
 */
int kit_true_file(struct run *run, const char **ret_path);

#endif
