/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/insn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADDR 0xffffffff81000000ull

/* Bytes in hexadecimal, blanks between them. */
static size_t bytes_of(const char *text, unsigned char to[INSN_BYTES])
{
	size_t n = 0;
	char *end;

	while (*text) {
		assert_true(n < INSN_BYTES);
		to[n++] = (unsigned char)strtoul(text, &end, 16);
		text = *end ? end + 1 : end;
	}
	return n;
}

static struct insn decode(const char *text)
{
	unsigned char bytes[INSN_BYTES];
	size_t n = bytes_of(text, bytes);
	struct insn in;

	insn_decode(bytes, n, ADDR, &in);
	return in;
}

static void what_cannot_fault_is_safe(void **state)
{
	static const char *const safe[] = {
		"90",				 /* nop */
		"66 2e 0f 1f 84 00 00 00 00 00", /* nopw %cs:0(%rax,%rax) */
		"0f 1f 44 00 00",		 /* nopl, as ftrace leaves it */
		"f3 0f 1e fa",			 /* endbr64 */
		"31 c0",			 /* xor %eax, %eax */
		"48 01 d8",			 /* add %rbx, %rax */
		"3c 01",			 /* cmp $1, %al */
		"48 8d 44 24 08",		 /* lea 8(%rsp), %rax */
		"49 89 e0",			 /* mov %rsp, %r8 */
		"48 c7 c0 01 00 00 00",		 /* mov $1, %rax */
		"48 b8 00 11 22 33 44 55 66 77", /* movabs */
		"0f b6 c0",			 /* movzbl %al, %eax */
		"f3 0f b8 c1",			 /* popcnt */
		"f3 48 0f bc c1",		 /* tzcnt */
		"0f 44 c1",			 /* cmove */
		"0f 94 c0",			 /* sete */
		"f7 d8",			 /* neg */
		"f7 e1",			 /* mul */
		"41 c1 e8 03",			 /* shr $3, %r8d */
		"48 0f ba e0 07",		 /* bt $7, %rax */
		"0f c8",			 /* bswap */
		"0f ae e8",			 /* lfence */
		"ff c0",			 /* inc */
		"fc",				 /* cld */
		"48 98",			 /* cltq */
		"87 d9",			 /* xchg */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
		struct insn in = decode(safe[i]);

		if (!in.safe)
			fail_msg("%s is safe", safe[i]);
		assert_int_equal(in.string, INSN_NO_STRING);
		assert_int_equal(in.flow, INSN_GOES_ON);
		assert_int_equal(in.target, 0);
		assert_false(in.loads_stack);
		assert_int_equal(in.marker, 0);
	}
}

static void what_may_fault_or_leave_is_not(void **state)
{
	static const char *const not_safe[] = {
		"8b 07",		      /* mov (%rdi), %eax */
		"48 89 44 24 08",	      /* mov %rax, 8(%rsp) */
		"65 48 8b 04 25 28 00 00 00", /* mov %gs:0x28, %rax */
		"48 8b 05 00 00 00 00",	      /* mov 0(%rip), %rax */
		"50",			      /* push */
		"58",			      /* pop */
		"c9",			      /* leave */
		"9c",			      /* pushf */
		"9d",			      /* popf */
		"f0 ff 07",		      /* lock incl (%rdi) */
		"f0 ff c0",		      /* invalid */
		"0f a3 07",		      /* bt %eax, (%rdi) */
		"0f ae 07",		      /* fxsave */
		"f7 f1",		      /* div */
		"f7 f9",		      /* idiv */
		"f6 f1",		      /* div %cl */
		"8d c0",		      /* invalid */
		"8e d8",		      /* mov %eax, %ds */
		"0f 0b",		      /* ud2 */
		"0f 05",		      /* syscall */
		"0f 01 f8",		      /* swapgs */
		"0f 31",		      /* rdtsc */
		"0f a2",		      /* cpuid */
		"0f 22 d8",		      /* mov %rax, %cr3 */
		"0f 30",		      /* wrmsr */
		"0f 1e fa",		      /* without its prefix */
		"f3 90",		      /* pause */
		"cc",			      /* int3 */
		"cd 80",		      /* int */
		"f4",			      /* hlt */
		"fa",			      /* cli */
		"fb",			      /* sti */
		"e4 80",		      /* in */
		"ee",			      /* out */
		"a4",			      /* movsb, once */
		"c5 f8 77",		      /* vzeroupper */
		"66 0f 6f c1",		      /* movdqa between registers: not known */
		"74 05",		      /* je */
		"0f 84 00 00 00 00",	      /* je */
		"e2 fe",		      /* loop */
		"ff d0",		      /* call *%rax */
		"ff e0",		      /* jmp *%rax */
		"ff f0",		      /* push */
		"06",			      /* invalid */
		"66",			      /* cut off: */
		"48",
		"0f",
		"0f b6",
		"89",
		"f6",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(not_safe) / sizeof(*not_safe); i++) {
		if (decode(not_safe[i]).safe)
			fail_msg("%s is not safe", not_safe[i]);
	}
}

static void flow(void **state)
{
	struct insn in = decode("e8 10 00 00 00");

	(void)state;
	assert_int_equal(in.flow, INSN_CALLS);
	assert_true(in.target == ADDR + 5 + 0x10);
	in = decode("e9 f0 ff ff ff");
	assert_int_equal(in.flow, INSN_JUMPS);
	assert_true(in.target == ADDR + 5 - 0x10);
	in = decode("eb fe");
	assert_int_equal(in.flow, INSN_JUMPS);
	assert_true(in.target == ADDR);
	in = decode("2e e9 00 00 00 00"); /* as the kernel pads it */
	assert_true(in.target == ADDR + 6);
	assert_int_equal(decode("c3").flow, INSN_RETURNS);
	assert_int_equal(decode("f3 c3").flow, INSN_RETURNS);
	assert_int_equal(decode("c2 08 00").flow, INSN_RETURNS);
	assert_int_equal(decode("ff d0").flow, INSN_GOES_ON);
	in = decode("74 05");
	assert_int_equal(in.flow, INSN_GOES_ON);
	assert_int_equal(in.target, 0);
	in = decode("e8 10 00 00"); /* cut off */
	assert_int_equal(in.target, 0);
}

static void strings(void **state)
{
	static const char *const repeats[] = { "f3 a4",	   "f3 48 a5", "f3 aa",	  "f3 48 ab",
					       "f2 a4",	   "f3 ac",    "f3 6c",	  "f3 6e",
					       "66 f3 ab", "f3 67 aa", "f3 65 a4" };
	static const char *const compares[] = { "f3 a6", "f2 ae", "f3 48 a7", "f2 48 af", "f3 ae" };
	unsigned char bytes[INSN_BYTES];
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(repeats) / sizeof(*repeats); i++) {
		assert_int_equal(decode(repeats[i]).string, INSN_REPEATS);
		assert_false(decode(repeats[i]).safe);
		n = bytes_of(repeats[i], bytes);
		assert_true(insn_ends_in_rep(bytes, n));
	}
	for (i = 0; i < sizeof(compares) / sizeof(*compares); i++) {
		assert_int_equal(decode(compares[i]).string, INSN_COMPARES);
		n = bytes_of(compares[i], bytes);
		assert_true(insn_ends_in_rep(bytes, n));
	}
	assert_int_equal(decode("a4").string, INSN_NO_STRING);
	assert_int_equal(decode("f3 90").string, INSN_NO_STRING);
	n = bytes_of("31 c0 f3 48 ab", bytes);
	assert_true(insn_ends_in_rep(bytes, n));
	n = bytes_of("31 c0 48 ab", bytes);
	assert_false(insn_ends_in_rep(bytes, n));
	n = bytes_of("f3 a4 90", bytes);
	assert_false(insn_ends_in_rep(bytes, n));
	assert_false(insn_ends_in_rep(bytes, 0));
}

static void loads_of_the_stack_pointer(void **state)
{
	(void)state;
	assert_true(decode("48 8b a6 98 13 00 00").loads_stack); /* mov 0x1398(%rsi), %rsp */
	assert_true(decode("48 8b 66 08").loads_stack);
	assert_true(decode("48 8b 26").loads_stack);
	assert_false(decode("48 89 a7 98 13 00 00").loads_stack); /* a store */
	assert_false(decode("48 8b e6").loads_stack);		  /* mov %rsi, %rsp */
	assert_false(decode("8b 66 08").loads_stack);		  /* %esp */
	assert_false(decode("4c 8b 66 08").loads_stack);	  /* %r12 */
	assert_false(decode("48 8b 5e 08").loads_stack);	  /* %rbx */
}

static void markers(void **state)
{
	(void)state;
	assert_int_equal(decode("0f 1f 84 00 4b 44 52 01").marker, 1);
	assert_int_equal(decode("0f 1f 84 00 4b 44 52 06").marker, 6);
	assert_int_equal(decode("0f 1f 84 00 4b 44 52 00").marker, 0);
	assert_int_equal(decode("0f 1f 84 00 4b 44 52 07").marker, 0);
	assert_int_equal(decode("0f 1f 84 00 4b 44 4c 01").marker, 0); /* of kdelta.h */
	assert_int_equal(decode("66 0f 1f 84 00 4b 44 52 01").marker, 0);
	assert_int_equal(decode("0f 1f 84 00 4b 44 52").marker, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_fault_is_safe),
		cmocka_unit_test(what_may_fault_or_leave_is_not),
		cmocka_unit_test(flow),
		cmocka_unit_test(strings),
		cmocka_unit_test(loads_of_the_stack_pointer),
		cmocka_unit_test(markers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
