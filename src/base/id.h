/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifiers: random UUIDs (RFC 4122 version 4) and ELF build-ids. */
#ifndef KDELTA_BASE_ID_H
#define KDELTA_BASE_ID_H

#include <stddef.h>

#include "base/error.h"

#define ID_UUID_SIZE  37 /* with the NUL */
#define ID_BUILD_SIZE 65 /* hexadecimal, with the NUL */

int id_uuid(char ret_uuid[ID_UUID_SIZE], struct error *e);
/*
 * GNU build-id out of ELF notes (the bytes of /sys/kernel/notes, or of a .note section) as
 * hexadecimal. -ENOENT if there is none. Source: elf(5), "Notes (Nhdr)".
 */
int id_build_from_notes(const void *notes, size_t len, char ret_id[ID_BUILD_SIZE]);
/* The running program's own build-id (linker option --build-id). -ENOENT if it has none. */
int id_build_self(char ret_id[ID_BUILD_SIZE]);
/* FNV-1a, 64 bits, as 16 hexadecimal digits: for naming, not for trust. */
void id_fnv1a(const void *data, size_t len, char ret_hex[17]);

#endif
