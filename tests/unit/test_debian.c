/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debian:RELEASE against a made-up apt: two scripts in a folder that alone is in PATH. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "image/apt.h"
#include "image/cache.h"
#include "image/debian.h"
#include "image/image.h"
#include "image/sha256.h"
#include "image_build.h"

#define assert_has(text, part)                                                                     \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not have \"%s\"", text, part);                       \
	} while (0)

#define PACKAGE "linux-image-" BUILD_RELEASE
/* `show` prints the file of the package's name; `download` copies what.deb and counts. */
#define APT_CACHE                                                                                  \
	"#!/bin/sh\n"                                                                              \
	"[ \"$LC_ALL\" = C ] || exit 9\n"                                                          \
	"[ $1 = search ] && exec /bin/cat \"$KD_T/names\"\n"                                       \
	"a=$2; shift 3; r=100\n"                                                                   \
	"for p; do\n"                                                                              \
	"[ $a = --all-versions ] && [ -f \"$KD_T/all-$p\" ] && exec /bin/cat \"$KD_T/all-$p\"\n"   \
	"[ -f \"$KD_T/show-$p\" ] && /bin/cat \"$KD_T/show-$p\" && r=0\n"                          \
	"done\n"                                                                                   \
	"exit $r\n"
#define APT_GET                                                                                    \
	"#!/bin/sh\n"                                                                              \
	"echo \"$4\" >> \"$KD_T/downloads\"\n"                                                     \
	"[ -f \"$KD_T/what.deb\" ] || { echo 'E: no network' >&2; exit 100; }\n"                   \
	"exec /bin/cp \"$KD_T/what.deb\" ./x.deb\n"

static void write_text(const char *path, const char *text)
{
	assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static void write_show(const char *name, const char *package, const char *version,
		       const char *sha256, const char *more)
{
	CLEANUP_FREE char *path = mem_printf("show-%s", name);
	CLEANUP_FREE char *text =
		mem_printf("Package: %s\nVersion: %s\nArchitecture: amd64\nFilename: pool/x.deb\n"
			   "Size: 26429640\nSHA256: %s\n%sDescription: x\n more: y\n\n",
			   package, version, sha256, more);

	write_text(path, text);
}

static size_t downloads(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;

	if (file_read("downloads", 1 << 16, &text, NULL, NULL) < 0)
		return 0;
	for (char *s = text; (s = strchr(s, '\n')); s++)
		n++;
	return n;
}

static int report(void *arg, const char *what, uint64_t bytes, uint64_t of_bytes)
{
	(void)bytes;
	assert_string_equal(what, PACKAGE " 6.1.1-1");
	assert_int_equal(of_bytes, 26429640);
	++*(int *)arg;
	return 0;
}

static int refuse(void *arg, const char *what, uint64_t bytes, uint64_t of_bytes)
{
	(void)arg;
	(void)what;
	(void)bytes;
	(void)of_bytes;
	return 1;
}

static int open_text(const char *text, const struct image_progress *p, struct image *img,
		     struct error *e)
{
	struct kernel_spec k;
	int r;

	error_clear(e);
	assert_int_equal(kernel_spec_parse(text, &k, e), 0);
	r = image_open(&k, "cache/sub", p, img, e);
	kernel_spec_done(&k);
	return r;
}

static void fetch_and_cache(void **state)
{
	int calls = 0;
	const struct image_progress count = { report, &calls }, stop = { refuse, NULL };
	struct str deb = STR_INIT;
	struct cache_entry *cached;
	struct image img;
	struct error e;
	char hex[SHA256_HEX_SIZE];
	size_t n;

	(void)state;
	build_kernel_deb(&deb, ARCHIVE_FILTER_XZ, ".xz");
	sha256_hex(deb.s, deb.len, hex);
	assert_int_equal(file_replace("what.deb", deb.s, deb.len, NULL), 0);
	write_show(PACKAGE, PACKAGE, "6.1.1-1", hex, "");

	assert_int_equal(open_text("debian:" BUILD_RELEASE, &stop, &img, &e), -ECANCELED);
	assert_int_equal(downloads(), 0);
	if (open_text("debian:" BUILD_RELEASE, &count, &img, &e))
		fail_msg("%s", e.text);
	assert_string_equal(img.build_id, BUILD_ID);
	assert_string_equal(img.package_version, "6.1.1-1");
	assert_true(calls >= 2);
	image_done(&img);
	assert_int_equal(downloads(), 1);

	/* From the cache, whose file has its name from package, version and SHA-256. */
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), 0);
	image_done(&img);
	assert_int_equal(downloads(), 1);
	assert_int_equal(cache_list("cache/sub", &cached, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_true(str_starts(cached[0].path, "cache/sub/" PACKAGE "_6.1.1-1_"));
	assert_string_equal(cached[0].sha256, hex);
	cache_list_free(cached, n);
	str_done(&deb);
}

/* Goes on with what fetch_and_cache left in the cache. */
static void damaged_and_gone(void **state)
{
	static const char hex0[] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	CLEANUP_FREE char *one = NULL, *ten = NULL, *all = NULL;
	struct cache_entry *cached;
	struct image img;
	struct error e;
	size_t n;

	(void)state;
	assert_int_equal(cache_list("cache/sub", &cached, &n, NULL), 0);
	assert_int_equal(n, 1);
	/* Damaged where apt has it: fetched again without a word. */
	write_text(cached[0].path, "damaged");
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), 0);
	image_done(&img);
	assert_int_equal(downloads(), 2);
	/* A version that apt does not have. */
	assert_int_equal(open_text("debian:" BUILD_RELEASE "=7", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "debian:" BUILD_RELEASE "=7: not this version: apt offers 6.1.1-1, the "
			   "cache cache/sub has 6.1.1-1: take one of these (debian:" BUILD_RELEASE
			   "=VERSION)");
	/* Of several, all are named, once each. */
	write_show("all", PACKAGE, "6.1.1-1", hex0, "");
	assert_int_equal(file_read("show-all", 1 << 16, &one, NULL, NULL), 0);
	write_show("all", PACKAGE, "6.1.10-1", hex0, "");
	assert_int_equal(file_read("show-all", 1 << 16, &ten, NULL, NULL), 0);
	all = mem_printf("%s%s%s", one, ten, one);
	write_text("all-" PACKAGE, all);
	assert_int_equal(open_text("debian:" BUILD_RELEASE "=7", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "apt offers 6.1.10-1, 6.1.1-1, the cache");
	assert_int_equal(unlink("all-" PACKAGE), 0);
	/* apt's lists say another hash than what comes. */
	write_show(PACKAGE, PACKAGE, "6.1.1-2", hex0, "");
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), -EBADMSG);
	assert_has(e.text, "another SHA-256");
	assert_has(e.text, "the cache has debian:" BUILD_RELEASE "=6.1.1-1");
	assert_int_equal(unlink("what.deb"), 0);
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), -EIO);
	assert_has(e.text, "no network");
	/* Not offered any more: the cache has it. */
	assert_int_equal(unlink("show-" PACKAGE), 0);
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), 0);
	image_done(&img);
	assert_int_equal(open_text("debian:" BUILD_RELEASE "=6.1.1-1", NULL, &img, &e), 0);
	image_done(&img);
	/* Neither offered nor in the cache, where there is another version. */
	assert_int_equal(open_text("debian:" BUILD_RELEASE "=7", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "apt offers none, the cache cache/sub has 6.1.1-1");
	write_text(cached[0].path, "damaged");
	assert_int_equal(open_text("debian:" BUILD_RELEASE, NULL, &img, &e), -EBADMSG);
	assert_has(e.text, cached[0].path);
	assert_int_equal(unlink(cached[0].path), 0);
	cache_list_free(cached, n);
	/* Nothing of the downloads stays behind. */
	assert_int_equal(rmdir("cache/sub"), 0);
}

static void not_offered(void **state)
{
	static const char *const names[] = { "6.1.0-9-amd64", "6.1.0-12-cloud-amd64" };
	struct image_entry *list;
	struct image img;
	struct error e;
	size_t n, offered = 0;

	(void)state;
	write_text("names", "");
	assert_int_equal(open_text("debian:6.1.0-1-amd64", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "apt offers no kernel image at all: run apt-get update");
	write_text("names", "linux-image-6.1.0-9-amd64 - Linux\n"
			    "linux-image-6.1.0-9-amd64-unsigned - Linux\n"
			    "linux-image-6.1.0-9-amd64-dbg - Debug\n"
			    "linux-image-6.1-amd64 - meta\n"
			    "linux-image-6.1.0-12-cloud-amd64-unsigned - Linux\n"
			    "linux-image-amd64 - meta\n");
	write_show("linux-image-6.1.0-9-amd64", "linux-image-6.1.0-9-amd64", "6.1.9-1", "", "");
	write_show("linux-image-6.1.0-9-amd64-unsigned", "linux-image-6.1.0-9-amd64-unsigned",
		   "6.1.9-1", "", "");
	write_show("linux-image-6.1-amd64", "linux-image-6.1-amd64", "6.1.9-1", "", "Size: 1500\n");
	write_show("linux-image-6.1.0-12-cloud-amd64-unsigned",
		   "linux-image-6.1.0-12-cloud-amd64-unsigned", "6.1.12-1", "", "");
	assert_int_equal(open_text("debian:6.1.0-1-amd64", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "debian:6.1.0-1-amd64: apt does not offer linux-image-6.1.0-1-amd64; "
			   "close ones on offer: 6.1.0-9-amd64. Take");
	assert_has(e.text, "apt-get update");
	assert_int_equal(image_list("none", true, &list, &n, &e), 0);
	for (size_t i = 0; i < n; i++) {
		if (list[i].where != IMAGE_OFFERED)
			continue;
		assert_true(offered < 2);
		assert_string_equal(list[i].release, names[offered]);
		offered++;
	}
	assert_int_equal(offered, 2);
	image_list_free(list, n);
	setenv("PATH", "/no/such/folder", 1);
	assert_int_equal(open_text("debian:6.1.0-9-amd64", NULL, &img, &e), -ENOENT);
	assert_has(e.text, "apt is not on this machine");
	assert_has(e.text, "give the path of a .deb");
	assert_int_equal(image_list("none", true, &list, &n, &e), 0);
	image_list_free(list, n);
}

static void close_releases(void **state)
{
	static const char *const all[] = { "5.10.0-3-cloud-amd64", "6.1.0-9-cloud-amd64",
					   "6.1.0-10-amd64",	   "6.1.0-10-cloud-amd64",
					   "6.1.0-12-cloud-amd64", "6.12.9+deb12-amd64" };
	static const struct {
		const char *release, *want;
		size_t max;
	} cases[] = {
		{ "6.1.0-11-cloud-amd64", "6.1.0-10-cloud-amd64, 6.1.0-12-cloud-amd64", 2 },
		{ "6.1.0-1-cloud-amd64",
		  "6.1.0-9-cloud-amd64, 6.1.0-10-cloud-amd64, 6.1.0-12-cloud-amd64", 6 },
		{ "6.12.1+deb12-amd64", "6.12.9+deb12-amd64", 6 },
		{ "6.5.0-1-amd64", "6.1.0-10-amd64, 6.12.9+deb12-amd64", 6 },
		{ "6.5.0-1-rt-amd64", "6.1.0-12-cloud-amd64, 6.12.9+deb12-amd64", 2 },
		{ "9", "6.12.9+deb12-amd64", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *got =
			debian_close_releases(cases[i].release, all, ARRAY_SIZE(all), cases[i].max);

		assert_string_equal(got, cases[i].want);
	}
}

static void package_names(void **state)
{
	static const char *const none[] = { "linux-image-amd64", "linux-image-6.1.0-9-amd64-dbg",
					    "linux-image-6.12-amd64-signed-template",
					    "linux-headers-6.1.0-9-amd64", "linux-image-" };
	struct apt_package *list = NULL;
	size_t n = 0, cap = 0;
	char *s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_null(apt_release(none[i]));
	s = apt_release("linux-image-6.12.9+deb12-amd64-unsigned");
	assert_string_equal(s, "6.12.9+deb12-amd64");
	free(s);
	s = apt_release("linux-image-unsigned-6.8.0-45-generic");
	assert_string_equal(s, "6.8.0-45-generic");
	free(s);
	/* Another architecture; installed but not to be downloaded; no version. */
	apt_parse_show("Package: linux-image-6.1\nVersion: 1\nArchitecture: arm64\nFilename: f\n\n"
		       "Package: linux-image-6.1\nVersion: 1\nArchitecture: amd64\n\n"
		       "Package: linux-image-6.1\nArchitecture: amd64\nFilename: f\n\n"
		       "Package: linux-image-6.2\nVersion: 1:2\nArchitecture: amd64\nFilename: f",
		       &list, &n, &cap);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].release, "6.2");
	assert_string_equal(list[0].version, "1:2");
	assert_null(list[0].sha256);
	apt_list_free(list, n);
}

static void cache_names(void **state)
{
	static const char hex[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	struct cache_entry *list;
	char *data, *path;
	size_t n, len;

	(void)state;
	assert_int_equal(cache_list("no-such", &list, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(mkdir("c", 0777), 0);
	write_text("file", "abc");
	assert_int_equal(cache_add("c", "file", "linux-image-6", "1:6.1~x-1", hex, &path, NULL), 0);
	assert_true(str_starts(path, "c/linux-image-6_1%3a6.1~x-1_"));
	free(path);
	write_text("c/other_1_2.deb", "x");
	write_text("c/_.deb", "x");
	assert_int_equal(cache_list("c", &list, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].package, "linux-image-6");
	assert_string_equal(list[0].version, "1:6.1~x-1");
	assert_string_equal(list[0].sha256, hex);
	assert_int_equal(list[0].size, 3);
	assert_int_equal(cache_read(&list[0], &data, &len, NULL), 0);
	assert_string_equal(data, "abc");
	free(data);
	unlink(list[0].path);
	cache_list_free(list, n);
	unlink("c/other_1_2.deb");
	unlink("c/_.deb");
	assert_int_equal(rmdir("c"), 0);
}

static int enter_folder(void **state)
{
	static char path[] = "/tmp/kdelta-test-debian.XXXXXX";

	if (!mkdtemp(path) || chdir(path) < 0 || mkdir("bin", 0777) < 0)
		return -1;
	write_text("bin/apt-cache", APT_CACHE);
	write_text("bin/apt-get", APT_GET);
	write_text("names", "");
	if (chmod("bin/apt-cache", 0755) < 0 || chmod("bin/apt-get", 0755) < 0)
		return -1;
	setenv("KD_T", path, 1);
	*state = mem_printf("%s/bin", path);
	setenv("PATH", *state, 1);
	free(*state);
	*state = path;
	return 0;
}

static int leave_folder(void **state)
{
	const char *const argv[] = { "/bin/rm", "-r", *state, NULL };
	struct proc_result res = { .status = -1 };
	int r = chdir("/") < 0 ? -1 : proc_run_ok(argv, NULL, &res, NULL);

	proc_result_done(&res);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(package_names),    cmocka_unit_test(close_releases),
		cmocka_unit_test(cache_names),	    cmocka_unit_test(fetch_and_cache),
		cmocka_unit_test(damaged_and_gone), cmocka_unit_test(not_offered),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
