/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kbuild/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

static void take(struct run_words *w, char *s)
{
	/* One more for the NULL at the end. */
	w->s = mem_grow(w->s, w->n + 1, &w->cap, sizeof(*w->s));
	w->s[w->n++] = s;
	w->s[w->n] = NULL;
}

void run_add(struct run_words *w, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	take(w, s ? s : mem_strdup(""));
}

void run_add_all(struct run_words *w, const char *const *words)
{
	for (; *words; words++)
		take(w, mem_strdup(*words));
}

void run_env(struct run_words *w)
{
	/* SUDO_UID: git lets root read the repository of the user that it stands for. */
	static const char *const keep[] = { "PATH=",	 "HOME=",   "XDG_CONFIG_HOME=",
					    "SUDO_UID=", "CCACHE_", "LD_LIBRARY_PATH=" };

	run_add_all(w, (const char *const[]){ "env", "-i", "LC_ALL=C", NULL });
	for (char **s = environ; s && *s; s++)
		for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
			if (str_starts(*s, keep[i]))
				take(w, mem_strdup(*s));
}

int run_words(const struct run_words *w, const struct proc_opts *opts,
	      struct proc_result *ret_result, struct error *e)
{
	const char *const *argv;

	memcpy(&argv, &w->s, sizeof(argv));
	return proc_run(argv, opts, ret_result, e);
}

void run_words_done(struct run_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->s[i]);
	free(w->s);
	*w = (struct run_words)RUN_WORDS_INIT;
}
