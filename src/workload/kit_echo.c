/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

struct echo {
	int leader, echo; /* the ends */
	size_t size;
	bool message;
	unsigned char *buf;
};

static void on_child(int sig)
{
	(void)sig;
}

int kit_echo_setup(struct run *run, const int fds[2], bool message)
{
	/* Without SA_RESTART: it is there to interrupt. */
	struct sigaction sa = { .sa_handler = on_child };
	struct echo *e = run_alloc(run, sizeof(*e));

	if (!e)
		return run_fail(run, ENOMEM, "no memory");
	e->leader = fds[0];
	e->echo = fds[1];
	e->size = run_u64(run, "size");
	e->message = message;
	e->buf = run_alloc(run, e->size);
	if (!e->buf)
		return run_fail(run, ENOMEM, "no memory for %zu bytes", e->size);
	memset(e->buf, 'x', e->size);
	run_set_state(run, e);
	if (message && sigaction(SIGCHLD, &sa, NULL) < 0)
		return run_fail(run, errno, "sigaction: %s", strerror(errno));
	return 0;
}

int kit_echo_demand(const struct args *args, struct demand *demand)
{
	demand->tasks = 2;
	demand->descriptors = 16;
	demand->memory_bytes = 2 * args_u64(args, "size");
	return 0;
}

static int echo_start(struct party *party)
{
	struct echo *e = run_state(party->run);

	kit_close(&e->leader);
	return 0;
}

static int echo_serve(struct party *party)
{
	const struct echo *e = run_state(party->run);
	int r = 0;

	/* Datagrams have no end: this one is told to stop by a signal. */
	while (e->message && r == 0) {
		r = kit_recv_message(party->run, e->echo, e->buf, e->size);
		if (r == 0)
			r = kit_send_message(party->run, e->echo, e->buf, e->size);
	}
	while (!e->message && r == 0) {
		r = kit_read_or_eof(party->run, e->echo, e->buf, e->size);
		if (r == 0)
			r = kit_write_all(party->run, e->echo, e->buf, e->size);
	}
	return r < 0 ? r : 0;
}

const struct party_role kit_echo_parties[] = {
	{ .role = "echo", .kind = PARTY_PROCESS, .start = echo_start, .serve = echo_serve },
	{ .role = NULL },
};

/* The leader's copy of the echo's end: while it is open a dead echo is not noticed. */
int kit_echo_before(struct run *run)
{
	struct echo *e = run_state(run);

	kit_close(&e->echo);
	return 0;
}

static int round_trip(struct run *run, const struct echo *e, unsigned char mark)
{
	int r;

	e->buf[0] = mark;
	r = e->message ? kit_send_message(run, e->leader, e->buf, e->size)
		       : kit_write_all(run, e->leader, e->buf, e->size);
	if (r == 0)
		r = e->message ? kit_recv_message(run, e->leader, e->buf, e->size)
			       : kit_read_all(run, e->leader, e->buf, e->size);
	if (r == 0 && e->buf[0] != mark)
		r = run_fail(run, EIO, "byte %u went out and %u came back", mark, e->buf[0]);
	return r;
}

int kit_echo_batch(struct run *run, uint64_t n)
{
	const struct echo *e = run_state(run);
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++)
		r = round_trip(run, e, (unsigned char)i);
	return r;
}
