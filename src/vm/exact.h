/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's boots: to the quiet point and its snapshot, and runs from it. docs/adr/0002-exact.md
 * has the machine and the reasons. The rules of vm.h hold: no QEMU outlives the caller, several may
 * run at once in threads of their own, only VM_LINE_DONE is success.
 *
 * Used of struct vm_config: qemu, kernel_fd, initrd_base, modules, plan_json (of the boot), append,
 * mem_mib, cpu_model (NULL: VM_EXACT_CPU; to any other ",-rdrand,-rdseed" is added), qemu_args, the
 * timeouts, exact_plugin, stop; kvm and cpus are not looked at.
 *
 * The guest is stopped by a watchdog (ib700) that expires while it sleeps, and is saved only if all
 * its CPUs are halted then. A CPU that stops itself (pvpanic) is for a moment stopped in a machine
 * that runs; QEMU then skips to the next timer, or is not quick enough to: digits differed in one
 * boot of four on a busy host. There is such a moment before each halt, too, of some 200
 * instructions (one in 60000 on a busy host): `exact_plugin` is one that waits there until QEMU's
 * main loop sleeps.
 *
 * The guest's memory is a memfd. It is not saved: the boot maps it shared, and each run maps the
 * same pages privately, so that what a run writes is its own. What QEMU saves is the rest, some
 * hundred KiB. So a snapshot costs no time, and a run starts in some 30 ms.
 * Source: QEMU's docs/system/vm-templating.rst, and its migration capability x-ignore-shared.
 */
#ifndef KDELTA_VM_EXACT_H
#define KDELTA_VM_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vm/vm.h"

#define VM_EXACT_CPU	 "max,-rdrand,-rdseed,-la57"
#define VM_EXACT_CMDLINE "quiet nokaslr norandmaps random.trust_cpu=0 cryptomgr.notests"

/* Does not change, so runs in several threads may share it. */
struct vm_snapshot {
	int ram_fd;		   /* memfd: the guest's memory, all of it */
	int kernel_fd, initrd_fd;  /* memfds: what a run's QEMU wants to see of them again */
	void *state;		   /* QEMU's migration stream, without the memory */
	size_t state_len;	   /* bytes */
	uint64_t bytes;		   /* that it holds: state, and memory that was ever touched */
	uint64_t boot_ns, save_ns; /* host time: from QEMU's start to the quiet point; to save it */
};

#define VM_SNAPSHOT_INIT                                                                           \
	{                                                                                          \
		.ram_fd = -1, .kernel_fd = -1, .initrd_fd = -1                                     \
	}

/*
 * Boots until the guest stops itself at the quiet point, then saves it. The callback gets each
 * record line; one it calls VM_LINE_DONE (the agent's `quiet`) must come before the guest stops:
 * one that stops without it is no success. ret_result as vm_run(); end VM_DONE: *ret_snapshot is
 * there, in all other cases it is as VM_SNAPSHOT_INIT.
 */
int vm_exact_boot(const struct vm_config *cfg, unsigned smp, VM_LINE_CALLBACK(line), void *arg,
		  struct vm_result *ret_result, struct vm_snapshot *ret_snapshot, struct error *e);

struct vm_exact_run {
	const struct vm_snapshot *snapshot;
	const char *plan_json; /* at most EXACT_RUN_BYTES, without a NUL */
	const char *plugin;    /* path; NULL: none (to see what it costs) */
	const char *contexts;  /* text for it; "" or NULL: none */
};

/*
 * One run from the snapshot, with the cfg and the smp of its boot. When the callback says
 * VM_LINE_DONE QEMU is killed. *ret_counts: what the plugin wrote, a NUL behind it; the caller
 * frees; NULL: nothing, or the end is not VM_DONE. cfg->silence_timeout_ns is for the whole run, as
 * records come only at its end. ret_result->boot_ns is here the time from QEMU's start until the
 * guest went on. -EINVAL: the plan is too long.
 */
int vm_exact_run(const struct vm_config *cfg, unsigned smp, const struct vm_exact_run *run,
		 VM_LINE_CALLBACK(line), void *arg, struct vm_result *ret_result, char **ret_counts,
		 size_t *ret_len, struct error *e);
/* Takes NULL and VM_SNAPSHOT_INIT; leaves the latter. */
void vm_snapshot_done(struct vm_snapshot *s);

/* What -cpu gets for a model (NULL: VM_EXACT_CPU). Caller frees. */
char *vm_exact_cpu(const char *model);
/*
 * Does this QEMU take plugins? -ENOTSUP with the reason: built without them. `smp` above 1 needs
 * QEMU 9.0 or newer: 7.2's round robin hands one CPU the whole budget and hangs at boot. `version`
 * is of vm_qemu_version(); further as that.
 */
int vm_exact_check(const char *qemu, const char *version, unsigned smp, struct error *e);

#endif
