/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What boots of both kinds share (vm.h, exact.h): descriptors for QEMU, and words for their ends.
 */
#ifndef KDELTA_VM_BOOT_H
#define KDELTA_VM_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "vm/console.h"
#include "vm/vm.h"

/* A timeout: the value, or what it is when that is 0. */
uint64_t boot_or_default(uint64_t value, uint64_t def);
/* A duplicate above 2, as QEMU's own streams go on 0..2; it has FD_CLOEXEC. 0 or -errno. */
int boot_fd_lift(int fd, int *ret_fd);
/* Closes it, unless it is -1, which it is then. */
void boot_fd_drop(int *fd);
/* A socket pair: our end does not block, QEMU's is above 2. Both are the caller's to close. */
int boot_socket(int *ret_ours, int *ret_theirs, struct error *e);
/* The whole initramfs as a memfd above 2. */
int boot_initrd(const struct vm_config *cfg, int *ret_fd, struct error *e);

/* Sets ret->reason; what is not printable becomes '?', as parts of it may be the guest's. */
void boot_reason(struct vm_result *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * What is to be seen of a guest that says nothing on its channel, as the end of a sentence: "; init
 * said: ...". `noise`: what else the channel carried; `spoke`: there were records before.
 */
void boot_seen(const struct console *console, const char *noise, bool spoke, char *buf,
	       size_t size);
/* The console's last lines; QEMU's own words behind them when it is QEMU that failed. To free. */
char *boot_tail(const struct vm_result *ret, const struct console *console,
		const struct console *output);

#endif
