/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KVM or TCG? That /dev/kvm can be opened says little: in a guest of a guest it may be there and
 * run nothing. So KVM is tried with a boot of the kernels, in turn until one comes up, and the
 * answer remembered in the cache folder (kvm.json), for this boot of this machine, its kernel's
 * release, QEMU's version and the device.
 *
 * A guest that hangs may do so without KVM, too. That KVM is dead is remembered only where that can
 * be no fault of the user's settings, and QEMU itself failed or every kernel hung; and for
 * ACCEL_DEAD_S at most.
 */
#ifndef KDELTA_CAMPAIGN_ACCEL_H
#define KDELTA_CAMPAIGN_ACCEL_H

#include <stdbool.h>

#include "campaign/campaign.h"

#define ACCEL_DEVICE	 "/dev/kvm"	/* $KDELTA_KVM names another file to look for: for tests */
#define ACCEL_TIMEOUT_NS 20000000000ull /* to hello; KVM needs a tenth of that */
#define ACCEL_DEAD_S	 86400ull
/* What `kdelta vm` gives a guest that nobody asked to be otherwise. */
#define ACCEL_PLAIN_CPUS    1
#define ACCEL_PLAIN_MEM_MIB 512
/* $KDELTA_KVM_TIMEOUT, in ms, stands in for ACCEL_TIMEOUT_NS: for tests. */

/*
 * Sets host->kvm as v->accel says; the rest of *host is ready. Why "auto" becomes TCG though there
 * is a device is said on stderr. -ENODEV, -EACCES ...: "kvm" was asked for and there is no device
 * to use; -EINTR: interrupted.
 */
int accel_choose(struct campaign *c, const struct campaign_vm *v,
		 const struct campaign_kernel *kernels, unsigned n, struct campaign_host *host,
		 struct error *e);
/* A guest has come up with KVM: a remembered answer that says otherwise is corrected. */
void accel_worked(const struct campaign_host *host);

#endif
