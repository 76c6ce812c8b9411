/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/qmp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/str.h"

#define QMP_LINE_MAX 65536

void qmp_init(struct qmp *q, int fd)
{
	memset(q, 0, sizeof(*q));
	q->fd = fd;
	channel_init(&q->lines, QMP_LINE_MAX);
}

/* Some tens of bytes into an empty socket: all or an error. */
static int qmp_send(struct qmp *q, const char *text)
{
	ssize_t n;

	do {
		n = send(q->fd, text, strlen(text), MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void qmp_line(void *arg, const char *line, size_t len)
{
	struct qmp *q = arg;
	CLEANUP_JSON json_t *j = NULL;

	if (json_parse(line, len, "QMP", &j, NULL) < 0)
		return;
	if (!q->greeted && json_object_get(j, "QMP")) {
		q->greeted = true;
		/* Should it fail, then so will "quit", and the end is SIGKILL. */
		qmp_send(q, "{\"execute\":\"qmp_capabilities\"}\n");
		return;
	}
	if (str_eq(json_opt_str(j, "event", ""), "SHUTDOWN"))
		snprintf(q->shutdown, sizeof(q->shutdown), "%s",
			 json_opt_str(json_object_get(j, "data"), "reason", "unknown"));
}

void qmp_feed(struct qmp *q, const char *data, size_t len)
{
	channel_feed(&q->lines, data, len, qmp_line, q);
}

int qmp_quit(struct qmp *q)
{
	if (!q->greeted || q->fd < 0)
		return -ENOTCONN;
	return qmp_send(q, "{\"execute\":\"quit\"}\n");
}

void qmp_done(struct qmp *q)
{
	if (q)
		channel_done(&q->lines);
}
