/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/param.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"

static const char *const type_names[] = { "", "uint", "bytes", "time", "choice", "text" };

size_t param_count(const struct param *params)
{
	size_t n = 0;

	while (params && params[n].name)
		n++;
	return n;
}

static char *names_of(const struct param *params, struct arena *a)
{
	struct str b = STR_INIT;
	char *s;

	for (; params && params->name; params++)
		str_printf(&b, "%s%s", b.len ? ", " : "", params->name);
	s = arena_strdup(a, b.len ? str_get(&b) : "none");
	str_done(&b);
	return s;
}

static bool in_choices(const char *choices, const char *value)
{
	size_t n = strchr(value, '|') ? 0 : strlen(value);
	const char *p = choices;

	while (n && (p = strstr(p, value))) {
		if ((p == choices || p[-1] == '|') && (!p[n] || p[n] == '|'))
			return true;
		p++;
	}
	return false;
}

char *param_quoted(const char *value, struct arena *a)
{
	struct str b = STR_INIT;
	char *s;

	if (*value && !strpbrk(value, ",+=\"\\\n"))
		return arena_strdup(a, value);
	str_add_c(&b, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_c(&b, '\\');
		str_add_c(&b, *value);
	}
	str_add_c(&b, '"');
	s = arena_strdup(a, str_get(&b));
	str_done(&b);
	return s;
}

bool param_required(const struct param *p)
{
	return p->type == PARAM_TEXT && p->min > 0;
}

int param_check(const struct param *p, const char *value, struct arena *a, const char **ret_value,
		uint64_t *ret_number, struct error *e)
{
	uint64_t v = 0;
	char buf[32];
	int r = 0;

	*ret_number = 0;
	switch (p->type) {
	case PARAM_CHOICE:
		if (!in_choices(p->choices, value))
			return error_set(e, EINVAL, "%s=%s: choose one of %s", p->name, value,
					 p->choices);
		*ret_value = arena_strdup(a, value);
		return 0;
	case PARAM_TEXT:
		if (param_required(p) && !*value)
			return error_set(e, EINVAL, "the parameter '%s' must be given", p->name);
		*ret_value = arena_strdup(a, value);
		return 0;
	case PARAM_UINT:
		r = unit_parse_u64(value, &v, e);
		snprintf(buf, sizeof(buf), "%llu", (unsigned long long)v);
		*ret_value = arena_strdup(a, buf);
		break;
	case PARAM_BYTES:
		r = unit_parse_bytes(value, &v, e);
		unit_format_bytes(v, buf, sizeof(buf));
		*ret_value = arena_strdup(a, buf);
		break;
	case PARAM_TIME:
		r = unit_parse_time_ns(value, &v, e);
		unit_format_time_exact(v, buf, sizeof(buf));
		*ret_value = arena_strdup(a, buf);
		break;
	}
	if (r < 0)
		return error_prefix(e, "%s", p->name);
	if (v < p->min || (p->max && v > p->max))
		return error_set(e, ERANGE, "%s=%s: allowed are %llu to %llu", p->name, value,
				 (unsigned long long)p->min,
				 (unsigned long long)(p->max ? p->max : UINT64_MAX));
	if (p->multiple && v % p->multiple)
		return error_set(e, EINVAL, "%s=%s: must be a multiple of %llu", p->name, value,
				 (unsigned long long)p->multiple);
	*ret_number = v;
	return 0;
}

/* Takes NAME=VALUE off the text; a value may be "quoted". Both come from the arena. */
static int next_pair(const char **text, struct arena *a, const char **name, const char **value,
		     struct error *e)
{
	const char *p = *text, *eq = p + strcspn(p, "=,");
	struct str b = STR_INIT;

	if (*eq != '=' || eq == p)
		return error_set(e, EINVAL, "'%s': wanted PARAM=VALUE", p);
	*name = arena_strndup(a, p, (size_t)(eq - p));
	p = eq + 1;
	if (*p == '"') {
		for (p++; *p && *p != '"'; p++) {
			if (*p == '\\' && p[1])
				p++;
			str_add_c(&b, *p);
		}
		if (*p != '"' || (p[1] && p[1] != ',')) {
			str_done(&b);
			return error_set(e, EINVAL, "%s: the quote does not end", *name);
		}
		p++;
	} else {
		size_t n = strcspn(p, ",");

		str_add_n(&b, p, n);
		p += n;
	}
	*value = arena_strdup(a, str_get(&b));
	str_done(&b);
	if (*p == ',' && !p[1])
		return error_set(e, EINVAL, "nothing behind the last comma");
	*text = *p ? p + 1 : p;
	return 0;
}

int args_parse(const struct param *params, const char *text, struct arena *a, struct args *ret,
	       struct error *e)
{
	size_t n = param_count(params), i;
	bool *given = arena_array(a, n, sizeof(*given));

	ret->params = params;
	ret->n = n;
	ret->value = arena_array(a, n, sizeof(*ret->value));
	ret->number = arena_array(a, n, sizeof(*ret->number));
	while (text && *text) {
		const char *name = NULL, *value = NULL;
		int r = next_pair(&text, a, &name, &value, e);

		if (r < 0)
			return r;
		for (i = 0; i < n && strcmp(params[i].name, name) != 0; i++)
			;
		if (i == n)
			return error_set(e, EINVAL, "unknown parameter '%s' (known: %s)", name,
					 names_of(params, a));
		if (given[i])
			return error_set(e, EINVAL, "parameter '%s' is given twice", name);
		given[i] = true;
		r = param_check(&params[i], value, a, &ret->value[i], &ret->number[i], e);
		if (r < 0)
			return r;
	}
	for (i = 0; i < n; i++) {
		int r = given[i] ? 0
				 : param_check(&params[i], params[i].def, a, &ret->value[i],
					       &ret->number[i], e);

		if (r < 0)
			return param_required(&params[i]) ? r : error_prefix(e, "default");
	}
	return 0;
}

char *args_canonical(const struct args *args, struct arena *a)
{
	struct str b = STR_INIT;
	size_t i;
	char *s;

	for (i = 0; i < args->n; i++)
		str_printf(&b, "%s%s=%s", i ? "," : "", args->params[i].name,
			   param_quoted(args->value[i], a));
	s = arena_strdup(a, str_get(&b));
	str_done(&b);
	return s;
}

static size_t find(const struct args *args, const char *name)
{
	size_t i;

	for (i = 0; i < args->n; i++)
		if (!strcmp(args->params[i].name, name))
			return i;
	fprintf(stderr, "kdelta: no parameter '%s' in the table\n", name);
	abort();
}

uint64_t args_u64(const struct args *args, const char *name)
{
	return args->number[find(args, name)];
}

const char *args_text(const struct args *args, const char *name)
{
	return args->value[find(args, name)];
}

json_t *param_encode_all(const struct param *params)
{
	json_t *array = json_array();

	for (; params && params->name; params++) {
		json_t *j = json_object();

		json_object_set_new(j, "name", json_str(params->name));
		json_object_set_new(j, "type", json_str(type_names[params->type]));
		json_object_set_new(j, "default", json_str(params->def));
		json_object_set_new(j, "min", json_u64(params->min));
		json_object_set_new(j, "max", json_u64(params->max));
		if (params->multiple)
			json_object_set_new(j, "multiple", json_u64(params->multiple));
		if (params->choices)
			json_object_set_new(j, "choices", json_str(params->choices));
		if (params->sweep)
			json_object_set_new(j, "sweep", json_str(params->sweep));
		json_object_set_new(j, "help", json_str(params->help));
		json_array_append_new(array, j);
	}
	return array;
}

int param_decode_all(const json_t *array, struct arena *a, struct param **ret, struct error *e)
{
	size_t n = json_array_size(array), i, t;
	struct param *p = arena_array(a, n + 1, sizeof(*p));

	for (i = 0; i < n; i++) {
		const json_t *j = json_array_get(array, i);
		const char *name, *type, *def;

		if (json_get_str(j, "name", &name, e) < 0 ||
		    json_get_str(j, "type", &type, e) < 0 ||
		    json_get_str(j, "default", &def, e) < 0)
			return error_prefix(e, "parameter");
		for (t = 1; t < ARRAY_SIZE(type_names) && strcmp(type_names[t], type) != 0; t++)
			;
		if (t == ARRAY_SIZE(type_names))
			return error_set(e, EINVAL, "parameter %s: unknown type '%s'", name, type);
		p[i].name = arena_strdup(a, name);
		p[i].type = (enum param_type)t;
		p[i].def = arena_strdup(a, def);
		p[i].min = json_opt_u64(j, "min", 0);
		p[i].max = json_opt_u64(j, "max", 0);
		p[i].multiple = json_opt_u64(j, "multiple", 0);
		p[i].choices = arena_strdup(a, json_opt_str(j, "choices", NULL));
		p[i].sweep = arena_strdup(a, json_opt_str(j, "sweep", NULL));
		p[i].help = arena_strdup(a, json_opt_str(j, "help", ""));
		if (p[i].type == PARAM_CHOICE && !p[i].choices)
			return error_set(e, EINVAL, "parameter %s: a choice without choices", name);
	}
	*ret = p;
	return 0;
}
