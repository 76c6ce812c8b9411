/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Around a run of exact mode: the plugin's file, contexts out of symbols, perturbations. */
#include "counts_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* ---- the plugin ---- */

static void plugin_is_found(void **state)
{
	char given[] = "/tmp/kdelta-test-plugin.XXXXXX";
	int fd = mkstemp(given);
	CLEANUP_FREE char *beside = file_beside_self("kdelta-plugin.so");
	char *path;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	setenv("KDELTA_PLUGIN", given, 1);
	OK(exact_plugin_find(&path, e));
	assert_string_equal(path, given);
	free(path);
	unlink(given);
	FAILS(ENOENT, given, exact_plugin_find(&path, e));
	setenv("KDELTA_PLUGIN", "", 1);
	/* A build may have put one beside this test; a system may have one installed. */
	if (access(beside, R_OK) < 0 && access("/usr/local/libexec/kdelta-plugin.so", R_OK) < 0)
		FAILS(ENOENT, "set KDELTA_PLUGIN", exact_plugin_find(&path, e));
	if (access(beside, F_OK) < 0) {
		OK(file_replace(beside, "", 0, e));
		OK(exact_plugin_find(&path, e));
		assert_string_equal(path, beside);
		free(path);
		unlink(beside);
	}
	unsetenv("KDELTA_PLUGIN");
}

/* ---- contexts ---- */

static const struct sym kernel[] = {
	{ 0x0000, 'T', "_stext", NULL },
	{ 0x0100, 'T', "__switch_to_asm", NULL },
	{ 0x0160, 't', "handle_softirqs.isra.0", NULL },
	{ 0x0160, 't', "alias_of_softirqs", NULL },
	{ 0x0200, 'T', "__softirqentry_text_start", NULL },
	{ 0x0200, 'T', "__do_softirq", NULL },
	{ 0x0300, 't', "rcu_gp_fqs_loop.constprop.0", NULL },
	{ 0x0340, 't', "rcu_gp_fqs_loop.constprop.0.cold", NULL },
	{ 0x0350, 't', "run_ksoftirqd", NULL },
	{ 0x0360, 't', "rcu_gp_initialised", NULL },
	{ 0x0400, 't', "do_idle", NULL },
	{ 0x0410, 't', "intel_idle", NULL },
	{ 0x0420, 't', "intel_idle_hlt_irq", NULL },
	{ 0x0430, 't', "intel_idle_init", NULL },
	{ 0x0440, 'd', "mwait_idle", NULL },
	{ 0x0500, 't', "worker_thread", NULL },
	{ 0x0510, 't', "worker_thread.cold", NULL },
	{ 0x0520, 't', "process_one_work", NULL },
	{ 0x0600, 'T', "irqentry_exit", NULL },
	{ 0x0610, 'T', "irqentry_exit_to_user_mode", NULL },
	{ 0x0700, 'T', "asm_exc_page_fault", NULL },
	{ 0x0710, 'T', "asm_common_interrupt", NULL },
	{ 0x0720, 'T', "asm_spurious_interrupt", NULL },
	{ 0x0730, 't', "__pfx_asm_sysvec_reboot", NULL },
	{ 0x0740, 'T', "asm_sysvec_reboot", NULL },
	{ 0x0740, 'T', "asm_sysvec_reboot_alias", NULL },
	{ 0x0750, 'T', "asm_sysvec_apic_timer_interrupt", NULL },
	{ 0x0760, 'R', "asm_sysvec_table", NULL },
	{ 0x9000, 't', "do_idle", "m" },
};

static void contexts_are_told(void **state)
{
	struct symbols *s = symbols_of(kernel, ARRAY_SIZE(kernel));
	const char *missing = "?";
	CLEANUP_FREE char *text = exact_contexts(s, &missing);

	(void)state;
	symbols_free(s);
	assert_null(missing);
	assert_string_equal(text, "hardirq_enter ffffffff81000710\n"
				  "hardirq_enter ffffffff81000720\n"
				  "hardirq_enter ffffffff81000740\n"
				  "hardirq_enter ffffffff81000750\n"
				  "hardirq_exit ffffffff81000600\n"
				  "softirq ffffffff81000160 ffffffff81000200\n"
				  "switch ffffffff81000100 ffffffff81000160\n"
				  "idle ffffffff81000400\n"
				  "idle ffffffff81000410\n"
				  "idle ffffffff81000420\n"
				  "kworker ffffffff81000500\n"
				  "kworker ffffffff81000520\n"
				  "rcu ffffffff81000300\n"
				  "rcu ffffffff81000350\n");
}

/* One that is needed and not there: nothing is told, and it has a name. */
static void what_is_needed_is_named(void **state)
{
	static const struct {
		const char *without, *missing;
	} cases[] = {
		{ "asm_", "asm_sysvec_*" },
		{ "irqentry_exit", "irqentry_exit" },
		{ "__switch_to_asm", "__switch_to_asm" },
	};
	const char *missing;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sym some[ARRAY_SIZE(kernel)];
		struct symbols *s;
		size_t n = 0;

		for (size_t k = 0; k < ARRAY_SIZE(kernel); k++)
			if (!strstr(kernel[k].name, cases[i].without))
				some[n++] = kernel[k];
		s = symbols_of(some, n);
		text = exact_contexts(s, &missing);
		assert_string_equal(text, "");
		assert_string_equal(missing, cases[i].missing);
		free(text);
		symbols_free(s);
	}
	text = exact_contexts(NULL, &missing);
	assert_string_equal(text, "");
	assert_non_null(missing);
	free(text);
}

static void softirqs_have_two_names(void **state)
{
	struct sym some[ARRAY_SIZE(kernel)];
	const char *missing;
	struct symbols *s;
	char *text;

	(void)state;
	memcpy(some, kernel, sizeof(some));
	some[2].name = "handle_softirqs.cold";
	s = symbols_of(some, ARRAY_SIZE(some));
	text = exact_contexts(s, &missing);
	assert_non_null(strstr(text, "\nsoftirq ffffffff81000200 ffffffff81000300\n"));
	free(text);
	symbols_free(s);
	some[5].name = "__do_softirq.cold";
	s = symbols_of(some, ARRAY_SIZE(some));
	text = exact_contexts(s, &missing);
	assert_string_equal(missing, "__do_softirq");
	free(text);
	symbols_free(s);
}

/* ---- perturbations ---- */

static void perturbations_stay_in_range(void **state)
{
	unsigned least = 99, most = 0, slab = 0, env = 0;
	uint64_t idle = 0;

	(void)state;
	for (unsigned i = 1; i < 2000; i++) {
		struct plan_perturb p;

		exact_perturb(i / 16, i, &p);
		assert_int_equal(p.index, i);
		assert_true(p.idle_ns <= 20000000 && p.idle_ns % 1000 == 0);
		assert_true(p.sixteenths >= 15 && p.sixteenths <= 17);
		assert_true(p.env_bytes <= 3072 && p.env_bytes % 16 == 0);
		assert_true(p.slab <= 64);
		least = p.sixteenths < least ? p.sixteenths : least;
		most = p.sixteenths > most ? p.sixteenths : most;
		slab = p.slab > slab ? p.slab : slab;
		env = p.env_bytes > env ? p.env_bytes : env;
		idle = p.idle_ns > idle ? p.idle_ns : idle;
	}
	/* All of each range is used. */
	assert_int_equal(least, 15);
	assert_int_equal(most, 17);
	assert_int_equal(slab, 64);
	assert_int_equal(env, 3072);
	assert_true(idle > 19900000);
}

/* Stored experiments are repeated by their seed: these values are for ever. */
static void perturbations_do_not_change(void **state)
{
	static const struct {
		uint64_t seed;
		unsigned index;
		const char *text;
	} known[] = {
		{ 0, 0, "0: none" },
		{ 0, 1, "1: idle 14.809 ms, batch 17/16, env 816, slab 57" },
		{ 0, 2, "2: idle 17.888 ms, batch 17/16, env 1632, slab 50" },
		{ 1, 1, "1: idle 14.827 ms, batch 15/16, env 1440, slab 42" },
		{ UINT64_MAX, 7, "7: idle 0.940 ms, batch 16/16, env 1200, slab 31" },
	};
	char text[EXACT_PERTURB_SIZE];
	struct plan_perturb p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		exact_perturb(known[i].seed, known[i].index, &p);
		exact_perturb_text(&p, text, sizeof(text));
		assert_string_equal(text, known[i].text);
	}
	exact_perturb(5, 0, &p);
	assert_int_equal(p.idle_ns + p.env_bytes + p.slab, 0);
	assert_int_equal(p.sixteenths, 16);
}

static void perturbations_have_words(void **state)
{
	struct plan_perturb p = { 3, 7121000, 19, 640, 24 };
	char text[EXACT_PERTURB_SIZE];

	(void)state;
	exact_perturb_text(&p, text, sizeof(text));
	assert_string_equal(text, "3: idle 7.121 ms, batch 19/16, env 640, slab 24");
	p = (struct plan_perturb){ UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	exact_perturb_text(&p, text, sizeof(text));
	assert_string_equal(text, "4294967295: idle 18446744073709.551615 ms,"
				  " batch 4294967295/16, env 4294967295, slab 4294967295");
	p = (struct plan_perturb){ 1, 0, 0, 0, 0 };
	exact_perturb_text(&p, text, sizeof(text));
	assert_string_equal(text, "1: idle 0.000 ms, batch 16/16, env 0, slab 0");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plugin_is_found),
		cmocka_unit_test(contexts_are_told),
		cmocka_unit_test(what_is_needed_is_named),
		cmocka_unit_test(softirqs_have_two_names),
		cmocka_unit_test(perturbations_stay_in_range),
		cmocka_unit_test(perturbations_do_not_change),
		cmocka_unit_test(perturbations_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
