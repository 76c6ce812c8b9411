/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Namespaces of settings: a sysctl of one network namespace is another one elsewhere.
 * namespaces(7), setns(2); SO_NETNS_COOKIE, which unlike an inode is never used again (Linux 5.14).
 */
#ifndef KDELTA_SETTINGS_NS_H
#define KDELTA_SETTINGS_NS_H

#include "base/error.h"
#include "settings/journal.h"

/* This process's namespace of that kind; 0 where unknown. */
void ns_here(const char *ns, uint64_t *ret_inode, uint64_t *ret_cookie);
/* Is the namespace of an entry ours, as far as can be told? */
bool ns_is_here(const struct journal_entry *it);
/*
 * Enters the namespace of an entry. *ret_back: for ns_leave(), -1 where we are in it already.
 * -ENOENT: it is no more, and with it its settings.
 */
int ns_enter(const struct journal_entry *it, int *ret_back, struct error *e);
/* Goes back; ends the process where that is not possible, as nothing it did would be right. */
void ns_leave(int *back);

#endif
