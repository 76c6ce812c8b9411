/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/str.h"
#include "image/apt.h"
#include "image/cache.h"
#include "image/places.h"

struct entries {
	struct image_entry *list;
	size_t n, cap;
};

static void add(struct entries *to, struct image_entry entry)
{
	to->list = mem_grow(to->list, to->n, &to->cap, sizeof(*to->list));
	to->list[to->n++] = entry;
}

/* It is opened: whether what is installed is what runs cannot be told from its name. */
static void add_running(struct entries *to)
{
	struct kernel_spec spec = { .source = KERNEL_RUNNING };
	struct image img = IMAGE_INIT;
	struct error why = ERROR_INIT;
	struct image_entry entry = { .where = IMAGE_RUNNING };
	struct utsname u;

	if (uname(&u) < 0)
		return;
	entry.release = mem_strdup(u.release);
	spec.what = spec.text = (char[]){ "running" };
	if (image_open(&spec, NULL, NULL, &img, &why) < 0) {
		entry.why_not = mem_strdup(str_starts(why.text, "running: ")
						   ? why.text + strlen("running: ")
						   : why.text);
	} else {
		entry.kernel = mem_strdup(spec.what);
		entry.size = img.size;
	}
	image_done(&img);
	add(to, entry);
}

static void add_installed(struct entries *to)
{
	size_t n, i;
	char **list = place_releases(&n);

	for (i = 0; i < n; i++) {
		CLEANUP_FREE char *path = place_image(list[i]);
		struct stat st;

		add(to, (struct image_entry){
				.where = IMAGE_INSTALLED,
				.release = list[i],
				.kernel = mem_printf("installed:%s", list[i]),
				.size = path && !stat(path, &st) ? (uint64_t)st.st_size : 0 });
	}
	free(list);
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
	return r || !x->kernel || !y->kernel ? r : strcmp(x->kernel, y->kernel);
}

int image_list(const char *cache_dir, bool offered, struct image_entry **ret_list, size_t *ret_n,
	       struct error *e)
{
	CLEANUP_FREE char *own_dir = cache_dir ? NULL : image_cache_dir();
	struct entries all = { NULL, 0, 0 };
	int r;

	add_running(&all);
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
	case IMAGE_RUNNING:
		return "running";
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
		free(list[i].why_not);
		free(list[i].package);
		free(list[i].version);
	}
	free(list);
}
