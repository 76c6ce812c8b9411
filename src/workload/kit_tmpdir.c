/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders carry the pid and pid namespace of the leader in their names: whoever reaps the leader
 * knows both, so that folders go away also behind a crash, and no one else's ever do.
 */
#include "workload/kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX_MAX 80

static void prefix_make(pid_t leader, char *prefix)
{
	struct stat st;
	unsigned long ns = stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long)st.st_ino : 0;

	snprintf(prefix, PREFIX_MAX, "kdelta-%lu-%ld-", ns, (long)leader);
}

int kit_tmpdir(struct run *run, const char **ret_path)
{
	const char *base = run_env(run, "TMPDIR");
	char prefix[PREFIX_MAX], *path, real[PATH_MAX];
	size_t size;

	if (!base || !*base)
		base = "/tmp";
	if (!realpath(base, real))
		return run_fail(run, errno, "temporary folder %s: %s", base, strerror(errno));
	prefix_make(getpid(), prefix);
	size = strlen(real) + strlen(prefix) + sizeof("/XXXXXX");
	path = run_alloc(run, size);
	if (!path)
		return run_fail(run, ENOMEM, "no memory for a path");
	snprintf(path, size, "%s/%sXXXXXX", real, prefix);
	if (!mkdtemp(path))
		return run_fail(run, errno, "mkdtemp %s: %s", path, strerror(errno));
	*ret_path = path;
	return 0;
}

int kit_file(struct run *run, const char **ret_path)
{
	static const char path[] = "a/b/c/file";
	const char *dir;
	int fd, r = kit_tmpdir(run, &dir);

	if (r < 0)
		return r;
	if (chdir(dir) < 0 || mkdir("a", 0700) < 0 || mkdir("a/b", 0700) < 0 ||
	    mkdir("a/b/c", 0700) < 0)
		return run_fail(run, errno, "folders in %s: %s", dir, strerror(errno));
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return run_fail(run, errno, "create %s/%s: %s", dir, path, strerror(errno));
	r = kit_write_all(run, fd, "x", 1);
	if (close(fd) < 0 && r == 0)
		r = run_fail(run, errno, "close %s/%s: %s", dir, path, strerror(errno));
	*ret_path = path;
	return r;
}

static int sweep_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* The leader in the name of one of our folders of this pid namespace; 0: it is none. */
static pid_t leader_of(const char *name)
{
	char prefix[PREFIX_MAX];
	const char *number;
	long pid;

	prefix_make(0, prefix);
	prefix[strlen(prefix) - strlen("0-")] = '\0';
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return 0;
	number = name + strlen(prefix);
	pid = strtol(number, NULL, 10);
	return *number >= '1' && *number <= '9' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* Removes our folders of this leader; leader 0: of all that are dead. */
static int sweep(const char *tmpdir, pid_t leader)
{
	const char *base = tmpdir && *tmpdir ? tmpdir : "/tmp";
	char path[PATH_MAX];
	struct dirent *d;
	int r = 0;
	DIR *dir = opendir(base);

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (r >= 0 && (d = readdir(dir))) {
		pid_t whose = leader_of(d->d_name);
		struct stat st;

		if (!whose || (leader ? whose != leader : !kill(whose, 0) || errno != ESRCH) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", base, d->d_name) >= (int)sizeof(path))
			r = -ENAMETOOLONG;
		else
			r = nftw(path, sweep_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (r == -1)
			r = -errno;
	}
	closedir(dir);
	return r < 0 ? r : 0;
}

int kit_tmpdir_sweep(const char *tmpdir, pid_t leader)
{
	return leader > 0 ? sweep(tmpdir, leader) : -EINVAL;
}

int kit_tmpdir_sweep_stale(const char *tmpdir)
{
	return sweep(tmpdir, 0);
}
