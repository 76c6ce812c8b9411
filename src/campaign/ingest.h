/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of one boot on their way into the store, whatever channel they came through. */
#ifndef KDELTA_CAMPAIGN_INGEST_H
#define KDELTA_CAMPAIGN_INGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "campaign/campaign.h"

struct ingest {
	struct campaign *c;
	const struct image *image; /* what must answer; NULL: whatever runs */
	const char *kernel;	   /* its id in the store */
	struct store_sink *sink;
	bool hello, done, wrong_kernel;
};

/* 0: go on, 1: that was the last line, negative: this boot is not to be trusted any further. */
int ingest_line(struct ingest *in, const char *line, size_t len, struct error *e);
/* Ends the boot in the store: ok only after `done` and no fault. */
int ingest_end(struct ingest *in, const char *boot, const struct store_boot_end *end,
	       struct campaign_tally *tally, struct error *e);

#endif
