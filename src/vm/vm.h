/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One boot of one kernel in QEMU, with our agent as init.
 *
 * vm_run() starts QEMU (fork and exec, no shell), gives it the kernel and an initramfs through
 * /proc/self/fd/N (nothing is written to a disk), reads the guest's console (first 16550, ttyS0),
 * hands each line of its record channel to a callback, and returns when QEMU is gone. It is one
 * poll(2) loop; several may run at once in threads of their own.
 *
 * A guest has two devices to send records through: a virtio-serial port named VM_PORT_NAME, and the
 * second 16550 (ttyS1). It takes the port where its kernel has the drivers. Both are read here: the
 * one on which the first record stands (a line that is a JSON object with "k") is the channel, and
 * whatever comes from the other is dropped.
 *
 * No QEMU outlives the caller: the child asks for SIGKILL at its parent's death. That signal is
 * tied to the thread that forked (prctl(2), PR_SET_PDEATHSIG), and vm_run() does not return before
 * the child is reaped, so the rule holds in any thread. QEMU has no option to end when its control
 * socket closes, hence no second line behind this one; a wrapper script must exec QEMU.
 *
 * A guest with panic=-1 under -no-reboot ends in the same way as one that powers off. So only a
 * line that the callback calls the last one (VM_LINE_DONE) makes a boot a success.
 *
 * Sources: qemu(1); QEMU's "QMP reference manual"; Documentation/admin-guide/kernel-parameters.
 */
#ifndef KDELTA_VM_VM_H
#define KDELTA_VM_VM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define VM_QEMU_NAME "qemu-system-x86_64"
#define VM_QEMU_MIN  "7.2" /* older ones are refused */
/*
 * What each guest's command line starts with; the user's append follows and so can override it.
 * no_timer_check: on a busy host TCG delivers ticks late, and the check then panics the guest.
 */
#define VM_CMDLINE	       "console=ttyS0 panic=-1 no_timer_check"
#define VM_CMDLINE_MAX	       2047		   /* COMMAND_LINE_SIZE of x86 less the NUL */
#define VM_LINE_MAX	       (4u << 20)	   /* bytes; a longer record line ends the boot */
#define VM_BOOT_TIMEOUT_NS     120000000000ull	   /* default of boot_timeout_ns */
#define VM_SILENCE_TIMEOUT_NS  120000000000ull	   /* default of silence_timeout_ns */
#define VM_CONTROL_TIMEOUT_NS  30000000000ull	   /* QEMU's greeting, at most the boot timeout */
#define VM_POWEROFF_TIMEOUT_NS 5000000000ull	   /* default of poweroff_timeout_ns */
#define VM_QUIT_TIMEOUT_NS     2000000000ull	   /* from "quit" to SIGKILL */
#define VM_PLAN_PATH	       "/kdelta/plan.json" /* where the guest finds its plan */
#define VM_MODULES_PATH	       "/kdelta/modules"   /* and what it loads first: NN-NAME.ko */
#define VM_PORT_NAME	       "kdelta.channel"

/* Of the kernel that is booted, not compressed. */
struct vm_module {
	const char *name; /* "virtio_console" */
	const void *data;
	size_t len;
};

struct vm_config {
	const char *qemu;	 /* path, or a name looked for in PATH; NULL: VM_QEMU_NAME */
	int kernel_fd;		 /* bzImage or PVH vmlinux, regular file or memfd; borrowed */
	const void *initrd_base; /* of vm_initrd_base() */
	size_t initrd_base_len;
	const struct vm_module *modules; /* in the order to load them in */
	size_t n_modules;
	const char *plan_json;	      /* becomes VM_PLAN_PATH */
	const char *append;	      /* NULL: none */
	unsigned cpus, mem_mib;	      /* 0: 1 CPU, 512 MiB */
	bool kvm;		      /* else TCG */
	const char *cpu_model;	      /* QEMU's -cpu; NULL: host with KVM, else max */
	const char *const *qemu_args; /* words behind all others; NULL at the end, or NULL */
	uint64_t boot_timeout_ns;     /* start to the first line; 0: VM_BOOT_TIMEOUT_NS */
	uint64_t silence_timeout_ns;  /* between lines; 0: VM_SILENCE_TIMEOUT_NS */
	uint64_t total_timeout_ns;    /* start to the last line; 0: none */
	uint64_t poweroff_timeout_ns; /* done or panic to QEMU's end; 0: VM_POWEROFF_TIMEOUT_NS */
	const char *exact_plugin;     /* exact mode's boots load it, to count nothing; NULL: none */
	const volatile sig_atomic_t *stop; /* nonzero: give up soon (within .3 s); NULL: never */
};

enum vm_line {
	VM_LINE_MORE,  /* go on */
	VM_LINE_DONE,  /* this was the guest's last: success */
	VM_LINE_ABORT, /* give this boot up; the callback wrote the reason into `why` */
};

/*
 * Called for each full, non-empty line of the channel, without its end (\n or \r\n) and with a NUL
 * behind it; the bytes are the guest's, so of any kind. Never called again after DONE or ABORT, nor
 * with the torn last line of a guest that died.
 */
#define VM_LINE_CALLBACK(name)                                                                     \
	enum vm_line (*name)(void *arg, const char *line, size_t len, char *why, size_t why_size)

enum vm_end {
	VM_DONE,	 /* the callback said done, whatever came after */
	VM_PANICKED,	 /* panic on the console */
	VM_HUNG,	 /* one of the timeouts */
	VM_EXITED_EARLY, /* the guest powered off or reset without done */
	VM_QEMU_FAILED,	 /* QEMU refused, crashed, was killed or does not answer */
	VM_ABORTED,	 /* the callback's wish, or a line longer than VM_LINE_MAX */
	VM_STOPPED,	 /* *stop */
};

struct vm_result {
	enum vm_end end;
	char reason[300];    /* one printable line; empty for a VM_DONE without anything odd */
	char *console_tail;  /* the last 50 lines, printable ASCII, each ended by \n; may be "" */
	char *cmdline;	     /* the guest's command line, exactly */
	uint64_t boot_ns;    /* QEMU's start to the first line; 0: none came */
	uint64_t total_ns;   /* QEMU's start to its end */
	bool kernel_warned;  /* an oops, BUG, WARNING, stall or panic was on the console */
	const char *channel; /* "virtio", "serial"; NULL: no record came */
	char qemu_exit[100]; /* how QEMU ended: "exit 0", "signal 9", ...; for logs */
};

/*
 * Boots and waits for the end. Negative only for faults of the host, with *ret_result empty:
 * -ENOENT no QEMU, -EINVAL a command line that no kernel takes, -EMFILE ... A guest's fate, and a
 * QEMU that started but failed, is in *ret_result.
 */
int vm_run(const struct vm_config *cfg, VM_LINE_CALLBACK(line), void *arg,
	   struct vm_result *ret_result, struct error *e);
void vm_result_done(struct vm_result *result);
/* "done", "panicked", "hung", "exited early", "qemu failed", "aborted", "stopped". */
const char *vm_end_name(enum vm_end end);

/* Can this be appended to a guest's command line? -EINVAL: too long, not printable. NULL can. */
int vm_check_append(const char *append, struct error *e);
/*
 * What `QEMU --version` says behind "version ": "7.2.22 (Debian ...)". -ENOENT: none installed;
 * -EACCES: not executable; -EPROTO: not a QEMU; -ENOTSUP: older than VM_QEMU_MIN.
 */
int vm_qemu_version(const char *qemu, char *ret_version, size_t size, struct error *e);

/* ---- what the guest is made of ---- */

struct vm_file {
	char *path; /* in the guest, from its root */
	unsigned perm;
	void *data;
	size_t len;
};

/*
 * The part of the initramfs that is the same, to the byte, in all boots with the same agent and
 * files: newc cpio with /init (the agent), /dev, /dev/console, /dev/null, /proc, /sys, /tmp,
 * /kdelta, and the files with the folders they need. Caller frees. -ENOEXEC unless the agent is a
 * static x86-64 ELF program.
 */
int vm_initrd_base(const char *agent_path, const struct vm_file *files, size_t n_files, void **ret,
		   size_t *ret_len, struct error *e);

/* A shell of this machine with what it is linked with, for guests that need one. */
struct vm_shell {
	struct vm_file *files; /* the shell first; paths as here, symbolic links followed */
	size_t n, cap;
	char *build_id; /* the shell's own, then those of its libraries, with "+" between */
};

/*
 * Reads it. Its dynamic linker says what it is linked with (ld.so --list). -ENOENT, -ENOEXEC (not
 * for x86-64), -ELIBACC (a library is missing). vm_shell_done() in every case.
 */
int vm_shell_read(const char *path, struct vm_shell *ret, struct error *e);
void vm_shell_done(struct vm_shell *shell);

/* What a kernel can do for its host, by its configuration and the modules that come with it. */
struct vm_ability {
	bool console; /* prints to ttyS0 from early on */
	bool serial;  /* has ttyS1 */
	bool virtio;  /* has virtio-serial ports */
};

/*
 * `config` as text: "CONFIG_X=y" lines. -ENOTSUP, with the options that are missing, when a guest
 * with this kernel could not be used: no channel, no initramfs, no 64-bit programs.
 */
int vm_check_basics(const char *config, struct error *e); /* without a channel */
int vm_check_config(const char *config, const struct vm_module *modules, size_t n_modules,
		    struct vm_ability *ret, struct error *e);

#endif
