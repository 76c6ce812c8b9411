/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's arguments in exact mode: docs/adr/0002-exact.md has the machine and the reasons. */
#ifndef KDELTA_VM_EXACT_ARGV_H
#define KDELTA_VM_EXACT_ARGV_H

#include "vm/vm.h"

/* The child's descriptors, all above 2, by their numbers there; -1: not there. */
enum exact_fd {
	EXACT_FD_KERNEL,
	EXACT_FD_INITRD,
	EXACT_FD_RAM,
	EXACT_FD_CONSOLE,  /* files that QEMU writes; */
	EXACT_FD_CHANNEL,  /* nobody can make it wait there */
	EXACT_FD_PLAN,	   /* the fw_cfg file */
	EXACT_FD_CONTROL,  /* a socket */
	EXACT_FD_STATE,	   /* a run: the end of a pipe, from which the state is loaded */
	EXACT_FD_COUNTS,   /* a run with a plugin: the file it writes */
	EXACT_FD_CONTEXTS, /* and the one it reads */
	EXACT_N_FDS,
};

#define EXACT_MEM_MIB 512u /* default of mem_mib */

/* A run has EXACT_FD_STATE, a boot has not. Free with qemu_argv_free(). Source: qemu(1) 7.2. */
char **exact_argv(const struct vm_config *cfg, unsigned smp, const char *path, const char *cmdline,
		  const char *plugin, const int fds[EXACT_N_FDS]);

#endif
