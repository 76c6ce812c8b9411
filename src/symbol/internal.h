/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of this room. All that takes bytes or text takes foreign ones. */
#ifndef KDELTA_SYMBOL_INTERNAL_H
#define KDELTA_SYMBOL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "symbol/symbol.h"

struct symbols {
	struct symbol *list;
	size_t n, cap;
	uint32_t *text; /* of each address with text symbols the one that stands for it */
	size_t n_text;
	uint32_t *bucket, *chain; /* by name, ascending; both hold index + 1, 0 ends */
	size_t buckets;		  /* a power of two */
	struct arena strings;
};

struct symbols *symbols_new(void);
/* Appends; `module` is borrowed and must live as long as `s`. symbols_index() when all are in. */
void symbols_append(struct symbols *s, uint64_t addr, char type, const char *name, size_t len,
		    const char *module);
void symbols_index(struct symbols *s); /* sorts, sets ends, finds text, hashes names */

/* The tables in an unpacked kernel, as it lies in the file. -ENOENT: none, or not known. */
int kallsyms_read(const uint8_t *data, size_t len, struct symbols **ret, struct error *e);
/* symbols_read(), and the image's own build-id: the caller frees; NULL: it has none. */
int symbols_from_image(const void *data, size_t len, const char *name, struct symbols **ret,
		       char **ret_build_id, struct error *e);

/* A line of /proc/kallsyms: "ADDR TYPE NAME" or "ADDR TYPE NAME\t[MODULE]". Borrows the text. */
struct symbol_line {
	uint64_t addr;
	char type;
	const char *name, *module; /* module NULL: the kernel */
	size_t name_len, module_len;
};
/* Takes the line at *text and steps behind it. 1: there it is, 0: no more, -EINVAL. */
int symbol_line_next(const char **text, struct symbol_line *ret);
/* As nm(1) says it: a letter, or '?' for what it does not know (__nosave_begin has that). */
bool symbol_type_ok(char type);
bool symbol_name_ok(const char *name, size_t len); /* printable, no space, not too long */

/* The cache file's text; caller frees. Only the kernel's own symbols, before modules came. */
char *symbols_encode(const struct symbols *s, const char *build_id, size_t *ret_len);
/* NULL: not whole, not of this build-id, not of this version. `text` has a NUL behind it. */
struct symbols *symbols_decode(const char *text, size_t len, const char *build_id);

#define SYMBOL_NAME_MAX 1023u /* KSYM_NAME_LEN is 512; a longer one is no name */

#endif
