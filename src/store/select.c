/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/unit.h"
#include "store/db.h"

#define FINISHED "b.state IN ('ok', 'failed', 'stopped') AND b.owner IS NULL"

static void add(struct picks *p, int64_t kernel, int64_t experiment, size_t as, const char *label)
{
	p->p = mem_grow(p->p, p->n, &p->cap, sizeof(*p->p));
	p->p[p->n++] = (struct pick){
		.kernel = kernel, .experiment = experiment, .as = as, .label = mem_strdup(label)
	};
}

void picks_done(struct picks *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->n; i++)
		free(p->p[i].label);
	free(p->p);
	memset(p, 0, sizeof(*p));
}

static const struct pick *has(const struct picks *p, int64_t kernel, int64_t experiment)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->p[i].kernel == kernel && p->p[i].experiment == experiment)
			return &p->p[i];
	return NULL;
}

/* Where a kernel stands that may have been picked in another experiment before. */
static size_t place(const struct picks *p, int64_t kernel)
{
	size_t i, next = 0;

	for (i = 0; i < p->n; i++) {
		if (p->p[i].kernel == kernel)
			return p->p[i].as;
		if (p->p[i].as >= next)
			next = p->p[i].as + 1;
	}
	return next;
}

/* Members of an experiment (0: of all), of one label or of all (NULL). */
static int members(struct store *s, int64_t experiment, const char *label, struct picks *ret,
		   struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(s, e, &st,
		     "SELECT m.kernel, m.experiment FROM member m JOIN kernel k ON m.kernel = k.n"
		     " WHERE (m.experiment = ?1 OR ?1 = 0) AND (k.label = ?2 OR ?2 IS NULL)"
		     " AND NOT k.hidden ORDER BY m.experiment, m.position",
		     "it", experiment, label);
	while (!r && (r = db_step(s, st, e)) > 0) {
		int64_t k = sqlite3_column_int64(st, 0), x = sqlite3_column_int64(st, 1);

		r = 0;
		if (!has(ret, k, x))
			add(ret, k, x, place(ret, k), NULL);
	}
	return r;
}

/* Takes LABEL~N apart; a label that is really called like that goes first. */
static int parse_label(struct store *s, const char *typed, char **ret_label, uint64_t *ret_back,
		       struct error *e)
{
	const char *tilde = strrchr(typed, '~');
	CLEANUP_FREE char *base = NULL;
	bool have;
	int r;

	*ret_back = 0;
	r = label_known(s, typed, &have, e);
	if (r < 0)
		return r;
	if (have) {
		*ret_label = mem_strdup(typed);
		return 0;
	}
	if (!tilde || unit_parse_u64(tilde + 1, ret_back, NULL) < 0 || *ret_back > INT32_MAX)
		return label_unknown(s, typed, e);
	base = mem_strndup(typed, (size_t)(tilde - typed));
	r = label_known(s, base, &have, e);
	if (!r && !have)
		r = label_unknown(s, base, e);
	if (r < 0)
		return r;
	*ret_label = mem_strdup(base);
	return 0;
}

static int pick_label(struct store *s, const char *typed, struct picks *ret, struct error *e)
{
	CLEANUP_FREE char *label = NULL;
	struct picks found = { 0 };
	int64_t experiment;
	uint64_t back;
	size_t i;
	int r;

	r = parse_label(s, typed, &label, &back, e);
	if (r < 0)
		return r;
	r = db_number(s, e, &experiment,
		      "SELECT b.experiment FROM boot b JOIN kernel k ON b.kernel = k.n"
		      " WHERE k.label = ?1 AND NOT k.hidden AND " FINISHED
		      " GROUP BY b.experiment ORDER BY max(b.started_ns) DESC, b.experiment DESC"
		      " LIMIT 1 OFFSET ?2",
		      "tu", label, back);
	if (r == -ENOENT && back)
		return error_set(e, ENOENT, "label '%s' has no %llu earlier experiment%s", label,
				 (unsigned long long)back, back > 1 ? "s" : "");
	if (r == -ENOENT)
		return error_set(e, ENOENT, "label '%s' has no finished boot", label);
	if (!r)
		r = members(s, experiment, label, &found, e);
	for (i = 0; !r && i < found.n; i++) {
		const struct pick *f = &found.p[i];
		const struct pick *same = has(ret, f->kernel, experiment);

		if (same)
			r = error_set(e, EINVAL, "'%s' and '%s' are the same boots", same->label,
				      typed);
		/* The same kernel in two experiments is two sides of this comparison. */
		if (!r)
			add(ret, f->kernel, experiment, ret->n, typed);
	}
	picks_done(&found);
	return r;
}

static int pick_label_in(struct store *s, const struct store_selection *sel, const char *label,
			 struct picks *ret, struct error *e)
{
	size_t before = ret->n, i;
	bool have;
	int r = 0;

	for (i = 0; !r && i < sel->n_experiments; i++) {
		int64_t x;

		r = experiment_row(s, sel->experiments[i], &x, e);
		if (!r)
			r = members(s, x, label, ret, e);
	}
	if (r < 0 || ret->n > before)
		return r;
	r = label_known(s, label, &have, e);
	if (r < 0)
		return r;
	return have ? error_set(e, ENOENT, "label '%s' is not in %s", label,
				sel->n_experiments > 1 ? "these experiments" : sel->experiments[0])
		    : label_unknown(s, label, e);
}

static int pick_all_of(struct store *s, const char *label, struct picks *ret, struct error *e)
{
	size_t before = ret->n;
	bool have;
	int r;

	r = label_known(s, label, &have, e);
	if (!r && !have)
		r = label_unknown(s, label, e);
	if (!r)
		r = members(s, 0, label, ret, e);
	if (!r && ret->n == before)
		r = error_set(e, ENOENT, "label '%s' has no boot", label);
	return r;
}

static int pick_latest(struct store *s, struct picks *ret, struct error *e)
{
	int64_t x;
	int r;

	r = db_number(s, e, &x,
		      "SELECT b.experiment FROM boot b JOIN kernel k ON b.kernel = k.n"
		      " WHERE NOT k.hidden AND " FINISHED
		      " GROUP BY b.experiment ORDER BY max(b.started_ns) DESC, b.experiment DESC"
		      " LIMIT 1",
		      "");
	if (r == -ENOENT)
		return error_set(e, ENOENT, "store %s: no finished boot yet", s->path);
	return r ? r : members(s, x, NULL, ret, e);
}

int select_picks(struct store *s, const struct store_selection *sel, bool all, struct picks *ret,
		 struct error *e)
{
	static const struct store_selection nothing = { 0 };
	size_t i, k;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (!sel)
		sel = &nothing;
	for (i = 0; !r && i < sel->n_labels; i++) {
		for (k = 0; !r && k < i; k++)
			if (str_eq(sel->labels[i], sel->labels[k]))
				r = error_set(e, EINVAL, "label '%s' is named twice",
					      sel->labels[i]);
		if (r < 0)
			break;
		if (sel->n_experiments)
			r = pick_label_in(s, sel, sel->labels[i], ret, e);
		else if (all)
			r = pick_all_of(s, sel->labels[i], ret, e);
		else
			r = pick_label(s, sel->labels[i], ret, e);
	}
	for (i = 0; !r && !sel->n_labels && i < sel->n_experiments; i++) {
		int64_t x;

		r = experiment_row(s, sel->experiments[i], &x, e);
		if (!r)
			r = members(s, x, NULL, ret, e);
	}
	if (!r && !sel->n_labels && !sel->n_experiments)
		r = all ? members(s, 0, NULL, ret, e) : pick_latest(s, ret, e);
	if (r < 0)
		picks_done(ret);
	return r;
}
