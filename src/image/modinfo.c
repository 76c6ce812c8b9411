/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/modinfo.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct section {
	const uint8_t *data;
	size_t len;
};

static void section_header(const uint8_t *data, const Elf64_Ehdr *eh, size_t i, Elf64_Shdr *ret)
{
	memcpy(ret, data + eh->e_shoff + i * sizeof(*ret), sizeof(*ret));
}

/* False for one that lies outside of the file. */
static bool section_bytes(const uint8_t *data, size_t len, const Elf64_Shdr *sh,
			  struct section *ret)
{
	if (sh->sh_offset > len || sh->sh_size > len - sh->sh_offset)
		return false;
	*ret = (struct section){ data + sh->sh_offset, sh->sh_size };
	return true;
}

static bool is_named(const struct section *names, size_t at, const char *name)
{
	size_t n = strlen(name) + 1;

	return at < names->len && n <= names->len - at && !memcmp(names->data + at, name, n);
}

static int check_header(const uint8_t *data, size_t len, Elf64_Ehdr *ret, struct error *e)
{
	if (len < sizeof(*ret) || memcmp(data, ELFMAG, SELFMAG) != 0)
		return error_set(e, EINVAL, "not a kernel module (no ELF file)");
	memcpy(ret, data, sizeof(*ret));
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->e_machine != EM_X86_64)
		return error_set(e, EINVAL, "a module for another machine than x86-64");
	if (ret->e_type != ET_REL || ret->e_shentsize != sizeof(Elf64_Shdr))
		return error_set(e, EINVAL, "an ELF file, but no kernel module");
	if (ret->e_shoff > len || ret->e_shnum > (len - ret->e_shoff) / sizeof(Elf64_Shdr))
		return error_set(e, EINVAL, "a module cut short (%zu bytes)", len);
	return 0;
}

static int find_modinfo(const uint8_t *data, size_t len, struct section *ret, struct error *e)
{
	struct section names;
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	int r = check_header(data, len, &eh, e);

	if (r < 0)
		return r;
	if (eh.e_shstrndx >= eh.e_shnum)
		return error_set(e, EINVAL, "a damaged module (no names of sections)");
	section_header(data, &eh, eh.e_shstrndx, &sh);
	if (sh.sh_type != SHT_STRTAB || !section_bytes(data, len, &sh, &names))
		return error_set(e, EINVAL, "a damaged module (names of sections)");
	for (size_t i = 0; i < eh.e_shnum; i++) {
		section_header(data, &eh, i, &sh);
		if (sh.sh_type != SHT_PROGBITS || !is_named(&names, sh.sh_name, ".modinfo"))
			continue;
		if (!section_bytes(data, len, &sh, ret))
			return error_set(e, EINVAL, "a module cut short (%zu bytes)", len);
		return 0;
	}
	return error_set(e, EINVAL, "an object file, but no kernel module (no .modinfo)");
}

/* The value of the first string that begins with `key`, as the kernel's loader takes it. */
static char *value_of(const struct section *s, const char *key)
{
	size_t n = strlen(key), at = 0, len;

	for (; at < s->len; at += len + 1) {
		const char *text = (const char *)s->data + at;

		len = strnlen(text, s->len - at);
		if (len >= n && !memcmp(text, key, n))
			return mem_strndup(text + n, len - n);
	}
	return NULL;
}

int modinfo_read(const uint8_t *data, size_t len, struct modinfo *ret_info, struct error *e)
{
	struct section s = { NULL, 0 };
	int r;

	*ret_info = (struct modinfo){ NULL, NULL };
	r = find_modinfo(data, len, &s, e);
	if (r < 0)
		return r;
	ret_info->depends = value_of(&s, "depends=");
	ret_info->vermagic = value_of(&s, "vermagic=");
	return 0;
}

void modinfo_done(struct modinfo *info)
{
	if (!info)
		return;
	free(info->depends);
	free(info->vermagic);
	*info = (struct modinfo){ NULL, NULL };
}
