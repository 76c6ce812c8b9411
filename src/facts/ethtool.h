/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offloads of network devices, by the ioctls that ethtool(8) began with: they are in every kernel,
 * and each is about one feature. Sources: linux/ethtool.h; netdevice(7).
 */
#ifndef KDELTA_FACTS_ETHTOOL_H
#define KDELTA_FACTS_ETHTOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ethtool_feature {
	const char *name;  /* as ethtool(8) takes it: "tso"; NULL ends the table */
	uint32_t get, set; /* ETHTOOL_G..., ETHTOOL_S... */
	uint32_t flag;	   /* this bit of a word of flags; 0: a command of its own */
};

extern const struct ethtool_feature ethtool_features[];

/* One command with its word, in the network namespace of the caller. -ENODEV, -EOPNOTSUPP, ... */
int ethtool_command(const char *dev, uint32_t cmd, uint32_t *data, struct error *e);
int ethtool_get(const char *dev, const struct ethtool_feature *f, bool *ret_on, struct error *e);

#endif
