/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles for programs: CSV and JSON. Nothing is left out but what was asked to be. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/unit.h"
#include "render/profile_notes.h"

static const char *word(enum profile_mark m)
{
	static const char *const words[] = { [PROFILE_UNJUDGED] = NULL,
					     [PROFILE_SAME] = "same",
					     [PROFILE_WITHIN] = "within perturbation",
					     [PROFILE_MORE] = "more",
					     [PROFILE_FEWER] = "fewer" };

	return words[m];
}

static const char *windows_word(enum profile_windows w)
{
	return w == PROFILE_TOTAL ? "total" : "typical";
}

static bool is_rest(const char *caller)
{
	return !strcmp(caller, PROFILE_POINTER) || !strcmp(caller, PROFILE_MIDDLE);
}

/* Cuts of data are by --min and --top alone. */
static struct profile_cut left_out(const struct profile_rows *rows)
{
	return (struct profile_cut){ rows->under.rows + rows->beyond.rows,
				     rows->under.sum + rows->beyond.sum };
}

/* ---- CSV ---- */

static void csv_text(struct str *out, const char *s)
{
	if (!s)
		s = "";
	if (!s[strcspn(s, ",\"\r\n")]) {
		str_add(out, s);
	} else {
		str_add_c(out, '"');
		for (; *s; s++) {
			if (*s == '"')
				str_add_c(out, '"');
			str_add_c(out, *s);
		}
		str_add_c(out, '"');
	}
	str_add_c(out, ',');
}

static void csv_number(struct str *out, double v)
{
	if (isfinite(v))
		str_printf(out, "%.10g", v);
	str_add_c(out, ',');
}

static void csv_side(struct str *out, const struct profile_symbol *s, bool calls)
{
	csv_number(out, s ? s->instructions : NAN);
	csv_number(out, s ? s->least : NAN);
	csv_number(out, s ? s->most : NAN);
	csv_number(out, s && calls ? s->calls : NAN);
	csv_number(out, s && calls ? s->rep_iterations : NAN);
}

static void csv_start(struct str *out, const struct profile_report *r,
		      const struct profile_table *t, const char *kind)
{
	csv_text(out, t->point->workload);
	str_printf(out, "%u,", t->point->workload_version);
	csv_text(out, t->point->params);
	str_printf(out, "%u,", t->point->context_number);
	csv_text(out, windows_word(r->windows));
	csv_text(out, t->base->label);
	csv_text(out, t->new ? t->new->label : NULL);
	csv_text(out, kind);
}

/* The last field: its comma is one too many. */
static void csv_end(struct str *out)
{
	out->s[--out->len] = '\0';
	str_add(out, "\r\n");
}

static void csv_row(struct str *out, const struct profile_report *r, const struct profile_table *t,
		    const struct profile_delta *d, const char *kind)
{
	bool symbol = strcmp(kind, "total") != 0;
	char why[80];

	csv_start(out, r, t, kind);
	csv_text(out, d->name);
	csv_text(out, d->module);
	csv_number(out, t->diff ? d->diff : NAN);
	csv_text(out, word(d->mark));
	csv_side(out, d->base, symbol);
	csv_side(out, d->new, symbol);
	profile_why_text(d->why, why, sizeof(why));
	csv_text(out, why);
	csv_text(out, t->diff && d->twin >= 0 ? t->diff->rows[d->twin].name : NULL);
	csv_end(out);
}

static void csv_cut(struct str *out, const struct profile_report *r, const struct profile_table *t,
		    const struct profile_cut *c)
{
	csv_start(out, r, t, "left out");
	str_add(out, ",,");
	csv_number(out, t->diff ? c->sum : NAN);
	str_add_c(out, ',');
	csv_number(out, t->diff ? NAN : c->sum);
	str_add(out, ",,,,,,,,,,,");
	csv_end(out);
}

static struct profile_delta total_of(const struct profile_table *t)
{
	if (t->diff)
		return t->diff->total;
	return (struct profile_delta){ .name = "total", .base = &t->profile->total, .twin = -1 };
}

static void csv_callers(struct str *out, const struct profile_report *r,
			const struct profile_table *t, const struct profile_show *s)
{
	struct arena a = ARENA_INIT;
	struct profile_callers c;
	size_t i;

	profile_callers_make(t, s->callers, &a, &c);
	for (i = 0; i <= c.n; i++) {
		const struct profile_caller *x = i < c.n ? &c.list[i] : NULL;

		csv_start(out, r, t, !x ? "total" : is_rest(x->name) ? "rest" : "caller");
		csv_text(out, s->callers);
		csv_text(out, x ? x->name : NULL);
		csv_text(out, x ? x->module : NULL);
		csv_number(out, x ? x->base : c.base);
		csv_number(out, !t->diff ? NAN : x ? x->new : c.new);
		csv_end(out);
	}
	arena_done(&a);
}

void render_profile_csv(const struct profile_report *r, const struct profile_show *s,
			struct str *out)
{
	static const char start[] = "workload,version,params,context,windows,base,new,kind,";
	struct profile_show show = *s;
	size_t i, k;

	show.all = true;
	str_printf(out, "%s%s\r\n", start,
		   s->callers
			   ? "symbol,caller,module,base_calls,new_calls"
			   : "symbol,module,difference,word,"
			     "base_instructions,base_least,base_most,base_calls,base_rep,"
			     "new_instructions,new_least,new_most,new_calls,new_rep,why,renamed");
	for (i = 0; i < r->n; i++) {
		const struct profile_table *t = &r->tables[i];
		struct profile_delta total;
		struct arena a = ARENA_INIT;
		struct profile_rows rows;
		struct profile_cut c;

		if (!t->profile && !t->diff)
			continue;
		if (s->callers) {
			csv_callers(out, r, t, s);
			continue;
		}
		profile_rows_make(t, &show, &a, &rows);
		for (k = 0; k < rows.n; k++)
			csv_row(out, r, t, rows.rows[k], "symbol");
		for (k = 0; k < rows.n_spin; k++)
			csv_row(out, r, t, rows.spin[k], "waiting");
		c = left_out(&rows);
		if (c.rows)
			csv_cut(out, r, t, &c);
		total = total_of(t);
		csv_row(out, r, t, &total, "total");
		arena_done(&a);
	}
}

/* ---- JSON ---- */

static void put(json_t *o, const char *key, json_t *v)
{
	json_object_set_new(o, key, v);
}

/* Ten digits: what is behind them is rounding. */
static json_t *num(double v)
{
	char buf[40];

	if (!isfinite(v))
		return json_null();
	snprintf(buf, sizeof(buf), "%.10g", v);
	return unit_parse_double(buf, &v, NULL) ? json_null() : json_num(v);
}

static json_t *json_side(const struct profile_symbol *s, bool symbol)
{
	json_t *j;
	char addr[24];

	if (!s)
		return json_null();
	j = json_object();
	put(j, "instructions", num(s->instructions));
	put(j, "least", num(s->least));
	put(j, "most", num(s->most));
	if (!symbol)
		return j;
	snprintf(addr, sizeof(addr), "0x%llx", (unsigned long long)s->addr);
	put(j, "calls", num(s->calls));
	put(j, "rep_iterations", num(s->rep_iterations));
	put(j, "address", s->addr ? json_str(addr) : json_null());
	put(j, "functions", json_u64(s->alike));
	return j;
}

static json_t *json_row(const struct profile_table *t, const struct profile_delta *d, bool symbol)
{
	json_t *j = json_object(), *twin;
	char why[80];

	if (symbol) {
		put(j, "symbol", json_str(d->name));
		put(j, "module", json_str(d->module));
	}
	if (!t->diff) {
		put(j, "base", json_side(d->base, symbol));
		return j;
	}
	put(j, "difference", num(d->diff));
	put(j, "word", json_str(word(d->mark)));
	put(j, "base", json_side(d->base, symbol));
	put(j, "new", json_side(d->new, symbol));
	if (!symbol)
		return j;
	profile_why_text(d->why, why, sizeof(why));
	put(j, "why", json_str(*why ? why : NULL));
	twin = json_null();
	if (d->twin >= 0) {
		twin = json_object();
		put(twin, "symbol", json_str(t->diff->rows[d->twin].name));
		put(twin, "module", json_str(t->diff->rows[d->twin].module));
		put(twin, "why", json_str(d->twin_why));
	}
	put(j, "renamed", twin);
	return j;
}

static json_t *json_cover(const struct profile *p)
{
	json_t *j = json_object();

	put(j, "perturbations", json_u64(p->perturbations));
	put(j, "left_out", json_u64(p->left_out));
	put(j, "windows", json_u64(p->windows));
	put(j, "operations", json_u64(p->ops));
	put(j, "without_symbol", json_u64(p->n_address));
	return j;
}

static json_t *json_callers(const struct profile_table *t, const char *symbol)
{
	json_t *j = json_object(), *list = json_array(), *o;
	struct arena a = ARENA_INIT;
	struct profile_callers c;
	size_t i;

	profile_callers_make(t, symbol, &a, &c);
	for (i = 0; i < c.n; i++) {
		o = json_object();
		put(o, "kind", json_str(is_rest(c.list[i].name) ? "rest" : "caller"));
		put(o, "caller", json_str(c.list[i].name));
		put(o, "module", json_str(c.list[i].module));
		put(o, "base", num(c.list[i].base));
		if (t->diff)
			put(o, "new", num(c.list[i].new));
		json_array_append_new(list, o);
	}
	put(j, "symbol", json_str(symbol));
	put(j, "base", c.in_base ? num(c.base) : json_null());
	if (t->diff)
		put(j, "new", c.in_new ? num(c.new) : json_null());
	put(j, "callers", list);
	arena_done(&a);
	return j;
}

static void json_rows(json_t *j, const struct profile_table *t, const struct profile_show *s)
{
	json_t *list = json_array(), *waiting = json_array(), *cut = json_object();
	struct profile_delta total = total_of(t);
	struct arena a = ARENA_INIT;
	struct profile_rows rows;
	struct profile_cut c;
	size_t i;

	profile_rows_make(t, s, &a, &rows);
	for (i = 0; i < rows.n; i++)
		json_array_append_new(list, json_row(t, rows.rows[i], true));
	for (i = 0; i < rows.n_spin; i++)
		json_array_append_new(waiting, json_row(t, rows.spin[i], true));
	c = left_out(&rows);
	put(cut, "symbols", json_u64(c.rows));
	put(cut, t->diff ? "difference" : "instructions", num(c.sum));
	put(j, "symbols", list);
	put(j, "waiting", waiting);
	put(j, "left_out", cut);
	put(j, "total", json_row(t, &total, false));
	arena_done(&a);
}

static json_t *json_table(const struct profile_table *t, const struct profile_show *s)
{
	json_t *j = json_object(), *context = NULL;

	put(j, "workload", json_str(t->point->workload));
	put(j, "workload_version", json_u64(t->point->workload_version));
	put(j, "params", json_str(t->point->params));
	put(j, "op", json_str(t->point->op));
	if (t->point->context)
		json_parse(t->point->context, strlen(t->point->context), "context", &context, NULL);
	put(j, "context", context ? context : json_null());
	put(j, "cpus", json_u64(t->point->cpus));
	put(j, "base", json_str(t->base->label));
	put(j, "new", json_str(t->new ? t->new->label : NULL));
	put(j, "missing", json_str(t->missing));
	if (t->diff) {
		put(j, "judged", json_boolean(t->diff->judged));
		put(j, "chance", num(t->diff->chance));
		put(j, "unranked", json_boolean(t->diff->unranked));
		put(j, "base_covers", json_cover(t->diff->base));
		put(j, "new_covers", json_cover(t->diff->new));
	} else if (t->profile) {
		put(j, "base_covers", json_cover(t->profile));
	} else {
		return j;
	}
	if (s->callers)
		put(j, "callers", json_callers(t, s->callers));
	else
		json_rows(j, t, s);
	return j;
}

void render_profile_json(const struct profile_report *r, const struct profile_show *s,
			 struct str *out)
{
	json_t *j CLEANUP_JSON = json_object();
	json_t *list = json_array();
	struct profile_show show = *s;
	CLEANUP_FREE char *text = NULL;
	size_t i;

	show.all = true;
	put(j, "unit", json_str("instructions per operation"));
	put(j, "windows", json_str(windows_word(r->windows)));
	for (i = 0; i < r->n; i++)
		json_array_append_new(list, json_table(&r->tables[i], &show));
	put(j, "profiles", list);
	text = json_pretty(j);
	str_add(out, text);
}
