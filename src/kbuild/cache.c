/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kbuild/internal.h"

#define WORK "work-"

void cache_remove(const char *path)
{
	CLEANUP_FREE char *copy = mem_strdup(path);
	char *const roots[] = { copy, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *f;

	while (fts && (f = fts_read(fts)))
		if (f->fts_info == FTS_DP)
			rmdir(f->fts_accpath);
		else if (f->fts_info != FTS_D)
			unlink(f->fts_accpath);
	if (fts)
		fts_close(fts);
}

char *cache_fact(const char *facts, const char *name)
{
	size_t n = strlen(name);
	const char *s = facts;

	while (s && (strncmp(s, name, n) || s[n] != ' ')) {
		s = strchr(s, '\n');
		s = s ? s + 1 : NULL;
	}
	return s ? mem_strndup(s + n + 1, strcspn(s + n + 1, "\n")) : NULL;
}

static uint64_t folder_size(const char *path)
{
	CLEANUP_FREE char *copy = mem_strdup(path);
	char *const roots[] = { copy, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	uint64_t bytes = 0;
	FTSENT *f;

	while (fts && (f = fts_read(fts)))
		if (f->fts_info == FTS_F)
			bytes += (uint64_t)f->fts_statp->st_size;
	if (fts)
		fts_close(fts);
	return bytes;
}

static size_t hex_digits(const char *s)
{
	size_t n = 0;

	while (isdigit((unsigned char)s[n]) || (s[n] >= 'a' && s[n] <= 'f'))
		n++;
	return n;
}

/* COMMIT-KEY, as kbuild_make() names them. */
static bool is_kernel(const char *name)
{
	return hex_digits(name) == 40 && name[40] == '-' && hex_digits(name + 41) == 16 &&
	       !name[57];
}

static bool is_work(const char *name)
{
	return str_starts(name, WORK) && hex_digits(name + strlen(WORK)) == 16 &&
	       !name[strlen(WORK) + 16];
}

/* The locked descriptor; -EBUSY. Nothing is made: without a file nobody has ever built there. */
static int work_lock(const char *path, int *ret_fd)
{
	CLEANUP_FREE char *lock = mem_printf("%s/lock", path);
	int fd = open(lock, O_RDWR | O_CLOEXEC), r = 0;

	*ret_fd = -1;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static void take(struct kbuild_cached *c, const char *folder, const char *name, bool work)
{
	CLEANUP_FREE char *facts = NULL, *text = NULL;
	int fd = -1;

	*c = (struct kbuild_cached){ .name = mem_strdup(name),
				     .path = mem_printf("%s/%s", folder, name),
				     .work = work };
	c->size = folder_size(c->path);
	if (work) {
		c->busy = work_lock(c->path, &fd) < 0;
		mem_close_fd(&fd);
		return;
	}
	facts = mem_printf("%s/" CACHE_FACTS, c->path);
	if (file_read(facts, 1 << 16, &text, NULL, NULL) == 0)
		c->release = cache_fact(text, "release");
}

int kbuild_cache_list(const char *cache_dir, struct kbuild_cached **ret_list, size_t *ret_n,
		      struct error *e)
{
	CLEANUP_FREE char *folder = mem_printf("%s/git", cache_dir);
	struct kbuild_cached *list = NULL;
	size_t n = 0, cap = 0;
	DIR *d = opendir(folder);
	const struct dirent *entry;

	*ret_list = NULL;
	*ret_n = 0;
	if (!d)
		return errno == ENOENT ? 0 : error_errno(e, errno, "%s", folder);
	while ((entry = readdir(d))) {
		if (!is_kernel(entry->d_name) && !is_work(entry->d_name))
			continue;
		list = mem_grow(list, n, &cap, sizeof(*list));
		take(&list[n++], folder, entry->d_name, is_work(entry->d_name));
	}
	closedir(d);
	*ret_list = list;
	*ret_n = n;
	return 0;
}

int kbuild_cache_drop(const struct kbuild_cached *c, struct error *e)
{
	CLEANUP_FREE char *facts = mem_printf("%s/" CACHE_FACTS, c->path);
	CLEANUP_CLOSE int fd = -1;
	int r = c->work ? work_lock(c->path, &fd) : 0;

	if (r < 0)
		return error_errno(e, -r, "%s", c->path);
	/* First, so that what is left when this is killed is no finished kernel. */
	if (!c->work)
		unlink(facts);
	cache_remove(c->path);
	if (access(c->path, F_OK) == 0)
		return error_set(e, EIO, "%s: it could not be deleted", c->path);
	return 0;
}

void kbuild_cache_free(struct kbuild_cached *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].name);
		free(list[i].path);
		free(list[i].release);
	}
	free(list);
}
