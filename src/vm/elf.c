/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

static int elf_header(const unsigned char *p, size_t len, const char *name, Elf64_Ehdr *ret,
		      struct error *e)
{
	if (len < sizeof(*ret) || memcmp(p, ELFMAG, SELFMAG))
		return error_set(e, ENOEXEC, "%s: not an ELF program", name);
	memcpy(ret, p, sizeof(*ret));
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->e_machine != EM_X86_64)
		return error_set(e, ENOEXEC, "%s: not an x86-64 program, cannot run in a guest",
				 name);
	if (ret->e_type != ET_EXEC && ret->e_type != ET_DYN)
		return error_set(e, ENOEXEC, "%s: not an executable", name);
	if (!ret->e_phnum || ret->e_phentsize != sizeof(Elf64_Phdr) || ret->e_phoff > len ||
	    (len - ret->e_phoff) / sizeof(Elf64_Phdr) < ret->e_phnum)
		return error_set(e, ENOEXEC, "%s: truncated, or no executable", name);
	return 0;
}

static void elf_interp(const unsigned char *text, size_t len, struct elf *ret)
{
	ret->dynamic = true;
	if (len && len <= sizeof(ret->interp) && !text[len - 1] && text[0] == '/')
		memcpy(ret->interp, text, len);
}

int elf_read(const void *data, size_t len, const char *name, struct elf *ret, struct error *e)
{
	const unsigned char *p = data;
	Elf64_Ehdr eh;
	size_t i;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = elf_header(p, len, name, &eh, e);
	for (i = 0; !r && i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, p + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type != PT_LOAD && ph.p_type != PT_INTERP && ph.p_type != PT_NOTE)
			continue;
		if (ph.p_offset > len || ph.p_filesz > len - ph.p_offset)
			r = error_set(e, ENOEXEC, "%s: truncated", name);
		else if (ph.p_type == PT_INTERP)
			elf_interp(p + ph.p_offset, ph.p_filesz, ret);
		else if (ph.p_type == PT_NOTE && !*ret->build_id &&
			 id_build_from_notes(p + ph.p_offset, ph.p_filesz, ret->build_id) < 0)
			*ret->build_id = '\0';
	}
	return r;
}
