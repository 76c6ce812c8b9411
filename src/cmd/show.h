/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `kdelta show` prints of a label: a dataset of its boots, with their numbers in the whole
 * experiment.
 */
#ifndef KDELTA_CMD_SHOW_H
#define KDELTA_CMD_SHOW_H

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"
#include "model/dataset.h"

struct show {
	const struct dataset *d;
	const char *label;	    /* as typed */
	const unsigned *number;	    /* of each boot: 1, 2, ... in its experiment, as it happened */
	const char *const *console; /* of each boot; NULL: none was kept */
	bool with_console;
};

/* Both in show_facts.c: of the boots of one kernel. */
void show_facts_text(struct str *out, const struct show *s, unsigned kernel);
json_t *show_facts_json(const struct ds_fact *facts, size_t n);

#endif
