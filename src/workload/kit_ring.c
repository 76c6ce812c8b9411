/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/kit.h"

#include <errno.h>

int kit_ring_make(struct run *run, unsigned members, struct kit_ring *ret)
{
	int r = 0;

	ret->members = members;
	ret->link = run_alloc(run, members * sizeof(*ret->link));
	if (!ret->link)
		return run_fail(run, ENOMEM, "no memory");
	for (unsigned i = 0; i < members && r == 0; i++)
		r = kit_pipe(run, ret->link[i]);
	return r;
}

void kit_ring_keep(struct kit_ring *ring, unsigned me)
{
	for (unsigned i = 0; i < ring->members; i++) {
		if ((i + 1) % ring->members != me)
			kit_close(&ring->link[i][0]);
		if (i != me)
			kit_close(&ring->link[i][1]);
	}
}

int kit_ring_in(const struct kit_ring *ring, unsigned me)
{
	return ring->link[(me + ring->members - 1) % ring->members][0];
}

int kit_ring_out(const struct kit_ring *ring, unsigned me)
{
	return ring->link[me][1];
}

int kit_ring_turn(struct run *run, int out, int in, uint32_t token)
{
	uint32_t back;
	int r = kit_write_all(run, out, &token, sizeof(token));

	if (r == 0)
		r = kit_read_all(run, in, &back, sizeof(back));
	if (r == 0 && back != token)
		r = run_fail(run, EIO, "token %u went out and %u came back", token, back);
	return r;
}
