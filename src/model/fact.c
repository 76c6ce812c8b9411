/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/fact.h"

#include <string.h>

#include "base/mem.h"

static const char *const class_names[] = { "",	    "identity", "derived", "environment",
					   "state", "volatile" };
static const char *const when_names[] = { "", "before", "after" };

static unsigned find(const char *const *names, size_t n, const char *s)
{
	unsigned i;

	for (i = 1; s && i < n; i++)
		if (!strcmp(names[i], s))
			return i;
	return 0;
}

const char *fact_class_name(enum fact_class c)
{
	return c < ARRAY_SIZE(class_names) ? class_names[c] : "";
}

enum fact_class fact_class_parse(const char *s)
{
	return (enum fact_class)find(class_names, ARRAY_SIZE(class_names), s);
}

const char *fact_when_name(enum fact_when w)
{
	return w < ARRAY_SIZE(when_names) ? when_names[w] : "";
}

enum fact_when fact_when_parse(const char *s)
{
	return (enum fact_when)find(when_names, ARRAY_SIZE(when_names), s);
}

bool fact_clock_is_slow(const char *clocksource)
{
	static const char *const slow[] = { "hpet", "acpi_pm", "pit", "jiffies",
					    "refined-jiffies" };
	size_t i;

	for (i = 0; clocksource && i < ARRAY_SIZE(slow); i++)
		if (!strcmp(clocksource, slow[i]))
			return true;
	return false;
}
