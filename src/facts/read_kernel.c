/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts that are, or follow from, the kernel; and its moment. */
#include "facts/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"

#define NOTES_MAX   (1u << 20)
#define VMSTAT_MAX  (1u << 16)
#define DOMAINS_MAX 16 /* levels of scheduling domains; real machines have up to five */

/* uname(2), which needs no file; in a tree of a test, the files that say the same. */
static char *uname_field(const struct facts_source *src, const char *which, struct error *e)
{
	struct utsname u;

	if (*src->root)
		return source_line(src, e, "/proc/sys/kernel/%s",
				   strcmp(which, "release") ? which : "osrelease");
	if (uname(&u) < 0) {
		error_errno(e, errno, "uname");
		return NULL;
	}
	return mem_strdup(!strcmp(which, "release")   ? u.release
			  : !strcmp(which, "version") ? u.version
						      : u.machine);
}

void fact_read_uname(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = uname_field(c->src, row->from, &e);

	if (!s || !*s)
		error_set(&e, ENODATA, "%s: empty", row->from);
	fact_put(c, row, s && *s ? s : NULL, e.text);
}

void fact_read_cmdline(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = source_line(c->src, &e, "%s", row->from);

	fact_put(c, row, s, e.text); /* an empty command line is one */
}

/* "Linux version RELEASE (user@host) (compiler, linker) #VERSION": what stands in the second. */
void fact_read_toolchain(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = source_line(c->src, &e, "%s", row->from);
	char *from = s ? strstr(s, ") (") : NULL, *to = from ? strstr(from, ") #") : NULL;

	if (to)
		*to = '\0';
	else if (s)
		error_set(&e, ENODATA, "%s: no compiler in it", row->from);
	fact_put(c, row, to ? from + strlen(") (") : NULL, e.text);
}

void fact_read_build_id(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *notes = NULL;
	char id[ID_BUILD_SIZE];
	size_t len;

	if (source_bytes(c->src, row->from, NOTES_MAX, &notes, &len, &e) < 0)
		fact_put_unknown(c, row, &e);
	else if (id_build_from_notes(notes, len, id) < 0)
		fact_put(c, row, NULL, "/sys/kernel/notes: no build-id in it");
	else
		fact_put(c, row, id, NULL);
}

static bool has_word(const char *s, const char *word)
{
	size_t len = strlen(word);
	const char *p;

	for (p = s; (p = strstr(p, word)); p += len)
		if ((p == s || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/*
 * `uname -v` says how the kernel was built; with PREEMPT_DYNAMIC the model in force is told by
 * debugfs alone, where it is mounted: "none voluntary (full) lazy".
 */
void fact_read_preemption(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *version = uname_field(c->src, "version", &e);
	CLEANUP_FREE char *models = source_line(c->src, NULL, "%s", row->from);
	CLEANUP_FREE char *both = NULL;
	char *open = models ? strchr(models, '(') : NULL;
	const char *built;

	if (!version) {
		fact_put_unknown(c, row, &e);
		return;
	}
	if (has_word(version, "PREEMPT_RT") || has_word(version, "PREEMPT RT"))
		built = "rt";
	else if (has_word(version, "PREEMPT_DYNAMIC"))
		built = "dynamic";
	else if (has_word(version, "PREEMPT_LAZY"))
		built = "lazy";
	else if (has_word(version, "PREEMPT"))
		built = "full";
	else
		built = "none or voluntary";
	if (open && strchr(open, ')')) {
		*strchr(open, ')') = '\0';
		both = mem_printf("%s, now %s", built, open + 1);
	}
	fact_put(c, row, both ? both : built, NULL);
}

/* The resolution of the coarse clock is the tick: clock_getres(2). */
void fact_read_hz(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = NULL;
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) < 0 || t.tv_sec || t.tv_nsec <= 0) {
		fact_put(c, row, NULL, "clock_getres: no tick known");
		return;
	}
	s = mem_printf("%ld", ((long)NSEC_PER_SEC + t.tv_nsec / 2) / t.tv_nsec);
	fact_put(c, row, s, NULL);
}

void fact_read_highres(struct collect *c, const struct fact_row *row)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC, &t) < 0)
		fact_put(c, row, NULL, "clock_getres failed");
	else
		fact_put(c, row, !t.tv_sec && t.tv_nsec == 1 ? "on" : "off", NULL);
}

/* What the scheduler's domains of a CPU are: debugfs since 5.13, a sysctl before. 0: none told. */
static int find_smt_domain(const struct facts_source *src, const char *base, bool *ret_smt)
{
	int i;

	*ret_smt = false;
	for (i = 0; i < DOMAINS_MAX; i++) {
		CLEANUP_FREE char *name = source_line(src, NULL, "%s/domain%d/name", base, i);

		if (!name)
			break;
		*ret_smt |= !strcmp(name, "SMT");
	}
	return i;
}

/*
 * With threads of one core online, a kernel that has CONFIG_SCHED_SMT has a domain for them.
 * Without such threads only its configuration could tell.
 */
void fact_read_sched_smt(struct collect *c, const struct fact_row *row)
{
	struct cpulist cpus = CPULIST_INIT;
	struct error e = ERROR_INIT;
	uint64_t active = 0;
	bool smt = false;
	int n = 0;

	if (source_cpus_allowed(c->src, &cpus, &e) == 0 && cpus.n) {
		CLEANUP_FREE char *now = mem_printf("%s/cpu%u", row->from, cpus.cpu[0]);
		CLEANUP_FREE char *before =
			mem_printf("/proc/sys/kernel/sched_domain/cpu%u", cpus.cpu[0]);

		n = find_smt_domain(c->src, now, &smt);
		if (!n)
			n = find_smt_domain(c->src, before, &smt);
	}
	cpulist_done(&cpus);
	if (smt)
		fact_put(c, row, "on", NULL);
	else if (!n)
		fact_put(c, row, NULL, "no scheduling domain of its CPU is told");
	else if (source_u64(c->src, &active, &e, "/sys/devices/system/cpu/smt/active") < 0)
		fact_put_unknown(c, row, &e);
	else
		fact_put(c, row, active ? "off" : NULL, "no two threads of one core are online");
}

/* A scheduler that was loaded as BPF, by the name that it gives itself. */
void fact_read_sched_ext(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *state = source_line(c->src, &e, "%s/state", row->from);
	CLEANUP_FREE char *ops = source_line(c->src, NULL, "%s/root/ops", row->from);

	/* A kernel that cannot have one has none; without a /sys that cannot be said. */
	if (!state && source_exists(c->src, row->from) == 0 &&
	    source_exists(c->src, "/sys/kernel") == 1)
		fact_put(c, row, "none", NULL);
	else if (!state || !*state)
		fact_put(c, row, NULL, state ? "empty" : e.text);
	else if (!strcmp(state, "disabled"))
		fact_put(c, row, "none", NULL);
	else
		fact_put(c, row, ops && *ops ? ops : state, NULL);
}

void fact_read_vmstat(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *v = NULL;

	if (source_text(c->src, "/proc/vmstat", VMSTAT_MAX, &text, &e) == 0)
		v = source_field(text, row->from, ' ');
	if (text && (!v || !*v))
		error_set(&e, ENODATA, "/proc/vmstat: no '%s'", row->from);
	fact_put(c, row, v && *v ? v : NULL, e.text);
}

void fact_read_lockdep(struct collect *c, const struct fact_row *row)
{
	int r = source_exists(c->src, row->from);

	/* Without a /proc its absence proves nothing. */
	if (r == 0 && source_exists(c->src, "/proc/stat") != 1)
		fact_put(c, row, NULL, "/proc is not mounted");
	else if (r < 0)
		fact_put(c, row, NULL, "/proc/lockdep cannot be looked up");
	else
		fact_put(c, row, r ? "on" : "off", NULL);
}

/* One cache stands for all: slub_debug= without names sets them all. */
void fact_read_slub(struct collect *c, const struct fact_row *row)
{
	static const char *const flags[] = { "sanity_checks", "red_zone", "poison", "store_user",
					     "trace" };
	struct error e = ERROR_INIT;
	struct str on = STR_INIT;
	bool any = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		uint64_t v;

		if (source_u64(c->src, &v, &e, "%s/%s", row->from, flags[i]) < 0)
			continue;
		any = true;
		if (v)
			str_printf(&on, "%s%s", on.len ? "," : "", flags[i]);
	}
	if (!any)
		fact_put_unknown(c, row, &e);
	else
		fact_put(c, row, on.len ? str_get(&on) : "none", NULL);
	str_done(&on);
}

void fact_read_load(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = source_line(c->src, &e, "%s", row->from);
	char *p = s;
	int i;

	for (i = 0; p && i < 3; i++) {
		p = strchr(p, ' ');
		if (p && i < 2)
			p++;
	}
	if (p)
		*p = '\0';
	else
		error_set(&e, EINVAL, "%s: not three averages", row->from);
	fact_put(c, row, p ? s : NULL, e.text);
}

/* CLOCK_BOOTTIME is the time since boot, suspend included, and needs no /proc. */
void fact_read_uptime(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = mem_printf("%llu s", clock_boot_ns() / NSEC_PER_SEC);

	fact_put(c, row, s, NULL);
}
