/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules of a kernel, and the places kernels are found in. With arguments it is no test:
 *	test_modules KERNEL MODULE...
 * prints the modules to load, in order, for tests with real packages.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/proc.h"
#include "image/image.h"
#include "image/modinfo.h"
#include "image_build.h"

#define assert_has(text, part)                                                                     \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not have \"%s\"", text, part);                       \
	} while (0)

#define MAGIC BUILD_RELEASE " SMP mod_unload "

struct made {
	const char *path, *depends;
};
/* c needs a and b, a needs b; in other folders and packings, with '-' here and '_' there. */
static const struct made three[] = { { "kernel/z/mod-c.ko", "mod_a,mod-b" },
				     { "kernel/fs/mod-a.ko.xz", "mod_b,in-side" },
				     { "kernel/mod_b.ko.gz", "" },
				     { "kernel/lone.ko.zst", NULL },
				     { "extra/outer.ko", "" } };
static const char builtin[] = "kernel/fs/in_side.ko\nkernel/drivers/char/virtio-console.ko\n";

static void write_file(const char *path, const void *data, size_t len)
{
	CLEANUP_FREE char *dir = mem_strndup(path, (size_t)(strrchr(path, '/') - path));

	assert_int_equal(file_mkdirs(dir, NULL), 0);
	assert_int_equal(file_replace(path, data, len, NULL), 0);
}

static void pack_module(struct str *to, const char *path, const char *depends, const char *magic)
{
	struct str raw = STR_INIT;

	build_module(&raw, depends, magic);
	str_reset(to);
	if (str_ends(path, ".ko"))
		str_add_n(to, raw.s, raw.len);
	else
		build_pack(to,
			   str_ends(path, ".xz")    ? ARCHIVE_FILTER_XZ
			   : str_ends(path, ".zst") ? ARCHIVE_FILTER_ZSTD
						    : ARCHIVE_FILTER_GZIP,
			   NULL, &raw, 1);
	str_done(&raw);
}

/* A package of the test kernel with these modules below `top`. */
static void write_package(const char *path, const char *top, const struct made *m, size_t n,
			  const char *magic)
{
	const char *names[12] = { "./boot/vmlinuz-" BUILD_RELEASE };
	struct str files[12] = { STR_INIT }, deb = STR_INIT;

	build_bzimage(&files[0], ARCHIVE_FILTER_GZIP);
	for (size_t i = 0; i < n; i++) {
		names[i + 1] = mem_printf("./%s/%s", top, m[i].path);
		pack_module(&files[i + 1], m[i].path, m[i].depends, magic);
	}
	names[n + 1] = mem_printf("./%s/modules.builtin", top);
	str_add(&files[n + 1], builtin);
	build_deb(&deb, ARCHIVE_FILTER_XZ, ".xz", names, files, n + 2);
	write_file(path, deb.s, deb.len);
	str_done(&deb);
	for (size_t i = 0; i < n + 2; i++) {
		str_done(&files[i]);
		if (i)
			free((char *)(uintptr_t)names[i]);
	}
}

static int open_text(const char *text, struct image *img, struct error *e)
{
	struct kernel_spec k;
	int r;

	error_clear(e);
	r = kernel_spec_parse(text, &k, e);
	if (r < 0)
		return r;
	r = image_open(&k, "cache", NULL, img, e);
	kernel_spec_done(&k);
	return r;
}

/* "a b c", in the order to load them in, or fails. The caller frees. */
static char *load_order(const struct image *img, const char *const *wanted)
{
	struct image_module *list;
	struct error e = ERROR_INIT;
	struct str out = STR_INIT;
	size_t n;

	if (image_modules(img, wanted, &list, &n, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < n; i++) {
		struct modinfo info;

		str_printf(&out, "%s%s", i ? " " : "", list[i].name);
		/* Not packed any more, and whole. */
		assert_int_equal(modinfo_read(list[i].data, list[i].len, &info, NULL), 0);
		modinfo_done(&info);
	}
	image_modules_free(list, n);
	return str_take(&out);
}

#define assert_order(img, want, ...)                                                               \
	do {                                                                                       \
		const char *const wanted_[] = { __VA_ARGS__, NULL };                               \
		CLEANUP_FREE char *got_ = load_order(img, wanted_);                                \
                                                                                                   \
		assert_string_equal(got_, want);                                                   \
	} while (0)

static int modules_error(const struct image *img, const char *wanted, struct error *e)
{
	const char *const list[] = { wanted, NULL };
	struct image_module *got = NULL;
	size_t n = 0;
	int r;

	error_clear(e);
	r = image_modules(img, list, &got, &n, e);
	if (!r)
		image_modules_free(got, n);
	return r;
}

/* What holds wherever the three are. */
static void check_three(const struct image *img)
{
	struct error e;

	assert_order(img, "mod_b mod_a mod_c", "mod_c");
	assert_order(img, "mod_b mod_a mod_c", "mod-c", "mod_b", "mod_c");
	assert_order(img, "mod_b mod_a", "mod_b", "mod_a");
	assert_order(img, "lone", "lone", "virtio_console", "in-side");
	assert_order(img, "", "virtio-console");
	assert_int_equal(modules_error(img, "mod_d", &e), -ENOENT);
	assert_has(e.text, "mod_d is neither among the modules of " BUILD_RELEASE " nor built in");
	/* A kernel's own modules, none that somebody put beside them. */
	assert_int_equal(modules_error(img, "outer", &e), -ENOENT);
}

static void in_packages(void **state)
{
	struct image img;
	struct error e;

	(void)state;
	write_package("./k.deb", "lib/modules/" BUILD_RELEASE, three, ARRAY_SIZE(three), MAGIC);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	/* It stays readable when its name goes. */
	assert_int_equal(unlink("k.deb"), 0);
	check_three(&img);
	image_done(&img);
	write_package("./k.deb", "usr/lib/modules/" BUILD_RELEASE, three, ARRAY_SIZE(three), NULL);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	check_three(&img);
	image_done(&img);
	write_package("./k.deb", "lib/modules/6.1.0-other", three, ARRAY_SIZE(three), MAGIC);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "mod_a", &e), -ENOENT);
	assert_has(
		e.text,
		"modules of ./k.deb: mod_a is not built in, and there are no modules of " BUILD_RELEASE);
	image_done(&img);
}

static void wrong_ones(void **state)
{
	static const struct made missing[] = { { "kernel/a.ko", "b" },
					       { "kernel/b.ko", "nowhere" } };
	static const struct made ring[] = { { "kernel/a.ko", "b" },
					    { "kernel/b.ko", "c,virtio_console" },
					    { "kernel/c.ko.xz", "b" } };
	static const struct made self[] = { { "kernel/a.ko", "a" } };
	struct str raw = STR_INIT, files[2] = { STR_INIT, STR_INIT }, deb = STR_INIT;
	static const char *const names[] = { "boot/vmlinuz-x",
					     "lib/modules/" BUILD_RELEASE "/kernel/a.ko.xz" };
	struct image img;
	struct error e;

	(void)state;
	write_package("./k.deb", "lib/modules/" BUILD_RELEASE, missing, 2, MAGIC);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "a", &e), -EINVAL);
	assert_has(e.text, "b needs nowhere, which is neither there nor built in");
	image_done(&img);
	write_package("./k.deb", "lib/modules/" BUILD_RELEASE, ring, 3, MAGIC);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "a", &e), -EINVAL);
	assert_has(e.text, "in a ring: b, needed by c, needed by b");
	image_done(&img);
	write_package("./k.deb", "lib/modules/" BUILD_RELEASE, self, 1, MAGIC);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "a", &e), -EINVAL);
	assert_has(e.text, "in a ring: a, needed by a");
	image_done(&img);
	/* Built for another release: the kernel would refuse it, and say so where nobody looks. */
	write_package("./k.deb", "lib/modules/" BUILD_RELEASE, three, 5, BUILD_RELEASE "-x SMP ");
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "lone", &e), -EINVAL);
	assert_has(e.text,
		   "lone was built for " BUILD_RELEASE "-x, and the kernel is " BUILD_RELEASE);
	image_done(&img);
	/* Not what its name says. */
	build_bzimage(&files[0], ARCHIVE_FILTER_GZIP);
	str_add(&files[1], "no xz stream");
	build_deb(&deb, ARCHIVE_FILTER_GZIP, ".gz", names, files, 2);
	write_file("./k.deb", deb.s, deb.len);
	assert_int_equal(open_text("./k.deb", &img, &e), 0);
	assert_int_equal(modules_error(&img, "a", &e), -EINVAL);
	assert_has(e.text, "kernel/a.ko.xz: not compressed in a known way");
	image_done(&img);
	str_done(&deb);
	str_done(&files[0]);
	str_done(&files[1]);
	str_done(&raw);
}

static void info_hostile(void **state)
{
	struct str m = STR_INIT;
	struct modinfo info;
	size_t n;

	(void)state;
	build_module(&m, "a,b", MAGIC);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), 0);
	assert_string_equal(info.depends, "a,b");
	assert_string_equal(info.vermagic, MAGIC);
	modinfo_done(&info);
	for (n = 0; n < m.len; n++) {
		CLEANUP_FREE uint8_t *cut = mem_dup(m.s, n ? n : 1);

		assert_int_equal(modinfo_read(cut, n, &info, NULL), -EINVAL);
	}
	/* The last string has no NUL: it ends where the section does. */
	build_put(&m, 64 + 64 + 32, 12 + 8 + 2, 4);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), 0);
	assert_string_equal(info.depends, "a,");
	assert_null(info.vermagic);
	modinfo_done(&info);
	build_put(&m, 64 + 64 + 32, UINT32_MAX, 4);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), -EINVAL);
	build_put(&m, 64 + 64 + 24, UINT32_MAX, 4);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), -EINVAL);
	build_module(&m, NULL, NULL);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), 0);
	assert_null(info.depends);
	build_put(&m, 62, 3, 2);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), -EINVAL);
	build_put(&m, 16, ET_DYN, 2);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), -EINVAL);
	build_module(&m, "a", MAGIC);
	build_put(&m, 18, EM_AARCH64, 2);
	assert_int_equal(modinfo_read((uint8_t *)m.s, m.len, &info, NULL), -EINVAL);
	str_done(&m);
}

/* ---- places ---- */

static void write_kernel(const char *path)
{
	struct str bz = STR_INIT;

	build_bzimage(&bz, ARCHIVE_FILTER_GZIP);
	memset(bz.s + 1024 + 16 + 40, 0x55, 60); /* no configuration inside */
	write_file(path, bz.s, bz.len);
	str_done(&bz);
}

static void write_modules(const char *top, const char *builtin_path)
{
	struct str m = STR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(three); i++) {
		CLEANUP_FREE char *path = mem_printf("%s/%s", top, three[i].path);

		pack_module(&m, path, three[i].depends, MAGIC);
		write_file(path, m.s, m.len);
	}
	write_file(builtin_path, builtin, sizeof(builtin) - 1);
	str_done(&m);
}

/* Formats of modules.order: before 5.3, to 6.1, since 6.2. */
static void in_trees(void **state)
{
	static const char *const orders[] = {
		"kernel/z/mod-c.ko\nkernel/fs/mod-a.ko\nkernel/mod_b.ko\n",
		"z/mod-c.ko\nfs/mod-a.ko\nmod_b.ko\nlone.ko\n",
		"z/mod-c.o\nfs/mod-a.o\nmod_b.o\nlone.o\ngone.o",
	};
	static const char config[] = "CONFIG_TREE=y\n";
	struct timespec late[2] = { { .tv_sec = 4000000000 }, { .tv_sec = 4000000000 } };
	struct str m = STR_INIT;
	struct image img;
	struct error e;

	(void)state;
	assert_int_equal(file_mkdirs("tree", NULL), 0);
	assert_int_equal(open_text("tree", &img, &e), -ENOENT);
	assert_has(e.text, "tree: a folder without arch/x86/boot/bzImage");
	write_file("tree/vmlinux", "x", 1);
	assert_int_equal(open_text("tree", &img, &e), -ENOENT);
	assert_has(e.text, "run make in it, or give tree/vmlinux");
	write_file("tree/.config", config, sizeof(config) - 1);
	write_kernel("tree/arch/x86/boot/bzImage");
	write_file("tree/modules.builtin", builtin, sizeof(builtin) - 1);
	for (size_t i = 0; i < 4; i++) {
		static const char *const paths[] = { "tree/z/mod-c.ko", "tree/fs/mod-a.ko",
						     "tree/mod_b.ko", "tree/lone.ko" };

		build_module(&m, three[i].depends, MAGIC);
		write_file(paths[i], m.s, m.len);
	}
	assert_int_equal(open_text("t=tree,append=quiet", &img, &e), 0);
	assert_string_equal(img.release, BUILD_RELEASE);
	assert_string_equal(img.config, config);
	assert_string_equal(img.source_text, "t=tree,append=quiet");
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		write_file("tree/modules.order", orders[i], strlen(orders[i]));
		assert_order(&img, "mod_b mod_a mod_c", "mod_c", "virtio_console");
	}
	assert_order(&img, "lone", "lone");
	assert_int_equal(modules_error(&img, "gone", &e), -EINVAL);
	assert_has(e.text, "tree/gone.ko");
	/* Without modules, as CONFIG_MODULES=n builds it. */
	assert_int_equal(unlink("tree/modules.order"), 0);
	assert_order(&img, "", "virtio_console");
	assert_int_equal(modules_error(&img, "lone", &e), -ENOENT);
	assert_has(e.text, "there are no modules of " BUILD_RELEASE);
	image_done(&img);
	/* The image in the tree, and the function for who built it. */
	assert_int_equal(open_text("tree/arch/x86/boot/bzImage", &img, &e), 0);
	assert_string_equal(img.config, config);
	assert_int_equal(img.modules_in, IMAGE_MODULES_TREE);
	image_done(&img);
	assert_int_equal(image_open_tree("tree", "git:HEAD", &img, &e), 0);
	assert_string_equal(img.source_text, "git:HEAD");
	assert_string_equal(img.modules, "tree");
	image_done(&img);
	assert_int_equal(image_open_tree("none", "git:HEAD", &img, &e), -ENOENT);
	assert_has(e.text, "git:HEAD: a folder without");
	/* Edited after the build. */
	assert_int_equal(utimensat(AT_FDCWD, "tree/.config", late, 0), 0);
	assert_int_equal(open_text("tree", &img, &e), 0);
	assert_null(img.config);
	image_done(&img);
	str_done(&m);
}

static void installed(void **state)
{
	static const char odd[] = "6.1 my build";
	struct image_entry *list;
	struct image img;
	struct error e;
	size_t n, i;

	(void)state;
	setenv("KDELTA_ROOT", "root", 1);
	assert_int_equal(open_text("installed:6.9", &img, &e), -ENOENT);
	assert_has(e.text,
		   "installed:6.9: no kernel 6.9 is installed here (root/boot/vmlinuz-6.9); none");
	write_kernel("root/boot/vmlinuz-" BUILD_RELEASE);
	write_file("root/boot/config-" BUILD_RELEASE, "CONFIG_B=y\n", 11);
	write_file("root/boot/vmlinuz-old/no-file", "", 0);
	write_kernel("root/boot/vmlinuz-6.12");
	write_kernel("root/boot/vmlinuz-6.9");
	write_kernel("root/usr/lib/modules/6.1 my build/vmlinuz");
	write_file("root/usr/lib/modules/6.1 my build/config", "CONFIG_O=y\n", 11);
	write_file("root/lib/modules/6.8/kernel/a.ko", "", 0);
	write_modules("root/lib/modules/" BUILD_RELEASE,
		      "root/lib/modules/" BUILD_RELEASE "/modules.builtin");
	assert_int_equal(open_text("installed:7", &img, &e), -ENOENT);
	assert_has(e.text, "there are: 6.1 my build, " BUILD_RELEASE ", 6.9, 6.12");
	assert_int_equal(open_text("x=installed:" BUILD_RELEASE, &img, &e), 0);
	assert_string_equal(img.config, "CONFIG_B=y\n");
	assert_string_equal(img.modules, "root/lib/modules/" BUILD_RELEASE);
	check_three(&img);
	image_done(&img);
	/* The same by its path. */
	assert_int_equal(open_text("root/boot/vmlinuz-" BUILD_RELEASE, &img, &e), 0);
	assert_string_equal(img.config, "CONFIG_B=y\n");
	check_three(&img);
	image_done(&img);
	assert_int_equal(open_text("installed:6.1 my build", &img, &e), 0);
	assert_string_equal(img.config, "CONFIG_O=y\n");
	image_done(&img);
	/* An image alone. */
	assert_int_equal(open_text("installed:6.9", &img, &e), 0);
	assert_null(img.config);
	assert_int_equal(modules_error(&img, "virtio_console", &e), -ENOENT);
	assert_has(e.text, "are not known");
	image_done(&img);
	/* In the order of versions, the running one first. */
	assert_int_equal(image_list("none", false, &list, &n, &e), 0);
	assert_int_equal(n, 5);
	assert_int_equal(list[0].where, IMAGE_RUNNING);
	for (i = 1; i < n; i++) {
		static const char *const want[] = { odd, BUILD_RELEASE, "6.9", "6.12" };
		CLEANUP_FREE char *kernel = mem_printf("installed:%s", want[i - 1]);

		assert_int_equal(list[i].where, IMAGE_INSTALLED);
		assert_string_equal(list[i].release, want[i - 1]);
		assert_string_equal(list[i].kernel, kernel);
		assert_true(list[i].size > 0);
	}
	image_list_free(list, n);
	assert_int_equal(open_text("installed:..", &img, &e), -EINVAL);
	assert_int_equal(open_text("installed:a/b", &img, &e), -EINVAL);
	assert_int_equal(open_text("installed:", &img, &e), -EINVAL);
}

/* A kernel that says of itself what this machine's does, or another build-id (case A10). */
static void write_running(const char *path, const struct utsname *u, const char *id)
{
	const char *const argv[] = {
		TEST_SOURCE_DIR "/vm/make-kernel", path, u->release, u->version, id, NULL
	};
	struct proc_result res = { .status = -1 };
	struct error e = ERROR_INIT;

	if (proc_run_ok(argv, NULL, &res, &e))
		fail_msg("%s", e.text);
	proc_result_done(&res);
}

static void running(void **state)
{
	CLEANUP_FREE char *path = NULL, *notes = NULL;
	char id[ID_BUILD_SIZE] = "0123456789abcdef0123456789abcdef01234567";
	struct image_entry *list;
	struct utsname u;
	struct image img;
	struct error e;
	size_t n = 0;
	bool known;

	(void)state;
	setenv("KDELTA_ROOT", "root", 1);
	assert_int_equal(uname(&u), 0);
	assert_int_equal(open_text("running", &img, &e), -ENOENT);
	assert_has(e.text, u.release);
	assert_has(e.text, "is not installed here");
	assert_int_equal(image_list("none", false, &list, &n, &e), 0);
	assert_string_equal(list[0].release, u.release);
	assert_null(list[0].kernel);
	assert_true(str_starts(list[0].why_not, "the kernel that runs"));
	image_list_free(list, n);

	path = mem_printf("root/boot/vmlinuz-%s", u.release);
	known = !file_read("/sys/kernel/notes", 1 << 20, &notes, &n, NULL) &&
		!id_build_from_notes(notes, n, id) && strlen(id) == 40;
	write_running(path, &u, id);
	if (open_text("running", &img, &e))
		fail_msg("%s", e.text);
	assert_string_equal(img.release, u.release);
	image_done(&img);
	assert_int_equal(image_list("none", false, &list, &n, &e), 0);
	assert_string_equal(list[0].kernel, "running");
	assert_null(list[0].why_not);
	image_list_free(list, n);
	/* Installed anew since the boot. */
	id[0] = id[0] == '0' ? '1' : '0';
	if (!known)
		u.version[0] = '!';
	write_running(path, &u, id);
	assert_int_equal(open_text("running", &img, &e), -ESTALE);
	assert_has(e.text, "is another kernel than the one that runs");
	assert_has(e.text, known ? "build-id is" : "version is");
	assert_has(e.text, "installed:");
}

static int enter_folder(void **state)
{
	static char path[] = "/tmp/kdelta-test-modules.XXXXXX";

	*state = path;
	return !mkdtemp(path) || chdir(path) < 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
	const char *const argv[] = { "/bin/rm", "-r", *state, NULL };
	struct proc_result res = { .status = -1 };
	int r = chdir("/") < 0 ? -1 : proc_run_ok(argv, NULL, &res, NULL);

	proc_result_done(&res);
	return r;
}

static int print_order(const char *kernel, const char *const *wanted)
{
	struct image_module *list;
	struct image img = IMAGE_INIT;
	struct error e = ERROR_INIT;
	struct kernel_spec k;
	size_t n;

	if (kernel_spec_parse(kernel, &k, &e) || image_open(&k, NULL, NULL, &img, &e) ||
	    image_modules(&img, wanted, &list, &n, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (size_t i = 0; i < n; i++)
		printf("%s %zu\n", list[i].name, list[i].len);
	image_modules_free(list, n);
	image_done(&img);
	kernel_spec_done(&k);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info_hostile), cmocka_unit_test(in_packages),
		cmocka_unit_test(wrong_ones),	cmocka_unit_test(in_trees),
		cmocka_unit_test(installed),	cmocka_unit_test(running),
	};

	if (argc > 1)
		return print_order(argv[1], (const char *const *)argv + 2);
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
