/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commits of a git repository. It is only read: no ref, no index, no working tree of it is
 * touched, and a `git bisect` that goes on in it is left alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/bisect.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "image/image.h"
#include "kbuild/run.h"

#define HISTORY_MAX (512u << 20) /* bytes of rev-list's output; 200 of a commit are many */
#define SHORT	    12

/* ---- git ---- */

static int on_tick(void *arg)
{
	(void)arg;
	return *cmd_stop() != 0;
}

/* A status other than 0 is no error. */
static int git(const char *tree, const char *const *args, struct proc_result *ret, struct error *e)
{
	struct proc_opts o = { .cwd = tree, .tick = on_tick, .max_output = HISTORY_MAX };
	struct run_words w = RUN_WORDS_INIT;
	int r;

	run_env(&w);
	run_add_all(&w, (const char *const[]){ "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
					       "GIT_NO_LAZY_FETCH=1", "git", "--no-pager",
					       "--no-replace-objects", NULL });
	run_add_all(&w, args);
	r = run_words(&w, &o, ret, e);
	run_words_done(&w);
	return r;
}

static int git_failed(const char *tree, struct proc_result *res, struct error *e)
{
	char *s = str_trim(res->err);

	s[strcspn(s, "\n")] = '\0';
	if (strstr(s, "not a git repository"))
		return error_set(e, ENOENT,
				 "%s is in no git repository: give the kernel's with --tree DIR",
				 tree ? tree : "this folder");
	return error_set(e, EIO, "git: %s",
			 str_starts(s, "fatal: ") ? s + strlen("fatal: ")
			 : *s			  ? s
						  : "failed, and gave no reason");
}

/* All 40 digits (64 in a repository of SHA-256). */
static int resolve(const char *tree, const char *rev, char **ret, struct error *e)
{
	CLEANUP_FREE char *peeled = mem_printf("%s^{commit}", rev);
	const char *const args[] = { "rev-parse", "--verify", "--quiet", peeled, NULL };
	struct proc_result res = { .status = -1 };
	int r;

	*ret = NULL;
	/* No ref begins so; git would take it for an option. */
	if (!*rev || *rev == '-')
		return error_set(e, EINVAL, "'%s' is no commit: as in HEAD~10, v6.1, 1a2b3c4d",
				 rev);
	r = git(tree, args, &res, e);
	if (!r && res.status == 0)
		*ret = mem_strdup(str_trim(res.out));
	else if (!r && *str_trim(res.err))
		r = git_failed(tree, &res, e);
	else if (!r)
		r = error_set(e, ENOENT, "no commit '%s' in %s", rev,
			      tree ? tree : "the repository of this folder");
	proc_result_done(&res);
	return r;
}

int bisect_git_commit(const char *tree, const char *rev, char **ret_commit, struct error *e)
{
	CLEANUP_FREE char *all = NULL;
	int r = resolve(tree, rev, &all, e);

	*ret_commit = r < 0 ? NULL : mem_strndup(all, SHORT);
	return r;
}

/* The first line of its message; NULL: it has none. */
static char *title_of(const char *tree, const char *commit)
{
	const char *const args[] = { "show",	    "-s",   "--no-show-signature",
				     "--format=%s", commit, NULL };
	struct proc_result res = { .status = -1 };
	char *title = NULL;

	if (!git(tree, args, &res, NULL) && res.status == 0 && *str_trim(res.out))
		title = mem_strdup(str_trim(res.out));
	proc_result_done(&res);
	return title;
}

int bisect_git_kernel(const struct bisect *b, const char *commit, struct bisect_kernel *ret,
		      struct error *e)
{
	CLEANUP_FREE char *title = title_of(b->tree, commit);
	struct error shown = ERROR_INIT; /* makes control characters harmless */

	(void)e;
	ret->text = mem_printf("git:%.12s%s%s%s%s", commit, b->config ? ",config=" : "",
			       b->config ? b->config : "", b->append ? ",append=" : "",
			       b->append ? b->append : "");
	ret->label = mem_strndup(commit, SHORT);
	if (title)
		error_set(&shown, EINVAL, "%.12s (\"%s\")", commit, title);
	ret->shown = title ? mem_strdup(shown.text) : mem_strndup(commit, SHORT);
	return 0;
}

/* ---- the history between two commits ---- */

struct place {
	const char *id;
	unsigned node;
};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->id, ((const struct place *)b)->id);
}

/* One line: [-]ID PARENT...; the text is cut up. */
struct line {
	char *id, *parents;
	bool edge; /* good, by what it is an ancestor of */
};

static struct line *cut_lines(char *text, size_t *ret_n)
{
	struct line *lines = NULL;
	size_t n = 0, cap = 0;
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		struct line l = { .edge = *line == '-' };

		if (!*line)
			continue;
		l.parents = line + l.edge;
		l.id = strsep(&l.parents, " ");
		lines = mem_grow(lines, n, &cap, sizeof(*lines));
		lines[n++] = l;
	}
	*ret_n = n;
	return lines;
}

static int read_parents(struct bisect_commits *c, const struct line *lines,
			const struct place *places, struct error *e)
{
	unsigned *parents = NULL, *first, i, n = c->history.n;
	size_t used = 0, cap = 0;
	char *id, *rest;

	c->history.first = first = mem_array((size_t)n + 1, sizeof(*first));
	for (i = 0; i < n; i++) {
		first[i] = (unsigned)used;
		/* What lies before the good end is no suspect. */
		rest = lines[i].edge ? NULL : lines[i].parents;
		while ((id = strsep(&rest, " "))) {
			struct place key = { .id = id };
			const struct place *at = bsearch(&key, places, n, sizeof(key), by_id);

			if (!*id)
				continue;
			if (!at)
				return error_set(e, EBADMSG,
						 "git: commit %s has a parent that is not in the "
						 "history, %s",
						 lines[i].id, id);
			parents = mem_grow(parents, used, &cap, sizeof(*parents));
			parents[used++] = at->node;
			c->history.parents = parents;
		}
	}
	first[n] = (unsigned)used;
	return 0;
}

static int edges_first(const void *a, const void *b)
{
	const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;

	if (x->edge != y->edge)
		return x->edge ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* What stands at the edge comes first; the others are in git's order, parents before children. */
static int read_history(struct bisect_commits *c, char *text, const char *good, struct error *e)
{
	size_t n, i;
	CLEANUP_FREE struct line *lines = cut_lines(text, &n);
	CLEANUP_FREE const struct line **order = mem_array(n + 1, sizeof(*order));
	CLEANUP_FREE struct line *sorted = mem_array(n + 1, sizeof(*sorted));
	CLEANUP_FREE struct place *places = mem_array(n + 1, sizeof(*places));
	bool found = false;

	if (n > 1u << 30)
		return error_set(e, E2BIG, "git: too many commits");
	for (i = 0; i < n; i++)
		order[i] = &lines[i];
	qsort(order, n, sizeof(*order), edges_first);
	c->history.n = (unsigned)n;
	c->id = mem_array(n + 1, sizeof(*c->id));
	c->taken_good = mem_array(n + 1, sizeof(*c->taken_good));
	for (i = 0; i < n; i++) {
		sorted[i] = *order[i];
		snprintf(c->id[i], sizeof(c->id[i]), "%s", sorted[i].id);
		c->taken_good[i] = sorted[i].edge;
		places[i] = (struct place){ .id = sorted[i].id, .node = (unsigned)i };
		if (!strcmp(sorted[i].id, good)) {
			c->good = (unsigned)i;
			found = true;
		}
	}
	qsort(places, n, sizeof(*places), by_id);
	if (!found)
		return error_set(e, EBADMSG, "git: %s is not at the edge of its own history", good);
	return read_parents(c, sorted, places, e);
}

static int check_ancestor(const char *tree, const char *good, const char *bad, struct error *e)
{
	const char *const ancestor[] = { "merge-base", "--is-ancestor", good, bad, NULL };
	const char *const base[] = { "merge-base", good, bad, NULL };
	struct proc_result res = { .status = -1 };
	int r = git(tree, ancestor, &res, e);

	if (!r && res.status > 1)
		r = git_failed(tree, &res, e);
	if (r || res.status == 0) {
		proc_result_done(&res);
		return r;
	}
	proc_result_done(&res);
	res = (struct proc_result){ .status = -1 };
	r = git(tree, base, &res, e);
	if (!r && res.status == 0)
		r = error_set(
			e, EINVAL,
			"the good commit %.12s is no ancestor of the bad one: give one that is, "
			"such as where the two part, --good %.12s",
			good, str_trim(res.out));
	else if (!r)
		r = error_set(e, EINVAL,
			      "the good commit %.12s and the bad one have no history in common",
			      good);
	proc_result_done(&res);
	return r;
}

int bisect_git_history(const struct bisect *b, const char *good, const char *bad,
		       struct bisect_commits *ret, struct error *e)
{
	CLEANUP_FREE char *from = NULL, *to = NULL, *range = NULL;
	struct proc_result res = { .status = -1 };
	int r = resolve(b->tree, good, &from, e);

	memset(ret, 0, sizeof(*ret));
	ret->b = b;
	if (!r)
		r = resolve(b->tree, bad, &to, e);
	if (!r && str_eq(from, to))
		r = error_set(e, EINVAL, "--good and --bad are the same commit, %.12s", from);
	if (!r)
		r = check_ancestor(b->tree, from, to, e);
	if (r < 0)
		return r;
	range = mem_printf("%s..%s", from, to);
	r = git(b->tree,
		(const char *const[]){ "rev-list", "--topo-order", "--reverse", "--parents",
				       "--boundary", range, "--", NULL },
		&res, e);
	if (!r && res.status)
		r = git_failed(b->tree, &res, e);
	if (!r && res.truncated)
		r = error_set(e, E2BIG, "%s: more commits than can be held", range);
	if (!r)
		r = read_history(ret, res.out, from, e);
	proc_result_done(&res);
	return r;
}

void bisect_commits_done(struct bisect_commits *c)
{
	free((unsigned *)(uintptr_t)c->history.first);
	free((unsigned *)(uintptr_t)c->history.parents);
	free(c->id);
	free(c->taken_good);
	memset(c, 0, sizeof(*c));
}

/* ---- the command ---- */

static int commit_kernel(void *arg, unsigned node, struct bisect_kernel *ret, struct error *e)
{
	const struct bisect_commits *c = arg;

	return bisect_git_kernel(c->b, c->id[node], ret, e);
}

static int search(struct bisect *b, const char *good, const char *bad, struct error *e)
{
	struct bisect_commits c;
	struct bisect_subject s = { .commits = true, .kernel = commit_kernel, .arg = &c };
	struct str words = STR_INIT;
	int r = bisect_git_history(b, good, bad, &c, e);

	if (!r) {
		str_add(&words, "kdelta bisect git");
		bisect_words(b, &words);
		str_printf(&words, " --good %.12s --bad %.12s", c.id[c.good],
			   c.id[c.history.n - 1]);
		s.command = str_get(&words);
		s.history = c.history;
		s.good = c.good;
		s.taken_good = c.taken_good;
		r = bisect_search(b, &s);
	}
	str_done(&words);
	bisect_commits_done(&c);
	return r;
}

int bisect_git(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta bisect git --exact -w SPEC --good REV --bad REV [OPTION]...",
		.summary =
			"Finds the commit at which a figure moved, in the kernel tree of this folder.",
		.description =
			"Commits are built as git:REV of kdelta vm is: from one configuration, into a\n"
			"cache, each compiling only what it changed. The repository is only read: its\n"
			"HEAD, index and files stay as they are, and it is no git bisect that begins.\n\n"
			"Which commit is next is decided as git bisect does it, merges included; one\n"
			"that does not build or boot is skipped. REV is what git rev-parse takes for\n"
			"one commit; the good one is an ancestor of the bad one.",
		.examples =
			"  kdelta bisect git --exact -w getppid --good v6.1.170 --bad v6.1.192\n"
			"  kdelta bisect git --exact -w pipe -m total --good HEAD~32 --bad HEAD",
	};
	struct bisect b = BISECT_INIT;
	const char *good = NULL, *bad = NULL;
	const struct option table[] = {
		{ 0, "good", OPTION_TEXT, &good, "REV", NULL, 0, 0,
		  "where the figure was as it was" },
		{ 0, "bad", OPTION_TEXT, &bad, "REV", NULL, 0, 0, "where it has moved" },
		BISECT_OPTION_EXACT(&b),
		BISECT_OPTION_TREE(&b),
		BISECT_OPTION_CONFIG(&b),
		BISECT_OPTIONS(&b),
		CMD_STORE_OPTION(&b.m.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done), r = 0;

	if (!done) {
		if (b.exact && (!good || !bad))
			r = error_set(
				&err, EINVAL,
				"bisect git wants --good REV and --bad REV, two commits of the "
				"tree (see --help)");
		else if (at < argc)
			r = error_set(&err, EINVAL,
				      "bisect git takes no argument '%s': commits are given with "
				      "--good and --bad",
				      argv[at]);
		if (!r)
			r = bisect_prepare(&b, &err);
		if (!r)
			r = search(&b, good, bad, &err);
		code = r < 0 ? cmd_bad(&err) : r;
	}
	bisect_done(&b);
	return code;
}
