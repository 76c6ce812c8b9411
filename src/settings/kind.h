/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of settings. Another one is an entry of the table in kinds.c.
 *
 * `arg` is what stands behind "KIND:" in a name, "" for nothing, and the whole name of a sysctl.
 * Strings that are returned are the caller's to free; values are in normal form (setting_value()).
 */
#ifndef KDELTA_SETTINGS_KIND_H
#define KDELTA_SETTINGS_KIND_H

#include "base/error.h"
#include "facts/source.h"
#include "model/setting.h"

struct setting_kind {
	struct setting_info info;
	/* The value now, in a form that apply() takes. */
	int (*read)(const struct facts_source *src, const char *arg, char **ret_value,
		    struct error *e);
	/* Gives the kernel a value. Whether it took is seen by reading. */
	int (*apply)(const struct facts_source *src, const char *arg, const char *value,
		     struct error *e);
	/*
	 * Which setting must get which value so that `old` is there again; -ENOTSUP if nothing
	 * brings it back. NULL: the same setting, the old value.
	 */
	int (*undo)(const struct facts_source *src, const char *arg, const char *old,
		    char **ret_name, char **ret_value, struct error *e);
	/* Do two texts that setting_same() tells apart mean the same? NULL: never. */
	bool (*same)(const char *arg, const char *a, const char *b);
	/* The namespace it belongs to, as in /proc/self/ns: "net"; NULL: the machine's own. */
	const char *(*ns)(const char *arg);
};

/* NULL: no such kind. *ret_arg points into the name. */
const struct setting_kind *kind_of(const char *name, const char **ret_arg);
/* Does this code mean "not here" (no such thing, no permission) rather than "not so"? */
bool kind_skips(int code);

/* The one line of a file, in normal form. -EFBIG: more than a line, which is no setting. */
int kind_read(const struct facts_source *src, const char *path, char **ret_value, struct error *e);
int kind_write(const struct facts_source *src, const char *path, const char *value,
	       struct error *e);

/* sysctl.c */
int sysctl_read(const struct facts_source *src, const char *name, char **ret_value,
		struct error *e);
int sysctl_apply(const struct facts_source *src, const char *name, const char *value,
		 struct error *e);
int sysctl_undo(const struct facts_source *src, const char *name, const char *old, char **ret_name,
		char **ret_value, struct error *e);
bool sysctl_same(const char *name, const char *a, const char *b);
const char *sysctl_ns(const char *name);
/* offload.c */
int offload_read(const struct facts_source *src, const char *arg, char **ret_value,
		 struct error *e);
int offload_apply(const struct facts_source *src, const char *arg, const char *value,
		  struct error *e);
const char *offload_ns(const char *arg);
/* machine.c */
int governor_read(const struct facts_source *src, const char *arg, char **ret_value,
		  struct error *e);
int governor_apply(const struct facts_source *src, const char *arg, const char *value,
		   struct error *e);
int thp_read(const struct facts_source *src, const char *arg, char **ret_value, struct error *e);
int thp_apply(const struct facts_source *src, const char *arg, const char *value, struct error *e);
int cpus_read(const struct facts_source *src, const char *arg, char **ret_value, struct error *e);
bool cpus_same(const char *arg, const char *a, const char *b);
int cpus_apply(const struct facts_source *src, const char *arg, const char *value, struct error *e);

#endif
