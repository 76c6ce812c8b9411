/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of `kdelta list` that come from the store; each returns the exit code. */
#ifndef KDELTA_CMD_LIST_H
#define KDELTA_CMD_LIST_H

#include <stdbool.h>

#include "base/error.h"

struct list {
	bool json, offered;
	const char *store; /* NULL: the default one */
};

int list_labels(const struct list *l, struct error *e);
int list_experiments(const struct list *l, struct error *e);

#endif
