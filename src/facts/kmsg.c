/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/kmsg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#define RECORD_MAX 16384u /* the kernel's own bound is 8192 */
#define RECORDS_MAX                                                                                \
	100000u /* read in one call: a log that is written as we read must not hold us */
#define LEVEL_WARNING 4u

struct kmsg {
	int fd; /* -1: not available, see why */
	bool have_seq;
	uint64_t seq; /* the record after the last one */
	struct error why;
};

struct kmsg *kmsg_open_fd_take(int fd)
{
	struct kmsg *k = mem_alloc(sizeof(*k));

	k->fd = fd;
	return k;
}

/* In containers the name often leads to a console, /dev/null or an ordinary file. */
static bool is_kmsg(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 11);
}

struct kmsg *kmsg_open(const struct facts_source *src)
{
	CLEANUP_FREE char *path = mem_printf("%s/dev/kmsg", src->root);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct kmsg *k = kmsg_open_fd_take(fd);

	if (fd < 0)
		error_errno(&k->why, errno, "/dev/kmsg");
	else if (!is_kmsg(fd))
		error_set(&k->why, ENODEV, "/dev/kmsg: not the kernel's log");
	else if (lseek(fd, 0, SEEK_END) < 0)
		error_errno(&k->why, errno, "/dev/kmsg");
	if (k->why.code && k->fd >= 0) {
		close(k->fd);
		k->fd = -1;
	}
	return k;
}

const char *kmsg_why(const struct kmsg *k)
{
	return k->why.code ? k->why.text : NULL;
}

/* How the reports of the kernel begin, or what stands in their first line. */
static bool begins_report(const char *text)
{
	static const char *const start[] = {
		"WARNING: ",
		"BUG: ",
		"Oops",
		"Call Trace:",
		"Call trace:",
		"kernel BUG at ",
		"general protection fault",
		"Kernel panic",
		"Internal error: ",
		"Unable to handle kernel ",
		"stack segment: ",
		"invalid opcode: ",
		"divide error: ",
		"KASAN: ",
		"INFO: possible ",
		"Out of memory: ",
		"UBSAN: ",
		"traps: PANIC",
	};
	static const char *const within[] = {
		"soft lockup",
		"hard LOCKUP",
		"blocked for more than",
		"detected stalls on CPUs",
		"self-detected stall",
		"detected expedited stalls",
		"rcu_sched kthread starved",
		"invoked oom-killer",
		"page allocation failure",
		"workqueue lockup",
		"marking clocksource",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(start); i++)
		if (!strncmp(text, start[i], strlen(start[i])))
			return true;
	for (i = 0; i < ARRAY_SIZE(within); i++)
		if (strstr(text, within[i]))
			return true;
	return false;
}

/* "PRIORITY,SEQ,TIME_US,FLAGS[,more];TEXT\n[ KEY=VALUE\n]..."; false if it is not of that form. */
static bool record(char *buf, unsigned *ret_facility, struct kmsg_line *ret)
{
	char *text = strchr(buf, ';');
	unsigned prio;

	if (!text ||
	    sscanf(buf, "%u,%" SCNu64 ",%" SCNu64 ",", &prio, &ret->seq, &ret->time_us) != 3)
		return false;
	text++;
	/* What follows a newline are the keys of a device. */
	text[strcspn(text, "\n")] = '\0';
	*ret_facility = prio >> 3;
	ret->level = prio & 7;
	ret->text = text;
	ret->report = begins_report(text + strspn(text, " "));
	return true;
}

void kmsg_new_warnings(struct kmsg *k, void (*emit)(void *arg, const struct kmsg_line *), void *arg,
		       struct kmsg_news *ret)
{
	CLEANUP_FREE char *buf = NULL;
	unsigned i;

	memset(ret, 0, sizeof(*ret));
	if (k->fd < 0)
		return;
	buf = mem_alloc(RECORD_MAX + 1);
	for (i = 0; i < RECORDS_MAX; i++) {
		ssize_t n = read(k->fd, buf, RECORD_MAX);
		struct kmsg_line line;
		unsigned facility;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE) {
			/* Overwritten; the next read gives the oldest one that is left. */
			ret->lost = true;
			k->have_seq = false;
			continue;
		}
		if (n < 0 && errno != EAGAIN) {
			error_errno(&k->why, errno, "/dev/kmsg");
			close(k->fd);
			k->fd = -1;
		}
		if (n <= 0)
			break;
		buf[n] = '\0';
		if (!record(buf, &facility, &line))
			continue;
		if (k->have_seq && line.seq > k->seq)
			ret->lost = true;
		k->have_seq = true;
		k->seq = line.seq + 1;
		if (facility || (line.level > LEVEL_WARNING && !line.report))
			continue;
		ret->lines++;
		ret->reports += line.report;
		if (emit && ret->lines <= KMSG_LINES_MAX)
			emit(arg, &line);
	}
}

void kmsg_free(struct kmsg *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k);
}
