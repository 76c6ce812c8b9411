/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/id.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int id_uuid(char ret_uuid[ID_UUID_SIZE], struct error *e)
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return error_errno(e, errno ? errno : EIO, "getrandom");
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(ret_uuid, ID_UUID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
	return 0;
}

int id_build_from_notes(const void *notes, size_t len, char ret_id[ID_BUILD_SIZE])
{
	const unsigned char *p = notes;
	size_t at = 0;

	while (len - at >= sizeof(ElfW(Nhdr)) && at < len) {
		ElfW(Nhdr) h;
		size_t name, desc, i;

		memcpy(&h, p + at, sizeof(h));
		at += sizeof(h);
		name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)h.n_descsz + 3) & ~(size_t)3;
		if (name > len - at || h.n_descsz > len - at - name)
			return -ENOENT;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p + at, "GNU", 4) &&
		    h.n_descsz && h.n_descsz * 2 < ID_BUILD_SIZE) {
			for (i = 0; i < h.n_descsz; i++)
				snprintf(ret_id + 2 * i, 3, "%02x", p[at + name + i]);
			return 0;
		}
		if (desc > len - at - name)
			return -ENOENT;
		at += name + desc;
	}
	return -ENOENT;
}

static int self_notes(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *ret_id = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_NOTE &&
		    !id_build_from_notes((const char *)info->dlpi_addr + ph->p_vaddr, ph->p_memsz,
					 ret_id))
			return 1;
	}
	return -1; /* the first object is the program: look no further */
}

int id_build_self(char ret_id[ID_BUILD_SIZE])
{
	return dl_iterate_phdr(self_notes, ret_id) == 1 ? 0 : -ENOENT;
}

void id_fnv1a(const void *data, size_t len, char ret_hex[17])
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325ull;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	snprintf(ret_hex, 17, "%016llx", (unsigned long long)h);
}
