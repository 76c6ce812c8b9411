/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/str.h"
#include "profile/internal.h"
#include "symbol/symbol.h"

/* A local label lies in the function before it, and that is not far. */
#define LABEL_REACH 4096u

bool fold_is_address(const char *name)
{
	return str_starts(name, "0x");
}

static bool is_label(const char *name)
{
	return name[0] == '.';
}

static bool holds(const char *s, const char *word)
{
	return strstr(s, word) != NULL;
}

static struct fold_key plain(const struct exact_symbol *s)
{
	return (struct fold_key){ s->name, s->module, strlen(s->name), true };
}

void fold_keys(const struct exact_profile *p, const struct profile_options *o, struct fold_key *ret)
{
	size_t i, owner = 0;
	bool owned = false;

	for (i = 0; i < p->n; i++) {
		const struct exact_symbol *s = &p->symbols[i];
		struct fold_key *k = &ret[i];

		*k = plain(s);
		if (fold_is_address(s->name)) {
			if (!o->addresses)
				*k = (struct fold_key){ PROFILE_NO_SYMBOL, NULL,
							sizeof(PROFILE_NO_SYMBOL) - 1, true };
			owned = false;
		} else if (o->no_fold || s->name[0] == '[') {
			owned = false;
		} else if (is_label(s->name)) {
			if (!owned || s->addr - p->symbols[owner].addr >= LABEL_REACH ||
			    !str_eq(s->module, p->symbols[owner].module))
				continue;
			*k = ret[owner];
			k->head = false;
		} else {
			k->len = symbol_fold_len(s->name);
			if (!k->len)
				*k = plain(s);
			k->head = !holds(s->name + k->len, ".cold");
			owner = i;
			owned = true;
		}
	}
}

int fold_compare(const struct fold_key *a, const struct fold_key *b)
{
	int r = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);

	if (!r)
		r = (a->len > b->len) - (a->len < b->len);
	return r ? r : strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

bool profile_is_spin(const char *name)
{
	/* Where a CPU of Linux waits for another: locks by spinning, and answers to an IPI. */
	static const char *const whole[] = {
		"native_queued_spin_lock_slowpath",
		"queued_spin_lock_slowpath",
		"__pv_queued_spin_lock_slowpath",
		"queued_read_lock_slowpath",
		"queued_write_lock_slowpath",
		"osq_lock",
		"mutex_optimistic_spin",
		"mutex_spin_on_owner",
		"rwsem_optimistic_spin",
		"rwsem_spin_on_owner",
		"rtmutex_spin_on_owner",
		"smp_call_function_single",
		"smp_call_function_many",
		"smp_call_function_many_cond",
		"csd_lock_wait",
		"__csd_lock_wait",
		"multi_cpu_stop",
	};
	size_t i;

	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(name, whole[i]))
			return true;
	return false;
}
