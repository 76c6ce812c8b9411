/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "store/db.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/*
 * Start time in ticks since the host booted: field 22 of proc(5), /proc/PID/stat. 0 with an errno
 * if there is no such process; a zombie is none.
 */
static unsigned long long start_of(long pid, int *ret_errno)
{
	CLEANUP_FREE char *path = mem_printf("/proc/%ld/stat", pid), *text = NULL;
	struct error e = ERROR_INIT;
	unsigned long long start = 0;
	char *p;
	size_t len;
	int field;

	*ret_errno = -file_read(path, 1 << 16, &text, &len, &e);
	if (*ret_errno)
		return 0;
	/* The name in field 2 may hold anything, so count from behind its last ')'. */
	p = strrchr(text, ')');
	if (p && (!strncmp(p, ") Z", 3) || !strncmp(p, ") X", 3))) {
		*ret_errno = ESRCH;
		return 0;
	}
	for (field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		start = strtoull(p + 1, NULL, 10);
	return start;
}

/* A PID means something in its namespace only: the name of ours, "pid:[4026531836]". */
static bool pid_namespace(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/ns/pid", buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

char *owner_self(void)
{
	CLEANUP_FREE char *boot = file_line(BOOT_ID);
	unsigned long long start;
	char ns[64];
	int err;

	start = start_of((long)getpid(), &err);
	if (!boot || !start || !pid_namespace(ns, sizeof(ns)))
		return mem_strdup("unknown");
	return mem_printf("%s %ld %llu %s", boot, (long)getpid(), start, ns);
}

bool owner_alive(const char *owner)
{
	CLEANUP_FREE char *boot = file_line(BOOT_ID);
	char their_boot[64], their_ns[64], ns[64];
	unsigned long long start, now;
	long pid;
	int err;

	if (!boot || sscanf(owner, "%63s %ld %llu %63s", their_boot, &pid, &start, their_ns) != 4)
		return true;
	if (strcmp(boot, their_boot) != 0)
		return false;
	if (!pid_namespace(ns, sizeof(ns)) || strcmp(ns, their_ns) != 0)
		return true;
	now = start_of(pid, &err);
	if (err)
		return err != ENOENT && err != ESRCH;
	return now == start;
}
