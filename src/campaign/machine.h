/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This machine, as far as numbers that were measured on it depend on it. */
#ifndef KDELTA_CAMPAIGN_MACHINE_H
#define KDELTA_CAMPAIGN_MACHINE_H

/* "model name" of the first CPU. Caller frees; NULL: it does not say. */
char *machine_cpu_model(void);

#endif
