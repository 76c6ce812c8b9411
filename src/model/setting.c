/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/setting.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/param.h"

#define PROC_SYS "/proc/sys/"

/* No part is empty, and none leads elsewhere: the path stays below /proc/sys. */
static bool is_path(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (!n || (n == 1 && *path == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

static char *swap_dots(const char *s, struct arena *a)
{
	char *copy = arena_strdup(a, s), *p;

	for (p = copy; *p; p++)
		*p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
	return copy;
}

static int check_chars(const char *name, struct error *e)
{
	const char *p;

	if (!*name)
		return error_set(e, EINVAL, "a setting without a name");
	if (strlen(name) > SETTING_NAME_MAX)
		return error_set(e, EINVAL, "the name of a setting is longer than %u bytes",
				 SETTING_NAME_MAX);
	for (p = name; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr(",+=\"\\", *p))
			return error_set(e, EINVAL, "'%s' is no name of a setting", name);
	return 0;
}

int setting_name(const char *name, struct arena *a, const char **ret_name, struct error *e)
{
	const char *s = name, *normal;
	bool sysctl = false;
	size_t mark;

	if (check_chars(name, e) < 0)
		return -EINVAL;
	if (str_starts(s, SETTING_SYSCTL ":")) {
		s += strlen(SETTING_SYSCTL ":");
		sysctl = true;
	}
	if (str_starts(s, PROC_SYS)) {
		s += strlen(PROC_SYS);
		/* Whatever its first separator is: it is a path. */
		normal = swap_dots(s, a);
		sysctl = true;
	} else {
		mark = strcspn(s, "./:");
		sysctl |= s[mark] == '.' || s[mark] == '/';
		normal = sysctl && s[mark] == '/' ? swap_dots(s, a) : arena_strdup(a, s);
	}
	/* No folder of /proc/sys itself has a dot or a colon: the form tells that it is a sysctl.
	 */
	if (sysctl && (normal[strcspn(normal, "./:")] != '.' || !is_path(swap_dots(normal, a))))
		return error_set(e, EINVAL, "'%s' is no name of a sysctl", name);
	*ret_name = normal;
	return 0;
}

int setting_value(const char *value, struct arena *a, const char **ret_value, struct error *e)
{
	CLEANUP_JSON json_t *utf8 = json_string(value);
	struct str b = STR_INIT;
	const char *p;

	for (p = value; *p && (*p == '\t' || ((unsigned char)*p >= ' ' && *p != 0x7f)); p++)
		;
	if (*p || !utf8)
		return error_set(e, EINVAL, "a value that is no line of text");
	for (p = value; *p;) {
		size_t n;

		p += strspn(p, " \t");
		n = strcspn(p, " \t");
		if (n && b.len)
			str_add_c(&b, ' ');
		str_add_n(&b, p, n);
		p += n;
	}
	*ret_value = arena_strdup(a, str_get(&b));
	str_done(&b);
	return 0;
}

const char *setting_kind(const char *name, struct arena *a, const char **ret_arg)
{
	size_t n = strcspn(name, "./:");

	if (name[n] == '.' || name[n] == '/') {
		*ret_arg = name;
		return SETTING_SYSCTL;
	}
	*ret_arg = name + n + (name[n] == ':');
	return arena_strndup(a, name, n);
}

char *setting_sysctl_path(const char *name, struct arena *a)
{
	return arena_printf(a, PROC_SYS "%s", swap_dots(name, a));
}

/* A word as the kernel reads a number: decimal, 0x or 0 in front (proc_dointvec). */
static bool number(const char *s, size_t n, bool *ret_minus, uint64_t *ret)
{
	char buf[32], *end;

	*ret_minus = n && *s == '-';
	s += *ret_minus;
	n -= *ret_minus;
	if (!n || n >= sizeof(buf) || !isdigit((unsigned char)*s))
		return false;
	memcpy(buf, s, n);
	buf[n] = '\0';
	errno = 0;
	*ret = strtoull(buf, &end, 0);
	return !errno && !*end;
}

static bool same_word(const char *a, size_t n, const char *b, size_t m)
{
	bool s, t;
	uint64_t u, v;

	if (n == m && !memcmp(a, b, n))
		return true;
	return number(a, n, &s, &u) && number(b, m, &t, &v) && u == v && (s == t || !u);
}

bool setting_same(const char *a, const char *b)
{
	while (*a || *b) {
		size_t n = strcspn(a, " \t"), m = strcspn(b, " \t");

		if (!same_word(a, n, b, m))
			return false;
		a += n + strspn(a + n, " \t");
		b += m + strspn(b + m, " \t");
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct setting *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void settings_sort(struct setting *s, size_t n)
{
	if (n)
		qsort(s, n, sizeof(*s), by_name);
}

char *settings_key(const char *params, const struct setting *s, size_t n)
{
	CLEANUP_FREE struct setting *sorted = mem_array(n, sizeof(*sorted));
	struct arena arena = ARENA_INIT;
	struct str b = STR_INIT;
	size_t i;

	if (n)
		memcpy(sorted, s, n * sizeof(*sorted));
	settings_sort(sorted, n);
	str_add(&b, params);
	for (i = 0; i < n; i++)
		str_printf(&b, "%sset:%s=%s", b.len ? "," : "", sorted[i].name,
			   param_quoted(sorted[i].value, &arena));
	arena_done(&arena);
	return str_take(&b);
}

json_t *settings_encode(const struct setting *s, size_t n)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < n; i++) {
		json_t *pair = json_array();

		json_array_append_new(pair, json_str(s[i].name));
		json_array_append_new(pair, json_str(s[i].value));
		json_array_append_new(array, pair);
	}
	return array;
}

static int decode_one(const json_t *pair, struct arena *a, struct setting *ret, struct error *e)
{
	const char *name = json_string_value(json_array_get(pair, 0));
	const char *value = json_string_value(json_array_get(pair, 1));

	if (json_array_size(pair) != 2 || !name || !value)
		return error_set(e, EINVAL, "a setting is [\"NAME\",\"VALUE\"]");
	if (setting_name(name, a, &ret->name, e) < 0)
		return -EINVAL;
	if (setting_value(value, a, &ret->value, e) < 0)
		return error_prefix(e, "%s", name);
	return 0;
}

int settings_decode(const json_t *array, struct arena *a, struct setting **ret, size_t *ret_n,
		    struct error *e)
{
	size_t n = json_array_size(array), i, k;
	struct setting *s;

	*ret = NULL;
	*ret_n = 0;
	if (!array || json_is_null(array))
		return 0;
	if (!json_is_array(array) || n > SETTINGS_MAX)
		return error_set(e, EINVAL, "\"settings\" is no array of at most %u", SETTINGS_MAX);
	s = arena_array(a, n, sizeof(*s));
	for (i = 0; i < n; i++) {
		if (decode_one(json_array_get(array, i), a, &s[i], e) < 0)
			return -EINVAL;
		for (k = 0; k < i; k++)
			if (!strcmp(s[k].name, s[i].name))
				return error_set(e, EINVAL, "the setting %s is there twice",
						 s[i].name);
	}
	*ret = s;
	*ret_n = n;
	return 0;
}

json_t *setting_info_encode(const struct setting_info *s)
{
	json_t *j = json_object();

	json_object_set_new(j, "name", json_str(s->name));
	json_object_set_new(j, "form", json_str(s->form));
	if (s->choices)
		json_object_set_new(j, "choices", json_str(s->choices));
	json_object_set_new(j, "doc", json_str(s->doc));
	return j;
}

int setting_info_decode_all(const json_t *array, struct arena *a, struct setting_info **ret,
			    size_t *ret_n, struct error *e)
{
	size_t n = json_array_size(array), i;
	struct setting_info *s = arena_array(a, n, sizeof(*s));

	for (i = 0; i < n; i++) {
		const json_t *j = json_array_get(array, i);
		const char *name, *form;

		if (json_get_str(j, "name", &name, e) < 0 || json_get_str(j, "form", &form, e) < 0)
			return error_prefix(e, "setting");
		s[i].name = arena_strdup(a, name);
		s[i].form = arena_strdup(a, form);
		s[i].choices = arena_strdup(a, json_opt_str(j, "choices", NULL));
		s[i].doc = arena_strdup(a, json_opt_str(j, "doc", ""));
	}
	*ret = s;
	*ret_n = n;
	return 0;
}
