/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
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
#include "image/bzimage.h"
#include "image/deb.h"
#include "image/image.h"
#include "image/kconfig.h"
#include "image/sha256.h"
#include "image/vmlinux.h"
#include "image_build.h"

#define assert_has(text, part)                                                                     \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not have \"%s\"", text, part);                       \
	} while (0)

/* Parses a copy that ends exactly where the data do, so that a sanitizer sees a byte too far. */
static int open_exact(const void *data, size_t len, struct image *img, struct error *e)
{
	CLEANUP_FREE void *exact = malloc(len ? len : 1);

	assert_non_null(exact);
	memcpy(exact, data, len);
	error_clear(e);
	return image_open_bytes(exact, len, "it", img, e);
}

static void specs(void **state)
{
	static const struct {
		const char *text, *label, *what, *append;
		enum kernel_source source;
	} good[] = {
		{ "vmlinuz", NULL, "vmlinuz", NULL, KERNEL_FILE },
		{ "a=vmlinuz", "a", "vmlinuz", NULL, KERNEL_FILE },
		{ "6.1-rc2_x+y=/k/bz", "6.1-rc2_x+y", "/k/bz", NULL, KERNEL_FILE },
		{ "x=y=z", "x", "y=z", NULL, KERNEL_FILE },
		{ "./a=b", NULL, "./a=b", NULL, KERNEL_FILE },
		{ "-a=b", NULL, "-a=b", NULL, KERNEL_FILE },
		{ "there=file", NULL, "there=file", NULL, KERNEL_FILE },
		{ "there=file,append=x=1", NULL, "there=file", "x=1", KERNEL_FILE },
		{ "l=there=file", "l", "there=file", NULL, KERNEL_FILE },
		{ "git:there", NULL, "git:there", NULL, KERNEL_FILE },
		{ "./git:HEAD", NULL, "./git:HEAD", NULL, KERNEL_FILE },
		{ "k,append=", NULL, "k", "", KERNEL_FILE },
		{ "k,append=a=b,c d,append=e", NULL, "k", "a=b,c d,append=e", KERNEL_FILE },
		{ "debian:6.1.0-55-cloud-amd64", NULL, "6.1.0-55-cloud-amd64", NULL,
		  KERNEL_DEBIAN },
		{ "n=debian:6.1-a=1:6.1~x+b,append=q", "n", "6.1-a=1:6.1~x+b", "q", KERNEL_DEBIAN },
		{ "installed:6.1 my build", NULL, "6.1 my build", NULL, KERNEL_INSTALLED },
		{ "i=installed:6.2.12*,append=q", "i", "6.2.12*", "q", KERNEL_INSTALLED },
		{ "running", NULL, "running", NULL, KERNEL_RUNNING },
		{ "r=running,append=", "r", "running", "", KERNEL_RUNNING },
		{ "./running", NULL, "./running", NULL, KERNEL_FILE },
		{ "git:HEAD~1", NULL, "HEAD~1", NULL, KERNEL_GIT },
		{ "g=git:v6.1^{},append=a,config=b", "g", "v6.1^{}", "a,config=b", KERNEL_GIT },
		{ "\"a, \\\"b\\\\=\xc3\xb6\"=debian:6", "a, \"b\\=\xc3\xb6", "6", NULL,
		  KERNEL_DEBIAN },
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "no kernel is named" },
		{ "a=", "no kernel is named" },
		{ ",append=x", "no kernel is named" },
		{ "rpm:6.1", "unknown form" },
		{ "installed:", "not a release" },
		{ "installed:../x", "not a release" },
		{ "installed:.", "not a release" },
		{ "git:", "no commit is named" },
		{ "git:-o", "no commit is named" },
		{ "git:,config=x", "no commit is named" },
		{ "git:v6.1..v6.2", "a range of commits" },
		{ "git:a\tb", "control character" },
		{ "git:HEAD,confg=x", "unknown option 'confg'" },
		{ "git:HEAD,config=", "config= wants a file" },
		{ "vmlinuz,apend=x", "unknown option 'apend'" },
		{ "debian:", "not a release" },
		{ "debian:-o", "not a release" },
		{ "debian:6 1", "not a release" },
		{ "debian:6.1=", "not a package version" },
		{ "debian:6.1=-o", "not a package version" },
		{ "\"abc", "a quoted label ends with" },
		{ "\"abc\"", "a quoted label ends with" },
		{ "\"\"=k", "the label is empty" },
		{ "\"a\tb\"=k", "control character" },
		{ "\"\xff\"=k", "not UTF-8" },
		{ "\"\xed\xa0\x80\"=k", "not UTF-8" },
	};
	static const char *const same[] = { "vmlinuz", "debian:6.1-a=1:6.1~x+b",
					    "installed:6.1 my build", "running", "git:HEAD~1" };
	struct kernel_spec k;
	struct error e;
	char *s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		error_clear(&e);
		if (kernel_spec_parse(good[i].text, &k, &e))
			fail_msg("%s", e.text);
		if (!str_eq(k.label, good[i].label) || !str_eq(k.what, good[i].what) ||
		    !str_eq(k.append, good[i].append) || k.source != good[i].source)
			fail_msg("%s: label %s, what %s, append %s", good[i].text,
				 k.label ? k.label : "-", k.what, k.append ? k.append : "-");
		assert_string_equal(k.text, good[i].text);
		kernel_spec_done(&k);
	}
	/* KERNEL again, without label and append; the configuration takes commas. */
	assert_int_equal(kernel_spec_parse("x=git:topic/a,config=b,c d,append=q", &k, NULL), 0);
	assert_string_equal(k.what, "topic/a");
	assert_string_equal(k.config, "b,c d");
	s = kernel_spec_kernel(&k);
	assert_string_equal(s, "git:topic/a,config=b,c d");
	free(s);
	kernel_spec_done(&k);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		assert_int_equal(kernel_spec_parse(same[i], &k, NULL), 0);
		s = kernel_spec_kernel(&k);
		assert_string_equal(s, same[i]);
		free(s);
		kernel_spec_done(&k);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		error_clear(&e);
		if (kernel_spec_parse(bad[i].text, &k, &e) != -EINVAL)
			fail_msg("'%s' was taken", bad[i].text);
		assert_has(e.text, bad[i].why);
		assert_null(strchr(e.text, '\n'));
	}
}

static void labels(void **state)
{
	static const char *const taken[] = { "a", "a_2", "b" };
	struct kernel_spec k = { .what = (char[]){ "/x/my kernel" } };
	char *s, name[IMAGE_LABEL_MAX + 2];

	(void)state;
	s = image_label_unique("a", taken, 3);
	assert_string_equal(s, "a_3");
	free(s);
	s = image_label_unique("c", taken, 3);
	assert_string_equal(s, "c");
	free(s);
	s = image_label_default(&k, NULL);
	assert_string_equal(s, "my_kernel");
	free(s);
	k.append = (char[]){ " slub_debug=FZPU quiet" };
	s = image_label_default(&k, "6.1.0");
	assert_string_equal(s, "6.1.0+slub_debug");
	free(s);
	memset(name, 'a', sizeof(name));
	name[IMAGE_LABEL_MAX] = '\0';
	assert_int_equal(image_label_check(name, NULL), 0);
	name[IMAGE_LABEL_MAX] = 'a';
	name[IMAGE_LABEL_MAX + 1] = '\0';
	assert_int_equal(image_label_check(name, NULL), -EINVAL);
}

static void hashes(void **state)
{
	char hex[SHA256_HEX_SIZE], *a, *b;

	(void)state;
	/* FIPS 180-4's own example. */
	sha256_hex("abc", 3, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_true(sha256_is_hex(hex));
	assert_false(sha256_is_hex("abc"));
	a = kconfig_normalise(BUILD_CONFIG);
	assert_string_equal(a, "CONFIG_64BIT=y\nCONFIG_HZ=250\n");
	free(a);
	assert_null(kconfig_normalise("# CONFIG_X is not set\nnothing\n"));
	assert_null(kconfig_hash(NULL));
	a = kconfig_hash("CONFIG_A=y\nCONFIG_B=\"x y\"\n");
	b = kconfig_hash("# other\r\nCONFIG_B=\"x y\"\n\nCONFIG_A=y");
	assert_string_equal(a, b);
	free(b);
	b = kconfig_hash("CONFIG_A=m\nCONFIG_B=\"x y\"\n");
	assert_string_not_equal(a, b);
	free(a);
	free(b);
}

static void check_test_kernel(const struct image *img)
{
	assert_string_equal(img->release, BUILD_RELEASE);
	assert_string_equal(img->version, BUILD_VERSION);
	assert_string_equal(img->build_id, BUILD_ID);
	assert_string_equal(img->config, BUILD_CONFIG);
	assert_int_equal(strlen(img->config_hash), 64);
	assert_true(img->bootable);
	assert_int_equal(image_check_bootable(img, NULL), 0);
}

static void bzimage_in_each_compression(void **state)
{
	static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ,
				       ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_BZIP2,
				       ARCHIVE_FILTER_LZMA, ARCHIVE_FILTER_LZ4 };
	char hex[SHA256_HEX_SIZE];
	struct str bz = STR_INIT;
	struct image img;
	struct error e;
	char *data;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		build_bzimage(&bz, filters[i]);
		str_add(&bz, "a signature may stand behind the image");
		if (open_exact(bz.s, bz.len, &img, &e))
			fail_msg("%s", e.text);
		check_test_kernel(&img);
		assert_int_equal(img.size, bz.len);
		assert_int_equal(file_read_fd(img.fd, "fd", 1 << 20, &data, &len, NULL), 0);
		assert_int_equal(len, bz.len);
		assert_memory_equal(data, bz.s, len);
		sha256_hex(data, len, hex);
		assert_string_equal(img.sha256, hex);
		assert_true(fcntl(img.fd, F_GETFD) & FD_CLOEXEC);
		free(data);
		image_done(&img);
	}
	str_done(&bz);
}

static void bzimage_hostile(void **state)
{
	struct str bz = STR_INIT;
	struct image img;
	struct error e;
	size_t len, i;

	(void)state;
	build_bzimage(&bz, ARCHIVE_FILTER_GZIP);
	for (len = 0; len < bz.len; len++) {
		assert_true(open_exact(bz.s, len, &img, &e) < 0);
		assert_has(e.text, !len ? "empty" : len < 0x206 ? "not a kernel" : "cut short");
	}
	/* Any byte of the header may lie: nothing may crash, and a kernel always has a release. */
	for (i = 0x1f0; i < 0x340; i++) {
		char was = bz.s[i];

		bz.s[i] = (char)0xff;
		if (!open_exact(bz.s, bz.len, &img, &e))
			assert_non_null(img.release);
		image_done(&img);
		bz.s[i] = was;
	}
	build_put(&bz, 0x206, 0x203, 2);
	assert_int_equal(open_exact(bz.s, bz.len, &img, &e), -EINVAL);
	assert_has(e.text, "boot protocol 2.03");
	build_put(&bz, 0x206, 0x20f, 2);
	build_put(&bz, 0x20e, 0, 2);
	assert_int_equal(open_exact(bz.s, bz.len, &img, &e), -EINVAL);
	assert_has(e.text, "without a version string");
	build_put(&bz, 0x20e, 0x100, 2);
	build_put(&bz, 0x236, 0, 2);
	assert_int_equal(open_exact(bz.s, bz.len, &img, &e), 0);
	assert_int_equal(image_check_bootable(&img, &e), -ENOTSUP);
	assert_has(e.text, "32-bit");
	image_done(&img);
	/* Damaged inside: the build-id is unknown, what the header says stays. */
	build_put(&bz, 0x236, 1, 2);
	memset(bz.s + 1024 + 16 + 40, 0x55, 60);
	assert_int_equal(open_exact(bz.s, bz.len, &img, &e), 0);
	assert_null(img.build_id);
	assert_null(img.config_hash);
	assert_string_equal(img.release, BUILD_RELEASE);
	image_done(&img);
	str_done(&bz);
}

static void vmlinux(void **state)
{
	struct str elf = STR_INIT;
	struct image img;
	struct error e;
	size_t len, i;

	(void)state;
	build_vmlinux(&elf, true, true);
	assert_int_equal(open_exact(elf.s, elf.len, &img, &e), 0);
	check_test_kernel(&img);
	image_done(&img);
	for (len = 0; len < elf.len; len++) {
		if (!open_exact(elf.s, len, &img, &e))
			assert_string_equal(img.version, BUILD_VERSION);
		image_done(&img);
	}
	/* What the program headers promise must be there. */
	build_put(&elf, 64 + 32, (uint32_t)elf.len - 120, 4);
	assert_int_equal(open_exact(elf.s, elf.len, &img, &e), 0);
	image_done(&img);
	assert_int_equal(open_exact(elf.s, elf.len - 1, &img, &e), -EINVAL);
	assert_has(e.text, "cut short");
	for (i = 0; i < 64 + 56 + 60; i++) {
		char was = elf.s[i];

		elf.s[i] = (char)(was ^ 0xff);
		open_exact(elf.s, elf.len, &img, &e);
		image_done(&img);
		elf.s[i] = was;
	}
	build_put(&elf, 18, EM_AARCH64, 2);
	assert_int_equal(open_exact(elf.s, elf.len, &img, &e), -EINVAL);
	assert_has(e.text, "another machine");
	build_put(&elf, 18, EM_X86_64, 2);
	build_put(&elf, 16, ET_REL, 2);
	assert_int_equal(open_exact(elf.s, elf.len, &img, &e), -EINVAL);
	assert_has(e.text, "module");
	str_reset(&elf);
	build_vmlinux(&elf, false, false);
	assert_int_equal(open_exact(elf.s, elf.len, &img, &e), 0);
	assert_false(img.bootable);
	assert_null(img.config);
	assert_int_equal(image_check_bootable(&img, &e), -ENOTSUP);
	assert_has(e.text, "give the bzImage");
	image_done(&img);
	str_done(&elf);
}

static void packages(void **state)
{
	static const struct {
		int filter;
		const char *ext;
	} kinds[] = { { ARCHIVE_FILTER_XZ, ".xz" },
		      { ARCHIVE_FILTER_ZSTD, ".zst" },
		      { ARCHIVE_FILTER_GZIP, ".gz" },
		      { ARCHIVE_FILTER_NONE, "" } };
	static const char *const doc[] = { "./usr/share/doc/x" };
	static const char *const usr[] = { "./usr/lib/modules/6/vmlinuz",
					   "./usr/lib/modules/6/config" };
	struct str deb = STR_INIT, files[2] = { STR_INIT, STR_INIT };
	struct image img;
	struct error e;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		build_kernel_deb(&deb, kinds[i].filter, kinds[i].ext);
		if (open_exact(deb.s, deb.len, &img, &e))
			fail_msg("%s", e.text);
		check_test_kernel(&img);
		assert_string_equal(img.package, "linux-image-" BUILD_RELEASE);
		assert_string_equal(img.package_version, "6.1.1-1");
		image_done(&img);
		/* The last byte may be ar's padding, which dpkg does not need either. */
		for (len = 8; len + 1 < deb.len; len += 1 + len / 64)
			assert_int_equal(open_exact(deb.s, len, &img, &e), -EINVAL);
	}
	str_add(&files[0], "text");
	build_deb(&deb, ARCHIVE_FILTER_XZ, ".xz", doc, files, 1);
	assert_int_equal(open_exact(deb.s, deb.len, &img, &e), -EINVAL);
	assert_has(e.text, "holds no kernel");
	build_bzimage(&files[0], ARCHIVE_FILTER_XZ);
	str_add(&files[1], "CONFIG_ONLY=y\n");
	build_deb(&deb, ARCHIVE_FILTER_XZ, ".xz", usr, files, 2);
	assert_int_equal(open_exact(deb.s, deb.len, &img, &e), 0);
	assert_string_equal(img.config, "CONFIG_ONLY=y\n");
	assert_string_equal(img.build_id, BUILD_ID);
	image_done(&img);
	build_deb(&deb, ARCHIVE_FILTER_XZ, ".xz", usr, &files[1], 1);
	assert_int_equal(open_exact(deb.s, deb.len, &img, &e), -EINVAL);
	assert_has(e.text, "usr/lib/modules/6/vmlinuz in the package: not a kernel");
	str_done(&deb);
	str_done(&files[0]);
	str_done(&files[1]);
}

static void matching(void **state)
{
	struct image img = IMAGE_INIT;
	char why[200];
	char longer[] = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1~deb12u1 (2026-11-14) and more";
	char cut[65];

	(void)state;
	img.release = (char[]){ "6.1" };
	img.version = longer;
	memcpy(cut, longer, 64);
	cut[64] = '\0';
	assert_true(image_matches(&img, "6.1", cut, NULL, why, sizeof(why)));
	assert_true(image_matches(&img, "6.1", cut, "ab", why, sizeof(why)));
	cut[63] = '!';
	assert_false(image_matches(&img, "6.1", cut, NULL, why, sizeof(why)));
	assert_has(why, "version is #1 SMP");
	assert_false(image_matches(&img, "6.1", "#1 SMP", NULL, why, sizeof(why)));
	assert_false(image_matches(&img, "6.1", NULL, NULL, why, sizeof(why)));
	assert_false(image_matches(&img, "6.1+", longer, NULL, why, sizeof(why)));
	assert_string_equal(why, "release is 6.1+, the image's is 6.1");
	assert_false(image_matches(&img, NULL, longer, NULL, why, sizeof(why)));
	img.build_id = (char[]){ "ab01" };
	assert_true(image_matches(&img, "other", NULL, "AB01", why, sizeof(why)));
	assert_false(image_matches(&img, "6.1", longer, "ab02", why, sizeof(why)));
	assert_string_equal(why, "build-id is ab02, the image's is ab01");
	assert_true(image_matches(&img, "6.1", longer, NULL, why, sizeof(why)));
}

static int open_text(const char *text, struct image *img, struct error *e)
{
	struct kernel_spec k;
	int r;

	error_clear(e);
	r = kernel_spec_parse(text, &k, e);
	assert_int_equal(r, 0);
	r = image_open(&k, "cache", NULL, img, e);
	kernel_spec_done(&k);
	return r;
}

static void write_file(const char *path, const void *data, size_t len)
{
	assert_int_equal(file_replace(path, data, len, NULL), 0);
}

static void files(void **state)
{
	struct str bz = STR_INIT;
	struct timespec late[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } };
	struct image img;
	struct error e;
	char *text;

	(void)state;
	build_bzimage(&bz, ARCHIVE_FILTER_GZIP);
	memset(bz.s + 1024 + 16 + 40, 0x55, 60); /* no configuration inside */
	write_file("config-t", "CONFIG_BESIDE=y\n", 16);
	write_file("vmlinuz-t", bz.s, bz.len);
	assert_int_equal(open_text("l=vmlinuz-t,append=quiet", &img, &e), 0);
	assert_string_equal(img.config, "CONFIG_BESIDE=y\n");
	assert_string_equal(img.source_text, "l=vmlinuz-t,append=quiet");
	image_done(&img);
	/* Edited after the build: not what the kernel has. */
	assert_int_equal(utimensat(AT_FDCWD, "config-t", late, 0), 0);
	assert_int_equal(open_text("vmlinuz-t", &img, &e), 0);
	assert_null(img.config);
	image_done(&img);
	image_done(&img);

	assert_int_equal(open_text("none", &img, &e), -ENOENT);
	assert_has(e.text, "none: no such file; KERNEL is");
	assert_int_equal(open_text("6.1.0-9-amd64", &img, &e), -ENOENT);
	assert_has(e.text, "debian:6.1.0-9-amd64");
	assert_int_equal(open_text(".", &img, &e), -ENOENT);
	assert_has(e.text, "arch/x86/boot/bzImage");
	assert_int_equal(open_text("git:HEAD", &img, &e), -ENOTSUP);
	assert_has(e.text, "git:HEAD: ");
	assert_int_equal(open_text("/dev/null", &img, &e), -EINVAL);
	assert_has(e.text, "not a regular file");
	write_file("empty", "", 0);
	assert_int_equal(open_text("empty", &img, &e), -EINVAL);
	assert_has(e.text, "empty: the file is empty");
	write_file("text", "root:x:0:0::/root:/bin/sh\n", 26);
	assert_int_equal(open_text("text", &img, &e), -EINVAL);
	assert_has(e.text, "text: not a kernel");
	assert_int_equal(open_text("/proc/self/exe", &img, &e), -EINVAL);
	if (geteuid()) {
		assert_int_equal(chmod("text", 0), 0);
		assert_int_equal(open_text("text", &img, &e), -EACCES);
		assert_has(e.text, "may not read it");
	}
	setenv("KDELTA_CACHE", "", 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/home/x", 1);
	text = image_cache_dir();
	assert_string_equal(text, "/home/x/.cache/kdelta");
	free(text);
	setenv("XDG_CACHE_HOME", "/c", 1);
	text = image_cache_dir();
	assert_string_equal(text, "/c/kdelta");
	free(text);
	setenv("KDELTA_CACHE", "/k", 1);
	text = image_cache_dir();
	assert_string_equal(text, "/k");
	free(text);
	str_done(&bz);
}

/* The kernel's own word comes before the file of that name, which another build may have left. */
static void config_that_runs(void **state)
{
	struct str text = STR_INIT, gz = STR_INIT;
	char *got = NULL;

	(void)state;
	assert_int_equal(mkdir("proc", 0700), 0);
	assert_int_equal(mkdir("boot", 0700), 0);
	assert_int_equal(kconfig_running(".", "6.1", &got, NULL), -ENOENT);
	write_file("boot/config-6.1", "CONFIG_BOOT=y\n", 14);
	assert_int_equal(kconfig_running(".", "6.1", &got, NULL), 0);
	assert_string_equal(got, "CONFIG_BOOT=y\n");
	free(got);
	str_add(&text, "CONFIG_OWN=y\n");
	build_pack(&gz, ARCHIVE_FILTER_GZIP, NULL, &text, 1);
	write_file("proc/config.gz", gz.s, gz.len);
	assert_int_equal(kconfig_running(".", "6.1", &got, NULL), 0);
	assert_string_equal(got, "CONFIG_OWN=y\n");
	free(got);
	write_file("proc/config.gz", "nonsense", 8);
	assert_int_equal(kconfig_running(".", "6.1", &got, NULL), 0);
	assert_string_equal(got, "CONFIG_BOOT=y\n");
	free(got);
	unlink("proc/config.gz");
	unlink("boot/config-6.1");
	rmdir("proc");
	rmdir("boot");
	str_done(&text);
	str_done(&gz);
}

static int enter_folder(void **state)
{
	static char path[] = "/tmp/kdelta-test-image.XXXXXX";

	if (!mkdtemp(path) || chdir(path) < 0)
		return -1;
	write_file("there=file", "x", 1);
	write_file("git:there", "x", 1);
	*state = path;
	return 0;
}

static int leave_folder(void **state)
{
	static const char *const names[] = { "there=file", "git:there", "config-t",
					     "vmlinuz-t",  "empty",	"text" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(names[i]);
	return chdir("/") < 0 || rmdir(*state) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs),	   cmocka_unit_test(labels),
		cmocka_unit_test(hashes),	   cmocka_unit_test(bzimage_in_each_compression),
		cmocka_unit_test(bzimage_hostile), cmocka_unit_test(vmlinux),
		cmocka_unit_test(packages),	   cmocka_unit_test(matching),
		cmocka_unit_test(files),	   cmocka_unit_test(config_that_runs),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
