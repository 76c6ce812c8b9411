/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact mode's boots and runs, with tests/vm/fake-qemu in QEMU's place, and QMP. FAKE_QEMU_PATH
 * names it; else it is looked for from the source folder, where this test is to be started.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/exact.h"
#include "vm/exact.h"
#include "vm/exact_argv.h"
#include "vm/qemu.h"
#include "vm/qmp.h"
#include "vm_fixture.h"

#define RELEASE "6.1.0-test-amd64"

static const char *fake;

struct guest {
	struct vm_config cfg;
	struct vm_result result;
	struct vm_snapshot snapshot;
	struct str lines;
	const char *abort_on, *stop_on;
	volatile sig_atomic_t stop;
	char *counts;
	size_t counts_len;
	void *base;
	int r;
	struct error e;
};

static enum vm_line on_line(void *arg, const char *line, size_t len, char *why, size_t why_size)
{
	struct guest *g = arg;

	assert_int_equal(line[len], '\0');
	str_add_n(&g->lines, line, len);
	str_add_c(&g->lines, '\n');
	if (g->stop_on && strstr(line, g->stop_on))
		g->stop = 1;
	if (g->abort_on && strstr(line, g->abort_on)) {
		snprintf(why, why_size, "wrong kernel");
		return VM_LINE_ABORT;
	}
	return strstr(line, "\"done\"") || strstr(line, "\"quiet\"") ? VM_LINE_DONE : VM_LINE_MORE;
}

static void guest_init(struct guest *g)
{
	CLEANUP_FREE char *elf = in_dir("agent");
	CLEANUP_FREE char *kernel = in_dir("bzImage");

	g->snapshot = (struct vm_snapshot)VM_SNAPSHOT_INIT;
	assert_int_equal(vm_initrd_base(elf, NULL, 0, &g->base, &g->cfg.initrd_base_len, NULL), 0);
	g->cfg.initrd_base = g->base;
	if (!g->cfg.qemu)
		g->cfg.qemu = fake;
	g->cfg.kernel_fd = open(kernel, O_RDONLY | O_CLOEXEC);
	assert_true(g->cfg.kernel_fd >= 0);
	g->cfg.plan_json = "{\"boot\":1}";
	g->cfg.mem_mib = 16;
	g->cfg.stop = &g->stop;
}

/* What one boot or run left; the snapshot stays. */
static void guest_clear(struct guest *g)
{
	vm_result_done(&g->result);
	str_done(&g->lines);
	free(g->counts);
	g->counts = NULL;
	error_clear(&g->e);
}

static void guest_done(struct guest *g)
{
	guest_clear(g);
	vm_snapshot_done(&g->snapshot);
	close(g->cfg.kernel_fd);
	free(g->base);
}

static void set_mode(const char *mode)
{
	CLEANUP_FREE char *script = in_dir("agent.sh");

	setenv("FAKE_QEMU", mode, 1);
	setenv("FAKE_QEMU_AGENT", script, 1);
}

static void boot(struct guest *g, const char *mode)
{
	set_mode(mode);
	g->r = vm_exact_boot(&g->cfg, 1, on_line, g, &g->result, &g->snapshot, &g->e);
}

static void run(struct guest *g, const char *mode, const char *plan)
{
	struct vm_exact_run r = { .snapshot = &g->snapshot, .plan_json = plan };

	set_mode(mode);
	g->r = vm_exact_run(&g->cfg, 1, &r, on_line, g, &g->result, &g->counts, &g->counts_len,
			    &g->e);
}

static void expect(struct guest *g, const char *mode, enum vm_end end, const char *reason)
{
	if (g->r < 0)
		fail_msg("%s: %s", mode, g->e.text);
	if (g->result.end != end || (*reason && !strstr(g->result.reason, reason)) ||
	    (!*reason && *g->result.reason))
		fail_msg("%s: %s, '%s', console:\n%s", mode, vm_end_name(g->result.end),
			 g->result.reason, g->result.console_tail);
	assert_true(g->result.total_ns > 0);
	assert_true(g->result.boot_ns <= g->result.total_ns);
}

/* ---- boots and runs ---- */

static void test_boot_and_runs(void **state)
{
	struct guest g = { .cfg = { .append = "x=1" } };
	int i;

	(void)state;
	guest_init(&g);
	boot(&g, "ok");
	expect(&g, "boot", VM_DONE, "");
	assert_string_equal(g.result.cmdline, VM_CMDLINE " " VM_EXACT_CMDLINE " x=1");
	assert_string_equal(g.result.channel, "debugcon");
	assert_string_equal(g.result.qemu_exit, "killed by us");
	assert_true(strstr(g.lines.s, "\"release\":\"" RELEASE "\""));
	assert_true(
		strstr(g.lines.s, "{\"k\":\"log\",\"plan\":{\"boot\":1}}\n{\"k\":\"quiet\"}\n"));
	assert_null(strstr(g.lines.s, "late"));
	assert_true(strstr(g.result.console_tail, "Linux version " RELEASE));
	assert_true(g.snapshot.boot_ns > 0 && g.snapshot.save_ns > 0);
	assert_int_equal(g.snapshot.state_len, 3 << 20);
	assert_in_range(g.snapshot.bytes, g.snapshot.state_len + 4096,
			g.snapshot.state_len + 65536);
	/* From the same memory as often as wanted: the fake one checks that it is the boot's. */
	for (i = 0; i < 3; i++) {
		CLEANUP_FREE char *plan = mem_printf("{\"run\":%d}", i);
		CLEANUP_FREE char *want = mem_printf("{\"k\":\"log\",\"plan\":%s}\n", plan);

		guest_clear(&g);
		run(&g, "ok", plan);
		expect(&g, "run", VM_DONE, "");
		assert_true(strstr(g.lines.s, want));
		assert_true(str_ends(g.lines.s, "{\"k\":\"done\"}\n"));
		assert_null(g.counts);
		assert_int_equal(g.counts_len, 0);
	}
	guest_done(&g);
}

static void test_run_plugin(void **state)
{
	struct guest g = { .cfg = { .cpu_model = "Skylake-Server" } };
	struct vm_exact_run r = { .plan_json = "{}", .plugin = "/a,b/c.so" };
	CLEANUP_FREE char *empty = in_dir("empty");

	(void)state;
	guest_init(&g);
	g.cfg.exact_plugin = "/a,b/c.so";
	boot(&g, "ok");
	expect(&g, "boot", VM_DONE, "");
	r.snapshot = &g.snapshot;
	guest_clear(&g);
	assert_int_equal(
		vm_exact_run(&g.cfg, 1, &r, on_line, &g, &g.result, &g.counts, &g.counts_len, NULL),
		0);
	assert_string_equal(g.counts, "file /a,b/c.so\ncontexts none\nend\n");
	assert_int_equal(g.counts_len, strlen(g.counts));
	guest_clear(&g);
	r.contexts = "idle ffffffff81000000\n";
	assert_int_equal(
		vm_exact_run(&g.cfg, 1, &r, on_line, &g, &g.result, &g.counts, &g.counts_len, NULL),
		0);
	assert_string_equal(g.counts, "file /a,b/c.so\ncontexts idle ffffffff81000000\n\nend\n");
	/* Nothing counted is not a text without counts. */
	guest_clear(&g);
	write_file("empty", "", 0, 0644);
	setenv("FAKE_QEMU_COUNTS", empty, 1);
	assert_int_equal(
		vm_exact_run(&g.cfg, 1, &r, on_line, &g, &g.result, &g.counts, &g.counts_len, NULL),
		0);
	unsetenv("FAKE_QEMU_COUNTS");
	assert_int_equal(g.result.end, VM_DONE);
	assert_null(g.counts);
	guest_done(&g);
}

static void test_boot_fates(void **state)
{
	static const struct {
		const char *mode;
		enum vm_end end;
		const char *reason;
	} t[] = {
		{ "panic", VM_PANICKED, "kernel panic: Attempted to kill init!" },
		{ "panic-stays", VM_PANICKED, "kernel panic: Attempted to kill init!" },
		{ "pvpanic", VM_PANICKED,
		  "reported a panic without 'quiet'; last on the console: Com" },
		{ "stopped", VM_QEMU_FAILED, "QEMU stopped the guest, which did not ask for it" },
		{ "stops-early", VM_EXITED_EARLY, "the guest stopped itself without 'quiet'" },
		{ "busy", VM_ABORTED, "at work when it was to be saved" },
		{ "never-stops", VM_HUNG, "quiet, but it did not stop for 1 s" },
		{ "hang", VM_HUNG, "no record for 1 s" },
		{ "early-exit", VM_EXITED_EARLY, "without 'quiet' (guest-shutdown)" },
		{ "exit-nonzero", VM_QEMU_FAILED,
		  "exit 3: fake-qemu: internal error: out of luck" },
		{ "refuse-args", VM_QEMU_FAILED, "exit 1: fake-qemu: -accel tcg: invalid" },
		{ "overlong", VM_ABORTED, "a line of more than 4194304 bytes" },
		{ "garbage-lines", VM_DONE, "" },
		{ "oops-but-done", VM_DONE, "the kernel warned: BUG: kernel NULL" },
		{ "save-refused", VM_QEMU_FAILED,
		  "did not save the guest: getfd: getfd? Not today" },
		{ "save-fails", VM_QEMU_FAILED,
		  "did not save the guest: query-migrate: No space left on device" },
		{ "save-empty", VM_QEMU_FAILED, "QEMU saved the guest and wrote nothing" },
		{ "save-dies", VM_QEMU_FAILED, "QEMU ended with exit 1: fake-qemu: out of luck" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct guest g = { .cfg = { .silence_timeout_ns = NSEC_PER_SEC,
					    .poweroff_timeout_ns = NSEC_PER_SEC / 2 } };

		guest_init(&g);
		boot(&g, t[i].mode);
		expect(&g, t[i].mode, t[i].end, t[i].reason);
		assert_int_equal(g.snapshot.ram_fd >= 0, t[i].end == VM_DONE);
		assert_int_equal(g.snapshot.state != NULL, t[i].end == VM_DONE);
		guest_done(&g);
	}
}

static void test_run_fates(void **state)
{
	static const struct {
		const char *mode;
		enum vm_end end;
		const char *reason;
	} t[] = {
		{ "load-refused", VM_QEMU_FAILED, "load the guest: migrate-incoming: migrate-inc" },
		{ "load-dies", VM_QEMU_FAILED, "exit 1: fake-qemu: load of migration failed: Inv" },
		{ "cont-refused", VM_QEMU_FAILED, "did not load the guest: cont: cont? Not today" },
		{ "refuse-args", VM_QEMU_FAILED, "exit 1: fake-qemu: -accel tcg: invalid" },
		{ "panic", VM_PANICKED, "kernel panic: Attempted to kill init!" },
		{ "pvpanic", VM_PANICKED, "the guest reported a panic without 'done'" },
		{ "early-exit", VM_EXITED_EARLY, "without 'done' (guest-shutdown)" },
		{ "exit-nonzero", VM_QEMU_FAILED,
		  "exit 3: fake-qemu: internal error: out of luck" },
		{ "hang", VM_HUNG, "no record for 1 s; the console is empty" },
		{ "silent", VM_HUNG, "not done in 1 s; the console is empty" },
		{ "overlong", VM_ABORTED, "a line of more than 4194304 bytes" },
		{ "console-flood", VM_ABORTED, "more than 256 MiB to its console" },
		{ "garbage-lines", VM_DONE, "" },
		{ "ok", VM_DONE, "" },
	};
	struct guest g = { .cfg = { .poweroff_timeout_ns = NSEC_PER_SEC / 2 } };
	size_t i;

	(void)state;
	guest_init(&g);
	boot(&g, "ok");
	expect(&g, "boot", VM_DONE, "");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		bool hangs = t[i].end == VM_HUNG;

		guest_clear(&g);
		g.cfg.silence_timeout_ns = hangs ? NSEC_PER_SEC : 0;
		run(&g, t[i].mode, "{}");
		expect(&g, t[i].mode, t[i].end, t[i].reason);
		assert_null(g.counts);
	}
	guest_done(&g);
}

static void test_timeouts(void **state)
{
	struct guest g = { .cfg = { .boot_timeout_ns = NSEC_PER_SEC } };

	(void)state;
	guest_init(&g);
	boot(&g, "no-qmp");
	expect(&g, "no-qmp", VM_QEMU_FAILED, "did not answer on its control socket in 1 s");
	guest_clear(&g);
	boot(&g, "silent");
	expect(&g, "silent", VM_HUNG, "booting: no record in 1 s; the console is empty");
	guest_clear(&g);
	boot(&g, "save-hangs");
	expect(&g, "save-hangs", VM_QEMU_FAILED, "QEMU did not save the guest in 1 s");
	guest_clear(&g);
	g.cfg.boot_timeout_ns = 0;
	boot(&g, "ok");
	expect(&g, "ok", VM_DONE, "");
	guest_clear(&g);
	g.cfg.boot_timeout_ns = NSEC_PER_SEC;
	run(&g, "load-hangs", "{}");
	expect(&g, "load-hangs", VM_QEMU_FAILED, "QEMU did not load the guest in 1 s");
	guest_clear(&g);
	g.cfg.boot_timeout_ns = 0;
	g.cfg.total_timeout_ns = 2 * NSEC_PER_SEC;
	run(&g, "hang", "{}");
	expect(&g, "total", VM_HUNG, "not done in 2 s");
	guest_done(&g);
}

static void test_callback(void **state)
{
	struct guest g = { .abort_on = "hello" };

	(void)state;
	guest_init(&g);
	boot(&g, "ok");
	expect(&g, "abort", VM_ABORTED, "wrong kernel");
	assert_null(strstr(g.lines.s, "log"));
	guest_clear(&g);
	g.abort_on = NULL;
	g.stop_on = "hello";
	boot(&g, "hang");
	expect(&g, "stop", VM_STOPPED, "stopped");
	guest_done(&g);
}

static void test_refused(void **state)
{
	static char plan[EXACT_RUN_BYTES + 2];
	struct guest g = { .cfg = { .qemu = NULL } };

	(void)state;
	guest_init(&g);
	boot(&g, "ok");
	expect(&g, "ok", VM_DONE, "");
	guest_clear(&g);
	memset(plan, 'x', EXACT_RUN_BYTES + 1);
	run(&g, "ok", plan);
	assert_int_equal(g.r, -EINVAL);
	assert_true(strstr(g.e.text, "a run's plan of 16385 bytes: at most 16384 fit"));
	assert_null(g.result.cmdline);
	guest_clear(&g);
	/* The longest is taken. */
	memset(plan, ' ', sizeof(plan));
	memcpy(plan, "[1", 2);
	plan[EXACT_RUN_BYTES - 2] = ']';
	plan[EXACT_RUN_BYTES - 1] = '\0';
	run(&g, "ok", plan);
	expect(&g, "full", VM_DONE, "");
	guest_clear(&g);
	g.cfg.qemu = "kdelta-no-such-qemu";
	run(&g, "ok", "{}");
	assert_int_equal(g.r, -ENOENT);
	assert_string_equal(g.e.text, "kdelta-no-such-qemu not found: install qemu-system-x86");
	guest_clear(&g);
	vm_snapshot_done(&g.snapshot);
	boot(&g, "ok");
	assert_int_equal(g.r, -ENOENT);
	guest_done(&g);
	vm_snapshot_done(NULL);
	vm_snapshot_done(&g.snapshot);
}

static void *run_thread(void *arg)
{
	struct guest *g = arg;
	struct vm_exact_run r = { .snapshot = &g->snapshot, .plan_json = "{\"t\":1}" };

	g->r = vm_exact_run(&g->cfg, 1, &r, on_line, g, &g->result, &g->counts, &g->counts_len,
			    &g->e);
	return NULL;
}

/* Several at once, from one snapshot. */
static void test_threads(void **state)
{
	struct guest g = { .cfg = { .qemu = NULL } }, copy[4];
	pthread_t thread[ARRAY_SIZE(copy)];
	size_t i;

	(void)state;
	guest_init(&g);
	boot(&g, "ok");
	expect(&g, "ok", VM_DONE, "");
	for (i = 0; i < ARRAY_SIZE(copy); i++) {
		memset(&copy[i], 0, sizeof(copy[i]));
		copy[i].cfg = g.cfg;
		copy[i].snapshot = g.snapshot;
		assert_int_equal(pthread_create(&thread[i], NULL, run_thread, &copy[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(copy); i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		expect(&copy[i], "thread", VM_DONE, "");
		guest_clear(&copy[i]);
	}
	guest_done(&g);
}

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Whatever becomes of it, no descriptor and no process is left. */
static void test_no_leak(void **state)
{
	static const char *const modes[] = { "ok",	   "panic",	"save-dies",
					     "save-fails", "load-dies", "save-empty" };
	size_t before = count_fds(), i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		struct guest g = { .cfg = { .qemu = NULL } };

		guest_init(&g);
		boot(&g, modes[i]);
		assert_int_equal(g.r, 0);
		if (g.result.end == VM_DONE) {
			guest_clear(&g);
			run(&g, modes[i], "{}");
			assert_int_equal(g.r, 0);
		}
		guest_done(&g);
		assert_int_equal(count_fds(), before);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

static void test_check(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	set_mode("ok");
	assert_int_equal(vm_exact_check(fake, "7.2.22 (Debian 1:7.2)", 1, NULL), 0);
	assert_int_equal(vm_exact_check(fake, "7.2.22 (Debian 1:7.2)", 0, NULL), 0);
	assert_int_equal(vm_exact_check(fake, "9.0.0", 2, NULL), 0);
	assert_int_equal(vm_exact_check(fake, "10.0.2", 4, NULL), 0);
	assert_int_equal(vm_exact_check(fake, "8.2.10", 2, &e), -ENOTSUP);
	assert_string_equal(e.text, "2 CPUs in exact mode: QEMU 8.2.10 hangs with more than one; "
				    "9.0 or newer is needed");
	set_mode("no-plugins");
	error_clear(&e);
	assert_int_equal(vm_exact_check(fake, "7.2.22", 1, &e), -ENOTSUP);
	assert_true(strstr(e.text, "(QEMU 7.2.22) was built without plugins"));
	error_clear(&e);
	assert_int_equal(vm_exact_check("/nonexistent/q", "9.0", 1, &e), -ENOENT);
}

static void test_argv(void **state)
{
	static const char *const more[] = { "-name", "x", NULL };
	const struct vm_config cfg = { .cpu_model = "Denverton", .qemu_args = more };
	int fds[EXACT_N_FDS] = { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
	struct str s = STR_INIT;
	char **v = exact_argv(&cfg, 2, "/q", "the line", "/p.so", fds);
	size_t i;

	(void)state;
	for (i = 0; v[i]; i++)
		str_printf(&s, "%s|", v[i]);
	assert_true(str_starts(s.s, "/q|-no-user-config|-nodefaults|-display|none|-no-reboot|"));
	assert_true(strstr(s.s, "|mem-path") == NULL);
	assert_true(strstr(s.s, "|memory-backend-file,id=ram,size=512M,mem-path=/proc/self/fd/12,"
				"share=off|"));
	assert_true(strstr(s.s, "|-cpu|Denverton,-rdrand,-rdseed|-smp|2|-m|512|"));
	assert_true(strstr(s.s, "|-icount|shift=0,sleep=off|"));
	assert_true(strstr(s.s, "|-incoming|defer|-plugin|file=/p.so,out=/proc/self/fd/18,"
				"contexts=/proc/self/fd/19|-name|x|"));
	qemu_argv_free(v);
	v = exact_argv(&cfg, 1, "/q", "the line", "/p.so", fds);
	str_reset(&s);
	for (i = 0; v[i]; i++)
		str_printf(&s, "%s|", v[i]);
	assert_true(strstr(s.s, ",out=/proc/self/fd/18,from=marker,contexts=/proc/self/fd/19|"));
	str_done(&s);
	qemu_argv_free(v);
}

/* ---- QMP ---- */

static void feed(struct qmp *q, const char *text)
{
	qmp_feed(q, text, strlen(text));
}

static void test_qmp_commands(void **state)
{
	char buf[300];
	struct qmp q;
	int p[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p), 0);
	qmp_init(&q, p[0]);
	assert_int_equal(qmp_command(&q, "cont", NULL, -1), -ENOTCONN);
	feed(&q, "{\"QMP\": {}}\n");
	assert_true(read(p[1], buf, sizeof(buf)) > 0);
	assert_int_equal(qmp_command(&q, "cont", NULL, -1), 0);
	assert_int_equal(qmp_command(&q, "migrate", "{\"uri\":\"fd:x\"}", -1), 0);
	memset(buf, 0, sizeof(buf));
	assert_true(read(p[1], buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "{\"execute\":\"cont\",\"id\":\"cont\"}\n"
				 "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:x\"},"
				 "\"id\":\"migrate\"}\n");
	assert_false(qmp_idle(&q));
	/* The answer to qmp_capabilities has no id, so it is none of theirs. */
	feed(&q, "{\"return\": {}}\n");
	assert_int_equal(q.answered, 0);
	feed(&q, "{\"return\": {}, \"id\": \"cont\"}\n");
	assert_int_equal(q.answered, 1);
	assert_string_equal(q.error, "");
	feed(&q, "{\"error\": {\"class\": \"X\", \"desc\": \"no way\"}, \"id\": \"migrate\"}\n");
	assert_true(qmp_idle(&q));
	assert_string_equal(q.error, "migrate: no way");
	/* The first one stays, and answers that nobody asked for do not count. */
	feed(&q, "{\"error\": {}, \"id\": \"more\"}\n{\"return\": \"text\"}\n");
	assert_true(qmp_idle(&q));
	assert_string_equal(q.error, "migrate: no way");
	assert_string_equal(q.text.s, "text");
	feed(&q,
	     "{\"event\":\"STOP\"}\n{\"event\":\"STOP\",\"data\":3}\n{\"event\":\"RESUME\"}\n"
	     "{\"event\":\"GUEST_PANICKED\"}\n{\"event\":\"WATCHDOG\"}\n{\"event\":7}\n[]\n3\n");
	assert_int_equal(q.stops, 2);
	assert_int_equal(q.resumes, 1);
	assert_int_equal(q.panics, 1);
	assert_int_equal(q.watchdogs, 1);
	feed(&q, "{\"event\":\"MIGRATION\",\"data\":{\"status\":\"active\"}}\n");
	assert_int_equal(q.migration, QMP_MIGRATION_NONE);
	feed(&q, "{\"event\":\"MIGRATION\",\"data\":{\"status\":\"failed\"}}\n");
	assert_int_equal(q.migration, QMP_MIGRATION_FAILED);
	feed(&q, "{\"event\":\"MIGRATION\",\"data\":{\"status\":\"completed\"}}\n");
	assert_int_equal(q.migration, QMP_MIGRATION_DONE);
	close(p[1]);
	assert_int_equal(qmp_command(&q, "cont", NULL, -1), -EPIPE);
	assert_true(qmp_idle(&q));
	qmp_done(&q);
	close(p[0]);
}

/* A descriptor that travels with a command is the same file there. */
static void test_qmp_fd(void **state)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char buf[200], byte = 0;
	struct iovec data = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &data,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	struct qmp q;
	int p[2], pipe_fd[2], got;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p), 0);
	assert_int_equal(pipe(pipe_fd), 0);
	qmp_init(&q, p[0]);
	feed(&q, "{\"QMP\": {}}\n");
	assert_true(read(p[1], buf, sizeof(buf)) > 0);
	assert_int_equal(qmp_command(&q, "getfd", "{\"fdname\":\"a\"}", pipe_fd[1]), 0);
	assert_true(recvmsg(p[1], &msg, 0) > 0);
	assert_non_null(CMSG_FIRSTHDR(&msg));
	assert_int_equal(CMSG_FIRSTHDR(&msg)->cmsg_type, SCM_RIGHTS);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(got));
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(got);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(p[0]);
	close(p[1]);
	qmp_done(&q);
}

/* ---- what all of them use ---- */

static int make_files(void)
{
	static const char version[] = RELEASE " (builder@host) #1 SMP Test";
	static const char script[] =
		"#!/bin/sh\n"
		"[ \"$1 $2\" = 'run --plan' ] || exit 9\n"
		"plan=$(cat $3)\n"
		"echo '{\"k\":\"hello\",\"release\":\"native\"}'\n"
		"echo \"{\\\"k\\\":\\\"log\\\",\\\"plan\\\":$plan}\"\n"
		"case $plan in *boot*) echo '{\"k\":\"quiet\"}'; echo '{\"k\":\"late\"}' ;; esac\n"
		"echo '{\"k\":\"done\"}'\n";
	unsigned char elf[1000], kernel[16384];

	memset(kernel, 0, sizeof(kernel));
	kernel[0x1f1] = 1;
	memcpy(kernel + 0x202, "HdrS", 4);
	kernel[0x206] = 0x0f;
	kernel[0x207] = 0x02;
	kernel[0x20f] = 0x01; /* version at 0x100 + 0x200 */
	memcpy(kernel + 0x300, version, sizeof(version));
	write_file("bzImage", kernel, sizeof(kernel), 0644);
	write_file("agent.sh", script, sizeof(script) - 1, 0755);
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	write_file("agent", elf, sizeof(elf), 0755);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	fake = getenv("FAKE_QEMU_PATH");
	if (!fake)
		fake = "tests/vm/fake-qemu";
	if (access(fake, X_OK) < 0) {
		fprintf(stderr, "%s: %s (start in the source folder, or set FAKE_QEMU_PATH)\n",
			fake, strerror(errno));
		return -1;
	}
	return dir_make() < 0 ? -1 : make_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot_and_runs), cmocka_unit_test(test_run_plugin),
		cmocka_unit_test(test_boot_fates),    cmocka_unit_test(test_run_fates),
		cmocka_unit_test(test_timeouts),      cmocka_unit_test(test_callback),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_threads),
		cmocka_unit_test(test_no_leak),	      cmocka_unit_test(test_check),
		cmocka_unit_test(test_argv),	      cmocka_unit_test(test_qmp_commands),
		cmocka_unit_test(test_qmp_fd),
	};

	return cmocka_run_group_tests(tests, setup, dir_remove);
}
