/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of single kinds: scheduler, sysctls, network devices, and what kernels tell by turns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/ethtool.h>
#include <sched.h>
#include <sys/wait.h>

#include "facts/ethtool.h"
#include "facts_fixture.h"

#define DEBUGFS "/sys/kernel/debug/sched"

static void test_sysctls(void **state)
{
	struct tree *t = *state;
	struct gots g;

	text(t, "/proc/sys/vm/swappiness", "60\n");
	text(t, "/proc/sys/vm/overcommit_memory", "\n");
	folder(t, "/proc/sys/vm/dirty_ratio");
	text(t, "/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
	text(t, "/proc/sys/net/ipv4/tcp_mem", "22926\t30571 \t 45852\n");
	/* Guests of 512 MiB under 6.1 and 6.12. */
	text(t, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t3722784\n");
	text(t, "/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t3692384\n");
	g = collect(&t->src);
	expect(&g, "vm.swappiness", "60");
	expect_unknown(&g, "vm.overcommit_memory", "/proc/sys/vm/overcommit_memory: empty");
	expect_unknown(&g, "vm.dirty_ratio", "/proc/sys/vm/dirty_ratio: Is a directory");
	expect_unknown(&g, "net.core.somaxconn", "/proc/sys/net/core/somaxconn: No such file");
	expect(&g, "net.ipv4.tcp_congestion_control", "cubic");
	expect(&g, "net.ipv4.tcp_mem", "22926 30571 45852");
	expect(&g, "net.ipv4.tcp_rmem", "4096 131072 4194304");
	expect(&g, "net.ipv4.tcp_wmem", "4096 16384 4194304");
	assert_int_equal(find(&g, "vm.swappiness")->class, FACT_ENVIRONMENT);
	assert_int_equal(find(&g, "net.ipv4.tcp_mem")->class, FACT_VOLATILE);
	gots_done(&g);

	/* What is not cut to memory stays as it is; nonsense does, too. */
	text(t, "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456\n");
	text(t, "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 99999999999999999999\n");
	g = collect(&t->src);
	expect(&g, "net.ipv4.tcp_rmem", "4096 131072 6291456");
	expect(&g, "net.ipv4.tcp_wmem", "4096 16384 99999999999999999999");
	gots_done(&g);
	text(t, "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 33554432\n");
	text(t, "/proc/sys/net/ipv4/tcp_wmem", "1000001\n");
	g = collect(&t->src);
	expect(&g, "net.ipv4.tcp_rmem", "4096 131072 33554432");
	expect(&g, "net.ipv4.tcp_wmem", "1000001");
	gots_done(&g);
}

/* 4.19 has sysctls, 5.13 moved them into debugfs, 6.6 gave one another name. */
static void test_scheduler_by_kernel(void **state)
{
	struct tree *t = *state;
	struct gots g = collect(&t->src);

	expect_unknown(&g, "sched.slice_ns", DEBUGFS "/base_slice_ns: No such file");
	gots_done(&g);
	text(t, "/proc/sys/kernel/sched_min_granularity_ns", "2250000\n");
	text(t, "/proc/sys/kernel/sched_migration_cost_ns", "500000\n");
	text(t, CPU "/cpuidle/current_governor_ro", "menu\n");
	g = collect(&t->src);
	expect(&g, "sched.slice_ns", "2250000");
	expect(&g, "sched.migration_cost_ns", "500000");
	expect(&g, "cpuidle.governor", "menu");
	assert_int_equal(find(&g, "sched.slice_ns")->class, FACT_DERIVED);
	gots_done(&g);
	text(t, DEBUGFS "/min_granularity_ns", "3000000\n");
	text(t, CPU "/cpuidle/current_governor", "teo\n");
	g = collect(&t->src);
	expect(&g, "sched.slice_ns", "3000000");
	expect(&g, "cpuidle.governor", "teo");
	gots_done(&g);
	text(t, DEBUGFS "/base_slice_ns", "700000\n");
	g = collect(&t->src);
	expect(&g, "sched.slice_ns", "700000");
	gots_done(&g);
}

static void test_sched_smt(void **state)
{
	struct tree *t = *state;
	struct gots g;

	/* The only CPU that is allowed is far beyond 1024; its domains count. */
	text(t, "/proc/self/status", "Cpus_allowed_list:\t4095\n");
	text(t, CPU "/present", "0-2047,4095\n");
	text(t, DEBUGFS "/domains/cpu0/domain0/name", "SMT\n");
	g = collect(&t->src);
	expect_unknown(&g, "sched_smt", "no scheduling domain of its CPU is told");
	expect(&g, "cpus.allowed_count", "1");
	expect(&g, "cpus.present", "0-2047,4095");
	gots_done(&g);
	text(t, "/proc/sys/kernel/sched_domain/cpu4095/domain0/name", "SMT\n");
	text(t, "/proc/sys/kernel/sched_domain/cpu4095/domain1/name", "MC\n");
	g = collect(&t->src);
	expect(&g, "sched_smt", "on");
	gots_done(&g);

	/* Threads are online and none of the domains is theirs; or there are no threads. */
	text(t, DEBUGFS "/domains/cpu4095/domain0/name", "MC\n");
	text(t, CPU "/smt/active", "1\n");
	g = collect(&t->src);
	expect(&g, "sched_smt", "off");
	gots_done(&g);
	text(t, CPU "/smt/active", "0\n");
	g = collect(&t->src);
	expect_unknown(&g, "sched_smt", "no two threads of one core");
	gots_done(&g);
}

static void test_sched_ext(void **state)
{
	struct tree *t = *state;
	struct gots g = collect(&t->src);

	expect_unknown(&g, "sched_ext", "No such file");
	gots_done(&g);
	folder(t, "/sys/kernel");
	g = collect(&t->src);
	expect(&g, "sched_ext", "none");
	gots_done(&g);
	text(t, "/sys/kernel/sched_ext/state", "disabled\n");
	g = collect(&t->src);
	expect(&g, "sched_ext", "none");
	gots_done(&g);
	text(t, "/sys/kernel/sched_ext/state", "enabled\n");
	text(t, "/sys/kernel/sched_ext/root/ops", "rusty_1.0.20\n");
	g = collect(&t->src);
	expect(&g, "sched_ext", "rusty_1.0.20");
	assert_int_equal(find(&g, "sched_ext")->class, FACT_ENVIRONMENT);
	gots_done(&g);
}

static void test_oom_kills(void **state)
{
	struct tree *t = *state;
	struct gots g;

	text(t, "/proc/vmstat", "nr_free_pages 1\noom_kill 3\n");
	g = collect(&t->src);
	expect(&g, "oom_kills", "3");
	assert_int_equal(find(&g, "oom_kills")->class, FACT_STATE);
	gots_done(&g);
	text(t, "/proc/vmstat", "nr_free_pages 1\n");
	g = collect(&t->src);
	expect_unknown(&g, "oom_kills", "/proc/vmstat: no 'oom_kill'");
	gots_done(&g);
}

/* A quota, a set of one CPU, and how many are counted are three things. */
static void test_one_cpu_of_many(void **state)
{
	struct tree *t = *state;
	struct gots g;

	text(t, "/proc/self/status", "Cpus_allowed_list:\t24\n");
	text(t, CPU "/online", "0-47\n");
	text(t, "/proc/self/cgroup", "0::/pod\n");
	text(t, "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	text(t, "/cg/pod/cpuset.cpus.effective", "24\n");
	text(t, "/cg/pod/cpu.max", "25000 100000\n");
	g = collect(&t->src);
	expect(&g, "cpus.online", "0-47");
	expect(&g, "cpus.allowed", "24");
	expect(&g, "cpus.allowed_count", "1");
	expect(&g, "cgroup.cpuset", "24");
	expect(&g, "cgroup.cpu_quota", "0.25 CPUs");
	gots_done(&g);
}

static void test_perf_event_paranoid(void **state)
{
	static const char *const levels[] = { "-1", "2", "3", "4" };
	struct tree *t = *state;
	struct gots g = collect(&t->src);
	size_t i;

	expect_unknown(&g, "perf_event_paranoid", "No such file");
	gots_done(&g);
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		text(t, "/proc/sys/kernel/perf_event_paranoid", levels[i]);
		g = collect(&t->src);
		expect(&g, "perf_event_paranoid", levels[i]);
		gots_done(&g);
	}
}

/* tsc before, hpet after: the fact of state is what shows it. */
static void test_clocksource_changes(void **state)
{
	struct tree *t = *state;
	struct gots g = { NULL, 0, 0 };
	size_t i, seen = 0;

	text(t, CLOCKSOURCE, "tsc\n");
	facts_collect(&t->src, FACT_BEFORE, keep, &g);
	text(t, CLOCKSOURCE, "hpet\n");
	facts_collect(&t->src, FACT_AFTER, keep, &g);
	for (i = 0; i < g.n; i++) {
		if (strcmp(g.f[i].name, "clocksource.now") != 0)
			continue;
		assert_int_equal(g.f[i].class, FACT_STATE);
		assert_string_equal(g.f[i].value, g.f[i].when == FACT_BEFORE ? "tsc" : "hpet");
		seen++;
	}
	assert_int_equal(seen, 2);
	gots_done(&g);

	assert_true(fact_clock_is_slow("hpet") && fact_clock_is_slow("acpi_pm") &&
		    fact_clock_is_slow("jiffies") && fact_clock_is_slow("refined-jiffies"));
	assert_false(fact_clock_is_slow("tsc") || fact_clock_is_slow("kvm-clock") ||
		     fact_clock_is_slow("arch_sys_counter") || fact_clock_is_slow(NULL));
}

static const struct ethtool_feature *feature(const char *name)
{
	const struct ethtool_feature *f;

	for (f = ethtool_features; strcmp(f->name, name) != 0; f++)
		;
	return f;
}

/* In a network namespace of its own, whose loopback is ours to change. */
static int in_net_namespace(void)
{
	const struct facts_source real = { "" };
	static const char *const off[] = { "gso", "gro" };
	struct gots g = collect(&real);
	const char *lo = find(&g, "offload.lo")->value;
	uint32_t zero;
	size_t i, n = 0;

	for (i = 0; i < g.n; i++)
		n += str_starts(g.f[i].name, "offload.");
	if (n != 1) /* the devices of the other namespace are not here */
		return 1;
	if (!lo || !strstr(lo, "tso") || !strstr(lo, "gso") || !strstr(lo, "gro"))
		return 2;
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		zero = 0;
		if (ethtool_command("lo", feature(off[i])->set, &zero, NULL) < 0)
			return 3;
	}
	gots_done(&g);
	g = collect(&real);
	lo = find(&g, "offload.lo")->value;
	if (!lo || strstr(lo, "gso") || strstr(lo, "gro") || !strstr(lo, "tso"))
		return 4;
	gots_done(&g);
	return 0;
}

static void test_offloads(void **state)
{
	struct tree *t = *state;
	struct gots g = collect(&t->src);
	uint32_t data = 0;
	int status;
	pid_t pid;

	expect_unknown(&g, "offload.lo", "no files tell it");
	gots_done(&g);
	assert_true(ethtool_command("no such device at all", ETHTOOL_GTSO, &data, NULL) < 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 && unshare(CLONE_NEWNET) < 0)
			_exit(77);
		_exit(in_net_namespace());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no namespaces of one's own here\n");
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define IN_TREE(f) cmocka_unit_test_setup_teardown(f, make, unmake)
	const struct CMUnitTest tests[] = {
		IN_TREE(test_sysctls),
		IN_TREE(test_scheduler_by_kernel),
		IN_TREE(test_sched_smt),
		IN_TREE(test_sched_ext),
		IN_TREE(test_oom_kills),
		IN_TREE(test_one_cpu_of_many),
		IN_TREE(test_perf_event_paranoid),
		IN_TREE(test_clocksource_changes),
		IN_TREE(test_offloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
