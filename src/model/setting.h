/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A setting of the machine that is changed while a workload runs, as the plan and a result's key
 * carry it. Which kinds there are only the agent knows (settings/settings.h); it lists them, and
 * the host reads the list.
 *
 * A name is KIND, or KIND:ARGUMENT[:...], or of the kind "sysctl" and then written without it:
 *
 *	net.ipv4.tcp_sack			as sysctl(8) writes it
 *	net.ipv4.conf.eth0/1.forwarding		a dot within a part is '/', a slash in /proc/sys '.'
 *	offload:eth0:tso			one feature
 *	thp
 *
 * Names are printable ASCII without blanks and , + = " \ so that they need no quotes anywhere.
 */
#ifndef KDELTA_MODEL_SETTING_H
#define KDELTA_MODEL_SETTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

struct setting {
	const char *name, *value; /* in their normal form */
};

#define SETTING_SYSCTL	 "sysctl"
#define SETTING_NAME_MAX 200u
#define SETTINGS_MAX	 64u /* of one invocation */

/*
 * A name's normal form: "net/ipv4/tcp_sack", "/proc/sys/net/ipv4/tcp_sack" and
 * "sysctl:net.ipv4.tcp_sack" are "net.ipv4.tcp_sack". -EINVAL: no such name can be.
 */
int setting_name(const char *name, struct arena *a, const char **ret_name, struct error *e);
/*
 * A value's normal form: no blanks at the ends, one between words. -EINVAL for control characters,
 * and what is not UTF-8.
 */
int setting_value(const char *value, struct arena *a, const char **ret_value, struct error *e);
/* The kind of a name in normal form ("sysctl", "offload"); *ret_arg: the rest, "" for none. */
const char *setting_kind(const char *name, struct arena *a, const char **ret_arg);
/* "net.ipv4.tcp_sack" as "/proc/sys/net/ipv4/tcp_sack". */
char *setting_sysctl_path(const char *name, struct arena *a);
/* Values that mean the same: as texts, or all their words equal as numbers ("0x10" and "16"). */
bool setting_same(const char *a, const char *b);
/* By name, as they are applied and stand in the key. */
void settings_sort(struct setting *s, size_t n);
/*
 * The parameters of a result with its settings behind them, by name, quoted where need be:
 * "procs=2,place=same,set:net.ipv4.tcp_sack=0". The caller frees.
 */
char *settings_key(const char *params, const struct setting *s, size_t n);

/* [["NAME","VALUE"],...]; decoding brings it to normal form and refuses a name twice. */
json_t *settings_encode(const struct setting *s, size_t n);
int settings_decode(const json_t *array, struct arena *a, struct setting **ret, size_t *ret_n,
		    struct error *e);

/* What the agent says of a kind. */
struct setting_info {
	const char *name;    /* "offload" */
	const char *form;    /* how a name is written: "offload:DEV:FEATURE" */
	const char *choices; /* "on|off"; NULL: see doc */
	const char *doc;     /* one sentence */
};

json_t *setting_info_encode(const struct setting_info *s);
int setting_info_decode_all(const json_t *array, struct arena *a, struct setting_info **ret,
			    size_t *ret_n, struct error *e);

#endif
