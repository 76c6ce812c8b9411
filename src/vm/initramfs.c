/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "vm/vm.h"

#define AGENT_MAX (256u << 20)

struct node {
	const char *path;
	unsigned type, perm;
	unsigned major, minor;
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

static int archive_add(struct archive *a, const struct node *n, unsigned ino, const void *data,
		       size_t len, struct error *e)
{
	struct archive_entry *entry = archive_entry_new();
	int r = 0;

	if (!entry)
		return error_set(e, ENOMEM, "initramfs: %s: out of memory", n->path);
	archive_entry_set_pathname(entry, n->path);
	archive_entry_set_filetype(entry, n->type);
	archive_entry_set_perm(entry, n->perm);
	/* Without a size the entry is dropped, without an error, whatever its type. */
	archive_entry_set_size(entry, (la_int64_t)len);
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
	else if (len && archive_write_data(a, data, len) != (la_ssize_t)len)
		r = archive_error(a, n->path, e);
	else if (archive_write_finish_entry(a) != ARCHIVE_OK)
		r = archive_error(a, n->path, e);
	archive_entry_free(entry);
	return r;
}

/* All nodes; the bytes belong to the one regular file among them. */
static int archive_build(const struct node *nodes, size_t n, const void *data, size_t len,
			 void **ret, size_t *ret_len, struct error *e)
{
	struct archive *a = archive_write_new();
	struct str out = STR_INIT;
	size_t i;
	int r;

	if (!a)
		return error_set(e, ENOMEM, "initramfs: out of memory");
	r = archive_begin(a, &out, e);
	for (i = 0; !r && i < n; i++) {
		bool file = nodes[i].type == AE_IFREG;

		r = archive_add(a, &nodes[i], (unsigned)i + 1, data, file ? len : 0, e);
	}
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

int initramfs_check_agent(const void *data, size_t len, const char *name, struct error *e)
{
	const unsigned char *p = data;
	Elf64_Ehdr eh;
	size_t i;

	if (len < sizeof(eh) || memcmp(p, ELFMAG, SELFMAG))
		return error_set(e, ENOEXEC, "%s: not an ELF program", name);
	memcpy(&eh, p, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64)
		return error_set(e, ENOEXEC, "%s: not an x86-64 program, cannot be a guest's init",
				 name);
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return error_set(e, ENOEXEC, "%s: not an executable", name);
	if (!eh.e_phnum || eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phoff > len ||
	    (len - eh.e_phoff) / sizeof(Elf64_Phdr) < eh.e_phnum)
		return error_set(e, ENOEXEC, "%s: truncated, or no executable", name);
	for (i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, p + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return error_set(e, ENOEXEC,
					 "%s: dynamically linked; a guest has no libraries: "
					 "link the agent with -static",
					 name);
		if (ph.p_type == PT_LOAD && (ph.p_offset > len || ph.p_filesz > len - ph.p_offset))
			return error_set(e, ENOEXEC, "%s: truncated", name);
	}
	return 0;
}

int vm_initrd_base(const char *agent_path, void **ret, size_t *ret_len, struct error *e)
{
	static const struct node nodes[] = {
		{ "dev", AE_IFDIR, 0755, 0, 0 },      { "dev/console", AE_IFCHR, 0600, 5, 1 },
		{ "dev/null", AE_IFCHR, 0666, 1, 3 }, { "proc", AE_IFDIR, 0555, 0, 0 },
		{ "sys", AE_IFDIR, 0555, 0, 0 },      { "tmp", AE_IFDIR, 01777, 0, 0 },
		{ "kdelta", AE_IFDIR, 0755, 0, 0 },   { "init", AE_IFREG, 0755, 0, 0 },
	};
	CLEANUP_FREE char *agent = NULL;
	size_t len = 0;
	int r;

	r = file_read(agent_path, AGENT_MAX, &agent, &len, e);
	if (r < 0)
		return r;
	r = initramfs_check_agent(agent, len, agent_path, e);
	if (r < 0)
		return r;
	return archive_build(nodes, ARRAY_SIZE(nodes), agent, len, ret, ret_len, e);
}

int initramfs_plan(const char *plan_json, void **ret, size_t *ret_len, struct error *e)
{
	static const struct node node = { &VM_PLAN_PATH[1], AE_IFREG, 0644, 0, 0 };

	return archive_build(&node, 1, plan_json, strlen(plan_json), ret, ret_len, e);
}
