/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/journal.h"
#include "settings/kind.h"
#include "settings/ns.h"

struct settings {
	struct settings_config c;
	struct facts_source src;
	char *dir;
	int lock;		/* -1: not held */
	bool stale;		/* the journal has only what cannot be put back */
	struct journal changed; /* in the order of the first change */
};

struct settings *settings_new(const struct settings_config *c)
{
	struct settings *s = mem_alloc(sizeof(*s));

	s->c = *c;
	s->src.root = c->root;
	s->dir = c->dir ? mem_strdup(c->dir) : journal_dir();
	s->lock = -1;
	return s;
}

void settings_free(struct settings *s)
{
	if (!s)
		return;
	journal_done(&s->changed);
	mem_close_fd(&s->lock);
	free(s->dir);
	free(s);
}

static void say(const struct settings *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct settings *s, const char *fmt, ...)
{
	char text[900];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->c.say)
		s->c.say(s->c.arg, text);
}

static int read_value(const struct settings *s, const char *name, char **ret, struct error *e)
{
	const char *arg;
	const struct setting_kind *k = kind_of(name, &arg);

	if (!k)
		return error_set(e, ENOTSUP, "this agent knows no such setting");
	return k->read(&s->src, arg, ret, e);
}

static int apply_value(const struct settings *s, const char *name, const char *value,
		       struct error *e)
{
	const char *arg;
	const struct setting_kind *k = kind_of(name, &arg);

	if (!k)
		return error_set(e, ENOTSUP, "this agent knows no such setting");
	return k->apply(&s->src, arg, value, e);
}

static bool same_value(const char *name, const char *a, const char *b)
{
	const char *arg;
	const struct setting_kind *k = kind_of(name, &arg);

	return setting_same(a, b) || (k && k->same && k->same(arg, a, b));
}

/* 1: it was put back, 0: it was as before already. *ret_was: what it was until now. */
static int put_back(const struct settings *s, const struct journal_entry *it, char **ret_was,
		    struct error *e)
{
	CLEANUP_FREE char *now = NULL;
	int r = read_value(s, it->name, ret_was, e);

	if (r < 0 || same_value(it->name, *ret_was, it->old))
		return r;
	r = apply_value(s, it->undo_name, it->undo_value, e);
	if (!r)
		r = read_value(s, it->name, &now, e);
	if (!r && !same_value(it->name, now, it->old))
		r = error_set(e, EIO, "it reads '%s'", now);
	return r < 0 ? r : 1;
}

/* ---- the journal ---- */

static int write_journal(const struct settings *s, struct error *e)
{
	return s->c.journal ? journal_write(s->dir, &s->changed, e) : 0;
}

/* False: it stays in the journal. */
static bool recover_one(const struct settings *s, const struct journal_entry *it, long pid)
{
	CLEANUP_FREE char *was = NULL;
	struct error err = ERROR_INIT;
	int back, r;

	r = ns_enter(it, &back, &err);
	if (r == -ENOENT) {
		say(s, "an agent that was killed (process %ld) had changed %s: %s", pid, it->name,
		    err.text);
		return true;
	}
	if (!r)
		r = put_back(s, it, &was, &err);
	ns_leave(&back);
	if (r > 0)
		say(s,
		    "an agent that was killed (process %ld) had left %s at '%s': put back to '%s'",
		    pid, it->name, was, it->old);
	else if (r < 0)
		say(s,
		    "an agent that was killed (process %ld) had changed %s, which cannot be put "
		    "back to '%s': %s",
		    pid, it->name, it->old, err.text);
	return r >= 0;
}

/* With the lock held. Negative: there is a journal that is not ours to write. */
static int recover_locked(struct settings *s, struct error *e)
{
	struct error err = ERROR_INIT;
	struct journal old;
	size_t i;
	int r = journal_read(s->dir, &old, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	/* Backwards, as changes are undone; what stays keeps its order. */
	for (i = old.n; i > 0; i--)
		if (recover_one(s, &old.items[i - 1], old.pid))
			journal_drop(&old, i - 1);
	journal_done(&s->changed);
	s->changed = old;
	if (write_journal(s, &err) < 0)
		say(s, "%s", err.text);
	return 0;
}

static bool journal_there(const char *dir)
{
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", dir);

	return access(path, F_OK) == 0;
}

/* Is root's journal another one than ours? */
static bool apart(const struct settings *s)
{
	return s->c.journal && !s->c.dir && !str_eq(s->dir, JOURNAL_SYSTEM_DIR);
}

static void recover(struct settings *s)
{
	struct error err = ERROR_INIT;

	if (journal_lock(s->dir, &s->lock, &err) < 0) {
		/* A live agent's changes are no leftovers. */
		s->stale = err.code != EBUSY;
		if (s->stale)
			say(s, "%s", err.text);
		return;
	}
	if (recover_locked(s, &err) < 0)
		say(s, "%s", err.text);
	journal_done(&s->changed);
	mem_close_fd(&s->lock);
	s->lock = -1;
	s->stale = journal_there(s->dir);
}

void settings_recover(struct settings *s)
{
	/* Which we cannot undo but can tell of. */
	if (apart(s) && journal_there(JOURNAL_SYSTEM_DIR))
		say(s, JOURNAL_SYSTEM_DIR "/settings.json: settings that root's kdelta-agent "
					  "changes, or changed before it was killed");
	if (s->c.journal && s->dir && journal_there(s->dir))
		recover(s);
}

/* Before the first change. */
static int begin(struct settings *s, struct error *e)
{
	struct error own = ERROR_INIT;

	if (!s->c.journal || s->lock >= 0)
		return 0;
	if (!s->dir)
		return error_set(e, ENOLCK,
				 "there is no folder for the journal: set "
				 "XDG_STATE_HOME");
	if (journal_lock(s->dir, &s->lock, &own) < 0)
		return error_set(e, ENOLCK, "%s", own.text);
	if (recover_locked(s, &own) < 0) {
		mem_close_fd(&s->lock);
		s->lock = -1;
		return error_set(e, ENOLCK, "%s", own.text);
	}
	return 0;
}

static int other_in(const char *dir, bool *ret_live, struct error *e)
{
	struct journal j;
	struct str names = STR_INIT;
	size_t i;
	int r = 0;

	*ret_live = journal_live(dir, &j);
	for (i = 0; i < j.n; i++)
		if (ns_is_here(&j.items[i]))
			str_printf(&names, "%s%s", names.len ? ", " : "", j.items[i].name);
	if (names.len)
		r = error_set(e, EBUSY,
			      "another agent (pid %ld) has settings changed: %s; wait for it",
			      j.pid, str_get(&names));
	str_done(&names);
	journal_done(&j);
	return r;
}

/* -EBUSY: another agent has changed this machine. *ret_killed: one had, since we looked last. */
static int others(struct settings *s, bool *ret_killed, struct error *e)
{
	bool live;
	int r = 0;

	*ret_killed = false;
	if (s->c.journal && s->dir && s->lock < 0) {
		r = other_in(s->dir, &live, e);
		*ret_killed = !live && !s->stale && journal_there(s->dir);
		if (live)
			s->stale = false;
		else if (*ret_killed)
			recover(s);
	}
	if (!r && apart(s))
		r = other_in(JOURNAL_SYSTEM_DIR, &live, e);
	return r;
}

/* ---- one invocation's settings ---- */

static struct journal_entry *find(struct settings *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->changed.n; i++)
		if (!strcmp(s->changed.items[i].name, name) && !s->changed.items[i].left)
			return &s->changed.items[i];
	return NULL;
}

static bool is_wanted(const struct setting *want, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(want[i].name, name))
			return true;
	return false;
}

/* Puts back, last change first, what is not wanted; all if `want` is empty. */
static unsigned put_back_others(struct settings *s, const struct setting *want, size_t n, bool left,
				struct error *e)
{
	unsigned failed = 0;
	bool any = false;
	size_t i;

	for (i = s->changed.n; i > 0; i--) {
		struct journal_entry *it = &s->changed.items[i - 1];
		CLEANUP_FREE char *was = NULL;
		struct error own = ERROR_INIT;
		int back, r;

		if ((it->left && !left) || (!it->left && is_wanted(want, n, it->name)))
			continue;
		r = ns_enter(it, &back, &own);
		if (!r)
			r = put_back(s, it, &was, &own);
		ns_leave(&back);
		if (r < 0 && !(it->left && r == -ENOENT)) {
			/* Each invocation tries again; once is enough for a person. */
			if (!it->said)
				say(s, "%s cannot be put back to '%s': %s", it->name, it->old,
				    own.text);
			it->said = true;
			error_set(e, own.code,
				  "not measured on a changed machine: %s cannot be put back to "
				  "'%s': %s",
				  it->name, it->old, own.text);
			failed++;
			continue;
		}
		journal_drop(&s->changed, i - 1);
		any = true;
	}
	if (any) {
		struct error own = ERROR_INIT;

		if (write_journal(s, &own) < 0)
			say(s, "%s", own.text);
	}
	return failed;
}

/* The old value on disk, before it is gone. */
static int remember(struct settings *s, const char *name, const char *old, struct error *e)
{
	const char *arg, *ns;
	const struct setting_kind *k = kind_of(name, &arg);
	struct journal_entry *it;
	char *undo_name, *undo_value;
	struct error own = ERROR_INIT;
	size_t i;
	int r = begin(s, e);

	if (r < 0)
		return r;
	/* What a killed agent left and could not be put back: its old value is the true one. */
	for (i = 0; i < s->changed.n; i++) {
		it = &s->changed.items[i];
		if (it->left && !strcmp(it->name, name) && ns_is_here(it)) {
			it->left = false;
			return 0;
		}
	}
	if (k->undo) {
		r = k->undo(&s->src, arg, old, &undo_name, &undo_value, e);
		if (r < 0)
			return r;
	} else {
		undo_name = mem_strdup(name);
		undo_value = mem_strdup(old);
	}
	it = journal_add(&s->changed);
	it->name = mem_strdup(name);
	it->old = mem_strdup(old);
	it->undo_name = undo_name;
	it->undo_value = undo_value;
	ns = k->ns ? k->ns(arg) : NULL;
	if (ns) {
		it->ns = mem_strdup(ns);
		ns_here(ns, &it->ns_inode, &it->ns_cookie);
	}
	if (write_journal(s, &own) < 0) {
		journal_drop(&s->changed, s->changed.n - 1);
		return error_set(e, ENOLCK, "no journal can be written: %s", own.text);
	}
	return 0;
}

static int want_one(struct settings *s, const struct setting *want, struct error *e)
{
	CLEANUP_FREE char *now = NULL;
	int r = read_value(s, want->name, &now, e);

	if (r < 0 || same_value(want->name, now, want->value))
		return r;
	if (!find(s, want->name))
		r = remember(s, want->name, now, e);
	return r < 0 ? r : apply_value(s, want->name, want->value, e);
}

static int read_back(struct settings *s, const struct setting *want, struct arena *a,
		     struct setting *ret, struct error *e)
{
	CLEANUP_FREE char *now = NULL;
	int r = read_value(s, want->name, &now, e);

	if (!r && !same_value(want->name, now, want->value))
		r = error_set(e, ESTALE, "it reads '%s'", now);
	if (r < 0)
		return r;
	if (ret) {
		ret->name = arena_strdup(a, want->name);
		ret->value = arena_strdup(a, now);
	}
	return 0;
}

int settings_want(struct settings *s, const struct setting *want, size_t n, struct arena *a,
		  struct setting *ret_values, bool *ret_skip, struct error *e)
{
	struct error own = ERROR_INIT;
	bool killed;
	size_t i;
	int r = 0;

	*ret_skip = false;
	if (put_back_others(s, want, n, false, e))
		return e ? -e->code : -EIO;
	/* Also where all is as wanted: it must be so for longer than another agent likes. */
	r = n ? begin(s, e) : 0;
	if (!r)
		r = others(s, &killed, e);
	*ret_skip = r < 0;
	for (i = 0; i < n && !r; i++) {
		r = want_one(s, &want[i], &own);
		if (r < 0) {
			*ret_skip = kind_skips(r);
			error_set(e, -r, "setting %s=%s%s: %s", want[i].name, want[i].value,
				  *ret_skip ? "" : " is refused", own.text);
		}
	}
	/* When all are made: one may change another. */
	for (i = 0; i < n && !r; i++) {
		r = read_back(s, &want[i], a, &ret_values[i], &own);
		if (r < 0)
			error_set(e, -r, "setting %s=%s did not take: %s", want[i].name,
				  want[i].value, own.text);
	}
	return r;
}

int settings_check(struct settings *s, const struct setting *want, size_t n, struct error *e)
{
	struct error own = ERROR_INIT;
	size_t i;
	bool killed;
	int r = others(s, &killed, e);

	if (r < 0)
		return r;
	if (killed)
		return error_set(e, EBUSY, "an agent that was killed had settings changed");
	for (i = 0; i < n; i++)
		if (read_back(s, &want[i], NULL, NULL, &own) < 0)
			return error_set(e, ESTALE, "setting %s=%s did not stay: %s", want[i].name,
					 want[i].value, own.text);
	return 0;
}

unsigned settings_restore(struct settings *s)
{
	unsigned failed = put_back_others(s, NULL, 0, true, NULL);

	mem_close_fd(&s->lock);
	s->lock = -1;
	return failed;
}
