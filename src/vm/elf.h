/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an ELF program for x86-64 says of itself. Foreign bytes: none outside of them is read.
 * Source: elf(5).
 */
#ifndef KDELTA_VM_ELF_H
#define KDELTA_VM_ELF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/id.h"

#define ELF_INTERP_SIZE 256

struct elf {
	bool dynamic;		      /* it asks for a dynamic linker */
	char interp[ELF_INTERP_SIZE]; /* whose path this is; "": none, or none that can be used */
	char build_id[ID_BUILD_SIZE]; /* hexadecimal; "": it has none */
};

/*
 * -ENOEXEC, with `name` and the reason, unless these bytes are a whole x86-64 program or shared
 * object.
 */
int elf_read(const void *data, size_t len, const char *name, struct elf *ret, struct error *e);

#endif
