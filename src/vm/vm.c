/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/vm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "vm/boot.h"
#include "vm/channel.h"
#include "vm/console.h"
#include "vm/qemu.h"
#include "vm/qmp.h"

#define TURN_MS 100 /* the longest poll: timeouts, and *stop set just before the poll */

enum phase {
	PHASE_RUN,  /* the guest has the word; timeouts run */
	PHASE_OFF,  /* it said done or panicked: it should power off by itself */
	PHASE_QUIT, /* QEMU was told to quit */
};

/* SERIAL and PORT: where records may come from. */
enum stream { SERIAL, PORT, CONSOLE, CONTROL, OUTPUT, N_STREAMS };

#define N_CHANNELS 2
#define NO_CHANNEL (-1)

struct vm {
	const struct vm_config *cfg;
	VM_LINE_CALLBACK(line);
	void *arg;
	struct vm_result *ret;
	struct qemu_proc proc;
	int fd[N_STREAMS];   /* our ends */
	int peer[N_STREAMS]; /* QEMU's ends, until it has started */
	int kernel_fd, initrd_fd;
	struct console console, output; /* output: what QEMU itself prints */
	struct channel channel[N_CHANNELS];
	int feeding;	/* the channel whose bytes are looked at */
	int chosen;	/* where the first record was; NO_CHANNEL: there was none yet */
	char noise[80]; /* the first line that was no record, before there was one */
	struct qmp qmp;
	enum phase phase;
	bool decided, killed;
	uint64_t start, first_line, last_line, phase_end;
};

/* The first verdict stays. */
static bool vm_decide(struct vm *v, enum vm_end end)
{
	if (v->decided)
		return false;
	v->decided = true;
	v->ret->end = end;
	return true;
}

static void vm_off(struct vm *v)
{
	if (v->phase != PHASE_RUN)
		return;
	v->phase = PHASE_OFF;
	v->phase_end = clock_mono_ns() +
		       boot_or_default(v->cfg->poweroff_timeout_ns, VM_POWEROFF_TIMEOUT_NS);
}

static void vm_quit(struct vm *v)
{
	if (v->phase == PHASE_QUIT)
		return;
	v->phase = PHASE_QUIT;
	v->phase_end = clock_mono_ns();
	if (!qmp_quit(&v->qmp))
		v->phase_end += VM_QUIT_TIMEOUT_NS;
}

static bool is_record(const char *line, size_t len)
{
	CLEANUP_JSON json_t *j = NULL;

	return json_parse(line, len, "record", &j, NULL) == 0 && json_object_get(j, "k");
}

/* The first record decides; noise before it may be a firmware's or a loader's. */
static bool vm_choose(struct vm *v, const char *line, size_t len)
{
	static const char *const names[] = { [SERIAL] = "serial", [PORT] = "virtio" };

	if (v->chosen == NO_CHANNEL && is_record(line, len)) {
		v->chosen = v->feeding;
		v->ret->channel = names[v->chosen];
	}
	if (v->chosen == NO_CHANNEL && !*v->noise)
		snprintf(v->noise, sizeof(v->noise), "%s", line);
	return v->chosen == v->feeding;
}

static void vm_line(void *arg, const char *line, size_t len)
{
	struct vm *v = arg;
	char why[sizeof(v->ret->reason)] = "";

	if (v->decided || !vm_choose(v, line, len))
		return;
	if (!v->first_line) {
		v->first_line = clock_mono_ns();
		v->ret->boot_ns = v->first_line - v->start;
	}
	switch (v->line(v->arg, line, len, why, sizeof(why))) {
	case VM_LINE_MORE:
		break;
	case VM_LINE_DONE:
		vm_decide(v, VM_DONE);
		vm_off(v);
		break;
	case VM_LINE_ABORT:
		vm_decide(v, VM_ABORTED);
		boot_reason(v->ret, "%s", *why ? why : "given up");
		vm_quit(v);
		break;
	}
	v->last_line = clock_mono_ns();
}

static void vm_channel(struct vm *v, enum stream s, const char *data, size_t len)
{
	struct channel *c = &v->channel[s];

	v->feeding = (int)s;
	channel_feed(c, data, len, vm_line, v);
	if (c->overlong && (v->chosen == NO_CHANNEL || v->chosen == (int)s) &&
	    vm_decide(v, VM_ABORTED)) {
		boot_reason(v->ret, "the guest sent a line of more than %u bytes", VM_LINE_MAX);
		vm_quit(v);
	}
}

/* Reads once. False: there is no more, now or ever. */
static bool vm_read(struct vm *v, enum stream s)
{
	char data[65536];
	ssize_t n;

	if (v->fd[s] < 0)
		return false;
	n = read(v->fd[s], data, sizeof(data));
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		boot_fd_drop(&v->fd[s]);
		if (s == CONTROL)
			v->qmp.fd = -1;
		return false;
	}
	switch (s) {
	case CONSOLE:
		console_feed(&v->console, data, (size_t)n);
		break;
	case SERIAL:
	case PORT:
		vm_channel(v, s, data, (size_t)n);
		break;
	case CONTROL:
		qmp_feed(&v->qmp, data, (size_t)n);
		break;
	default:
		console_feed(&v->output, data, (size_t)n);
	}
	return true;
}

static void vm_hung(struct vm *v, uint64_t limit_ns, const char *what)
{
	char seen[220];

	boot_seen(&v->console, v->noise, v->first_line, seen, sizeof(seen));
	if (vm_decide(v, VM_HUNG))
		boot_reason(v->ret, "%s %.4g s%s", what, (double)limit_ns / (double)NSEC_PER_SEC,
			    seen);
	vm_quit(v);
}

static void vm_run_timeouts(struct vm *v, uint64_t now)
{
	uint64_t boot = boot_or_default(v->cfg->boot_timeout_ns, VM_BOOT_TIMEOUT_NS);
	uint64_t silence = boot_or_default(v->cfg->silence_timeout_ns, VM_SILENCE_TIMEOUT_NS);
	uint64_t control = boot < VM_CONTROL_TIMEOUT_NS ? boot : VM_CONTROL_TIMEOUT_NS;

	if (!v->qmp.greeted && !v->first_line && now - v->start >= control) {
		if (vm_decide(v, VM_QEMU_FAILED))
			boot_reason(v->ret, "QEMU did not answer on its control socket in %.4g s",
				    (double)control / (double)NSEC_PER_SEC);
		vm_quit(v);
	} else if (!v->first_line && now - v->start >= boot) {
		vm_hung(v, boot, "booting: no record in");
	} else if (v->first_line && now - v->last_line >= silence) {
		vm_hung(v, silence, "no record for");
	} else if (v->cfg->total_timeout_ns && now - v->start >= v->cfg->total_timeout_ns) {
		vm_hung(v, v->cfg->total_timeout_ns, "not done in");
	}
}

static void vm_timeouts(struct vm *v)
{
	uint64_t now = clock_mono_ns();

	if (v->phase == PHASE_RUN)
		vm_run_timeouts(v, now);
	if (v->phase == PHASE_OFF && now >= v->phase_end)
		vm_quit(v);
	if (v->phase == PHASE_QUIT && now >= v->phase_end && !v->killed) {
		v->killed = true;
		qemu_kill(&v->proc);
	}
}

/* Until QEMU is reaped. */
static void vm_loop(struct vm *v)
{
	do {
		struct pollfd p[N_STREAMS + 1];
		int i;

		for (i = 0; i < N_STREAMS; i++)
			p[i] = (struct pollfd){ .fd = v->fd[i], .events = POLLIN };
		p[N_STREAMS] = (struct pollfd){ .fd = v->proc.pidfd, .events = POLLIN };
		if (poll(p, N_STREAMS + 1, TURN_MS) > 0)
			for (i = 0; i < N_STREAMS; i++)
				if (p[i].revents)
					vm_read(v, (enum stream)i);
		if (v->console.panicked)
			vm_off(v);
		if (v->cfg->stop && *v->cfg->stop) {
			if (vm_decide(v, VM_STOPPED))
				boot_reason(v->ret, "stopped");
			vm_quit(v);
		}
		/* After the reading: what is here already was not late. */
		vm_timeouts(v);
	} while (!qemu_reap(&v->proc));
}

static void vm_early(struct vm *v, const char *torn)
{
	const char *how = v->qmp.shutdown, *said = v->console.agent, *hint = "";

	/* Before its first word: it may have lacked the room to unpack itself. */
	if (!*console_last(&v->console) && !v->first_line)
		hint = "; not a word on the console: has it memory enough?";
	boot_reason(v->ret, "the guest ended without 'done'%s%s%s%s%s%s%s", torn, *how ? " (" : "",
		    how, *how ? ")" : "", *said ? "; init said: " : "", said, hint);
}

/* QEMU is gone: reads what it left behind, then judges. */
static void vm_judge(struct vm *v)
{
	const char *torn = "", *said = console_last(&v->output);
	char how[100];
	int i;

	for (i = 0; i < N_STREAMS; i++)
		while (vm_read(v, (enum stream)i))
			;
	console_finish(&v->console);
	console_finish(&v->output);
	said = console_last(&v->output);
	qemu_status(v->proc.status, how, sizeof(how));
	if (v->killed)
		strcpy(how, "killed by us");
	snprintf(v->ret->qemu_exit, sizeof(v->ret->qemu_exit), "%s", how);
	for (i = 0; i < N_CHANNELS; i++)
		if ((v->chosen == NO_CHANNEL || v->chosen == i) && channel_torn(&v->channel[i]))
			torn = ", in the middle of a record";
	if (v->console.panicked && vm_decide(v, VM_PANICKED))
		boot_reason(v->ret, "kernel panic: %s%s", v->console.panic, torn);
	else if (v->proc.status && vm_decide(v, VM_QEMU_FAILED))
		boot_reason(v->ret, "QEMU ended with %s%s%s", how, *said ? ": " : torn, said);
	else if (vm_decide(v, VM_EXITED_EARLY))
		vm_early(v, torn);
	else if (v->ret->end == VM_DONE && v->console.panicked)
		boot_reason(v->ret, "the kernel panicked after 'done': %s", v->console.panic);
	else if (v->ret->end == VM_DONE && v->console.warned)
		boot_reason(v->ret, "the kernel warned: %s", v->console.warning);
	else if (v->ret->end == VM_DONE && v->phase == PHASE_QUIT &&
		 !(v->cfg->stop && *v->cfg->stop))
		boot_reason(v->ret, "the guest did not power off after 'done'");
	else if (v->ret->end == VM_DONE && v->proc.status && !v->killed)
		boot_reason(v->ret, "QEMU ended with %s after 'done'", how);
	v->ret->kernel_warned = v->console.warned;
	v->ret->total_ns = clock_mono_ns() - v->start;
}

static int vm_open(struct vm *v, struct error *e)
{
	int i, r;

	r = boot_initrd(v->cfg, &v->initrd_fd, e);
	if (r < 0)
		return r;
	r = boot_fd_lift(v->cfg->kernel_fd, &v->kernel_fd);
	if (r < 0)
		return error_errno(e, -r, "kernel");
	for (i = 0; i < N_STREAMS; i++) {
		r = boot_socket(&v->fd[i], &v->peer[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int vm_start(struct vm *v, const char *path, struct error *e)
{
	const struct qemu_fds fds = { v->kernel_fd,    v->initrd_fd,  v->peer[CONSOLE],
				      v->peer[SERIAL], v->peer[PORT], v->peer[CONTROL] };
	const int keep[] = {
		fds.kernel, fds.initrd, fds.console, fds.serial, fds.port, fds.control
	};
	char **argv = qemu_argv(v->cfg, path, v->ret->cmdline, &fds);
	int i, r;

	v->start = clock_mono_ns();
	r = qemu_spawn(argv, keep, ARRAY_SIZE(keep), v->peer[OUTPUT], &v->proc, e);
	qemu_argv_free(argv);
	for (i = 0; i < N_STREAMS; i++)
		boot_fd_drop(&v->peer[i]);
	return r;
}

int vm_run(const struct vm_config *cfg, VM_LINE_CALLBACK(line), void *arg,
	   struct vm_result *ret_result, struct error *e)
{
	struct vm *v = mem_alloc(sizeof(*v));
	CLEANUP_FREE char *path = NULL;
	int i, r;

	memset(ret_result, 0, sizeof(*ret_result));
	v->cfg = cfg;
	v->line = line;
	v->arg = arg;
	v->ret = ret_result;
	v->proc = (struct qemu_proc)QEMU_PROC_INIT;
	v->kernel_fd = v->initrd_fd = -1;
	for (i = 0; i < N_STREAMS; i++)
		v->fd[i] = v->peer[i] = -1;
	console_init(&v->console);
	console_init(&v->output);
	for (i = 0; i < N_CHANNELS; i++)
		channel_init(&v->channel[i], VM_LINE_MAX);
	v->chosen = NO_CHANNEL;

	r = qemu_find(cfg->qemu, &path, e);
	if (!r)
		r = qemu_cmdline(cfg->append, &ret_result->cmdline, e);
	if (!r)
		r = vm_open(v, e);
	qmp_init(&v->qmp, v->fd[CONTROL]);
	if (!r)
		r = vm_start(v, path, e);
	if (!r) {
		vm_loop(v);
		vm_judge(v);
		ret_result->console_tail = boot_tail(ret_result, &v->console, &v->output);
	} else {
		vm_result_done(ret_result);
	}

	for (i = 0; i < N_STREAMS; i++) {
		boot_fd_drop(&v->fd[i]);
		boot_fd_drop(&v->peer[i]);
	}
	boot_fd_drop(&v->kernel_fd);
	boot_fd_drop(&v->initrd_fd);
	for (i = 0; i < N_CHANNELS; i++)
		channel_done(&v->channel[i]);
	qmp_done(&v->qmp);
	free(v);
	return r;
}

void vm_result_done(struct vm_result *result)
{
	if (!result)
		return;
	free(result->console_tail);
	free(result->cmdline);
	memset(result, 0, sizeof(*result));
}

const char *vm_end_name(enum vm_end end)
{
	static const char *const names[] = {
		[VM_DONE] = "done",
		[VM_PANICKED] = "panicked",
		[VM_HUNG] = "hung",
		[VM_EXITED_EARLY] = "exited early",
		[VM_QEMU_FAILED] = "qemu failed",
		[VM_ABORTED] = "aborted",
		[VM_STOPPED] = "stopped",
	};

	return names[end];
}
