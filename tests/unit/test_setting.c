/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings as words: names, values, keys, plans, and what --set makes of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/plan.h"
#include "model/setting.h"
#include "plan/set.h"
#include "plan/work.h"
#include "runner/runner.h"

static struct arena a;
static struct error err;
static struct sets sets;
static struct workload_list known;

static int clear(void **state)
{
	(void)state;
	arena_done(&a);
	error_clear(&err);
	sets_done(&sets);
	workload_list_done(&known);
	return 0;
}

/* ---- names and values ---- */

static const char *name_of(const char *text)
{
	const char *name = NULL;

	error_clear(&err);
	return setting_name(text, &a, &name, &err) < 0 ? NULL : name;
}

static void names_have_one_form(void **state)
{
	static const char *const same[][2] = {
		{ "net.ipv4.tcp_sack", "net.ipv4.tcp_sack" },
		{ "net/ipv4/tcp_sack", "net.ipv4.tcp_sack" },
		{ "/proc/sys/net/ipv4/tcp_sack", "net.ipv4.tcp_sack" },
		{ "sysctl:net.ipv4.tcp_sack", "net.ipv4.tcp_sack" },
		{ "sysctl:/proc/sys/vm/swappiness", "vm.swappiness" },
		{ "net/ipv4/conf/eth0.1/forwarding", "net.ipv4.conf.eth0/1.forwarding" },
		{ "net.ipv4.conf.eth0/1.forwarding", "net.ipv4.conf.eth0/1.forwarding" },
		{ "offload:eth0.1:tso", "offload:eth0.1:tso" },
		{ "thp", "thp" },
	};
	static const char *const bad[] = { "",
					   "a b",
					   "net.ipv4=1",
					   "net..ipv4",
					   ".net",
					   "net.",
					   "../etc/passwd",
					   "net/../../etc",
					   "/proc/sys/../../etc/shadow",
					   "/proc/sys/",
					   "/etc/passwd",
					   "sysctl:vm",
					   "/proc/sys/v.m/x",
					   "sysctl:a:b.c",
					   "net.ipv4,x",
					   "net.\"ipv4",
					   "gr\xc3\xb6\xc3\x9f.e" };
	const char *arg;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(same); i++) {
		if (!name_of(same[i][0]))
			fail_msg("%s: %s", same[i][0], err.text);
		assert_string_equal(name_of(same[i][0]), same[i][1]);
		assert_string_equal(name_of(same[i][1]), same[i][1]);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (name_of(bad[i]))
			fail_msg("'%s' is taken as '%s'", bad[i], name_of(bad[i]));
	assert_string_equal(setting_sysctl_path("net.ipv4.conf.eth0/1.forwarding", &a),
			    "/proc/sys/net/ipv4/conf/eth0.1/forwarding");
	assert_string_equal(setting_kind("vm.swappiness", &a, &arg), "sysctl");
	assert_string_equal(arg, "vm.swappiness");
	assert_string_equal(setting_kind("offload:eth0.1:tso", &a, &arg), "offload");
	assert_string_equal(arg, "eth0.1:tso");
	assert_string_equal(setting_kind("thp", &a, &arg), "thp");
	assert_string_equal(arg, "");
}

static void values_are_lines(void **state)
{
	const char *v;

	(void)state;
	assert_int_equal(setting_value("\t4096  131072\t6291456 ", &a, &v, &err), 0);
	assert_string_equal(v, "4096 131072 6291456");
	assert_int_equal(setting_value("", &a, &v, &err), 0);
	assert_string_equal(v, "");
	assert_int_equal(setting_value("a\nb", &a, &v, &err), -EINVAL);
	error_clear(&err);
	assert_int_equal(setting_value("\xff", &a, &v, &err), -EINVAL);
	assert_true(setting_same("16", "0x10"));
	assert_true(setting_same("4096 131072", "4096\t131072"));
	assert_true(setting_same("-1", "-01"));
	assert_true(setting_same("", ""));
	assert_false(setting_same("1", ""));
	assert_false(setting_same("1", "-1"));
	assert_false(setting_same("1 2", "1"));
	assert_false(setting_same("always", "never"));
	assert_false(setting_same("0xfffffffffffffffff", "0"));
	assert_false(setting_same("12x", "12"));
}

static void the_key_has_them_behind_the_parameters(void **state)
{
	const struct setting s[] = { { "thp", "never" },
				     { "net.ipv4.tcp_rmem", "1 2" },
				     { "kernel.core_pattern", "a,b=\"c\"" } };
	CLEANUP_FREE char *key = settings_key("procs=2,place=same", s, 3);
	CLEANUP_FREE char *alone = settings_key("", s, 1), *none = settings_key("a=1", NULL, 0);

	(void)state;
	assert_string_equal(key, "procs=2,place=same,set:kernel.core_pattern=\"a,b=\\\"c\\\"\","
				 "set:net.ipv4.tcp_rmem=1 2,set:thp=never");
	assert_string_equal(alone, "set:thp=never");
	assert_string_equal(none, "a=1");
}

static int decode(const char *settings, struct plan *p)
{
	CLEANUP_FREE char *text = mem_printf(
		"{\"protocol\":1,\"items\":[{\"id\":\"1\",\"workload\":\"nop\",\"settings\":%s}]}",
		settings);

	error_clear(&err);
	return plan_decode(text, strlen(text), p, &err);
}

static void plans_carry_them(void **state)
{
	static const char *const bad[] = { "{}",
					   "\"thp\"",
					   "[\"thp\"]",
					   "[[\"thp\"]]",
					   "[[\"thp\",1]]",
					   "[[\"thp\",\"never\",\"x\"]]",
					   "[[\"a b\",\"1\"]]",
					   "[[\"thp\",\"a\\nb\"]]",
					   "[[\"vm.x\",\"1\"],[\"vm/x\",\"2\"]]" };
	CLEANUP_FREE char *text = NULL;
	struct plan p, q;
	size_t i;

	(void)state;
	assert_int_equal(decode("[[\"vm/swappiness\",\" 1 \"],[\"thp\",\"never\"]]", &p), 0);
	text = plan_encode(&p);
	assert_int_equal(plan_decode(text, strlen(text), &q, &err), 0);
	assert_int_equal(q.items[0].n_settings, 2);
	assert_string_equal(q.items[0].settings[0].name, "thp");
	assert_string_equal(q.items[0].settings[1].name, "vm.swappiness");
	assert_string_equal(q.items[0].settings[1].value, "1");
	plan_done(&p);
	plan_done(&q);
	assert_int_equal(decode("[]", &p), 0);
	assert_int_equal(p.items[0].n_settings, 0);
	plan_done(&p);
	assert_int_equal(decode("null", &p), 0);
	plan_done(&p);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (decode(bad[i], &p) == 0)
			fail_msg("%s is taken", bad[i]);
		assert_true(str_starts(err.text, "plan: item 1: "));
	}
}

/* ---- --set ---- */

static int add(const char *text)
{
	if (!known.n_settings)
		runner_list(&known);
	error_clear(&err);
	return sets_add(&sets, text, &known, &err);
}

/* Combination i in one line. */
static const char *combo(size_t i)
{
	struct setting *s;
	struct str b = STR_INIT;
	char *text;
	size_t n, k;

	sets_choose(&sets, i, &a, &s, &n);
	for (k = 0; k < n; k++)
		str_printf(&b, "%s%s=%s", k ? " " : "", s[k].name, s[k].value);
	text = arena_strdup(&a, str_get(&b));
	str_done(&b);
	return text;
}

static void axes_are_crossed_one_change_at_a_time(void **state)
{
	size_t i, k, seen = 0;

	(void)state;
	assert_int_equal(sets_count(&sets, false), 1);
	assert_string_equal(combo(0), "");
	assert_int_equal(add("net.ipv4.tcp_sack=1+0"), 0);
	assert_int_equal(add("offload:lo:tso,gso=on+off"), 0);
	assert_int_equal(add("boot:mitigations=auto+off"), 0);
	assert_int_equal(add("vm/swappiness=60+30+0"), 0);
	assert_int_equal(sets_count(&sets, false), 12);
	assert_int_equal(sets_count(&sets, true), 2);
	assert_string_equal(combo(0), "net.ipv4.tcp_sack=1 offload:lo:gso=on offload:lo:tso=on "
				      "vm.swappiness=60");
	assert_string_equal(combo(3), "net.ipv4.tcp_sack=1 offload:lo:gso=off offload:lo:tso=off "
				      "vm.swappiness=0");
	for (i = 0; i < 12; i++) {
		struct setting *x, *y;
		size_t n, m, changed = 0;

		for (k = 0; k < i; k++)
			assert_string_not_equal(combo(i), combo(k));
		seen++;
		if (!i)
			continue;
		sets_choose(&sets, i - 1, &a, &x, &n);
		sets_choose(&sets, i, &a, &y, &m);
		assert_int_equal(n, m);
		for (k = 0; k < n; k++)
			changed += strcmp(x[k].value, y[k].value) != 0;
		/* tso and gso change together. */
		assert_int_equal(changed, strcmp(x[1].value, y[1].value) ? 2 : 1);
	}
	assert_int_equal(seen, 12);
}

static void boot_parameters_are_words(void **state)
{
	(void)state;
	assert_string_equal(sets_boot_words(&sets, 0, &a), "");
	assert_int_equal(add("boot:mitigations=auto+off"), 0);
	assert_int_equal(add("boot:intel_idle.max_cstate=\"a b\"+1,2"), 0);
	assert_int_equal(sets_count(&sets, true), 4);
	assert_int_equal(sets_count(&sets, false), 1);
	assert_string_equal(sets_boot_words(&sets, 0, &a),
			    "mitigations=auto intel_idle.max_cstate=\"a b\"");
	assert_string_equal(sets_boot_words(&sets, 1, &a),
			    "mitigations=auto intel_idle.max_cstate=1,2");
	assert_string_equal(sets_boot_words(&sets, 3, &a),
			    "mitigations=off intel_idle.max_cstate=1,2");
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "foo=1", "unknown setting 'foo' (known: a sysctl by its name" },
		{ "foo:bar=1", "for a kernel's command line boot:PARAM" },
		{ "thp", "wanted NAME=VALUE" },
		{ "=1", "wanted NAME=VALUE" },
		{ "thp=", "an empty value" },
		{ "thp=never+", "an empty value" },
		{ "thp=sometimes", "choose one of always|madvise|never" },
		{ "thp:x=never", "it is written thp" },
		{ "offload:lo=on", "it is written offload:DEV:FEATURE" },
		{ "offload:lo:=on", "it is written offload:DEV:FEATURE" },
		{ "offload:lo:tso,tso=on", "'offload:lo:tso' is given twice" },
		{ "offload:lo:tso,=on", "it is written" },
		{ "net.ipv4.tcp_sack=1+0x1", "the value '0x1' is given twice" },
		{ "net/ipv4/ip_forward=1", "'net.ipv4.ip_forward' is given twice" },
		{ "kernel.core_pattern=\"x", "the quote does not end" },
		{ "kernel.core_pattern=\"x\"y", "'y' behind the quote" },
		{ "kernel.core_pattern=a\nb", "no line of text" },
		{ "boot:=1", "boot:PARAM wants the name" },
		{ "boot:a b=1", "boot:PARAM wants the name" },
		{ "boot:a=\"\\\"\"", "a quote in a boot parameter" },
	};
	size_t i;

	(void)state;
	assert_int_equal(add("net.ipv4.ip_forward=0+1"), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (add(bad[i].text) == 0)
			fail_msg("--set %s is taken", bad[i].text);
		if (!str_starts(err.text, "--set ") || !strstr(err.text, bad[i].why))
			fail_msg("--set %s: %s", bad[i].text, err.text);
	}
	assert_int_equal(sets.n, 1);
	assert_int_equal(add("kernel.core_pattern=\"a+b\"+\"\""), 0);
	assert_string_equal(sets.axes[1].values[0], "a+b");
	assert_string_equal(sets.axes[1].values[1], "");
	/* A parameter of the command line is no setting of the same name. */
	assert_int_equal(add("boot:thp=1"), 0);
	assert_int_equal(add("thp=never"), 0);
}

static void combinations_have_a_limit(void **state)
{
	static const char ten[] = "vm.x%c=0+1+2+3+4+5+6+7+8+9";
	char text[60];
	char c;

	(void)state;
	for (c = 'a'; c < 'd'; c++) {
		snprintf(text, sizeof(text), ten, c);
		assert_int_equal(add(text), 0);
	}
	assert_int_equal(add("vm.y=0+1"), -E2BIG);
	assert_int_equal(add("vm.y=0"), 0);
}

static void rounds_go_there_and_back(void **state)
{
	const char *specs[] = { "nop", "getppid" };
	CLEANUP_FREE char *text = NULL;
	struct work w;
	struct plan p;
	struct str order = STR_INIT;
	size_t i;

	(void)state;
	runner_list(&known);
	assert_int_equal(work_make(&w, &known, specs, 2, NULL, 0, &err), 0);
	assert_int_equal(sets_add(&w.sets, "vm.x=7+8", &known, &err), 0);
	w.invocations = 3;
	assert_int_equal(work_items(&w), 12);
	text = work_plan(&w, NULL, "native", NULL, &p, &err);
	assert_non_null(text);
	for (i = 0; i < p.n; i++) {
		assert_int_equal(p.items[i].n_settings, 1);
		str_printf(&order, "%c%s%s ", *p.items[i].workload, p.items[i].settings[0].value,
			   p.items[i].headline ? "*" : "");
	}
	assert_string_equal(str_get(&order), "n7* g7* n8 g8 n8 g8 n7* g7* n7* g7* n8 g8 ");
	str_done(&order);
	plan_done(&p);
	work_done(&w);
}

static void the_agent_lists_its_kinds(void **state)
{
	CLEANUP_JSON json_t *j = NULL;
	struct workload_list other;
	size_t i;

	(void)state;
	runner_list(&known);
	j = runner_list_encode(&known);
	assert_int_equal(workload_list_decode(j, &other, &err), 0);
	assert_int_equal(other.n_settings, known.n_settings);
	assert_true(other.n_settings >= 5);
	for (i = 0; i < other.n_settings; i++) {
		assert_string_equal(other.settings[i].name, known.settings[i].name);
		assert_string_equal(other.settings[i].form, known.settings[i].form);
		assert_true(str_eq(other.settings[i].choices, known.settings[i].choices));
		assert_true(strlen(other.settings[i].doc) > 10);
	}
	workload_list_done(&other);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(names_have_one_form),
		TEST(values_are_lines),
		TEST(the_key_has_them_behind_the_parameters),
		TEST(plans_carry_them),
		TEST(axes_are_crossed_one_change_at_a_time),
		TEST(boot_parameters_are_words),
		TEST(what_is_wrong_is_said),
		TEST(combinations_have_a_limit),
		TEST(rounds_go_there_and_back),
		TEST(the_agent_lists_its_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
