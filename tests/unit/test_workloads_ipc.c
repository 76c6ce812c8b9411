/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets, the ring, many descriptors: what they do, and what their peers' end does to them. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "workload_fixture.h"

extern const struct workload workload_unix, workload_udp, workload_tcp, workload_ring,
	workload_poll;

static void close_from(int fd)
{
	for (; fd < 1200; fd++)
		close(fd);
}

static void all_work(void **state)
{
	static const struct {
		const struct workload *w;
		const char *params;
	} all[] = {
		{ &workload_unix, "" },
		{ &workload_unix, "size=1MiB" },
		{ &workload_udp, "" },
		{ &workload_udp, "size=1" },
		{ &workload_udp, "size=65507" },
		{ &workload_tcp, "" },
		{ &workload_tcp, "nodelay=on,size=100kB" },
		{ &workload_ring, "" },
		{ &workload_ring, "procs=2" },
		{ &workload_ring, "procs=100" },
		{ &workload_poll, "" },
		{ &workload_poll, "handles=1,call=epoll,wait=yes" },
		{ &workload_poll, "handles=500,call=select" },
		{ &workload_poll, "handles=500,kind=tcp,wait=yes" },
		{ &workload_poll, "call=select,kind=tcp,wait=yes" },
		{ &workload_poll, "call=epoll,kind=tcp" },
	};

	(void)state;
	alarm(60);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		close_from(3);
		it_works(all[i].w, all[i].params);
	}
	alarm(0);
}

static void dead_peers_fail(void **state)
{
	static const struct workload *const all[] = { &workload_unix, &workload_udp, &workload_tcp,
						      &workload_ring };

	(void)state;
	alarm(30); /* a descriptor too many open shows as a batch that never ends */
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		a_dead_party_fails(all[i], "", 0);
		if (all[i] != &workload_udp)
			a_party_dying_fails(all[i], "", 0);
	}
	a_dead_party_fails(&workload_ring, "procs=60", 30);
	a_party_dying_fails(&workload_ring, "procs=60", 58);
	alarm(0);
	begin(&workload_poll, "");
}

/* Nothing comes from a dead peer of UDP, nor does its socket say a word. */
static void a_datagram_peer_dying_fails(void **state)
{
	pid_t killer;
	int status;

	(void)state;
	alarm(20);
	begin(&workload_udp, "");
	assert_int_equal(workload_udp.batch(&run, 10), 0);
	kill(run.party[0], SIGSTOP);
	waitpid(run.party[0], &status, WUNTRACED);
	/* A grandchild, so that only the peer's own end is seen. */
	killer = fork();
	if (killer == 0) {
		if (fork() == 0) {
			usleep(100000);
			kill(run.party[0], SIGKILL);
		}
		_exit(0);
	}
	waitpid(killer, NULL, 0);
	assert_int_equal(workload_udp.batch(&run, 10), -EPIPE);
	assert_string_equal(run.reason, "recv: the peer is gone");
	alarm(0);
}

/* A message that is too short, too long, or not the one that was sent. */
static int answer(const struct workload *w, const char *params, size_t len, char first)
{
	static char text[64];
	int echo, r;
	pid_t pid;

	fake_init(&run, w, params);
	assert_int_equal(w->setup(&run), 0);
	echo = ((int *)run.state)[1]; /* the leader's end, the echo's: what the state begins with */
	pid = fork();
	if (pid == 0) {
		text[0] = first;
		assert_true(recv(echo, text + 1, sizeof(text) - 1, 0) > 0);
		_exit(send(echo, text, len, 0) != (ssize_t)len);
	}
	assert_int_equal(w->before(&run), 0);
	r = w->batch(&run, 1);
	waitpid(pid, NULL, 0);
	return r;
}

static void wrong_answers_fail(void **state)
{
	(void)state;
	alarm(20);
	assert_int_equal(answer(&workload_udp, "", 3, 0), -EIO);
	assert_string_equal(run.reason, "recv: a message of 3 bytes instead of 4");
	fake_done(&run);
	assert_int_equal(answer(&workload_udp, "", 5, 0), -EIO);
	assert_string_equal(run.reason, "recv: a message of 5 bytes instead of 4");
	fake_done(&run);
	assert_int_equal(answer(&workload_udp, "", 4, 7), -EIO);
	assert_string_equal(run.reason, "byte 0 went out and 7 came back");
	fake_done(&run);
	assert_int_equal(answer(&workload_tcp, "", 1, 9), -EIO);
	fake_done(&run);
	assert_int_equal(answer(&workload_unix, "size=8", 8, 0), 0);
	fake_done(&run);
	/* A stream's answer that ends too early, because the peer does. */
	assert_true(answer(&workload_unix, "size=8", 3, 0) < 0);
	assert_string_equal(run.reason, "read: 3 of 8 bytes");
	alarm(0);
}

static void demands_are_told(void **state)
{
	struct demand d = { 0, 0, 0, 0 };

	(void)state;
	begin(&workload_ring, "procs=5");
	assert_int_equal(run.ops_per_n, 5);
	assert_int_equal(workload_ring.demand(&run.args, &d), 0);
	assert_int_equal(d.tasks, 5);
	assert_true(d.descriptors >= 10);
	fake_done(&run);
	begin(&workload_poll, "handles=500");
	assert_int_equal(workload_poll.demand(&run.args, &d), 0);
	assert_true(d.descriptors >= 1000 && d.descriptors <= 1024);
	fake_done(&run);
	begin(&workload_unix, "size=1MiB");
	assert_int_equal(workload_unix.demand(&run.args, &d), 0);
	assert_int_equal(d.tasks, 2);
	assert_int_equal(d.memory_bytes, 2 << 20);
}

/* Two switches for each turn of the ring of two; the calls are write and read each. */
static void the_ring_switches(void **state)
{
	struct rusage before, after;

	(void)state;
	begin(&workload_ring, "procs=4");
	assert_int_equal(workload_ring.batch(&run, 10), 0);
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(workload_ring.batch(&run, 300), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_nvcsw - before.ru_nvcsw >= 250);
}

/* None ready, or another one: no figure. */
static void poll_sees_what_is_ready(void **state)
{
	static const char *const params[] = { "call=poll,handles=3", "call=select,handles=3",
					      "call=epoll,handles=3" };
	enum { FIRST = 4, FIRST_OUT = 5, LAST = 8 }; /* behind the epoll descriptor, 3 */

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char byte;

		close_from(3);
		begin(&workload_poll, params[i]);
		assert_int_equal(workload_poll.batch(&run, 5), 0);
		assert_int_equal(read(LAST, &byte, 1), 1);
		assert_int_equal(workload_poll.batch(&run, 1), -EIO);
		assert_non_null(strstr(run.reason, "gave 0 instead of 1"));
		run.code = 0;
		assert_int_equal(write(FIRST_OUT, "x", 1), 1);
		assert_int_equal(workload_poll.batch(&run, 1), -EIO);
		assert_non_null(strstr(run.reason, "it is not the ready one"));
		run.code = 0;
		assert_int_equal(read(FIRST, &byte, 1), 1);
		fake_done(&run);
	}
	close_from(3);
	begin(&workload_ring, "procs=2");
}

static void too_few_descriptors_are_said(void **state)
{
	struct rlimit was, low;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &was);
	low = was;
	low.rlim_cur = 40;
	setrlimit(RLIMIT_NOFILE, &low);
	assert_int_equal(setup_of(&workload_poll, "handles=100"), -EMFILE);
	assert_string_equal(run.reason, "pipe2: Too many open files");
	close_from(3);
	fake_done(&run);
	assert_int_equal(setup_of(&workload_poll, "handles=100,kind=tcp"), -EMFILE);
	close_from(3);
	setrlimit(RLIMIT_NOFILE, &was);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* As SIGCHLD does, where a message's peer may die: without SA_RESTART. */
static void interrupted_connections_are_made(void **state)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	struct sigaction sa = { .sa_handler = on_signal }, was;
	int i;

	(void)state;
	sigaction(SIGALRM, &sa, &was);
	for (i = 0; i < 20; i++) {
		int r;

		setitimer(ITIMER_REAL, &often, NULL);
		r = setup_of(&workload_poll, "handles=100,kind=tcp");
		setitimer(ITIMER_REAL, &never, NULL);
		close_from(3);
		if (r < 0)
			fail_msg("%s", run.reason);
		fake_done(&run);
	}
	sigaction(SIGALRM, &was, NULL);
	begin(&workload_ring, "procs=2");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(dead_peers_fail),
		TEST(a_datagram_peer_dying_fails),
		TEST(wrong_answers_fail),
		TEST(demands_are_told),
		TEST(the_ring_switches),
		TEST(poll_sees_what_is_ready),
		TEST(too_few_descriptors_are_said),
		TEST(interrupted_connections_are_made),
		cmocka_unit_test(all_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
