/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"
#include "kbuild/internal.h"
#include "kbuild/run.h"

#define HOOKLESS "core.hooksPath=/dev/null"

static int on_tick(void *arg)
{
	const struct build *b = arg;

	build_say(b, "checking out", 0);
	return build_stopped(b);
}

/* git in the folder `dir`; a status other than 0 is no error. */
static int git(const struct build *b, const char *dir, const char *const *args,
	       struct proc_result *ret, struct error *e)
{
	struct proc_opts o = { .cwd = dir, .tick = on_tick };
	struct run_words w = RUN_WORDS_INIT;
	int r;

	memcpy(&o.arg, &b, sizeof(b)); /* the tick does not write to it */
	run_env(&w);
	run_add_all(&w, (const char *const[]){ "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
					       "GIT_NO_LAZY_FETCH=1", "git", NULL });
	run_add_all(&w, args);
	r = run_words(&w, &o, ret, e);
	run_words_done(&w);
	return r;
}

/* What git said first, without its "fatal: ". */
static const char *said(struct proc_result *res)
{
	char *s = str_trim(res->err);

	s[strcspn(s, "\n")] = '\0';
	return str_starts(s, "fatal: ") ? s + strlen("fatal: ") : *s ? s : "no reason given";
}

/* The output of a git command that has one line; NULL if it failed. */
static int git_line(const struct build *b, const char *dir, const char *const *args,
		    char **ret_line, struct error *e)
{
	struct proc_result res = { .status = -1 };
	int r = git(b, dir, args, &res, e);

	*ret_line = NULL;
	if (!r && res.status == 0)
		*ret_line = mem_strdup(str_trim(res.out));
	proc_result_done(&res);
	return r;
}

static const char *tree_of(const struct build *b)
{
	return b->request->tree ? b->request->tree : ".";
}

static int find_repository(struct build *b, struct error *e)
{
	static const char *const args[] = { "rev-parse", "--absolute-git-dir", NULL };
	struct proc_result res = { .status = -1 };
	int r;

	if (access(tree_of(b), F_OK) < 0)
		return error_errno(e, errno, "--tree %s", tree_of(b));
	r = git(b, tree_of(b), args, &res, e);
	if (!r && res.status == 0)
		b->git_dir = mem_strdup(str_trim(res.out));
	else if (!r && strstr(res.err, "not a git repository"))
		r = error_set(e, ENOENT,
			      "%s is in no git repository: give the kernel's with --tree DIR",
			      b->request->tree ? b->request->tree : "this folder");
	else if (!r)
		r = error_set(e, EIO, "%s: git: %s", tree_of(b), said(&res));
	proc_result_done(&res);
	return r;
}

/* The commit has what is built; the working tree may have anything. */
static int check_kernel(const struct build *b, struct error *e)
{
	const char *const args[] = { "ls-tree", "--full-tree",	    "--name-only", b->ret->commit,
				     "Kconfig", "arch/x86/Kconfig", "Makefile",	   NULL };
	CLEANUP_FREE char *names = NULL;
	int r = git_line(b, tree_of(b), args, &names, e);

	if (!r && !str_eq(names, "Kconfig\nMakefile\narch/x86/Kconfig"))
		r = error_set(e, EINVAL,
			      "not a Linux kernel: commit %.12s of %s has no Makefile, Kconfig and "
			      "arch/x86",
			      b->ret->commit, b->top ? b->top : b->git_dir);
	return r;
}

int tree_resolve(struct build *b, struct error *e)
{
	const char *rev = b->request->rev;
	CLEANUP_FREE char *peeled = mem_printf("%s^{commit}", rev);
	const char *const args[] = { "rev-parse", "--verify", "--quiet", peeled, NULL };
	int r;

	/* No ref begins so; git would take it for an option. */
	if (!*rev || *rev == '-')
		return error_set(e, EINVAL, "not a commit: as git:HEAD~1, git:v6.1, git:1a2b3c4d");
	r = find_repository(b, e);
	if (!r)
		r = git_line(b, tree_of(b),
			     (const char *const[]){ "rev-parse", "--show-toplevel", NULL }, &b->top,
			     e);
	if (!r)
		r = git_line(b, tree_of(b), args, &b->ret->commit, e);
	if (!r && (!b->ret->commit || strlen(b->ret->commit) < 40))
		r = error_set(e, ENOENT, "no such commit in %s", b->top ? b->top : b->git_dir);
	return r ? r : check_kernel(b, e);
}

int tree_name(const struct build *b, char ret_hex[17], struct error *e)
{
	static const char *const args[] = { "rev-parse", "--git-common-dir", NULL };
	CLEANUP_FREE char *common = NULL, *path = NULL, *real = NULL;
	int r = git_line(b, tree_of(b), args, &common, e);

	if (r < 0)
		return r;
	path = !common		? mem_strdup(b->git_dir)
	       : *common == '/' ? mem_strdup(common)
				: mem_printf("%s/%s", tree_of(b), common);
	real = realpath(path, NULL);
	if (!real)
		return error_errno(e, errno, "%s", path);
	id_fnv1a(real, strlen(real), ret_hex);
	return 0;
}

/* git with our index and our copy of the files. */
static int git_src(const struct build *b, const char *const *args, struct error *e)
{
	CLEANUP_FREE char *index = mem_printf("GIT_INDEX_FILE=%s/index", b->work);
	struct proc_opts o = { .cwd = b->src, .tick = on_tick };
	struct proc_result res = { .status = -1 };
	struct run_words w = RUN_WORDS_INIT;
	int r;

	memcpy(&o.arg, &b, sizeof(b));
	run_env(&w);
	run_add_all(&w, (const char *const[]){ "GIT_NO_LAZY_FETCH=1", index, "git", NULL });
	run_add(&w, "--git-dir=%s", b->git_dir);
	run_add(&w, "--work-tree=%s", b->src);
	/* What a user may have set for a working tree of his own. */
	run_add_all(&w, (const char *const[]){ "-c", HOOKLESS, "-c", "core.splitIndex=false", "-c",
					       "core.sparseCheckout=false", "-c",
					       "core.autocrlf=false", "-c", "core.fsmonitor=false",
					       "-c", "core.untrackedCache=false", "-c",
					       "checkout.workers=0", NULL });
	run_add_all(&w, args);
	r = run_words(&w, &o, &res, e);
	if (!r && res.status)
		r = error_set(e, strstr(res.err, "No space left") ? ENOSPC : EIO,
			      "cannot check it out into %s: git: %s", b->src, said(&res));
	proc_result_done(&res);
	run_words_done(&w);
	return r;
}

int tree_checkout(struct build *b, struct error *e)
{
	const char *const read_tree[] = { "read-tree", "--reset", "-u", b->ret->commit, NULL };
	static const char *const clean[] = { "clean", "-ffdxq", NULL };
	CLEANUP_FREE char *lock = mem_printf("%s/index.lock", b->work);
	CLEANUP_FREE char *mark = mem_printf("%s/checkout", b->work);
	bool torn = access(mark, F_OK) == 0;
	CLEANUP_CLOSE int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	int r = fd < 0 ? error_errno(e, errno, "%s", mark) : file_mkdirs(b->src, e);

	unlink(lock); /* of a git that was killed: nobody else works here now */
	if (!r)
		r = git_src(b, read_tree, e);
	/* A checkout that was killed may have left files that no index knows. */
	if (!r && torn)
		r = git_src(b, clean, e);
	if (!r)
		unlink(mark);
	return r;
}
