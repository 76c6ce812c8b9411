/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings below /sys: cpufreq, transparent huge pages, CPUs. Kernel: Documentation/ABI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpulist.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "settings/kind.h"

#define CPU	"/sys/devices/system/cpu"
#define CPUFREQ CPU "/cpufreq"
#define THP	"/sys/kernel/mm/transparent_hugepage/enabled"

/* ---- governor ---- */

static int policies(const struct facts_source *src, char ***ret, size_t *ret_n, struct error *e)
{
	size_t i, n = 0;
	char **names;
	int r = source_names(src, CPUFREQ, &names, ret_n, e);

	if (r < 0)
		return r;
	for (i = 0; i < *ret_n; i++) {
		if (str_starts(names[i], "policy"))
			names[n++] = names[i];
		else
			free(names[i]);
	}
	*ret = names;
	*ret_n = n;
	if (n)
		return 0;
	source_names_free(names, 0);
	return error_set(e, ENODEV, CPUFREQ ": no policies");
}

/* One word, or "policy0=a policy4=b" where they differ. */
int governor_read(const struct facts_source *src, const char *arg, char **ret_value,
		  struct error *e)
{
	struct str all = STR_INIT;
	char *first = NULL, **names;
	bool differ = false;
	size_t n, i;
	int r = *arg ? error_set(e, ENOTSUP, "governor takes no '%s'", arg)
		     : policies(src, &names, &n, e);

	if (r < 0)
		return r;
	for (i = 0; i < n && !r; i++) {
		CLEANUP_FREE char *path = mem_printf(CPUFREQ "/%s/scaling_governor", names[i]);
		CLEANUP_FREE char *value = NULL;

		r = kind_read(src, path, &value, e);
		if (r < 0)
			break;
		str_printf(&all, "%s%s=%s", i ? " " : "", names[i], value);
		differ |= first && strcmp(first, value) != 0;
		if (!first)
			first = mem_strdup(value);
	}
	if (!r)
		*ret_value = mem_strdup(differ ? str_get(&all) : first);
	free(first);
	str_done(&all);
	source_names_free(names, n);
	return r;
}

/* What `value` wants of a policy: the word itself, or its own in a list; NULL: nothing. */
static char *wanted(const char *value, const char *policy)
{
	size_t len = strlen(policy), n;

	if (!strchr(value, '='))
		return mem_strdup(value);
	for (; *value; value += n + (value[n] == ' ')) {
		n = strcspn(value, " ");
		if (n > len && value[len] == '=' && !strncmp(value, policy, len))
			return mem_strndup(value + len + 1, n - len - 1);
	}
	return NULL;
}

int governor_apply(const struct facts_source *src, const char *arg, const char *value,
		   struct error *e)
{
	size_t n, i;
	char **names;
	int r = policies(src, &names, &n, e);

	(void)arg;
	if (r < 0)
		return r;
	for (i = 0; i < n && !r; i++) {
		CLEANUP_FREE char *path = mem_printf(CPUFREQ "/%s/scaling_governor", names[i]);
		CLEANUP_FREE char *word = wanted(value, names[i]);
		CLEANUP_FREE char *offered = NULL;
		struct error own = ERROR_INIT;

		r = word ? kind_write(src, path, word, &own) : 0;
		if (r < 0)
			offered = source_line(src, NULL, CPUFREQ "/%s/scaling_available_governors",
					      names[i]);
		if (r < 0)
			error_set(e, own.code, "%s%s%s%s", own.text, offered ? " (there are: " : "",
				  offered ? offered : "", offered ? ")" : "");
	}
	source_names_free(names, n);
	return r;
}

/* ---- transparent huge pages ---- */

int thp_read(const struct facts_source *src, const char *arg, char **ret_value, struct error *e)
{
	CLEANUP_FREE char *line = NULL;
	char *open, *close;
	int r = *arg ? error_set(e, ENOTSUP, "thp takes no '%s'", arg)
		     : kind_read(src, THP, &line, e);

	if (r < 0)
		return r;
	/* "always [madvise] never" */
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	*ret_value = close ? mem_strndup(open + 1, (size_t)(close - open - 1)) : mem_strdup(line);
	return 0;
}

int thp_apply(const struct facts_source *src, const char *arg, const char *value, struct error *e)
{
	(void)arg;
	return kind_write(src, THP, value, e);
}

/* ---- CPUs ---- */

static char *online_path(unsigned cpu)
{
	return mem_printf(CPU "/cpu%u/online", cpu);
}

/* A CPU without the file cannot be switched off: the first, mostly. */
static int is_online(const struct facts_source *src, unsigned cpu, bool *ret_online,
		     bool *ret_fixed, struct error *e)
{
	CLEANUP_FREE char *path = online_path(cpu);
	CLEANUP_FREE char *value = NULL;
	int there = source_exists(src, path), r;

	if (there < 0)
		return error_errno(e, -there, "%s", path);
	*ret_fixed = !there;
	*ret_online = true;
	if (!there)
		return 0;
	r = kind_read(src, path, &value, e);
	if (!r)
		*ret_online = strcmp(value, "0") != 0;
	return r;
}

static int present(const struct facts_source *src, struct cpulist *ret, struct error *e)
{
	CLEANUP_FREE char *line = source_line(src, e, CPU "/present");

	if (!line)
		return e && e->code ? -e->code : -ENODEV;
	if (cpulist_parse(line, ret, e) < 0)
		return error_prefix(e, CPU "/present");
	return 0;
}

/* "2" for the CPUs 0 and 1, else "list:0,2". */
int cpus_read(const struct facts_source *src, const char *arg, char **ret_value, struct error *e)
{
	struct cpulist all = CPULIST_INIT;
	bool online, fixed;
	size_t n = 0, i;
	int r = *arg ? error_set(e, ENOTSUP, "cpus takes no '%s'", arg) : present(src, &all, e);

	for (i = 0; i < all.n && !r; i++) {
		r = is_online(src, all.cpu[i], &online, &fixed, e);
		if (!r && online)
			all.cpu[n++] = all.cpu[i];
	}
	if (!r) {
		const struct cpulist on = { all.cpu, n };
		CLEANUP_FREE char *list = cpulist_format(&on);

		/* Ascending without gaps from 0: the last one tells. */
		if (n && all.cpu[n - 1] == n - 1)
			*ret_value = mem_printf("%zu", n);
		else
			*ret_value = mem_printf("list:%s", list);
	}
	cpulist_done(&all);
	return r;
}

static int wanted_cpus(const char *value, struct cpulist *ret, struct error *e)
{
	CLEANUP_FREE char *range = NULL;
	uint64_t n;

	if (str_starts(value, "list:"))
		return cpulist_parse(value + strlen("list:"), ret, e);
	if (unit_parse_u64(value, &n, NULL) < 0 || !n || n > CPULIST_MAX)
		return error_set(e, EINVAL, "'%s' is no number of CPUs", value);
	range = mem_printf("0-%llu", (unsigned long long)n - 1);
	return cpulist_parse(range, ret, e);
}

/* "list:0-1" and "2". */
bool cpus_same(const char *arg, const char *a, const char *b)
{
	struct cpulist x = CPULIST_INIT, y = CPULIST_INIT;
	bool same = wanted_cpus(a, &x, NULL) == 0 && wanted_cpus(b, &y, NULL) == 0 && x.n == y.n &&
		    !memcmp(x.cpu, y.cpu, x.n * sizeof(*x.cpu));

	(void)arg;
	cpulist_done(&x);
	cpulist_done(&y);
	return same;
}

static int set_cpu(const struct facts_source *src, unsigned cpu, bool want, struct error *e)
{
	CLEANUP_FREE char *path = online_path(cpu);
	bool online, fixed;
	int r = is_online(src, cpu, &online, &fixed, e);

	if (r < 0 || online == want)
		return r;
	if (fixed)
		return error_set(e, ENOTSUP, "CPU %u cannot be switched off", cpu);
	return kind_write(src, path, want ? "1" : "0", e);
}

int cpus_apply(const struct facts_source *src, const char *arg, const char *value, struct error *e)
{
	struct cpulist all = CPULIST_INIT, want = CPULIST_INIT;
	int r = wanted_cpus(value, &want, e);
	size_t i;

	(void)arg;
	if (!r)
		r = present(src, &all, e);
	for (i = 0; i < want.n && !r; i++)
		if (!cpulist_has(&all, want.cpu[i]))
			r = error_set(e, ENODEV, "wants CPU %u, which is not here", want.cpu[i]);
	/* On before off: one at least is always there. */
	for (i = 0; i < want.n && !r; i++)
		r = set_cpu(src, want.cpu[i], true, e);
	for (i = all.n; i > 0 && !r; i--)
		if (!cpulist_has(&want, all.cpu[i - 1]))
			r = set_cpu(src, all.cpu[i - 1], false, e);
	cpulist_done(&all);
	cpulist_done(&want);
	return r;
}
