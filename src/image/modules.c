/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/image.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/deb.h"
#include "image/modinfo.h"
#include "image/unpack.h"

#define PACKAGE_MAX ((size_t)1 << 30)
#define MODULE_MAX  ((size_t)512 << 20) /* with all debugging data, the largest have 300 MiB */
#define LIST_MAX    ((size_t)16 << 20)
#define MODULES_MAX 4096u /* in one answer */
#define LISTED	    "modules.builtin"
/*
 * Which modules of a package are needed is known only when all have been seen, and to unpack it
 * again takes seconds. So small ones, as most are, are kept meanwhile.
 */
#define SPARE_SIZE  (256u << 10)
#define SPARES_SIZE (128u << 20) /* all together */

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

struct module {
	char *name;
	const char *by; /* the name of the first one that needs it; NULL: wanted */
	uint8_t *data;	/* NULL: not found (yet) */
	size_t len;
	char **needs; /* names */
	size_t n_needs;
	bool read; /* needs are known */
	enum mark mark;
};

struct names {
	char **list;
	size_t n, cap;
};

struct spare {
	char *path;
	uint8_t *data;
	size_t len;
};

struct graph {
	const struct image *image;
	struct module *m;
	size_t n, cap;
	struct names builtin;
	bool have_builtin, have_modules; /* the list was read; there is any module at all */
	uint8_t *package;		 /* of IMAGE_MODULES_DEB */
	size_t package_len;
	struct spare *spares;
	size_t n_spares, spares_cap, spares_bytes;
	bool passed;	    /* all of the package was seen */
	struct names paths; /* of the others */
};

/* ---- names ---- */

static void to_module_name(char *s)
{
	for (; *s; s++)
		if (*s == '-')
			*s = '_';
}

static void names_add_take(struct names *to, char *name)
{
	to->list = mem_grow(to->list, to->n, &to->cap, sizeof(*to->list));
	to->list[to->n++] = name;
}

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}

/* "virtio_rng" of ".../virtio-rng.ko.xz", with what stands behind ".ko"; NULL for other files. */
static char *module_of(const char *path, const char **ret_suffix)
{
	static const char *const suffixes[] = { ".ko", ".ko.xz", ".ko.zst", ".ko.gz" };
	const char *base = strrchr(path, '/');
	char *name;

	base = base ? base + 1 : path;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!str_ends(base, suffixes[i]) || strlen(base) == strlen(suffixes[i]))
			continue;
		if (ret_suffix)
			*ret_suffix = suffixes[i] + strlen(".ko");
		name = mem_strndup(base, strlen(base) - strlen(suffixes[i]));
		to_module_name(name);
		return name;
	}
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_builtin(const struct graph *g, const char *name)
{
	return g->builtin.n &&
	       bsearch(&name, g->builtin.list, g->builtin.n, sizeof(*g->builtin.list), by_name);
}

/* Lines "kernel/drivers/char/virtio_console.ko". */
static void read_builtin(struct graph *g, const char *text)
{
	struct names *b = &g->builtin;

	while (*text) {
		CLEANUP_FREE char *line = mem_strndup(text, strcspn(text, "\n"));
		char *name = module_of(str_trim(line), NULL);

		text += strcspn(text, "\n");
		text += *text == '\n';
		if (name)
			names_add_take(b, name);
	}
	if (b->n)
		qsort(b->list, b->n, sizeof(*b->list), by_name);
	g->have_builtin = true;
}

static struct module *find(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->m[i].name, name))
			return &g->m[i];
	return NULL;
}

/* `by` is borrowed. */
static int add(struct graph *g, const char *name, const char *by, struct error *e)
{
	CLEANUP_FREE char *own = mem_strdup(name);

	to_module_name(own);
	if (find(g, own))
		return 0;
	if (g->n == MODULES_MAX)
		return error_set(e, EINVAL, "more than %u modules are needed", MODULES_MAX);
	g->m = mem_grow(g->m, g->n, &g->cap, sizeof(*g->m));
	g->m[g->n++] = (struct module){ .name = own, .by = by };
	own = NULL;
	return 0;
}

/* ---- where they are read from ---- */

/* The module of that file, if it is one that is still looked for. */
static struct module *lacks(struct graph *g, const char *path, const char **ret_suffix)
{
	CLEANUP_FREE char *name = module_of(path, ret_suffix);
	struct module *m;

	if (!name)
		return NULL;
	g->have_modules = true;
	m = find(g, name);
	return m && !m->data ? m : NULL;
}

static bool lacks_any(const struct graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->m[i].data && !is_builtin(g, g->m[i].name))
			return true;
	return false;
}

/* Takes *data. */
static int give(struct module *m, const char *suffix, const char *path, uint8_t **data, size_t len,
		struct error *e)
{
	int r = 0;

	if (*suffix) {
		r = unpack_stream(*data, len, MODULE_MAX, &m->data, &m->len, e);
	} else {
		m->data = *data;
		m->len = len;
		*data = NULL;
	}
	return r < 0 ? error_prefix(e, "%s", path) : 0;
}

/* What stands behind [usr/]lib/modules/RELEASE/ in a package; NULL elsewhere. */
static const char *in_modules(const struct graph *g, const char *name)
{
	size_t n = strlen(g->image->release);

	if (str_starts(name, "usr/"))
		name += strlen("usr/");
	if (!str_starts(name, "lib/modules/"))
		return NULL;
	name += strlen("lib/modules/");
	return !strncmp(name, g->image->release, n) && name[n] == '/' ? name + n + 1 : NULL;
}

static bool deb_want(void *arg, const char *name, uint64_t size)
{
	struct graph *g = arg;
	const char *suffix;
	struct module *m;

	name = in_modules(g, name);
	if (!name)
		return false;
	if (!strcmp(name, LISTED))
		return !g->have_builtin;
	if (!str_starts(name, "kernel/"))
		return false;
	m = lacks(g, name, &suffix);
	if (m)
		return !is_builtin(g, m->name);
	return !g->passed && size <= SPARE_SIZE;
}

static void keep(struct graph *g, const char *path, uint8_t **data, size_t len)
{
	if (len > SPARES_SIZE - g->spares_bytes)
		return;
	g->spares_bytes += len;
	g->spares = mem_grow(g->spares, g->n_spares, &g->spares_cap, sizeof(*g->spares));
	g->spares[g->n_spares++] = (struct spare){ mem_strdup(path), *data, len };
	*data = NULL;
}

static int deb_take(void *arg, const char *name, uint8_t **data, size_t len, struct error *e)
{
	struct graph *g = arg;
	const char *at = in_modules(g, name), *suffix;
	struct module *m;
	int r = 0;

	if (!strcmp(at, LISTED)) {
		read_builtin(g, (const char *)*data);
	} else {
		m = lacks(g, at, &suffix);
		if (m)
			r = give(m, suffix, name, data, len, e);
		else
			keep(g, name, data, len);
	}
	return r ? r : g->passed && !lacks_any(g);
}

static int open_deb(struct graph *g, struct error *e)
{
	char *data;
	int r;

	if (lseek(g->image->modules_fd, 0, SEEK_SET) < 0)
		return error_errno(e, errno, "cannot read it again");
	r = file_read_fd(g->image->modules_fd, "reading it again", PACKAGE_MAX, &data,
			 &g->package_len, e);
	if (!r)
		g->package = (uint8_t *)data;
	return r;
}

/* modules.order names what was built: "kernel/fs/x.ko", "fs/x.ko" or (since 6.2) "fs/x.o". */
static void tree_paths(struct graph *g, const char *order)
{
	while (*order) {
		CLEANUP_FREE char *line = mem_strndup(order, strcspn(order, "\n"));
		char *at = str_trim(line);

		order += strcspn(order, "\n");
		order += *order == '\n';
		if (str_starts(at, "kernel/"))
			at += strlen("kernel/");
		if (str_ends(at, ".o"))
			names_add_take(&g->paths, mem_printf("%s/%.*s.ko", g->image->modules,
							     (int)strlen(at) - 2, at));
		else if (*at)
			names_add_take(&g->paths, mem_printf("%s/%s", g->image->modules, at));
	}
}

static int folder_paths(struct graph *g, struct error *e)
{
	CLEANUP_FREE char *top = mem_printf("%s/kernel", g->image->modules);
	char *const tops[] = { top, NULL };
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int r = 0;

	if (!walk)
		return error_errno(e, errno, "%s", top);
	while ((entry = fts_read(walk))) {
		if (entry->fts_info == FTS_F)
			names_add_take(&g->paths, mem_strdup(entry->fts_path));
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			r = error_errno(e, entry->fts_errno, "%s", entry->fts_path);
	}
	fts_close(walk);
	return r;
}

/* A list that is not there is empty: a kernel may have no modules, or all of them. */
static int read_list(const struct graph *g, const char *name, char **ret_text, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/%s", g->image->modules, name);
	struct error ours = ERROR_INIT;
	int r = file_read(path, LIST_MAX, ret_text, NULL, &ours);

	if (r == -ENOENT) {
		*ret_text = mem_strdup("");
		return 0;
	}
	return r < 0 ? error_set(e, -r, "%s", ours.text) : 0;
}

static int open_paths(struct graph *g, struct error *e)
{
	CLEANUP_FREE char *builtin = NULL, *order = NULL;
	int r = read_list(g, LISTED, &builtin, e);

	if (r < 0)
		return r;
	read_builtin(g, builtin);
	if (g->image->modules_in == IMAGE_MODULES_FOLDER)
		return folder_paths(g, e);
	r = read_list(g, "modules.order", &order, e);
	if (!r)
		tree_paths(g, order);
	return r;
}

static int pass_paths(struct graph *g, struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < g->paths.n && !r; i++) {
		const char *path = g->paths.list[i], *suffix;
		struct module *m = lacks(g, path, &suffix);
		CLEANUP_FREE uint8_t *data = NULL;
		char *text;
		size_t len;

		if (!m || is_builtin(g, m->name))
			continue;
		r = file_read(path, MODULE_MAX, &text, &len, e);
		/* Not the -ENOENT of a module that there never was. */
		if (r == -ENOENT)
			r = -EINVAL;
		if (r < 0)
			break;
		data = (uint8_t *)text;
		r = give(m, suffix, path, &data, len, e);
	}
	return r;
}

static int pass_deb(struct graph *g, struct error *e)
{
	const struct deb_visitor v = { deb_want, deb_take, g, MODULE_MAX };
	const char *suffix;
	int r = 0;

	for (size_t i = 0; i < g->n_spares && !r; i++) {
		struct spare *s = &g->spares[i];
		struct module *m = lacks(g, s->path, &suffix);

		if (m && s->data)
			r = give(m, suffix, s->path, &s->data, s->len, e);
	}
	if (!r && lacks_any(g)) {
		r = deb_visit(g->package, g->package_len, &v, e);
		g->passed = true;
	}
	return r;
}

/* ---- what needs what ---- */

static int not_there(const struct graph *g, const struct module *m, struct error *e)
{
	if (!g->have_modules)
		return error_set(e, m->by ? EINVAL : ENOENT,
				 "%s is not built in, and there are no modules of %s", m->name,
				 g->image->release);
	if (m->by)
		return error_set(e, EINVAL, "%s needs %s, which is neither there nor built in",
				 m->by, m->name);
	return error_set(e, ENOENT, "%s is neither among the modules of %s nor built in", m->name,
			 g->image->release);
}

static int check_release(const struct graph *g, const struct module *m, const char *vermagic,
			 struct error *e)
{
	size_t n = vermagic ? strcspn(vermagic, " ") : 0;

	if (!vermagic ||
	    (strlen(g->image->release) == n && !strncmp(vermagic, g->image->release, n)))
		return 0;
	return error_set(e, EINVAL,
			 "%s was built for %.*s, and the kernel is %s, which will not take it: "
			 "build kernel and modules together",
			 m->name, (int)n, vermagic, g->image->release);
}

/* Reads the modules that were found, and adds those that they need. */
static int expand(struct graph *g, struct error *e)
{
	size_t before = g->n;

	for (size_t i = 0; i < before; i++) {
		struct module *m = &g->m[i];
		struct modinfo info;
		char *next, *name;
		size_t cap = 0;
		int r;

		if (is_builtin(g, m->name) || m->read)
			continue;
		if (!m->data)
			return not_there(g, m, e);
		r = modinfo_read(m->data, m->len, &info, e);
		if (r < 0)
			return error_prefix(e, "%s", m->name);
		m->read = true;
		r = check_release(g, m, info.vermagic, e);
		for (next = info.depends; !r && (name = strsep(&next, ","));) {
			if (!*name)
				continue;
			m = &g->m[i];
			m->needs = mem_grow(m->needs, m->n_needs, &cap, sizeof(*m->needs));
			m->needs[m->n_needs] = mem_strdup(name);
			to_module_name(m->needs[m->n_needs++]);
			r = add(g, name, m->name, e);
		}
		modinfo_done(&info);
		if (r < 0)
			return r;
	}
	return 0;
}

struct order {
	struct graph *g;
	struct image_module *list;
	size_t n;
};

/* Depth first: what it needs, then itself. The depth is bounded by MODULES_MAX. */
static int put(struct order *o, struct module *m, struct error *e)
{
	int r = 0;

	if (m->mark == MARK_DONE || is_builtin(o->g, m->name))
		return 0;
	if (m->mark == MARK_OPEN)
		return error_set(e, EINVAL, "modules need each other in a ring: %s", m->name);
	m->mark = MARK_OPEN;
	for (size_t i = 0; i < m->n_needs && !r; i++)
		r = put(o, find(o->g, m->needs[i]), e);
	if (r < 0) {
		CLEANUP_FREE char *ring = mem_printf(", needed by %s", m->name);

		if (e && strlen(e->text) + strlen(ring) < sizeof(e->text) / 2)
			strcat(e->text, ring);
		return r;
	}
	m->mark = MARK_DONE;
	o->list[o->n++] = (struct image_module){ mem_strdup(m->name), m->data, m->len };
	m->data = NULL;
	return 0;
}

/* A pass for each level of dependencies. */
static int gather(struct graph *g, struct error *e)
{
	bool deb = g->image->modules_in == IMAGE_MODULES_DEB;
	int r = deb ? open_deb(g, e) : open_paths(g, e);
	size_t before;

	do {
		before = g->n;
		if (!r)
			r = deb ? pass_deb(g, e) : pass_paths(g, e);
		if (!r)
			r = expand(g, e);
	} while (!r && g->n > before);
	return r;
}

static void graph_done(struct graph *g)
{
	for (size_t i = 0; i < g->n; i++) {
		for (size_t k = 0; k < g->m[i].n_needs; k++)
			free(g->m[i].needs[k]);
		free(g->m[i].needs);
		free(g->m[i].name);
		free(g->m[i].data);
	}
	free(g->m);
	free(g->package);
	for (size_t i = 0; i < g->n_spares; i++) {
		free(g->spares[i].path);
		free(g->spares[i].data);
	}
	free(g->spares);
	names_done(&g->builtin);
	names_done(&g->paths);
}

int image_modules(const struct image *image, const char *const *wanted,
		  struct image_module **ret_list, size_t *ret_n, struct error *e)
{
	struct graph g = { .image = image };
	struct order o = { .g = &g };
	int r = 0;

	for (size_t i = 0; wanted[i] && !r; i++)
		r = add(&g, wanted[i], NULL, e);
	if (!r && g.n && image->modules_in == IMAGE_MODULES_NONE)
		r = error_set(
			e, ENOENT,
			"the modules of a kernel that was given alone are not known: give its "
			".deb, its build tree, or installed:%s",
			image->release);
	if (!r && g.n)
		r = gather(&g, e);
	o.list = mem_array(g.n + 1, sizeof(*o.list));
	for (size_t i = 0; i < g.n && !r; i++)
		r = put(&o, &g.m[i], e);
	if (r < 0) {
		error_prefix(e, "modules of %s",
			     image->modules ? image->modules : image->source_text);
		image_modules_free(o.list, o.n);
	} else {
		*ret_list = o.list;
		*ret_n = o.n;
	}
	graph_done(&g);
	return r;
}

void image_modules_free(struct image_module *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].name);
		free(list[i].data);
	}
	free(list);
}
