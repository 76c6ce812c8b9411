/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/ns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static uint64_t cookie_here(void)
{
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CLEANUP_CLOSE int inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 ||
	    getsockopt(inet, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0)
		return cookie;
	return 0;
}

void ns_here(const char *ns, uint64_t *ret_inode, uint64_t *ret_cookie)
{
	CLEANUP_FREE char *path = mem_printf("/proc/self/ns/%s", ns ? ns : "");
	struct stat st;

	*ret_inode = ns && stat(path, &st) == 0 ? st.st_ino : 0;
	*ret_cookie = str_eq(ns, "net") ? cookie_here() : 0;
}

bool ns_is_here(const struct journal_entry *it)
{
	uint64_t inode, cookie;

	if (!it->ns)
		return true;
	ns_here(it->ns, &inode, &cookie);
	return (!inode || !it->ns_inode || inode == it->ns_inode) &&
	       (!cookie || !it->ns_cookie || cookie == it->ns_cookie);
}

/* A file of that inode in DIR, or in DIR/PID/ns of any process; -1: none that we may see. */
static int find_in(const char *where, const char *ns, uint64_t inode, bool *denied)
{
	bool proc = !strcmp(where, "/proc");
	DIR *dir = opendir(where);
	struct dirent *d;
	int fd = -1;

	while (dir && fd < 0 && (d = readdir(dir))) {
		CLEANUP_FREE char *path = proc ? mem_printf("/proc/%s/ns/%s", d->d_name, ns)
					       : mem_printf("%s/%s", where, d->d_name);
		struct stat st;

		if (proc ? !isdigit((unsigned char)*d->d_name) : *d->d_name == '.')
			continue;
		if (stat(path, &st) < 0) {
			*denied |= errno == EACCES || errno == EPERM;
		} else if (st.st_ino == inode) {
			fd = open(path, O_RDONLY | O_CLOEXEC);
			*denied |= fd < 0;
		}
	}
	if (dir)
		closedir(dir);
	return fd;
}

int ns_enter(const struct journal_entry *it, int *ret_back, struct error *e)
{
	CLEANUP_FREE char *own = NULL;
	CLEANUP_CLOSE int fd = -1;
	bool denied = false;

	*ret_back = -1;
	if (ns_is_here(it))
		return 0;
	own = mem_printf("/proc/self/ns/%s", it->ns);
	if (!strcmp(it->ns, "net"))
		fd = find_in("/run/netns", it->ns, it->ns_inode, &denied);
	if (fd < 0)
		fd = find_in("/proc", it->ns, it->ns_inode, &denied);
	if (fd < 0 && denied)
		return error_set(
			e, EPERM,
			"its %s namespace is not ours, and may be one that we must not see",
			it->ns);
	if (fd < 0)
		return error_set(e, ENOENT, "its %s namespace is no more", it->ns);
	*ret_back = open(own, O_RDONLY | O_CLOEXEC);
	if (*ret_back < 0 || setns(fd, 0) < 0) {
		error_errno(e, errno, "its %s namespace", it->ns);
		mem_close_fd(ret_back);
		*ret_back = -1;
		return e ? -e->code : -EPERM;
	}
	/* The inode may be a younger namespace's. */
	if (!ns_is_here(it)) {
		ns_leave(ret_back);
		return error_set(e, ENOENT, "its %s namespace is no more", it->ns);
	}
	return 0;
}

void ns_leave(int *back)
{
	if (*back >= 0 && setns(*back, 0) < 0) {
		perror("kdelta-agent: back to its own namespace");
		exit(3);
	}
	mem_close_fd(back);
	*back = -1;
}
