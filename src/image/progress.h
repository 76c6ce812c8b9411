/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a download tells how far it is, about 4 times a second. */
#ifndef KDELTA_IMAGE_PROGRESS_H
#define KDELTA_IMAGE_PROGRESS_H

#include <stdint.h>

struct image_progress {
	/*
	 * `what`: "linux-image-... 6.1.192-1"; bytes had and expected (0: unknown). The last call
	 * of a download that worked has had = expected. Not 0: stop, the caller gets -ECANCELED.
	 */
	int (*report)(void *arg, const char *what, uint64_t bytes, uint64_t of_bytes);
	void *arg;
};

#endif
