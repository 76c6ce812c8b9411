/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that follow from a kernel's configuration. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "compare_fixture.h"
#include "model/derive.h"

/* A boot with these facts; NULL: not taken. The value of `name` afterwards. */
static void derived(const char *config, const char *cmdline, const char *nohz_full,
		    const char *preemption, const char *name, const char *want)
{
	const struct ds_fact *f;
	struct fx x;
	unsigned b;

	fx_start(&x, NULL);
	fx_kernel(&x, "a", "6.1", "aa", cmdline, config);
	b = fx_boot_state(&x, 0, DS_OK, NULL);
	if (nohz_full)
		fx_fact(&x, b, FACT_ENVIRONMENT, FACT_BEFORE, "cpus.nohz_full", nohz_full);
	if (preemption) {
		fx_fact(&x, b, FACT_DERIVED, FACT_BEFORE, "preemption", preemption);
		fx_fact(&x, b, FACT_DERIVED, FACT_AFTER, "preemption", preemption);
	}
	dataset_finish(&x.d);
	f = dataset_fact_of(&x.d.boots[b], FACT_BEFORE, name);
	if (!str_eq(f ? f->value : NULL, want))
		fail_msg("%s is '%s', not '%s', with %s", name, f && f->value ? f->value : "-",
			 want ? want : "-", config ? config : "no configuration");
	if (f && want)
		assert_int_equal(f->class, FACT_DERIVED);
	f = dataset_fact_of(&x.d.boots[b], FACT_AFTER, "preemption");
	if (f && !strcmp(name, "preemption"))
		assert_string_equal(f->value, want);
	dataset_done(&x.d);
}

static void test_cputime(void **state)
{
	static const char gen[] = "CONFIG_VIRT_CPU_ACCOUNTING=y\nCONFIG_VIRT_CPU_ACCOUNTING_GEN=y\n"
				  "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
	static const char tick[] = "CONFIG_HAVE_VIRT_CPU_ACCOUNTING_GEN=y\n"
				   "CONFIG_TICK_CPU_ACCOUNTING=y\n";

	(void)state;
	derived(tick, NULL, NULL, NULL, DERIVE_CPUTIME, "tick");
	derived("CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y", NULL, NULL, NULL,
		DERIVE_CPUTIME, "tick, irq-time");
	/* Built for it, and no CPU is tracked. */
	derived(gen, NULL, "none", NULL, DERIVE_CPUTIME, "tick");
	derived(gen, NULL, "2-3", NULL, DERIVE_CPUTIME, "virt-gen");
	derived("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\nCONFIG_CONTEXT_TRACKING_FORCE=y\n"
		"CONFIG_IRQ_TIME_ACCOUNTING=y\n",
		NULL, "none", NULL, DERIVE_CPUTIME, "virt-gen, irq-time");
	derived("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", NULL, NULL, NULL, DERIVE_CPUTIME,
		"virt-native");
	/* No configuration: only tracked CPUs say something. */
	derived(NULL, NULL, "none", NULL, DERIVE_CPUTIME, NULL);
	derived(NULL, NULL, NULL, NULL, DERIVE_CPUTIME, NULL);
	derived(NULL, NULL, "1", NULL, DERIVE_CPUTIME, "virt-gen");
	derived("CONFIG_HZ=250\n", NULL, "none", NULL, DERIVE_CPUTIME, NULL);
}

static void test_sched_smt(void **state)
{
	(void)state;
	derived("CONFIG_SMP=y\nCONFIG_SCHED_SMT=y\n", NULL, NULL, NULL, "sched_smt", "on");
	derived("CONFIG_SMP=y\nCONFIG_ARCH_SUPPORTS_SCHED_SMT=y\n", NULL, NULL, NULL, "sched_smt",
		"off");
	derived("CONFIG_HZ=250\n", NULL, NULL, NULL, "sched_smt", NULL);
	derived(NULL, NULL, NULL, NULL, "sched_smt", NULL);
}

static void test_preemption(void **state)
{
	static const char voluntary[] = "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n"
					"CONFIG_PREEMPT_DYNAMIC=y\n";
	static const char full[] = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT=y";

	(void)state;
	derived(voluntary, "quiet", NULL, "dynamic", "preemption", "dynamic, now voluntary");
	derived(full, NULL, NULL, "dynamic", "preemption", "dynamic, now full");
	derived(voluntary, "preempt=none x preempt=full", NULL, "dynamic", "preemption",
		"dynamic, now full");
	derived(voluntary, "x.preempt=none preempt=fulll", NULL, "dynamic", "preemption",
		"dynamic, now voluntary");
	derived(NULL, "preempt=lazy", NULL, "dynamic", "preemption", "dynamic, now lazy");
	derived(NULL, "quiet", NULL, "dynamic", "preemption", "dynamic");
	/* What was seen stands. */
	derived(voluntary, NULL, NULL, "dynamic, now lazy", "preemption", "dynamic, now lazy");
	derived(full, NULL, NULL, "rt", "preemption", "rt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cputime),
		cmocka_unit_test(test_sched_smt),
		cmocka_unit_test(test_preemption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
