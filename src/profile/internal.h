/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share. */
#ifndef KDELTA_PROFILE_INTERNAL_H
#define KDELTA_PROFILE_INTERNAL_H

#include "profile/profile.h"

/* Name and module under which symbols stand together; `name` need not end after `len`. */
struct fold_key {
	const char *name, *module;
	size_t len;
	bool head; /* its first instruction begins the function: no .cold, no local label */
};

/* The keys of all symbols of one profile, in its order. */
void fold_keys(const struct exact_profile *p, const struct profile_options *o,
	       struct fold_key *ret);
int fold_compare(const struct fold_key *a, const struct fold_key *b);
bool fold_is_address(const char *name);
/* By name, then module: the order of profile.symbols. */
int profile_symbol_compare(const struct profile_symbol *a, const struct profile_symbol *b);
/* Finds likely renames among the rows and sets `twin`. */
void profile_pair_renames(struct profile_diff *d, struct arena *a);

#endif
