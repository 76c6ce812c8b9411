/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which symbol an address belongs to, whose name stands for it, and what a guest says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "symbol/internal.h"

#define assert_has(text, part)                                                                     \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not have \"%s\"", text, part);                       \
	} while (0)

static struct symbols *from_lines(const char *text)
{
	struct symbols *s = symbols_new();
	struct symbol_line l;

	while (symbol_line_next(&text, &l) > 0)
		symbols_append(s, l.addr, l.type, l.name, l.name_len, NULL);
	assert_string_equal(text, "");
	symbols_index(s);
	return s;
}

static const char *at(const struct symbols *s, uint64_t addr)
{
	const struct symbol *sym = symbols_at(s, addr);

	return sym ? sym->name : "-";
}

static void addresses(void **state)
{
	struct symbols *s = from_lines("0000000000000000 A fixed_percpu_data\n"
				       "0000000000001000 A cpu_debug_store\n"
				       "ffffffff81000000 T _text\n"
				       "ffffffff81000040 t second\n"
				       "ffffffff81000060 W weak\n"
				       "ffffffff81000080 T _etext\n"
				       "ffffffff81200000 D __start_rodata\n"
				       "ffffffff81200010 r table\n"
				       "ffffffff81300000 t init_one\n");

	(void)state;
	assert_string_equal(at(s, 0), "-");
	assert_string_equal(at(s, 0x1000), "-");
	assert_string_equal(at(s, 0xffffffff80ffffff), "-");
	assert_string_equal(at(s, 0xffffffff81000000), "_text");
	assert_string_equal(at(s, 0xffffffff8100003f), "_text");
	assert_string_equal(at(s, 0xffffffff81000040), "second");
	assert_string_equal(at(s, 0xffffffff8100007f), "weak");
	assert_string_equal(at(s, 0xffffffff811fffff), "_etext");
	/* Data are in nothing, and not in the function before them. */
	assert_string_equal(at(s, 0xffffffff81200000), "-");
	assert_string_equal(at(s, 0xffffffff81200011), "-");
	/* The last one has an end, too. */
	assert_string_equal(at(s, 0xffffffff8130ffff), "init_one");
	assert_string_equal(at(s, 0xffffffff81310000), "-");
	assert_string_equal(at(s, UINT64_MAX), "-");
	assert_int_equal(symbols_named(s, "second")->end, 0xffffffff81000060);
	assert_null(symbols_named(s, "seco"));
	assert_null(symbols_named(s, ""));
	symbols_free(s);

	s = from_lines("fffffffffffffff0 t last\n");
	assert_string_equal(at(s, 0xfffffffffffffff8), "last");
	symbols_free(s);
	s = from_lines("");
	assert_int_equal(symbols_count(s), 0);
	assert_string_equal(at(s, 5), "-");
	assert_null(symbols_named(s, "x"));
	assert_null(symbols_next(s, NULL, ""));
	symbols_free(s);
}

/* Several at one address, in the order given and the other way round. */
static void several(void **state)
{
	static const struct {
		const char *lines, *want;
	} sets[] = {
		{ "10 T memcpy\n10 T __memcpy\n", "memcpy" },
		{ "10 W memcpy\n10 T __memcpy\n", "__memcpy" },
		{ "10 W memcpy\n10 t __memcpy\n", "__memcpy" },
		{ "10 t ct_user_enter\n10 T __ct_user_enter\n", "__ct_user_enter" },
		{ "10 T _text\n10 T _stext\n10 T startup_64\n", "startup_64" },
		{ "10 T __sched_text_start\n10 t __schedule\n", "__schedule" },
		{ "10 T __irqentry_text_end\n10 t restore_all\n", "restore_all" },
		{ "10 T __x86_indirect_thunk_array\n10 T __x86_indirect_thunk_rax\n",
		  "__x86_indirect_thunk_rax" },
		{ "10 t __pfx_schedule\n10 t .Lend\n10 w schedule_old\n", "schedule_old" },
		{ "10 T __ia32_sys_getpid\n10 T __x64_sys_getpid\n10 t __do_sys_getpid\n",
		  "__x64_sys_getpid" },
		{ "10 D __start_data\n10 t .E_copy\n", ".E_copy" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		CLEANUP_FREE char *lines = mem_strdup(sets[i].lines);
		struct str turned = STR_INIT;
		struct symbols *s = from_lines(sets[i].lines);
		char *end;

		if (strcmp(at(s, 0x10), sets[i].want) || strcmp(at(s, 0x1f), sets[i].want))
			fail_msg("%s is found, not %s", at(s, 0x10), sets[i].want);
		symbols_free(s);
		while (*lines) {
			lines[strlen(lines) - 1] = '\0';
			end = strrchr(lines, '\n');
			str_printf(&turned, "%s\n", end ? end + 1 : lines);
			*(end ? end + 1 : lines) = '\0';
		}
		s = from_lines(turned.s);
		if (strcmp(at(s, 0x10), sets[i].want))
			fail_msg("%s is found, not %s", at(s, 0x10), sets[i].want);
		symbols_free(s);
		str_done(&turned);
	}
}

static void by_name(void **state)
{
	struct symbols *s = from_lines("10 t asm_exc_page_fault\n20 t sleep\n30 t asm_sysvec_a\n"
				       "40 D asm_sysvec_b\n50 t sleep\n");
	const struct symbol *sym;

	(void)state;
	assert_int_equal(symbols_named(s, "sleep")->addr, 0x20);
	sym = symbols_next(s, NULL, "asm_sysvec_");
	assert_string_equal(sym->name, "asm_sysvec_a");
	sym = symbols_next(s, sym, "asm_sysvec_");
	assert_string_equal(sym->name, "asm_sysvec_b");
	assert_false(symbol_is_text(sym));
	assert_null(symbols_next(s, sym, "asm_sysvec_"));
	assert_int_equal(symbols_next(s, symbols_named(s, "sleep"), "sleep")->addr, 0x50);
	symbols_free(s);
}

static void folded_names(void **state)
{
	static const struct {
		const char *name, *want;
	} names[] = {
		{ "schedule", "schedule" },
		{ "do_wait.isra.0", "do_wait" },
		{ "do_wait.constprop.12", "do_wait" },
		{ "do_wait.part.3", "do_wait" },
		{ "do_wait.cold", "do_wait" },
		{ "do_wait.cold.7", "do_wait" },
		{ "do_wait.llvm.1234567890123", "do_wait" },
		{ "do_wait.lto_priv.0", "do_wait" },
		{ "do_wait.localalias", "do_wait" },
		{ "do_wait.constprop.0.isra.0.cold", "do_wait" },
		{ "watch_fired.1", "watch_fired" },
		{ "do_wait.", "do_wait." },
		{ "do_wait.slow", "do_wait.slow" },
		{ "do_wait.slow.cold", "do_wait.slow" },
		{ "do_wait.0x1", "do_wait.0x1" },
		{ "do_wait.partly.1", "do_wait.partly" },
		{ "part.0", "part" },
		{ ".E_copy", ".E_copy" },
		{ ".cold", ".cold" },
		{ ".L1.2", ".L1.2" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = symbol_fold_len(names[i].name);

		if (n != strlen(names[i].want) || memcmp(names[i].name, names[i].want, n))
			fail_msg("%s becomes %.*s, not %s", names[i].name, (int)n, names[i].name,
				 names[i].want);
	}
}

static void folded(void **state)
{
	static const struct {
		uint64_t addr, want;
	} pairs[] = {
		{ 0x1000, 0x1000 },			/* itself */
		{ 0x1100, 0x1000 },			/* a clone */
		{ 0x9000, 0x1000 },			/* a cold part */
		{ 0x1210, 0x1200 },			/* a label in it */
		{ 0x1220, 0x1200 },			/* another behind that */
		{ 0x1300, 0x1300 },			/* no function has that name */
		{ 0x9100, 0x1300 },			/* but one has its suffixes but the last */
		{ 0x1410, 0x1400 },			/* the nearer of two */
		{ 0x1610, 0x1600 }, { 0x1800, 0x1700 }, /* a label in a clone */
		{ 0x9200, 0x9200 },			/* what it is named after is data */
	};
	struct symbols *s =
		from_lines("0f00 t .L_first\n"
			   "1000 t wait\n1100 t wait.isra.0\n"
			   "1200 T copy\n1210 t .E_copy\n1220 t .E_more\n"
			   "1300 t poll.isra.0\n"
			   "1400 t init\n1410 t init.part.0\n"
			   "1600 t init\n1610 t init.part.0\n"
			   "1700 t walk\n1750 t walk.constprop.0\n1800 t .L_in_clone\n"
			   "2000 d table\n"
			   "9000 t wait.cold\n9100 t poll.isra.0.cold\n9200 t table.7\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct symbol *got = symbols_fold(s, symbols_at(s, pairs[i].addr));

		if (got->addr != pairs[i].want)
			fail_msg("%lx belongs to %lx, not %lx", pairs[i].addr, got->addr,
				 pairs[i].want);
	}
	/* There is nothing before it. */
	assert_string_equal(symbols_fold(s, symbols_get(s, 0))->name, ".L_first");
	symbols_free(s);
	/* A label at its function's own address, whichever comes first. */
	s = from_lines("10 t before\n20 t .L_start\n20 t inside\n");
	assert_string_equal(symbols_fold(s, symbols_named(s, ".L_start"))->name, "inside");
	symbols_free(s);
}

/* ---- the guest's words ---- */

static const char own[] = "0000000000000000 A fixed_percpu_data\n"
			  "ffffffff81000000 T _stext\n"
			  "ffffffff81000040 t wait\n"
			  "ffffffff81000080 T _etext\n";

static void modules(void **state)
{
	static const char text[] = "ffffffffc0203000 t tun_open\t[tun]\n"
				   "ffffffffc0203040 t wait.cold\t[tun]\n"
				   "ffffffffc0209000 d tun_ops\t[tun]\n"
				   "ffffffffc0100000 t veth_open\t[veth]\n"
				   "ffffffffc0300000 t wait\t[veth]\n";
	struct symbols *s = from_lines(own);
	struct error e = ERROR_INIT;
	const struct symbol *sym;

	(void)state;
	assert_int_equal(symbols_add_modules(s, NULL, &e), 0);
	assert_int_equal(symbols_add_modules(s, "", &e), 0);
	assert_int_equal(symbols_count(s), 4);
	assert_int_equal(symbols_add_modules(s, text, &e), 0);
	assert_int_equal(symbols_count(s), 9);
	for (size_t i = 1; i < 9; i++)
		assert_true(symbols_get(s, i - 1)->addr <= symbols_get(s, i)->addr);
	sym = symbols_at(s, 0xffffffffc0203004);
	assert_string_equal(sym->name, "tun_open");
	assert_string_equal(sym->module, "tun");
	assert_null(symbols_at(s, 0xffffffff81000044)->module);
	assert_string_equal(at(s, 0xffffffffc0203041), "wait.cold");
	assert_string_equal(at(s, 0xffffffffc0209000), "-");
	/* Behind the last of one stands another module, or nothing, far away. */
	assert_string_equal(at(s, 0xffffffffc010ffff), "veth_open");
	assert_string_equal(at(s, 0xffffffffc0110000), "-");
	assert_string_equal(at(s, 0xffffffffc0310000), "-");
	/* A name of the kernel or of another module says nothing here. */
	sym = symbols_named(s, "wait.cold");
	assert_ptr_equal(symbols_fold(s, sym), sym);
	symbols_free(s);
}

static void wrong_modules(void **state)
{
	static const struct {
		const char *text, *why;
		int code;
	} bad[] = {
		{ "ffffffffc0000000 t a\t[m]\nffffffffc0000010 t b\n", "line 2", EINVAL },
		{ "ffffffffc0000000 t a [m]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\t[m]\nnonsense\n", "line 2", EINVAL },
		{ "ffffffffc0000000 t a\t[m]\n\nffffffffc0000000 t a\t[m]\n", "line 2", EINVAL },
		{ "ffffffffc0000000 t a\t[]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\t[m\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\t[m] \n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\tm]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t \t[m]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\x1b\t[m]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 t a\t[m\x80]\n", "line 1", EINVAL },
		{ "ffffffffc0000000 1 a\t[m]\n", "line 1", EINVAL },
		{ "1ffffffffc0000000 t a\t[m]\n", "line 1", EINVAL },
		{ " t a\t[m]\n", "line 1", EINVAL },
		{ "f", "line 1", EINVAL },
		{ "f t", "line 1", EINVAL },
		{ "f t ", "line 1", EINVAL },
		{ "f t a\t", "line 1", EINVAL },
		{ "0000000000000000 t a\t[m]\n0000000000000000 t b\t[m]\n", "kptr_restrict",
		  EACCES },
	};
	struct symbols *s = from_lines(own);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error e = ERROR_INIT;

		if (symbols_add_modules(s, bad[i].text, &e) != -bad[i].code)
			fail_msg("%s: %s", bad[i].text, e.text);
		assert_has(e.text, bad[i].why);
		assert_int_equal(symbols_count(s), 4);
	}
	/* The last line may lack its end. */
	assert_int_equal(symbols_add_modules(s, "ffffffffc0000000 t a\t[m]", NULL), 0);
	assert_string_equal(symbols_at(s, 0xffffffffc0000000)->module, "m");
	symbols_free(s);
}

static void verified(void **state)
{
	static const struct {
		const char *text, *why;
		int code;
		size_t agree;
	} bad[] = {
		{ "", "no /proc/kallsyms", ENODATA, 0 },
		{ "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n",
		  "symbol 2 is ffffffff81000000 T _text there, ffffffff81000000 T _stext in",
		  ESTALE, 1 },
		{ "0000000000000000 A fixed_percpu_data\nffffffff81000000 t _stext\n",
		  "another kernel", ESTALE, 1 },
		{ "0000000000000000 A fixed_percpu_data\nffffffff91000000 T _stext\n",
		  "without nokaslr?", ESTALE, 1 },
		{ "0000000000000000 A fixed_percpu_dat\n", "another kernel", ESTALE, 0 },
		{ "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext\n",
		  "kptr_restrict", EACCES, 0 },
		{ "0000000000000000 A fixed_percpu_data\nx\n", "line 2", EINVAL, 1 },
		{ "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n"
		  "ffffffff81000040 t wait\nffffffff81000080 T _etext\n"
		  "ffffffff81000090 T more\n",
		  "it has more symbols", ESTALE, 4 },
	};
	struct symbols *s = from_lines(own);
	size_t n = 9;

	(void)state;
	assert_int_equal(symbols_verify(s, own, &n, NULL), 0);
	assert_int_equal(n, 4);
	assert_int_equal(symbols_verify(s,
					"0000000000000000 A fixed_percpu_data\n"
					"ffffffff81000000 T _stext\n",
					&n, NULL),
			 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error e = ERROR_INIT;

		if (symbols_verify(s, bad[i].text, &n, &e) != -bad[i].code)
			fail_msg("%s: %s", bad[i].text, e.text);
		assert_has(e.text, bad[i].why);
		assert_int_equal(n, bad[i].agree);
	}
	assert_int_equal(symbols_verify(s, NULL, &n, NULL), -ENODATA);
	/* Modules that were added are not the kernel's; the guest's stand behind them. */
	assert_int_equal(symbols_add_modules(s, "1000 t low\t[m]\n", NULL), 0);
	{
		CLEANUP_FREE char *all = mem_printf("%s1000 t low\t[m]\n", own);

		assert_int_equal(symbols_verify(s, all, &n, NULL), 0);
		assert_int_equal(n, 4);
	}
	symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),	 cmocka_unit_test(several),
		cmocka_unit_test(by_name),	 cmocka_unit_test(folded_names),
		cmocka_unit_test(folded),	 cmocka_unit_test(modules),
		cmocka_unit_test(wrong_modules), cmocka_unit_test(verified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
