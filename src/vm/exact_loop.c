/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vm/exact_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "vm/boot.h"

/*
 * The longest poll. A file that grows wakes nobody up, and a run that is over should not wait:
 * there are hundreds of them.
 */
#define BOOT_TURN_MS 10
#define RUN_TURN_MS  2

#define OUTPUT_MAX (256ll << 20) /* bytes of a guest's console, or of its channel */

/* Memory is not sent; and that the end of it is told. */
#define CAPABILITIES                                                                               \
	"{\"capabilities\":[{\"capability\":\"events\",\"state\":true},"                           \
	"{\"capability\":\"x-ignore-shared\",\"state\":true}]}"
/* The guest does not run, so nothing is gained by taking it slowly (7.2: 128 MiB/s). */
#define PARAMETERS "{\"max-bandwidth\":1099511627776,\"downtime-limit\":2000000}"

static bool exact_decide(struct exact *x, enum vm_end end)
{
	if (x->decided)
		return false;
	x->decided = true;
	x->ret->end = end;
	return true;
}

/* There is nothing in QEMU that is not in our files: it need not end in order. */
static void exact_kill(struct exact *x)
{
	if (x->proc.pid)
		x->killed = true;
	qemu_kill(&x->proc);
}

/* ---- what comes from QEMU ---- */

static bool is_record(const char *line, size_t len)
{
	CLEANUP_JSON json_t *j = NULL;

	return json_parse(line, len, "record", &j, NULL) == 0 && json_object_get(j, "k");
}

static void exact_line(void *arg, const char *line, size_t len)
{
	struct exact *x = arg;
	char why[sizeof(x->ret->reason)] = "";

	if (x->decided || x->quiet)
		return;
	if (!x->spoke && !is_record(line, len)) {
		if (!*x->noise)
			snprintf(x->noise, sizeof(x->noise), "%s", line);
		return;
	}
	x->last = clock_mono_ns();
	if (!x->spoke) {
		x->ret->channel = "debugcon";
		if (!x->run)
			x->ret->boot_ns = x->last - x->start;
	}
	x->spoke = true;
	switch (x->line(x->arg, line, len, why, sizeof(why))) {
	case VM_LINE_MORE:
		break;
	case VM_LINE_DONE:
		if (x->run)
			exact_decide(x, VM_DONE);
		else
			x->quiet = true;
		break;
	case VM_LINE_ABORT:
		if (exact_decide(x, VM_ABORTED))
			boot_reason(x->ret, "%s", *why ? why : "given up");
		break;
	}
	x->last = clock_mono_ns();
}

static void exact_channel(struct exact *x, const char *data, size_t len)
{
	channel_feed(&x->channel, data, len, exact_line, x);
	if (x->channel.overlong && exact_decide(x, VM_ABORTED))
		boot_reason(x->ret, "the guest sent a line of more than %u bytes", VM_LINE_MAX);
}

/* What was written since the last time. */
static void exact_tap(struct exact *x, struct exact_tap *t, const char *name)
{
	char data[65536];
	ssize_t n;

	while ((n = pread(t->fd, data, sizeof(data), t->at)) > 0) {
		t->at += n;
		if (t == &x->console_tap)
			console_feed(&x->console, data, (size_t)n);
		else
			exact_channel(x, data, (size_t)n);
		if (t->at > OUTPUT_MAX && exact_decide(x, VM_ABORTED))
			boot_reason(x->ret, "the guest wrote more than %lld MiB to its %s",
				    OUTPUT_MAX >> 20, name);
	}
}

static void exact_taps(struct exact *x)
{
	exact_tap(x, &x->console_tap, "console");
	exact_tap(x, &x->channel_tap, "channel");
}

/* Reads once from a socket or the pipe. False: there is no more, now or ever. */
static bool exact_read(struct exact *x, int *fd)
{
	char data[65536];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, data, sizeof(data));
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		boot_fd_drop(fd);
		if (fd == &x->control)
			x->qmp.fd = -1;
		return false;
	}
	if (fd == &x->control)
		qmp_feed(&x->qmp, data, (size_t)n);
	else if (fd == &x->output)
		console_feed(&x->said, data, (size_t)n);
	else
		str_add_n(&x->state, data, (size_t)n);
	return true;
}

/* As write(2) where nobody reads any more, without the signal. */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	const struct timespec now = { 0, 0 };
	sigset_t broken, before;
	ssize_t n;
	int err;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	n = write(fd, data, len);
	err = errno;
	if (n < 0 && err == EPIPE)
		sigtimedwait(&broken, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return n;
}

void exact_feed(struct exact *x)
{
	const struct vm_snapshot *s = x->from;

	while (x->stream >= 0 && x->fed < s->state_len) {
		ssize_t n = write_quietly(x->stream, (const char *)s->state + x->fed,
					  s->state_len - x->fed);

		if (n > 0)
			x->fed += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n < 0 && errno != EINTR)
			break;
	}
	boot_fd_drop(&x->stream);
}

/* ---- what is told to QEMU ---- */

static void exact_command(struct exact *x, const char *name, const char *arguments, int fd)
{
	int r = qmp_command(&x->qmp, name, arguments, fd);

	/* A QEMU that is gone says more by its end than by this. */
	if (r < 0 && r != -EPIPE && r != -ENOTCONN && exact_decide(x, VM_QEMU_FAILED))
		boot_reason(x->ret, "QEMU cannot be told '%s': %s", name, strerror(-r));
}

static void exact_load(struct exact *x)
{
	CLEANUP_FREE char *uri = mem_printf("{\"uri\":\"fd:%d\"}", x->state_number);

	x->phase = EXACT_PHASE_LOAD;
	x->last = clock_mono_ns();
	exact_command(x, "migrate-set-capabilities", CAPABILITIES, -1);
	exact_command(x, "migrate-incoming", uri, -1);
}

static void exact_go_on(struct exact *x)
{
	x->phase = EXACT_PHASE_GUEST;
	x->stops = x->qmp.stops;
	x->watchdogs = x->qmp.watchdogs;
	x->panics = x->qmp.panics;
	exact_command(x, "cont", NULL, -1);
	x->last = clock_mono_ns();
	x->ret->boot_ns = x->last - x->start;
}

static void exact_save(struct exact *x)
{
	int p[2];

	x->phase = EXACT_PHASE_SAVE;
	x->last = clock_mono_ns();
	x->quiet_ns = x->last - x->start;
	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0) {
		if (exact_decide(x, VM_QEMU_FAILED))
			boot_reason(x->ret, "the state cannot be saved: pipe: %s", strerror(errno));
		return;
	}
	x->stream = p[0];
	fcntl(p[1], F_SETPIPE_SZ, EXACT_PIPE_BYTES);
	fcntl(p[1], F_SETFL, 0);
	exact_command(x, "migrate-set-capabilities", CAPABILITIES, -1);
	exact_command(x, "migrate-set-parameters", PARAMETERS, -1);
	exact_command(x, "getfd", "{\"fdname\":\"state\"}", p[1]);
	exact_command(x, "migrate", "{\"uri\":\"fd:state\"}", -1);
	close(p[1]);
}

/* Its last bytes are in the pipe: QEMU has nothing more to give. */
static void exact_saved(struct exact *x)
{
	exact_kill(x);
	while (exact_read(x, &x->stream))
		;
	x->save_ns = clock_mono_ns() - x->start - x->quiet_ns;
	if (!exact_decide(x, x->state.len ? VM_DONE : VM_QEMU_FAILED))
		return;
	if (!x->state.len)
		boot_reason(x->ret, "QEMU saved the guest and wrote nothing");
}

/* ---- turns ---- */

/* It stopped at its quiet point: is it at rest there? exact.h says why it must be. */
static void exact_ask_rest(struct exact *x)
{
	x->phase = EXACT_PHASE_REST;
	x->last = clock_mono_ns();
	exact_command(x, "human-monitor-command", "{\"command-line\":\"info registers -a\"}", -1);
}

static void exact_rest(struct exact *x)
{
	const char *registers = str_get(&x->qmp.text);

	if (strstr(registers, "HLT=1") && !strstr(registers, "HLT=0"))
		exact_save(x);
	else if (exact_decide(x, VM_ABORTED))
		boot_reason(x->ret, "the guest was at work when it was to be saved, so that its "
				    "digits would be a matter of chance: try another kernel "
				    "command line");
}

/* The guest stopped by itself where it should not have. */
static void exact_paused(struct exact *x)
{
	const char *missing = x->run ? "done" : "quiet", *last = console_last(&x->console);
	const char *said = *last ? "; last on the console: " : "";

	if (x->console.panicked && exact_decide(x, VM_PANICKED))
		boot_reason(x->ret, "kernel panic: %s", x->console.panic);
	else if (x->qmp.panics != x->panics && exact_decide(x, VM_PANICKED))
		boot_reason(x->ret, "the guest reported a panic without '%s'%s%.150s", missing,
			    said, console_message(last));
	else if (x->qmp.watchdogs != x->watchdogs && exact_decide(x, VM_EXITED_EARLY))
		boot_reason(x->ret, "the guest stopped itself without '%s'%s%.150s", missing, said,
			    console_message(last));
	else if (exact_decide(x, VM_QEMU_FAILED))
		boot_reason(x->ret, "QEMU stopped the guest, which did not ask for it");
}

/* The event does not say why. */
static void exact_migration_failed(struct exact *x)
{
	if (!x->asked)
		exact_command(x, "query-migrate", NULL, -1);
	else if (qmp_idle(&x->qmp) && exact_decide(x, VM_QEMU_FAILED))
		boot_reason(x->ret, "QEMU did not %s the guest, and does not say why",
			    x->run ? "load" : "save");
	x->asked = true;
}

static void exact_step(struct exact *x)
{
	struct qmp *q = &x->qmp;

	if (*q->error && exact_decide(x, VM_QEMU_FAILED))
		boot_reason(x->ret, "QEMU did not %s the guest: %s", x->run ? "load" : "save",
			    q->error);
	if (x->decided)
		return;
	if (q->migration == QMP_MIGRATION_FAILED)
		exact_migration_failed(x);
	switch (x->phase) {
	case EXACT_PHASE_START:
		if (q->greeted)
			exact_load(x);
		break;
	case EXACT_PHASE_LOAD:
		exact_feed(x);
		if (q->migration == QMP_MIGRATION_DONE && qmp_idle(q))
			exact_go_on(x);
		break;
	case EXACT_PHASE_GUEST:
		if (q->stops == x->stops)
			break;
		if (!x->run && x->quiet && q->watchdogs != x->watchdogs)
			exact_ask_rest(x);
		else
			exact_paused(x);
		break;
	case EXACT_PHASE_REST:
		if (qmp_idle(q))
			exact_rest(x);
		break;
	case EXACT_PHASE_SAVE:
		if (q->migration == QMP_MIGRATION_DONE && qmp_idle(q))
			exact_saved(x);
		break;
	}
}

static void exact_hung(struct exact *x, const char *what, uint64_t limit_ns)
{
	char seen[220];

	if (!exact_decide(x, VM_HUNG))
		return;
	boot_seen(&x->console, x->noise, x->spoke, seen, sizeof(seen));
	boot_reason(x->ret, "%s %.4g s%s", what, (double)limit_ns / (double)NSEC_PER_SEC, seen);
}

static void exact_mute(struct exact *x, const char *what, uint64_t limit_ns)
{
	if (exact_decide(x, VM_QEMU_FAILED))
		boot_reason(x->ret, "%s in %.4g s", what, (double)limit_ns / (double)NSEC_PER_SEC);
}

static void exact_timeouts(struct exact *x)
{
	const struct vm_config *cfg = x->cfg;
	uint64_t boot = boot_or_default(cfg->boot_timeout_ns, VM_BOOT_TIMEOUT_NS);
	uint64_t silence = boot_or_default(cfg->silence_timeout_ns, VM_SILENCE_TIMEOUT_NS);
	uint64_t control = boot < VM_CONTROL_TIMEOUT_NS ? boot : VM_CONTROL_TIMEOUT_NS;
	uint64_t now = clock_mono_ns();

	if (x->console.panicked && !x->panic_end)
		x->panic_end =
			now + boot_or_default(cfg->poweroff_timeout_ns, VM_POWEROFF_TIMEOUT_NS);
	if (x->panic_end && now >= x->panic_end && exact_decide(x, VM_PANICKED))
		boot_reason(x->ret, "kernel panic: %s", x->console.panic);
	if (!x->qmp.greeted && !x->spoke && now - x->start >= control)
		exact_mute(x, "QEMU did not answer on its control socket", control);
	else if (x->phase == EXACT_PHASE_LOAD && now - x->last >= control)
		exact_mute(x, "QEMU did not load the guest", control);
	else if ((x->phase == EXACT_PHASE_REST || x->phase == EXACT_PHASE_SAVE) &&
		 now - x->last >= control)
		exact_mute(x, "QEMU did not save the guest", control);
	else if (x->phase == EXACT_PHASE_GUEST && !x->run && !x->spoke && now - x->start >= boot)
		exact_hung(x, "booting: no record in", boot);
	else if (x->phase == EXACT_PHASE_GUEST && x->spoke && now - x->last >= silence)
		exact_hung(x, x->quiet ? "quiet, but it did not stop for" : "no record for",
			   silence);
	else if (x->phase == EXACT_PHASE_GUEST && x->run && now - x->last >= silence)
		exact_hung(x, "not done in", silence);
	else if (cfg->total_timeout_ns && now - x->start >= cfg->total_timeout_ns)
		exact_hung(x, "not done in", cfg->total_timeout_ns);
}

/* QEMU is gone: reads what it left behind, then judges. */
static void exact_judge(struct exact *x)
{
	struct vm_result *ret = x->ret;
	const char *torn = "", *said, *by, *init;
	char how[100];

	while (exact_read(x, &x->control) || exact_read(x, &x->output))
		;
	exact_taps(x);
	console_finish(&x->console);
	console_finish(&x->said);
	said = console_last(&x->said);
	by = x->qmp.shutdown;
	init = x->console.agent;
	qemu_status(x->proc.status, how, sizeof(how));
	snprintf(ret->qemu_exit, sizeof(ret->qemu_exit), "%s", x->killed ? "killed by us" : how);
	if (channel_torn(&x->channel))
		torn = ", in the middle of a record";
	if (x->console.panicked && exact_decide(x, VM_PANICKED))
		boot_reason(ret, "kernel panic: %s%s", x->console.panic, torn);
	else if (x->proc.status && exact_decide(x, VM_QEMU_FAILED))
		boot_reason(ret, "QEMU ended with %s%s%s", how, *said ? ": " : torn, said);
	else if (x->phase != EXACT_PHASE_GUEST && exact_decide(x, VM_QEMU_FAILED))
		boot_reason(ret, "QEMU ended while the guest was %s%s%s",
			    x->run ? "loaded" : "saved", *said ? ": " : "", said);
	else if (exact_decide(x, VM_EXITED_EARLY))
		boot_reason(ret, "the guest ended without '%s'%s%s%s%s%s%s",
			    x->run ? "done" : "quiet", torn, *by ? " (" : "", by, *by ? ")" : "",
			    *init ? "; init said: " : "", init);
	else if (ret->end == VM_DONE && x->console.warned)
		boot_reason(ret, "the kernel warned: %s", x->console.warning);
	ret->kernel_warned = x->console.warned;
	ret->total_ns = clock_mono_ns() - x->start;
}

void exact_loop(struct exact *x)
{
	int turn_ms = x->run ? RUN_TURN_MS : BOOT_TURN_MS;

	do {
		struct pollfd p[] = {
			{ .fd = x->control, .events = POLLIN },
			{ .fd = x->output, .events = POLLIN },
			{ .fd = x->stream, .events = x->run ? POLLOUT : POLLIN },
			{ .fd = x->proc.pidfd, .events = POLLIN },
		};

		if (poll(p, ARRAY_SIZE(p), turn_ms) > 0) {
			if (p[0].revents)
				exact_read(x, &x->control);
			if (p[1].revents)
				exact_read(x, &x->output);
			if (p[2].revents && !x->run)
				exact_read(x, &x->stream);
		}
		/* After the events: what was written before one is here by then. */
		exact_taps(x);
		exact_step(x);
		if (x->cfg->stop && *x->cfg->stop && exact_decide(x, VM_STOPPED))
			boot_reason(x->ret, "stopped");
		if (!x->decided)
			exact_timeouts(x);
		if (x->decided)
			exact_kill(x);
	} while (!qemu_reap(&x->proc));
	exact_judge(x);
}
