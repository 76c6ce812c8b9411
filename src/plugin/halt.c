/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/halt.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HLT    0xf4u
#define YIELDS 20u
#define NAPS   50000u /* of 20 us: a second; a main thread that never waits is no reason to hang */
#define NAP_NS 20000
#define LINE   64u

static int main_thread = -1;

/* "running", or the number of the system call that it waits in and more. */
static bool main_waits(void)
{
	char line[LINE];
	ssize_t n = pread(main_thread, line, sizeof(line) - 1, 0);
	long call;

	if (n <= 0)
		return true;
	line[n] = '\0';
	if (line[0] < '0' || line[0] > '9')
		return false;
	call = strtol(line, NULL, 10);
	return call == SYS_ppoll || call == SYS_poll;
}

static void on_halt(unsigned cpu, void *arg)
{
	const struct timespec nap = { 0, NAP_NS };
	unsigned i;

	(void)cpu;
	(void)arg;
	for (i = 0; i < YIELDS + NAPS && !main_waits(); i++) {
		if (i < YIELDS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

bool halt_init(void)
{
	char path[LINE];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid());
	main_thread = open(path, O_RDONLY | O_CLOEXEC);
	return main_thread >= 0 && !main_waits();
}

void halt_translate(struct qemu_plugin_insn *insn, const unsigned char *bytes, size_t len)
{
	if (len == 1 && bytes[0] == HLT && main_thread >= 0)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_halt, API_NO_REGISTERS, NULL);
}
