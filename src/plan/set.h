/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --set NAME=V1+V2: settings that are crossed with each other and with all points, as people write
 * them. One option is one axis.
 *
 *	net.ipv4.tcp_sack=1+0		a setting (model/setting.h) and its values
 *	offload:eth0:tso,gso=on+off	several of one kind that change together: two settings
 *	boot:mitigations=auto+off	a word of the kernel's command line: each value is a boot of
 *					its own, so that it makes another kernel of a kernel
 *
 * A value in quotes may hold '+', and \" and \\. The first value is the headline's.
 */
#ifndef KDELTA_PLAN_SET_H
#define KDELTA_PLAN_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "model/info.h"
#include "model/setting.h"

struct set_axis {
	bool boot;
	const char **names; /* in normal form; of a boot parameter one, without "boot:" */
	const char **values;
	size_t n_names, n_values;
};

struct sets {
	struct arena arena;
	struct set_axis *axes;
	size_t n, cap;
};

#define SETS_MAX 1000u /* combinations */

/*
 * Adds an axis. -EINVAL in one line: no NAME=VALUE, a kind that the agent does not know (with those
 * it does), a value it does not take, a name or value twice, too many combinations.
 */
int sets_add(struct sets *s, const char *text, const struct workload_list *known, struct error *e);
/* Combinations of settings, or of boot parameters; 1 where there are none. */
size_t sets_count(const struct sets *s, bool boot);
/*
 * Combination i of the settings, by name. In this order one follows on the other by a change of one
 * axis, forwards and backwards; 0 has the first value of each. Memory from `a`.
 */
void sets_choose(const struct sets *s, size_t i, struct arena *a, struct setting **ret,
		 size_t *ret_n);
/* Combination i of the boot parameters: "mitigations=off nosmt=force", "" for none. */
char *sets_boot_words(const struct sets *s, size_t i, struct arena *a);
void sets_done(struct sets *s);

#endif
