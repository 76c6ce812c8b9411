/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the tests of the vm room: a folder of files, and an agent that passes for one. */
#ifndef KDELTA_TESTS_VM_FIXTURE_H
#define KDELTA_TESTS_VM_FIXTURE_H

#include <dirent.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* The folder of one test program; made by dir_make(), removed with its files by dir_remove(). */
static char dir[] = "/tmp/kdelta-test-vm.XXXXXX";

static inline char *in_dir(const char *name)
{
	return mem_printf("%s/%s", dir, name);
}

static inline void write_file(const char *name, const void *data, size_t len, mode_t mode)
{
	CLEANUP_FREE char *path = in_dir(name);

	assert_int_equal(file_replace(path, data, len, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static inline int dir_make(void)
{
	return mkdtemp(dir) ? 0 : -1;
}

static inline int dir_remove(void **state)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	(void)state;
	while (d && (entry = readdir(d))) {
		CLEANUP_FREE char *path = in_dir(entry->d_name);

		unlink(path);
	}
	if (d)
		closedir(d);
	return rmdir(dir);
}

/* A static program, as far as its headers say. */
static inline void make_elf(unsigned char *elf, size_t size, unsigned machine, unsigned type)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	memset(elf, 0xa5, size);
	memset(&eh, 0, sizeof(eh));
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_type = ET_EXEC;
	eh.e_machine = (Elf64_Half)machine;
	eh.e_phoff = sizeof(eh);
	eh.e_phentsize = sizeof(ph);
	eh.e_phnum = 1;
	memset(&ph, 0, sizeof(ph));
	ph.p_type = type;
	ph.p_filesz = size;
	memcpy(elf, &eh, sizeof(eh));
	memcpy(elf + sizeof(eh), &ph, sizeof(ph));
}

#endif
