/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors, strings, CPU lists, memory, identifiers: what all rooms stand on. */
#include "base/error.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpulist.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- errors ---- */

static void first_cause_wins(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	assert_false(error_is_set(&e));
	assert_int_equal(error_prefix(&e, "nowhere"), 0);
	assert_string_equal(e.text, "");
	assert_int_equal(error_set(&e, ENOENT, "no %s", "file"), -ENOENT);
	assert_true(error_is_set(&e));
	/* The code that comes back is the first one's too: callers return it. */
	assert_int_equal(error_set(&e, EIO, "later"), -ENOENT);
	assert_int_equal(error_errno(&e, EIO, "later"), -ENOENT);
	assert_string_equal(e.text, "no file");
	assert_int_equal(error_prefix(&e, "%d", 7), -ENOENT);
	assert_string_equal(e.text, "7: no file");
	error_clear(&e);
	assert_false(error_is_set(&e));
	assert_int_equal(error_errno(&e, EACCES, "x"), -EACCES);
	assert_string_equal(e.text, "x: Permission denied");
	/* A caller that does not care. */
	assert_int_equal(error_set(NULL, EIO, "x"), -EIO);
	assert_int_equal(error_errno(NULL, EIO, "x"), -EIO);
	/* It is called where something failed: "no error" would be a lie. */
	assert_int_equal(error_prefix(NULL, "x"), -EINVAL);
	assert_false(error_is_set(NULL));
	error_clear(NULL);
}

static void errors_are_cut_not_spilled(void **state)
{
	struct error e = ERROR_INIT;
	char big[3000];

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(error_errno(&e, EIO, "%s", big), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(error_prefix(&e, "where"), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_true(str_starts(e.text, "where: aaa"));
	assert_int_equal(error_prefix(&e, "%s", big), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void an_error_is_one_harmless_line(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	error_set(&e, EINVAL, "'%s'", "a\nb\033[2J\x7f");
	assert_string_equal(e.text, "'a?b?[2J?'");
	error_prefix(&e, "p\n");
	assert_string_equal(e.text, "p?: 'a?b?[2J?'");
	error_clear(&e);
	error_errno(&e, ENOENT, "\xc3\xbc\r");
	assert_string_equal(e.text, "\xc3\xbc?: No such file or directory");
}

/* ---- strings ---- */

static void strings_grow(void **state)
{
	struct str b = STR_INIT;
	CLEANUP_FREE char *taken = NULL;
	char trim[] = "\t a b \n", blank[] = " \n";
	size_t i;

	(void)state;
	assert_string_equal(str_get(&b), "");
	for (i = 0; i < 1000; i++)
		str_printf(&b, "%zu,", i);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	assert_true(str_ends(b.s, ",998,999,"));
	str_printf(&b, "%s", b.s); /* its own text as an argument */
	assert_int_equal(b.len, 2 * (10 * 2 + 90 * 3 + 900 * 4));
	assert_true(str_ends(b.s, ",999,"));
	str_reset(&b);
	assert_string_equal(str_get(&b), "");
	str_add_n(&b, "a\0b", 3);
	assert_int_equal(b.len, 3);
	str_add_pad(&b, '.', 2);
	assert_memory_equal(b.s, "a\0b..", 6);
	taken = str_take(&b);
	assert_int_equal(b.len, 0);
	assert_null(b.s);
	str_done(&b);
	str_done(NULL);
	assert_true(str_eq(NULL, NULL));
	assert_false(str_eq(NULL, ""));
	assert_false(str_ends("c", "abc"));
	assert_string_equal(str_trim(trim), "a b");
	assert_string_equal(str_trim(blank), "");
	assert_int_equal(str_width("\xc3\xbc\xe2\x82\xac x"), 4);
}

/* Case C11: in this order, no two equal. */
static const char *const versions[] = {
	"6.1 my build",
	"6.2.12*",
	"6.9",
	"6.12-rc3",
	"6.12",
	"6.12+",
	"6.12-dirty",
	"6.12.90+deb13-amd64",
	"6.12.90+deb13.1-amd64",
	"6.18-rc3",
	"6.18",
	"6.18+",
	"6.18.1",
	"7.0.0-rc1-next-20260101",
	"7.0.0",
};

static void versions_sort_as_kernels_are_numbered(void **state)
{
	size_t n = ARRAY_SIZE(versions), i, k;

	(void)state;
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			int want = i < k ? -1 : i > k;

			if (str_version_cmp(versions[i], versions[k]) != want)
				fail_msg("%s and %s", versions[i], versions[k]);
		}
	}
}

static const char *const odd_versions[] = {
	"",
	"0",
	"00",
	"6",
	"06",
	"6.",
	"6..1",
	"6.1",
	"6.01",
	"6.10",
	"6.1-rc",
	"6.1-rc1",
	"6.1-rc01",
	"6.1-rc10",
	"6.1-r1",
	"6.1-1",
	"6.1~rc1",
	"6.1-rc1+",
	"6.1-rc1-dirty",
	"6.1+",
	"6.1++",
	"6.1+1",
	"6.1.a",
	"6.1.1",
	"6.1a",
	"6.1\xc3\xbc",
	"6.1 ",
	"99999999999999999999999999999999.1",
	"99999999999999999999999999999998.1",
	"next-20260101",
	"-rc1",
	"+",
	".1",
};

/* Whatever people call their kernels, sorting must be a total order. */
static void version_order_is_total(void **state)
{
	size_t n = ARRAY_SIZE(odd_versions), i, k, l;

	(void)state;
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			int ik = str_version_cmp(odd_versions[i], odd_versions[k]);

			assert_int_equal(ik == 0, i == k);
			assert_int_equal(ik, -str_version_cmp(odd_versions[k], odd_versions[i]));
			for (l = 0; l < n; l++)
				if (ik < 0 &&
				    str_version_cmp(odd_versions[k], odd_versions[l]) < 0 &&
				    str_version_cmp(odd_versions[i], odd_versions[l]) >= 0)
					fail_msg("%s < %s < %s", odd_versions[i], odd_versions[k],
						 odd_versions[l]);
		}
	}
}

/* ---- CPU lists ---- */

static void cpulist_is(const char *text, const char *want)
{
	struct cpulist l = CPULIST_INIT;
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *back = NULL;

	if (cpulist_parse(text, &l, &e) < 0)
		fail_msg("%s", e.text);
	back = cpulist_format(&l);
	assert_string_equal(back, want);
	cpulist_done(&l);
}

static void cpulists_with_gaps(void **state)
{
	struct cpulist l = CPULIST_INIT;

	(void)state;
	cpulist_is("0-7,9,11,13,15\n", "0-7,9,11,13,15");
	cpulist_is("0,2,4,6,8,10,12,14,16-31", "0,2,4,6,8,10,12,14,16-31");
	cpulist_is("3,1,2,2,0-1", "0-3");
	cpulist_is("", ""); /* /sys/devices/system/cpu/offline on most machines */
	cpulist_is("\n", "");
	cpulist_is("1023-1025,65536", "1023-1025,65536");
	assert_int_equal(cpulist_parse("5,1000-4999", &l, NULL), 0);
	assert_int_equal(l.n, 4001);
	assert_true(cpulist_has(&l, 4999));
	assert_true(cpulist_has(&l, 5));
	assert_false(cpulist_has(&l, 6));
	assert_false(cpulist_has(&l, 5000));
	cpulist_done(&l);
	assert_false(cpulist_has(&l, 5));
	cpulist_done(NULL);
}

static void bad_cpulists_are_refused(void **state)
{
	static const char *const bad[] = { " 1",   "1 ",      "a",
					   "1-",   "-1",      "3-1",
					   "1,",   ",1",      "1,,2",
					   "1;2",  "0x3",     "1-2-3",
					   "+1",   "0-65537", "99999999999999999999",
					   "0-3x", "0-10:2/4" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cpulist l = CPULIST_INIT;
		struct error e = ERROR_INIT;

		if (cpulist_parse(bad[i], &l, &e) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(e.text, bad[i]));
		assert_null(l.cpu);
	}
}

/* Case E02: 0-2 on a machine with two CPUs is an error, never silently two. */
static void pinning_is_what_was_asked_or_an_error(void **state)
{
	struct cpulist allowed = CPULIST_INIT, now = CPULIST_INIT, more = CPULIST_INIT;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(cpulist_allowed(&allowed, &e), 0);
	assert_true(allowed.n >= 1);
	more.cpu = mem_array(allowed.n + 1, sizeof(*more.cpu));
	memcpy(more.cpu, allowed.cpu, allowed.n * sizeof(*more.cpu));
	more.n = allowed.n + 1;
	more.cpu[allowed.n] = 20000; /* no machine has that one */
	assert_int_equal(cpulist_pin(&more, &e), -EINVAL);
	assert_non_null(strstr(e.text, ",20000"));
	assert_non_null(strstr(e.text, "the kernel gave"));
	error_clear(&e);
	more.cpu[0] = 20000;
	more.n = 1;
	assert_true(cpulist_pin(&more, &e) < 0);
	error_clear(&e);
	more.n = 0;
	assert_true(cpulist_pin(&more, &e) < 0);
	error_clear(&e);
	more.cpu[0] = allowed.cpu[allowed.n - 1];
	more.n = 1;
	assert_int_equal(cpulist_pin(&more, &e), 0);
	assert_int_equal(sched_getcpu(), (int)more.cpu[0]);
	assert_int_equal(cpulist_allowed(&now, &e), 0);
	assert_int_equal(now.n, 1);
	assert_int_equal(cpulist_pin(&allowed, &e), 0);
	cpulist_done(&allowed);
	cpulist_done(&now);
	cpulist_done(&more);
}

/* ---- identifiers ---- */

struct note {
	uint32_t namesz, descsz, type;
	char name[4];
	unsigned char desc[20];
};

static struct note build_id_note(uint32_t descsz)
{
	struct note n = { 4, descsz, 3, "GNU", { 0xab, 0x01, 0xff } };

	return n;
}

static void build_ids_are_found(void **state)
{
	struct note n[2] = { { 4, 20, 1, "GNU", { 0 } }, build_id_note(20) };
	char id[ID_BUILD_SIZE];

	(void)state;
	assert_int_equal(id_build_from_notes(n, sizeof(n), id), 0);
	assert_string_equal(id, "ab01ff0000000000000000000000000000000000");
	/* A last note need not be padded. */
	n[1] = build_id_note(3);
	assert_int_equal(id_build_from_notes(n, sizeof(n) - 17, id), 0);
	assert_string_equal(id, "ab01ff");
	assert_int_equal(id_build_self(id), 0);
	assert_int_equal(strlen(id) % 2, 0);
}

static void hostile_notes_find_nothing(void **state)
{
	struct note n = build_id_note(20);
	unsigned char noise[257];
	char id[ID_BUILD_SIZE] = "";
	uint32_t x = 1;
	size_t len, round, i;

	(void)state;
	/* On the heap, so that a sanitizer sees a byte too many. */
	for (len = 0; len < sizeof(n); len++) {
		CLEANUP_FREE void *cut = mem_alloc(len);

		memcpy(cut, &n, len);
		assert_int_equal(id_build_from_notes(cut, len, id), -ENOENT);
	}
	n.namesz = UINT32_MAX;
	assert_int_equal(id_build_from_notes(&n, sizeof(n), id), -ENOENT);
	n.namesz = 4;
	n.descsz = UINT32_MAX;
	assert_int_equal(id_build_from_notes(&n, sizeof(n), id), -ENOENT);
	n.descsz = 0; /* an empty build-id is none */
	assert_int_equal(id_build_from_notes(&n, 16, id), -ENOENT);
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < sizeof(noise); i++) {
			x = x * 1664525 + 1013904223;
			noise[i] = (unsigned char)((x >> 24) & (round % 3 ? 0x07 : 0xff));
		}
		if (!id_build_from_notes(noise, round % sizeof(noise), id))
			assert_true(strlen(id) < ID_BUILD_SIZE);
	}
	{
		/* One too long for the result, then a good one. */
		unsigned char both[12 + 4 + 36 + sizeof(struct note)] = { 4, 0, 0,   0,	  36,
									  0, 0, 0,   3,	  0,
									  0, 0, 'G', 'N', 'U' };

		n = build_id_note(20);
		memcpy(both + 52, &n, sizeof(n));
		assert_int_equal(id_build_from_notes(both, sizeof(both), id), 0);
		assert_int_equal(strlen(id), 40);
	}
}

static void uuids_are_version_4(void **state)
{
	char a[ID_UUID_SIZE], b[ID_UUID_SIZE], hex[17];

	(void)state;
	assert_int_equal(id_uuid(a, NULL), 0);
	assert_int_equal(id_uuid(b, NULL), 0);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
	assert_string_not_equal(a, b);
	id_fnv1a("", 0, hex);
	assert_string_equal(hex, "cbf29ce484222325");
	id_fnv1a("foobar", 6, hex); /* of the algorithm's own test vectors */
	assert_string_equal(hex, "85944171f73967e8");
}

/* ---- memory ---- */

static void arenas_hold_all(void **state)
{
	struct arena a = ARENA_INIT;
	unsigned *list = NULL;
	size_t n = 0, cap = 0, i;
	char *big, *text;

	(void)state;
	for (i = 1; i < 3000; i++) {
		unsigned char *p = arena_alloc(&a, i % 97);

		assert_int_equal((uintptr_t)p % sizeof(void *), 0);
		if (i % 97) {
			assert_int_equal(p[0], 0);
			assert_int_equal(p[i % 97 - 1], 0);
			memset(p, 0xff, i % 97);
		}
	}
	big = arena_alloc(&a, 100000); /* more than a block */
	assert_int_equal(big[99999], 0);
	for (n = 0; n < 1000; n++) {
		list = arena_grow(&a, list, n, &cap, sizeof(*list));
		list[n] = (unsigned)n;
	}
	for (i = 0; i < n; i++)
		assert_int_equal(list[i], i);
	text = arena_printf(&a, "%s-%d", "x", 42);
	assert_string_equal(text, "x-42");
	assert_string_equal(arena_strndup(&a, "abc", 2), "ab");
	assert_string_equal(arena_strndup(&a, "abc", 9), "abc");
	assert_null(arena_strdup(&a, NULL));
	arena_done(&a);
	assert_null(a.head);
	arena_done(&a);
	arena_done(NULL);
}

static void clocks_agree_on_the_format(void **state)
{
	char buf[32];
	uint64_t a = clock_mono_ns(), b;

	(void)state;
	clock_sleep_ns(2 * NSEC_PER_MSEC);
	b = clock_mono_ns();
	assert_true(b - a >= 2 * NSEC_PER_MSEC);
	clock_iso8601(1764518340ull * NSEC_PER_SEC + 999999999, buf);
	assert_string_equal(buf, "2025-11-30T15:59:00Z");
	clock_iso8601(0, buf);
	assert_string_equal(buf, "1970-01-01T00:00:00Z");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_cause_wins),
		cmocka_unit_test(errors_are_cut_not_spilled),
		cmocka_unit_test(an_error_is_one_harmless_line),
		cmocka_unit_test(strings_grow),
		cmocka_unit_test(versions_sort_as_kernels_are_numbered),
		cmocka_unit_test(version_order_is_total),
		cmocka_unit_test(cpulists_with_gaps),
		cmocka_unit_test(bad_cpulists_are_refused),
		cmocka_unit_test(pinning_is_what_was_asked_or_an_error),
		cmocka_unit_test(build_ids_are_found),
		cmocka_unit_test(hostile_notes_find_nothing),
		cmocka_unit_test(uuids_are_version_4),
		cmocka_unit_test(arenas_hold_all),
		cmocka_unit_test(clocks_agree_on_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
