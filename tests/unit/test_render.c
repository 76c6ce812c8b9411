/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons in print, against tests/golden/compare_*; UPDATE_GOLDEN=1 writes them anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "render_fixture.h"

#define OLD "6.1.0-49-cloud-amd64"
#define NEW "6.1.0-50-cloud-amd64"

static void two_kernels(struct fx *f, const char *class)
{
	fx_start(f,
		 "kdelta vm old=debian:bookworm new=debian:bookworm -s demo --boots 4 --seed 42");
	f->class = class;
	fx_kernel(f, "old", OLD, "aabbccddeeff00112233", "console=ttyS0",
		  "CONFIG_HZ=250\nCONFIG_A=y\n");
	fx_kernel(f, "new", NEW, "112233445566778899aa", "console=ttyS0",
		  "CONFIG_HZ=1000\nCONFIG_B=y\n");
}

static void test_words(void **state)
{
	struct fx f;

	(void)state;
	two_kernels(&f, "kvm");
	fx_blocks(&f, 8);
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 81, 1.001, .2);
	fx_measure(&f, "syscall", "read", "", &fx_latency, true, 117, .95, .5);
	fx_measure(&f, "syscall", "write", "", &fx_latency, true, 99, 1.008, .1);
	fx_measure(&f, "ipc", "ctx", "procs=2,size=0,place=same", &fx_latency, true, 2300, 1.052,
		   .5);
	fx_measure(&f, "ipc", "ctx", "procs=8,size=16KiB,place=same", &fx_latency, false, 5300,
		   1.015, 1);
	fx_measure(&f, "ipc", "pipe", "place=same", &fx_latency, true, 4200, 1.3, 2);
	fx_measure(&f, "ipc", "pipe", "place=spread", &fx_latency, false, 44200, 1.03, 5);
	fx_measure(&f, "ipc", "pipe", "place=same", &fx_switches, false, 2, 1, 0);
	fx_measure(&f, "bandwidth", "bw_pipe", "size=64KiB", &fx_rate, true, 8.4e9, 1.08, .5);
	check(&f, NULL, "words", "tmcj");
}

static void test_aa(void **state)
{
	struct fx f;

	(void)state;
	fx_start(&f, "kdelta vm a=debian:bookworm b=debian:bookworm");
	fx_kernel(&f, "a", OLD, "aabbccddeeff00112233", "console=ttyS0", NULL);
	fx_kernel(&f, "b", OLD, "aabbccddeeff00112233", "console=ttyS0", NULL);
	fx_blocks(&f, 12);
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 81, 1.001, .5);
	fx_measure(&f, "syscall", "read", "", &fx_latency, true, 117, 1.03, .5);
	check(&f, NULL, "aa", "tj");
}

static void test_one_boot(void **state)
{
	struct fx f;
	unsigned i, n;

	(void)state;
	two_kernels(&f, "native");
	fx_blocks(&f, 2);
	for (i = 0; i < 2; i++) {
		n = fx_value(&f, f.boots[i], "net", "tbench", "clients=32", &fx_rate, true,
			     i ? 121.7e6 : 114.6e6);
		fx_sample(&f, n, &fx_rate, i ? 124.9e6 : 114.1e6);
		fx_sample(&f, n, &fx_rate, i ? 124.0e6 : 115.0e6);
	}
	check(&f, NULL, "one_boot", "tj");
}

static void test_emulated(void **state)
{
	struct fx f;

	(void)state;
	fx_start(&f, "kdelta vm plain=debian:bookworm "
		     "poison=debian:bookworm,append=slub_debug=FZPU -s demo");
	f.class = "emulated";
	fx_kernel(&f, "plain", OLD, "aabbccddeeff00112233", "console=ttyS0", "CONFIG_A=y\n");
	fx_kernel(&f, "poison", OLD, "aabbccddeeff00112233", "console=ttyS0 slub_debug=FZPU",
		  "CONFIG_A=y\n");
	fx_blocks(&f, 8);
	fx_measure(&f, "process", "fork", "", &fx_latency, true, 1920000, 1.6, 1);
	fx_measure(&f, "process", "exec", "", &fx_latency, true, 8491000, 1.4, 1);
	check(&f, NULL, "emulated", "tmj");
}

static void test_three(void **state)
{
	struct fx f;
	unsigned i;

	(void)state;
	fx_start(&f, "kdelta vm v6.1.148-stable-rc1 v6.1.149-stable-rc1 v6.1.150-stable-rc1");
	fx_kernel(&f, "v6.1.148-stable-rc1", "6.1.148-rc1", "aabbccddeeff00112233", "quiet", NULL);
	fx_kernel(&f, "v6.1.149-stable-rc1", "6.1.149-rc1", "bbbbccddeeff00112233", "quiet", NULL);
	fx_kernel(&f, "v6.1.150-stable-rc1", "6.1.150-rc1", "ccbbccddeeff00112233", "quiet", NULL);
	for (i = 0; i < 15; i++)
		fx_boot_state(&f, (i + i / 3) % 3, DS_OK, NULL);
	fx_measure(&f, "process", "fork", "", &fx_latency, true, 192000, 1.04, .5);
	fx_measure(&f, "ipc", "ctx", "procs=2,size=0,place=same", &fx_latency, true, 2300, .999,
		   .3);
	check(&f, NULL, "three", "tmcj");
}

static void test_failures(void **state)
{
	struct fx f;
	unsigned i;

	(void)state;
	two_kernels(&f, "kvm");
	fx_blocks(&f, 8);
	fx_boot_state(&f, 1, DS_FAILED, "guest panicked: VFS: Unable to mount root fs");
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 81, 1.001, .2);
	for (i = 0; i < 8; i++) {
		unsigned new = f.kernel_of[i];

		fx_invocation(&f, f.boots[i], "ipc", "tcp", "place=same", &fx_latency, true,
			      DS_SKIPPED, "no loopback");
		if (!new)
			fx_value(&f, f.boots[i], "ipc", "pipe", "place=same", &fx_latency, true,
				 4200 + i);
		else
			fx_invocation(&f, f.boots[i], "ipc", "pipe", "place=same", &fx_latency,
				      true, DS_FAILED, "short read: 0 of 1 bytes");
		if (i == 1)
			fx_invocation(&f, f.boots[i], "syscall", "getppid", "", &fx_latency, true,
				      DS_FAILED, "silent for 60 s");
	}
	check(&f, NULL, "failures", "tmcj");
}

static void test_mixed(void **state)
{
	struct fx f;
	unsigned i;

	(void)state;
	two_kernels(&f, "native");
	fx_blocks(&f, 8);
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 81, 1.05, .2);
	f.class = "emulated";
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 1810, 1.05, .2);
	f.class = "native";
	for (i = 0; i < 8; i++) {
		f.version = f.kernel_of[i] ? 2 : 1;
		fx_value(&f, f.boots[i], "syscall", "stat", "", &fx_latency, true, 328 + i);
		f.version = 1;
		f.context = f.kernel_of[i] ? "{\"agent\":\"0.2\"}" : "{\"agent\":\"0.1\"}";
		fx_value(&f, f.boots[i], "syscall", "write", "", &fx_latency, true, 99 + i);
		f.context = "{\"agent\":\"0.1\"}";
	}
	check(&f, NULL, "mixed", "tcj");
}

/* Every flag that a pair of two kernels can have, and a row compared by difference. */
static void test_flags(void **state)
{
	static const struct metric net = { .name = "net",
					   .unit = UNIT_NS,
					   .better = METRIC_LESS,
					   .kind = METRIC_MEASURE,
					   .from = METRIC_FROM_NET };
	struct record_sample s = {
		.part = "", .ops = 1000, .has_overhead = true, .over_ops = 1000, .over_ns = 300000
	};
	struct fx f;
	unsigned i, n, k;

	(void)state;
	fx_start(&f, NULL);
	fx_kernel(&f, "a", "6.1.148", "aabbccddeeff00112233", "quiet",
		  "CONFIG_HZ=250\nCONFIG_PROVE_LOCKING=y\n");
	fx_kernel(&f, "b", "6.1.148", "bbbbccddeeff00112233", "quiet", "CONFIG_HZ=250\n");
	for (i = 0; i < 12; i++)
		fx_boot_state(&f, i / 6, DS_OK, NULL);
	f.d.boots[1].kernel_warnings = 1;
	for (i = 0; i < 12; i++) {
		k = f.kernel_of[i];
		fx_fact(&f, f.boots[i], FACT_ENVIRONMENT, FACT_BEFORE, "governor",
			k ? "performance" : "powersave");
		fx_fact(&f, f.boots[i], FACT_STATE, FACT_BEFORE, "swap_used", "0");
		fx_fact(&f, f.boots[i], FACT_STATE, FACT_AFTER, "swap_used", i == 4 ? "4096" : "0");
		n = fx_value(&f, f.boots[i], "ipc", "pipe", "", &fx_latency, true,
			     4200 * (k ? 1.03 : 1) + fx_noise[i]);
		if (k)
			dataset_usage(&f.d, n, "steal_ratio", .05);
		n = fx_value(&f, f.boots[i], "ipc", "unix", "", &fx_latency, false,
			     4200 * pow(1.003, i) + fx_noise[i]);
		if (i == 3)
			dataset_usage(&f.d, n, "throttled_count", 2);
		fx_value(&f, f.boots[i], "ipc", "udp", "", &fx_latency, false,
			 i == 8 ? 6000 : 4100 + 5 * fx_noise[i]);
		n = fx_value(&f, f.boots[i], "ipc", "tcp", "", &fx_latency, false, 5100 + i);
		dataset_usage(&f.d, n, i ? "suspended_ns" : "clocksource_changed", i == 0);
		n = fx_invocation(&f, f.boots[i], "ipc", "ctx", "procs=2,size=64KiB", &net, false,
				  DS_OK, NULL);
		s.ns = k ? 295000 + 100 * i : 400000 + 700 * i;
		dataset_sample(&f.d, n, &s);
	}
	check(&f, NULL, "flags", "tmj");
}

/* What people and kernels name themselves must not run a terminal, a table or a CSV. */
static void test_hostile(void **state)
{
	struct fx f;

	(void)state;
	fx_start(&f, NULL);
	fx_kernel(&f, "a,b/c \"d\" \xc3\xbc\n%s|x", "6.1\033[2J", "aa", "quiet", NULL);
	fx_kernel(&f, "\xff\xe2\x80\xae", "6.2<b>", "bb", "quiet \033]0;x\007", NULL);
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "cmd", "run=\"make -j2, twice\"", &fx_latency, true, 100, 1.1, .5);
	check(&f, NULL, "hostile", "tmcj");
}

/* Long command lines are cut in the middle, those that would look alike are not; titles wrap. */
static void test_long_values(void **state)
{
	static const char *const run[] = {
		"run=\"make -j8 LOCALVERSION=-with-a-long-name, all\",samples=5,timeout=600s",
		"run=./bench --size 4096 --threads 64 -x,samples=5,timeout=600s",
		"run=./bench --size 4096 --threads 99 -y,samples=5,timeout=600s",
		"run=./bench --size 409 --threads 12 --alike,samples=5,timeout=600s",
		"run=./bench --size 409 --threads 22 --alike,samples=5,timeout=600s",
		"run=\"01234567890123456\xe2\x82\xac\xe2\x82\xac,"
		"5678901234567\xe2\x82\xac\xe2\x82\xac"
		"90\",samples=5,timeout=600s",
		"run=true,samples=5,timeout=600s",
	};
	struct fx f;
	size_t i;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 8);
	for (i = 0; i < ARRAY_SIZE(run); i++)
		fx_measure(&f, "program", "cmd", run[i], &fx_latency, true, 1e6, 1.1, .5);
	fx_measure(&f, "alone", "cmd",
		   "run=./bench --size 4096 --threads 64 --and-more --and-still-more 1,samples=5,"
		   "warmup=1,windows=auto,timeout=600s",
		   &fx_latency, true, 1e6, 1.1, .5);
	check(&f, NULL, "long", "tmj");
}

static void test_escapes(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7",
		  "plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7" },
		{ "a\033[2J\tb\n\x7f", "a\\x1b[2J\\x09b\\x0a\\x7f" },
		{ "\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80" },
		{ "\xc2\x9b", "\\x9b" },
		{ "\xe2\x80\xae", "\\u{202e}" },
		{ "\xe2\x82", "\\xe2\\x82" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str out = STR_INIT;

		render_safe(&out, cases[i].in);
		assert_string_equal(str_get(&out), cases[i].out);
		str_done(&out);
	}
}

static void test_results(void **state)
{
	static const char *const next[] = { "kdelta run -e demo -l other",
					    "kdelta compare old other", NULL };
	static const struct compare_options defaults = COMPARE_OPTIONS_INIT;
	struct fx f;
	struct comparison c;
	struct str out = STR_INIT;
	unsigned i, k, n;

	(void)state;
	fx_start(&f, NULL);
	fx_kernel(&f, "old", OLD, "aabbccddeeff00112233", "quiet", NULL);
	fx_boot_state(&f, 0, DS_OK, NULL);
	for (i = 0; i < 3; i++) {
		n = fx_value(&f, 0, "syscall", "getppid", "", &fx_latency, true, 81);
		for (k = 0; k < 6; k++)
			fx_sample(&f, n, &fx_latency, 81 + .3 * fx_noise[i + k]);
		fx_value(&f, 0, "net", "tbench", "clients=32", &fx_rate, true, 114.6e6 + i);
	}
	fx_invocation(&f, 0, "ipc", "tcp", "place=spread", &fx_latency, true, DS_SKIPPED,
		      "one CPU only");
	dataset_finish(&f.d);
	assert_int_equal(compare_make(&f.d, &defaults, &c, NULL), 0);
	render_results(&c, &render_options, next, &out);
	check_width(&out);
	golden("compare_results.txt", &out);
	str_done(&out);
	compare_done(&c);
	dataset_done(&f.d);
}

/* Nothing to show is no crash. */
static void test_empty(void **state)
{
	struct fx f;

	(void)state;
	two_kernels(&f, "native");
	fx_boot_state(&f, 0, DS_FAILED, NULL);
	fx_boot_state(&f, 1, DS_FAILED, NULL);
	check(&f, NULL, "empty", "t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	    cmocka_unit_test(test_aa),
		cmocka_unit_test(test_one_boot),    cmocka_unit_test(test_emulated),
		cmocka_unit_test(test_three),	    cmocka_unit_test(test_failures),
		cmocka_unit_test(test_mixed),	    cmocka_unit_test(test_flags),
		cmocka_unit_test(test_hostile),	    cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_results),	    cmocka_unit_test(test_empty),
		cmocka_unit_test(test_long_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
