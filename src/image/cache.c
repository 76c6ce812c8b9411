/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/sha256.h"

#define SCRATCH	      ".download-"
#define FILE_MAX      (1u << 30)
#define STALE_SECONDS (24 * 60 * 60)

static char *version_decode(const char *s, size_t n)
{
	struct str out = STR_INIT;

	while (n) {
		size_t step = n >= 3 && !strncmp(s, "%3a", 3) ? 3 : 1;

		str_add_c(&out, step == 3 ? ':' : *s);
		s += step;
		n -= step;
	}
	return str_take(&out);
}

/* PACKAGE_VERSION_SHA256.deb; neither part before the last holds '_'. */
static bool name_parse(const char *name, struct cache_entry *c)
{
	const size_t tail = SHA256_HEX_SIZE - 1 + strlen("_.deb");
	size_t n = strlen(name);
	const char *mark = strchr(name, '_'), *last;

	if (!str_ends(name, ".deb") || n <= tail || !mark)
		return false;
	last = name + n - tail;
	if (*last != '_' || mark >= last || mark == name)
		return false;
	c->sha256 = mem_strndup(last + 1, SHA256_HEX_SIZE - 1);
	c->package = mem_strndup(name, (size_t)(mark - name));
	c->version = version_decode(mark + 1, (size_t)(last - mark - 1));
	return sha256_is_hex(c->sha256);
}

static void entry_done(struct cache_entry *c)
{
	free(c->package);
	free(c->version);
	free(c->sha256);
	free(c->path);
}

int cache_list(const char *dir, struct cache_entry **ret_list, size_t *ret_n, struct error *e)
{
	struct cache_entry *list = NULL;
	size_t n = 0, cap = 0;
	struct dirent *entry;
	DIR *d = opendir(dir);

	*ret_list = NULL;
	*ret_n = 0;
	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return error_errno(e, errno, "%s", dir);
	while ((entry = readdir(d))) {
		struct cache_entry c = { .size = 0 };
		struct stat st;

		if (!name_parse(entry->d_name, &c) || fstatat(dirfd(d), entry->d_name, &st, 0) ||
		    !S_ISREG(st.st_mode)) {
			entry_done(&c);
			continue;
		}
		c.path = mem_printf("%s/%s", dir, entry->d_name);
		c.size = (uint64_t)st.st_size;
		list = mem_grow(list, n, &cap, sizeof(*list));
		list[n++] = c;
	}
	closedir(d);
	*ret_list = list;
	*ret_n = n;
	return 0;
}

void cache_list_free(struct cache_entry *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		entry_done(&list[i]);
	free(list);
}

int cache_read(const struct cache_entry *entry, char **ret_data, size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *data = NULL;
	char hex[SHA256_HEX_SIZE];
	int r = file_read(entry->path, FILE_MAX, &data, ret_len, e);

	if (r < 0)
		return r;
	sha256_hex(data, *ret_len, hex);
	if (strcmp(hex, entry->sha256))
		return error_set(e, EBADMSG,
				 "%s: damaged (its SHA-256 is another than its name says): delete "
				 "it",
				 entry->path);
	*ret_data = data;
	data = NULL;
	return 0;
}

static void remove_stale(const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d))) {
		struct stat st;

		if (str_starts(entry->d_name, SCRATCH) &&
		    !fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && time(NULL) - st.st_mtime > STALE_SECONDS) {
			CLEANUP_FREE char *path = mem_printf("%s/%s", dir, entry->d_name);

			cache_scratch_remove(path);
		}
	}
	if (d)
		closedir(d);
}

int cache_scratch(const char *dir, char **ret_path, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/" SCRATCH "XXXXXX", dir);
	int r = file_mkdirs(dir, e);

	if (r < 0)
		return error_prefix(e, "cannot make the cache folder");
	remove_stale(dir);
	if (!mkdtemp(path))
		return error_errno(e, errno, "cannot make a folder in the cache %s", dir);
	*ret_path = path;
	path = NULL;
	return 0;
}

void cache_scratch_remove(const char *path)
{
	struct dirent *entry;
	DIR *d = opendir(path);

	while (d && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

int cache_add(const char *dir, const char *from, const char *package, const char *version,
	      const char *sha256, char **ret_path, struct error *e)
{
	struct str to = STR_INIT;

	str_printf(&to, "%s/%s_", dir, package);
	for (; *version; version++) {
		if (*version == ':')
			str_add(&to, "%3a");
		else
			str_add_c(&to, *version);
	}
	str_printf(&to, "_%s.deb", sha256);
	if (rename(from, str_get(&to)) < 0) {
		int r = error_errno(e, errno, "cannot store %s", str_get(&to));

		str_done(&to);
		return r;
	}
	*ret_path = str_take(&to);
	return 0;
}
