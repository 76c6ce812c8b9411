/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is true of this machine: named properties with their class (model/fact.h), read before and
 * after a run. The table in facts.c is the list; docs name them as `name` does. A name with a dot
 * may stand for a family ("vulnerability.meltdown": one fact a file).
 *
 * Values are text made for being compared and read: "none" and "off" are values; what could not be
 * read, or does not exist here, has no value (NULL) but a reason, and must be taken for unknown,
 * never for none, 0 or 1. Lists of CPUs have the kernel's form "0-7,9,11".
 */
#ifndef KDELTA_FACTS_FACTS_H
#define KDELTA_FACTS_FACTS_H

#include "facts/source.h"
#include "model/fact.h"
#include "model/record.h"

/* Calls `emit` for every fact; the record and its strings are valid within the call only. */
void facts_collect(const struct facts_source *src, enum fact_when when,
		   void (*emit)(void *arg, const struct record_fact *), void *arg);

#endif
