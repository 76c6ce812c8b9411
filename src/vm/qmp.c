/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/qmp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

void qmp_init(struct qmp *q, int fd)
{
	memset(q, 0, sizeof(*q));
	q->fd = fd;
	channel_init(&q->lines, QMP_LINE_MAX);
}

/* Some hundred bytes into an empty socket: all or an error. */
static int qmp_send(struct qmp *q, const char *text, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	do {
		n = sendmsg(q->fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int qmp_command(struct qmp *q, const char *name, const char *arguments, int fd)
{
	CLEANUP_FREE char *text = NULL;
	int r;

	if (!q->greeted || q->fd < 0)
		return -ENOTCONN;
	/* Its name comes back with the answer, so that an error knows whose it is. */
	text = mem_printf("{\"execute\":\"%s\"%s%s,\"id\":\"%s\"}\n", name,
			  arguments ? ",\"arguments\":" : "", arguments ? arguments : "", name);
	r = qmp_send(q, text, fd);
	if (r < 0)
		return r;
	q->sent++;
	return 0;
}

bool qmp_idle(const struct qmp *q)
{
	return q->answered == q->sent;
}

static void qmp_event(struct qmp *q, const char *event, const json_t *data)
{
	const char *status = json_opt_str(data, "status", "");

	if (str_eq(event, "SHUTDOWN"))
		snprintf(q->shutdown, sizeof(q->shutdown), "%s",
			 json_opt_str(data, "reason", "unknown"));
	else if (str_eq(event, "STOP"))
		q->stops++;
	else if (str_eq(event, "RESUME"))
		q->resumes++;
	else if (str_eq(event, "WATCHDOG"))
		q->watchdogs++;
	else if (str_eq(event, "GUEST_PANICKED"))
		q->panics++;
	else if (str_eq(event, "MIGRATION") && str_eq(status, "completed"))
		q->migration = QMP_MIGRATION_DONE;
	else if (str_eq(event, "MIGRATION") && str_eq(status, "failed"))
		q->migration = QMP_MIGRATION_FAILED;
}

/* Of a migration that failed only query-migrate says why, and it calls that no error. */
static void qmp_answer(struct qmp *q, const json_t *j)
{
	const char *why = json_opt_str(json_object_get(j, "return"), "error-desc", NULL);
	const json_t *error = json_object_get(j, "error");
	const char *command = json_opt_str(j, "id", NULL);
	const char *text = json_opt_str(j, "return", NULL);

	if (command && q->answered < q->sent)
		q->answered++;
	if (text) {
		str_reset(&q->text);
		str_add(&q->text, text);
	}
	if (error)
		why = json_opt_str(error, "desc", "refused");
	if (why && !*q->error)
		snprintf(q->error, sizeof(q->error), "%.40s: %s", command ? command : "QMP", why);
}

static void qmp_line(void *arg, const char *line, size_t len)
{
	struct qmp *q = arg;
	CLEANUP_JSON json_t *j = NULL;

	if (json_parse(line, len, "QMP", &j, NULL) < 0)
		return;
	if (!q->greeted && json_object_get(j, "QMP")) {
		q->greeted = true;
		/* Should it fail, then so will what follows, and the end is SIGKILL. */
		qmp_send(q, "{\"execute\":\"qmp_capabilities\"}\n", -1);
		return;
	}
	if (json_object_get(j, "event"))
		qmp_event(q, json_opt_str(j, "event", ""), json_object_get(j, "data"));
	else if (json_object_get(j, "return") || json_object_get(j, "error"))
		qmp_answer(q, j);
}

void qmp_feed(struct qmp *q, const char *data, size_t len)
{
	channel_feed(&q->lines, data, len, qmp_line, q);
}

int qmp_quit(struct qmp *q)
{
	if (!q->greeted || q->fd < 0)
		return -ENOTCONN;
	return qmp_send(q, "{\"execute\":\"quit\"}\n", -1);
}

void qmp_done(struct qmp *q)
{
	if (!q)
		return;
	channel_done(&q->lines);
	str_done(&q->text);
}
