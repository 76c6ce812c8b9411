/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes in and goes out: files, JSON, numbers with units, options. */
#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/proc.h"
#include "base/str.h"

/* ---- files ---- */

static char dir[] = "/tmp/kd-base-XXXXXX";

static int dir_make(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int dir_remove(void **state)
{
	const char *const argv[] = { "rm", "-rf", dir, NULL };
	struct proc_result out;
	int r = proc_run_ok(argv, NULL, &out, NULL);

	(void)state;
	proc_result_done(&out);
	return r;
}

static void a_file_is_old_or_new(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/file", dir), *data = NULL, *line = NULL;
	CLEANUP_FREE char *into = mem_printf("%s/not/there", dir);
	struct rlimit old, tight;
	struct error e = ERROR_INIT;
	static char big[300000];
	size_t len = 0;

	(void)state;
	assert_int_equal(file_replace(path, "  old \nx", 8, &e), 0);
	line = file_line(path);
	assert_string_equal(line, "old");
	/* A write that fails half-way leaves the old one, and nothing beside it. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	tight = old;
	tight.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	assert_int_equal(file_replace(path, big, sizeof(big), &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(str_starts(e.text, path));
	error_clear(&e);
	assert_int_equal(file_read(path, 100, &data, &len, &e), 0);
	assert_int_equal(len, 8);
	assert_memory_equal(data, "  old \nx", 9); /* with a NUL behind it */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(file_replace(into, "x", 1, &e), -ENOENT);
	assert_string_equal(strstr(e.text, ": "), ": No such file or directory");
}

static void files_are_read_whole_or_not(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/big", dir), *data = NULL, *proc = NULL;
	struct error e = ERROR_INIT;
	static char big[10000];
	size_t len;
	int fd;

	(void)state;
	memset(big, 'b', sizeof(big));
	assert_int_equal(file_replace(path, big, sizeof(big), &e), 0);
	assert_int_equal(file_read(path, sizeof(big) - 1, &data, &len, &e), -EFBIG);
	assert_null(data);
	error_clear(&e);
	assert_int_equal(file_read(path, sizeof(big), &data, &len, &e), 0);
	assert_int_equal(len, sizeof(big));
	assert_int_equal(file_read("/proc/self/status", 1 << 20, &proc, &len, &e), 0);
	assert_true(len > 0 && strlen(proc) == len);
	assert_true(file_read(dir, 10, &proc, &len, &e) < 0);
	assert_null(file_line("/no/such/file"));
	assert_int_equal(file_memfd("test", big, sizeof(big), &fd, NULL), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	free(data);
	assert_int_equal(file_read_fd(fd, "memfd", sizeof(big), &data, &len, NULL), 0);
	assert_int_equal(len, sizeof(big));
	close(fd);
	/* A full device is an error, not a short file. */
	fd = open("/dev/full", O_WRONLY);
	assert_true(fd >= 0);
	error_clear(&e);
	assert_int_equal(file_write_fd(fd, "x", 1, &e), -ENOSPC);
	close(fd);
}

static void folders_are_made_once(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/a/b//c", dir), *file = mem_printf("%s/f", dir);
	CLEANUP_FREE char *under = mem_printf("%s/f/x", dir);
	struct error e = ERROR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(file_mkdirs(path, &e), 0);
	assert_int_equal(file_mkdirs(path, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(file_replace(file, "", 0, &e), 0);
	assert_int_equal(file_mkdirs(file, &e), -ENOTDIR);
	error_clear(&e);
	assert_int_equal(file_mkdirs(under, &e), -ENOTDIR);
	error_clear(&e);
	assert_true(file_mkdirs("", &e) < 0);
}

/* ---- JSON ---- */

static void json_is(json_t *j, const char *want)
{
	CLEANUP_FREE char *text = json_line(j);

	assert_string_equal(text, want);
	json_decref(j);
}

static void what_is_no_number_is_null(void **state)
{
	(void)state;
	json_is(json_num((double)NAN), "null");
	json_is(json_num(HUGE_VAL), "null");
	json_is(json_num(-HUGE_VAL), "null");
	json_is(json_num(0.1), "0.10000000000000001");
	json_is(json_u64(UINT64_MAX), "9223372036854775807");
	json_is(json_u64(7), "7");
	json_is(json_str(NULL), "null");
}

static void bytes_become_utf8(void **state)
{
	(void)state;
	json_is(json_str("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
	json_is(json_str("\xc3\xbc\xf0\x9f\x98\x80"), "\"\xc3\xbc\xf0\x9f\x98\x80\"");
	json_is(json_str("a\xff"
			 "b"),
		"\"a\xef\xbf\xbd"
		"b\"");
	/* Cut, overlong, a surrogate, beyond U+10FFFF: a mark for each byte. */
	json_is(json_str("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	json_is(json_str("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	json_is(json_str("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	json_is(json_str("\xf4\x90\x80\x80x"),
		"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\"");
}

static void json_is_read_strictly(void **state)
{
	static const char *const bad[] = {
		"",	      "{",	  "{\"a\":1,\"a\":2}", "{\"a\":1}x", "[1,]",  "NaN",
		"{\"a\":01}", "\"\xff\"", "\"\\u0000\"",       "1e999",	     "[1] 2",
	};
	struct error e = ERROR_INIT;
	json_t *j = NULL;
	const char *s;
	uint64_t u = 5;
	double d;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		error_clear(&e);
		if (json_parse(bad[i], strlen(bad[i]), "it", &j, &e) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_true(str_starts(e.text, "it: line "));
		assert_null(j);
	}
	error_clear(&e);
	s = "{\"s\":\"x\",\"n\":-1,\"r\":1.5,\"z\":null,\"b\":true}";
	assert_int_equal(json_parse(s, strlen(s), "it", &j, &e), 0);
	assert_int_equal(json_get_u64(j, "n", &u, &e), -EINVAL);
	assert_string_equal(e.text, "\"n\": is not a whole number of 0 or more");
	error_clear(&e);
	assert_int_equal(json_get_u64(j, "r", &u, NULL), -EINVAL);
	assert_int_equal(json_get_num(j, "s", &d, NULL), -EINVAL);
	assert_int_equal(json_get_str(j, "z", &s, NULL), -EINVAL);
	assert_int_equal(json_get_str(j, "gone", &s, &e), -EINVAL);
	assert_string_equal(e.text, "\"gone\": is missing");
	assert_int_equal(u, 5);
	assert_int_equal(json_get_num(j, "r", &d, NULL), 0);
	assert_true(d == 1.5);
	assert_int_equal(json_opt_u64(j, "n", 9), 9);
	assert_true(json_opt_num(j, "z", 2.5) == 2.5);
	assert_true(json_opt_bool(j, "b", false));
	assert_null(json_opt_str(j, "b", NULL));
	json_decref(j);
}

/* ---- units ---- */

static void bytes_is(const char *text, uint64_t want)
{
	struct error e = ERROR_INIT;
	uint64_t v = 0;

	if (unit_parse_bytes(text, &v, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(v == want);
}

static void time_is(const char *text, uint64_t want)
{
	struct error e = ERROR_INIT;
	uint64_t v = 0;

	if (unit_parse_time_ns(text, &v, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(v == want);
}

static void k_is_never_ambiguous(void **state)
{
	static const char *const bad[] = { "1k",    "1K",
					   "1KB",   "1kb",
					   "1kib",  "1Kib",
					   "1M",    "1m",
					   "1TiB",  "1 KiB",
					   " 1",    "1KiBs",
					   "",	    "KiB",
					   "-1",    "1,5kB",
					   "1e",    "0x10",
					   "0X1p3", "nan",
					   "inf",   "1e999",
					   "1e30",  ".",
					   "1.5.5", "99999999999999GiB" };
	struct error e = ERROR_INIT;
	uint64_t v = 77;
	size_t i;

	(void)state;
	bytes_is("64KiB", 65536);
	bytes_is("64kB", 64000);
	bytes_is("1.5MiB", 1572864);
	bytes_is("4096", 4096);
	bytes_is("4096B", 4096);
	bytes_is("2GB", 2000000000);
	bytes_is("2GiB", 2147483648);
	bytes_is("0", 0);
	/* More than the 53 bits of a double. */
	bytes_is("9007199254740993", 9007199254740993ull);
	bytes_is("18446744073709551615", UINT64_MAX);
	time_is("9007199254740993ns", 9007199254740993ull);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		error_clear(&e);
		if (unit_parse_bytes(bad[i], &v, &e) >= 0)
			fail_msg("'%s' was taken for %llu bytes", bad[i], (unsigned long long)v);
		assert_true(error_is_set(&e));
	}
	assert_int_equal(v, 77);
	error_clear(&e);
	unit_parse_bytes("1K", &v, &e);
	assert_string_equal(e.text, "'1K': unknown unit 'K' (known: B, kB, KiB, MB, MiB, GB, GiB)");
}

static void times_and_ratios(void **state)
{
	static const char *const bad[] = { "10S", "1 s", "1sec", "-1s", "1e999s", "infs", "s" };
	double d = 5;
	uint64_t v;
	size_t i;

	(void)state;
	time_is("10", 10000000000ull);
	time_is("250ms", 250000000);
	time_is("1.5us", 1500);
	time_is("2m", 120000000000ull);
	time_is("1h", 3600000000000ull);
	time_is("0s", 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(unit_parse_time_ns(bad[i], &v, NULL) < 0);
	assert_int_equal(unit_parse_ratio("2%", &d, NULL), 0);
	assert_true(d == 0.02);
	assert_int_equal(unit_parse_ratio("0.02", &d, NULL), 0);
	assert_true(d == 0.02);
	assert_true(unit_parse_ratio("2 %", &d, NULL) < 0);
	assert_true(unit_parse_ratio("2%%", &d, NULL) < 0);
	assert_true(unit_parse_ratio("nan%", &d, NULL) < 0);
	assert_true(unit_parse_double("1e999", &d, NULL) < 0);
	assert_true(unit_parse_double("nan", &d, NULL) < 0);
	assert_true(unit_parse_double("-inf", &d, NULL) < 0);
	assert_true(unit_parse_double("0x1p3", &d, NULL) < 0);
	assert_true(unit_parse_double("1.5 ", &d, NULL) < 0);
	assert_true(unit_parse_double("", &d, NULL) < 0);
	assert_int_equal(unit_parse_double("-1.5e3", &d, NULL), 0);
	assert_true(d == -1500);
	assert_true(unit_parse_u64("-1", &v, NULL) < 0);
	assert_true(unit_parse_u64("+1", &v, NULL) < 0);
	assert_true(unit_parse_u64(" 1", &v, NULL) < 0);
	assert_true(unit_parse_u64("1.0", &v, NULL) < 0);
	assert_true(unit_parse_u64("18446744073709551616", &v, NULL) < 0);
	assert_int_equal(unit_parse_u64("18446744073709551615", &v, NULL), 0);
	assert_true(v == UINT64_MAX);
}

static void formats_come_back(void **state)
{
	uint64_t v = 1;
	char buf[32];
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++, v = v * 3 + 1) {
		unit_format_bytes(v, buf, sizeof(buf));
		bytes_is(buf, v);
		unit_format_bytes(1ull << i, buf, sizeof(buf));
		bytes_is(buf, 1ull << i);
	}
	unit_format_bytes(65536, buf, sizeof(buf));
	assert_string_equal(buf, "64KiB");
	unit_format_bytes(1000, buf, sizeof(buf));
	assert_string_equal(buf, "1000");
	for (i = 0; i < UNIT_N; i++) {
		enum unit u = UNIT_N;

		assert_int_equal(unit_parse(unit_name((enum unit)i), &u), 0);
		assert_int_equal(u, i);
	}
}

static void number_is(double v, unsigned digits, const char *want)
{
	char buf[64];

	unit_format_number(v, digits, buf, sizeof(buf));
	assert_string_equal(buf, want);
}

static void numbers_have_their_digits(void **state)
{
	char buf[40];

	(void)state;
	number_is(1.23456, 4, "1.235");
	number_is(123.456, 4, "123.5");
	number_is(123456, 4, "123456"); /* never an exponent, never zeros for digits */
	number_is(0.123456, 4, "0.1235");
	number_is(0.0123456, 4, "0.01235");
	number_is(9.99996, 4, "10.00");
	number_is(0.099996, 3, "0.100");
	number_is(0, 3, "0.00");
	number_is(-1.5, 3, "-1.50");
	number_is((double)NAN, 3, "?");
	number_is(HUGE_VAL, 3, "?");
	unit_format_time(999, buf, sizeof(buf));
	assert_string_equal(buf, "999 ns");
	unit_format_time(1500000000, buf, sizeof(buf));
	assert_string_equal(buf, "1.5 s");
	unit_format_time(200000000000ull, buf, sizeof(buf));
	assert_string_equal(buf, "3 min 20 s");
	unit_format_time(3600000000000ull, buf, sizeof(buf));
	assert_string_equal(buf, "1 h 00 min");
}

/* Case C01. Where the machine has no such locale one is made in a folder of our own. */
static void the_locale_changes_no_number(void **state)
{
	CLEANUP_FREE char *made = mem_printf("%s/de_DE.UTF-8", dir);
	const char *const argv[] = { "localedef", "-i", "de_DE", "-f", "UTF-8", made, NULL };
	struct proc_result out = { .status = -1 };
	struct error e = ERROR_INIT;
	char buf[64];

	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
		bool done = proc_run_ok(argv, NULL, &out, &e) == 0;

		proc_result_done(&out);
		setenv("LOCPATH", dir, 1);
		if (!done || !setlocale(LC_ALL, "de_DE.UTF-8"))
			skip();
	}
	snprintf(buf, sizeof(buf), "%.1f", 1.5);
	assert_string_equal(buf, "1,5");
	number_is(1234.5, 6, "1234.50");
	number_is(-0.5, 3, "-0.500");
	number_is(12, 2, "12");
	times_and_ratios(NULL);
	k_is_never_ambiguous(NULL);
	formats_come_back(NULL);
	json_is(json_num(1.5), "1.5");
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_old_or_new),
		cmocka_unit_test(files_are_read_whole_or_not),
		cmocka_unit_test(folders_are_made_once),
		cmocka_unit_test(what_is_no_number_is_null),
		cmocka_unit_test(bytes_become_utf8),
		cmocka_unit_test(json_is_read_strictly),
		cmocka_unit_test(k_is_never_ambiguous),
		cmocka_unit_test(times_and_ratios),
		cmocka_unit_test(formats_come_back),
		cmocka_unit_test(numbers_have_their_digits),
		cmocka_unit_test(the_locale_changes_no_number),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
