/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of this machine: applied, read back, and put back as they were.
 *
 * Before the first change of a setting its old value stands, fsynced, in a journal on disk. All is
 * put back by settings_restore(), or, after a crash, by settings_recover() of the next agent. The
 * journal knows the boot (a reboot has undone everything) and the namespaces that its settings
 * belong to; two agents that live at once cannot both change settings (flock(2)).
 *
 * Where: /run/kdelta for root, as settings are the kernel's and all its agents must meet; for
 * others $XDG_STATE_HOME/kdelta, else ~/.local/state/kdelta. Tests have $KDELTA_STATE before all
 * these.
 */
#ifndef KDELTA_SETTINGS_SETTINGS_H
#define KDELTA_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/setting.h"

struct settings_config {
	const char *root; /* "" in production; tests bring a tree of /proc and /sys of their own */
	const char *dir;  /* of the journal; NULL: as above */
	bool journal;	  /* false: the machine ends with the agent (a guest) */
	/* What a person must know: one line, without a newline. */
	void (*say)(void *arg, const char *text);
	void *arg;
};

struct settings;

/* Touches nothing yet. settings_free() restores nothing. */
struct settings *settings_new(const struct settings_config *c);
void settings_free(struct settings *s);

/*
 * Puts back what an agent that crashed left behind, and says each. What cannot be put back is
 * said, stays in the journal, and is tried again at the end and at the next start.
 */
void settings_recover(struct settings *s);
/*
 * Makes these the only settings that differ from what was found; reads all of them back.
 * ret_values (n of them, strings from the arena) have the values as the kernel tells them.
 * Negative: the invocation must not run. *ret_skip: it cannot be done here (there is no such
 * setting, no permission, no journal; another live agent has settings changed, which counts without
 * any of our own, too); else the kernel refused the value, or it did not take.
 */
int settings_want(struct settings *s, const struct setting *want, size_t n, struct arena *a,
		  struct setting *ret_values, bool *ret_skip, struct error *e);
/*
 * Have they still these values? -ESTALE names the first that has not. -EBUSY: another agent has
 * begun to change settings.
 */
int settings_check(struct settings *s, const struct setting *want, size_t n, struct error *e);
/* Puts back all; returns how many could not be, each of which was said. */
unsigned settings_restore(struct settings *s);

/* What `kdelta-agent list` tells of the kinds. Arena memory. */
void settings_list(struct arena *a, struct setting_info **ret, size_t *ret_n);

#endif
