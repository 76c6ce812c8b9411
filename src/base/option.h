/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command line options from one typed table: parsing, checking and the help text come from the
 * same lines. Options and arguments may be mixed; "--" ends options; "-" is an argument.
 */
#ifndef KDELTA_BASE_OPTION_H
#define KDELTA_BASE_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum option_type {
	OPTION_FLAG = 1, /* bool * */
	OPTION_TEXT,	 /* const char ** (borrowed from argv) */
	OPTION_TEXTS,	 /* struct option_list *: may be given often */
	OPTION_UINT,	 /* uint64_t *, checked against min and max */
	OPTION_TIME,	 /* uint64_t *, nanoseconds, more than 0 */
	OPTION_BYTES,	 /* uint64_t * */
	OPTION_RATIO,	 /* double * */
	OPTION_CHOICE,	 /* const char **, one of `choices` */
	OPTION_HEADING,	 /* a line in the help text */
};

struct option_list {
	const char **items;
	size_t n, cap;
};
void option_list_done(struct option_list *l);

struct option {
	char letter;	  /* 0: none */
	const char *name; /* NULL ends a table */
	enum option_type type;
	void *target;
	const char *arg;     /* what the help calls its value: "FILE" */
	const char *choices; /* OPTION_CHOICE: "text|json" */
	uint64_t min, max;   /* OPTION_UINT; max 0: no limit */
	const char *help;
};

struct option_doc {
	const char *usage;	 /* "kdelta vm [OPTION]... [LABEL=]KERNEL..." */
	const char *summary;	 /* one sentence */
	const char *description; /* paragraphs, wrapped by hand at 78 columns; NULL */
	const char *examples;	 /* lines; NULL */
};

/*
 * Parses argv[1..]; arguments that are no options are moved to the end, in order, and *ret_args
 * is the index of the first. *ret_help is true when -h or --help was given (nothing else is then
 * checked). -EINVAL with one line that names the option and what it takes.
 */
int option_parse(const struct option *table, int argc, char **argv, int *ret_args, bool *ret_help,
		 struct error *e);
void option_help(struct str *out, const struct option_doc *doc, const struct option *table);
/* The closest of `names` (NULL at the end) to a mistyped word; NULL if none is close. */
const char *option_closest(const char *word, const char *const *names);

#endif
