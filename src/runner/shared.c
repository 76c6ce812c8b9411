/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int shared_end(struct shared *sh, enum shared_end how, int code, const char *fmt, ...)
{
	uint32_t running = SHARED_RUNNING;
	va_list ap;

	if (code <= 0)
		code = 5; /* EIO: an end is never a success */
	if (!atomic_compare_exchange_strong(&sh->ended, &running, (uint32_t)how))
		return -code;
	va_start(ap, fmt);
	vsnprintf(sh->reason, sizeof(sh->reason), fmt, ap);
	va_end(ap);
	atomic_store(&sh->worded, 1);
	return -code;
}

void shared_phase(struct shared *sh, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sh->phase, sizeof(sh->phase), fmt, ap);
	va_end(ap);
	atomic_fetch_add(&sh->beat, 1);
}
