/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands in an environment that is the same for everybody: PATH and a few variables that decide
 * where things are found, and nothing that decides what is built.
 */
#ifndef KDELTA_KBUILD_RUN_H
#define KDELTA_KBUILD_RUN_H

#include <stddef.h>

#include "base/error.h"
#include "base/proc.h"

/* A command line that grows; starts as RUN_WORDS_INIT. */
struct run_words {
	char **s;
	size_t n, cap;
};

#define RUN_WORDS_INIT                                                                             \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

/* Begins with env(1) -i and what is let through; more NAME=VALUE may be added, then a command. */
void run_env(struct run_words *w);
void run_add(struct run_words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_add_all(struct run_words *w, const char *const *words); /* NULL at the end */
/* As proc_run(). */
int run_words(const struct run_words *w, const struct proc_opts *opts,
	      struct proc_result *ret_result, struct error *e);
void run_words_done(struct run_words *w);

#endif
