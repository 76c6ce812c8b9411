/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "image/apt.h"
#include "image/cache.h"

#define BOOT "/boot"

struct entries {
	struct image_entry *list;
	size_t n, cap;
};

static void add(struct entries *to, struct image_entry entry)
{
	to->list = mem_grow(to->list, to->n, &to->cap, sizeof(*to->list));
	to->list[to->n++] = entry;
}

static void add_installed(struct entries *to)
{
	DIR *dir = opendir(BOOT);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (!str_starts(entry->d_name, "vmlinuz-") ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) || !S_ISREG(st.st_mode))
			continue;
		add(to,
		    (struct image_entry){ .where = IMAGE_INSTALLED,
					  .release = mem_strdup(entry->d_name + strlen("vmlinuz-")),
					  .kernel = mem_printf(BOOT "/%s", entry->d_name),
					  .size = (uint64_t)st.st_size });
	}
	if (dir)
		closedir(dir);
}

static int add_cached(struct entries *to, const char *cache_dir, struct error *e)
{
	struct cache_entry *list;
	size_t n, i;
	int r = cache_list(cache_dir, &list, &n, e);

	if (r < 0)
		return r;
	for (i = 0; i < n; i++) {
		char *release = apt_release(list[i].package);

		if (!release)
			continue;
		add(to, (struct image_entry){
				.where = IMAGE_CACHED,
				.release = release,
				.kernel = mem_printf("debian:%s=%s", release, list[i].version),
				.package = mem_strdup(list[i].package),
				.version = mem_strdup(list[i].version),
				.size = list[i].size });
	}
	cache_list_free(list, n);
	return 0;
}

static int add_offered(struct entries *to, struct error *e)
{
	struct error ours = ERROR_INIT;
	struct apt_package *list;
	size_t n, i;
	int r = apt_list(&list, &n, &ours);

	if (r == -ENOSYS)
		return 0;
	if (r < 0)
		return error_set(e, -r, "%s", ours.text);
	for (i = 0; i < n; i++)
		add(to, (struct image_entry){ .where = IMAGE_OFFERED,
					      .release = mem_strdup(list[i].release),
					      .kernel = mem_printf("debian:%s", list[i].release),
					      .package = mem_strdup(list[i].package),
					      .version = mem_strdup(list[i].version),
					      .size = list[i].size });
	apt_list_free(list, n);
	return 0;
}

static int by_where(const void *a, const void *b)
{
	const struct image_entry *x = a, *y = b;
	int r;

	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	r = str_version_cmp(x->release, y->release);
	if (!r && x->version && y->version)
		r = str_version_cmp(x->version, y->version);
	return r ? r : strcmp(x->kernel, y->kernel);
}

int image_list(const char *cache_dir, bool offered, struct image_entry **ret_list, size_t *ret_n,
	       struct error *e)
{
	CLEANUP_FREE char *own_dir = cache_dir ? NULL : image_cache_dir();
	struct entries all = { NULL, 0, 0 };
	int r;

	add_installed(&all);
	r = add_cached(&all, cache_dir ? cache_dir : own_dir, e);
	if (!r && offered)
		r = add_offered(&all, e);
	if (r < 0) {
		image_list_free(all.list, all.n);
		return r;
	}
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), by_where);
	*ret_list = all.list;
	*ret_n = all.n;
	return 0;
}

const char *image_where_name(enum image_where where)
{
	switch (where) {
	case IMAGE_INSTALLED:
		return "installed";
	case IMAGE_CACHED:
		return "cached";
	case IMAGE_OFFERED:
		return "offered";
	}
	return "?";
}

void image_list_free(struct image_entry *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].release);
		free(list[i].kernel);
		free(list[i].package);
		free(list[i].version);
	}
	free(list);
}
