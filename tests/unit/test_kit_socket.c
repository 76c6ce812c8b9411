/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs over loopback: only with each other, on what is there, leaving no port behind. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

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

static uint16_t port_of(int fd, bool peer)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);

	if (peer)
		assert_int_equal(getpeername(fd, (struct sockaddr *)&a, &len), 0);
	else
		assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin6_port);
}

static void pairs_are_each_others(void **state)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	int fds[2];
	char byte = 'x';

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		if (kit_loopback(&run, types[i], "auto", fds) < 0)
			fail_msg("%s", run.reason);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(port_of(fds[k], true), port_of(fds[!k], false));
			assert_int_equal(fcntl(fds[k], F_GETFD), FD_CLOEXEC);
			assert_int_equal(send(fds[k], &byte, 1, 0), 1);
			assert_int_equal(recv(fds[!k], &byte, 1, 0), 1);
		}
		kit_close(&fds[0]);
		kit_close(&fds[1]);
	}
}

/* A stranger's datagrams do not arrive, and a stranger cannot connect: nobody listens any more. */
static void strangers_stay_outside(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fds[2], other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	(void)state;
	assert_int_equal(kit_loopback(&run, SOCK_DGRAM, "ipv4", fds), 0);
	to.sin_port = htons(port_of(fds[1], false));
	sendto(other, "evil", 4, 0, (struct sockaddr *)&to, sizeof(to));
	assert_int_equal(recv(fds[1], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	kit_close(&fds[0]);
	kit_close(&fds[1]);
	kit_close(&other);
	assert_int_equal(kit_loopback(&run, SOCK_STREAM, "ipv4", fds), 0);
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons(port_of(fds[1], false));
	assert_int_equal(connect(other, (struct sockaddr *)&to, sizeof(to)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	kit_close(&other);
	/* No TIME_WAIT: the port can be had at once, without SO_REUSEADDR. */
	kit_close(&fds[0]);
	kit_close(&fds[1]);
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(other, (struct sockaddr *)&to, sizeof(to)), 0);
	kit_close(&other);
}

static void a_gone_peer_is_an_error(void **state)
{
	int fds[2];
	char text[4] = "abc";

	(void)state;
	assert_int_equal(kit_loopback(&run, SOCK_DGRAM, "auto", fds), 0);
	assert_int_equal(kit_send_message(&run, fds[0], text, 4), 0);
	assert_int_equal(kit_recv_message(&run, fds[1], text, 4), 0);
	kit_close(&fds[1]);
	assert_int_equal(kit_send_message(&run, fds[0], text, 4), 0);
	assert_int_equal(kit_recv_message(&run, fds[0], text, 4), -EPIPE);
	assert_string_equal(run.reason, "recv: the peer is gone");
	run.code = 0;
	assert_int_equal(kit_send_message(&run, fds[0], text, 4), 0);
	assert_int_equal(kit_send_message(&run, fds[0], text, 4), -EPIPE);
	assert_string_equal(run.reason, "send: the peer is gone");
	kit_close(&fds[0]);
}

static void a_datagram_too_large_is_an_error(void **state)
{
	static char big[65508];
	int fds[2];

	(void)state;
	assert_int_equal(kit_loopback(&run, SOCK_DGRAM, "ipv4", fds), 0);
	assert_int_equal(kit_send_message(&run, fds[0], big, sizeof(big)), -EMSGSIZE);
	assert_string_equal(run.reason, "send: Message too long");
	kit_close(&fds[0]);
	kit_close(&fds[1]);
}

/* ---- where only a part of loopback is there ---- */

static bool lo_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool up = ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	close(fd);
	return up;
}

/* 0.0.0.0 as an address takes away what was there. */
static bool no_ipv4(void)
{
	struct ifreq r = { .ifr_name = "lo" };
	struct sockaddr_in none = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool gone;

	memcpy(&r.ifr_addr, &none, sizeof(none));
	gone = ioctl(fd, SIOCSIFADDR, &r) == 0;
	close(fd);
	return gone;
}

static bool no_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/lo/disable_ipv6", O_WRONLY);
	bool gone = fd < 0 || write(fd, "1", 1) == 1; /* no such file: a kernel without IPv6 */

	if (fd >= 0)
		close(fd);
	return gone;
}

/* Both types with a family: 0 and its name, or -1 and the reason of the skip. */
static bool gives(const char *family, const char *want)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };

	for (size_t i = 0; i < 2; i++) {
		int fds[2], r;

		fake_init(&run, NULL, "");
		r = kit_loopback(&run, types[i], family, fds);
		if (strcmp(r < 0 ? run.reason : run.context, want) != 0 || (r < 0) != run.skipped) {
			print_message("%s: %s %s\n", family, run.reason, run.context);
			return false;
		}
	}
	return true;
}

#define V4    "address_family=ipv4 "
#define V6    "address_family=ipv6 "
#define DOWN  "loopback is down: neither 127.0.0.1 nor ::1"
#define NO_V4 "loopback has no 127.0.0.1 here (family=ipv4)"
#define NO_V6 "loopback has no ::1 here (family=ipv6)"

static bool none_is_there(void)
{
	return gives("auto", DOWN) && gives("ipv4", NO_V4) && gives("ipv6", NO_V6);
}

static bool only_ipv4(void)
{
	return no_ipv6() && lo_up() && gives("auto", V4) && gives("ipv4", V4) &&
	       gives("ipv6", NO_V6);
}

static bool only_ipv6(void)
{
	return lo_up() && no_ipv4() && gives("auto", V6) && gives("ipv6", V6) &&
	       gives("ipv4", NO_V4);
}

static bool both(void)
{
	return lo_up() && gives("auto", V4) && gives("ipv4", V4) && gives("ipv6", V6);
}

static void in_a_network_of_its_own(bool (*test)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 && unshare(CLONE_NEWNET) < 0)
			_exit(77);
		_exit(!test());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("no namespaces of one's own here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void loopback_down(void **state)
{
	(void)state;
	in_a_network_of_its_own(none_is_there);
}

static void loopback_of_ipv4(void **state)
{
	(void)state;
	in_a_network_of_its_own(only_ipv4);
}

static void loopback_of_ipv6(void **state)
{
	(void)state;
	if (access("/proc/sys/net/ipv6", F_OK) < 0)
		skip();
	in_a_network_of_its_own(only_ipv6);
}

static void loopback_of_both(void **state)
{
	(void)state;
	if (access("/proc/sys/net/ipv6", F_OK) < 0)
		skip();
	in_a_network_of_its_own(both);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(pairs_are_each_others),   TEST(strangers_stay_outside),
		TEST(a_gone_peer_is_an_error), TEST(a_datagram_too_large_is_an_error),
		TEST(loopback_down),	       TEST(loopback_of_ipv4),
		TEST(loopback_of_ipv6),	       TEST(loopback_of_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
