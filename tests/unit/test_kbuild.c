/* SPDX-License-Identifier: GPL-2.0-or-later */
/* git:REV with a toy tree (tests/kbuild/toy-kernel): what is built, kept, made again, and said. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "image/image.h"
#include "kbuild/kbuild.h"

static char dir[] = "/tmp/kdelta-kbuild-XXXXXX";
static char *path_before;

static char *sh(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct proc_opts o = { .cwd = dir };
	struct proc_result r;
	struct error e = ERROR_INIT;
	char *out;

	if (proc_run_ok(argv, &o, &r, &e) < 0)
		fail_msg("%s: %s", script, e.text);
	out = mem_strdup(str_trim(r.out));
	proc_result_done(&r);
	return out;
}

static void expect_sh(const char *script, const char *want)
{
	CLEANUP_FREE char *out = sh(script);

	assert_string_equal(out, want);
}

static int make_toy(void **state)
{
	static const char script[] = TEST_SOURCE_DIR "/kbuild/toy-kernel .";
	CLEANUP_FREE char *path = NULL;

	(void)state;
	assert_non_null(mkdtemp(dir));
	free(sh(script));
	path_before = mem_strdup(getenv("PATH"));
	path = mem_printf("%s/bin:%s", dir, path_before);
	setenv("PATH", path, 1);
	return 0;
}

static int remove_toy(void **state)
{
	(void)state;
	free(sh("rm -rf \"$PWD\""));
	setenv("PATH", path_before, 1);
	free(path_before);
	return 0;
}

static int fresh_cache(void **state)
{
	(void)state;
	free(sh("rm -rf cache"));
	return 0;
}

struct asked {
	const char *rev, *config, *tree;
	const struct kbuild_progress *progress;
	const volatile sig_atomic_t *stop;
};

static int build(const struct asked *a, struct kbuild_result *ret, struct error *e)
{
	CLEANUP_FREE char *tree = mem_printf("%s/%s", dir, a->tree ? a->tree : "tree");
	CLEANUP_FREE char *cache = mem_printf("%s/cache", dir);
	CLEANUP_FREE char *config = a->config && strcmp(a->config, KBUILD_TINY)
					    ? mem_printf("%s/%s", dir, a->config)
					    : mem_strdup(a->config);
	struct kbuild_request q = {
		.rev = a->rev, .config = config, .tree = tree, .cache_dir = cache, .jobs = 2
	};

	return kbuild_make(&q, a->progress, a->stop, ret, e);
}

static void builds(const char *rev, unsigned files)
{
	struct kbuild_result k;
	struct error e = ERROR_INIT;

	if (build(&(struct asked){ .rev = rev }, &k, &e) < 0)
		fail_msg("%s\n%s", e.text, k.log_tail ? k.log_tail : "");
	assert_int_equal(k.files, files);
	kbuild_result_done(&k);
}

static void fails(const struct asked *a, int code, const char *const *words)
{
	struct kbuild_result k;
	struct error e = ERROR_INIT;

	assert_int_equal(build(a, &k, &e), -code);
	for (; *words; words++)
		if (!strstr(e.text, *words))
			fail_msg("no '%s' in: %s", *words, e.text);
	assert_null(k.bzimage);
	kbuild_result_done(&k);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void built_and_kept(void **state)
{
	struct kbuild_result k, again;
	struct image image;
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *commit = sh("git -C tree rev-parse one");
	CLEANUP_FREE char *release = mem_printf("6.1.0-g%.12s", commit);
	char *text;

	(void)state;
	assert_int_equal(build(&(struct asked){ .rev = "one" }, &k, &e), 0);
	assert_string_equal(k.commit, commit);
	assert_string_equal(k.release, release);
	assert_false(k.cached);
	assert_int_equal(k.files, 4);
	assert_null(k.modules);
	assert_true(strstr(k.toolchain, ", GNU ld") != NULL);
	assert_true(str_starts(k.bzimage, k.dir));

	/* It is what image takes for a build tree, and the configuration is ours and the commit's.
	 */
	assert_int_equal(image_open_tree(k.dir, "git:one", &image, &e), 0);
	assert_string_equal(image.release, release);
	assert_string_equal(image.version, "#1 Thu Jan  1 00:00:00 UTC 1970");
	assert_string_equal(image.config_hash, k.config_hash);
	assert_true(strstr(image.config, "CONFIG_SERIAL_8250_CONSOLE=y\n") != NULL);
	assert_true(strstr(image.config, "CONFIG_SERIAL_8250_NR_UARTS=4\n") != NULL);
	assert_true(strstr(image.config, "CONFIG_TOY=y\n") != NULL);
	image_done(&image);

	assert_int_equal(build(&(struct asked){ .rev = "one" }, &again, &e), 0);
	assert_true(again.cached);
	assert_int_equal(again.files, 0);
	assert_string_equal(again.dir, k.dir);
	assert_string_equal(again.release, k.release);
	assert_string_equal(again.config_hash, k.config_hash);
	kbuild_result_done(&again);

	/* Anything in the cache may be deleted. */
	assert_int_equal(unlink(k.bzimage), 0);
	assert_int_equal(build(&(struct asked){ .rev = "one" }, &again, &e), 0);
	assert_false(again.cached);
	assert_int_equal(file_read(again.bzimage, 1 << 20, &text, NULL, &e), 0);
	free(text);
	kbuild_result_done(&again);
	kbuild_result_done(&k);
}

static void only_what_changed(void **state)
{
	(void)state;
	builds("one", 4);
	builds("two", 1); /* b.c is other, c.c is gone */
	free(sh("rm -rf cache/git/[0-9a-f]*-*"));
	builds("one", 2); /* b.c, and c.c, which is back */
	builds("one~0^{commit}", 0);
	expect_sh("ls cache/git/work-*/src",
		  "Kconfig\nMakefile\na.c\narch\nb.c\nc.c\nd.c\ndefaults");
}

static void repository_is_untouched(void **state)
{
	static const char look[] =
		"cd tree && git status --porcelain && git worktree list | wc -l && "
		"find . -type f | sort | xargs sha1sum | sha1sum";
	CLEANUP_FREE char *before = sh(look);

	(void)state;
	free(sh("echo 'int mine;' >tree/mine.c; rm -rf cache"));
	builds("one", 4); /* not what lies in the working tree */
	builds("two", 1);
	free(sh("rm tree/mine.c"));
	expect_sh(look, before);
}

static void same_for_everybody(void **state)
{
	CLEANUP_FREE char *sum = NULL, *env = NULL;

	(void)state;
	setenv("LOCALVERSION", "-mine", 1);
	setenv("MAKEFLAGS", "-n", 1);
	setenv("ARCH", "arm64", 1);
	setenv("KBUILD_OUTPUT", "/nonexistent", 1);
	setenv("GIT_DIR", "/nonexistent", 1);
	builds("one", 4);
	unsetenv("LOCALVERSION");
	unsetenv("MAKEFLAGS");
	unsetenv("ARCH");
	unsetenv("KBUILD_OUTPUT");
	unsetenv("GIT_DIR");
	env = sh("cat cache/git/work-*/config-*/env");
	assert_null(strstr(env, "mine"));
	assert_null(strstr(env, "nonexistent"));
	assert_non_null(strstr(env, "GIT_DIR=/dev/null"));
	sum = sh("sha1sum cache/git/*/arch/x86/boot/bzImage | cut -c1-40");
	free(sh("rm -rf cache"));
	builds("one", 4);
	expect_sh("sha1sum cache/git/*/arch/x86/boot/bzImage | cut -c1-40", sum);
}

static void configurations(void **state)
{
	struct kbuild_result k, again;
	struct error e = ERROR_INIT;

	(void)state;
	free(sh("printf '# a remark\nCONFIG_A=y\n# CONFIG_N is not set\n' >a.config;"
		"printf '# another\nCONFIG_A=y\n# CONFIG_N is not set\n' | gzip >a2.config;"
		"printf 'CONFIG_A=y\n' >b.config"));
	assert_int_equal(build(&(struct asked){ .rev = "one", .config = "a.config" }, &k, &e), 0);
	assert_int_equal(k.files, 4);
	expect_sh("grep -c 8250 cache/git/*/.config || true", "0");
	expect_sh("grep -x CONFIG_A=y cache/git/*/.config", "CONFIG_A=y");
	expect_sh("grep -x CONFIG_TOY=y cache/git/*/.config", "CONFIG_TOY=y");
	/* Remarks make no other configuration, and neither does compression; "not set" does. */
	assert_int_equal(build(&(struct asked){ .rev = "one", .config = "a2.config" }, &again, &e),
			 0);
	assert_true(again.cached);
	assert_string_equal(again.dir, k.dir);
	kbuild_result_done(&again);
	assert_int_equal(build(&(struct asked){ .rev = "one", .config = "b.config" }, &again, &e),
			 0);
	assert_false(again.cached);
	assert_int_equal(again.files, 4);
	assert_string_not_equal(again.dir, k.dir);
	/* What it became is the same. */
	assert_string_equal(again.config_hash, k.config_hash);
	kbuild_result_done(&again);

	/* The tree's own, if nothing is said. */
	free(sh("cp a.config tree/.config"));
	assert_int_equal(build(&(struct asked){ .rev = "one" }, &again, &e), 0);
	assert_string_equal(again.dir, k.dir);
	kbuild_result_done(&again);
	assert_int_equal(build(&(struct asked){ .rev = "one", .config = "tiny" }, &again, &e), 0);
	assert_string_not_equal(again.dir, k.dir);
	kbuild_result_done(&again);
	free(sh("rm tree/.config"));
	kbuild_result_done(&k);
}

static void modules(void **state)
{
	struct kbuild_result k;
	struct image image;
	struct error e = ERROR_INIT;
	CLEANUP_FREE char *want = NULL, *order = NULL, *path = NULL;

	(void)state;
	assert_int_equal(build(&(struct asked){ .rev = "modules" }, &k, &e), 0);
	assert_non_null(k.modules);
	want = mem_printf("lib/modules/%s/kernel/x.ko\n", k.release);
	path = mem_printf("%s/modules.order", k.dir);
	assert_int_equal(file_read(path, 1000, &order, NULL, &e), 0);
	assert_string_equal(order, want);
	expect_sh("ls cache/git/*/lib/modules/*", "kernel\nmodules.order");
	expect_sh("cat cache/git/*/modules.builtin", "kernel/builtin.ko");
	assert_int_equal(image_open_tree(k.dir, "git:modules", &image, &e), 0);
	assert_int_equal(image.modules_in, IMAGE_MODULES_TREE);
	image_done(&image);
	kbuild_result_done(&k);
	assert_int_equal(build(&(struct asked){ .rev = "modules" }, &k, &e), 0);
	assert_true(k.cached && k.modules);
	kbuild_result_done(&k);
}

static void does_not_build(void **state)
{
	struct kbuild_result k;
	struct error e = ERROR_INIT;
	char *log;

	(void)state;
	builds("one", 4);
	assert_int_equal(build(&(struct asked){ .rev = "broken" }, &k, &e), -ENOEXEC);
	assert_true(str_starts(e.text, "git:broken: commit "));
	assert_non_null(strstr(e.text, " does not build; the log: /"));
	assert_non_null(strstr(k.log_tail, "#error \"b is broken\""));
	assert_non_null(strstr(k.log_tail, "Error 1\n"));
	assert_null(strstr(k.log_tail, "  CC "));
	assert_null(k.bzimage);
	log = strrchr(e.text, ' ') + 1;
	assert_int_equal(access(log, R_OK), 0);
	kbuild_result_done(&k);
	fails(&(struct asked){ .rev = "unset" }, ENOEXEC, WORDS("cannot be configured"));
	fails(&(struct asked){ .rev = "full" }, ENOSPC, WORDS("no space left in /"));
	/* The next one is none the worse for it, and nothing is compiled in vain. */
	builds("two", 1);
	expect_sh("ls -d cache/git/[0-9a-f]*-* | wc -l", "2");
}

static void not_found(void **state)
{
	(void)state;
	fails(&(struct asked){ .rev = "nope" }, ENOENT,
	      WORDS("git:nope: no such commit in /", "/tree"));
	fails(&(struct asked){ .rev = "one:Makefile" }, ENOENT, WORDS("no such commit"));
	fails(&(struct asked){ .rev = "--all" }, EINVAL, WORDS("git:--all: not a commit"));
	fails(&(struct asked){ .rev = "" }, EINVAL, WORDS("not a commit"));
	fails(&(struct asked){ .rev = "one", .tree = "nowhere" }, ENOENT,
	      WORDS("--tree ", "nowhere: No such file"));
	fails(&(struct asked){ .rev = "one", .tree = "bin" }, ENOENT,
	      WORDS("bin is in no git repository", "--tree DIR"));
	fails(&(struct asked){ .rev = "other" }, EINVAL, WORDS("not a Linux kernel: commit "));
	fails(&(struct asked){ .rev = "one", .config = "none" }, ENOENT, WORDS("none: No such"));
	fails(&(struct asked){ .rev = "one", .config = "tree/a.c" }, EINVAL,
	      WORDS("tree/a.c: not a kernel configuration"));
}

static void tools(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/few", dir), *old = mem_strdup(getenv("PATH"));

	(void)state;
	free(sh("mkdir few; for t in env sh git; do ln -s $(command -v $t) few/$t; done"));
	setenv("PATH", path, 1);
	fails(&(struct asked){ .rev = "one" }, ENOPKG,
	      WORDS("git:one: ", "make, gcc, ld, flex, bison, bc",
		    "apt-get install make gcc binutils flex bison bc"));
	setenv("PATH", old, 1);
	free(sh("for t in make gcc ld bc; do ln -s $(command -v $t) few/$t; done"));
	setenv("PATH", path, 1);
	fails(&(struct asked){ .rev = "one" }, ENOPKG,
	      WORDS("not installed: flex, bison (Debian: apt-get install flex bison)"));
	setenv("PATH", old, 1);
	/* Known only once there is a configuration. */
	free(sh("printf 'CONFIG_KERNEL_LZO=y\nCONFIG_KERNEL_LZ4=n\n' >lzo.config; "
		"for t in flex bison cat cp grep; do ln -s $(command -v $t) few/$t; done"));
	setenv("PATH", path, 1);
	fails(&(struct asked){ .rev = "one", .config = "lzo.config" }, ENOPKG,
	      WORDS("not installed: lzop (Debian: apt-get install lzop)"));
	setenv("PATH", old, 1);
}

static volatile sig_atomic_t stop;

static void stop_soon(void *arg, const char *step, unsigned files)
{
	(void)arg;
	if (!strcmp(step, "compiling") && files == 4)
		stop = 1;
}

static void stopped_and_half_written(void **state)
{
	struct kbuild_progress p = { .report = stop_soon };
	uint64_t start = clock_mono_ns();

	(void)state;
	stop = 0;
	fails(&(struct asked){ .rev = "slow", .progress = &p, .stop = &stop }, ECANCELED,
	      WORDS("git:slow: interrupted"));
	assert_true(clock_mono_ns() - start < 30 * NSEC_PER_SEC);
	expect_sh("cat cache/git/work-*/config-*/z.o", "half");
	/*
	 * Make would take z.o: it is younger than what it is made of. As if d.o had been written
	 * shortly before the end, and the others long before.
	 */
	free(sh("cd cache/git/work-*; touch fast; cd config-*; touch -d '2 minutes' [dz].o "
		"kdelta.building"));
	builds("slow", 2);
	expect_sh("cat cache/git/work-*/config-*/z.o", "// slow");
	expect_sh("ls cache/git/work-*/config-*/kdelta.building 2>/dev/null || true", "");
}

static void killed(void **state)
{
	CLEANUP_FREE char *pid = NULL;
	pid_t child = fork();

	(void)state;
	if (!child) {
		struct kbuild_result k;

		build(&(struct asked){ .rev = "slow" }, &k, NULL);
		_exit(1);
	}
	pid = sh("for i in $(seq 100); do cat cache/git/work-*/pid 2>/dev/null && break; "
		 "sleep 0.1; done");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(atoi(pid) > 1);
	/* What it started has the lock, too, and ends with it. */
	expect_sh("flock -w 10 cache/git/work-*/lock true && echo free", "free");
	free(sh("cd cache/git/work-* && touch fast"));
	builds("slow", 4);
	expect_sh("cat cache/git/work-*/config-*/z.o", "// slow");
}

struct holder {
	int fd;
	bool waited;
};

static void let_go(void *arg, const char *step, unsigned files)
{
	struct holder *h = arg;

	(void)files;
	if (!strcmp(step, "waiting for another build")) {
		h->waited = true;
		mem_close_fd(&h->fd);
		h->fd = -1;
	}
}

static void one_at_a_time(void **state)
{
	CLEANUP_FREE char *lock = NULL;
	struct holder h = { .fd = -1 };
	struct kbuild_progress p = { let_go, &h };
	struct kbuild_result k;
	struct error e = ERROR_INIT;
	FILE *f;

	(void)state;
	builds("one", 4);
	lock = sh("ls $PWD/cache/git/work-*/lock");
	f = fopen(lock, "r");
	assert_non_null(f);
	h.fd = dup(fileno(f));
	fclose(f);
	assert_int_equal(flock(h.fd, LOCK_EX | LOCK_NB), 0);
	/* What is finished needs no lock. */
	builds("one", 0);
	assert_int_equal(build(&(struct asked){ .rev = "two", .progress = &p }, &k, &e), 0);
	assert_true(h.waited);
	kbuild_result_done(&k);
	expect_sh("flock -n cache/git/work-*/lock true && echo free", "free");
}

static void torn_checkout(void **state)
{
	(void)state;
	builds("one", 4);
	free(sh("cd cache/git/work-*; touch checkout index.lock src/stray.c; echo cut >src/a.c"));
	builds("two", 2); /* b.c, and a.c, which was written again */
	expect_sh("cd cache/git/work-*; ls -d checkout index.lock src/stray.c 2>/dev/null || true",
		  "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(built_and_kept, fresh_cache),
		cmocka_unit_test_setup(only_what_changed, fresh_cache),
		cmocka_unit_test_setup(repository_is_untouched, fresh_cache),
		cmocka_unit_test_setup(same_for_everybody, fresh_cache),
		cmocka_unit_test_setup(configurations, fresh_cache),
		cmocka_unit_test_setup(modules, fresh_cache),
		cmocka_unit_test_setup(does_not_build, fresh_cache),
		cmocka_unit_test_setup(not_found, fresh_cache),
		cmocka_unit_test_setup(tools, fresh_cache),
		cmocka_unit_test_setup(stopped_and_half_written, fresh_cache),
		cmocka_unit_test_setup(killed, fresh_cache),
		cmocka_unit_test_setup(one_at_a_time, fresh_cache),
		cmocka_unit_test_setup(torn_checkout, fresh_cache),
	};

	return cmocka_run_group_tests(tests, make_toy, remove_toy);
}
