/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the vm room that start no process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "vm/channel.h"
#include "vm/console.h"
#include "vm/elf.h"
#include "vm/initramfs.h"
#include "vm/qemu.h"
#include "vm/qmp.h"
#include "vm/shell.h"
#include "vm/vm.h"
#include "vm_fixture.h"

/* ---- channel ---- */

static void collect(void *arg, const char *line, size_t len)
{
	assert_int_equal(line[len], '\0');
	str_add_n(arg, line, len);
	str_add_c(arg, '|');
}

static void test_channel_pieces(void **state)
{
	static const char text[] = "one\r\n\n\r\ntwo\rhalf\nthree\0nul\nto";
	size_t piece, i, len = sizeof(text) - 1;

	(void)state;
	for (piece = 1; piece <= len; piece++) {
		struct channel c;
		struct str got = STR_INIT;

		channel_init(&c, 100);
		for (i = 0; i < len; i += piece)
			channel_feed(&c, text + i, len - i < piece ? len - i : piece, collect,
				     &got);
		assert_int_equal(got.len, 23);
		assert_memory_equal(got.s, "one|two\rhalf|three\0nul|", 23);
		assert_true(channel_torn(&c));
		channel_feed(&c, "rn\n", 3, collect, &got);
		assert_memory_equal(got.s + 23, "torn|", 5);
		assert_false(channel_torn(&c));
		assert_int_equal(c.overlong, 0);
		channel_done(&c);
		str_done(&got);
	}
	channel_done(NULL);
}

static void test_channel_bounded(void **state)
{
	static const char text[] = "12345678\n123456789\n12345678\r\n123456789\r\nok\n";
	size_t piece, i, len = sizeof(text) - 1;
	struct channel c;
	struct str got = STR_INIT;

	(void)state;
	for (piece = 1; piece <= len; piece++) {
		channel_init(&c, 8);
		for (i = 0; i < len; i += piece)
			channel_feed(&c, text + i, len - i < piece ? len - i : piece, collect,
				     &got);
		assert_string_equal(got.s, "12345678|12345678|ok|");
		assert_int_equal(c.overlong, 2);
		channel_done(&c);
		str_done(&got);
	}
	/* An endless line takes no memory. */
	channel_init(&c, 1000);
	for (i = 0; i < 10000; i++) {
		channel_feed(&c, text, 8, collect, &got);
		assert_true(c.buf.cap <= 4096);
	}
	assert_true(channel_torn(&c));
	channel_feed(&c, "\nnext\n", 6, collect, &got);
	assert_string_equal(got.s, "next|");
	assert_int_equal(c.overlong, 1);
	channel_done(&c);
	str_done(&got);
}

/* ---- console ---- */

static void test_console_tail(void **state)
{
	struct console *c = mem_alloc(sizeof(*c));
	char *tail;
	int i;

	(void)state;
	console_init(c);
	tail = console_tail(c);
	assert_string_equal(tail, "");
	assert_string_equal(console_last(c), "");
	free(tail);
	for (i = 0; i < 200; i++) {
		char line[32];
		int n = snprintf(line, sizeof(line), "line %d\r\n", i);

		console_feed(c, line, (size_t)n);
		tail = console_tail(c);
		{
			const char *s = tail;
			int first = i < 50 ? 0 : i - 49, j;

			for (j = first; j <= i; j++) {
				CLEANUP_FREE char *want = mem_printf("line %d\n", j);

				assert_true(str_starts(s, want));
				s += strlen(want);
			}
			assert_string_equal(s, "");
		}
		free(tail);
	}
	/* A line that has not ended is the 50th. */
	console_feed(c, "half", 4);
	tail = console_tail(c);
	assert_true(str_starts(tail, "line 151\n"));
	assert_true(str_ends(tail, "line 199\nhalf\n"));
	assert_string_equal(console_last(c), "half");
	free(tail);
	assert_false(c->warned);
	free(c);
}

static void test_console_clean(void **state)
{
	struct console *c = mem_alloc(sizeof(*c));
	char *tail;
	int i;

	(void)state;
	console_init(c);
	console_feed(c, "\x1b[31mred\tend\xff\x07\n", 15);
	for (i = 0; i < 3 * CONSOLE_WIDTH; i++)
		console_feed(c, "w", 1);
	console_feed(c, "\n\n", 2);
	tail = console_tail(c);
	assert_true(str_starts(tail, "?[31mred end??\nwww"));
	assert_int_equal(strlen(tail), 15 + CONSOLE_WIDTH + 2);
	assert_true(str_starts(console_last(c), "www"));
	free(tail);
	free(c);
}

static void test_console_signs(void **state)
{
	static const struct {
		const char *line;
		enum console_sign sign;
	} t[] = {
		{ "[    1.0] Kernel panic - not syncing: VFS: Unable to mount", CONSOLE_PANIC },
		{ "[    1.0][    T1] Kernel panic - not syncing: x", CONSOLE_PANIC },
		{ "Kernel panic - not syncing: no time stamps", CONSOLE_PANIC },
		{ "[    1.0] BUG: kernel NULL pointer dereference, address: 0", CONSOLE_WARNING },
		{ "[    1.0] Oops: 0002 [#1] PREEMPT SMP NOPTI", CONSOLE_WARNING },
		{ "[    1.0] ------------[ cut here ]------------", CONSOLE_WARNING },
		{ "[    1.0] WARNING: CPU: 0 PID: 1 at fs/x.c:1 f+0x1/0x2", CONSOLE_WARNING },
		{ "[    1.0] WARNING: fs/x.c:1 at f+0x1/0x2, CPU#1: init/1", CONSOLE_WARNING },
		{ "[    1.0] INFO: task a:1 blocked for more than 120 seconds.", CONSOLE_WARNING },
		{ "[    1.0] rcu: INFO: rcu_sched self-detected stall on CPU", CONSOLE_WARNING },
		{ "[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 26s!", CONSOLE_WARNING },
		{ "[    1.0] general protection fault, probably for x", CONSOLE_WARNING },
		{ "[    1.0] BUG: KASAN: use-after-free in f", CONSOLE_WARNING },
		{ "[    1.0] Linux version 6.1.0 (debug@x)", CONSOLE_QUIET },
		{ "[    1.0] Command line: panic=-1 oops=panic", CONSOLE_QUIET },
		{ "[    1.0] Spectre V2 : WARNING: Unprivileged eBPF is on", CONSOLE_QUIET },
		{ "[    1.0] WARNING: The mand mount option is deprecated", CONSOLE_QUIET },
		{ "[    1.0] x86/mm: Checked W+X mappings: passed", CONSOLE_QUIET },
		{ "[    1.0] INFO: lockdep is turned off", CONSOLE_QUIET },
		{ "", CONSOLE_QUIET },
		{ "[", CONSOLE_QUIET },
		{ "<", CONSOLE_QUIET },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++)
		if (console_sign(t[i].line) != t[i].sign)
			fail_msg("'%s': %d", t[i].line, console_sign(t[i].line));
	assert_true(console_sign("kdelta-agent: no channel: x: No such file") == CONSOLE_QUIET);
	assert_string_equal(console_message("<4>[   12.345678][    T1] abc [x]"), "abc [x]");
	assert_string_equal(console_message("[drm] abc"), "[drm] abc");
}

static void test_console_panic(void **state)
{
	static const char text[] = "[ 1.0] ------------[ cut here ]------------\n"
				   "[ 1.0] WARNING: CPU: 0 PID: 1 at x\n"
				   "[ 2.0] Kernel panic - not syncing: the end\r\n"
				   "[ 2.0] Kernel panic - not syncing: again\n";
	struct console *c = mem_alloc(sizeof(*c));
	size_t i;

	(void)state;
	console_init(c);
	for (i = 0; i < sizeof(text) - 1; i++)
		console_feed(c, text + i, 1);
	assert_true(c->panicked && c->warned);
	assert_string_equal(c->panic, "the end");
	assert_string_equal(c->warning, "WARNING: CPU: 0 PID: 1 at x");
	console_init(c);
	console_feed(c, "Kernel panic - not syncing", 26);
	assert_false(c->panicked);
	console_finish(c);
	assert_true(c->panicked);
	assert_string_equal(c->panic, "no reason given");
	free(c);
}

/* ---- initramfs ---- */

static struct archive *open_cpio(const void *data, size_t len)
{
	struct archive *a = archive_read_new();

	assert_int_equal(archive_read_support_format_cpio(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_memory(a, data, len), ARCHIVE_OK);
	return a;
}

static void test_initramfs(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
		unsigned major, minor;
	} want[] = {
		{ "dev", S_IFDIR | 0755, 0, 0 },      { "dev/console", S_IFCHR | 0600, 5, 1 },
		{ "dev/null", S_IFCHR | 0666, 1, 3 }, { "proc", S_IFDIR | 0555, 0, 0 },
		{ "sys", S_IFDIR | 0555, 0, 0 },      { "tmp", S_IFDIR | 01777, 0, 0 },
		{ "kdelta", S_IFDIR | 0755, 0, 0 },   { "init", S_IFREG | 0755, 0, 0 },
	};
	CLEANUP_FREE char *path = in_dir("agent");
	unsigned char elf[5001], back[6000];
	struct archive_entry *entry;
	struct vm_config cfg = { .plan_json = "{\"a\":1}" };
	void *base, *again, *plan;
	size_t len, again_len, plan_len, i;
	struct archive *a;

	(void)state;
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	write_file("agent", elf, sizeof(elf), 0755);
	assert_int_equal(vm_initrd_base(path, NULL, 0, &base, &len, NULL), 0);
	write_file("agent", elf, sizeof(elf), 0644);
	assert_int_equal(vm_initrd_base(path, NULL, 0, &again, &again_len, NULL), 0);
	assert_int_equal(len, again_len);
	assert_memory_equal(base, again, len);
	assert_int_equal(len % 4, 0);

	a = open_cpio(base, len);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
		assert_string_equal(archive_entry_pathname(entry), want[i].path);
		assert_int_equal(archive_entry_mode(entry), want[i].mode);
		assert_int_equal(archive_entry_rdevmajor(entry), want[i].major);
		assert_int_equal(archive_entry_rdevminor(entry), want[i].minor);
		assert_int_equal(archive_entry_uid(entry), 0);
		assert_int_equal(archive_entry_mtime(entry), 0);
	}
	assert_int_equal(archive_read_data(a, back, sizeof(back)), sizeof(elf));
	assert_memory_equal(back, elf, sizeof(elf));
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);

	assert_int_equal(initramfs_boot(&cfg, &plan, &plan_len, NULL), 0);
	a = open_cpio(plan, plan_len);
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(entry), "kdelta/plan.json");
	assert_int_equal(archive_entry_mode(entry), S_IFREG | 0644);
	assert_int_equal(archive_read_data(a, back, sizeof(back)), 7);
	assert_memory_equal(back, "{\"a\":1}", 7);
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);
	free(base);
	free(again);
	free(plan);
}

/* The next entry is this one, with these bytes. */
static void expect_entry(struct archive *a, const char *path, mode_t mode, const char *data)
{
	struct archive_entry *entry;
	char back[100];

	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(entry), path);
	assert_int_equal(archive_entry_mode(entry), mode);
	if (!data)
		return;
	assert_int_equal(archive_read_data(a, back, sizeof(back)), strlen(data));
	assert_memory_equal(back, data, strlen(data));
}

static void test_initramfs_modules(void **state)
{
	const struct vm_module modules[] = { { "virtio", "one", 3 }, { "virtio_ring", "two", 3 } };
	struct vm_config cfg = { .plan_json = "{}", .modules = modules, .n_modules = 2 };
	struct archive_entry *entry;
	struct archive *a;
	void *data;
	size_t len;

	(void)state;
	assert_int_equal(initramfs_boot(&cfg, &data, &len, NULL), 0);
	a = open_cpio(data, len);
	expect_entry(a, "kdelta/plan.json", S_IFREG | 0644, "{}");
	expect_entry(a, "kdelta", S_IFDIR | 0755, NULL);
	expect_entry(a, "kdelta/modules", S_IFDIR | 0755, NULL);
	expect_entry(a, "kdelta/modules/01-virtio.ko", S_IFREG | 0644, "one");
	expect_entry(a, "kdelta/modules/02-virtio_ring.ko", S_IFREG | 0644, "two");
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);
	free(data);
}

static void test_initramfs_files(void **state)
{
	char lib[] = "/lib/x/libc.so.6", sh[] = "/bin/sh", word[] = "libc", prog[] = "dash";
	const struct vm_file files[] = { { sh, 0755, prog, 4 }, { lib, 0755, word, 4 } };
	CLEANUP_FREE char *path = in_dir("agent");
	unsigned char elf[500];
	struct archive_entry *entry;
	struct archive *a;
	void *data;
	size_t len;
	int i;

	(void)state;
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	write_file("agent", elf, sizeof(elf), 0755);
	assert_int_equal(vm_initrd_base(path, files, 2, &data, &len, NULL), 0);
	a = open_cpio(data, len);
	for (i = 0; i < 8; i++)
		assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(entry), "init");
	/* A folder before what is in it. */
	expect_entry(a, "bin", S_IFDIR | 0755, NULL);
	expect_entry(a, "bin/sh", S_IFREG | 0755, "dash");
	expect_entry(a, "lib", S_IFDIR | 0755, NULL);
	expect_entry(a, "lib/x", S_IFDIR | 0755, NULL);
	expect_entry(a, "lib/x/libc.so.6", S_IFREG | 0755, "libc");
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);
	free(data);
}

/* ---- shell ---- */

static int collect_path(void *arg, const char *path, struct error *e)
{
	if (str_eq(path, "/stop"))
		return error_set(e, EIO, "stop");
	str_add(arg, path);
	str_add_c(arg, '|');
	return 0;
}

static void test_shell_list(void **state)
{
	struct str got = STR_INIT;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(shell_libraries("\tlinux-vdso.so.1 (0x00007f634cd57000)\n"
					 "\tlibc.so.6 => /lib/a b/libc.so.6 (0x00007f634cb40000)\n"
					 "\t/lib64/ld-linux-x86-64.so.2 (0x00007f634cd59000)",
					 collect_path, &got, NULL),
			 0);
	assert_string_equal(str_get(&got), "/lib/a b/libc.so.6|/lib64/ld-linux-x86-64.so.2|");
	str_reset(&got);
	assert_int_equal(shell_libraries("\tstatically linked\n\n", collect_path, &got, NULL), 0);
	assert_int_equal(got.len, 0);
	assert_int_equal(
		shell_libraries("\tlibx.so.1 => not found\n\t/l (0x1)\n", collect_path, &got, &e),
		-ELIBACC);
	assert_string_equal(e.text, "libx.so.1: not found");
	assert_int_equal(shell_libraries("/stop (0x1)\n/l (0x1)\n", collect_path, &got, NULL),
			 -EIO);
	assert_int_equal(got.len, 0);
	str_done(&got);
}

/* This machine's own: all that it needs is there, under names that are in no need of links. */
static void test_shell(void **state)
{
	CLEANUP_FREE char *link = in_dir("sh");
	CLEANUP_FREE char *text = in_dir("text");
	struct error e = ERROR_INIT;
	struct vm_shell sh;
	struct elf elf;
	size_t i;

	(void)state;
	assert_int_equal(symlink("/bin/sh", link), 0);
	assert_int_equal(vm_shell_read(link, &sh, &e), 0);
	assert_string_equal(sh.files[0].path, link);
	assert_int_equal(elf_read(sh.files[0].data, sh.files[0].len, "sh", &elf, NULL), 0);
	assert_true(str_starts(sh.build_id, *elf.build_id ? elf.build_id : "?"));
	assert_int_equal(elf.dynamic, sh.n > 1);
	for (i = 1; elf.dynamic && i < sh.n && !str_eq(sh.files[i].path, elf.interp); i++)
		;
	assert_true(!elf.dynamic || i < sh.n);
	for (i = 0; i < sh.n; i++)
		assert_true(sh.files[i].len > 1000 && sh.files[i].path[0] == '/');
	vm_shell_done(&sh);
	write_file("text", "#!/bin/sh\n", 10, 0755);
	assert_int_equal(vm_shell_read(text, &sh, &e), -ENOEXEC);
	assert_true(strstr(e.text, "a shell for the guest, "));
	assert_true(strstr(e.text, "not an ELF"));
	vm_shell_done(&sh);
	assert_int_equal(vm_shell_read("/nonexistent/sh", &sh, NULL), -ENOENT);
	vm_shell_done(&sh);
	vm_shell_done(NULL);
}

/* ---- what a kernel must have ---- */

#define CONFIG_BASE "CONFIG_64BIT=y\nCONFIG_BINFMT_ELF=y\nCONFIG_BLK_DEV_INITRD=y\n"
#define CONFIG_TTYS "CONFIG_SERIAL_8250=y\nCONFIG_SERIAL_8250_CONSOLE=y\n"

static void test_config(void **state)
{
	const struct vm_module both[] = { { "virtio-pci", "", 0 }, { "virtio_console", "", 0 } };
	static const struct {
		const char *config;
		size_t n_modules;
		bool console, serial, virtio;
		const char *missing[3]; /* NULL at first: can be used */
	} t[] = {
		{ CONFIG_BASE CONFIG_TTYS, 2, true, true, false, { NULL } },
		{ CONFIG_BASE CONFIG_TTYS "CONFIG_VIRTIO_PCI=m\nCONFIG_VIRTIO_CONSOLE=m\n",
		  2,
		  true,
		  true,
		  true,
		  { NULL } },
		{ CONFIG_BASE CONFIG_TTYS "CONFIG_VIRTIO_PCI=m\nCONFIG_VIRTIO_CONSOLE=m\n",
		  1,
		  true,
		  true,
		  false,
		  { NULL } },
		{ CONFIG_BASE "CONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_CONSOLE=y",
		  0,
		  false,
		  false,
		  true,
		  { NULL } },
		{ CONFIG_BASE "CONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_CONSOLE=m\n"
			      "# CONFIG_SERIAL_8250 is not set\n",
		  1,
		  false,
		  false,
		  false,
		  { "CONFIG_SERIAL_8250_CONSOLE (not set), CONFIG_SERIAL_8250 (not set)",
		    "CONFIG_VIRTIO_CONSOLE (a module, which is not there)", NULL } },
		{ CONFIG_BASE CONFIG_TTYS "CONFIG_SERIAL_8250_RUNTIME_UARTS=1\n",
		  0,
		  true,
		  false,
		  false,
		  { "CONFIG_SERIAL_8250_RUNTIME_UARTS (below 2)", "CONFIG_VIRTIO_PCI (not set)",
		    "CONFIG_VIRTIO_CONSOLE (not set)" } },
		{ CONFIG_BASE "MY_CONFIG_SERIAL_8250=y\nCONFIG_SERIAL_8250_CONSOLE=yes\n",
		  0,
		  false,
		  false,
		  false,
		  { "CONFIG_SERIAL_8250_CONSOLE", NULL, NULL } },
		{ "CONFIG_64BIT=y\nCONFIG_BINFMT_ELF=y\n" CONFIG_TTYS,
		  0,
		  true,
		  true,
		  false,
		  { "takes no initramfs: CONFIG_BLK_DEV_INITRD (not set)", NULL, NULL } },
		{ "", 0, false, false, false, { "CONFIG_64BIT", NULL, NULL } },
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct error e = ERROR_INIT;
		struct vm_ability a;
		int r = vm_check_config(t[i].config, both, t[i].n_modules, &a, &e);

		assert_int_equal(r, t[i].missing[0] ? -ENOTSUP : 0);
		for (j = 0; j < 3 && t[i].missing[j]; j++)
			if (!strstr(e.text, t[i].missing[j]))
				fail_msg("%zu: no '%s' in '%s'", i, t[i].missing[j], e.text);
		assert_int_equal(a.console, t[i].console);
		assert_int_equal(a.serial, t[i].serial);
		assert_int_equal(a.virtio, t[i].virtio);
	}
}

static void check_agent(const void *data, size_t len, const char *want)
{
	struct error e = ERROR_INIT;

	assert_int_equal(initramfs_check_agent(data, len, "AGENT", &e), -ENOEXEC);
	if (!str_starts(e.text, "AGENT: ") || !strstr(e.text, want))
		fail_msg("'%s' is not in '%s'", want, e.text);
}

static void test_agent_check(void **state)
{
	unsigned char elf[1000];
	struct error e = ERROR_INIT;
	void *p;
	size_t n;

	(void)state;
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	assert_int_equal(initramfs_check_agent(elf, sizeof(elf), "x", NULL), 0);
	check_agent(elf, 900, "truncated");
	check_agent(elf, 80, "truncated");
	check_agent(elf, 10, "not an ELF");
	check_agent("#!/bin/sh\n", 10, "not an ELF");
	check_agent("", 0, "not an ELF");
	make_elf(elf, sizeof(elf), EM_AARCH64, PT_LOAD);
	check_agent(elf, sizeof(elf), "not an x86-64");
	make_elf(elf, sizeof(elf), EM_X86_64, PT_INTERP);
	check_agent(elf, sizeof(elf), "-static");
	make_elf(elf, sizeof(elf), EM_X86_64, PT_LOAD);
	memset(elf + offsetof(Elf64_Ehdr, e_phoff), 0xff, 8);
	check_agent(elf, sizeof(elf), "truncated");
	assert_int_equal(vm_initrd_base("/nonexistent/agent", NULL, 0, &p, &n, &e), -ENOENT);
	assert_true(strstr(e.text, "/nonexistent/agent"));
}

/* ---- arguments ---- */

static void test_cmdline(void **state)
{
	struct error e = ERROR_INIT;
	char big[VM_CMDLINE_MAX + 1];
	size_t room = VM_CMDLINE_MAX - strlen(VM_CMDLINE) - 1;
	char *s;

	(void)state;
	assert_int_equal(qemu_cmdline(NULL, &s, NULL), 0);
	assert_string_equal(s, VM_CMDLINE);
	free(s);
	assert_int_equal(qemu_cmdline("a=\"b c\" panic=0", &s, NULL), 0);
	assert_string_equal(s, VM_CMDLINE " a=\"b c\" panic=0");
	free(s);
	memset(big, 'x', sizeof(big));
	big[room] = '\0';
	assert_int_equal(qemu_cmdline(big, &s, NULL), 0);
	assert_int_equal(strlen(s), VM_CMDLINE_MAX);
	free(s);
	big[room] = 'x';
	big[room + 1] = '\0';
	assert_int_equal(qemu_cmdline(big, &s, &e), -EINVAL);
	assert_true(strstr(e.text, "2048 bytes"));
	assert_int_equal(qemu_cmdline("a\nb", &s, NULL), -EINVAL);
	assert_int_equal(qemu_cmdline("\xc3\xa9", &s, NULL), -EINVAL);
}

static void expect_argv(const struct vm_config *cfg, const char *accel, const char *end)
{
	const struct qemu_fds fds = { 10, 11, 12, 13, 14, 15 };
	char **v = qemu_argv(cfg, "/q", "the line", &fds);
	struct str s = STR_INIT;
	CLEANUP_FREE char *want =
		mem_printf("/q|-no-user-config|-nodefaults|-display|none|-no-reboot|"
			   "-machine|pc|-accel|%s|-smp|3|-m|700|"
			   "-kernel|/proc/self/fd/10|-initrd|/proc/self/fd/11|"
			   "-append|the line|"
			   "-chardev|socket,id=console,fd=12|-serial|chardev:console|"
			   "-chardev|socket,id=serial,fd=13|-serial|chardev:serial|"
			   "-device|virtio-serial-pci|-chardev|socket,id=port,fd=14|"
			   "-device|virtserialport,chardev=port,name=kdelta.channel|"
			   "-chardev|socket,id=control,fd=15|"
			   "-mon|chardev=control,mode=control|%s",
			   accel, end);
	size_t i;

	for (i = 0; v[i]; i++) {
		str_add(&s, v[i]);
		str_add_c(&s, '|');
	}
	assert_string_equal(s.s, want);
	str_done(&s);
	qemu_argv_free(v);
}

static void test_argv(void **state)
{
	const char *const more[] = { "-rtc", "base=a b", NULL };
	struct vm_config cfg = { .cpus = 3, .mem_mib = 700, .cpu_model = "max,-rdrand" };

	(void)state;
	expect_argv(&cfg, "tcg|-cpu|max,-rdrand", "");
	cfg.cpu_model = NULL;
	expect_argv(&cfg, "tcg|-cpu|max", "");
	cfg.kvm = true;
	cfg.qemu_args = more;
	expect_argv(&cfg, "kvm|-cpu|host", "-rtc|base=a b|");
	qemu_argv_free(NULL);
}

static void test_new_enough(void **state)
{
	(void)state;
	assert_true(qemu_new_enough("7.2.22 (Debian 1:7.2+dfsg-7)"));
	assert_true(qemu_new_enough("7.2"));
	assert_true(qemu_new_enough("10.0.2"));
	assert_false(qemu_new_enough("7.1.99"));
	assert_false(qemu_new_enough("6.9"));
	assert_false(qemu_new_enough("seven"));
	assert_false(qemu_new_enough(""));
}

static void test_find(void **state)
{
	CLEANUP_FREE char *old = mem_strdup(getenv("PATH"));
	CLEANUP_FREE char *path = mem_printf("/nonexistent::%s", dir);
	CLEANUP_FREE char *want = in_dir(VM_QEMU_NAME);
	struct error e = ERROR_INIT;
	char *got;

	(void)state;
	setenv("PATH", path, 1);
	assert_int_equal(qemu_find(NULL, &got, &e), -ENOENT);
	assert_string_equal(e.text, "qemu-system-x86_64 not found: install qemu-system-x86");
	write_file(VM_QEMU_NAME, "#!/bin/sh\n", 10, 0644);
	assert_int_equal(qemu_find(NULL, &got, NULL), -ENOENT);
	write_file(VM_QEMU_NAME, "#!/bin/sh\n", 10, 0755);
	assert_int_equal(qemu_find(NULL, &got, NULL), 0);
	assert_string_equal(got, want);
	free(got);
	setenv("PATH", old, 1);
	assert_int_equal(qemu_find("/nonexistent/q", &got, NULL), -ENOENT);
	error_clear(&e);
	assert_int_equal(qemu_find("/", &got, &e), -EACCES);
	assert_true(strstr(e.text, "not executable"));
}

/* ---- QMP ---- */

static void test_qmp(void **state)
{
	static const char greeting[] = "{\"QMP\": {\"version\": {}}}\r\n";
	static const char events[] = "junk\r\n{\"return\": {}}\r\n{\"event\":\"RESUME\"}\r\n"
				     "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, "
				     "\"reason\": \"guest-reset\"}}\r\n";
	char buf[200];
	struct qmp q;
	size_t i;
	int p[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p), 0);
	qmp_init(&q, p[0]);
	assert_int_equal(qmp_quit(&q), -ENOTCONN);
	for (i = 0; i < sizeof(greeting) - 1; i++)
		qmp_feed(&q, greeting + i, 1);
	assert_true(q.greeted);
	memset(buf, 0, sizeof(buf));
	assert_true(read(p[1], buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "{\"execute\":\"qmp_capabilities\"}\n");
	assert_string_equal(q.shutdown, "");
	qmp_feed(&q, events, sizeof(events) - 1);
	assert_string_equal(q.shutdown, "guest-reset");
	assert_int_equal(qmp_quit(&q), 0);
	memset(buf, 0, sizeof(buf));
	assert_true(read(p[1], buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "{\"execute\":\"quit\"}\n");
	close(p[1]);
	assert_int_equal(qmp_quit(&q), -EPIPE);
	qmp_done(&q);
	qmp_done(NULL);
	close(p[0]);
}

static int setup(void **state)
{
	(void)state;
	return dir_make();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channel_pieces),
		cmocka_unit_test(test_channel_bounded),
		cmocka_unit_test(test_console_tail),
		cmocka_unit_test(test_console_clean),
		cmocka_unit_test(test_console_signs),
		cmocka_unit_test(test_console_panic),
		cmocka_unit_test(test_initramfs),
		cmocka_unit_test(test_agent_check),
		cmocka_unit_test(test_initramfs_modules),
		cmocka_unit_test(test_initramfs_files),
		cmocka_unit_test(test_shell_list),
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_new_enough),
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_argv),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_qmp),
	};

	return cmocka_run_group_tests(tests, setup, dir_remove);
}
