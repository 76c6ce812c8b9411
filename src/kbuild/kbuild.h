/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the kernel of a commit, so that two commits differ in nothing but what they change.
 *
 * The user's repository is only read: no worktree, no index, no ref of it is touched. In the cache,
 *
 *   git/COMMIT-KEY/           a kernel, once it is complete, laid out as a build tree for
 *                             image_open_tree(): arch/x86/boot/bzImage, .config, modules.builtin,
 *                             modules.order, lib/modules/RELEASE, and `build`, lines "NAME VALUE"
 *   git/work-TREE/            where the commits of one repository are built, one at a time (lock):
 *       src/, index           the commit that was built last, checked out with an index of our own:
 *                             files that did not change keep their times
 *       config-KEY/           the build folder (make O=) of a configuration and a toolchain
 *       log, failed-COMMIT.log
 *
 * so the next commit compiles only what it changed. KEY is the hash of the configuration as given
 * and of the toolchain: with the commit it determines the final configuration, whose hash is in
 * the result. Everything in the cache may be deleted while no kdelta runs.
 *
 * Fixed: build time, user, host and number; LOCALVERSION, so that the release ends in -gCOMMIT (12
 * digits); ARCH. Variables in the environment that change a build do not reach it, but PATH does.
 * The configuration is brought up to date with olddefconfig, from the same start for each commit.
 *
 * A build that was killed leaves files half written. They are younger than the last sign of life
 * less KBUILD_DOUBT_S seconds; the next build removes all that are and makes them anew.
 *
 * Sources: Documentation/kbuild/{kbuild,kconfig,reproducible-builds}.rst; git-read-tree(1).
 */
#ifndef KDELTA_KBUILD_KBUILD_H
#define KDELTA_KBUILD_KBUILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KBUILD_TINY    "tiny" /* the configuration of ours: small, boots in QEMU, no modules */
#define KBUILD_DOUBT_S 60
#define KBUILD_TAIL    15 /* lines of the log in log_tail */

struct kbuild_request {
	const char *rev;       /* as git-rev-parse(1) takes it: "HEAD~1", "v6.1", "1a2b3c" */
	const char *config;    /* a file (.gz, .xz too), KBUILD_TINY, or NULL: the .config of the
				* tree if it has one, else KBUILD_TINY */
	const char *tree;      /* a folder in the repository; NULL: the current one */
	const char *cache_dir; /* NULL: image_cache_dir() */
	unsigned jobs;	       /* make -j; 0: the CPUs that we may use */
};

struct kbuild_progress {
	/* About 4 times a second. `step`: "compiling" ...; files compiled so far, 0: none yet. */
	void (*report)(void *arg, const char *step, unsigned files);
	void *arg;
};

struct kbuild_result {
	char *dir;     /* of the finished kernel, in the cache */
	char *bzimage; /* a path below it, as the next two */
	char *config;
	char *modules;	   /* ".../lib/modules/RELEASE"; NULL: it has none */
	char *release;	   /* `uname -r` */
	char *commit;	   /* 40 digits */
	char *config_hash; /* as kconfig_hash() of image/kconfig.h */
	char *toolchain;   /* "gcc (...) 12.2.0, GNU ld (...) 2.40" */
	bool cached;	   /* it was there; nothing was compiled */
	unsigned files;	   /* compiled */
	char *log_tail;	   /* after -ENOEXEC: the log's last lines, without progress; else NULL */
};

/*
 * One error line that begins with "git:REV: ". -ENOEXEC: this commit does not build (log_tail; the
 * line names the log), others may. Besides: -ENOENT no such tree, commit, configuration; -EINVAL no
 * kernel tree; -ENOPKG tools or headers are missing (the line names the packages of Debian);
 * -ENOSPC; -ECANCELED after *stop (may be NULL). `progress` may be NULL. Waits while another
 * process builds for the same repository. kbuild_result_done() in every case.
 */
int kbuild_make(const struct kbuild_request *request, const struct kbuild_progress *progress,
		const volatile sig_atomic_t *stop, struct kbuild_result *ret, struct error *e);
void kbuild_result_done(struct kbuild_result *result);

/* A folder of the cache. */
struct kbuild_cached {
	char *name; /* COMMIT-KEY or work-TREE */
	char *path;
	char *release; /* of a kernel; NULL: not known, or a work folder */
	bool work;     /* a work folder: the next build makes it again */
	bool busy;     /* something builds in it now */
	uint64_t size; /* bytes in its files */
};

/* What is in CACHE_DIR/git, in no order; without such a folder, nothing. */
int kbuild_cache_list(const char *cache_dir, struct kbuild_cached **ret_list, size_t *ret_n,
		      struct error *e);
/* Deletes it. -EBUSY: a build has begun in it. */
int kbuild_cache_drop(const struct kbuild_cached *cached, struct error *e);
void kbuild_cache_free(struct kbuild_cached *list, size_t n);

#endif
