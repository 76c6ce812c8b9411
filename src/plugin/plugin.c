/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kdelta-plugin.so: counts what a guest of exact mode executes. docs/adr/0002-exact.md is the
 * contract; here is what QEMU calls.
 *
 * A block's first instruction adds to the block's slot and its length to the sum over all, inline.
 * Calls are made only at markers, where contexts change, and behind string instructions.
 *
 * With `from=marker` nothing is added before the marker that says so, when all code is translated
 * anew: half of what a run executes once is before, and code that counts takes twice as long to
 * translate. Contexts are followed from the start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/api.h"
#include "plugin/context.h"
#include "plugin/insn.h"
#include "plugin/halt.h"
#include "plugin/slots.h"
#include "plugin/table.h"
#include "plugin/window.h"

#define PAGE_BYTES 4096u
#define MAX_INSNS  512u /* in a piece of code that QEMU translates at once */

/* There is one machine, and the callbacks of translation have no argument of ours. */
static struct {
	uint64_t id;
	unsigned api;
	bool counts, asked; /* asked: to count, but code that does not may still run */
	bool data_copied;   /* by qemu_plugin_insn_data */
	int fd;
	bool failed, finished;
	struct table *table;
	struct slots *slots;
	struct context_places *places; /* NULL: contexts are not told apart */
	struct contexts *contexts;
	struct windows windows;
} plugin = { .fd = -1 };

int qemu_plugin_version;

/* QEMU reads it before it calls us. */
__attribute__((constructor)) static void choose_version(void)
{
	qemu_plugin_version = qemu_plugin_scoreboard_new ? 2 : 1;
}

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list ap;

	fputs("kdelta-plugin: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* What was counted is worth nothing: nothing will be written. Said once. */
static void fail(int error, const char *what)
{
	if (!plugin.failed)
		complain("%s: %s", what, strerror(-error));
	plugin.failed = true;
}

/* ---- while the guest runs ---- */

static void finish(void)
{
	int r;

	if (plugin.finished)
		return;
	plugin.finished = true;
	plugin.counts = false;
	if (!plugin.failed) {
		r = windows_write(&plugin.windows, plugin.api, plugin.fd);
		if (r)
			fail(r, "cannot write the counts");
	}
	close(plugin.fd);
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb);

static void on_reset(uint64_t id)
{
	plugin.counts = !plugin.finished;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
}

static void on_marker(unsigned cpu, void *arg)
{
	enum marker m = (enum marker)(uintptr_t)arg;
	int r;

	(void)cpu;
	if (m == MARKER_FINISH) {
		finish();
		return;
	}
	if (m == MARKER_COUNT && !plugin.asked && !plugin.finished) {
		plugin.asked = true;
		qemu_plugin_reset(plugin.id, on_reset);
		return;
	}
	if (!plugin.counts) {
		if (!plugin.finished)
			fail(-EPROTO, "a window before there was a count");
		return;
	}
	r = windows_mark(&plugin.windows, m);
	if (r == -EPROTO)
		fail(r, "the sums by context and by address differ");
	else if (r)
		fail(r, "windows");
}

static void on_event(unsigned cpu, void *arg)
{
	(void)cpu;
	context_happens(plugin.contexts, (enum context_event)(uintptr_t)arg);
}

static void on_switch(unsigned cpu, uint32_t what, uint64_t vaddr, void *arg)
{
	(void)cpu;
	(void)what;
	(void)arg;
	if (context_switch(plugin.contexts, vaddr))
		fail(-ENOMEM, "tasks");
}

static void on_compare(unsigned cpu, void *arg)
{
	struct table_rep *p = arg;

	(void)cpu;
	++*slots_cell(plugin.slots, p->begun);
	p->touched = false;
}

static void on_compared(unsigned cpu, uint32_t what, uint64_t vaddr, void *arg)
{
	struct table_rep *p = arg;

	(void)cpu;
	(void)what;
	(void)vaddr;
	p->touched = true;
}

static void on_after(unsigned cpu, void *arg)
{
	const struct table_after *a = arg;
	struct table_rep *p;

	(void)cpu;
	for (p = a->reps; p; p = p->next) {
		uint64_t begun = *slots_cell(plugin.slots, p->begun);

		if (begun == p->seen)
			continue;
		p->seen = begun;
		++*slots_cell(plugin.slots, p->done);
		if (p->compares && !p->touched)
			++*slots_cell(plugin.slots, p->looks);
		++*slots_cell(plugin.slots, p->kernel ? SLOT_KERNEL : SLOT_USER);
	}
}

/* ---- when code is translated ---- */

struct block {
	struct qemu_plugin_insn *first;
	uint64_t addr, target;
	size_t n;
	unsigned char lengths[MAX_INSNS];
};

static void end_block(struct block *b)
{
	size_t slot;
	int r;

	if (!b->n)
		return;
	if (b->addr >> 63) {
		r = table_block(plugin.table, b->addr, b->lengths, b->n, b->target, &slot);
		if (r) {
			fail(r, "no room for another block of code");
			b->n = 0;
			return;
		}
		slots_count(plugin.slots, b->first, slot, 1);
		/* Without contexts nobody asks for the sum. */
		if (plugin.contexts)
			slots_count(plugin.slots, b->first, SLOT_KERNEL, b->n);
	} else {
		slots_count(plugin.slots, b->first, SLOT_USER, b->n);
	}
	b->n = 0;
	b->target = 0;
}

static void translate_rep(struct qemu_plugin_insn *insn, uint64_t addr, size_t len, bool compares)
{
	struct table_rep *p;
	int r = table_rep(plugin.table, addr, len, compares, &p);

	if (r) {
		fail(r, "no room for another string instruction");
	} else if (compares) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_compare, API_NO_REGISTERS, p);
		qemu_plugin_register_vcpu_mem_cb(insn, on_compared, API_NO_REGISTERS,
						 API_READ_WRITE, p);
	} else {
		slots_count(plugin.slots, insn, p->begun, 1);
	}
}

/*
 * What stands behind a string instruction begins a piece of code, since that ends one. Such a piece
 * may have been translated before the string instruction was, so the bytes before it tell; those
 * before a page cannot be seen, they may be one.
 */
static struct table_after *after_rep(const struct qemu_plugin_insn *insn, uint64_t addr)
{
	struct table_after *a = table_find_after(plugin.table, addr);
	size_t in_page = addr % PAGE_BYTES, n = in_page < INSN_BYTES ? in_page : INSN_BYTES;
	const unsigned char *bytes;

	if (a)
		return a;
	bytes = qemu_plugin_insn_haddr(insn);
	/* Code in a device has no host address. */
	if (n && ((uintptr_t)bytes < (1u << 16) || !insn_ends_in_rep(bytes - n, n)))
		return NULL;
	if (table_after(plugin.table, addr, &a)) {
		fail(-ENOMEM, "no room for another string instruction");
		return NULL;
	}
	return a;
}

static size_t insn_bytes(const struct qemu_plugin_insn *insn, unsigned char *to, size_t size)
{
	size_t len = qemu_plugin_insn_size(insn);
	uintptr_t got = qemu_plugin_insn_data(insn, to, size);

	if (len > size)
		len = size;
	if (!plugin.data_copied)
		memcpy(to, (const void *)got, len);
	return len;
}

static void translate_insn(struct block *b, struct qemu_plugin_insn *insn, bool first)
{
	uint64_t addr = qemu_plugin_insn_vaddr(insn);
	bool kernel = addr >> 63;
	enum context_event event = CONTEXT_NO_EVENT;
	struct table_after *after = first && plugin.counts ? after_rep(insn, addr) : NULL;
	unsigned char bytes[INSN_BYTES];
	size_t len = insn_bytes(insn, bytes, sizeof(bytes));
	struct insn in;

	if (kernel)
		halt_translate(insn, bytes, len);
	if (plugin.fd < 0)
		return;
	insn_decode(bytes, len, addr, &in);
	if (plugin.places)
		event = context_at(plugin.places, addr, &in);
	if (after)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_after, API_NO_REGISTERS, after);
	if (event == CONTEXT_SWITCH) {
		qemu_plugin_register_vcpu_mem_cb(insn, on_switch, API_NO_REGISTERS, API_READ_WRITE,
						 NULL);
	} else if (event != CONTEXT_NO_EVENT) {
		end_block(b);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_event, API_NO_REGISTERS,
						       (void *)(uintptr_t)event);
	}
	if (in.marker && !kernel) {
		end_block(b);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, API_NO_REGISTERS,
						       (void *)(uintptr_t)in.marker);
		return;
	}
	if (!plugin.counts)
		return;
	if (in.string != INSN_NO_STRING) {
		end_block(b);
		translate_rep(insn, addr, len, in.string == INSN_COMPARES);
		return;
	}
	/*
	 * QEMU 7.2 to 8.2 show us one instruction too many, cut off, where the next one crosses
	 * into another page: it is put off and what we add to it is dropped. So what may cross is
	 * not part of a block that began before.
	 */
	if (addr % PAGE_BYTES + INSN_BYTES > PAGE_BYTES)
		end_block(b);
	if (!b->n) {
		b->first = insn;
		b->addr = addr;
	}
	b->lengths[b->n++] = (unsigned char)len;
	b->target = in.target;
	if (!in.safe || b->n == MAX_INSNS)
		end_block(b);
}

/*
 * An instruction that crosses into the next page is translated alone. QEMU 7.2 finds that out only
 * in the middle of it, takes its code back, and still lists it as the last of the piece before; of
 * its bytes it may know only those of the first page. What is counted by its own counter is then
 * not counted, since that was taken back as well.
 */
static bool at_page_end(const struct qemu_plugin_insn *insn)
{
	uint64_t addr = qemu_plugin_insn_vaddr(insn), end = addr + qemu_plugin_insn_size(insn);

	return addr / PAGE_BYTES != end / PAGE_BYTES;
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct block b;

	(void)id;
	b.n = 0;
	b.target = 0;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (at_page_end(insn))
			end_block(&b);
		translate_insn(&b, insn, !i);
	}
	end_block(&b);
}

/* ---- loading ---- */

static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, room = 4096;
	char *text = NULL, *more;
	ssize_t got = 1;

	while (fd >= 0 && got > 0) {
		more = n + 1 < room && text ? text : realloc(text, room *= 2);
		if (!more) {
			got = -1;
			break;
		}
		text = more;
		got = read(fd, text + n, room - n - 1);
		n += got > 0 ? (size_t)got : 0;
	}
	if (fd < 0 || got < 0) {
		complain("contexts: %s: %s", path, strerror(errno));
		free(text);
		text = NULL;
	} else {
		text[n] = '\0';
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static int read_contexts(const char *path)
{
	const char *what;
	unsigned line;
	char *text = read_text(path);
	int r = text ? context_parse(text, &plugin.places, &line, &what) : -EINVAL;

	if (text && r == -EINVAL)
		complain("contexts: %s:%u: %s", path, line, what);
	else if (text && r)
		complain("contexts: %s", strerror(-r));
	free(text);
	return r;
}

static int read_args(int argc, char **argv)
{
	bool counts = true;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			plugin.fd =
				open(argv[i] + 4, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0666);
			if (plugin.fd < 0) {
				complain("out: %s: %s", argv[i] + 4, strerror(errno));
				return -1;
			}
		} else if (!strncmp(argv[i], "contexts=", 9)) {
			if (read_contexts(argv[i] + 9))
				return -1;
		} else if (!strcmp(argv[i], "from=marker")) {
			counts = false;
		} else {
			complain("%s: not known: say out=FILE, contexts=FILE and from=marker",
				 argv[i]);
			return -1;
		}
	}
	/* Without a file nothing is counted: a boot is only to halt as its runs do. */
	plugin.counts = plugin.asked = counts && plugin.fd >= 0;
	return 0;
}

int qemu_plugin_install(uint64_t id, const struct api_info *info, int argc, char **argv)
{
	unsigned cpus = info->system && info->cpus.max > 0 ? (unsigned)info->cpus.max : 1;

	plugin.id = id;
	plugin.api = (unsigned)qemu_plugin_version;
	plugin.data_copied = info->version.cur >= 3;
	if (!info->system || strcmp(info->target, "x86_64")) {
		complain("%s: only machines of x86_64 are counted", info->target);
		return -1;
	}
	if (cpus > 1 && plugin.api < 2) {
		complain("%u CPUs: at most 1 with this QEMU", cpus);
		return -1;
	}
	if (read_args(argc, argv))
		return -1;
	if (!halt_init())
		complain("QEMU's main thread cannot be watched: where a CPU halts, digits may "
			 "depend on the host");
	plugin.table = table_new(cpus > 1);
	plugin.slots = plugin.table ? table_slots(plugin.table) : NULL;
	/* Which of several CPUs it was is not known, and so no context: slots.h. */
	if (cpus > 1) {
		context_places_free(plugin.places);
		plugin.places = NULL;
	}
	if (plugin.places && plugin.slots)
		plugin.contexts = contexts_new(plugin.slots);
	if (!plugin.slots || (plugin.places && !plugin.contexts)) {
		complain("%s", strerror(ENOMEM));
		return -1;
	}
	plugin.windows = (struct windows){ .table = plugin.table, .contexts = plugin.contexts };
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
