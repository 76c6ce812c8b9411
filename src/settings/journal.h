/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was changed and how it comes back, on disk, and the lock that one live agent holds.
 *
 * DIR/settings.json is one JSON object:
 *	{"journal":1,"boot_id":"...","pid":123,"entries":[{"name":"net.ipv4.tcp_sack","old":"1",
 *	 "undo":["net.ipv4.tcp_sack","1"],"ns":"net","ns_inode":4026531840,"ns_cookie":1}]}
 * It is replaced as a whole, fsynced. DIR/settings.lock is locked by flock(2), which ends with the
 * process that holds it; its text is that process's id.
 */
#ifndef KDELTA_SETTINGS_JOURNAL_H
#define KDELTA_SETTINGS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct journal_entry {
	char *name, *old;	      /* what was changed, and what it was before */
	char *undo_name, *undo_value; /* what brings that back */
	char *ns;		      /* as in /proc/self/ns: "net"; NULL: of the machine */
	uint64_t ns_inode, ns_cookie; /* 0: unknown */
	bool left;		      /* by an agent that is no more */
	bool said;		      /* that it cannot be put back */
};

struct journal {
	struct journal_entry *items;
	size_t n, cap;
	long pid; /* who wrote it */
};

#define JOURNAL_SYSTEM_DIR "/run/kdelta"

/* The folder by default, see settings.h; the caller frees. NULL: there is none. */
char *journal_dir(void);
/* Makes the folder. -EBUSY names who holds the lock; close(*ret_fd) gives it back. */
int journal_lock(const char *dir, int *ret_fd, struct error *e);
/*
 * -ENOENT: there is none, or it is of an earlier boot and was removed. -EPERM: it is another
 * user's, who could have written anything into it. -EBADMSG: damaged.
 */
int journal_read(const char *dir, struct journal *ret, struct error *e);
/*
 * Does another live process hold the lock? Then *ret is what it has changed, none where that cannot
 * be read; journal_done() it in any case. Takes and writes nothing.
 */
bool journal_live(const char *dir, struct journal *ret);
/* Without entries the file is removed. */
int journal_write(const char *dir, const struct journal *j, struct error *e);
/* Text to entries; for journal_read(), and for tests. */
int journal_decode(const char *text, size_t len, const char *boot_id, struct journal *ret,
		   struct error *e);

/* Room for one more at the end, zeroed. */
struct journal_entry *journal_add(struct journal *j);
void journal_drop(struct journal *j, size_t i);
void journal_done(struct journal *j);

#endif
