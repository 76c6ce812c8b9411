/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/words.h"

static void test_split(void **state)
{
	static const struct {
		const char *text, *want; /* each word with a | behind it */
	} t[] = {
		{ "", "" },
		{ " \t\n", "" },
		{ "a", "a|" },
		{ "  -rtc  base=utc\t-x\n", "-rtc|base=utc|-x|" },
		{ "'a b' \"c d\"", "a b|c d|" },
		{ "a'b c'd\"e f\"g", "ab cde fg|" },
		{ "'' \"\" x", "||x|" },
		{ "a\\ b \\' \\\" \\\\", "a b|'|\"|\\|" },
		{ "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d|" },
		{ "'a\\b\"c'", "a\\b\"c|" },
		{ "$HOME * `x` ;", "$HOME|*|`x`|;|" },
		{ "\xc3\xbc \xff", "\xc3\xbc|\xff|" },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct str got = STR_INIT;
		struct words w;

		assert_int_equal(words_split(t[i].text, &w, NULL), 0);
		assert_int_equal(w.n == 0, !w.items);
		for (k = 0; k < w.n; k++) {
			str_add(&got, w.items[k]);
			str_add_c(&got, '|');
		}
		assert_true(!w.items || !w.items[w.n]);
		assert_string_equal(str_get(&got), t[i].want);
		str_done(&got);
		words_done(&w);
		assert_null(w.items);
	}
	words_done(NULL);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "a 'b c", "the quote at \"'b c\" does not end" },
		{ "a \"b\\\"", "does not end" },
		{ "a b\\", "a \\ at the end" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct error e = ERROR_INIT;
		struct words w;

		assert_int_equal(words_split(t[i].text, &w, &e), -EINVAL);
		if (!strstr(e.text, t[i].want))
			fail_msg("no '%s' in '%s'", t[i].want, e.text);
		words_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
