/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of vm_shell_read() (vm.h) that reads a dynamic linker's words. */
#ifndef KDELTA_VM_SHELL_H
#define KDELTA_VM_SHELL_H

#include "base/error.h"

/*
 * Calls `add` with each path of the lines "NAME => PATH (0x...)" and "PATH (0x...)" that
 * `ld.so --list` prints; what has no path (the vDSO) is passed over. -ELIBACC: "not found" stands
 * at a library. A negative value of `add` ends it and is returned.
 */
int shell_libraries(const char *text, int (*add)(void *arg, const char *path, struct error *e),
		    void *arg, struct error *e);

#endif
