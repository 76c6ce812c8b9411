/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/apt.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "image/sha256.h"

#define PREFIX	      "linux-image-"
#define QUERY_NS      (120 * NSEC_PER_SEC)
#define DOWNLOAD_NS   (3600 * NSEC_PER_SEC)
#define SMALLEST_SIZE (1u << 20) /* a meta package has some KiB, a kernel image tens of MiB */

char *apt_release(const char *package)
{
	static const char *const other[] = { "-dbg", "-dbgsym", "-signed-template" };
	const char *s = package + strlen(PREFIX);
	size_t n;

	if (!str_starts(package, PREFIX))
		return NULL;
	if (str_starts(s, "unsigned-"))
		s += strlen("unsigned-");
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (str_ends(s, other[i]))
			return NULL;
	n = strlen(s);
	if (str_ends(s, "-unsigned"))
		n -= strlen("-unsigned");
	return mem_strndup(s, n);
}

static const char *field(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(line, name, n) || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " ");
}

static void set(char **to, const char *value)
{
	free(*to);
	*to = mem_strdup(value);
}

/* One paragraph of `apt-cache show`, cut into lines in place. True if it is what we look for. */
static bool parse_paragraph(char *text, struct apt_package *p)
{
	bool can_download = false, ours = false;
	char *line;
	const char *v;

	while ((line = strsep(&text, "\n"))) {
		if ((v = field(line, "Package")))
			set(&p->package, v);
		else if ((v = field(line, "Version")))
			set(&p->version, v);
		else if ((v = field(line, "Architecture")))
			ours = !strcmp(v, "amd64");
		else if ((v = field(line, "Filename")))
			can_download = *v;
		else if ((v = field(line, "Size")))
			p->size = strtoull(v, NULL, 10);
		else if ((v = field(line, "SHA256")) && sha256_is_hex(v))
			set(&p->sha256, v);
	}
	if (p->package)
		p->release = apt_release(p->package);
	return p->release && p->version && ours && can_download &&
	       (!p->size || p->size >= SMALLEST_SIZE);
}

void apt_parse_show(const char *text, struct apt_package **list, size_t *n, size_t *cap)
{
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *next = copy, *end;

	while (next && *next) {
		struct apt_package p = { .size = 0 };

		end = strstr(next, "\n\n");
		if (end)
			*end = '\0';
		if (parse_paragraph(next, &p)) {
			*list = mem_grow(*list, *n, cap, sizeof(**list));
			(*list)[(*n)++] = p;
		} else {
			apt_package_done(&p);
		}
		next = end ? end + 2 : NULL;
	}
}

/* -ENOSYS where apt is missing, so that callers can go on without. */
static int query(const char *const *argv, struct proc_result *res, struct error *e)
{
	static const struct proc_opts opts = { .timeout_ns = QUERY_NS };
	int r = proc_run(argv, &opts, res, NULL);

	if (r == -ENOENT)
		return error_set(e, ENOSYS, "apt is not on this machine (no %s)", argv[0]);
	if (r < 0)
		return error_errno(e, -r, "%s", argv[0]);
	return 0;
}

static int by_release(const void *a, const void *b)
{
	const struct apt_package *x = a, *y = b;
	int r = str_version_cmp(x->release, y->release);

	if (r)
		return r;
	/* linux-image-R is a prefix of its unsigned twin: the signed one comes first. */
	return strcmp(x->package, y->package);
}

int apt_list(struct apt_package **ret_list, size_t *ret_n, struct error *e)
{
	static const char *const search[] = { "apt-cache", "search", "--names-only",
					      "^linux-image-", NULL };
	static const char *const show[] = { "apt-cache", "show", "--no-all-versions", "--" };
	struct proc_result names = { .status = -1 }, shown = { .status = -1 };
	CLEANUP_FREE const char **argv = NULL;
	struct apt_package *list = NULL;
	size_t n = 0, cap = 0, argc, args_cap = 0, i;
	char *next, *line;
	int r;

	for (argc = 0; argc < ARRAY_SIZE(show); argc++) {
		argv = mem_grow(argv, argc, &args_cap, sizeof(*argv));
		argv[argc] = show[argc];
	}
	r = query(search, &names, e);
	for (next = names.out; !r && (line = strsep(&next, "\n"));) {
		CLEANUP_FREE char *release = NULL;

		line[strcspn(line, " ")] = '\0';
		release = apt_release(line);
		if (!release)
			continue;
		argv = mem_grow(argv, argc, &args_cap, sizeof(*argv));
		argv[argc++] = line;
	}
	argv = mem_grow(argv, argc, &args_cap, sizeof(*argv));
	argv[argc] = NULL;
	if (!r && argc > ARRAY_SIZE(show))
		r = query(argv, &shown, e);
	if (!r && shown.out)
		apt_parse_show(shown.out, &list, &n, &cap);
	proc_result_done(&names);
	proc_result_done(&shown);
	if (r < 0)
		return r;
	if (n)
		qsort(list, n, sizeof(*list), by_release);
	for (i = 0, cap = 0; i < n; i++) {
		if (cap && str_eq(list[cap - 1].release, list[i].release))
			apt_package_done(&list[i]);
		else
			list[cap++] = list[i];
	}
	*ret_list = list;
	*ret_n = cap;
	return 0;
}

/* Where RELEASE stands in a package's name. */
static const char *const package_names[][2] = { { PREFIX, "" },
						{ PREFIX, "-unsigned" },
						{ PREFIX "unsigned-", "" } };

/* Adds what apt says of RELEASE's package of the `i`th kind of name, `version` or (NULL) all. */
static int ask(size_t i, const char *release, const char *version, bool all,
	       struct apt_package **list, size_t *n, size_t *cap, struct error *e)
{
	CLEANUP_FREE char *name =
		mem_printf("%s%s%s%s%s", package_names[i][0], release, package_names[i][1],
			   version ? "=" : "", version ? version : "");
	const char *const argv[] = {
		"apt-cache", "show", all ? "--all-versions" : "--no-all-versions", "--", name, NULL
	};
	struct proc_result res = { .status = -1 };
	int r = query(argv, &res, e);

	if (!r && !res.status)
		apt_parse_show(res.out, list, n, cap);
	proc_result_done(&res);
	return r;
}

int apt_find(const char *release, const char *version, struct apt_package *ret_package,
	     struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(package_names) && !r; i++) {
		struct apt_package *list = NULL;
		size_t n = 0, cap = 0;

		r = ask(i, release, version, false, &list, &n, &cap, e);
		if (!r && n) {
			*ret_package = list[0];
			list[0] = (struct apt_package){ .size = 0 };
			r = 1;
		}
		apt_list_free(list, n);
	}
	return r;
}

static int newest_first(const void *a, const void *b)
{
	const struct apt_package *x = a, *y = b;

	return str_version_cmp(y->version, x->version);
}

char *apt_versions(const char *release)
{
	struct apt_package *list = NULL;
	struct str out = STR_INIT;
	size_t n = 0, cap = 0, i;

	for (i = 0; i < ARRAY_SIZE(package_names); i++)
		if (ask(i, release, NULL, true, &list, &n, &cap, NULL) < 0)
			break;
	if (n)
		qsort(list, n, sizeof(*list), newest_first);
	for (i = 0; i < n; i++)
		if (!i || !str_eq(list[i - 1].version, list[i].version))
			str_printf(&out, "%s%s", i ? ", " : "", list[i].version);
	apt_list_free(list, n);
	return n ? str_take(&out) : NULL;
}

struct download {
	const struct image_progress *progress;
	const char *dir, *what;
	uint64_t size;
};

static int download_tick(void *arg)
{
	const struct download *d = arg;
	struct dirent *entry;
	uint64_t have = 0;
	DIR *dir;

	if (!d->progress || !d->progress->report)
		return 0;
	dir = opendir(d->dir);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (!fstatat(dirfd(dir), entry->d_name, &st, 0) && S_ISREG(st.st_mode))
			have += (uint64_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	return d->progress->report(d->progress->arg, d->what, have, d->size);
}

int apt_download(const struct apt_package *package, const char *dir,
		 const struct image_progress *progress, struct error *e)
{
	CLEANUP_FREE char *name = mem_printf("%s=%s", package->package, package->version);
	CLEANUP_FREE char *what = mem_printf("%s %s", package->package, package->version);
	struct download d = { progress, dir, what, package->size };
	const char *const argv[] = { "apt-get", "-q", "download", "--", name, NULL };
	const struct proc_opts opts = {
		.cwd = dir, .timeout_ns = DOWNLOAD_NS, .tick = download_tick, .arg = &d
	};
	struct proc_result res = { .status = -1 };
	int r;

	if (download_tick(&d))
		return error_set(e, ECANCELED, "%s: interrupted", what);
	r = proc_run_ok(argv, &opts, &res, e);
	proc_result_done(&res);
	if (r < 0) {
		if (r == -EIO && e && strlen(e->text) + 80 < sizeof(e->text))
			strcat(e->text, " (is the network there? are the lists old: apt-get "
					"update?)");
		return error_prefix(e, "cannot download %s", what);
	}
	download_tick(&d);
	return 0;
}

void apt_package_done(struct apt_package *package)
{
	if (!package)
		return;
	free(package->package);
	free(package->version);
	free(package->release);
	free(package->sha256);
	*package = (struct apt_package){ .size = 0 };
}

void apt_list_free(struct apt_package *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		apt_package_done(&list[i]);
	free(list);
}
