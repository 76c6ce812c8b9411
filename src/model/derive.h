/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts that the agent cannot see, or not all of, and that follow from the kernel's configuration,
 * which the host knows. They are of class derived, from before, and are added to each boot of a
 * kernel whose configuration is known; what the agent saw by itself is kept.
 *
 *	cputime     how the kernel counts user and system time: "tick" (the whole tick belongs to
 *	            what it found running), "virt-gen" (at each entry and exit; only with nohz_full
 *	            CPUs, or forced), "virt-native"; then ", irq-time" where interrupts are taken
 *off sched_smt   "on", "off": does the scheduler know of the threads of a core? preemption
 *"dynamic" becomes "dynamic, now voluntary": preempt= or the configuration's
 *
 * Sources: init/Kconfig ("CPU/Task time and stats accounting"), kernel/Kconfig.preempt,
 * kernel/sched/core.c (preempt=), and kernel/context_tracking.c of the kernel.
 */
#ifndef KDELTA_MODEL_DERIVE_H
#define KDELTA_MODEL_DERIVE_H

#include "model/dataset.h"

#define DERIVE_CPUTIME "cputime"

/* By dataset_finish(). */
void derive_facts(struct dataset *d);

#endif
