/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

const struct ethtool_feature ethtool_features[] = {
	{ "rx", ETHTOOL_GRXCSUM, ETHTOOL_SRXCSUM, 0 },
	{ "tx", ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM, 0 },
	{ "sg", ETHTOOL_GSG, ETHTOOL_SSG, 0 },
	{ "tso", ETHTOOL_GTSO, ETHTOOL_STSO, 0 },
	{ "gso", ETHTOOL_GGSO, ETHTOOL_SGSO, 0 },
	{ "gro", ETHTOOL_GGRO, ETHTOOL_SGRO, 0 },
	{ "lro", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_LRO },
	{ "rxvlan", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_RXVLAN },
	{ "txvlan", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_TXVLAN },
	{ "ntuple", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_NTUPLE },
	{ "rxhash", ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_RXHASH },
	{ NULL, 0, 0, 0 },
};

int ethtool_command(const char *dev, uint32_t cmd, uint32_t *data, struct error *e)
{
	CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ethtool_value v = { .cmd = cmd, .data = *data };
	struct ifreq r = { .ifr_data = (char *)&v };

	if (strlen(dev) >= sizeof(r.ifr_name))
		return error_set(e, ENODEV, "'%s' is no network device", dev);
	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(e, errno, "a socket to ask %s by", dev);
	strcpy(r.ifr_name, dev);
	if (ioctl(fd, SIOCETHTOOL, &r) < 0)
		return error_errno(e, errno, "device %s", dev);
	*data = v.data;
	return 0;
}

int ethtool_get(const char *dev, const struct ethtool_feature *f, bool *ret_on, struct error *e)
{
	uint32_t data = 0;
	int r = ethtool_command(dev, f->get, &data, e);

	*ret_on = (f->flag ? data & f->flag : data) != 0;
	return r;
}
