/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "fake_run.h"

static struct run run;

static int start(void **state)
{
	(void)state;
	fake_init(&run, NULL, "");
	return 0;
}

static int end(void **state)
{
	(void)state;
	fake_done(&run);
	return 0;
}

static void transfers_are_whole(void **state)
{
	static char out[300000], in[sizeof(out)];
	int fd[2];
	pid_t pid;

	(void)state;
	memset(out, 'o', sizeof(out));
	assert_int_equal(kit_pipe(&run, fd), 0);
	pid = fork(); /* more than a pipe holds: many partial writes and reads */
	if (pid == 0)
		_exit(kit_write_all(&run, fd[1], out, sizeof(out)) != 0);
	kit_close(&fd[1]);
	assert_int_equal(kit_read_all(&run, fd[0], in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(kit_wait(&run, pid), 0);
	assert_int_equal(kit_read_or_eof(&run, fd[0], in, 4), 1);
	assert_int_equal(run.code, 0);
	assert_int_equal(kit_read_all(&run, fd[0], in, 4), -EPIPE);
	assert_string_equal(run.reason, "read: the peer is gone");
	kit_close(&fd[0]);
	assert_int_equal(fd[0], -1);
	kit_close(&fd[0]);
}

static void a_short_read_is_an_error(void **state)
{
	int fd[2];
	char buf[4];

	(void)state;
	assert_int_equal(kit_pipe(&run, fd), 0);
	assert_int_equal(kit_write_all(&run, fd[1], "abc", 3), 0);
	kit_close(&fd[1]);
	assert_int_equal(kit_read_or_eof(&run, fd[0], buf, 4), -EIO);
	assert_string_equal(run.reason, "read: 3 of 4 bytes");
	kit_close(&fd[0]);
}

static void a_dead_peer_is_an_error_not_a_signal(void **state)
{
	int fd[2], s[2];
	char byte;

	(void)state;
	assert_int_equal(kit_pipe(&run, fd), 0);
	assert_int_equal(kit_socketpair(&run, SOCK_STREAM, s), 0);
	assert_int_equal(fcntl(fd[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(s[1], F_GETFD), FD_CLOEXEC);
	kit_close(&fd[0]);
	assert_int_equal(kit_write_all(&run, fd[1], "a", 1), -EPIPE);
	assert_string_equal(run.reason, "write: the peer is gone");
	assert_int_equal(kit_write_all(&run, s[0], "a", 1), 0);
	kit_close(&s[1]); /* with a byte unread: a reset, not an end */
	assert_int_equal(kit_read_all(&run, s[0], &byte, 1), -EPIPE);
	kit_close(&s[0]);
	kit_close(&fd[1]);
}

static void on_alarm(int sig)
{
	(void)sig;
	run.stopping = true;
}

static void a_service_ends_by_a_signal(void **state)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value = { .tv_usec = 20000 }, .it_interval = { 0, 20000 } };
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	int fd[2];
	char byte;

	(void)state;
	assert_int_equal(kit_pipe(&run, fd), 0);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(kit_read_or_eof(&run, fd[0], &byte, 1), 1);
	setitimer(ITIMER_REAL, &off, NULL);
	kit_close(&fd[0]);
	kit_close(&fd[1]);
}

static void results_are_checked(void **state)
{
	int fd = -1;

	(void)state;
	errno = EBADF;
	assert_int_equal(kit_unexpected(&run, "read", -1, 1), -EBADF);
	assert_string_equal(run.reason, "read: Bad file descriptor");
	run.code = 0;
	assert_int_equal(kit_unexpected(&run, "read", 0, 1), -EIO);
	assert_string_equal(run.reason, "read: gave 0 instead of 1");
	run.code = 0;
	assert_int_equal(kit_open(&run, "/dev/no such", O_RDONLY, &fd), -ENOENT);
	assert_string_equal(run.reason, "open /dev/no such: No such file or directory");
	assert_int_equal(fd, -1);
}

static int wait_for(int status, int sig)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (sig)
			raise(sig);
		_exit(status);
	}
	run.code = 0;
	return kit_wait(&run, pid);
}

static void children_must_end_well(void **state)
{
	(void)state;
	assert_int_equal(wait_for(0, 0), 0);
	assert_int_equal(wait_for(3, 0), -ECHILD);
	assert_string_equal(run.reason, "a child exited with 3");
	assert_int_equal(wait_for(0, SIGKILL), -ECHILD);
	assert_string_equal(run.reason, "a child was killed by signal 9 (Killed)");
	run.code = 0;
	assert_int_equal(kit_wait(&run, getpid()), -ECHILD); /* no child of ours */
}

static void tmpdirs_go_away(void **state)
{
	const char *dir, *other, *file;
	char victim[] = "/tmp/kit-test-XXXXXX", keep[64], in_keep[80], link[400];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(victim));
	snprintf(keep, sizeof(keep), "%s/keep", victim);
	snprintf(in_keep, sizeof(in_keep), "%s/file", keep);
	assert_int_equal(mkdir(keep, 0700), 0);
	assert_int_equal(mknod(in_keep, S_IFREG | 0600, 0), 0);
	setenv("TMPDIR", victim, 1);
	assert_int_equal(kit_tmpdir(&run, &dir), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(kit_file(&run, &file), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 1);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(keep, link), 0); /* must not be followed */
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(kit_tmpdir_sweep(victim, getpid() + 1), 0);
	assert_int_equal(stat(dir, &st), 0); /* not that leader's */
	assert_int_equal(kit_tmpdir_sweep(victim, getpid()), 0);
	assert_int_equal(stat(dir, &st), -1);
	assert_int_equal(unlink(in_keep), 0);
	assert_int_equal(rmdir(keep), 0);
	assert_int_equal(rmdir(victim), 0); /* nothing else is left in it */
	assert_int_equal(kit_tmpdir(&run, &other), -ENOENT);
	assert_int_equal(kit_tmpdir_sweep(victim, getpid()), 0);
	unsetenv("TMPDIR");
}

static void the_program_runs(void **state)
{
	char magic[4];
	pid_t pid;
	int fd = -1, null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (kit_true(&run, &fd) < 0)
		fail_msg("%s", run.reason);
	assert_int_equal(pread(fd, magic, 4, 0), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	pid = kit_spawn(&run, fd);
	assert_true(pid > 0);
	assert_int_equal(kit_wait(&run, pid), 0);
	pid = kit_spawn(&run, null); /* not a program: the status says why */
	assert_true(pid > 0);
	assert_int_equal(kit_wait(&run, pid), -ECHILD);
	assert_string_equal(run.reason, "a child exited with 13");
	kit_close(&fd);
	kit_close(&null);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(transfers_are_whole),
		TEST(a_short_read_is_an_error),
		TEST(a_dead_peer_is_an_error_not_a_signal),
		TEST(a_service_ends_by_a_signal),
		TEST(results_are_checked),
		TEST(children_must_end_well),
		TEST(tmpdirs_go_away),
		TEST(the_program_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
