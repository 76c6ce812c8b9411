/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

int file_read_fd(int fd, const char *name, size_t max, char **ret_data, size_t *ret_len,
		 struct error *e)
{
	size_t len = 0, cap = 4096;
	CLEANUP_FREE char *buf = mem_alloc(cap + 1);

	for (;;) {
		ssize_t n;

		if (len == cap) {
			cap *= 2;
			buf = mem_resize(buf, cap + 1, 1);
		}
		n = read(fd, buf + len, cap - len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return error_errno(e, errno, "%s", name);
		}
		if (!n)
			break;
		len += (size_t)n;
		if (len > max)
			return error_set(e, EFBIG, "%s: longer than %zu bytes", name, max);
	}
	buf[len] = '\0';
	*ret_data = buf;
	buf = NULL;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int file_read(const char *path, size_t max, char **ret_data, size_t *ret_len, struct error *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	return file_read_fd(fd, path, max, ret_data, ret_len, e);
}

char *file_line(const char *path)
{
	CLEANUP_FREE char *data = NULL;

	if (file_read(path, 1 << 20, &data, NULL, NULL) < 0)
		return NULL;
	data[strcspn(data, "\n")] = '\0';
	return mem_strdup(str_trim(data));
}

int file_write_fd(int fd, const void *data, size_t len, struct error *e)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return error_errno(e, errno, "cannot write");
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_replace(const char *path, const void *data, size_t len, struct error *e)
{
	CLEANUP_FREE char *tmp = mem_printf("%s.XXXXXX", path);
	CLEANUP_CLOSE int fd = mkostemp(tmp, O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	r = file_write_fd(fd, data, len, e);
	if (r < 0)
		error_prefix(e, "%s", path);
	if (!r && fchmod(fd, 0644) < 0)
		r = error_errno(e, errno, "%s", path);
	if (!r && fsync(fd) < 0)
		r = error_errno(e, errno, "%s", path);
	if (!r && rename(tmp, path) < 0)
		r = error_errno(e, errno, "%s", path);
	if (r < 0)
		unlink(tmp);
	return r;
}

/* EEXIST is as good as made, unless it is something else that exists. */
static int make_dir(const char *path, struct error *e)
{
	struct stat st;
	int err;

	if (!mkdir(path, 0777))
		return 0;
	err = errno;
	if (err == EEXIST && !stat(path, &st))
		err = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	return err ? error_errno(e, err, "%s", path) : 0;
}

int file_mkdirs(const char *path, struct error *e)
{
	CLEANUP_FREE char *p = mem_strdup(path);
	char *s;
	int r = 0;

	for (s = *p ? p + 1 : p; *s && !r; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		r = make_dir(p, e);
		*s = '/';
	}
	return r ? r : make_dir(p, e);
}

int file_memfd(const char *name, const void *data, size_t len, int *ret_fd, struct error *e)
{
	CLEANUP_CLOSE int fd = memfd_create(name, MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(e, errno, "memfd_create %s", name);
	r = file_write_fd(fd, data, len, e);
	if (r < 0)
		return error_prefix(e, "%s", name);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(e, errno, "%s", name);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

char *file_beside_self(const char *name)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n < 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return mem_printf("%s/%s", path, name);
}
