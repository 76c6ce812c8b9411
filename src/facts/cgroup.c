/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts/cgroup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

#define TABLE_MAX (4u << 20) /* bytes of /proc/self/mountinfo that are believed */

struct group {
	bool v2;
	char *dir;  /* the group's folder */
	size_t top; /* length of the mount point: the highest group that is visible */
};

/* Is `word` in a list with commas? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *p = list;

	while (p) {
		if (!strncmp(p, word, len) && (p[len] == ',' || !p[len]))
			return true;
		p = strchr(p, ',');
		if (p)
			p++;
	}
	return false;
}

/* The path of the own group in the hierarchy of a controller; sets *v2. NULL: none. */
static char *own_path(char *table, const char *controller, bool *v2)
{
	char *unified = NULL, *row;

	while ((row = strsep(&table, "\n"))) {
		char *id = strsep(&row, ":");
		char *list = strsep(&row, ":");

		if (!row || *row != '/')
			continue;
		if (!strcmp(id, "0") && !*list) {
			unified = row;
		} else if (has_word(list, controller)) {
			*v2 = false;
			return mem_strdup(row);
		}
	}
	*v2 = true;
	return mem_strdup(unified);
}

/* Undoes \040 and the like in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* What is left of `path` below `root`, "" for root itself; NULL if it is not below it. */
static const char *below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return strcmp(path + len, "/") ? path + len : "";
}

static int group_find(const struct facts_source *src, const char *controller, struct group *ret,
		      struct error *e)
{
	CLEANUP_FREE char *groups = NULL;
	CLEANUP_FREE char *mounts = NULL;
	CLEANUP_FREE char *path = NULL;
	char *rest, *row;
	int r;

	ret->dir = NULL;
	r = source_text(src, "/proc/self/cgroup", TABLE_MAX, &groups, e);
	if (r < 0)
		return r;
	path = own_path(groups, controller, &ret->v2);
	if (!path)
		return error_set(e, ENOENT, "no control group with the controller '%s'",
				 controller);
	r = source_text(src, "/proc/self/mountinfo", TABLE_MAX, &mounts, e);
	if (r < 0)
		return r;
	for (rest = mounts; (row = strsep(&rest, "\n"));) {
		char *left = row, *right = strstr(row, " - ");
		char *root = NULL, *point = NULL, *type;
		const char *sub;
		int i;

		if (!right)
			continue;
		*right = '\0';
		right += 3;
		for (i = 0; i < 5 && left; i++) {
			root = point;
			point = strsep(&left, " ");
		}
		type = strsep(&right, " ");
		strsep(&right, " ");
		if (i < 5 || !root || !point || !right || *point != '/' ||
		    strcmp(type, ret->v2 ? "cgroup2" : "cgroup") != 0 ||
		    (!ret->v2 && !has_word(right, controller)))
			continue;
		unescape(root);
		unescape(point);
		sub = below(path, root);
		/* Elsewhere: another view of it may follow; meanwhile its top is what we see. */
		if (!sub && ret->dir)
			continue;
		free(ret->dir);
		if (!sub || !strncmp(sub, "/..", 3))
			ret->dir = mem_strdup(point);
		else
			ret->dir = mem_printf("%s%s", point, sub);
		ret->top = strlen(point);
		if (sub)
			break;
	}
	if (!ret->dir)
		return error_set(e, ENOENT, "the control groups of '%s' are not mounted",
				 controller);
	if (source_exists(src, ret->dir) != 1) {
		r = error_set(e, ENOENT, "%s: no such control group", ret->dir);
		free(ret->dir);
		ret->dir = NULL;
		return r;
	}
	return 0;
}

/* Turns to the group above; false if there is none in sight. */
static bool group_up(struct group *g)
{
	char *slash;

	if (strlen(g->dir) <= g->top)
		return false;
	slash = strrchr(g->dir, '/');
	if (!slash || (size_t)(slash - g->dir) < g->top)
		return false;
	*slash = '\0';
	return true;
}

/* Calls `here` for the own group and those above, until it returns other than 0. */
static int walk(const struct facts_source *src, const char *controller,
		int (*here)(const struct facts_source *, const struct group *, void *,
			    struct error *),
		void *arg, struct error *e)
{
	struct group g;
	int r = group_find(src, controller, &g, e);

	if (r < 0)
		return r;
	do
		r = here(src, &g, arg, e);
	while (!r && group_up(&g));
	free(g.dir);
	return r < 0 ? r : 0;
}

/* A file of the group, first line. 0 with NULL if there is no such file. */
static int value(const struct facts_source *src, const struct group *g, const char *file,
		 char **ret, struct error *e)
{
	struct error own = ERROR_INIT;

	*ret = source_line(src, &own, "%s/%s", g->dir, file);
	if (!*ret && own.code != ENOENT)
		return error_set(e, own.code, "%s", own.text);
	return 0;
}

/* The same as a number; "max", or no such file, is CGROUP_UNLIMITED. */
static int number(const struct facts_source *src, const struct group *g, const char *file,
		  uint64_t *ret, struct error *e)
{
	CLEANUP_FREE char *s = NULL;
	int r = value(src, g, file, &s, e);

	*ret = CGROUP_UNLIMITED;
	if (r < 0 || !s || !strcmp(s, "max"))
		return r;
	if (unit_parse_u64(s, ret, NULL) < 0)
		return error_set(e, EINVAL, "%s/%s: '%.40s' is not a number", g->dir, file, s);
	return 0;
}

static void lower(uint64_t *v, uint64_t candidate)
{
	if (candidate < *v)
		*v = candidate;
}

static int quota_here(const struct facts_source *src, const struct group *g, void *arg,
		      struct error *e)
{
	CLEANUP_FREE char *s = NULL;
	const char *file = g->v2 ? "cpu.max" : "cpu.cfs_quota_us";
	char *period = NULL;
	uint64_t us, of;
	int r = value(src, g, file, &s, e);

	if (r < 0 || !s)
		return r;
	if (g->v2) {
		period = s;
		strsep(&period, " ");
	}
	if (!strcmp(s, g->v2 ? "max" : "-1"))
		return 0;
	if (g->v2) {
		if (!period || unit_parse_u64(period, &of, NULL) < 0)
			of = 0;
	} else {
		r = number(src, g, "cpu.cfs_period_us", &of, e);
		if (r < 0)
			return r;
	}
	/* The kernel takes periods of up to a second; the bounds keep the product in range. */
	if (unit_parse_u64(s, &us, NULL) < 0 || us > UINT64_MAX / 2000 || !of ||
	    of == CGROUP_UNLIMITED)
		return error_set(e, EINVAL, "%s/%s: '%.40s' is not a quota", g->dir, file, s);
	us = us * 1000 / of;
	lower(arg, us ? us : 1);
	return 0;
}

int cgroup_quota(const struct facts_source *src, uint64_t *ret_milli, struct error *e)
{
	*ret_milli = CGROUP_UNLIMITED;
	return walk(src, "cpu", quota_here, ret_milli, e);
}

struct count {
	uint64_t n;
	bool have;
};

static int throttled_here(const struct facts_source *src, const struct group *g, void *arg,
			  struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/cpu.stat", g->dir);
	CLEANUP_FREE char *text = NULL;
	struct error own = ERROR_INIT;
	struct count *count = arg;
	uint64_t n;

	if (source_text(src, path, TABLE_MAX, &text, &own) < 0)
		return own.code == ENOENT ? 0 : error_set(e, own.code, "%s", own.text);
	if (source_field_u64(text, "nr_throttled", ' ', &n)) {
		count->n += n;
		count->have = true;
	}
	return 0;
}

int cgroup_throttled(const struct facts_source *src, uint64_t *ret_count, struct error *e)
{
	struct count count = { 0, false };
	int r = walk(src, "cpu", throttled_here, &count, e);

	if (r < 0)
		return r;
	if (!count.have)
		return error_set(e, ENOENT, "the control groups count no throttling");
	*ret_count = count.n;
	return 0;
}

static int cpus_here(const struct facts_source *src, const struct group *g, void *arg,
		     struct error *e)
{
	char **ret_list = arg;
	int r = value(src, g, g->v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus", ret_list,
		      e);

	if (!r && !*ret_list && !g->v2)
		r = value(src, g, "cpuset.cpus", ret_list, e);
	if (!r && *ret_list && !**ret_list) {
		free(*ret_list);
		*ret_list = NULL;
	}
	return r ? r : *ret_list != NULL;
}

int cgroup_cpus(const struct facts_source *src, char **ret_list, struct error *e)
{
	struct cpulist list = CPULIST_INIT;
	int r;

	*ret_list = NULL;
	r = walk(src, "cpuset", cpus_here, ret_list, e);
	if (r < 0 || !*ret_list)
		return r;
	r = cpulist_parse(*ret_list, &list, e);
	free(*ret_list);
	*ret_list = r < 0 ? NULL : cpulist_format(&list);
	cpulist_done(&list);
	return r;
}

struct memory {
	uint64_t limit, left;
};

static int memory_here(const struct facts_source *src, const struct group *g, void *arg,
		       struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/memory.stat", g->dir);
	CLEANUP_FREE char *stat = NULL;
	struct memory *m = arg;
	uint64_t limit, used, cached = 0;
	int r;

	r = number(src, g, g->v2 ? "memory.max" : "memory.limit_in_bytes", &limit, e);
	/* Version 1 writes "no limit" as the largest number of pages. */
	if (r < 0 || limit >= UINT64_MAX / 4)
		return r;
	lower(&m->limit, limit);
	r = number(src, g, g->v2 ? "memory.current" : "memory.usage_in_bytes", &used, e);
	if (r < 0 || used == CGROUP_UNLIMITED)
		return r;
	if (source_text(src, path, TABLE_MAX, &stat, NULL) == 0 &&
	    source_field_u64(stat, g->v2 ? "inactive_file" : "total_inactive_file", ' ', &cached))
		used -= cached < used ? cached : used;
	lower(&m->left, used < limit ? limit - used : 0);
	return 0;
}

int cgroup_memory(const struct facts_source *src, uint64_t *ret_limit, uint64_t *ret_left,
		  struct error *e)
{
	struct memory m = { CGROUP_UNLIMITED, CGROUP_UNLIMITED };
	int r = walk(src, "memory", memory_here, &m, e);

	*ret_limit = m.limit;
	*ret_left = m.left < m.limit ? m.left : m.limit;
	return r;
}

static int tasks_here(const struct facts_source *src, const struct group *g, void *arg,
		      struct error *e)
{
	uint64_t max, now;
	int r = number(src, g, "pids.max", &max, e);

	if (r < 0 || max == CGROUP_UNLIMITED)
		return r;
	r = number(src, g, "pids.current", &now, e);
	if (r < 0)
		return r;
	if (now == CGROUP_UNLIMITED)
		now = 0;
	lower(arg, now < max ? max - now : 0);
	return 0;
}

int cgroup_tasks(const struct facts_source *src, uint64_t *ret_left, struct error *e)
{
	*ret_left = CGROUP_UNLIMITED;
	return walk(src, "pids", tasks_here, ret_left, e);
}
