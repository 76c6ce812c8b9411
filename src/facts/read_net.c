/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about network devices. */
#include "facts/reader.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "facts/ethtool.h"

#define LARGE (1u << 20) /* bytes of a buffer; smaller ones are never cut to memory */

/* Those that decide who cuts and who sums up the packets. */
static const char *const shown[] = { "rx", "tx", "sg", "tso", "gso", "gro", "lro" };

static bool is_shown(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shown); i++)
		if (!strcmp(shown[i], name))
			return true;
	return false;
}

/* "rx,tx,sg,gso": what is on. */
static void put_offloads(struct collect *c, const struct fact_row *row, const char *dev)
{
	CLEANUP_FREE char *name = mem_printf("%s.%s", row->name, dev);
	const struct ethtool_feature *f;
	struct error e = ERROR_INIT;
	struct str on = STR_INIT;
	unsigned told = 0;
	bool is_on;

	for (f = ethtool_features; f->name; f++) {
		/* A device that does not know a feature has it off. */
		if (!is_shown(f->name) || ethtool_get(dev, f, &is_on, &e) < 0)
			continue;
		told++;
		if (is_on)
			str_printf(&on, "%s%s", on.len ? "," : "", f->name);
	}
	if (told)
		fact_put_as(c, row, name, on.len ? str_get(&on) : "none", NULL);
	else
		fact_put_as(c, row, name, NULL, e.text);
	str_done(&on);
}

/* A piece of hardware that is up: bridges and what containers come with pass nothing on here. */
static bool is_in_use(const struct facts_source *src, const struct fact_row *row, const char *dev)
{
	CLEANUP_FREE char *hardware = mem_printf("%s/%s/device", row->from, dev);
	CLEANUP_FREE char *flags = source_line(src, NULL, "%s/%s/flags", row->from, dev);

	/* A /sys that was mounted elsewhere has devices of another network namespace. */
	return if_nametoindex(dev) && source_exists(src, hardware) == 1 && flags &&
	       (strtoul(flags, NULL, 16) & IFF_UP);
}

/* Offloads are asked of the kernel, so that loopback's are known without a /sys. */
void fact_read_offloads(struct collect *c, const struct fact_row *row)
{
	char **names = NULL;
	size_t n = 0, i;

	if (*c->src->root) {
		fact_put_as(c, row, "offload.lo", NULL, "no files tell it");
		return;
	}
	put_offloads(c, row, "lo");
	source_names(c->src, row->from, &names, &n, NULL);
	for (i = 0; i < n; i++)
		if (strcmp(names[i], "lo") != 0 && is_in_use(c->src, row, names[i]))
			put_offloads(c, row, names[i]);
	source_names_free(names, n);
}

/* The last of the three is cut to the machine's memory where that is small. */
void fact_read_tcp_buffers(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = fact_sysctl_or_put(c, row);
	CLEANUP_FREE char *rounded = NULL;
	char *last = s ? strrchr(s, ' ') : NULL;
	uint64_t bytes;

	if (last && unit_parse_u64(last + 1, &bytes, NULL) == 0 && bytes >= LARGE &&
	    bytes <= UINT64_MAX / 2)
		rounded = mem_printf("%.*s %" PRIu64, (int)(last - s), s, fact_round_memory(bytes));
	if (s)
		fact_put(c, row, rounded ? rounded : s, NULL);
}
