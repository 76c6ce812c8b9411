/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's records (model/exact.h) are kept as they came, as those of unknown kinds are. Here
 * they are decoded for a dataset.
 */
#ifndef KDELTA_STORE_EXACT_H
#define KDELTA_STORE_EXACT_H

#include <stdint.h>

#include "base/error.h"
#include "model/dataset.h"
#include "store/db.h"

/*
 * Sets windows and profile of invocation `index` of class "exact", whose local number is `n`. What
 * is not there or cannot be read stays NULL; of several records the first counts. *st is kept for
 * the next time. An error is one of the file.
 */
int exact_read(struct store *s, sqlite3_stmt **st, int64_t n, struct dataset *d, unsigned index,
	       struct error *e);

#endif
