/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kbuild/kbuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpulist.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/image.h"
#include "image/kconfig.h"
#include "image/sha256.h"
#include "kbuild/internal.h"

#define BZIMAGE	    "arch/x86/boot/bzImage"
#define RELEASE	    "include/config/kernel.release"
#define IMAGE_MAX   (1u << 30)
#define MODULES_MAX (16u << 20)
/* Raised when the same commit and configuration would be built otherwise than before. */
#define RECIPE "1"

void build_say(const struct build *b, const char *step, unsigned files)
{
	if (b->progress && b->progress->report)
		b->progress->report(b->progress->arg, step, files);
}

bool build_stopped(const struct build *b)
{
	return b->stop && *b->stop;
}

/* Of a string that is owned: the new one, the old one freed. */
static void set(char **at, char *value)
{
	free(*at);
	*at = value;
}

static void name_files(struct kbuild_result *k)
{
	set(&k->bzimage, mem_printf("%s/" BZIMAGE, k->dir));
	set(&k->config, mem_printf("%s/.config", k->dir));
	set(&k->modules, mem_printf("%s/lib/modules/%s", k->dir, k->release));
	if (access(k->modules, F_OK) < 0)
		set(&k->modules, NULL);
}

/* A finished kernel of which nothing was deleted. */
static bool find_finished(struct build *b)
{
	struct kbuild_result *k = b->ret;
	CLEANUP_FREE char *path = mem_printf("%s/" CACHE_FACTS, k->dir);
	CLEANUP_FREE char *facts = NULL;

	if (file_read(path, 1 << 16, &facts, NULL, NULL) < 0)
		return false;
	set(&k->release, cache_fact(facts, "release"));
	set(&k->config_hash, cache_fact(facts, "config_hash"));
	if (!k->release || !k->config_hash)
		return false;
	name_files(k);
	k->cached = access(k->bzimage, R_OK) == 0 && access(k->config, R_OK) == 0;
	return k->cached;
}

static void make_key(struct build *b)
{
	struct str s = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	str_printf(&s, "recipe " RECIPE "\n%s\n%s", b->ret->toolchain, b->seed ? b->seed : "");
	for (const char *const *t = kbuild_tiny; *t && !b->seed; t++)
		str_printf(&s, "%s\n", *t);
	sha256_hex(s.s, s.len, hex);
	memcpy(b->key, hex, sizeof(b->key) - 1);
	str_done(&s);
}

/* 0; -EAGAIN: what was locked is no longer there, kbuild_cache_drop() was faster. */
static int lock_wait(struct build *b, const char *path, int fd, struct error *e)
{
	struct stat is, was;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(e, errno, "cannot lock %s", path);
		if (build_stopped(b))
			return error_set(e, ECANCELED, "interrupted");
		build_say(b, "waiting for another build", 0);
		clock_sleep_ns(250 * NSEC_PER_MSEC);
	}
	return !stat(path, &is) && !fstat(fd, &was) && is.st_ino == was.st_ino ? 0 : -EAGAIN;
}

/*
 * Makes and locks the repository's folder. The descriptor is inherited by make and all it starts,
 * so that what outlives a killed kdelta still keeps the next one out.
 */
static int lock_work(struct build *b, int *ret_fd, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/lock", b->work);
	int fd, r;

	do {
		r = file_mkdirs(b->work, e);
		if (r < 0)
			return r;
		fd = open(path, O_RDWR | O_CREAT, 0666);
		if (fd < 0 && errno == ENOENT) {
			r = -EAGAIN;
			continue;
		}
		if (fd < 0)
			return error_errno(e, errno, "%s", path);
		r = lock_wait(b, path, fd, e);
		if (r < 0)
			close(fd);
	} while (r == -EAGAIN);
	if (!r)
		*ret_fd = fd;
	return r;
}

static int does_not_build(struct build *b, const char *what, struct error *e)
{
	CLEANUP_FREE char *kept = mem_printf("%s/failed-%.12s.log", b->work, b->ret->commit);

	b->ret->log_tail = make_log_tail(b->log, KBUILD_TAIL);
	if (rename(b->log, kept) < 0)
		return error_errno(e, errno, "%s", kept);
	if (strstr(b->ret->log_tail, "No space left on device"))
		return error_set(e, ENOSPC, "no space left in %s", b->work);
	return error_set(e, ENOEXEC, "commit %.12s %s; the log: %s", b->ret->commit, what, kept);
}

static int copy_into(const char *dir, const char *name, const void *data, size_t len,
		     struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/%s", dir, name);
	CLEANUP_FREE char *folder = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
	int r = file_mkdirs(folder, e);

	return r ? r : file_replace(path, data, len, e);
}

/* What modules_install adds beside the modules: links to folders that will not stay as they are. */
static void unlink_folders(const char *dir, const char *release)
{
	CLEANUP_FREE char *build = mem_printf("%s/lib/modules/%s/build", dir, release);
	CLEANUP_FREE char *source = mem_printf("%s/lib/modules/%s/source", dir, release);

	unlink(build);
	unlink(source);
}

static int install_modules(struct build *b, const char *dir, struct error *e)
{
	CLEANUP_FREE char *to = mem_printf("INSTALL_MOD_PATH=%s", dir);
	const char *const args[] = { to, "INSTALL_MOD_STRIP=1", "modules_install", NULL };
	int status, r = make_run(b, "installing modules", args, &status, e);

	if (!r && status)
		r = does_not_build(b, "has modules that cannot be installed", e);
	unlink_folders(dir, b->ret->release);
	return r;
}

/* modules.order as a build tree has it, but of the modules where they were installed. */
static int list_modules(struct build *b, const char *dir, bool modules, struct error *e)
{
	CLEANUP_FREE char *builtin = mem_printf("%s/modules.builtin", b->out);
	CLEANUP_FREE char *path =
		mem_printf("%s/lib/modules/%s/modules.order", dir, b->ret->release);
	CLEANUP_FREE char *text = NULL, *order = NULL;
	struct str out = STR_INIT;
	char *line, *next;
	size_t len;
	int r = 0;

	/* What old kernels write only for modules, tells nothing without them. */
	if (file_read(builtin, MODULES_MAX, &text, &len, NULL) == 0)
		r = copy_into(dir, "modules.builtin", text, len, e);
	if (!r && modules)
		r = file_read(path, MODULES_MAX, &order, NULL, e);
	next = order;
	while ((line = strsep(&next, "\n")))
		if (*line)
			str_printf(&out, "lib/modules/%s/%s\n", b->ret->release, line);
	if (!r)
		r = copy_into(dir, "modules.order", str_get(&out), out.len, e);
	str_done(&out);
	return r;
}

/* The finished kernel, in a folder beside its place. */
static int collect(struct build *b, const char *dir, const char *config, bool modules,
		   struct error *e)
{
	struct kbuild_result *k = b->ret;
	CLEANUP_FREE char *image = mem_printf("%s/" BZIMAGE, b->out);
	CLEANUP_FREE char *release = mem_printf("%s/" RELEASE, b->out);
	CLEANUP_FREE char *data = NULL, *facts = NULL;
	size_t len = 0;
	int r = file_read(image, IMAGE_MAX, &data, &len, e);

	set(&k->release, file_line(release));
	if (!r && !k->release)
		r = error_set(e, EIO, "%s: no release in it", release);
	if (r < 0)
		return r;
	facts = mem_printf("commit %s\nrelease %s\nconfig_hash %s\ntoolchain %s\n", k->commit,
			   k->release, k->config_hash, k->toolchain);
	r = copy_into(dir, ".config", config, strlen(config), e);
	if (!r)
		r = copy_into(dir, BZIMAGE, data, len, e);
	if (!r)
		r = copy_into(dir, RELEASE, k->release, strlen(k->release), e);
	if (!r)
		r = copy_into(dir, CACHE_FACTS, facts, strlen(facts), e);
	if (!r && modules)
		r = install_modules(b, dir, e);
	return r ? r : list_modules(b, dir, modules, e);
}

static int finish(struct build *b, const char *config, bool modules, struct error *e)
{
	CLEANUP_FREE char *dir = mem_printf("%s/finished", b->work);
	int r;

	cache_remove(dir); /* of one that was killed */
	r = collect(b, dir, config, modules, e);
	if (!r) {
		cache_remove(b->ret->dir);
		/* Another copy of the repository may have been faster. */
		if (rename(dir, b->ret->dir) < 0 && errno != ENOTEMPTY && errno != EEXIST)
			r = error_errno(e, errno, "%s", b->ret->dir);
	}
	cache_remove(dir);
	if (!r)
		name_files(b->ret);
	return r;
}

static int compile(struct build *b, struct error *e)
{
	CLEANUP_FREE char *config = NULL;
	const char *args[] = { "bzImage", NULL, NULL };
	int status = 0, r = config_make(b, &config, &status, e);
	bool modules;

	if (!r && status)
		return does_not_build(b, "cannot be configured", e);
	if (r < 0)
		return r;
	set(&b->ret->config_hash, kconfig_hash(config));
	modules = strstr(config, "\nCONFIG_MODULES=y\n") && strstr(config, "=m\n");
	if (modules)
		args[1] = "modules";
	r = tools_check(config, e);
	if (!r)
		r = make_run(b, "compiling", args, &status, e);
	if (!r && status)
		return does_not_build(b, "does not build", e);
	return r ? r : finish(b, config, modules, e);
}

/* In the locked folder. */
static int build_here(struct build *b, struct error *e)
{
	CLEANUP_FREE char *tmp = mem_printf("%s/tmp", b->work);
	int r;

	if (find_finished(b)) /* while we waited */
		return 0;
	r = tools_check(NULL, e);
	if (!r)
		r = tree_checkout(b, e);
	if (!r)
		r = file_mkdirs(b->out, e);
	cache_remove(tmp);
	if (!r)
		r = file_mkdirs(tmp, e);
	if (!r)
		r = make_sweep(b, e);
	if (!r)
		r = make_begin(b, e);
	if (r < 0)
		return r;
	unlink(b->log);
	r = compile(b, e);
	/* Then make was killed as it wrote; else it removed itself what it did not finish. */
	if (r != -ECANCELED && r != -EINTR)
		make_end(b);
	return r;
}

static int find_cache(struct build *b, struct error *e)
{
	CLEANUP_FREE char *own = b->request->cache_dir ? NULL : image_cache_dir();
	CLEANUP_FREE char *path = mem_printf("%s/git", own ? own : b->request->cache_dir);
	int r = file_mkdirs(path, e);

	if (r < 0)
		return error_prefix(e, "cannot make the cache folder");
	b->cache = realpath(path, NULL);
	if (!b->cache)
		return error_errno(e, errno, "%s", path);
	if (strpbrk(b->cache, " :"))
		return error_set(
			e, EINVAL,
			"a kernel cannot be built in a folder with a blank or a colon in its "
			"name: %s; set KDELTA_CACHE to another",
			b->cache);
	return 0;
}

static int kernel(struct build *b, struct error *e)
{
	char name[17];
	int lock = -1, r = tree_resolve(b, e);

	if (!r)
		r = config_seed(b, e);
	if (!r)
		r = tools_toolchain(&b->ret->toolchain, e);
	if (!r)
		r = find_cache(b, e);
	if (r < 0)
		return r;
	make_key(b);
	b->ret->dir = mem_printf("%s/%s-%s", b->cache, b->ret->commit, b->key);
	if (find_finished(b))
		return 0;
	r = tree_name(b, name, e);
	if (r < 0)
		return r;
	b->work = mem_printf("%s/work-%s", b->cache, name);
	b->src = mem_printf("%s/src", b->work);
	b->out = mem_printf("%s/config-%s", b->work, b->key);
	b->log = mem_printf("%s/log", b->work);
	r = lock_work(b, &lock, e);
	if (!r)
		r = build_here(b, e);
	if (lock >= 0) {
		flock(lock, LOCK_UN); /* for all that inherited it */
		close(lock);
	}
	return r;
}

static unsigned cpus(void)
{
	struct cpulist l = CPULIST_INIT;
	unsigned n = cpulist_allowed(&l, NULL) < 0 || !l.n ? 1 : (unsigned)l.n;

	cpulist_done(&l);
	return n;
}

int kbuild_make(const struct kbuild_request *request, const struct kbuild_progress *progress,
		const volatile sig_atomic_t *stop, struct kbuild_result *ret, struct error *e)
{
	struct kbuild_request own = *request;
	struct build b = { .request = &own, .progress = progress, .stop = stop, .ret = ret };
	struct error cause = ERROR_INIT;
	int r;

	*ret = (struct kbuild_result){ .dir = NULL };
	if (!own.jobs)
		own.jobs = cpus();
	r = kernel(&b, &cause);
	if (r == -ECANCELED)
		error_set(e, ECANCELED, "git:%s: interrupted", request->rev);
	else if (r < 0)
		error_set(e, -r, "git:%s: %s", request->rev, cause.text);
	free(b.cache);
	free(b.git_dir);
	free(b.top);
	free(b.work);
	free(b.src);
	free(b.out);
	free(b.log);
	free(b.seed);
	return r;
}

void kbuild_result_done(struct kbuild_result *k)
{
	if (!k)
		return;
	free(k->dir);
	free(k->bzimage);
	free(k->config);
	free(k->modules);
	free(k->release);
	free(k->commit);
	free(k->config_hash);
	free(k->toolchain);
	free(k->log_tail);
	*k = (struct kbuild_result){ .dir = NULL };
}
