/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a comparison says beside its numbers: failures, differences and flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/mem.h"
#include "compare_fixture.h"

static void test_below(void **state)
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
	struct comparison c;
	unsigned i, n;

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 6);
	for (i = 0; i < 6; i++) {
		n = fx_invocation(&f, f.boots[i], "x", "w", "", &net, false, DS_OK, NULL);
		s.ns = f.kernel_of[i] ? 299000 + i : 400000 + 7 * i;
		dataset_sample(&f.d, n, &s);
	}
	fx_make(&f, NULL, &c);
	assert_true(c.rows[0].absolute);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_BELOW));
	assert_int_equal(c.rows[0].values[1].below, 3);
	assert_true(fabs(c.rows[0].values[1].overhead - 300) < 1e-6);
	assert_true(c.rows[0].values[1].mean < 0);
	assert_int_equal(c.rows[0].pairs[0].verdict, VERDICT_BETTER);
	fx_done(&f, &c);
}

static void test_failures(void **state)
{
	struct fx f;
	struct comparison c;
	struct compare_pair *p;
	unsigned i, bad, boot;

	(void)state;
	for (bad = 1; bad <= 8; bad += 7) {
		fx_two(&f);
		fx_blocks(&f, 16);
		fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
		for (i = 0; i < bad; i++) {
			boot = fx_boot_state(&f, 1, DS_FAILED, "guest panicked");
			/* A number from a failed boot counts for nothing. */
			fx_value(&f, boot, "x", "w", "", &fx_latency, true, 1e6);
		}
		fx_make(&f, NULL, &c);
		p = &c.rows[0].pairs[0];
		assert_int_equal(c.kernels[1].failed, bad);
		assert_int_equal(c.kernels[1].boots, 8);
		assert_int_equal(c.rows[0].values[1].boots, 8);
		assert_int_equal(c.n_failures, 1);
		assert_int_equal(c.failures[0].count, bad);
		assert_int_equal(c.failures[0].total, 8 + bad);
		assert_true(fx_flagged(p, COMPARE_FAILED));
		assert_int_equal(c.n_fisher, 1);
		/* 0 of 8 and 8 of 16: p = .0225, from C(16,8) / C(24,8) and its like. */
		assert_int_equal(p->verdict, bad == 1 ? VERDICT_WORSE : VERDICT_NONE);
		assert_true((c.fisher[0].p <= .05) == (bad == 8));
		fx_done(&f, &c);
	}

	fx_two(&f);
	fx_blocks(&f, 8);
	for (i = 0; i < 8; i++) {
		if (!f.kernel_of[i])
			fx_value(&f, f.boots[i], "x", "w", "", &fx_latency, true, 100 + i);
		else
			fx_invocation(&f, f.boots[i], "x", "w", "", &fx_latency, true, DS_FAILED,
				      "short read");
		fx_invocation(&f, f.boots[i], "x", "v", "", &fx_latency, true, DS_SKIPPED,
			      "no loopback");
	}
	fx_make(&f, NULL, &c);
	assert_int_equal(c.n_rows, 1);
	assert_int_equal(c.rows[0].n_pairs, 0);
	assert_true(isnan(c.rows[0].values[1].mean));
	assert_string_equal(c.unmatched[0].why, "failed: short read");
	assert_int_equal(c.n_failures, 3);
	assert_int_equal(c.n_fisher, 1);
	assert_int_equal(c.fisher[0].new_failed, 4);
	fx_done(&f, &c);
}

static void test_environment(void **state)
{
	static const char *const values[] = { "powersave", "performance", NULL, "powersave" };
	struct fx f;
	struct comparison c;
	struct compare_pair *p;
	unsigned kind, i;

	(void)state;
	/* Same; differs; unknown on one side; differs on purpose. */
	for (kind = 0; kind < 4; kind++) {
		fx_two(&f);
		if (kind == 3)
			f.d.experiments[0].subject = "governor";
		fx_blocks(&f, 12);
		for (i = 0; i < 12; i++) {
			fx_fact(&f, f.boots[i], FACT_ENVIRONMENT, FACT_BEFORE, "governor",
				!f.kernel_of[i] && kind == 3 ? "performance"
				: f.kernel_of[i]	     ? values[kind]
							     : "powersave");
			fx_fact(&f, f.boots[i], FACT_VOLATILE, FACT_BEFORE, "load",
				f.kernel_of[i] ? "1" : "2");
		}
		fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
		fx_make(&f, NULL, &c);
		p = &c.rows[0].pairs[0];
		assert_int_equal(c.n_differences, kind ? 1 : 0);
		assert_int_equal(fx_flagged(p, COMPARE_CONFOUNDED), kind == 1);
		assert_int_equal(c.summary.confounded, kind == 1);
		assert_int_equal(p->verdict, VERDICT_WORSE);
		fx_done(&f, &c);
	}

	fx_two(&f);
	fx_blocks(&f, 8);
	fx_fact(&f, f.boots[2], FACT_STATE, FACT_BEFORE, "swap", "0");
	fx_fact(&f, f.boots[2], FACT_STATE, FACT_AFTER, "swap", "4096");
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
	fx_make(&f, NULL, &c);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_FACTS));
	assert_int_equal(c.differences[0].class, COMPARE_DIFF_CHANGED);
	assert_int_equal(c.differences[0].kernel, 1);
	fx_done(&f, &c);
}

/* The same boots, where a fact differs between the two kernels. */
static void with_fact(const char *name, const char *a, const char *b, struct fx *f,
		      struct comparison *c)
{
	unsigned i;

	fx_two(f);
	fx_blocks(f, 8);
	for (i = 0; i < 8; i++)
		if (f->kernel_of[i] ? b : a)
			fx_fact(f, f->boots[i], FACT_ENVIRONMENT, FACT_BEFORE, name,
				f->kernel_of[i] ? b : a);
	fx_measure(f, "x", "boot", "", &fx_latency, true, 14.844, 16.29 / 14.844, .1);
	fx_make(f, NULL, c);
}

/*
 * What is done about a vulnerability is the environment; that an older kernel has no word for it,
 * or another spelling, follows from the kernel.
 */
static void test_vulnerabilities(void **state)
{
	static const struct {
		const char *base, *new;
		enum compare_diff_class class;
	} cases[] = {
		{ "Mitigation: Retpolines; STIBP: disabled", "Mitigation: IBRS; STIBP: disabled",
		  COMPARE_DIFF_ENVIRONMENT },
		{ "Not affected", "Mitigation: PTI", COMPARE_DIFF_ENVIRONMENT },
		{ "Mitigation: Retpolines", "Mitigation: Retpolines; RSB filling",
		  COMPARE_DIFF_ENVIRONMENT },
		{ NULL, "Vulnerable", COMPARE_DIFF_DERIVED },
		{ "Not affected", NULL, COMPARE_DIFF_DERIVED },
		{ "Mitigation: Retpolines, STIBP: disabled, RSB filling",
		  "Mitigation: Retpolines; STIBP: disabled; RSB filling; BHI: Not affected",
		  COMPARE_DIFF_DERIVED },
	};
	struct comparison c;
	struct fx f;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compare_pair *p;

		with_fact("vulnerability.spectre_v2", cases[i].base, cases[i].new, &f, &c);
		p = &c.rows[0].pairs[0];
		assert_int_equal(c.n_differences, 1);
		assert_int_equal(c.differences[0].class, cases[i].class);
		assert_int_equal(fx_flagged(p, COMPARE_CONFOUNDED),
				 cases[i].class == COMPARE_DIFF_ENVIRONMENT);
		/* 14.844 s and 16.29 s, less is better. */
		assert_true(fabs(p->ratio - 1.0974) < 1e-3);
		assert_int_equal(p->verdict, VERDICT_WORSE);
		fx_done(&f, &c);
	}
}

static void test_clocks(void **state)
{
	struct comparison c;
	struct fx f;

	(void)state;
	with_fact("clocksource", "tsc", "hpet", &f, &c);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_SLOW_CLOCK));
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_CONFOUNDED));
	assert_string_equal(c.differences[0].name, "clocksource");
	fx_done(&f, &c);
	with_fact("clocksource", "tsc", "kvm-clock", &f, &c);
	assert_false(fx_flagged(&c.rows[0].pairs[0], COMPARE_SLOW_CLOCK));
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_CONFOUNDED));
	fx_done(&f, &c);
	with_fact("clocksource", "acpi_pm", "acpi_pm", &f, &c);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_SLOW_CLOCK));
	assert_false(fx_flagged(&c.rows[0].pairs[0], COMPARE_CONFOUNDED));
	assert_int_equal(c.rows[0].pairs[0].verdict, VERDICT_WORSE);
	fx_done(&f, &c);
}

/* User and system times are only as comparable as the way in which they are counted. */
static void test_cputime(void **state)
{
	static const struct metric system = { .name = "system",
					      .unit = UNIT_NS,
					      .better = METRIC_LESS,
					      .kind = METRIC_MEASURE,
					      .from = METRIC_FROM_REPORTED };
	static const char tick[] = "CONFIG_TICK_CPU_ACCOUNTING=y\n";
	static const char irq[] = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
	unsigned kind, i;

	(void)state;
	/* Same, different, unknown. */
	for (kind = 0; kind < 3; kind++) {
		struct comparison c;
		struct fx f;

		fx_start(&f, NULL);
		fx_kernel(&f, "a", "6.1", "aa", "quiet", tick);
		fx_kernel(&f, "b", "6.2", "bb", "quiet", kind == 2 ? NULL : kind == 1 ? irq : tick);
		fx_blocks(&f, 8);
		fx_measure(&f, "x", "build", "", &fx_latency, true, 100, 1.1, .5);
		fx_measure(&f, "x", "build", "", &system, false, 50, 1.1, .5);
		fx_make(&f, NULL, &c);
		assert_int_equal(c.n_rows, 2);
		for (i = 0; i < 2; i++) {
			const struct compare_row *r = &c.rows[i];
			bool flagged = kind == 1 && !strcmp(r->metric.name, "system");

			assert_int_equal(fx_flagged(&r->pairs[0], COMPARE_CPUTIME), flagged);
			assert_int_equal(r->pairs[0].verdict,
					 flagged ? VERDICT_NONE : VERDICT_WORSE);
		}
		if (kind) {
			assert_int_equal(c.differences[0].class, COMPARE_DIFF_DERIVED);
			assert_string_equal(c.differences[0].name, "cputime");
			assert_string_equal(c.differences[0].base, "tick");
		}
		if (kind == 1)
			assert_string_equal(c.differences[0].new, "tick, irq-time");
		fx_done(&f, &c);
	}
}

static void test_config_and_words(void **state)
{
	struct fx f;
	struct comparison c;

	(void)state;
	fx_start(&f, NULL);
	fx_kernel(&f, "a", "6.1", "aa", "BOOT_IMAGE=/boot/a quiet \"x=1 2\" d d",
		  "CONFIG_HZ=250\nCONFIG_PROVE_LOCKING=y\n# CONFIG_Z is not set\nCONFIG_S=\"a b\"");
	fx_kernel(&f, "b", "6.1", "bb", "BOOT_IMAGE=/boot/b d quiet slub_debug=FZPU",
		  "# CONFIG_PROVE_LOCKING is not set\nCONFIG_S=\"a b\"\nCONFIG_HZ=1000\n"
		  "CONFIG_Z=m\n");
	fx_blocks(&f, 8);
	fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
	fx_make(&f, NULL, &c);
	assert_int_equal(c.n_differences, 6);
	assert_int_equal(c.differences[0].class, COMPARE_DIFF_DEBUG);
	assert_string_equal(c.differences[0].name, "CONFIG_PROVE_LOCKING");
	assert_null(c.differences[0].new);
	assert_string_equal(c.differences[1].name, "\"x=1 2\"");
	assert_string_equal(c.differences[2].name, "d");
	assert_null(c.differences[2].new);
	assert_string_equal(c.differences[3].name, "slub_debug=FZPU");
	assert_null(c.differences[3].base);
	assert_string_equal(c.differences[4].name, "CONFIG_Z");
	assert_string_equal(c.differences[5].base, "250");
	assert_string_equal(c.differences[5].new, "1000");
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_DEBUG));
	fx_done(&f, &c);
}

static void test_usage_flags(void **state)
{
	static const struct {
		const char *name;
		double value, ratio;
		enum compare_flag flag;
		bool set;
		enum verdict verdict;
	} cases[] = {
		{ "clocksource_changed", 1, 1.1, COMPARE_CLOCKSOURCE, true, VERDICT_NONE },
		{ "suspended_ns", 17.6e9, 1.1, COMPARE_SUSPENDED, true, VERDICT_NONE },
		{ "throttled_count", 3, 1.1, COMPARE_THROTTLED, true, VERDICT_WORSE },
		{ "clock_overhead_ns", 1200, 1.1, COMPARE_SLOW_CLOCK, true, VERDICT_WORSE },
		{ "clock_overhead_ns", 40, 1.1, COMPARE_SLOW_CLOCK, false, VERDICT_WORSE },
		/* 8 % of the time stolen could make 5 %, and cannot make 10 %. */
		{ "steal_ratio", .08, 1.05, COMPARE_STEAL, true, VERDICT_CANT_TELL },
		{ "steal_ratio", .08, 1.10, COMPARE_STEAL, true, VERDICT_WORSE },
		{ "steal_ratio", .08, 1.50, COMPARE_STEAL, true, VERDICT_WORSE },
		{ "steal_ratio", .005, 1.05, COMPARE_STEAL, false, VERDICT_WORSE },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fx f;
		struct comparison c;
		struct compare_pair *p;

		fx_two(&f);
		fx_blocks(&f, 8);
		fx_measure(&f, "x", "w", "", &fx_latency, true, 100, cases[i].ratio, .3);
		for (k = 0; k < f.d.n_invocations; k++)
			if (f.kernel_of[k])
				dataset_usage(&f.d, (unsigned)k, cases[i].name, cases[i].value);
		fx_make(&f, NULL, &c);
		p = &c.rows[0].pairs[0];
		assert_int_equal(fx_flagged(p, cases[i].flag), cases[i].set);
		assert_int_equal(p->verdict, cases[i].verdict);
		/* What is left of 10 % is an effect, and not more than the margin. */
		if (p->verdict == VERDICT_WORSE && cases[i].flag == COMPARE_STEAL)
			assert_int_equal(p->beyond_margin, cases[i].ratio != 1.1);
		fx_done(&f, &c);
	}
}

static void test_order(void **state)
{
	/* a then b; mixed; mixed, in two experiments */
	static const unsigned orders[3][6] = { { 0, 0, 0, 1, 1, 1 },
					       { 0, 1, 1, 0, 0, 1 },
					       { 0, 1, 1, 0, 0, 1 } };
	const struct ds_experiment second = { .id = "2" };
	unsigned kind, i, n;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		struct fx f;
		struct comparison c;

		fx_two(&f);
		n = kind == 2 ? dataset_experiment(&f.d, &second) : 0;
		for (i = 0; i < 6; i++) {
			fx_boot_state(&f, orders[kind][i], DS_OK, NULL);
			f.d.boots[i].experiment = i < 3 ? 0 : n;
		}
		fx_measure(&f, "x", "w", "", &fx_latency, true, 100, 1.1, .5);
		fx_make(&f, NULL, &c);
		assert_int_equal(fx_flagged(&c.rows[0].pairs[0], COMPARE_NOT_INTERLEAVED),
				 kind != 1);
		fx_done(&f, &c);
	}
}

/* One kernel against itself on a machine that slows down: told, and not taken for a kernel. */
static void test_drift(void **state)
{
	static const unsigned abba[] = { 0, 1, 1, 0, 0, 1, 1, 0 };
	struct fx f;
	struct comparison c;
	struct compare_pair *p;
	unsigned k, i;

	(void)state;
	for (k = 0; k < 2; k++) {
		fx_two(&f);
		for (i = 0; i < 8; i++)
			fx_boot_state(&f, k ? abba[i] : i / 4, DS_OK, NULL);
		for (i = 0; i < 8; i++)
			fx_value(&f, f.boots[i], "x", "w", "", &fx_latency, true,
				 100 * pow(1.002, i) * (1 + 1e-5 * fx_noise[i]));
		fx_make(&f, NULL, &c);
		p = &c.rows[0].pairs[0];
		assert_true(fx_flagged(p, COMPARE_DRIFT));
		assert_int_equal(fx_flagged(p, COMPARE_NOT_INTERLEAVED), !k);
		assert_true(fabs(p->drift - .002) < 1e-4 && p->drift_p < .001);
		assert_true(fabs(p->ratio - 1) < 1e-3);
		assert_int_equal(p->verdict, VERDICT_NO_CHANGE);
		fx_done(&f, &c);
	}
}

static void test_shape_flags(void **state)
{
	static const double modes[] = { 385, 780, 386, 779, 384, 781 };
	struct fx f;
	struct comparison c;
	unsigned i, seen[2] = { 0, 0 };

	(void)state;
	fx_two(&f);
	fx_blocks(&f, 12);
	for (i = 0; i < 12; i++) {
		unsigned k = f.kernel_of[i], n = seen[k]++;

		fx_value(&f, f.boots[i], "x", "modes", "", &fx_rate, false,
			 k ? modes[n] : 400 + fx_noise[n]);
		fx_value(&f, f.boots[i], "x", "far", "", &fx_rate, false,
			 k && n == 3 ? 80 : 100 + fx_noise[i] / 10);
	}
	fx_make(&f, NULL, &c);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_BIMODAL));
	assert_true(c.rows[0].values[1].bimodal && !c.rows[0].values[0].bimodal);
	assert_true(fx_flagged(&c.rows[0].pairs[0], COMPARE_SPREAD));
	assert_true(fx_flagged(&c.rows[1].pairs[0], COMPARE_OUTLIERS));
	assert_int_equal(c.rows[1].values[1].n_outliers, 1);
	/* The fourth boot of b is number 7 of all. */
	assert_int_equal(c.rows[1].values[1].outliers[0], 7);
	assert_int_equal(c.rows[1].values[0].n_outliers, 0);
	fx_done(&f, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_below),	    cmocka_unit_test(test_failures),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_config_and_words),
		cmocka_unit_test(test_usage_flags), cmocka_unit_test(test_order),
		cmocka_unit_test(test_drift),	    cmocka_unit_test(test_shape_flags),
		cmocka_unit_test(test_clocks),	    cmocka_unit_test(test_vulnerabilities),
		cmocka_unit_test(test_cputime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
