/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suites: named lists of specs (model/spec.h). Adding one is a line in suite.c. */
#ifndef KDELTA_PLAN_SUITE_H
#define KDELTA_PLAN_SUITE_H

#include <stddef.h>

#define SUITE_DEFAULT "default"

struct suite {
	const char *name, *doc;
	const char *const *specs; /* ends with NULL */
};

const struct suite *suite_all(size_t *ret_n);
const struct suite *suite_find(const char *name); /* NULL: no such suite */

#endif
