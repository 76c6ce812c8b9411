/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two pipes, one byte, there and back: two system calls and a wake-up each way. On one CPU that is
 * two context switches, across CPUs mostly the wake-up.
 */
#include "workload/kit.h"

#include <errno.h>

struct pipe_state {
	int there[2], back[2]; /* read end, write end */
};

static int pipe_setup(struct run *run)
{
	struct pipe_state *p = run_alloc(run, sizeof(*p));
	int r;

	if (!p)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, p);
	r = kit_pipe(run, p->there);
	return r < 0 ? r : kit_pipe(run, p->back);
}

static int echo_start(struct party *party)
{
	struct pipe_state *p = run_state(party->run);

	kit_close(&p->there[1]);
	kit_close(&p->back[0]);
	return 0;
}

static int echo_serve(struct party *party)
{
	const struct pipe_state *p = run_state(party->run);
	char byte;
	int r;

	while ((r = kit_read_or_eof(party->run, p->there[0], &byte, 1)) == 0) {
		r = kit_write_all(party->run, p->back[1], &byte, 1);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* The leader's copies of the echo's ends: while they are open a dead echo is not noticed. */
static int pipe_before(struct run *run)
{
	struct pipe_state *p = run_state(run);

	kit_close(&p->there[0]);
	kit_close(&p->back[1]);
	return 0;
}

static int pipe_batch(struct run *run, uint64_t n)
{
	const struct pipe_state *p = run_state(run);
	char byte = 'x';
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++) {
		r = kit_write_all(run, p->there[1], &byte, 1);
		if (r == 0)
			r = kit_read_all(run, p->back[0], &byte, 1);
	}
	return r;
}

static const struct party_role pipe_parties[] = {
	{ .role = "echo", .kind = PARTY_PROCESS, .start = echo_start, .serve = echo_serve },
	{ .role = NULL },
};

const struct workload workload_pipe = {
	.name = "pipe",
	.family = "ipc",
	.op = "round trip",
	.doc = "One byte to another process and back through two pipes.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.metrics = kit_metrics_time,
	.parties = pipe_parties,
	.setup = pipe_setup,
	.before = pipe_before,
	.batch = pipe_batch,
};
