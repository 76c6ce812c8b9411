/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/deb.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "image/kconfig.h"
#include "image/unpack.h"

#define AR_MAGIC    "!<arch>\n"
#define AR_HEADER   60u
#define CONTROL_MAX (1u << 20)

struct member {
	const uint8_t *data;
	size_t len;
};

bool deb_is(const uint8_t *data, size_t len)
{
	return len >= strlen(AR_MAGIC) && !memcmp(data, AR_MAGIC, strlen(AR_MAGIC));
}

/* A decimal number in a field that is filled with spaces. */
static bool ar_number(const uint8_t *p, size_t n, size_t *ret)
{
	size_t v = 0, i;

	for (i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + (size_t)(p[i] - '0');
	*ret = v;
	if (!i)
		return false;
	for (; i < n; i++)
		if (p[i] != ' ')
			return false;
	return true;
}

/*
 * The outer archive is walked here and not by libarchive: we have all bytes, so the members need
 * no copy, and a file that ends early is seen before anything in it is believed.
 */
static int find_members(const uint8_t *data, size_t len, struct member *control,
			struct member *tree, struct error *e)
{
	size_t at = strlen(AR_MAGIC), size;

	while (at < len) {
		const uint8_t *h = data + at;
		struct member m;

		if (len - at < AR_HEADER)
			return error_set(e, EINVAL,
					 "a package cut short (%zu bytes): download it again", len);
		if (h[58] != '`' || h[59] != '\n' || !ar_number(h + 48, 10, &size))
			return error_set(e, EINVAL, "a damaged package (ar header at byte %zu)",
					 at);
		at += AR_HEADER;
		if (size > len - at)
			return error_set(e, EINVAL,
					 "a package cut short, %zu bytes of %zu: download it again",
					 len, at + size);
		m = (struct member){ data + at, size };
		if (!memcmp(h, "control.tar", 11) && !control->data)
			*control = m;
		else if (!memcmp(h, "data.tar", 8) && !tree->data)
			*tree = m;
		at += size;
		if (size & 1 && at < len)
			at++;
	}
	if (!control->data || !tree->data)
		return error_set(e, EINVAL,
				 "not a whole Debian package (no %s.tar in it): cut short, or "
				 "another kind of archive",
				 control->data ? "data" : "control");
	return 0;
}

static struct archive *tar_open(const struct member *m)
{
	struct archive *a = archive_read_new();

	if (!a)
		return NULL;
	unpack_filters(a);
	archive_read_support_format_tar(a);
	archive_read_open_memory(a, m->data, m->len); /* an error shows at the next header */
	return a;
}

/* The next regular file with its name without "./"; 0 at the end. `ret_size` may be NULL. */
static int tar_next(struct archive *a, const char **ret_name, uint64_t *ret_size, struct error *e)
{
	struct archive_entry *entry;
	const char *name, *why;
	int r;

	for (;;) {
		r = archive_read_next_header(a, &entry);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r == ARCHIVE_RETRY)
			continue;
		if (r < ARCHIVE_WARN) {
			why = archive_error_string(a);
			return error_set(e, EINVAL, "a damaged package (%s): download it again",
					 why ? why : "it cannot be unpacked");
		}
		name = archive_entry_pathname(entry);
		if (!name || archive_entry_filetype(entry) != AE_IFREG ||
		    archive_entry_hardlink(entry))
			continue;
		while (*name == '.' || *name == '/')
			name++;
		*ret_name = name;
		if (ret_size)
			*ret_size = (uint64_t)archive_entry_size(entry);
		return 1;
	}
}

/* The value of a field of the control file, deb-control(5); NULL if absent. */
static char *control_field(const char *text, const char *field)
{
	size_t n = strlen(field);
	const char *line = text;

	while (line && *line) {
		if (!strncasecmp(line, field, n) && line[n] == ':') {
			CLEANUP_FREE char *value =
				mem_strndup(line + n + 1, strcspn(line + n + 1, "\n"));

			return mem_strdup(str_trim(value));
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return NULL;
}

static int read_control(const struct member *m, struct deb *d, struct error *e)
{
	struct archive *a = tar_open(m);
	CLEANUP_FREE uint8_t *text = NULL;
	const char *name;
	size_t len;
	int r = a ? 0 : error_set(e, ENOMEM, "out of memory");

	while (!r && (r = tar_next(a, &name, NULL, e)) > 0) {
		if (strcmp(name, "control")) {
			r = 0;
			continue;
		}
		r = unpack_entry(a, CONTROL_MAX, &text, &len, e);
		if (!r) {
			d->package = control_field((char *)text, "Package");
			d->version = control_field((char *)text, "Version");
		}
		break;
	}
	archive_read_free(a);
	return r < 0 ? r : 0;
}

static bool is_kernel(const char *name)
{
	return !fnmatch("boot/vmlinuz-*", name, FNM_PATHNAME) ||
	       !fnmatch("lib/modules/*/vmlinuz", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/modules/*/vmlinuz", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/kernel/vmlinuz*", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/kernel/*/vmlinuz*", name, FNM_PATHNAME);
}

static bool is_config(const char *name)
{
	return !fnmatch("boot/config-*", name, FNM_PATHNAME) ||
	       !fnmatch("lib/modules/*/config", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/modules/*/config", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/kernel/config*", name, FNM_PATHNAME) ||
	       !fnmatch("usr/lib/kernel/*/config*", name, FNM_PATHNAME);
}

/* Stops as soon as both are found: behind them stand hundreds of MB of modules. */
static int read_tree(const struct member *m, size_t max, struct deb *d, struct error *e)
{
	struct archive *a = tar_open(m);
	const char *name;
	uint8_t *text;
	size_t len;
	int r = a ? 1 : error_set(e, ENOMEM, "out of memory");

	while (r > 0 && !(d->kernel && d->config)) {
		r = tar_next(a, &name, NULL, e);
		if (r <= 0)
			break;
		if (!d->kernel && is_kernel(name)) {
			d->kernel_name = mem_strdup(name);
			r = unpack_entry(a, max, &d->kernel, &d->kernel_len, e);
			if (r < 0)
				error_prefix(e, "%s", d->kernel_name);
			else
				r = 1;
		} else if (!d->config && is_config(name)) {
			r = unpack_entry(a, KCONFIG_MAX, &text, &len, e);
			if (!r) {
				d->config = (char *)text;
				r = 1;
			}
		}
	}
	archive_read_free(a);
	return r < 0 ? r : 0;
}

int deb_read(const uint8_t *data, size_t len, size_t max, struct deb *ret_deb, struct error *e)
{
	struct member control = { NULL, 0 }, tree = { NULL, 0 };
	int r;

	*ret_deb = (struct deb){ .kernel = NULL };
	if (!deb_is(data, len))
		return error_set(e, EINVAL, "not a Debian package");
	r = find_members(data, len, &control, &tree, e);
	if (!r)
		r = read_control(&control, ret_deb, e);
	if (!r)
		r = read_tree(&tree, max, ret_deb, e);
	if (!r && !ret_deb->kernel)
		r = error_set(e, EINVAL,
			      "package %s holds no kernel (no boot/vmlinuz-*): a meta or debug "
			      "package? Take linux-image-RELEASE",
			      ret_deb->package ? ret_deb->package : "without a name");
	if (r < 0)
		deb_done(ret_deb);
	return r;
}

void deb_done(struct deb *deb)
{
	if (!deb)
		return;
	free(deb->package);
	free(deb->version);
	free(deb->kernel_name);
	free(deb->kernel);
	free(deb->config);
	*deb = (struct deb){ .kernel = NULL };
}

int deb_visit(const uint8_t *data, size_t len, const struct deb_visitor *v, struct error *e)
{
	struct member control = { NULL, 0 }, tree = { NULL, 0 };
	struct archive *a;
	const char *name;
	uint64_t size;
	int r;

	if (!deb_is(data, len))
		return error_set(e, EINVAL, "not a Debian package");
	r = find_members(data, len, &control, &tree, e);
	if (r < 0)
		return r;
	a = tar_open(&tree);
	r = a ? 0 : error_set(e, ENOMEM, "out of memory");
	while (!r && (r = tar_next(a, &name, &size, e)) > 0) {
		CLEANUP_FREE uint8_t *file = NULL;
		CLEANUP_FREE char *copy = NULL;
		size_t n;

		r = 0;
		if (!v->want(v->arg, name, size))
			continue;
		copy = mem_strdup(name);
		r = unpack_entry(a, v->max, &file, &n, e);
		if (r < 0)
			error_prefix(e, "%s", copy);
		else
			r = v->take(v->arg, copy, &file, n, e);
	}
	archive_read_free(a);
	return r < 0 ? r : 0;
}
