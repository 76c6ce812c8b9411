/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A shell's ELF file, or what its dynamic linker says of it, or a kernel's configuration. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "vm/elf.h"
#include "vm/shell.h"
#include "vm/vm.h"

static int on_path(void *arg, const char *path, struct error *e)
{
	(void)arg;
	(void)e;
	if (*path != '/')
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = mem_strndup((const char *)data, size);
	struct vm_ability able;
	struct elf elf;

	if (!elf_read(data, size, "x", &elf, NULL)) {
		if (!memchr(elf.interp, '\0', sizeof(elf.interp)) || (*elf.interp && !elf.dynamic))
			abort();
	}
	shell_libraries(text, on_path, NULL, NULL);
	if (!vm_check_config(text, NULL, 0, &able, NULL) && !able.serial && !able.virtio)
		abort();
	return 0;
}
