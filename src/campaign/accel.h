/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM or TCG? That /dev/kvm can be opened says little: in a guest of a guest it may be there and
 * run nothing. So KVM is tried with a boot of the first kernel, and the answer remembered in the
 * cache folder (kvm.json), for this boot of this machine, its kernel's release and QEMU's version.
 */
#ifndef KDELTA_CAMPAIGN_ACCEL_H
#define KDELTA_CAMPAIGN_ACCEL_H

#include <stdbool.h>

#include "campaign/campaign.h"

#define ACCEL_DEVICE	 "/dev/kvm"	/* $KDELTA_KVM names another file to look for: for tests */
#define ACCEL_TIMEOUT_NS 20000000000ull /* to hello; KVM needs a tenth of that */

/*
 * Sets host->kvm as v->accel says; the rest of *host is ready. Why "auto" becomes TCG though there
 * is a device is said on stderr. -ENODEV, -EACCES ...: "kvm" was asked for and there is no device
 * to use; -EINTR: interrupted.
 */
int accel_choose(struct campaign *c, const struct campaign_vm *v,
		 const struct campaign_kernel *kernels, unsigned n, struct campaign_host *host,
		 struct error *e);

#endif
