/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about the machine and what this process may use of it. */
#include "facts/reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "facts/cgroup.h"

#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

/* The first of several keys ("a|b") that has a value. */
static char *cpu_field(const struct collect *c, const char *keys)
{
	CLEANUP_FREE char *copy = mem_strdup(keys);
	char *rest = copy, *key;

	while (c->cpuinfo && (key = strsep(&rest, "|"))) {
		char *v = source_field(c->cpuinfo, key, ':');

		if (v && *v)
			return v;
		free(v);
	}
	return NULL;
}

void fact_read_cpuinfo(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *v = cpu_field(c, row->from);
	CLEANUP_FREE char *why = NULL;

	if (!v && c->cpuinfo)
		why = mem_printf("/proc/cpuinfo: no '%.*s'", (int)strcspn(row->from, "|"),
				 row->from);
	fact_put(c, row, v, why ? why : c->no_cpuinfo.text);
}

void fact_read_cpu_id(struct collect *c, const struct fact_row *row)
{
	static const char *const keys[] = {
		"vendor_id|CPU implementer",
		"cpu family|CPU architecture",
		"model|CPU part",
		"stepping|CPU variant",
		"CPU revision",
	};
	struct str id = STR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		CLEANUP_FREE char *v = cpu_field(c, keys[i]);

		if (v)
			str_printf(&id, "%s%s", id.len ? "/" : "", v);
	}
	if (id.len)
		fact_put(c, row, str_get(&id), NULL);
	else
		fact_put(c, row, NULL,
			 c->cpuinfo ? "/proc/cpuinfo: no vendor, family, model"
				    : c->no_cpuinfo.text);
	str_done(&id);
}

/* One fact for each file of a folder. */
void fact_read_folder(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	char **names;
	size_t n, i;

	if (source_names(c->src, row->from, &names, &n, &e) < 0) {
		fact_put_unknown(c, row, &e);
		return;
	}
	if (!n)
		fact_put(c, row, NULL, "no file in the folder");
	for (i = 0; i < n; i++) {
		CLEANUP_FREE char *name = mem_printf("%s.%s", row->name, names[i]);
		CLEANUP_FREE char *v = NULL;

		error_clear(&e);
		v = source_line(c->src, &e, "%s/%s", row->from, names[i]);
		fact_put_as(c, row, name, v && *v ? v : NULL, v ? "empty" : e.text);
	}
	source_names_free(names, n);
}

struct policy {
	char *value;
	struct str cpus; /* of all policies that have it: "0,1,2" */
};

/* "schedutil", or where CPUs differ "performance (0-3), powersave (4-7)". */
void fact_read_policies(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	struct policy *p = NULL;
	struct str text = STR_INIT;
	char **names = NULL;
	size_t n = 0, np = 0, cap = 0, i, k;

	source_names(c->src, CPUFREQ, &names, &n, &e);
	for (i = 0; i < n; i++) {
		CLEANUP_FREE char *value = NULL;
		CLEANUP_FREE char *cpus = NULL;

		if (!str_starts(names[i], "policy") || !isdigit((unsigned char)names[i][6]))
			continue;
		value = source_line(c->src, &e, CPUFREQ "/%s/%s", names[i], row->from);
		if (!value || !*value)
			continue;
		cpus = source_line(c->src, NULL, CPUFREQ "/%s/affected_cpus", names[i]);
		for (k = 0; k < np && strcmp(p[k].value, value) != 0; k++)
			;
		if (k == np) {
			p = mem_grow(p, np, &cap, sizeof(*p));
			p[np++] = (struct policy){ mem_strdup(value), STR_INIT };
		}
		/* The kernel writes these with blanks between them. */
		while (cpus && strchr(cpus, ' '))
			*strchr(cpus, ' ') = ',';
		str_printf(&p[k].cpus, "%s%s", p[k].cpus.len ? "," : "",
			   cpus && *cpus ? cpus : names[i] + 6);
	}
	source_names_free(names, n);
	for (k = 0; k < np; k++) {
		struct cpulist list = CPULIST_INIT;
		CLEANUP_FREE char *cpus = NULL;

		str_printf(&text, "%s%s", k ? ", " : "", p[k].value);
		if (np > 1 && cpulist_parse(str_get(&p[k].cpus), &list, NULL) == 0) {
			cpus = cpulist_format(&list);
			str_printf(&text, " (%s)", cpus);
		}
		cpulist_done(&list);
		free(p[k].value);
		str_done(&p[k].cpus);
	}
	free(p);
	if (text.len)
		fact_put(c, row, str_get(&text), NULL);
	else
		fact_put(c, row, NULL, e.code ? e.text : CPUFREQ ": no policies");
	str_done(&text);
}

void fact_read_clocksource(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = source_clocksource(c->src, &e);

	fact_put(c, row, s, e.text);
}

void fact_read_turbo(struct collect *c, const struct fact_row *row)
{
	uint64_t v;

	if (source_u64(c->src, &v, NULL, "%s/intel_pstate/no_turbo", row->from) == 0)
		fact_put(c, row, v ? "off" : "on", NULL);
	else if (source_u64(c->src, &v, NULL, "%s/cpufreq/boost", row->from) == 0)
		fact_put(c, row, v ? "on" : "off", NULL);
	else
		fact_put(c, row, NULL, "neither intel_pstate/no_turbo nor cpufreq/boost");
}

static char *dmi(const struct facts_source *src)
{
	CLEANUP_FREE char *vendor = source_line(src, NULL, "/sys/class/dmi/id/sys_vendor");
	CLEANUP_FREE char *product = source_line(src, NULL, "/sys/class/dmi/id/product_name");

	if ((!vendor || !*vendor) && (!product || !*product))
		return NULL;
	return mem_printf("%s%s%s", vendor ? vendor : "",
			  vendor && *vendor && product && *product ? " " : "",
			  product ? product : "");
}

void fact_read_dmi(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *s = dmi(c->src);
	CLEANUP_FREE char *board = NULL;

	if (!s) /* a machine with a device tree */
		board = source_line(c->src, NULL, "/sys/firmware/devicetree/base/model");
	fact_put(c, row, s ? s : board && *board ? board : NULL, "neither DMI nor a device tree");
}

/* What the hypervisor calls itself: leaf 0x40000000 of CPUID. */
static char *cpuid_name(const struct facts_source *src)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned eax = 0, sig[3] = { 0, 0, 0 }, ecx = 0, edx = 0;
	char name[13] = "";
	size_t i;

	if (*src->root || !__get_cpuid(1, &eax, &sig[0], &ecx, &edx) || !(ecx & (1u << 31)))
		return NULL;
	__cpuid(0x40000000, eax, sig[0], sig[1], sig[2]);
	memcpy(name, sig, 12);
	for (i = 0; name[i]; i++)
		if (!isprint((unsigned char)name[i]))
			name[i] = '\0';
	return *name ? mem_strdup(name) : NULL;
#else
	(void)src;
	return NULL;
#endif
}

void fact_read_hypervisor(struct collect *c, const struct fact_row *row)
{
	CLEANUP_FREE char *type = source_line(c->src, NULL, "%s", row->from);
	CLEANUP_FREE char *cpuid = cpuid_name(c->src);
	CLEANUP_FREE char *flags = cpu_field(c, "flags");
	CLEANUP_FREE char *system = dmi(c->src);
	CLEANUP_FREE char *padded = flags ? mem_printf(" %s ", flags) : NULL;

	if (type && *type)
		fact_put(c, row, type, NULL);
	else if (cpuid)
		fact_put(c, row, cpuid, NULL);
	else if (!padded)
		fact_put(c, row, NULL, c->cpuinfo ? "/proc/cpuinfo: no flags" : c->no_cpuinfo.text);
	else if (!strstr(padded, " hypervisor "))
		fact_put(c, row, "none", NULL);
	else
		fact_put(c, row, system ? system : "yes", NULL);
}

void fact_read_cpus_allowed(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	struct cpulist list = CPULIST_INIT;
	CLEANUP_FREE char *s = NULL;

	if (source_cpus_allowed(c->src, &list, &e) == 0 && list.n)
		s = cpulist_format(&list);
	fact_put(c, row, s, e.code ? e.text : "no CPU in the list");
	cpulist_done(&list);
}

void fact_read_cpus_count(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	struct cpulist list = CPULIST_INIT;
	CLEANUP_FREE char *s = NULL;

	if (source_cpus_allowed(c->src, &list, &e) == 0 && list.n)
		s = mem_printf("%zu", list.n);
	fact_put(c, row, s, e.code ? e.text : "no CPU in the list");
	cpulist_done(&list);
}

/* Intel counts how often a core was slowed for its heat. */
void fact_read_thermal(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	char **names = NULL;
	size_t n = 0, i, read = 0;
	uint64_t sum = 0, v;
	CLEANUP_FREE char *s = NULL;

	source_names(c->src, row->from, &names, &n, &e);
	for (i = 0; i < n; i++) {
		if (!str_starts(names[i], "cpu") || !isdigit((unsigned char)names[i][3]))
			continue;
		if (source_u64(c->src, &v, &e, "%s/%s/thermal_throttle/core_throttle_count",
			       row->from, names[i]) < 0)
			continue;
		sum += v;
		read++;
	}
	source_names_free(names, n);
	if (read)
		s = mem_printf("%" PRIu64, sum);
	fact_put(c, row, s, e.code ? e.text : "no CPU counts it");
}

static bool meminfo(const struct collect *c, const char *key, uint64_t *ret_bytes)
{
	uint64_t kib;

	if (!c->meminfo || !source_field_u64(c->meminfo, key, ':', &kib) || kib > UINT64_MAX / 1024)
		return false;
	*ret_bytes = kib * 1024;
	return true;
}

static const char *no_meminfo(const struct collect *c)
{
	return c->meminfo ? "/proc/meminfo: no such line" : c->no_meminfo.text;
}

uint64_t fact_round_memory(uint64_t bytes)
{
	uint64_t step = 1;

	while (step <= bytes / 8)
		step *= 2;
	return (bytes + step - 1) / step * step;
}

void fact_read_memory_total(struct collect *c, const struct fact_row *row)
{
	uint64_t bytes;
	char text[32];

	if (!meminfo(c, "MemTotal", &bytes) || !bytes || bytes > UINT64_MAX / 2) {
		fact_put(c, row, NULL, no_meminfo(c));
		return;
	}
	unit_format_bytes(fact_round_memory(bytes), text, sizeof(text));
	fact_put(c, row, text, NULL);
}

static void put_mib(struct collect *c, const struct fact_row *row, uint64_t bytes)
{
	CLEANUP_FREE char *s =
		mem_printf("%" PRIu64 "MiB", bytes / 1048576 + (bytes % 1048576 != 0));

	fact_put(c, row, s, NULL);
}

void fact_read_swap(struct collect *c, const struct fact_row *row)
{
	uint64_t total;

	if (!meminfo(c, "SwapTotal", &total))
		fact_put(c, row, NULL, no_meminfo(c));
	else if (!total)
		fact_put(c, row, "none", NULL);
	else
		put_mib(c, row, total);
}

void fact_read_swap_used(struct collect *c, const struct fact_row *row)
{
	uint64_t total, unused;

	if (!meminfo(c, "SwapTotal", &total) || !meminfo(c, "SwapFree", &unused) || unused > total)
		fact_put(c, row, NULL, no_meminfo(c));
	else
		put_mib(c, row, total - unused);
}

void fact_read_available(struct collect *c, const struct fact_row *row)
{
	uint64_t bytes;

	if (!meminfo(c, "MemAvailable", &bytes))
		fact_put(c, row, NULL, no_meminfo(c));
	else
		put_mib(c, row, bytes);
}

void fact_read_quota(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	struct str s = STR_INIT;
	uint64_t milli;

	if (cgroup_quota(c->src, &milli, &e) < 0) {
		fact_put_unknown(c, row, &e);
		return;
	}
	if (milli == CGROUP_UNLIMITED) {
		str_add(&s, "none");
	} else {
		str_printf(&s, "%" PRIu64 ".%03u", milli / 1000, (unsigned)(milli % 1000));
		while (str_ends(s.s, "0"))
			s.s[--s.len] = '\0';
		if (str_ends(s.s, "."))
			s.s[--s.len] = '\0';
		str_add(&s, milli == 1000 ? " CPU" : " CPUs");
	}
	fact_put(c, row, str_get(&s), NULL);
	str_done(&s);
}

void fact_read_cpuset(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *list = NULL;

	if (cgroup_cpus(c->src, &list, &e) < 0)
		fact_put_unknown(c, row, &e);
	else
		fact_put(c, row, list ? list : "none", NULL);
}

void fact_read_memory_limit(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	uint64_t limit, left;
	char text[32];

	if (cgroup_memory(c->src, &limit, &left, &e) < 0) {
		fact_put_unknown(c, row, &e);
		return;
	}
	unit_format_bytes(limit, text, sizeof(text));
	fact_put(c, row, limit == CGROUP_UNLIMITED ? "none" : text, NULL);
}

void fact_read_throttled(struct collect *c, const struct fact_row *row)
{
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *s = NULL;
	uint64_t n;

	if (cgroup_throttled(c->src, &n, &e) == 0)
		s = mem_printf("%" PRIu64, n);
	fact_put(c, row, s, e.text);
}
