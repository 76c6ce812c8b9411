/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/debian.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/apt.h"
#include "image/cache.h"
#include "image/sha256.h"

#define PACKAGE_MAX (1u << 30)
#define CLOSE_SHOWN 6

struct fetch {
	const char *release, *version; /* version: NULL if any */
	const char *cache_dir;
	const struct image_progress *progress;
	struct cache_entry *cached;
	size_t n_cached;
};

/* "-cloud-amd64" of "6.1.0-55-cloud-amd64". */
static const char *flavour(const char *release)
{
	const char *s;

	for (s = strchr(release, '-'); s; s = strchr(s + 1, '-'))
		if (isalpha((unsigned char)s[1]) && !str_starts(s, "-rc"))
			return s;
	return "";
}

/* Length of "6.1." in "6.1.0-55". */
static size_t series_len(const char *release)
{
	size_t n = strcspn(release, ".");

	if (release[n])
		n += 1 + strcspn(release + n + 1, ".-");
	return n + (release[n] != '\0');
}

char *debian_close_releases(const char *release, const char *const *offered, size_t n, size_t max)
{
	CLEANUP_FREE const char **close = mem_array(n, sizeof(*close));
	size_t found = 0, below = 0, first, i;
	struct str out = STR_INIT;

	for (int level = 0; level < 3 && !found; level++) {
		for (i = 0; i < n; i++) {
			if (level < 2 && strcmp(flavour(release), flavour(offered[i])))
				continue;
			if (level < 1 && strncmp(release, offered[i], series_len(release)))
				continue;
			close[found++] = offered[i];
		}
	}
	while (below < found && str_version_cmp(close[below], release) < 0)
		below++;
	/* A window around where it would stand. */
	first = below > max / 2 ? below - max / 2 : 0;
	if (first + max > found)
		first = found > max ? found - max : 0;
	for (i = first; i < found && i < first + max; i++)
		str_printf(&out, "%s%s", i > first ? ", " : "", close[i]);
	return str_take(&out);
}

/* "a, b", as apt_versions(). */
static char *cached_versions(const struct fetch *f)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < f->n_cached; i++) {
		CLEANUP_FREE char *release = apt_release(f->cached[i].package);

		if (str_eq(release, f->release))
			str_printf(&out, "%s%s", out.len ? ", " : "", f->cached[i].version);
	}
	return out.len ? str_take(&out) : NULL;
}

static int not_offered(const struct fetch *f, const char *no_apt, struct error *e)
{
	CLEANUP_FREE const char **names = NULL;
	CLEANUP_FREE char *close = NULL;
	CLEANUP_FREE char *cached = f->version ? cached_versions(f) : NULL;
	CLEANUP_FREE char *versions = f->version && !no_apt ? apt_versions(f->release) : NULL;
	struct apt_package *list = NULL;
	size_t n = 0, i;
	int r;

	if (no_apt && cached)
		return error_set(e, ENOENT,
				 "%s, and the cache %s has only %s: take one of these "
				 "(debian:%s=VERSION), or give the path of a .deb",
				 no_apt, f->cache_dir, cached, f->release);
	if (no_apt)
		return error_set(e, ENOENT,
				 "%s, and the cache %s does not have it: give the path of a .deb, "
				 "bzImage or vmlinux instead",
				 no_apt, f->cache_dir);
	if (versions || cached)
		return error_set(
			e, ENOENT,
			"not this version: apt offers %s, the cache %s has %s: take one of "
			"these (debian:%s=VERSION), or give the path of a .deb",
			versions ? versions : "none", f->cache_dir, cached ? cached : "none",
			f->release);
	r = apt_list(&list, &n, e);
	if (r < 0)
		return r;
	if (!n)
		return error_set(e, ENOENT,
				 "apt offers no kernel image at all: run apt-get update, or give "
				 "the path of a .deb, bzImage or vmlinux");
	names = mem_array(n, sizeof(*names));
	for (i = 0; i < n; i++)
		names[i] = list[i].release;
	close = debian_close_releases(f->release, names, n, CLOSE_SHOWN);
	r = error_set(
		e, ENOENT,
		"apt does not offer linux-image-%s; close ones on offer: %s. Take one of these "
		"(all: kdelta list kernels), or run apt-get update if the lists may be old",
		f->release, close);
	apt_list_free(list, n);
	return r;
}

/* The newest in the cache that is the release and, if asked for, the version and the bytes. */
static const struct cache_entry *find_cached(const struct fetch *f, const char *package,
					     const char *version, const char *sha256)
{
	const struct cache_entry *best = NULL;

	for (size_t i = 0; i < f->n_cached; i++) {
		const struct cache_entry *c = &f->cached[i];
		CLEANUP_FREE char *release = apt_release(c->package);

		if (!str_eq(release, f->release) || (package && strcmp(package, c->package)) ||
		    (version && strcmp(version, c->version)) ||
		    (sha256 && strcmp(sha256, c->sha256)))
			continue;
		if (!best || str_version_cmp(c->version, best->version) > 0)
			best = c;
	}
	return best;
}

/* The one .deb in the folder. */
static char *find_deb(const char *dir)
{
	struct dirent *entry;
	char *path = NULL;
	DIR *d = opendir(dir);

	while (d && !path && (entry = readdir(d)))
		if (str_ends(entry->d_name, ".deb"))
			path = mem_printf("%s/%s", dir, entry->d_name);
	if (d)
		closedir(d);
	return path;
}

static int download_into(const struct fetch *f, const struct apt_package *p, const char *dir,
			 char **ret_path, char **ret_data, size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *path = NULL, *data = NULL;
	char hex[SHA256_HEX_SIZE];
	int r = apt_download(p, dir, f->progress, e);

	if (r < 0)
		return r;
	path = find_deb(dir);
	if (!path)
		return error_set(e, EIO, "apt-get download %s left no file", p->package);
	r = file_read(path, PACKAGE_MAX, &data, ret_len, e);
	if (r < 0)
		return r;
	sha256_hex(data, *ret_len, hex);
	if (p->sha256 && strcmp(hex, p->sha256))
		return error_set(e, EBADMSG,
				 "%s %s was downloaded with another SHA-256 than the package lists "
				 "say: try again after apt-get update",
				 p->package, p->version);
	r = cache_add(f->cache_dir, path, p->package, p->version, hex, ret_path, e);
	if (r < 0)
		return r;
	*ret_data = data;
	data = NULL;
	return 0;
}

static int download(const struct fetch *f, const struct apt_package *p, char **ret_path,
		    char **ret_data, size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *dir = NULL;
	int r = cache_scratch(f->cache_dir, &dir, e);

	if (r < 0)
		return r;
	r = download_into(f, p, dir, ret_path, ret_data, ret_len, e);
	cache_scratch_remove(dir);
	return r;
}

static int from_cache(const struct cache_entry *c, char **ret_path, char **ret_data,
		      size_t *ret_len, struct error *e)
{
	int r = cache_read(c, ret_data, ret_len, e);

	if (!r)
		*ret_path = mem_strdup(c->path);
	return r;
}

static int fetch(const struct fetch *f, char **ret_path, char **ret_data, size_t *ret_len,
		 struct error *e)
{
	struct apt_package p = { .size = 0 };
	struct error apt_error = ERROR_INIT;
	const struct cache_entry *c;
	int r = apt_find(f->release, f->version, &p, &apt_error);

	if (r <= 0) {
		c = find_cached(f, NULL, f->version, NULL);
		if (c)
			return from_cache(c, ret_path, ret_data, ret_len, e);
		if (r < 0 && r != -ENOSYS)
			return error_set(e, -r, "%s", apt_error.text);
		return not_offered(f, r < 0 ? apt_error.text : NULL, e);
	}
	c = find_cached(f, p.package, p.version, p.sha256);
	r = c ? from_cache(c, ret_path, ret_data, ret_len, NULL) : -ENOENT;
	if (r == -EBADMSG)
		unlink(c->path); /* apt has it: nobody needs to be asked */
	if (r < 0)
		r = download(f, &p, ret_path, ret_data, ret_len, e);
	if (r < 0 && r != -ECANCELED) {
		c = find_cached(f, NULL, f->version, NULL);
		if (c && strcmp(c->version, p.version) && e &&
		    strlen(e->text) + 200 < sizeof(e->text)) {
			CLEANUP_FREE char *hint =
				mem_printf("; the cache has debian:%s=%s", f->release, c->version);

			strncat(e->text, hint, 199);
		}
	}
	apt_package_done(&p);
	return r;
}

int debian_fetch(const char *what, const char *cache_dir, const struct image_progress *progress,
		 char **ret_path, char **ret_data, size_t *ret_len, struct error *e)
{
	size_t n = strcspn(what, "=");
	CLEANUP_FREE char *release = mem_strndup(what, n);
	struct fetch f = { .release = release,
			   .version = what[n] ? what + n + 1 : NULL,
			   .cache_dir = cache_dir,
			   .progress = progress };
	int r = cache_list(cache_dir, &f.cached, &f.n_cached, e);

	if (r < 0)
		return r;
	r = fetch(&f, ret_path, ret_data, ret_len, e);
	cache_list_free(f.cached, f.n_cached);
	return r;
}
