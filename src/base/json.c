/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

char *json_line(const json_t *j)
{
	char *s = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);

	return s ? s : mem_strdup("null");
}

char *json_pretty(const json_t *j)
{
	CLEANUP_FREE char *s =
		json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);

	return mem_printf("%s\n", s ? s : "null");
}

int json_parse(const char *text, size_t len, const char *name, json_t **ret, struct error *e)
{
	json_error_t je;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);

	if (!j)
		return error_set(e, EINVAL, "%s: line %d, column %d: %s", name, je.line, je.column,
				 je.text);
	*ret = j;
	return 0;
}

json_t *json_num(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none (RFC 3629, table 3-7). */
static size_t utf8_len(const unsigned char *s)
{
	unsigned lo = 0x80, hi = 0xbf;
	size_t n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < n; i++) {
		if (s[i] < lo || s[i] > hi)
			return 0;
		lo = 0x80;
		hi = 0xbf;
	}
	return n;
}

json_t *json_str(const char *s)
{
	struct str b = STR_INIT;
	json_t *j;

	if (!s)
		return json_null();
	j = json_string(s);
	if (j)
		return j;
	while (*s) {
		size_t n = utf8_len((const unsigned char *)s);

		if (n)
			str_add_n(&b, s, n);
		else
			str_add(&b, "\xef\xbf\xbd");
		s += n ? n : 1;
	}
	j = json_string(str_get(&b));
	str_done(&b);
	return j;
}

json_t *json_u64(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

int json_get_str(const json_t *o, const char *key, const char **ret, struct error *e)
{
	const json_t *j = json_object_get(o, key);

	if (!json_is_string(j))
		return error_set(e, EINVAL, "\"%s\": %s", key,
				 j ? "is not a string" : "is missing");
	*ret = json_string_value(j);
	return 0;
}

int json_get_u64(const json_t *o, const char *key, uint64_t *ret, struct error *e)
{
	const json_t *j = json_object_get(o, key);

	if (!json_is_integer(j) || json_integer_value(j) < 0)
		return error_set(e, EINVAL, "\"%s\": %s", key,
				 j ? "is not a whole number of 0 or more" : "is missing");
	*ret = (uint64_t)json_integer_value(j);
	return 0;
}

int json_get_num(const json_t *o, const char *key, double *ret, struct error *e)
{
	const json_t *j = json_object_get(o, key);

	if (!json_is_number(j))
		return error_set(e, EINVAL, "\"%s\": %s", key,
				 j ? "is not a number" : "is missing");
	*ret = json_number_value(j);
	return 0;
}

const char *json_opt_str(const json_t *o, const char *key, const char *def)
{
	const json_t *j = json_object_get(o, key);

	return json_is_string(j) ? json_string_value(j) : def;
}

uint64_t json_opt_u64(const json_t *o, const char *key, uint64_t def)
{
	const json_t *j = json_object_get(o, key);

	return json_is_integer(j) && json_integer_value(j) >= 0 ? (uint64_t)json_integer_value(j)
								: def;
}

double json_opt_num(const json_t *o, const char *key, double def)
{
	const json_t *j = json_object_get(o, key);

	return json_is_number(j) ? json_number_value(j) : def;
}

bool json_opt_bool(const json_t *o, const char *key, bool def)
{
	const json_t *j = json_object_get(o, key);

	return json_is_boolean(j) ? json_is_true(j) : def;
}

void json_unref(json_t **j)
{
	json_decref(*j);
	*j = NULL;
}
