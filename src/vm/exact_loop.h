/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of exact.h: one QEMU, from its start to its end. */
#ifndef KDELTA_VM_EXACT_LOOP_H
#define KDELTA_VM_EXACT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "vm/channel.h"
#include "vm/console.h"
#include "vm/exact.h"
#include "vm/exact_argv.h"
#include "vm/qemu.h"
#include "vm/qmp.h"

#define EXACT_PIPE_BYTES (1 << 20) /* what an unprivileged user may have */

enum exact_phase {
	EXACT_PHASE_START, /* a run: until QEMU's greeting */
	EXACT_PHASE_LOAD,  /* a run: the state is loaded */
	EXACT_PHASE_GUEST, /* the guest has the word */
	EXACT_PHASE_REST,  /* a boot: it stopped; does it rest? */
	EXACT_PHASE_SAVE,  /* a boot: the state is saved */
};

/* A file that QEMU writes, and how far it was read. */
struct exact_tap {
	int fd;
	off_t at;
};

struct exact {
	const struct vm_config *cfg;
	VM_LINE_CALLBACK(line);
	void *arg;
	struct vm_result *ret;
	bool run;	      /* else a boot */
	int fds[EXACT_N_FDS]; /* QEMU's; */
	int state_number;     /* EXACT_FD_STATE's there, when it is closed here */
	int control, output;  /* our ends of sockets */
	int output_peer;
	int stream; /* our end of the pipe with the state */
	struct exact_tap console_tap, channel_tap;
	struct console console, said; /* said: what QEMU itself prints */
	struct channel channel;
	char noise[80];
	bool spoke; /* there was a record */
	struct qmp qmp;
	struct qemu_proc proc;
	enum exact_phase phase;
	bool quiet;   /* a boot's last line came */
	bool decided; /* QEMU is killed, or gone */
	bool killed;
	bool asked;			   /* why a migration failed */
	unsigned stops, watchdogs, panics; /* events before the guest had the word */
	struct str state;		   /* of a boot: what came out of the pipe */
	const struct vm_snapshot *from;	   /* of a run */
	size_t fed;			   /* bytes of its state that went into the pipe */
	uint64_t start, last, panic_end;   /* last: of the latest line, or the start of a phase */
	uint64_t quiet_ns, save_ns;
};

/* As much of a run's state as the pipe takes; then the pipe's end. */
void exact_feed(struct exact *x);
/* Until QEMU, which was started, is reaped; then x->ret is filled, but for console_tail. */
void exact_loop(struct exact *x);

#endif
