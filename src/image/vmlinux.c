/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/vmlinux.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"

#define NOTE_XEN_PHYS32_ENTRY 18u
#define SEGMENTS_MAX	      64u /* a kernel has about 5 */
#define BANNER_MAX	      1024u
#define NOTES_MAX	      (1u << 20) /* the kernel's notes are a few hundred bytes */

bool vmlinux_is(const uint8_t *data, size_t len)
{
	return len >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
}

static char *printable(const char *s, size_t n)
{
	char *copy = mem_strndup(s, n);

	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return copy;
}

bool vmlinux_split_banner(const char *text, size_t len, char **ret_release, char **ret_version)
{
	const char *space, *mark = NULL;
	size_t i;

	len = strnlen(text, len);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	space = memchr(text, ' ', len);
	if (!space || space == text || !isdigit((unsigned char)text[0]) || space - text > 64)
		return false;
	/* The last " #N": a builder's name may hold '#', the version behind it does not. */
	for (i = (size_t)(space - text); i + 2 < len; i++)
		if (text[i] == ' ' && text[i + 1] == '#' && isdigit((unsigned char)text[i + 2]))
			mark = text + i + 1;
	*ret_release = printable(text, (size_t)(space - text));
	*ret_version = mark ? printable(mark, len - (size_t)(mark - text)) : NULL;
	return true;
}

static bool find_banner(const uint8_t *data, size_t len, struct vmlinux *v)
{
	static const char start[] = "Linux version ";
	const size_t n = sizeof(start) - 1;
	const uint8_t *at = data;

	/* The format string "%s version %s" and messages that quote the words do not split. */
	while ((at = memmem(at, len - (size_t)(at - data), start, n))) {
		size_t left = len - (size_t)(at - data) - n;
		const char *text = (const char *)at + n;
		size_t line = left < BANNER_MAX ? left : BANNER_MAX;
		const char *end = memchr(text, '\n', line);

		if (end &&
		    vmlinux_split_banner(text, (size_t)(end - text), &v->release, &v->version)) {
			if (v->version)
				return true;
			free(v->release);
			v->release = NULL;
		}
		at += n;
	}
	return false;
}

/* Walks notes (elf(5), Nhdr; fields aligned to 4) for Xen's entry point. */
static bool notes_have_pvh(const uint8_t *p, size_t len)
{
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t name, desc;

		memcpy(&h, p + at, sizeof(h));
		at += sizeof(h);
		name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)h.n_descsz + 3) & ~(size_t)3;
		if (name > len - at || desc > len - at - name)
			return false;
		if (h.n_type == NOTE_XEN_PHYS32_ENTRY && h.n_namesz == 4 &&
		    !memcmp(p + at, "Xen", 4) && h.n_descsz >= 4)
			return true;
		at += name + desc;
	}
	return false;
}

static bool segment(const uint8_t *data, size_t len, const Elf64_Ehdr *eh, size_t i,
		    Elf64_Phdr *ret_ph)
{
	size_t at = i * sizeof(*ret_ph);

	if (i >= eh->e_phnum || i >= SEGMENTS_MAX || eh->e_phoff > len ||
	    at + sizeof(*ret_ph) > len - eh->e_phoff)
		return false;
	memcpy(ret_ph, data + eh->e_phoff + at, sizeof(*ret_ph));
	return true;
}

static int check_segments(const uint8_t *data, size_t len, const Elf64_Ehdr *eh, struct error *e)
{
	Elf64_Phdr ph;

	for (size_t i = 0; segment(data, len, eh, i, &ph); i++) {
		/* A program may quote a banner, but a kernel asks for no dynamic linker. */
		if (ph.p_type == PT_INTERP)
			return error_set(e, EINVAL, "an ELF file, but a program and no kernel");
		if (ph.p_offset > len || ph.p_filesz > len - ph.p_offset)
			return error_set(e, EINVAL,
					 "an ELF file cut short (%zu bytes): copy or build it "
					 "again",
					 len);
	}
	return 0;
}

static void read_notes(const uint8_t *data, size_t len, const Elf64_Ehdr *eh, struct vmlinux *v)
{
	char id[ID_BUILD_SIZE];
	Elf64_Phdr ph;
	size_t i, size;

	for (i = 0; segment(data, len, eh, i, &ph); i++) {
		if (ph.p_type != PT_NOTE)
			continue;
		size = ph.p_filesz < NOTES_MAX ? ph.p_filesz : NOTES_MAX;
		if (!v->build_id && !id_build_from_notes(data + ph.p_offset, size, id))
			v->build_id = mem_strdup(id);
		v->pvh |= notes_have_pvh(data + ph.p_offset, size);
	}
}

int vmlinux_parse(const uint8_t *data, size_t len, struct vmlinux *ret_vmlinux, struct error *e)
{
	Elf64_Ehdr eh;
	int r;

	*ret_vmlinux = (struct vmlinux){ .pvh = false };
	if (!vmlinux_is(data, len))
		return error_set(e, EINVAL, "not an ELF file");
	if (len < sizeof(eh))
		return error_set(e, EINVAL, "an ELF file cut short");
	memcpy(&eh, data, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != EM_X86_64)
		return error_set(e, EINVAL, "an ELF file for another machine than x86-64");
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return error_set(e, EINVAL, "an ELF file, but no executable one: a module?");
	if (eh.e_phentsize != sizeof(Elf64_Phdr))
		return error_set(e, EINVAL, "an ELF file with a damaged header");
	r = check_segments(data, len, &eh, e);
	if (r < 0)
		return r;
	if (!find_banner(data, len, ret_vmlinux))
		return error_set(e, EINVAL, "an ELF file without \"Linux version\": no kernel");
	read_notes(data, len, &eh, ret_vmlinux);
	return 0;
}

void vmlinux_done(struct vmlinux *vmlinux)
{
	if (!vmlinux)
		return;
	free(vmlinux->release);
	free(vmlinux->version);
	free(vmlinux->build_id);
	*vmlinux = (struct vmlinux){ .pvh = false };
}
