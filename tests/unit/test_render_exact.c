/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact results in print, against tests/golden/compare_exact*; UPDATE_GOLDEN=1 writes them anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exact_fixture.h"
#include "render_fixture.h"

#define K EXACT_PERTURB_MIN

static void kernels(struct fx *f, const char *const *labels, unsigned n)
{
	static const char *const releases[] = { "6.1.0-47-cloud-amd64", "6.1.0-55-cloud-amd64",
						"6.12.95-cloud-amd64" };
	static const char *const ids[] = { "aabbccddeeff00112233", "112233445566778899aa",
					   "ccbbccddeeff00112233" };
	unsigned i;

	xf_start(f, "kdelta vm --exact old=debian:6.1.0-47-cloud-amd64 "
		    "new=debian:6.1.0-55-cloud-amd64 --seed 42");
	for (i = 0; i < n; i++) {
		fx_kernel(f, labels[i], releases[i], ids[i], "quiet nokaslr", "CONFIG_HZ=250\n");
		fx_boot_state(f, i, DS_OK, NULL);
		fx_fact(f, f->boots[i], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.spectre_v2",
			"Mitigation: Retpolines, STIBP: disabled, RSB filling");
		fx_fact(f, f->boots[i], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.spectre_v1",
			"Mitigation: usercopy/swapgs barriers and __user pointer sanitization");
		fx_fact(f, f->boots[i], FACT_ENVIRONMENT, FACT_BEFORE, "vulnerability.meltdown",
			"Not affected");
	}
}

static const struct xf_code getppid[3][4] = {
	{ { "do_syscall_64", 30 },
	  { "exit_to_user_mode_prepare", 30 },
	  { "__task_pid_nr_ns", 40 },
	  { "entry_SYSCALL_64", 235 } },
	{ { "do_syscall_64", 31 },
	  { "exit_to_user_mode_prepare", 31 },
	  { "__task_pid_nr_ns", 40 },
	  { "entry_SYSCALL_64", 235 } },
	{ { "do_syscall_64", 28 },
	  { "exit_to_user_mode_prepare", 10 },
	  { "__task_pid_nr_ns", 40 },
	  { "entry_SYSCALL_64", 235 } },
};

/* fork: each op its own window, each perturbation off by some; one side without a symbol. */
static void add_fork(struct fx *f, unsigned side, unsigned perturb, uint64_t per_op)
{
	struct exact_windows *w = xf_windows(f, 12);
	struct xf_code code[2] = { { "copy_page_range", per_op / 2 },
				   { "a_function_with_a_long_name_that_is_not_cut.in_two",
				     per_op - per_op / 2 } };
	unsigned i;

	for (i = 0; i < 12; i++)
		xf_window(w, 1, per_op + 37 * perturb + i % 2, 2);
	xf_invocation(f, f->boots[side], "process", "fork", "", perturb, w,
		      xf_profile(f, w, code, 2));
}

/* exec: longer than a tick. */
static void add_exec(struct fx *f, unsigned side, unsigned perturb, uint64_t per_op)
{
	struct exact_windows *w = xf_windows(f, 8);
	unsigned i;

	for (i = 0; i < 8; i++)
		xf_tick(w, 1, per_op, 6000 + 10 * perturb + side);
	xf_invocation(f, f->boots[side], "process", "exec", "", perturb, w, NULL);
}

/* Every word, in several forms of a name. */
static void add_words(struct fx *f, unsigned n, unsigned perturbations)
{
	unsigned i, k;

	for (k = 0; k < n; k++)
		for (i = 0; i < perturbations; i++) {
			xf_steady(f, f->boots[k], "syscall", "getppid", "", i, 1000,
				  k == 2 ? 313 : 335 + 2 * k, getppid[k], 4);
			xf_steady(f, f->boots[k], "syscall", "read", "size=1", i, 500, 512, NULL,
				  0);
			xf_pipe(f, f->boots[k], i, 12988, 16 * i + 8 * k, 0, 0);
			add_fork(f, k, i, 264600 - 3000 * k);
			add_exec(f, k, i, 6530000 + k);
		}
}

static void test_exact(void **state)
{
	static const char *const labels[] = { "old", "new" };
	struct fx f;

	(void)state;
	kernels(&f, labels, 2);
	add_words(&f, 2, K);
	check(&f, NULL, "exact", "tmcj");
}

static void test_exact_three(void **state)
{
	static const char *const labels[] = { "6.1.0-47-cloud-amd64", "6.1.0-55-cloud-amd64",
					      "6.12.95-cloud" };
	struct fx f;

	(void)state;
	kernels(&f, labels, 3);
	f.d.boots[2].facts[0].value = "Mitigation: Enhanced / Automatic IBRS";
	add_words(&f, 3, K);
	check(&f, NULL, "exact_three", "tmj");
}

/* 6.1's pipe has two ways, 6.12's one. */
static void test_exact_regimes(void **state)
{
	static const char *const labels[] = { "6.1", "6.12" };
	struct fx f;
	unsigned i;

	(void)state;
	kernels(&f, labels, 2);
	for (i = 0; i < K; i++) {
		xf_pipe(&f, f.boots[0], i, 12961, 2 * i, 9, 10524);
		xf_pipe(&f, f.boots[1], i, 11540, i, 0, 0);
	}
	check(&f, NULL, "exact_regimes", "tmcj");
}

/* One perturbation: the difference stands, the word does not. */
static void test_exact_few(void **state)
{
	static const char *const labels[] = { "old", "new" };
	struct fx f;

	(void)state;
	kernels(&f, labels, 2);
	add_words(&f, 2, 1);
	check(&f, NULL, "exact_few", "tmj");
}

/* A/A: all is the same, but for one that did not repeat. */
static void test_exact_same(void **state)
{
	struct fx f;
	unsigned i, k;

	(void)state;
	xf_start(&f, "kdelta vm --exact a=debian:bookworm b=debian:bookworm");
	for (k = 0; k < 2; k++) {
		fx_kernel(&f, k ? "b" : "a", "6.1", "aabbccddeeff00112233", "quiet", NULL);
		fx_boot_state(&f, k, DS_OK, NULL);
		for (i = 0; i < K; i++) {
			xf_steady(&f, f.boots[k], "syscall", "getppid", "", i, 1000, 335, NULL, 0);
			xf_pipe(&f, f.boots[k], i, 12988, 16 * i, 0, 0);
			xf_pipe(&f, f.boots[k], i, 12988, 16 * i, 0, 0);
			xf_steady(&f, f.boots[k], "syscall", "read", "", i, 1000, 512, NULL, 0);
		}
	}
	xf_steady(&f, f.boots[1], "syscall", "read", "", 3, 1000, 513, NULL, 0);
	check(&f, NULL, "exact_same", "tmj");
}

/* All metrics; other flags; results of another class beside. */
static void test_exact_all(void **state)
{
	static const char *const labels[] = { "old", "new" };
	struct compare_options o = COMPARE_OPTIONS_INIT;
	struct fx f;
	unsigned i, k;

	(void)state;
	kernels(&f, labels, 2);
	for (i = 0; i < K; i++)
		for (k = 0; k < 2; k++) {
			struct exact_windows *w = xf_windows(&f, 4);

			f.context = "{\"qemu\":\"10.0.2\",\"cpu\":\"max\",\"cpus\":2}";
			xf_steady(&f, f.boots[k], "syscall", "getppid", "", i, 1000, 335 + k,
				  getppid[k], 4);
			f.context = XF_CONTEXT;
			xf_window(w, 16, 5360 + k, 32)->rep_iterations = 160 - 10 * k;
			xf_window(w, 16, 1000, 0)->overhead = true;
			if (k)
				xf_tick(w, 16, 5360, 4000);
			w->contexts = k;
			xf_invocation(&f, f.boots[k], "ipc", "ctx", "procs=2,size=0,place=same", i,
				      w, NULL);
		}
	f.class = "kvm";
	fx_boot_state(&f, 0, DS_OK, NULL);
	fx_boot_state(&f, 1, DS_OK, NULL);
	fx_measure(&f, "syscall", "getppid", "", &fx_latency, true, 81, 1.1, .2);
	o.all = true;
	check(&f, &o, "exact_all", "tmcj");
}

static void test_exact_results(void **state)
{
	static const char *const labels[] = { "old" };
	static const struct compare_options defaults = COMPARE_OPTIONS_INIT;
	struct fx f;
	struct comparison c;
	struct str out = STR_INIT;

	(void)state;
	kernels(&f, labels, 1);
	add_words(&f, 1, K);
	dataset_finish(&f.d);
	assert_int_equal(compare_make(&f.d, &defaults, &c, NULL), 0);
	render_results(&c, &render_options, NULL, &out);
	check_width(&out);
	golden("compare_exact_results.txt", &out);
	str_done(&out);
	compare_done(&c);
	dataset_done(&f.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	      cmocka_unit_test(test_exact_three),
		cmocka_unit_test(test_exact_regimes), cmocka_unit_test(test_exact_few),
		cmocka_unit_test(test_exact_same),    cmocka_unit_test(test_exact_all),
		cmocka_unit_test(test_exact_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
