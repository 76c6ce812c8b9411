/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>

#include "kbuild/internal.h"

/*
 * Over "make allnoconfig": all that is not here is off. A name that a kernel does not know is
 * ignored, so names of several versions stand side by side; what others select is not repeated.
 */
const char *const kbuild_tiny[] = {
	/* x86-64 with more than one CPU, as distributions have it. */
	"64BIT",
	"SMP",
	"EXPERT",
	"HYPERVISOR_GUEST",
	"PARAVIRT",
	"KVM_GUEST",
	"CC_OPTIMIZE_FOR_PERFORMANCE",
	"KERNEL_GZIP",
	"BUG",
	"BASE_FULL",

	/* Ticks that stop when idle, timers of nanoseconds. */
	"HZ_250",
	"NO_HZ_IDLE",
	"HIGH_RES_TIMERS",
	"POSIX_TIMERS",
	"HPET_TIMER",
	"X86_PM_TIMER",
	"CPU_IDLE",

	/* The console and the records: a 16550 each. */
	"PRINTK",
	"PRINTK_TIME",
	"EARLY_PRINTK",
	"TTY",
	"UNIX98_PTYS",
	"SERIAL_8250",
	"SERIAL_8250_CONSOLE",
	"SERIAL_8250_PNP",
	"SERIAL_8250_NR_UARTS=4",
	"SERIAL_8250_RUNTIME_UARTS=4",

	/* Or virtio-serial, which needs PCI; ACPI to power off. */
	"PCI",
	"PCI_MSI",
	"ACPI",
	"PNP",
	"VIRTIO_MENU",
	"VIRTIO_PCI",
	"VIRTIO_PCI_LEGACY",
	"VIRTIO_CONSOLE",

	/* The agent is init, in an initramfs. */
	"BLK_DEV_INITRD",
	"RD_GZIP",
	"RD_XZ",
	"BINFMT_ELF",
	"BINFMT_SCRIPT",
	"DEVTMPFS",
	"SHMEM",
	"TMPFS",
	"PROC_FS",
	"PROC_SYSCTL",
	"PROC_PAGE_MONITOR",
	"SYSFS",
	"VM_EVENT_COUNTERS",
	"MULTIUSER",

	/* What workloads ask a kernel for. */
	"FUTEX",
	"EPOLL",
	"EVENTFD",
	"SIGNALFD",
	"TIMERFD",
	"AIO",
	"IO_URING",
	"ADVISE_SYSCALLS",
	"MEMBARRIER",
	"RSEQ",
	"FILE_LOCKING",
	"INOTIFY_USER",
	"SYSVIPC",
	"POSIX_MQUEUE",
	"NET",
	"UNIX",
	"INET",
	"IPV6",
	"PACKET",

	/* Exact mode: the ports that its records leave by. */
	"X86_IOPL_IOPERM",

	/* What it is made of, and what it runs on. */
	"DMI",
	"DMIID",
	"KALLSYMS",
	"KALLSYMS_ALL",
	"IKCONFIG",
	"IKCONFIG_PROC",
	"PERF_EVENTS",
	NULL,
};
