/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of a kernel: which function an address belongs to.
 *
 * They come from the tables that the kernel carries for its own use (CONFIG_KALLSYMS), found in the
 * bytes of a bzImage (gzip, bzip2, xz, lzma, zstd, lz4) or a vmlinux for x86-64, without booting it
 * and without a System.map or section headers; those of modules come from the guest's
 * /proc/kallsyms. Layouts: 4.20 to 6.1 (offsets and base before the names), 6.2 and 6.3 (sequence
 * numbers behind the names), 6.4 and later (offsets and base behind the token index), and that with
 * offsets from their own places. Addresses are those of a kernel started with nokaslr.
 * Source: scripts/kallsyms.c and kernel/kallsyms.c describe the format; Documentation/filesystems/
 * proc.rst.
 */
#ifndef KDELTA_SYMBOL_SYMBOL_H
#define KDELTA_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct symbol {
	/*
	 * end: the next address at which a symbol stands, whatever its type. Where that is another
	 * module's, or nothing follows, at most SYMBOL_LAST_BYTES behind addr.
	 */
	uint64_t addr, end;
	const char *name;   /* as in kallsyms */
	const char *module; /* NULL: the kernel itself */
	char type;	    /* as nm(1) and kallsyms say it */
};

#define SYMBOL_LAST_BYTES 65536u

/*
 * Sorted by address, in the kernel's own order where addresses are the same; all strings are its
 * own. Pointers to a symbol are good until symbols_add_modules() or symbols_free().
 */
struct symbols;

/*
 * From an image's bytes; `name` stands before errors. -ENOENT: it carries no tables
 * (CONFIG_KALLSYMS), or in a layout that is not known; -EINVAL: no kernel, or damaged.
 */
int symbols_read(const void *data, size_t len, const char *name, struct symbols **ret,
		 struct error *e);
/*
 * The same from a file, which is read from its start and whose position stays, with a cache:
 * `cache_dir`/symbols/BUILD-ID is read if it is there and whole, else made (atomically; that it
 * cannot be written is no error). build_id or cache_dir NULL, or not hexadecimal, or another than
 * the image says itself: no cache.
 */
int symbols_open(int fd, const char *build_id, const char *cache_dir, const char *name,
		 struct symbols **ret, struct error *e);
/*
 * Adds modules: lines as /proc/kallsyms has them ("ffffffffc0000000 t xt_init" and a tab with
 * "[module]" behind). NULL or "": none. -EINVAL names the line (also one without a module),
 * -EACCES: all addresses are 0 (kptr_restrict). Nothing is added then.
 */
int symbols_add_modules(struct symbols *s, const char *modules_text, struct error *e);
/*
 * Do the guest's own first lines agree with ours? -ESTALE: the first that does not, in words.
 * -EACCES: all of its addresses are 0 (kptr_restrict): nothing was compared. -ENODATA: there are no
 * lines. *ret_compared: lines that agree.
 */
int symbols_verify(const struct symbols *s, const char *head_text, size_t *ret_compared,
		   struct error *e);
/*
 * The symbol that contains addr: text symbols (types t, T, w, W) only. NULL: none does. Of several
 * at one address: no label of the linker's (_stext, __x_start, __x_end), local label or padding
 * (__pfx_x) before others; T before t before W and w; a system call's 64-bit name before its 32-bit
 * one; the fewest leading underscores; the kernel's order.
 */
const struct symbol *symbols_at(const struct symbols *s, uint64_t addr);
/* The first of that name, by address. NULL: none. */
const struct symbol *symbols_named(const struct symbols *s, const char *name);
/* The first behind `prev` (NULL: of all), by address, whose name starts with `prefix`. NULL: none.
 */
const struct symbol *symbols_next(const struct symbols *s, const struct symbol *prev,
				  const char *prefix);
size_t symbols_count(const struct symbols *s);
const struct symbol *symbols_get(const struct symbols *s, size_t i); /* by address */
void symbols_free(struct symbols *s);

bool symbol_is_text(const struct symbol *sym); /* of type t, T, w, W */
/*
 * The name without what a compiler appended: .isra.0, .constprop.3, .part.0, .cold, .llvm.123,
 * .lto_priv.0, .localalias, .7, and several of them. Length of the folded name, a prefix of `name`;
 * a local label (".E_copy") is left whole, symbols_fold() says where it belongs.
 */
size_t symbol_fold_len(const char *name);
/*
 * The symbol whose name stands for this one: a local label's function, the function that a compiler
 * made a clone or a cold part of (the nearest of that name in the same module). If there is none,
 * itself, whose name is folded by symbol_fold_len().
 */
const struct symbol *symbols_fold(const struct symbols *s, const struct symbol *sym);

#endif
