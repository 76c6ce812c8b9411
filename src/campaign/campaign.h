/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A campaign runs an experiment on a target, boot by boot: it starts the agent, checks that the
 * right kernel answers, stores each invocation as it comes, and goes on when a boot fails.
 * Targets: this machine as it runs now (local.c), kernels in QEMU (vm.c); room for others.
 */
#ifndef KDELTA_CAMPAIGN_CAMPAIGN_H
#define KDELTA_CAMPAIGN_CAMPAIGN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "campaign/progress.h"
#include "image/image.h"
#include "plan/work.h"
#include "store/store.h"
#include "vm/vm.h"

struct campaign {
	struct store *store;
	char experiment[ID_UUID_SIZE];
	const char *agent; /* path */
	const char *agent_build_id;
	const struct work *work;
	struct progress progress;
	const volatile sig_atomic_t *stop;
};

/* What became of it: counts of boots and of invocations. */
struct campaign_tally {
	unsigned boots_ok, boots_failed, boots_stopped;
	uint64_t ok, failed, skipped, skipped_implied;
};

/* Did all that was asked for come out? */
bool campaign_complete(const struct campaign_tally *t);

/*
 * Adds this boot of the running kernel to the experiment under LABEL (NULL: its release).
 * Negative only where nothing could be done at all; a failed boot is in the tally.
 */
int campaign_local(struct campaign *c, const char *label, struct campaign_tally *ret,
		   struct error *e);

struct campaign_vm {
	const char *qemu;  /* NULL: found in PATH */
	const char *accel; /* "auto", "kvm", "tcg" */
	unsigned cpus, mem_mib;
	const char *cpu_model;	      /* NULL: host with KVM, else max */
	const char *const *qemu_args; /* further words for it, NULL at the end; or NULL */
	uint64_t boot_timeout_ns, silence_timeout_ns; /* 0: defaults of vm/vm.h */
	unsigned blocks;
	uint64_t seed;
	bool exact;	  /* no module is loaded, and no way out but a port is needed */
	const bool *done; /* by position in the order: boots that worked before; NULL: none */
};

struct campaign_kernel {
	const char *label;
	const struct image *image;
	const char *append; /* NULL: none */
	const char *source; /* the KERNEL argument without its label */
};

/* What this machine gives to all boots of a campaign. */
struct campaign_host {
	char qemu[100]; /* version */
	bool kvm;
	struct vm_shell shell; /* empty where no workload needs one */
	void *initrd;
	size_t initrd_len;
	struct host_kernel *kernels; /* the modules of each */
	unsigned n;
};

/*
 * All that can go wrong before there is an experiment: QEMU missing, old or none (see
 * vm_qemu_version()), a kernel that could not talk to us (-ENOTSUP), no shell, and the choice of
 * KVM or TCG (accel.h), which may take a boot. What is odd is said on stderr. campaign_host_done()
 * in every case; `c->store` is not needed yet.
 */
int campaign_vm_prepare(struct campaign *c, const struct campaign_vm *v,
			const struct campaign_kernel *kernels, unsigned n,
			struct campaign_host *ret, struct error *e);
/* "kvm" or "emulated". */
const char *campaign_host_class(const struct campaign_host *host);
void campaign_host_done(struct campaign_host *host);

/* Boots each kernel `blocks` times, in blocks, in random order within each. */
int campaign_vm(struct campaign *c, const struct campaign_vm *v, const struct campaign_host *host,
		const struct campaign_kernel *kernels, unsigned n, struct campaign_tally *ret,
		struct error *e);

#endif
