/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared inside the room. */
#ifndef KDELTA_KBUILD_INTERNAL_H
#define KDELTA_KBUILD_INTERNAL_H

#include "kbuild/kbuild.h"

#define CACHE_FACTS "build" /* in the folder of a finished kernel */

/* What all steps of one build need. */
struct build {
	const struct kbuild_request *request;
	const struct kbuild_progress *progress;
	const volatile sig_atomic_t *stop;
	struct kbuild_result *ret;
	char *cache;		/* .../git, absolute */
	char *git_dir, *top;	/* of the user's repository; top: NULL if it is bare */
	char *work, *src, *out; /* folders: see kbuild.h */
	char *log;
	char key[17];
	char *seed; /* the configuration to start from; NULL: tiny */
};

void build_say(const struct build *b, const char *step, unsigned files);
bool build_stopped(const struct build *b);

/* cache.c. Removes a folder with all that is in it, as far as that can be done. */
void cache_remove(const char *path);
/* The line "NAME VALUE" of a finished kernel's facts; caller frees; NULL if there is none. */
char *cache_fact(const char *facts, const char *name);

/* tree.c: git. Finds the repository and the commit, and that it is a kernel's. */
int tree_resolve(struct build *b, struct error *e);
/* A name for the repository, the same in all its worktrees. */
int tree_name(const struct build *b, char ret_hex[17], struct error *e);
/* Makes b->src the commit's files; those that are right keep their times. */
int tree_checkout(struct build *b, struct error *e);

/* make.c: runs make with these arguments (NULL at the end) behind the common ones; appends to log.
 * *ret_status: 0, or make failed. */
int make_run(struct build *b, const char *step, const char *const *args, int *ret_status,
	     struct error *e);
/* Removes what a killed build may have left half written. */
int make_sweep(const struct build *b, struct error *e);
/* Marks the build folder as under work, and as whole again. */
int make_begin(const struct build *b, struct error *e);
void make_end(const struct build *b);
/* The log's last lines, without the lines of progress. Caller frees. */
char *make_log_tail(const char *log, unsigned lines);

/* tools.c. The compiler and linker by name and version; caller frees. */
int tools_toolchain(char **ret, struct error *e);
/* -ENOPKG if anything is missing that this configuration (NULL: not known yet) needs. */
int tools_check(const char *config, struct error *e);

/* config.c. Reads what to start from into b->seed. */
int config_seed(struct build *b, struct error *e);
/* OUT/.config for the checked out commit. *ret_status as make_run(). The caller frees *ret_text. */
int config_make(struct build *b, char **ret_text, int *ret_status, struct error *e);

/* tiny.c: the configuration KBUILD_TINY for make allnoconfig. */
extern const char *const kbuild_tiny[]; /* "NAME" or "NAME=value"; NULL at the end */

#endif
