/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small kernels and packages for tests, made by hand from the same documents that the parsers
 * follow (boot.rst, elf(5), deb(5)). All are freed by the caller.
 */
#ifndef KDELTA_TESTS_IMAGE_BUILD_H
#define KDELTA_TESTS_IMAGE_BUILD_H

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define BUILD_RELEASE "6.1.0-test"
#define BUILD_VERSION "#7 SMP Debian 6.1.1-1 (2026-01-01)"
#define BUILD_ID      "000102030405060708090a0b0c0d0e0f10111213"
#define BUILD_CONFIG  "# Linux/x86 6.1.0\nCONFIG_HZ=250\n# CONFIG_X is not set\nCONFIG_64BIT=y\n"

static inline void build_note(struct str *to, const char *name, uint32_t type, const void *desc,
			      uint32_t len)
{
	uint32_t head[3] = { (uint32_t)strlen(name) + 1, len, type };

	str_add_n(to, (const char *)head, sizeof(head));
	str_add_n(to, name, head[0]);
	str_add_pad(to, '\0', -to->len & 3);
	str_add_n(to, desc, len);
	str_add_pad(to, '\0', -to->len & 3);
}

/* Packs with one of libarchive's filters; `tar`: as ./NAME in a tar, else bare. */
static inline void build_pack(struct str *to, int filter, const char *const *names,
			      const struct str *files, size_t n)
{
	static char buf[1 << 20];
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t used = 0;

	archive_write_add_filter(a, filter);
	if (names)
		archive_write_set_format_ustar(a);
	else
		archive_write_set_format_raw(a);
	archive_write_set_bytes_in_last_block(a, 1);
	archive_write_open_memory(a, buf, sizeof(buf), &used);
	for (size_t i = 0; i < n; i++) {
		archive_entry_clear(entry);
		archive_entry_set_pathname(entry, names ? names[i] : "data");
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_perm(entry, 0644);
		archive_entry_set_size(entry, (int64_t)files[i].len);
		archive_write_header(a, entry);
		archive_write_data(a, files[i].s, files[i].len);
	}
	archive_write_close(a);
	archive_write_free(a);
	archive_entry_free(entry);
	str_add_n(to, buf, used);
}

static inline void build_vmlinux(struct str *to, bool pvh, bool config)
{
	static const unsigned char id[20] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
					      10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
	Elf64_Ehdr eh = { .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT };
	Elf64_Phdr ph = { .p_type = PT_NOTE };
	struct str notes = STR_INIT, text = STR_INIT;
	uint64_t entry = 0x1000370;

	build_note(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	if (pvh)
		build_note(&notes, "Xen", 18, &entry, sizeof(entry));
	memcpy(eh.e_ident, "\177ELF\2\1\1", 7);
	eh.e_phoff = eh.e_ehsize = sizeof(eh);
	eh.e_phentsize = sizeof(ph);
	eh.e_phnum = 1;
	ph.p_offset = sizeof(eh) + sizeof(ph);
	ph.p_filesz = notes.len;
	str_add_n(to, (const char *)&eh, sizeof(eh));
	str_add_n(to, (const char *)&ph, sizeof(ph));
	str_add_n(to, notes.s, notes.len);
	str_add(to, "Linux version %s is no banner\n");
	str_add(to, "Linux version " BUILD_RELEASE " (me@here) (gcc #12) " BUILD_VERSION "\n");
	str_add_c(to, '\0');
	if (config) {
		str_add(&text, BUILD_CONFIG);
		str_add(to, "IKCFG_ST");
		build_pack(to, ARCHIVE_FILTER_GZIP, NULL, &text, 1);
		str_add(to, "IKCFG_ED");
	}
	str_done(&notes);
	str_done(&text);
}

/*
 * A module of which nothing but .modinfo is there: sections "", .modinfo, .shstrtab. NULL: the key
 * is left out.
 */
static inline void build_module(struct str *to, const char *depends, const char *vermagic)
{
	static const char names[] = "\0.modinfo\0.shstrtab";
	Elf64_Ehdr eh = { .e_type = ET_REL, .e_machine = EM_X86_64, .e_version = EV_CURRENT };
	Elf64_Shdr sh[3] = { { .sh_type = SHT_NULL },
			     { .sh_type = SHT_PROGBITS, .sh_name = 1 },
			     { .sh_type = SHT_STRTAB, .sh_name = 10 } };
	struct str info = STR_INIT;

	str_add_n(&info, "license=GPL", 12);
	if (depends)
		str_printf(&info, "depends=%s%c", depends, 0);
	if (vermagic)
		str_printf(&info, "vermagic=%s%c", vermagic, 0);
	memcpy(eh.e_ident, "\177ELF\2\1\1", 7);
	eh.e_ehsize = sizeof(eh);
	eh.e_shentsize = sizeof(sh[0]);
	eh.e_shnum = 3;
	eh.e_shstrndx = 2;
	eh.e_shoff = sizeof(eh);
	sh[1].sh_offset = sizeof(eh) + sizeof(sh);
	sh[1].sh_size = info.len;
	sh[2].sh_offset = sh[1].sh_offset + info.len;
	sh[2].sh_size = sizeof(names);
	str_reset(to);
	str_add_n(to, (const char *)&eh, sizeof(eh));
	str_add_n(to, (const char *)sh, sizeof(sh));
	str_add_n(to, info.s, info.len);
	str_add_n(to, names, sizeof(names));
	str_done(&info);
}

static inline void build_put(struct str *to, size_t at, uint32_t v, size_t bytes)
{
	for (; bytes; bytes--, v >>= 8)
		to->s[at++] = (char)(v & 0xff);
}

/* lz4's "legacy" frame, which libarchive does not write: one block of literals only. */
static inline void build_lz4_legacy(struct str *to, const struct str *data)
{
	struct str block = STR_INIT;
	size_t n = data->len - 15;
	uint32_t head[2] = { 0x184c2102, 0 };

	str_add_c(&block, (char)0xf0);
	for (; n >= 255; n -= 255)
		str_add_c(&block, (char)255);
	str_add_c(&block, (char)n);
	str_add_n(&block, data->s, data->len);
	head[1] = (uint32_t)block.len;
	str_add_n(to, (const char *)head, sizeof(head));
	str_add_n(to, block.s, block.len);
	str_done(&block);
}

/* `filter`: how the vmlinux inside is packed. */
static inline void build_bzimage(struct str *to, int filter)
{
	static const char banner[] = BUILD_RELEASE " (me@here) " BUILD_VERSION;
	struct str inside = STR_INIT, payload = STR_INIT;
	uint32_t size, len;

	build_vmlinux(&inside, true, true);
	if (filter == ARCHIVE_FILTER_LZ4)
		build_lz4_legacy(&payload, &inside);
	else
		build_pack(&payload, filter, NULL, &inside, 1);
	len = (uint32_t)inside.len;
	if (filter != ARCHIVE_FILTER_GZIP)
		str_add_n(&payload, (const char *)&len, 4);
	size = (16 + (uint32_t)payload.len + 15) / 16;
	str_reset(to);
	str_add_pad(to, '\0', 1024 + size * 16);
	build_put(to, 0x1f1, 1, 1);
	build_put(to, 0x1f4, size, 4);
	build_put(to, 0x1fe, 0xaa55, 2);
	memcpy(to->s + 0x202, "HdrS", 4);
	build_put(to, 0x206, 0x20f, 2);
	build_put(to, 0x20e, 0x100, 2);
	build_put(to, 0x211, 1, 1);
	build_put(to, 0x236, 1, 2);
	build_put(to, 0x248, 16, 4);
	build_put(to, 0x24c, (uint32_t)payload.len, 4);
	memcpy(to->s + 0x300, banner, sizeof(banner));
	memcpy(to->s + 1024 + 16, payload.s, payload.len);
	str_done(&inside);
	str_done(&payload);
}

static inline void build_ar_member(struct str *to, const char *name, const struct str *data)
{
	str_printf(to, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "100644", data->len);
	str_add_n(to, data->s, data->len);
	if (data->len & 1)
		str_add_c(to, '\n');
}

/* A package with these files in its data.tar.EXT. */
static inline void build_deb(struct str *to, int filter, const char *ext, const char *const *names,
			     const struct str *files, size_t n)
{
	static const char *const control_name[] = { "./control" };
	struct str text = STR_INIT, packed = STR_INIT;
	char name[32];

	str_reset(to);
	str_add(to, "!<arch>\n");
	str_add(&text, "2.0\n");
	build_ar_member(to, "debian-binary", &text);
	str_reset(&text);
	str_add(&text, "Package: linux-image-" BUILD_RELEASE "\nVersion: 6.1.1-1\n"
		       "Architecture: amd64\nDescription: test\n Version: none\n");
	build_pack(&packed, ARCHIVE_FILTER_XZ, control_name, &text, 1);
	build_ar_member(to, "control.tar.xz", &packed);
	str_reset(&packed);
	build_pack(&packed, filter, names, files, n);
	snprintf(name, sizeof(name), "data.tar%s", ext);
	build_ar_member(to, name, &packed);
	str_done(&text);
	str_done(&packed);
}

/* The usual package: map, config, kernel. */
static inline void build_kernel_deb(struct str *to, int filter, const char *ext)
{
	static const char *const names[] = { "./boot/System.map-" BUILD_RELEASE,
					     "./boot/config-" BUILD_RELEASE,
					     "./boot/vmlinuz-" BUILD_RELEASE };
	struct str files[3] = { STR_INIT, STR_INIT, STR_INIT };

	str_add(&files[0], "map");
	str_add(&files[1], BUILD_CONFIG);
	build_bzimage(&files[2], ARCHIVE_FILTER_GZIP);
	build_deb(to, filter, ext, names, files, 3);
	for (int i = 0; i < 3; i++)
		str_done(&files[i]);
}

#endif
