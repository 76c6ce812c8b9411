/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offloads of network devices. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "facts/ethtool.h"
#include "settings/kind.h"

/* "DEV:FEATURE" */
static int parse(const char *arg, char dev[IFNAMSIZ], const struct ethtool_feature **ret,
		 struct error *e)
{
	size_t n = strcspn(arg, ":");
	const char *feature = arg[n] ? arg + n + 1 : "";
	const struct ethtool_feature *f;
	struct str known = STR_INIT;

	if (!n || n >= IFNAMSIZ)
		return error_set(e, ENODEV, "'%.*s' is no network device", (int)n, arg);
	memcpy(dev, arg, n);
	dev[n] = '\0';
	for (f = ethtool_features; f->name; f++) {
		if (!strcmp(f->name, feature)) {
			*ret = f;
			str_done(&known);
			return 0;
		}
		str_printf(&known, "%s%s", known.len ? ", " : "", f->name);
	}
	error_set(e, ENOTSUP, "unknown offload '%s' (known: %s)", feature, str_get(&known));
	str_done(&known);
	return -ENOTSUP;
}

int offload_read(const struct facts_source *src, const char *arg, char **ret_value, struct error *e)
{
	const struct ethtool_feature *f;
	char dev[IFNAMSIZ];
	bool on;
	int r = parse(arg, dev, &f, e);

	(void)src;
	if (!r)
		r = ethtool_get(dev, f, &on, e);
	if (!r)
		*ret_value = mem_strdup(on ? "on" : "off");
	return r;
}

int offload_apply(const struct facts_source *src, const char *arg, const char *value,
		  struct error *e)
{
	bool on = !strcmp(value, "on");
	const struct ethtool_feature *f;
	char dev[IFNAMSIZ];
	uint32_t data = 0;
	int r = parse(arg, dev, &f, e);

	(void)src;
	if (!r && !on && strcmp(value, "off") != 0)
		r = error_set(e, EINVAL, "on or off, not '%s'", value);
	if (!r && f->flag)
		r = ethtool_command(dev, f->get, &data, e);
	if (r < 0)
		return r;
	if (f->flag)
		data = on ? data | f->flag : data & ~f->flag;
	else
		data = on;
	return ethtool_command(dev, f->set, &data, e);
}

const char *offload_ns(const char *arg)
{
	(void)arg;
	return "net";
}
