/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel that was named on the command line, as bytes that can be booted and with all that can be
 * known of it without booting: release, `uname -v`, build-id, configuration, package.
 * The formats and their sources: bzimage.h, vmlinux.h, deb.h, kconfig.h, modinfo.h; where parts of
 * it lie: places.h; the argument: spec.h.
 */
#ifndef KDELTA_IMAGE_IMAGE_H
#define KDELTA_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/progress.h"
#include "image/spec.h"

enum image_modules_in {
	IMAGE_MODULES_NONE, /* nothing is known of them: the kernel was given alone */
	IMAGE_MODULES_DEB,
	IMAGE_MODULES_TREE,   /* modules.order and modules.builtin of a build */
	IMAGE_MODULES_FOLDER, /* a lib/modules/RELEASE */
};

struct image {
	char *source_text; /* the argument as given */
	char *release;	   /* `uname -r`; always known */
	char *version;	   /* `uname -v`, from '#' on; NULL if unknown */
	char *build_id;	   /* of the vmlinux, hexadecimal; NULL if unknown */
	char *config;	   /* text; NULL if unknown */
	char *config_hash; /* SHA-256 of the normalised configuration; NULL if unknown */
	char *package, *package_version; /* NULL if not from a package */
	char *sha256;			 /* of the bytes in fd */
	int fd;			/* a memfd with the bzImage or vmlinux, at offset 0, O_CLOEXEC */
	uint64_t size;		/* bytes in fd; 0: there is no fd */
	bool bootable;		/* by QEMU's -kernel, with the 64-bit agent as init */
	const char *unbootable; /* why not; NULL if bootable */
	enum image_modules_in modules_in;
	char *modules;	/* path of that package, tree or folder; NULL if NONE */
	int modules_fd; /* of the package, else -1: what is read later is what was opened */
};

#define IMAGE_INIT                                                                                 \
	{                                                                                          \
		.fd = -1, .modules_fd = -1                                                         \
	}

/* $KDELTA_CACHE, else $XDG_CACHE_HOME/kdelta, else ~/.cache/kdelta. The caller frees. */
char *image_cache_dir(void);
/*
 * Opens what the spec names; `cache_dir` NULL: image_cache_dir(). `progress` (may be NULL) is
 * called during a download. One clear error line that begins with the argument: no such file,
 * unreadable, empty, no kernel, cut short (-EINVAL and others), not built, not installed, not
 * offered (-ENOENT), -ECANCELED. -ESTALE: "running", but what is installed is another kernel than
 * the one that runs. -ENOTSUP: KERNEL_GIT, which is to be built first; then image_open_tree().
 * Call image_done() after success.
 */
int image_open(const struct kernel_spec *spec, const char *cache_dir,
	       const struct image_progress *progress, struct image *ret_image, struct error *e);
/*
 * The same for the folder in which a kernel was built (make O=FOLDER): arch/x86/boot/bzImage, the
 * .config unless it is younger than that, and the modules that modules.order names. `name` becomes
 * source_text, and stands before errors.
 */
int image_open_tree(const char *folder, const char *name, struct image *ret_image, struct error *e);
/*
 * The same for bytes in memory, under the name `name`. Nothing is sought beside it, and its modules
 * are not known.
 */
int image_open_bytes(const void *data, size_t len, const char *name, struct image *ret_image,
		     struct error *e);
/* 0, or -ENOTSUP with a line that says why it cannot be booted and what to give instead. */
int image_check_bootable(const struct image *image, struct error *e);
/*
 * Is the kernel that says this of itself (`uname -r`, `uname -v`, build-id; each may be NULL) this
 * image? Build-ids decide when both are known; else release and version must agree, the version in
 * its first 64 bytes, as uname(2) cuts it there. If not, `why` says what differs.
 */
bool image_matches(const struct image *image, const char *release, const char *version,
		   const char *build_id, char *why, size_t why_size);
void image_done(struct image *image);

/* ---- modules ---- */

struct image_module {
	char *name;    /* as the kernel has it, with '_' and no '-': "virtio_rng" */
	uint8_t *data; /* the .ko, not compressed, a signature behind it included */
	size_t len;
};

/*
 * The wanted modules (`wanted` ends with NULL; '-' and '_' are the same) and all that they depend
 * on, each once, in an order in which they can be loaded. What the kernel has built in is left
 * out, so there may be none (*ret_n 0).
 *
 * -ENOENT: a wanted one is neither there nor built in, or nothing is known of this kernel's
 * modules; the caller may do without. -EINVAL: one that is needed by another is missing, they need
 * each other in a ring, one is damaged, or was built for another release.
 */
int image_modules(const struct image *image, const char *const *wanted,
		  struct image_module **ret_list, size_t *ret_n, struct error *e);
void image_modules_free(struct image_module *list, size_t n);

/* ---- what there is ---- */

enum image_where {
	IMAGE_RUNNING,	 /* one entry, the first, installed or not */
	IMAGE_INSTALLED, /* in /boot */
	IMAGE_CACHED,	 /* in the cache, verified only when it is taken */
	IMAGE_OFFERED,	 /* by apt */
};

struct image_entry {
	enum image_where where;
	char *release;
	char *kernel;		 /* what to type as KERNEL; NULL if it cannot be opened */
	char *why_not;		 /* the reason for that, else NULL; of the running one only */
	char *package, *version; /* NULL for running and installed ones */
	uint64_t size;		 /* of the file or package, bytes; 0 if unknown */
};

const char *image_where_name(enum image_where where);
/*
 * What `kdelta list kernels` shows: running, installed, cached, and, if `offered`, what apt offers
 * (asked of its present lists; a machine without apt offers nothing). Sorted by where, then
 * release.
 */
int image_list(const char *cache_dir, bool offered, struct image_entry **ret_list, size_t *ret_n,
	       struct error *e);
void image_list_free(struct image_entry *list, size_t n);

#endif
