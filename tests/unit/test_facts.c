/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room of facts, against trees made for each test, and once in a mount namespace in which
 * /proc and /sys are really empty.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "facts/cgroup.h"
#include "facts/limits.h"
#include "facts/probe.h"
#include "facts_fixture.h"

/* True of every list of facts. */
static void sane(const struct gots *g)
{
	size_t i;

	assert_true(g->n > 40);
	for (i = 0; i < g->n; i++) {
		assert_true(g->f[i].class >= FACT_IDENTITY && g->f[i].class <= FACT_VOLATILE);
		assert_int_equal(g->f[i].when, FACT_BEFORE);
		assert_true(!g->f[i].value != !g->f[i].why);
		assert_true(g->f[i].value ? *g->f[i].value || str_eq(g->f[i].name, "cmdline")
					  : *g->f[i].why);
		find(g, g->f[i].name);
	}
}

/* ---- tests ---- */

static void normal_tree(struct tree *t)
{
	static const unsigned char notes[] = { 4, 0, 0,	  0,   4,   0, 0,    0,	   3,	 0,
					       0, 0, 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef };

	text(t, "/proc/sys/kernel/osrelease", "6.1.0-44-cloud-amd64\n");
	text(t, "/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.164-1\n");
	text(t, "/proc/cmdline", "console=ttyS0 slub_debug=FZPU\n");
	bytes(t, "/sys/kernel/notes", notes, sizeof(notes));
	text(t, "/sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
	text(t, "/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\nctxt 9\n");
	text(t, "/proc/cpuinfo",
	     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
	     "model name\t: Intel(R) Xeon(R) Gold 6230\nstepping\t: 7\nmicrocode\t: 0x5003604\n"
	     "flags\t\t: fpu sse2 hypervisor\n\nprocessor\t: 1\nmodel name\t: Other\n");
	text(t, "/proc/meminfo",
	     "MemTotal:       24684092 kB\nMemFree: 1 kB\nMemAvailable:   24358532 kB\n"
	     "SwapTotal:       2097148 kB\nSwapFree:        2096124 kB\n");
	text(t, "/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7,9,11\n");
	text(t, "/proc/loadavg", "0.10 0.20 0.30 1/234 999\n");
	text(t, CPU "/online", "0-7,9,11\n");
	text(t, CPU "/isolated", "\n");
	text(t, CPU "/nohz_full", "(null)\n");
	text(t, CPU "/smt/control", "notsupported\n");
	text(t, CPU "/smt/active", "0\n");
	text(t, CPU "/intel_pstate/no_turbo", "1\n");
	text(t, CPU "/vulnerabilities/meltdown", "Mitigation: PTI\n");
	text(t, CPU "/vulnerabilities/spectre_v2", "Vulnerable\n");
	text(t, CPU "/cpufreq/policy0/scaling_governor", "performance\n");
	text(t, CPU "/cpufreq/policy0/affected_cpus", "0 4\n");
	text(t, CPU "/cpufreq/policy10/scaling_governor", "powersave\n");
	text(t, CPU "/cpufreq/policy2/scaling_governor", "performance\n");
	text(t, CPU "/cpufreq/policy2/affected_cpus", "2 1\n");
	text(t, CPU "/cpufreq/policy0/scaling_driver", "acpi-cpufreq\n");
	text(t, CPU "/cpufreq/policy2/scaling_driver", "acpi-cpufreq\n");
	text(t, CPU "/cpu0/thermal_throttle/core_throttle_count", "3\n");
	text(t, CPU "/cpu11/thermal_throttle/core_throttle_count", "4\n");
	text(t, CLOCKSOURCE, "tsc\n");
	text(t, "/sys/devices/system/node/online", "0-1\n");
	text(t, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	text(t, "/proc/sys/kernel/randomize_va_space", "2\n");
	text(t, "/proc/sys/kernel/perf_event_paranoid", "3\n");
	text(t, "/proc/sys/kernel/tainted", "512\n");
	text(t, "/sys/class/dmi/id/sys_vendor", "QEMU\n");
	text(t, "/sys/class/dmi/id/product_name", "Standard PC\n");
	text(t, "/sys/kernel/slab/kmalloc-64/sanity_checks", "1\n");
	text(t, "/sys/kernel/slab/kmalloc-64/red_zone", "1\n");
	text(t, "/sys/kernel/slab/kmalloc-64/trace", "0\n");
}

static void test_normal(void **state)
{
	struct tree *t = *state;
	struct gots g;

	normal_tree(t);
	g = collect(&t->src);
	sane(&g);
	expect(&g, "release", "6.1.0-44-cloud-amd64");
	expect(&g, "version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.164-1");
	expect(&g, "build_id", "deadbeef");
	expect(&g, "cmdline", "console=ttyS0 slub_debug=FZPU");
	expect(&g, "preemption", "dynamic, now voluntary");
	expect(&g, "debug.lockdep", "off");
	expect(&g, "debug.slub", "sanity_checks,red_zone");
	expect(&g, "cpu.model", "Intel(R) Xeon(R) Gold 6230");
	expect(&g, "cpu.id", "GenuineIntel/6/85/7");
	expect(&g, "cpu.microcode", "0x5003604");
	expect(&g, "vulnerability.meltdown", "Mitigation: PTI");
	expect(&g, "vulnerability.spectre_v2", "Vulnerable");
	expect(&g, "cpufreq.governor", "performance (0-2,4), powersave (10)");
	expect(&g, "cpufreq.driver", "acpi-cpufreq");
	expect_unknown(&g, "cpufreq.preference", "No such file");
	expect(&g, "turbo", "off");
	expect(&g, "smt.control", "notsupported");
	expect(&g, "smt.active", "off");
	expect(&g, "clocksource", "tsc");
	expect(&g, "clocksource.now", "tsc");
	expect(&g, "cpus.online", "0-7,9,11");
	expect(&g, "cpus.isolated", "none");
	expect(&g, "cpus.nohz_full", "none");
	expect(&g, "cpus.allowed", "0-7,9,11");
	expect(&g, "cpus.allowed_count", "10");
	expect(&g, "numa.nodes", "0-1");
	expect(&g, "memory.total", "24GiB");
	expect(&g, "swap", "2048MiB");
	expect(&g, "swap.used", "1MiB");
	expect(&g, "thp.enabled", "madvise");
	expect(&g, "aslr", "2");
	expect(&g, "perf_event_paranoid", "3");
	expect(&g, "tainted", "512");
	expect(&g, "system", "QEMU Standard PC");
	expect(&g, "hypervisor", "QEMU Standard PC");
	expect(&g, "cpu.thermal_throttles", "7");
	expect(&g, "load", "0.10 0.20 0.30");
	expect_unknown(&g, "cgroup.cpu_quota", "/proc/self/cgroup: No such file");
	assert_int_equal(find(&g, "release")->class, FACT_IDENTITY);
	assert_int_equal(find(&g, "hz")->class, FACT_DERIVED);
	assert_int_equal(find(&g, "vulnerability.meltdown")->class, FACT_ENVIRONMENT);
	assert_int_equal(find(&g, "clocksource.now")->class, FACT_STATE);
	assert_int_equal(find(&g, "load")->class, FACT_VOLATILE);
	assert_true(atoi(find(&g, "hz")->value) >= 24); /* by a system call, so a real one */
	gots_done(&g);
}

static void test_preemption(void **state)
{
	static const char *const cases[][2] = {
		{ "#1 SMP Debian 4.19.316-1", "none or voluntary" },
		{ "#1 SMP PREEMPT Mon Jan 1", "full" },
		{ "#1 SMP PREEMPT_RT Debian", "rt" },
		{ "#1 SMP PREEMPT RT Debian 4.19", "rt" },
		{ "#1 SMP PREEMPT_DYNAMIC x", "dynamic" },
	};
	struct tree *t = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gots g;

		text(t, "/proc/sys/kernel/version", cases[i][0]);
		g = collect(&t->src);
		expect(&g, "preemption", cases[i][1]);
		gots_done(&g);
	}
}

static void test_toolchain(void **state)
{
	static const char *const cases[][2] = {
		{ "Linux version 6.1.0-57-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian "
		  "12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP (x) #2\n",
		  "gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40" },
		{ "Linux version 4.19.0 (me@here) (gcc version 8.3.0 (Debian 8.3.0-6)) #1 SMP\n",
		  "gcc version 8.3.0 (Debian 8.3.0-6)" },
		{ "Linux version 6.1.0 (me@here) #1 SMP\n", NULL },
		{ "#1) (\n", NULL },
	};
	struct tree *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gots g;

		text(t, "/proc/version", cases[i][0]);
		g = collect(&t->src);
		if (cases[i][1])
			expect(&g, "toolchain", cases[i][1]);
		else
			expect_unknown(&g, "toolchain", "/proc/version: no compiler in it");
		gots_done(&g);
	}
}

/* Nothing there: nothing claimed, least of all one CPU. */
static void test_empty(void **state)
{
	static const char *const computed[] = { "hz", "highres_timers", "uptime" };
	struct tree *t = *state;
	struct probe_sample s;
	struct limits l;
	struct gots g = collect(&t->src);
	size_t i, known = 0;

	sane(&g);
	for (i = 0; i < ARRAY_SIZE(computed); i++)
		assert_non_null(find(&g, computed[i])->value);
	for (i = 0; i < g.n; i++)
		known += g.f[i].value != NULL;
	assert_int_equal(known, ARRAY_SIZE(computed));
	expect_unknown(&g, "cpus.allowed", "/proc/self/status: No such file");
	expect_unknown(&g, "cpus.online", CPU "/online: No such file");
	expect_unknown(&g, "debug.lockdep", "/proc is not mounted");
	gots_done(&g);

	probe_read(&t->src, &s);
	assert_false(s.have_cpu || s.have_ctxt || s.have_throttled || s.have_pressure ||
		     s.have_running || *s.clocksource);
	limits_read(&t->src, NULL, &l);
	assert_true(l.have_descriptors && l.descriptors > 0);
	assert_false(l.have_memory || l.have_disk);
	if (!geteuid())
		assert_false(l.have_tasks);
}

static void test_many_cpus(void **state)
{
	struct tree *t = *state;
	struct str cpuinfo = STR_INIT, stat = STR_INIT;
	struct probe_sample s;
	struct gots g;
	int i;

	text(t, "/proc/self/status", "Cpus_allowed_list:\t0-2047,4095\n");
	text(t, CPU "/online", "0-2047,4095\n");
	str_add(&stat, "cpu  100 0 0 0 0 0 0 4\n");
	for (i = 0; i < 4096; i++) {
		str_printf(&cpuinfo, "processor\t: %d\nmodel name\t: Big\nflags\t\t: %s\n\n", i,
			   "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat");
		str_printf(&stat, "cpu%d 1 2 3 4 5 6 7 8 9 10\n", i);
	}
	str_add(&stat, "ctxt 77\nprocs_running 3\n");
	text(t, "/proc/cpuinfo", str_get(&cpuinfo));
	text(t, "/proc/stat", str_get(&stat));
	g = collect(&t->src);
	sane(&g);
	expect(&g, "cpus.allowed", "0-2047,4095");
	expect(&g, "cpus.allowed_count", "2049");
	expect(&g, "cpu.model", "Big");
	expect(&g, "hypervisor", "none");
	gots_done(&g);
	probe_read(&t->src, &s);
	assert_true(s.have_cpu && s.have_ctxt && s.have_running);
	assert_int_equal(s.ctxt, 77);
	assert_int_equal(s.running, 3);
	str_done(&cpuinfo);
	str_done(&stat);
}

/* lxcfs has been seen to say "0" where 24 CPUs are allowed: both are told, none is mixed up. */
static void test_online_disagrees(void **state)
{
	struct tree *t = *state;
	struct gots g;

	text(t, "/proc/self/status", "Cpus_allowed_list:\t0-23\n");
	text(t, CPU "/online", "0\n");
	g = collect(&t->src);
	expect(&g, "cpus.online", "0");
	expect(&g, "cpus.allowed_count", "24");
	gots_done(&g);
}

static void v1(struct tree *t, const char *quota, const char *period)
{
	const char *dir = "/sys/fs/cgroup/cpu,cpuacct/a b/job";
	CLEANUP_FREE char *q = mem_printf("%s/cpu.cfs_quota_us", dir);
	CLEANUP_FREE char *p = mem_printf("%s/cpu.cfs_period_us", dir);

	text(t, "/proc/self/cgroup",
	     "11:cpuset:/\n4:cpu,cpuacct:/a b/job\n3:memory:/m\n2:pids:/p\n1:name=systemd:/x\n0::/x\n");
	text(t, "/proc/self/mountinfo",
	     "31 23 0:28 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755\n"
	     "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	     "33 31 0:30 / /sys/fs/cgroup/cpuset rw shared:1 - cgroup cgroup rw,cpuset\n"
	     "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	     "35 31 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	     "36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	text(t, q, quota);
	text(t, p, period);
	text(t, "/sys/fs/cgroup/cpu,cpuacct/a b/job/cpu.stat",
	     "nr_periods 10\nnr_throttled 4\nthrottled_time 5\n");
	text(t, "/sys/fs/cgroup/cpu,cpuacct/a b/cpu.stat", "nr_periods 9\nnr_throttled 2\n");
	text(t, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	text(t, "/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "24\n");
	text(t, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	text(t, "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1073741824\n");
	text(t, "/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "536870912\n");
	text(t, "/sys/fs/cgroup/memory/m/memory.stat",
	     "inactive_file 1\ntotal_inactive_file 4096\n");
	text(t, "/sys/fs/cgroup/pids/p/pids.max", "100\n");
	text(t, "/sys/fs/cgroup/pids/p/pids.current", "30\n");
}

static void test_cgroup_v1(void **state)
{
	static const char *const cases[][3] = {
		{ "150000\n", "100000\n", "1.5 CPUs" }, { "25000\n", "100000\n", "0.25 CPUs" },
		{ "100000\n", "100000\n", "1 CPU" },	{ "-1\n", "100000\n", "none" },
		{ "1000000\n", "50000\n", "20 CPUs" },	{ "1000\n", "1000000\n", "0.001 CPUs" },
	};
	struct tree *t = *state;
	struct limits l;
	struct gots g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		v1(t, cases[i][0], cases[i][1]);
		g = collect(&t->src);
		expect(&g, "cgroup.cpu_quota", cases[i][2]);
		gots_done(&g);
	}
	/* The group above is tighter. */
	text(t, "/sys/fs/cgroup/cpu,cpuacct/a b/cpu.cfs_quota_us", "50000\n");
	text(t, "/sys/fs/cgroup/cpu,cpuacct/a b/cpu.cfs_period_us", "100000\n");
	v1(t, "600000\n", "100000\n");
	g = collect(&t->src);
	sane(&g);
	expect(&g, "cgroup.cpu_quota", "0.5 CPUs");
	expect(&g, "cgroup.cpuset", "24");
	expect(&g, "cgroup.memory_limit", "1GiB");
	expect(&g, "cgroup.nr_throttled", "6");
	gots_done(&g);

	text(t, "/proc/sys/kernel/threads-max", "1000\n");
	text(t, "/proc/sys/kernel/pid_max", "32768\n");
	text(t, "/proc/loadavg", "0.00 0.00 0.00 1/200 77\n");
	text(t, "/proc/meminfo", "MemAvailable: 8388608 kB\n");
	limits_read(&t->src, t->root, &l);
	assert_true(l.have_tasks && l.have_memory && l.have_disk);
	assert_true(l.tasks <= 70);
	if (!geteuid()) {
		assert_int_equal(l.tasks, 70);
		assert_string_equal(l.tasks_by, "pids.max of the control group");
	}
	text(t, "/proc/sys/kernel/threads-max", "250\n");
	limits_read(&t->src, t->root, &l);
	assert_true(l.tasks <= 50);
	if (!geteuid())
		assert_string_equal(l.tasks_by, "kernel.threads-max");
	assert_int_equal(l.memory_bytes, 536870912 + 4096);
	assert_string_equal(l.memory_by, "memory limit of the control group");
}

static void v2(struct tree *t, const char *path, const char *max)
{
	CLEANUP_FREE char *table = mem_printf("0::%s\n", path);
	CLEANUP_FREE char *file = mem_printf("/sys/fs/cgroup%s/cpu.max", path);

	text(t, "/proc/self/cgroup", table);
	text(t, "/proc/self/mountinfo",
	     "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
	text(t, file, max);
}

static void test_cgroup_v2(void **state)
{
	struct tree *t = *state;
	struct limits l;
	struct gots g;

	v2(t, "/user.slice/run.scope", "max 100000\n");
	text(t, "/sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0,2-3\n");
	g = collect(&t->src);
	expect(&g, "cgroup.cpu_quota", "none");
	expect(&g, "cgroup.cpuset", "0,2-3");
	expect(&g, "cgroup.memory_limit", "none");
	expect_unknown(&g, "cgroup.nr_throttled", "count no throttling");
	gots_done(&g);

	text(t, "/sys/fs/cgroup/user.slice/cpu.max", "600000 100000\n");
	text(t, "/sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 1\nnr_throttled 0\n");
	text(t, "/sys/fs/cgroup/user.slice/memory.max", "max\n");
	text(t, "/sys/fs/cgroup/user.slice/pids.max", "5\n");
	text(t, "/sys/fs/cgroup/user.slice/pids.current", "9\n");
	g = collect(&t->src);
	expect(&g, "cgroup.cpu_quota", "6 CPUs");
	expect(&g, "cgroup.nr_throttled", "0");
	gots_done(&g);
	limits_read(&t->src, NULL, &l);
	assert_true(l.have_tasks);
	assert_int_equal(l.tasks, 0); /* full: a true 0 */
	assert_false(l.have_memory);

	/* A quota that cannot be understood is not "none"; nor is a group that is not there. */
	v2(t, "/user.slice/run.scope", "lots\n");
	g = collect(&t->src);
	expect_unknown(&g, "cgroup.cpu_quota", "is not a quota");
	gots_done(&g);
	v2(t, "/user.slice/run.scope", "600000 0\n");
	g = collect(&t->src);
	expect_unknown(&g, "cgroup.cpu_quota", "is not a quota");
	gots_done(&g);
	folder(t, "/sys/fs/cgroup/odd/cpu.max");
	text(t, "/proc/self/cgroup", "0::/odd\n");
	g = collect(&t->src);
	expect_unknown(&g, "cgroup.cpu_quota", "/sys/fs/cgroup/odd/cpu.max: Is a directory");
	gots_done(&g);
	text(t, "/proc/self/cgroup", "0::/gone\n");
	g = collect(&t->src);
	expect_unknown(&g, "cgroup.cpu_quota", "/sys/fs/cgroup/gone: no such control group");
	gots_done(&g);
}

/* The root of the hierarchy has no cpu.max; a container sees a part of it as the whole. */
static void test_cgroup_views(void **state)
{
	struct tree *t = *state;
	struct gots g;

	text(t, "/proc/self/cgroup", "0::/\n");
	text(t, "/proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	folder(t, "/cg");
	g = collect(&t->src);
	expect(&g, "cgroup.cpu_quota", "none");
	gots_done(&g);

	text(t, "/proc/self/cgroup", "0::/docker/77/sub\n");
	text(t, "/proc/self/mountinfo",
	     "29 23 0:26 /other /elsewhere rw - cgroup2 cgroup2 rw\n"
	     "30 23 0:26 /docker/77 /cg\\040x rw - cgroup2 cgroup2 rw\n");
	text(t, "/cg x/sub/cpu.max", "50000 100000\n");
	g = collect(&t->src);
	expect(&g, "cgroup.cpu_quota", "0.5 CPUs");
	gots_done(&g);

	text(t, "/proc/self/cgroup", "0::/../outside\n");
	text(t, "/cg x/cpu.max", "150000 100000\n");
	text(t, "/proc/self/mountinfo", "30 23 0:26 / /cg\\040x rw - cgroup2 cgroup2 rw\n");
	g = collect(&t->src);
	expect(&g, "cgroup.cpu_quota", "1.5 CPUs");
	gots_done(&g);

	text(t, "/proc/self/mountinfo", "garbage\n\n - \n1 2 3 - cgroup2\n");
	g = collect(&t->src);
	expect_unknown(&g, "cgroup.cpu_quota", "not mounted");
	gots_done(&g);
}

static void test_hostile_files(void **state)
{
	struct tree *t = *state;
	CLEANUP_FREE char *unreadable = mem_printf("%s" CLOCKSOURCE, t->root);
	CLEANUP_FREE char *fifo = mem_printf("%s/proc/sys/kernel/tainted", t->root);
	CLEANUP_FREE char *loop = mem_printf("%s/sys/kernel/warn_count", t->root);
	char noise[70000];
	uint64_t x = 88172645463325252ull;
	struct probe_sample s;
	struct limits l;
	struct gots g;
	size_t i;

	for (i = 0; i < sizeof(noise); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		noise[i] = (char)x;
	}
	normal_tree(t);
	folder(t, "/proc/sys/kernel/ngroups");
	bytes(t, "/proc/sys/kernel/osrelease", noise, 50);
	bytes(t, "/proc/cmdline", noise, sizeof(noise));
	bytes(t, "/sys/kernel/notes", noise, sizeof(noise));
	bytes(t, "/proc/cpuinfo", noise, sizeof(noise));
	bytes(t, "/proc/stat", noise, sizeof(noise));
	bytes(t, "/proc/self/cgroup", noise, 1000);
	text(t, "/proc/meminfo",
	     "MemTotal: 99999999999999999999999 kB\nSwapTotal:\nSwapFree: -1 kB\n");
	text(t, "/proc/loadavg", "x");
	text(t, CPU "/online", "0-\n");
	text(t, CPU "/isolated", "0-99999999999\n");
	text(t, CPU "/intel_pstate/no_turbo", "-1\n");
	folder(t, "/proc/sys/kernel/nmi_watchdog");
	memset(noise, 'a', sizeof(noise));
	bytes(t, CPU "/smt/control", noise, sizeof(noise));
	unlink(fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("warn_count", loop), 0);
	chmod(unreadable, 0);

	g = collect(&t->src);
	sane(&g);
	expect_unknown(&g, "release", "not text");
	expect_unknown(&g, "cmdline", "/proc/cmdline: longer than 16384 bytes");
	expect_unknown(&g, "build_id", "no build-id");
	expect_unknown(&g, "cpu.model", "/proc/cpuinfo: not text");
	expect_unknown(&g, "hypervisor", "/proc/cpuinfo: not text");
	expect_unknown(&g, "memory.total", "/proc/meminfo");
	expect_unknown(&g, "swap", "/proc/meminfo");
	expect_unknown(&g, "swap.used", "/proc/meminfo");
	expect_unknown(&g, "load", "/proc/loadavg");
	expect_unknown(&g, "cpus.online", "is not a list of CPUs");
	expect_unknown(&g, "cpus.isolated", "is not a list of CPUs");
	expect_unknown(&g, "turbo", "neither");
	expect_unknown(&g, "nmi_watchdog", "Is a directory");
	expect_unknown(&g, "smt.control", "longer than 16384 bytes");
	expect_unknown(&g, "tainted", "not a regular file");
	expect_unknown(&g, "kernel.warnings", "symbolic links");
	if (geteuid())
		expect_unknown(&g, "clocksource", "Permission denied");
	gots_done(&g);
	probe_read(&t->src, &s);
	assert_false(s.have_cpu || s.have_ctxt || s.have_throttled);
	limits_read(&t->src, "/no/such/folder", &l);
	assert_false(l.have_memory || l.have_disk);
}

static void test_probe(void **state)
{
	struct tree *t = *state;
	struct probe_sample a, b;
	struct probe_delta d;

	v2(t, "/job", "50000 100000\n");
	text(t, "/sys/fs/cgroup/job/cpu.stat", "nr_throttled 5\n");
	text(t, CLOCKSOURCE, "tsc\n");
	text(t, "/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
	text(t, "/proc/stat", "cpu  1000 0 500 90000 10 0 0 100 7 0\ncpu0 1 1 1\nctxt 5000\n");
	probe_read(&t->src, &a);
	assert_true(a.have_cpu && a.have_ctxt && a.have_throttled && a.have_pressure);
	assert_false(a.have_running);
	probe_read(&t->src, &b);
	probe_diff(&a, &b, &d);
	assert_true(d.have_cpu && d.have_clocksource && d.have_throttled);
	assert_true(d.steal_ratio == 0 && !d.suspended_ns && !d.clocksource_changed);

	/* The first seconds of a boot: the same counter, no change. */
	text(t, CLOCKSOURCE, "tsc-early\n");
	probe_read(&t->src, &b);
	probe_diff(&a, &b, &d);
	assert_true(d.have_clocksource && !d.clocksource_changed);

	/* 92 busy ticks and 8 stolen ones, while the other CPUs idle. */
	text(t, "/proc/stat", "cpu  1060 2 520 99999 90 4 6 108 7 0\nctxt 5600\n");
	text(t, "/proc/pressure/cpu",
	     "some avg10=9.00 avg60=0.00 avg300=0.00 total=4000\nfull x\n");
	text(t, "/sys/fs/cgroup/job/cpu.stat", "nr_throttled 8\n");
	text(t, CLOCKSOURCE, "hpet\n");
	probe_read(&t->src, &b);
	probe_diff(&a, &b, &d);
	assert_true(d.steal_ratio > 0.0799 && d.steal_ratio < 0.0801);
	assert_int_equal(d.steal_ns * (uint64_t)sysconf(_SC_CLK_TCK), 8 * 1000000000ull);
	assert_int_equal(d.ctxt, 600);
	assert_int_equal(d.nr_throttled, 3);
	assert_int_equal(d.pressure_ns, 3000000);
	assert_true(d.have_clocksource && d.clocksource_changed);

	/* Backwards (a group left, a CPU taken away): unknown, not a huge number. */
	probe_diff(&b, &a, &d);
	assert_false(d.have_cpu || d.have_ctxt || d.have_throttled || d.have_pressure);
	assert_true(d.steal_ratio == 0);

	b = a;
	b.suspended_ns = a.suspended_ns + 17600000000;
	probe_diff(&a, &b, &d);
	assert_int_equal(d.suspended_ns, 17600000000);
	b.suspended_ns = a.suspended_ns + 50000000;
	b.clocksource[0] = '\0';
	probe_diff(&a, &b, &d);
	assert_int_equal(d.suspended_ns, 0);
	assert_false(d.have_clocksource || d.clocksource_changed);
}

/* ---- kernel log ---- */

struct lines {
	char text[400][80];
	bool report[400];
	unsigned n;
};

static void keep_line(void *arg, const struct kmsg_line *line)
{
	struct lines *l = arg;

	assert_true(l->n < 400);
	snprintf(l->text[l->n], sizeof(l->text[0]), "%u %s", line->level, line->text);
	l->report[l->n++] = line->report;
}

static void say(int fd, const char *record)
{
	assert_int_equal(send(fd, record, strlen(record), 0), strlen(record));
}

static void test_kmsg(void **state)
{
	struct lines *l = mem_alloc(sizeof(*l));
	struct kmsg_news news;
	struct kmsg *k;
	unsigned i;
	int fd[2], room = 200000;

	(void)state;
	/* One record a read(), and EAGAIN behind the last one, as the kernel has it. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	k = kmsg_open_fd_take(fd[0]);
	assert_null(kmsg_why(k));
	kmsg_new_warnings(k, keep_line, l, &news);
	assert_int_equal(news.lines, 0);

	say(fd[1], "6,10,1000,-;eth0: link up\n SUBSYSTEM=net\n DEVICE=n2\n");
	say(fd[1], "4,11,1001,-;TSC is odd\n");
	say(fd[1], "12,12,1002,-;a program's own warning\n"); /* facility 1 */
	say(fd[1], "4,13,1003,-,caller=T12;WARNING: CPU: 0 PID: 7 at mm/slub.c:1\n");
	say(fd[1], "6,14,1004,c;INFO: task dd:9 blocked for more than 120 seconds.\n");
	say(fd[1], "1,15,1005,-;BUG: kernel NULL pointer dereference; address 0\n");
	say(fd[1], "not a record");
	say(fd[1], "x,y;z");
	say(fd[1], "6,16,1006,-; Call Trace:\n");
	say(fd[1], "6,17,1007,-;clocksource: Switched to clocksource tsc\n");
	kmsg_new_warnings(k, keep_line, l, &news);
	assert_int_equal(news.lines, 5);
	assert_int_equal(news.reports, 4);
	assert_false(news.lost);
	assert_int_equal(l->n, 5);
	assert_string_equal(l->text[0], "4 TSC is odd");
	assert_false(l->report[0]);
	assert_string_equal(l->text[1], "4 WARNING: CPU: 0 PID: 7 at mm/slub.c:1");
	assert_true(l->report[1] && l->report[2]);
	assert_string_equal(l->text[3], "1 BUG: kernel NULL pointer dereference; address 0");

	/* Seen is seen; a gap in the numbers means that records were overwritten. */
	kmsg_new_warnings(k, keep_line, l, &news);
	assert_int_equal(news.lines, 0);
	say(fd[1], "3,20,1,-;late\n");
	kmsg_new_warnings(k, NULL, NULL, &news);
	assert_int_equal(news.lines, 1);
	assert_true(news.lost);

	/* A flood is counted, and handed out in part. */
	l->n = 0;
	assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	for (i = 0; i < KMSG_LINES_MAX + 20; i++) {
		char record[64];

		snprintf(record, sizeof(record), "4,%u,1,-;flood\n", 21 + i);
		say(fd[1], record);
	}
	kmsg_new_warnings(k, keep_line, l, &news);
	assert_int_equal(news.lines, KMSG_LINES_MAX + 20);
	assert_int_equal(l->n, KMSG_LINES_MAX);
	assert_false(news.lost);
	kmsg_free(k);
	kmsg_free(NULL);
	close(fd[1]);
	free(l);
}

static void test_kmsg_unavailable(void **state)
{
	struct tree *t = *state;
	struct kmsg_news news;
	struct kmsg *k = kmsg_open(&t->src);

	assert_string_equal(kmsg_why(k), "/dev/kmsg: No such file or directory");
	kmsg_new_warnings(k, NULL, NULL, &news);
	assert_false(news.lines || news.reports || news.lost);
	kmsg_free(k);
	text(t, "/dev/kmsg", "4,1,1,-;not the log\n");
	k = kmsg_open(&t->src);
	assert_string_equal(kmsg_why(k), "/dev/kmsg: not the kernel's log");
	kmsg_free(k);
}

/* The real log: what a program writes is of another facility, and must not count. */
static void test_kmsg_real(void **state)
{
	const struct facts_source real = { "" };
	struct kmsg_news news;
	struct kmsg *k = kmsg_open(&real);
	CLEANUP_CLOSE int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	(void)state;
	if (kmsg_why(k) || fd < 0) {
		print_message("no kernel log here: %s\n", kmsg_why(k) ? kmsg_why(k) : "");
		kmsg_free(k);
		skip();
	}
	assert_int_equal(file_write_fd(fd, "<4>facts test: WARNING: not one", 31, NULL), 0);
	kmsg_new_warnings(k, NULL, NULL, &news);
	assert_int_equal(news.reports, 0);
	assert_null(kmsg_why(k));
	kmsg_free(k);
}

/* ---- the real machine ---- */

static void test_real(void **state)
{
	const struct facts_source real = { "" };
	struct probe_sample a, b;
	struct probe_delta d;
	struct utsname u;
	struct limits l;
	struct gots g = collect(&real);

	(void)state;
	sane(&g);
	assert_int_equal(uname(&u), 0);
	expect(&g, "release", u.release);
	expect(&g, "version", u.version);
	expect(&g, "machine", u.machine);
	assert_non_null(find(&g, "cpus.allowed")->value);
	gots_done(&g);
	probe_read(&real, &a);
	probe_read(&real, &b);
	probe_diff(&a, &b, &d);
	assert_int_equal(d.suspended_ns, 0);
	assert_false(d.clocksource_changed);
	limits_read(&real, "/", &l);
	assert_true(l.have_descriptors && l.have_tasks && l.have_memory);
}

/* Returns 0, or the number of the check that did not hold. */
static int in_empty_world(void)
{
	const struct facts_source real = { "" };
	struct cpulist before = CPULIST_INIT, after = CPULIST_INIT;
	struct probe_sample s;
	struct kmsg_news news;
	struct limits l;
	struct gots g;
	struct kmsg *k;
	struct utsname u;
	size_t i;

	if (cpulist_allowed(&before, NULL) < 0 || uname(&u) < 0)
		return 1;
	if (mount("none", "/proc", "tmpfs", 0, NULL) < 0 || mount("none", "/sys", "tmpfs", 0, NULL))
		return 2;
	if (!access("/proc/self", F_OK) || !access("/sys/kernel", F_OK))
		return 3;
	g = collect(&real);
	if (g.n < 40)
		return 4;
	for (i = 0; i < g.n; i++)
		if (!g.f[i].value == !g.f[i].why)
			return 5;
	if (!str_eq(find(&g, "release")->value, u.release))
		return 6;
	if (cpulist_parse(find(&g, "cpus.allowed")->value, &after, NULL) < 0 || after.n != before.n)
		return 7;
	if (find(&g, "cpus.online")->value || find(&g, "cgroup.cpu_quota")->value ||
	    find(&g, "memory.total")->value || find(&g, "clocksource")->value)
		return 8;
	probe_read(&real, &s);
	if (s.have_cpu || s.have_ctxt || s.have_throttled || *s.clocksource)
		return 9;
	limits_read(&real, "/", &l);
	if (!l.have_descriptors || l.have_memory)
		return 10;
	k = kmsg_open(&real);
	kmsg_new_warnings(k, NULL, NULL, &news);
	kmsg_free(k);
	gots_done(&g);
	cpulist_done(&before);
	cpulist_done(&after);
	return 0;
}

static void test_no_proc_no_sys(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		/* A real root needs no user namespace, where that is forbidden. */
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 && unshare(CLONE_NEWNS) < 0)
			_exit(77);
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		_exit(in_empty_world());
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
		IN_TREE(test_normal),
		IN_TREE(test_preemption),
		IN_TREE(test_toolchain),
		IN_TREE(test_empty),
		IN_TREE(test_many_cpus),
		IN_TREE(test_online_disagrees),
		IN_TREE(test_cgroup_v1),
		IN_TREE(test_cgroup_v2),
		IN_TREE(test_cgroup_views),
		IN_TREE(test_hostile_files),
		IN_TREE(test_probe),
		cmocka_unit_test(test_kmsg),
		IN_TREE(test_kmsg_unavailable),
		cmocka_unit_test(test_kmsg_real),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_no_proc_no_sys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
