/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole boots, with tests/vm/fake-qemu in QEMU's place. FAKE_QEMU_PATH names it; else it is looked
 * for from the source folder, where this test is to be started.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "vm/vm.h"
#include "vm_fixture.h"

#define BUILD_ID "000102030405060708090a0b0c0d0e0f10111213"
#define RELEASE	 "6.1.0-test-amd64"
#define VERSION	 "#1 SMP Test 6.1.1-1 (2026-01-01)"

static const char *fake;

struct boot {
	struct vm_config cfg;
	struct vm_result result;
	struct str lines;     /* what the callback saw, each with a \n */
	const char *abort_on; /* the callback gives up at a line with this */
	const char *stop_on;  /* it sets the stop flag there */
	bool kill_on_hello;   /* it kills QEMU there */
	bool slow;	      /* it takes its time at the first line */
	volatile sig_atomic_t stop;
};

static enum vm_line on_line(void *arg, const char *line, size_t len, char *why, size_t why_size)
{
	struct boot *b = arg;

	assert_int_equal(line[len], '\0');
	str_add_n(&b->lines, line, len);
	str_add_c(&b->lines, '\n');
	if (b->stop_on && strstr(line, b->stop_on))
		b->stop = 1;
	if (b->slow && strstr(line, "hello"))
		clock_sleep_ns(300 * NSEC_PER_MSEC);
	if (b->kill_on_hello && strstr(line, "hello")) {
		CLEANUP_FREE char *path = in_dir("pid");
		CLEANUP_FREE char *pid = file_line(path);

		assert_int_equal(kill(atoi(pid), SIGKILL), 0);
	}
	if (b->abort_on && strstr(line, b->abort_on)) {
		snprintf(why, why_size, "wrong\nkernel");
		return VM_LINE_ABORT;
	}
	return strstr(line, "\"done\"") ? VM_LINE_DONE : VM_LINE_MORE;
}

static int run(struct boot *b, const char *mode, const char *agent, struct error *e)
{
	CLEANUP_FREE char *elf = in_dir("agent");
	CLEANUP_FREE char *kernel = in_dir("bzImage");
	CLEANUP_FREE char *script = in_dir(agent);
	CLEANUP_FREE char *pid = in_dir("pid");
	CLEANUP_FREE void *base = NULL;
	CLEANUP_CLOSE int fd = open(kernel, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(vm_initrd_base(elf, NULL, 0, &base, &b->cfg.initrd_base_len, NULL), 0);
	b->cfg.initrd_base = base;
	if (!b->cfg.qemu)
		b->cfg.qemu = fake;
	b->cfg.kernel_fd = fd;
	if (!b->cfg.plan_json)
		b->cfg.plan_json = "{\"plan\":1}";
	b->cfg.stop = &b->stop;
	setenv("FAKE_QEMU", mode, 1);
	setenv("FAKE_QEMU_AGENT", script, 1);
	setenv("FAKE_QEMU_PID", pid, 1);
	return vm_run(&b->cfg, on_line, b, &b->result, e);
}

static void boot_done(struct boot *b)
{
	vm_result_done(&b->result);
	str_done(&b->lines);
}

/* Runs and expects this end, and each of these texts (up to a NULL) in the reason. */
static void expect(struct boot *b, const char *mode, enum vm_end end, const char *reason)
{
	struct error e = ERROR_INIT;
	int r = run(b, mode, "agent.sh", &e);

	if (r < 0)
		fail_msg("%s: %s", mode, e.text);
	if (b->result.end != end || (*reason && !strstr(b->result.reason, reason)) ||
	    (!*reason && *b->result.reason))
		fail_msg("%s: %s, '%s', console:\n%s", mode, vm_end_name(b->result.end),
			 b->result.reason, b->result.console_tail);
	assert_true(b->result.total_ns > 0);
	assert_true(b->result.boot_ns <= b->result.total_ns);
	assert_int_equal(!b->result.boot_ns, !b->lines.len);
}

static void test_boot_ok(void **state)
{
	struct boot b = { .cfg = { .append = "x=1 KDELTA_MOCK=shifted" } };

	(void)state;
	expect(&b, "ok", VM_DONE, "");
	assert_string_equal(b.result.cmdline, VM_CMDLINE " x=1 KDELTA_MOCK=shifted");
	assert_true(strstr(b.lines.s, "\"release\":\"" RELEASE "\""));
	assert_true(strstr(b.lines.s, "\"version\":\"" VERSION "\""));
	assert_true(strstr(b.lines.s, "\"build_id\":\"" BUILD_ID "\""));
	assert_false(strstr(b.lines.s, "native-boot"));
	assert_true(
		strstr(b.lines.s, "{\"k\":\"log\",\"plan\":{\"plan\":1},\"var\":\"shifted\"}\n"));
	assert_true(str_ends(b.lines.s, "{\"k\":\"done\"}\n"));
	assert_true(strstr(b.result.console_tail, "Linux version " RELEASE " #1"));
	assert_true(strstr(b.result.console_tail, "reboot: Power down\n"));
	assert_false(b.result.kernel_warned);
	assert_string_equal(b.result.qemu_exit, "exit 0");
	boot_done(&b);
}

/* Enough bytes to fill every buffer on the way, and none lost. */
static void test_boot_bulk(void **state)
{
	struct boot b = { .cfg = { .append = "KDELTA_BULK=20000" } };
	const char *s;
	size_t n = 0;

	(void)state;
	expect(&b, "ok", VM_DONE, "");
	for (s = b.lines.s; (s = strstr(s, "bulk-line")); s++)
		n++;
	assert_int_equal(n, 20000);
	boot_done(&b);
}

/* QEMU is gone before we have read what it sent: more than one read's worth. */
static void test_boot_burst(void **state)
{
	struct boot b = { .cfg = { .append = "KDELTA_BULK=11000" }, .slow = true };

	(void)state;
	expect(&b, "burst", VM_DONE, "");
	assert_true(b.lines.len > 2 * 65536);
	assert_true(str_ends(b.lines.s, "bulk-line 10999\n{\"k\":\"done\"}\n"));
	boot_done(&b);
}

static void test_boot_fates(void **state)
{
	static const struct {
		const char *mode;
		enum vm_end end;
		const char *reason, *tail;
		size_t lines;
		bool warned;
	} t[] = {
		{ "panic", VM_PANICKED, "kernel panic: Attempted to kill init!", "Kernel panic", 1,
		  true },
		{ "panic-stays", VM_PANICKED, "kernel panic: Attempted to kill init!",
		  "Kernel panic", 1, true },
		{ "hang", VM_HUNG, "no record for 1 s; last on the console: Run /init", "Run /init",
		  1, false },
		{ "early-exit", VM_EXITED_EARLY, "without 'done' (guest-shutdown)", "Power down", 1,
		  false },
		{ "exit-nonzero", VM_QEMU_FAILED, "exit 3: fake-qemu: internal error: out of luck",
		  "--- QEMU:\nfake-qemu: internal", 1, false },
		{ "refuse-args", VM_QEMU_FAILED, "exit 1: fake-qemu: -accel tcg: invalid",
		  "--- QEMU:\nfake-qemu: -accel", 0, false },
		{ "overlong", VM_ABORTED, "a line of more than 4194304 bytes", "", 1, false },
		{ "garbage-lines", VM_DONE, "", "Power down", 7, false },
		{ "wrong-kernel", VM_DONE, "", "Power down", 3, false },
		{ "oops-but-done", VM_DONE, "the kernel warned: BUG: kernel NULL", "Oops: ", 3,
		  true },
		{ "panic-after-done", VM_DONE, "panicked after 'done': Attempted", "Kernel panic",
		  3, true },
		{ "no-channel", VM_EXITED_EARLY,
		  "(guest-shutdown); init said: no channel: nothing to send through: No such file",
		  "kdelta-agent: no channel", 0, false },
		{ "module-fails", VM_EXITED_EARLY, "without 'done'", "Power down", 1, false },
		{ "oom", VM_EXITED_EARLY, "without 'done'", "Power down", 2, false },
		{ "two-channels", VM_DONE, "", "Power down", 3, false },
		{ "no-poweroff", VM_DONE, "did not power off after 'done'", "", 3, false },
		{ "ignore-quit", VM_DONE, "did not power off after 'done'", "", 3, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct boot b = { .cfg = { .silence_timeout_ns = NSEC_PER_SEC,
					   .poweroff_timeout_ns = NSEC_PER_SEC / 2 } };
		size_t lines = 0, j;

		expect(&b, t[i].mode, t[i].end, t[i].reason);
		for (j = 0; j < b.lines.len; j++)
			lines += b.lines.s[j] == '\n';
		if (lines != t[i].lines || b.result.kernel_warned != t[i].warned ||
		    !strstr(b.result.console_tail, t[i].tail))
			fail_msg("%s: %zu lines, warned %d, console:\n%s", t[i].mode, lines,
				 b.result.kernel_warned, b.result.console_tail);
		if (str_eq(t[i].mode, "no-poweroff"))
			assert_string_equal(b.result.qemu_exit, "exit 0");
		if (str_eq(t[i].mode, "ignore-quit"))
			assert_string_equal(b.result.qemu_exit, "killed by us");
		if (lines)
			assert_string_equal(b.result.channel, str_eq(t[i].mode, "two-channels")
								      ? "virtio"
								      : "serial");
		else
			assert_null(b.result.channel);
		if (str_eq(t[i].mode, "wrong-kernel"))
			assert_true(strstr(b.lines.s, "\"release\":\"0.0.0-wrong\""));
		boot_done(&b);
	}
}

/* With the drivers' modules the records come through the port. */
static void test_boot_modules(void **state)
{
	const struct vm_module modules[] = { { "virtio_pci", "1", 1 },
					     { "virtio_console", "2", 1 } };
	struct boot b = { .cfg = { .modules = modules, .n_modules = 2 } };
	struct boot c = { .cfg = { .modules = modules, .n_modules = 1 } };

	(void)state;
	expect(&b, "ok", VM_DONE, "");
	assert_string_equal(b.result.channel, "virtio");
	assert_true(strstr(b.result.console_tail, "loading kdelta/modules/01-virtio_pci.ko\n"));
	assert_true(strstr(b.result.console_tail, "loading kdelta/modules/02-virtio_console.ko\n"));
	boot_done(&b);
	expect(&c, "module-fails", VM_EXITED_EARLY, "without 'done'");
	assert_true(strstr(c.lines.s, "the module 01-virtio_pci.ko cannot be loaded: Exec format"));
	boot_done(&c);
}

static void test_boot_kvm(void **state)
{
	struct boot dead = { .cfg = { .kvm = true, .boot_timeout_ns = NSEC_PER_SEC } };
	struct boot none = { .cfg = { .kvm = true } };
	struct boot tcg = { .cfg = { .kvm = false } };

	(void)state;
	expect(&dead, "dead-kvm", VM_HUNG, "CONFIG_SERIAL_8250_CONSOLE, and CONFIG_SERIAL_8250 or");
	boot_done(&dead);
	expect(&none, "no-kvm", VM_QEMU_FAILED, "Could not access KVM kernel module");
	boot_done(&none);
	expect(&tcg, "dead-kvm", VM_DONE, "");
	boot_done(&tcg);
}

static void test_boot_timeouts(void **state)
{
	struct boot silent = { .cfg = { .boot_timeout_ns = 3 * NSEC_PER_SEC } };
	struct boot no_qmp = { .cfg = { .boot_timeout_ns = NSEC_PER_SEC } };
	struct boot total = { .cfg = { .total_timeout_ns = 2 * NSEC_PER_SEC } };

	(void)state;
	expect(&silent, "silent", VM_HUNG, "booting: no record in 3 s; the console is empty");
	assert_string_equal(silent.result.console_tail, "");
	boot_done(&silent);
	expect(&no_qmp, "no-qmp", VM_QEMU_FAILED, "did not answer on its control socket in 1 s");
	boot_done(&no_qmp);
	expect(&total, "hang", VM_HUNG, "not done in 2 s");
	assert_true(total.result.total_ns >= 2 * NSEC_PER_SEC);
	boot_done(&total);
}

static void test_boot_callback(void **state)
{
	struct boot aborted = { .abort_on = "hello" };
	struct boot stopped = { .stop_on = "hello" };
	struct boot late = { .stop_on = "done" };

	(void)state;
	expect(&aborted, "ok", VM_ABORTED, "wrong?kernel");
	assert_null(strstr(aborted.lines.s, "log"));
	boot_done(&aborted);
	expect(&stopped, "hang", VM_STOPPED, "stopped");
	boot_done(&stopped);
	/* What is done stays done. */
	expect(&late, "no-poweroff", VM_DONE, "");
	boot_done(&late);
}

static void test_boot_qemu_killed(void **state)
{
	struct boot b = { .kill_on_hello = true };

	(void)state;
	expect(&b, "hang", VM_QEMU_FAILED, "QEMU ended with signal 9");
	boot_done(&b);
}

/* A guest that dies in the middle of a line: the half is no record. */
static void test_boot_torn(void **state)
{
	struct boot b = { .cfg = { .append = "KDELTA_TORN=1" } };

	(void)state;
	expect(&b, "ok", VM_EXITED_EARLY, "without 'done', in the middle of a record (guest-");
	assert_null(strstr(b.lines.s, "\"torn"));
	boot_done(&b);
}

static void test_boot_no_qemu(void **state)
{
	struct boot b = { .cfg = { .qemu = "kdelta-no-such-qemu" } };
	struct boot c = { .cfg = { .append = "a\tb" } };
	struct boot d = { .cfg = { .qemu = NULL } };
	CLEANUP_FREE char *broken = in_dir("broken");
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(run(&b, "ok", "agent.sh", &e), -ENOENT);
	assert_string_equal(e.text, "kdelta-no-such-qemu not found: install qemu-system-x86");
	assert_null(b.result.cmdline);
	boot_done(&b);
	assert_int_equal(run(&c, "ok", "agent.sh", NULL), -EINVAL);
	boot_done(&c);
	write_file("broken", "\177ELF but no program", 19, 0755);
	d.cfg.qemu = broken;
	error_clear(&e);
	assert_int_equal(run(&d, "ok", "agent.sh", &e), -ENOEXEC);
	assert_true(strstr(e.text, "cannot start"));
	assert_null(d.result.cmdline);
	boot_done(&d);
}

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* 50 boots, whatever becomes of them: no descriptor, process or file is left. */
static void test_boot_no_leak(void **state)
{
	static const char *const modes[] = { "ok", "panic", "refuse-args", "early-exit",
					     "overlong" };
	CLEANUP_FREE char *pids = in_dir("pids");
	CLEANUP_FREE char *text = NULL;
	size_t fds, files, tmp, i, n = 0;
	char *s, *next;

	(void)state;
	setenv("FAKE_QEMU_PIDS", pids, 1);
	write_file("pids", "", 0, 0644);
	write_file("pid", "", 0, 0644);
	fds = count_entries("/proc/self/fd");
	files = count_entries(dir);
	tmp = count_entries("/tmp");
	for (i = 0; i < 50; i++) {
		struct boot b = { .stop_on = i % 7 ? NULL : "hello" };

		assert_int_equal(run(&b, modes[i % ARRAY_SIZE(modes)], "agent.sh", NULL), 0);
		boot_done(&b);
		assert_int_equal(count_entries("/proc/self/fd"), fds);
	}
	unsetenv("FAKE_QEMU_PIDS");
	assert_int_equal(count_entries(dir), files);
	/* Others use it, too, but none of them leaves fifty. */
	assert_in_range(count_entries("/tmp"), 0, tmp + 25);
	/* No child is left to reap, and none lives on elsewhere. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(file_read(pids, 10000, &text, NULL, NULL), 0);
	for (s = text; *s; s = next + 1, n++) {
		pid_t pid = (pid_t)strtol(s, &next, 10);

		assert_true(pid > 1 && *next == '\n');
		assert_int_equal(kill(pid, 0), -1);
		assert_int_equal(errno, ESRCH);
	}
	assert_int_equal(n, 50);
}

/* A parent without stdin, stdout and stderr: its sockets get those numbers. */
static void test_boot_without_stdio(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct boot b = { .stop_on = NULL };

		close(0);
		close(1);
		close(2);
		if (run(&b, "ok", "agent.sh", NULL) < 0)
			_exit(1);
		_exit(b.result.end == VM_DONE ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* kill -9 of kdelta: QEMU dies with it, even one that looks at no socket. */
static void test_kill_9_of_parent(void **state)
{
	CLEANUP_FREE char *sleeper = in_dir("sleeper");
	CLEANUP_FREE char *pid_path = in_dir("pid");
	CLEANUP_FREE char *line = NULL;
	uint64_t end = clock_mono_ns() + 20 * NSEC_PER_SEC;
	static const char script[] = "#!/bin/sh\necho $$ >$FAKE_QEMU_PID.new\n"
				     "mv $FAKE_QEMU_PID.new $FAKE_QEMU_PID\nexec sleep 300\n";
	int status, qemu;
	pid_t pid;

	(void)state;
	write_file("sleeper", script, sizeof(script) - 1, 0755);
	unlink(pid_path);
	/* The orphan comes to us, so that we see what killed it. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct boot b = { .cfg = { .qemu = sleeper } };

		run(&b, "ok", "agent.sh", NULL);
		_exit(1);
	}
	while (!(line = file_line(pid_path)) && clock_mono_ns() < end)
		clock_sleep_ns(10 * NSEC_PER_MSEC);
	assert_non_null(line);
	qemu = atoi(line);
	assert_int_equal(kill(qemu, 0), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (waitpid(qemu, &status, WNOHANG) != qemu) {
		assert_true(clock_mono_ns() < end);
		clock_sleep_ns(10 * NSEC_PER_MSEC);
	}
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void test_version(void **state)
{
	struct error e = ERROR_INIT;
	char version[100];

	(void)state;
	assert_int_equal(vm_qemu_version(fake, version, sizeof(version), NULL), 0);
	assert_string_equal(version, "7.2.0 (fake)");
	setenv("FAKE_QEMU_VERSION", "6.2.0", 1);
	assert_int_equal(vm_qemu_version(fake, version, sizeof(version), &e), -ENOTSUP);
	assert_true(strstr(e.text, "is QEMU 6.2.0 (fake): 7.2 or newer is needed"));
	unsetenv("FAKE_QEMU_VERSION");
	error_clear(&e);
	assert_int_equal(vm_qemu_version("/bin/true", version, sizeof(version), &e), -EPROTO);
	error_clear(&e);
	assert_int_equal(vm_qemu_version("/nonexistent/q", version, sizeof(version), &e), -ENOENT);
}

static void test_end_names(void **state)
{
	enum vm_end i;

	(void)state;
	for (i = VM_DONE; i <= VM_STOPPED; i++)
		assert_true(strlen(vm_end_name(i)) > 3);
	vm_result_done(NULL);
}

/* ---- what all of them use ---- */

/* A bzImage's header; its payload is a bare build-id note. */
static void make_kernel(void)
{
	static const char version[] = RELEASE " (builder@host) " VERSION;
	static const unsigned char note[] = {
		4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0
	};
	unsigned char k[2048];
	unsigned i;

	memset(k, 0, sizeof(k));
	k[0x1f1] = 1; /* sectors of set-up code */
	k[0x1fe] = 0x55;
	k[0x1ff] = 0xaa;
	memcpy(k + 0x202, "HdrS", 4);
	k[0x206] = 0x0f;
	k[0x207] = 0x02;
	k[0x20f] = 0x01; /* version at 0x100 + 0x200 */
	memcpy(k + 0x300, version, sizeof(version));
	k[0x24c] = 36; /* payload at 0 of 36 bytes */
	memcpy(k + 1024, note, sizeof(note));
	for (i = 0; i < 20; i++)
		k[1024 + 16 + i] = (unsigned char)i;
	write_file("bzImage", k, sizeof(k), 0644);
}

static void make_agent(void)
{
	static const char script[] =
		"#!/bin/sh\n"
		"[ \"$1 $2\" = 'run --plan' ] || exit 9\n"
		"echo '{\"k\":\"hello\",\"release\":\"native\",\"boot_id\":\"native-boot\"}'\n"
		"printf '{\"k\":\"log\",\"plan\":%s,\"var\":\"%s\"}\\n' \"$(cat $3)\" \"$KDELTA_MOCK\"\n"
		"i=0\n"
		"while [ $i -lt ${KDELTA_BULK:-0} ]; do echo bulk-line $i; i=$((i + 1)); done\n"
		"[ -z \"$KDELTA_TORN\" ] || { printf '{\"torn'; exit; }\n"
		"echo '{\"k\":\"done\"}'\n";
	unsigned char elf[1000];

	write_file("agent.sh", script, sizeof(script) - 1, 0755);
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	write_file("agent", elf, sizeof(elf), 0755);
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
	if (dir_make() < 0)
		return -1;
	make_kernel();
	make_agent();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot_ok),
		cmocka_unit_test(test_boot_bulk),
		cmocka_unit_test(test_boot_burst),
		cmocka_unit_test(test_boot_fates),
		cmocka_unit_test(test_boot_modules),
		cmocka_unit_test(test_boot_kvm),
		cmocka_unit_test(test_boot_timeouts),
		cmocka_unit_test(test_boot_callback),
		cmocka_unit_test(test_boot_qemu_killed),
		cmocka_unit_test(test_boot_torn),
		cmocka_unit_test(test_boot_no_qemu),
		cmocka_unit_test(test_boot_no_leak),
		cmocka_unit_test(test_boot_without_stdio),
		cmocka_unit_test(test_kill_9_of_parent),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_end_names),
	};

	return cmocka_run_group_tests(tests, setup, dir_remove);
}
