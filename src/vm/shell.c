/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "vm/elf.h"
#include "vm/vm.h"

#define SHELL_FILE_MAX	(64u << 20)
#define SHELL_FILES_MAX 64u
#define LIST_TIMEOUT_NS (10 * NSEC_PER_SEC)

int shell_libraries(const char *text, int (*add)(void *arg, const char *path, struct error *e),
		    void *arg, struct error *e)
{
	static const char arrow[] = " => ";
	const char *next;
	int r = 0;

	for (; *text && !r; text = next) {
		size_t len = strcspn(text, "\n");
		CLEANUP_FREE char *line = mem_strndup(text, len);
		char *s = str_trim(line), *to = strstr(s, arrow), *end;

		next = text + len + (text[len] == '\n');
		if (to && str_starts(to + sizeof(arrow) - 1, "not found"))
			return error_set(e, ELIBACC, "%.*s: not found", (int)(to - s), s);
		if (to)
			s = to + sizeof(arrow) - 1;
		end = strstr(s, " (0x");
		if (*s != '/' || !end)
			continue;
		*end = '\0';
		r = add(arg, s, e);
	}
	return r;
}

/* Reads one file, once; an ELF file whatever it is. */
static int shell_add(void *arg, const char *path, struct error *e)
{
	struct vm_shell *sh = arg;
	struct elf elf;
	char *data;
	size_t i, len;
	int r;

	for (i = 0; i < sh->n; i++)
		if (str_eq(sh->files[i].path, path))
			return 0;
	if (sh->n == SHELL_FILES_MAX)
		return error_set(e, E2BIG, "linked with more than %u files", SHELL_FILES_MAX);
	r = file_read(path, SHELL_FILE_MAX, &data, &len, e);
	if (r < 0)
		return r;
	sh->files = mem_grow(sh->files, sh->n, &sh->cap, sizeof(*sh->files));
	sh->files[sh->n++] = (struct vm_file){
		.path = mem_strdup(path), .perm = 0755, .data = data, .len = len
	};
	r = elf_read(data, len, path, &elf, e);
	if (!r) {
		char *old = sh->build_id;

		sh->build_id = mem_printf("%s%s%s", old ? old : "", old ? "+" : "",
					  *elf.build_id ? elf.build_id : "?");
		free(old);
	}
	return r;
}

static int shell_linked(struct vm_shell *sh, const char *interp, const char *path, struct error *e)
{
	/* What a user preloads is not linked with the shell. */
	static const char *const env[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", NULL };
	const char *const argv[] = { interp, "--list", path, NULL };
	const struct proc_opts opts = { .env = env,
					.max_output = 65536,
					.timeout_ns = LIST_TIMEOUT_NS };
	struct proc_result out;
	int r = proc_run_ok(argv, &opts, &out, e);

	if (!r)
		r = shell_libraries(out.out, shell_add, sh, e);
	if (!r)
		r = shell_add(sh, interp, e);
	proc_result_done(&out);
	return r;
}

int vm_shell_read(const char *path, struct vm_shell *ret, struct error *e)
{
	struct elf elf;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = shell_add(ret, path, e);
	if (!r)
		r = elf_read(ret->files[0].data, ret->files[0].len, path, &elf, e);
	if (!r && elf.dynamic && !*elf.interp)
		r = error_set(e, ENOEXEC, "names no dynamic linker that could be used");
	if (!r && elf.dynamic)
		r = shell_linked(ret, elf.interp, path, e);
	if (r < 0)
		error_prefix(e, "a shell for the guest, %s", path);
	return r;
}

void vm_shell_done(struct vm_shell *shell)
{
	size_t i;

	if (!shell)
		return;
	for (i = 0; i < shell->n; i++) {
		free(shell->files[i].path);
		free(shell->files[i].data);
	}
	free(shell->files);
	free(shell->build_id);
	memset(shell, 0, sizeof(*shell));
}
