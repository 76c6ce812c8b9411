/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Typed parameters of a workload: a table, values parsed against it, and one canonical text.
 *
 * The canonical text ("procs=2,size=0,place=same") names every parameter, in the table's order,
 * in its shortest exact form. It is part of a result's key: two results with different texts are
 * never compared. Values never contain ',', '+' or '='; a PARAM_TEXT that does is quoted ("...").
 */
#ifndef KDELTA_MODEL_PARAM_H
#define KDELTA_MODEL_PARAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum param_type {
	PARAM_UINT = 1, /* a whole number */
	PARAM_BYTES,	/* bytes: 64KiB, 4096 */
	PARAM_TIME,	/* nanoseconds: 10ms, 2s */
	PARAM_CHOICE,	/* one of `choices` */
	PARAM_TEXT,	/* any text */
};

struct param {
	const char *name; /* NULL ends a table */
	enum param_type type;
	const char *def; /* default, as typed by a person */
	/* Of numbers; max 0: no upper limit. A text with min 1 must be given, and not be empty. */
	uint64_t min, max;
	const char *choices; /* PARAM_CHOICE: "same|spread|free" */
	const char *sweep;   /* what a default run measures: "same+spread"; NULL: def alone */
	const char *help;
	uint64_t multiple; /* of numbers: what it must be a multiple of; 0: anything */
};

struct args {
	const struct param *params; /* borrowed */
	const char **value;	    /* canonical text of each */
	uint64_t *number;	    /* its value, where it is a number */
	size_t n;
};

/*
 * Parses "procs=2,size=64KiB" (NULL or "": all defaults) against a table. Memory from the arena.
 * -EINVAL with one line: unknown parameter (and those known), bad value, out of range, twice.
 */
int args_parse(const struct param *params, const char *text, struct arena *a, struct args *ret,
	       struct error *e);
char *args_canonical(const struct args *args, struct arena *a);
/* By name; the name must be in the table (a programming error otherwise: abort). */
uint64_t args_u64(const struct args *args, const char *name);
const char *args_text(const struct args *args, const char *name);
/* One value brought to its canonical form. */
int param_check(const struct param *p, const char *value, struct arena *a, const char **ret_value,
		uint64_t *ret_number, struct error *e);
size_t param_count(const struct param *params);
/* It has no default: see `min`. */
bool param_required(const struct param *p);
/* A value as it stands in a canonical text: in quotes where it needs them. */
char *param_quoted(const char *value, struct arena *a);

json_t *param_encode_all(const struct param *params);
int param_decode_all(const json_t *array, struct arena *a, struct param **ret, struct error *e);

#endif
