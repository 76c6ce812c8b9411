/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "vm/elf.h"
#include "vm/vm.h"

#define AGENT_MAX (256u << 20)

struct node {
	const char *path; /* without the first slash */
	unsigned type, perm;
	unsigned major, minor;
	const void *data; /* of a file */
	size_t len;
};

struct nodes {
	struct node *items;
	size_t n, cap;
};

static la_ssize_t write_cb(struct archive *a, void *arg, const void *data, size_t len)
{
	(void)a;
	str_add_n(arg, data, len);
	return (la_ssize_t)len;
}

static int archive_error(struct archive *a, const char *what, struct error *e)
{
	const char *s = archive_error_string(a);

	return error_set(e, EIO, "initramfs: %s: %s", what, s ? s : "unknown error");
}

static int archive_begin(struct archive *a, struct str *out, struct error *e)
{
	/* Blocks of 512: what follows must be aligned to 4, and zeros between archives are skipped.
	 */
	if (archive_write_set_format_cpio_newc(a) != ARCHIVE_OK ||
	    archive_write_add_filter_none(a) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(a, 512) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(a, 512) != ARCHIVE_OK ||
	    archive_write_open(a, out, NULL, write_cb, NULL) != ARCHIVE_OK)
		return archive_error(a, "cannot begin", e);
	return 0;
}

static int archive_add(struct archive *a, const struct node *n, unsigned ino, struct error *e)
{
	struct archive_entry *entry = archive_entry_new();
	int r = 0;

	if (!entry)
		return error_set(e, ENOMEM, "initramfs: %s: out of memory", n->path);
	archive_entry_set_pathname(entry, n->path);
	archive_entry_set_filetype(entry, n->type);
	archive_entry_set_perm(entry, n->perm);
	/* Without a size the entry is dropped, without an error, whatever its type. */
	archive_entry_set_size(entry, (la_int64_t)n->len);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_set_ino(entry, ino);
	archive_entry_set_nlink(entry, n->type == AE_IFDIR ? 2 : 1);
	if (n->type == AE_IFCHR) {
		archive_entry_set_rdevmajor(entry, n->major);
		archive_entry_set_rdevminor(entry, n->minor);
	}
	if (archive_write_header(a, entry) != ARCHIVE_OK)
		r = archive_error(a, n->path, e);
	else if (n->len && archive_write_data(a, n->data, n->len) != (la_ssize_t)n->len)
		r = archive_error(a, n->path, e);
	else if (archive_write_finish_entry(a) != ARCHIVE_OK)
		r = archive_error(a, n->path, e);
	archive_entry_free(entry);
	return r;
}

static int archive_build(const struct nodes *nodes, void **ret, size_t *ret_len, struct error *e)
{
	struct archive *a = archive_write_new();
	struct str out = STR_INIT;
	size_t i;
	int r;

	if (!a)
		return error_set(e, ENOMEM, "initramfs: out of memory");
	r = archive_begin(a, &out, e);
	for (i = 0; !r && i < nodes->n; i++)
		r = archive_add(a, &nodes->items[i], (unsigned)i + 1, e);
	if (!r && archive_write_close(a) != ARCHIVE_OK)
		r = archive_error(a, "cannot end", e);
	archive_write_free(a);
	if (!r) {
		*ret_len = out.len;
		*ret = str_take(&out);
	}
	str_done(&out);
	return r;
}

static void nodes_add(struct nodes *l, const struct node *n)
{
	l->items = mem_grow(l->items, l->n, &l->cap, sizeof(*l->items));
	l->items[l->n++] = *n;
}

static bool nodes_have(const struct nodes *l, const char *path)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (str_eq(l->items[i].path, path))
			return true;
	return false;
}

/* The folders on the way to a file, those first that are above; the kernel makes none itself. */
static void nodes_add_parents(struct nodes *l, const char *path, struct arena *a)
{
	const char *slash;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct node n = { .type = AE_IFDIR, .perm = 0755 };

		n.path = arena_strndup(a, path, (size_t)(slash - path));
		if (!nodes_have(l, n.path))
			nodes_add(l, &n);
	}
}

static void nodes_add_file(struct nodes *l, const char *path, unsigned perm, const void *data,
			   size_t len, struct arena *a)
{
	struct node n = { .path = path, .type = AE_IFREG, .perm = perm, .data = data, .len = len };

	nodes_add_parents(l, path, a);
	nodes_add(l, &n);
}

int initramfs_check_agent(const void *data, size_t len, const char *name, struct error *e)
{
	struct elf elf;
	int r = elf_read(data, len, name, &elf, e);

	if (!r && elf.dynamic)
		r = error_set(e, ENOEXEC,
			      "%s: dynamically linked; a guest has no libraries: link the agent "
			      "with -static",
			      name);
	return r;
}

int vm_initrd_base(const char *agent_path, const struct vm_file *files, size_t n_files, void **ret,
		   size_t *ret_len, struct error *e)
{
	static const struct node fixed[] = {
		{ "dev", AE_IFDIR, 0755, 0, 0, NULL, 0 },
		{ "dev/console", AE_IFCHR, 0600, 5, 1, NULL, 0 },
		{ "dev/null", AE_IFCHR, 0666, 1, 3, NULL, 0 },
		{ "proc", AE_IFDIR, 0555, 0, 0, NULL, 0 },
		{ "sys", AE_IFDIR, 0555, 0, 0, NULL, 0 },
		{ "tmp", AE_IFDIR, 01777, 0, 0, NULL, 0 },
		{ "kdelta", AE_IFDIR, 0755, 0, 0, NULL, 0 },
	};
	CLEANUP_FREE char *agent = NULL;
	struct arena arena = ARENA_INIT;
	struct nodes nodes = { NULL, 0, 0 };
	size_t i, len = 0;
	int r;

	r = file_read(agent_path, AGENT_MAX, &agent, &len, e);
	if (r < 0)
		return r;
	r = initramfs_check_agent(agent, len, agent_path, e);
	if (r < 0)
		return r;
	for (i = 0; i < ARRAY_SIZE(fixed); i++)
		nodes_add(&nodes, &fixed[i]);
	nodes_add_file(&nodes, "init", 0755, agent, len, &arena);
	for (i = 0; i < n_files; i++)
		nodes_add_file(&nodes, files[i].path + strspn(files[i].path, "/"), files[i].perm,
			       files[i].data, files[i].len, &arena);
	r = archive_build(&nodes, ret, ret_len, e);
	free(nodes.items);
	arena_done(&arena);
	return r;
}

int initramfs_boot(const struct vm_config *cfg, void **ret, size_t *ret_len, struct error *e)
{
	struct arena arena = ARENA_INIT;
	struct nodes nodes = { NULL, 0, 0 };
	struct node plan = { .path = &VM_PLAN_PATH[1], .type = AE_IFREG, .perm = 0644 };
	size_t i;
	int r;

	/* Its folder is in the base. */
	plan.data = cfg->plan_json;
	plan.len = strlen(cfg->plan_json);
	nodes_add(&nodes, &plan);
	for (i = 0; i < cfg->n_modules; i++) {
		const struct vm_module *m = &cfg->modules[i];
		const char *path =
			arena_printf(&arena, "%s/%02zu-%s.ko", &VM_MODULES_PATH[1], i + 1, m->name);

		nodes_add_file(&nodes, path, 0644, m->data, m->len, &arena);
	}
	r = archive_build(&nodes, ret, ret_len, e);
	free(nodes.items);
	arena_done(&arena);
	return r;
}
