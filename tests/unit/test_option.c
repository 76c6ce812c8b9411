/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define ARGS_MAX 12

struct given {
	bool verbose, quiet;
	const char *output, *format;
	struct option_list with;
	uint64_t count, time_ns, bytes;
	double margin;
	/* of the last parse */
	char *argv[ARGS_MAX];
	int argc, at;
	bool help;
	struct error err;
};

static struct given g;

static const struct option table[] = {
	{ 'v', "verbose", OPTION_FLAG, &g.verbose, NULL, NULL, 0, 0, "say more" },
	{ 'q', "quiet", OPTION_FLAG, &g.quiet, NULL, NULL, 0, 0, "say less" },
	{ 'o', "output", OPTION_TEXT, &g.output, "FILE", NULL, 0, 0, "where to" },
	{ 'w', "with", OPTION_TEXTS, &g.with, "SPEC", NULL, 0, 0, "one of many" },
	{ 0, "How much", OPTION_HEADING, NULL, NULL, NULL, 0, 0, NULL },
	{ 'n', "count", OPTION_UINT, &g.count, "N", NULL, 2, 8, "how often\n(2 to 8)" },
	{ 0, "time", OPTION_TIME, &g.time_ns, "TIME", NULL, 0, 0, "how long" },
	{ 0, "mem", OPTION_BYTES, &g.bytes, NULL, NULL, 0, 0, "how large" },
	{ 0, "margin", OPTION_RATIO, &g.margin, "RATIO", NULL, 0, 0, "how far" },
	{ 0, "format", OPTION_CHOICE, &g.format, NULL, "text|json|text-wide", 0, 0, "as what" },
	{ 0, NULL, 0, NULL, NULL, NULL, 0, 0, NULL },
};

static int clear(void **state)
{
	(void)state;
	option_list_done(&g.with);
	memset(&g, 0, sizeof(g));
	return 0;
}

static int parse(const char *const *words)
{
	option_list_done(&g.with);
	memset(&g, 0, sizeof(g));
	g.at = -1;
	g.argv[g.argc++] = (char *)(uintptr_t) "prog";
	for (; *words; words++)
		g.argv[g.argc++] = (char *)(uintptr_t)*words;
	return option_parse(table, g.argc, g.argv, &g.at, &g.help, &g.err);
}

#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL })

static void refused(const char *words, int r)
{
	assert_int_equal(r, g.err.code ? -g.err.code : -1);
	assert_string_equal(g.err.text, words);
}

static void options_and_arguments_mix(void **state)
{
	(void)state;
	assert_int_equal(PARSE("a", "-v", "b", "--count=3", "-", "--time", "250ms"), 0);
	assert_true(g.verbose);
	assert_false(g.quiet);
	assert_int_equal(g.count, 3);
	assert_true(g.time_ns == 250000000);
	assert_int_equal(g.argc - g.at, 3);
	assert_string_equal(g.argv[g.at], "a");
	assert_string_equal(g.argv[g.at + 1], "b");
	assert_string_equal(g.argv[g.at + 2], "-");

	assert_int_equal(PARSE("-o", "-v", "x", "--", "-q", "--"), 0);
	assert_string_equal(g.output, "-v"); /* a value is a value */
	assert_false(g.verbose);
	assert_false(g.quiet);
	assert_int_equal(g.argc - g.at, 3);
	assert_string_equal(g.argv[g.at], "x");
	assert_string_equal(g.argv[g.at + 1], "-q");
	assert_string_equal(g.argv[g.at + 2], "--");

	assert_int_equal(parse((const char *const[]){ NULL }), 0);
	assert_int_equal(g.at, g.argc);
}

static void letters_cluster(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-vqofile", "-w", "a", "-wb", "--with", "c=d"), 0);
	assert_true(g.verbose && g.quiet);
	assert_string_equal(g.output, "file");
	assert_int_equal(g.with.n, 3);
	assert_string_equal(g.with.items[1], "b");
	assert_string_equal(g.with.items[2], "c=d");
	assert_int_equal(PARSE("--output="), 0);
	assert_string_equal(g.output, "");
	assert_int_equal(PARSE("--output=a=b"), 0);
	assert_string_equal(g.output, "a=b");
}

static void help_stops_all(void **state)
{
	(void)state;
	assert_int_equal(PARSE("x", "--help", "--nonsense"), 0);
	assert_true(g.help);
	assert_int_equal(PARSE("-h"), 0);
	assert_true(g.help);
	assert_int_equal(PARSE("--", "-h"), 0);
	assert_false(g.help);
	assert_int_equal(PARSE("-o", "-h"), 0);
	assert_false(g.help);
}

static void values_are_checked(void **state)
{
	(void)state;
	refused("--count: 1 is not from 2 to 8", PARSE("--count", "1"));
	refused("--count: 9 is not from 2 to 8", PARSE("-n9"));
	refused("--count: '-3' is not a whole number", PARSE("-n", "-3"));
	refused("--count: '' is not a whole number", PARSE("--count="));
	assert_true(PARSE("--time=1K") < 0);
	assert_true(PARSE("--mem=1K") < 0);
	assert_true(PARSE("--margin=big") < 0);
	assert_int_equal(PARSE("--mem=64KiB", "--margin=2%"), 0);
	assert_int_equal(g.bytes, 65536);
	assert_true(g.margin == 0.02);
	refused("--format: 'js' is none of text|json|text-wide", PARSE("--format=js"));
	refused("--format: '' is none of text|json|text-wide", PARSE("--format="));
	/* The list of choices is none of them, nor is a piece of it. */
	refused("--format: 'text|json' is none of text|json|text-wide",
		PARSE("--format=text|json"));
	assert_true(PARSE("--format=wide") < 0);
	assert_int_equal(PARSE("--format=text-wide"), 0);
	assert_string_equal(g.format, "text-wide");
	assert_int_equal(PARSE("--format", "json"), 0);
}

static void mistakes_are_named(void **state)
{
	static const char *const names[] = { "getppid", "pipe", "open_close", NULL };
	char longest[200];

	(void)state;
	refused("unknown option '--verbsoe': did you mean --verbose?", PARSE("--verbsoe"));
	refused("unknown option '--colour' (see --help)", PARSE("--colour"));
	refused("unknown option '--How much' (see --help)", PARSE("--How much"));
	refused("unknown option '-x' (see --help)", PARSE("-vx"));
	refused("unknown option '--outputs': did you mean --output?", PARSE("--outputs=x"));
	refused("--verbose takes no value", PARSE("--verbose=yes"));
	refused("--output wants FILE", PARSE("--output"));
	refused("-o wants FILE", PARSE("-vo"));
	refused("--mem wants a value", PARSE("--mem"));
	assert_true(PARSE("--=x") < 0);
	assert_string_equal(option_closest("getpid", names), "getppid");
	assert_string_equal(option_closest("open-close", names), "open_close");
	assert_null(option_closest("netperf", names));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(option_closest(longest, names));
	assert_true(PARSE(longest, "-v") == 0);
	memcpy(longest, "--", 2);
	assert_true(PARSE(longest) < 0);
}

static void help_is_the_table(void **state)
{
	static const struct option_doc doc = { .usage = "prog [OPTION]...",
					       .summary = "Does it.",
					       .description = "At length.",
					       .examples = "  prog -v" };
	struct str out = STR_INIT;

	(void)state;
	option_help(&out, &doc, table);
	assert_string_equal(str_get(&out), "Usage: prog [OPTION]...\n"
					   "\n"
					   "Does it.\n"
					   "\n"
					   "At length.\n"
					   "\n"
					   "Options\n"
					   "  -v, --verbose           say more\n"
					   "  -q, --quiet             say less\n"
					   "  -o, --output=FILE       where to\n"
					   "  -w, --with=SPEC         one of many\n"
					   "\n"
					   "How much\n"
					   "  -n, --count=N           how often\n"
					   "                          (2 to 8)\n"
					   "      --time=TIME         how long\n"
					   "      --mem=VALUE         how large\n"
					   "      --margin=RATIO      how far\n"
					   "      --format=text|json|text-wide\n"
					   "                          as what\n"
					   "\n"
					   "Examples\n"
					   "  prog -v\n");
	str_done(&out);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(options_and_arguments_mix), TEST(letters_cluster),	   TEST(help_stops_all),
		TEST(values_are_checked),	 TEST(mistakes_are_named), TEST(help_is_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
