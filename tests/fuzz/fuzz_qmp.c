/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU says on its control socket; a command is waited for. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/qmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	struct qmp q;
	int p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
		abort();
	qmp_init(&q, p[0]);
	qmp_feed(&q, (const char *)data, half);
	qmp_command(&q, "cont", NULL, -1);
	qmp_feed(&q, (const char *)data + half, size - half);
	if (q.answered > q.sent || q.sent > 1 || (q.sent && !q.greeted))
		abort();
	if (!memchr(q.error, '\0', sizeof(q.error)) ||
	    !memchr(q.shutdown, '\0', sizeof(q.shutdown)))
		abort();
	qmp_done(&q);
	close(p[0]);
	close(p[1]);
	return 0;
}
