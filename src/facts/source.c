/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

/* Reads up to max + 1 bytes: the one more tells that the file is longer. */
static int slurp(const struct facts_source *src, const char *path, size_t max, char **ret_data,
		 size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", src->root, path);
	CLEANUP_FREE char *buf = NULL;
	CLEANUP_CLOSE int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t len = 0, cap = 4096;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(e, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return error_errno(e, EISDIR, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "%s: not a regular file", path);
	buf = mem_alloc(cap + 1);
	while (len <= max) {
		ssize_t n;

		if (len == cap) {
			cap *= 2;
			buf = mem_resize(buf, cap + 1, 1);
		}
		n = read(fd, buf + len, (cap <= max ? cap : max + 1) - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(e, errno, "%s", path);
		if (!n)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	*ret_data = buf;
	buf = NULL;
	*ret_len = len;
	return 0;
}

int source_bytes(const struct facts_source *src, const char *path, size_t max, char **ret_data,
		 size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *data = NULL;
	size_t len;
	int r = slurp(src, path, max, &data, &len, e);

	if (r < 0)
		return r;
	if (len > max)
		return error_set(e, EFBIG, "%s: longer than %zu bytes", path, max);
	*ret_data = data;
	data = NULL;
	*ret_len = len;
	return 0;
}

int source_text(const struct facts_source *src, const char *path, size_t max, char **ret_text,
		struct error *e)
{
	char *text;
	size_t len;
	int r = source_bytes(src, path, max, &text, &len, e);

	if (r < 0)
		return r;
	if (memchr(text, '\0', len)) {
		free(text);
		return error_set(e, EILSEQ, "%s: not text", path);
	}
	*ret_text = text;
	return 0;
}

int source_head(const struct facts_source *src, const char *path, size_t max, char **ret_text,
		struct error *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;
	int r = slurp(src, path, max, &text, &len, e);

	if (r < 0)
		return r;
	if (memchr(text, '\0', len))
		return error_set(e, EILSEQ, "%s: not text", path);
	if (len > max) {
		char *end = strrchr(text, '\n');

		if (!end)
			return error_set(e, EFBIG, "%s: a line is longer than %zu bytes", path,
					 max);
		end[1] = '\0';
	}
	*ret_text = text;
	text = NULL;
	return 0;
}

static char *format_path(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static char *format_path(const char *fmt, va_list ap)
{
	char *path = NULL;

	/* Fails for want of memory only; then there is no such file. */
	if (vasprintf(&path, fmt, ap) < 0)
		path = mem_strdup("");
	return path;
}

static char *line(const struct facts_source *src, const char *path, struct error *e)
{
	CLEANUP_FREE char *text = NULL;
	const char *p;

	if (source_text(src, path, SOURCE_LINE_MAX, &text, e) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	for (p = text; *p; p++) {
		if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f) {
			error_set(e, EILSEQ, "%s: not text", path);
			return NULL;
		}
	}
	return mem_strdup(str_trim(text));
}

char *source_line(const struct facts_source *src, struct error *e, const char *path_fmt, ...)
{
	CLEANUP_FREE char *path = NULL;
	va_list ap;

	va_start(ap, path_fmt);
	path = format_path(path_fmt, ap);
	va_end(ap);
	return line(src, path, e);
}

int source_u64(const struct facts_source *src, uint64_t *ret, struct error *e, const char *path_fmt,
	       ...)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *text = NULL;
	struct error own = ERROR_INIT;
	va_list ap;

	va_start(ap, path_fmt);
	path = format_path(path_fmt, ap);
	va_end(ap);
	text = line(src, path, &own);
	if (!text)
		return error_set(e, own.code, "%s", own.text);
	if (unit_parse_u64(text, ret, NULL) < 0)
		return error_set(e, EINVAL, "%s: '%.40s' is not a number", path, text);
	return 0;
}

int source_exists(const struct facts_source *src, const char *path)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", src->root, path);

	if (!access(full, F_OK))
		return 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
}

static int by_name(const void *a, const void *b)
{
	return str_version_cmp(*(char *const *)a, *(char *const *)b);
}

int source_names(const struct facts_source *src, const char *path, char ***ret_names, size_t *ret_n,
		 struct error *e)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", src->root, path);
	DIR *dir = opendir(full);
	char **names = NULL;
	size_t n = 0, cap = 0;
	struct dirent *d;

	if (!dir)
		return error_errno(e, errno, "%s", path);
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		names = mem_grow(names, n, &cap, sizeof(*names));
		names[n++] = mem_strdup(d->d_name);
	}
	closedir(dir);
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	*ret_names = names;
	*ret_n = n;
	return 0;
}

void source_names_free(char **names, size_t n)
{
	size_t i;

	if (!names)
		return;
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

char *source_field(const char *text, const char *key, char sep)
{
	size_t len = strlen(key);
	const char *p = text, *next;

	for (; p && *p; p = next) {
		const char *v = p + len;
		const char *end = strchr(p, '\n');

		next = end ? end + 1 : NULL;
		if (strncmp(p, key, len) != 0)
			continue;
		if (sep == ':')
			v += strspn(v, " \t");
		if (*v != sep)
			continue;
		v++;
		{
			CLEANUP_FREE char *copy =
				end ? mem_strndup(v, (size_t)(end - v)) : mem_strdup(v);

			return mem_strdup(str_trim(copy));
		}
	}
	return NULL;
}

bool source_field_u64(const char *text, const char *key, char sep, uint64_t *ret)
{
	CLEANUP_FREE char *v = source_field(text, key, sep);
	size_t digits;

	if (!v)
		return false;
	digits = strspn(v, "0123456789");
	if (!digits || (v[digits] && !isspace((unsigned char)v[digits])))
		return false;
	v[digits] = '\0';
	return unit_parse_u64(v, ret, NULL) == 0;
}

int source_cpus_allowed(const struct facts_source *src, struct cpulist *ret, struct error *e)
{
	CLEANUP_FREE char *status = NULL;
	CLEANUP_FREE char *list = NULL;
	int r;

	if (!*src->root)
		return cpulist_allowed(ret, e);
	r = source_text(src, "/proc/self/status", 1u << 20, &status, e);
	if (r < 0)
		return r;
	list = source_field(status, "Cpus_allowed_list", ':');
	if (!list)
		return error_set(e, ENOENT, "/proc/self/status: no Cpus_allowed_list");
	return cpulist_parse(list, ret, e);
}

char *source_clocksource(const struct facts_source *src, struct error *e)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char *s = source_line(src, e, "%s", path);

	if (s && !*s) {
		error_set(e, ENODATA, "%s: empty", path);
		free(s);
		return NULL;
	}
	if (str_eq(s, "tsc-early"))
		s[strlen("tsc")] = '\0';
	return s;
}
