/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's initramfs, written by libarchive as newc cpio. vm_initrd_base() (vm.h) makes the
 * first archive; modules and plan are a second one behind it, so that the base bytes never change
 * between boots. Times, owners and inode numbers are fixed.
 * Source: Documentation/driver-api/early-userspace/buffer-format.rst.
 */
#ifndef KDELTA_VM_INITRAMFS_H
#define KDELTA_VM_INITRAMFS_H

#include <stddef.h>

#include "base/error.h"
#include "vm/vm.h"

/* The second archive: VM_PLAN_PATH, and VM_MODULES_PATH/NN-NAME.ko for modules. Caller frees. */
int initramfs_boot(const struct vm_config *cfg, void **ret, size_t *ret_len, struct error *e);
/* -ENOEXEC unless these bytes are an x86-64 ELF program without an interpreter. */
int initramfs_check_agent(const void *data, size_t len, const char *name, struct error *e);

#endif
