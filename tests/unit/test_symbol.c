/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols out of kernels, and their cache. With arguments: `test_symbol KERNEL` prints those of a
 * kernel as /proc/kallsyms does; `test_symbol KERNEL FILE` says whether they are FILE's, a copy of
 * a guest's /proc/kallsyms.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "image/image.h"
#include "symbol/internal.h"
#include "symbol_build.h"

#define assert_has(text, part)                                                                     \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not have \"%s\"", text, part);                       \
	} while (0)

static char folder[] = "/tmp/kdelta-test-symbol.XXXXXX";

/* Reads a copy that ends exactly where the data do, so that a sanitizer sees a byte too far. */
static int read_exact(const struct str *data, struct symbols **ret, struct error *e)
{
	CLEANUP_FREE void *exact = malloc(data->len ? data->len : 1);

	assert_non_null(exact);
	memcpy(exact, str_get(data), data->len);
	error_clear(e);
	*ret = NULL;
	return symbols_read(exact, data->len, "it", ret, e);
}

static void assert_same(const struct symbols *s, const struct build_symbols *b)
{
	assert_int_equal(symbols_count(s), b->n);
	for (size_t i = 0; i < b->n; i++) {
		const struct symbol *sym = symbols_get(s, i);

		if (sym->addr != b->list[i].addr || sym->type != b->list[i].type ||
		    strcmp(sym->name, b->list[i].name) || sym->module)
			fail_msg("%zu is %" PRIx64 " %c %s, not %" PRIx64 " %c %s", i, sym->addr,
				 sym->type, sym->name, b->list[i].addr, b->list[i].type,
				 b->list[i].name);
	}
}

static void assert_read(const struct str *data, const struct build_symbols *b)
{
	struct symbols *s;
	struct error e;

	if (read_exact(data, &s, &e))
		fail_msg("%s", e.text);
	assert_same(s, b);
	symbols_free(s);
}

static void each_layout(void **state)
{
	struct str vmlinux = STR_INIT;

	(void)state;
	for (unsigned layout = 0; layout < BUILD_LAYOUTS; layout++) {
		for (unsigned percpu = 0; percpu < 2; percpu++) {
			struct build_symbols b = { 0 };

			/* Symbols per CPU at 0 need absolute addresses; the latest has none. */
			if (percpu && layout == BUILD_OWN_PLACE)
				continue;
			build_many(&b, percpu);
			build_symbol_vmlinux(&vmlinux, &b, layout, percpu);
			assert_read(&vmlinux, &b);
			/* Absolute, and no symbol is. */
			if (layout != BUILD_OWN_PLACE && !percpu) {
				build_symbol_vmlinux(&vmlinux, &b, layout, true);
				assert_read(&vmlinux, &b);
			}
			free(b.list);
		}
	}
	str_done(&vmlinux);
}

/* Few symbols: most tokens are empty, also the first ones. */
static void smallest(void **state)
{
	struct str vmlinux = STR_INIT;

	(void)state;
	for (unsigned layout = 0; layout < BUILD_LAYOUTS; layout++) {
		struct build_symbols b = { 0 };

		build_symbol(&b, BUILD_BASE, 'T', "a0123456789");
		build_symbol_vmlinux(&vmlinux, &b, layout, false);
		assert_read(&vmlinux, &b);
		build_symbol(&b, BUILD_BASE, 't', "b");
		build_symbol(&b, BUILD_BASE + 1, 'D', "c");
		build_symbol(&b, BUILD_BASE + 2, '?', "__nosave_begin");
		build_symbol_vmlinux(&vmlinux, &b, layout, false);
		assert_read(&vmlinux, &b);
		free(b.list);
	}
	str_done(&vmlinux);
}

static void each_compression(void **state)
{
	static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ,
				       ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_BZIP2,
				       ARCHIVE_FILTER_LZMA, ARCHIVE_FILTER_LZ4 };
	struct str vmlinux = STR_INIT, bz = STR_INIT;
	struct build_symbols b = { 0 };
	struct symbols *s;
	struct error e;

	(void)state;
	build_many(&b, true);
	for (unsigned layout = BUILD_TO_6_1; layout <= BUILD_FROM_6_4; layout += BUILD_FROM_6_4) {
		build_symbol_vmlinux(&vmlinux, &b, layout, true);
		for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
			build_symbol_bzimage(&bz, &vmlinux, filters[i]);
			assert_read(&bz, &b);
			/* Cut in the middle of its payload, and a payload that is none. */
			build_put(&bz, 0x24c, (uint32_t)bz.len / 2 - 1024, 4);
			assert_int_equal(read_exact(&bz, &s, &e), -EINVAL);
			assert_has(e.text, "it: ");
			memset(bz.s + 1040, 'x', 64);
			assert_int_equal(read_exact(&bz, &s, &e), -EINVAL);
			assert_has(e.text, "it: not compressed in a known way");
		}
	}
	free(b.list);
	str_done(&vmlinux);
	str_done(&bz);
}

/* ---- what is wrong ---- */

static void assert_refused(const struct str *data, int code, const char *why)
{
	struct symbols *s;
	struct error e;

	assert_int_equal(read_exact(data, &s, &e), -code);
	assert_null(s);
	assert_has(e.text, "it: ");
	assert_has(e.text, why);
}

static void no_tables(void **state)
{
	struct str data = STR_INIT, bz = STR_INIT;

	(void)state;
	build_symbol_vmlinux(&data, NULL, 0, false);
	assert_refused(&data, ENOENT, "built without CONFIG_KALLSYMS");
	build_symbol_bzimage(&bz, &data, ARCHIVE_FILTER_GZIP);
	assert_refused(&bz, ENOENT, "built without CONFIG_KALLSYMS");
	/* The boot header of protocol 2.07 does not say where the kernel is. */
	build_put(&bz, 0x206, 0x207, 2);
	assert_refused(&bz, ENOENT, "does not say where the kernel is");
	str_reset(&data);
	assert_refused(&data, EINVAL, "no kernel");
	str_add(&data, "ffffffff81000000 T _stext\n");
	assert_refused(&data, EINVAL, "no kernel");
	str_reset(&data);
	build_module(&data, "", NULL);
	assert_refused(&data, EINVAL, "no executable one");
	str_done(&data);
	str_done(&bz);
}

static void damage_each(const struct build_symbols *b, enum build_layout layout, bool percpu)
{
	struct str data = STR_INIT;
	struct build_places at = build_symbol_vmlinux(&data, b, layout, percpu);

	data.s[at.token_index + 11] ^= 1;
	assert_refused(&data, ENOENT, "built without CONFIG_KALLSYMS");
	data.s[at.token_index + 11] ^= 1;
	data.s[at.markers + 4] ^= 1;
	assert_refused(&data, ENOENT, "have no names where");
	data.s[at.markers + 4] ^= 1;
	data.s[at.num_syms]++;
	assert_refused(&data, ENOENT, "have no names where");
	data.s[at.num_syms]--;
	if (at.base) {
		data.s[at.base + 7] = 0;
		assert_refused(&data, ENOENT, "have no addresses where");
		data.s[at.base + 7] = (char)0xff;
	}
	/* Not in order. */
	data.s[at.offsets + 401] ^= 0x7f;
	assert_refused(&data, ENOENT, "have no addresses where");
	data.s[at.offsets + 401] ^= 0x7f;
	assert_read(&data, b);
	str_done(&data);
}

static void wrong_tables(void **state)
{
	struct str data = STR_INIT;

	(void)state;
	for (unsigned percpu = 0; percpu < 2; percpu++) {
		struct build_symbols b = { 0 };

		build_many(&b, percpu);
		for (unsigned layout = 0; layout < BUILD_LAYOUTS; layout++)
			if (!percpu || layout != BUILD_OWN_PLACE)
				damage_each(&b, layout, percpu);
		/* Nothing that a terminal would obey comes out as a name. */
		strcpy(b.list[7].name, "a\033[1mb");
		build_symbol_vmlinux(&data, &b, BUILD_TO_6_1, percpu);
		assert_refused(&data, ENOENT, "have no readable names where");
		strcpy(b.list[7].name, "");
		build_symbol_vmlinux(&data, &b, BUILD_FROM_6_4, percpu);
		assert_refused(&data, ENOENT, "have no readable names where");
		free(b.list);
	}
	str_done(&data);
}

/* Cut anywhere: an error, or all of the symbols (where only what is not needed went). */
static void cut(void **state)
{
	struct build_symbols b = { 0 };
	struct str data = STR_INIT;

	(void)state;
	build_symbol(&b, BUILD_BASE, 'T', "a0123456789");
	build_symbol(&b, BUILD_BASE + 0x10, 't', "b");
	for (unsigned layout = 0; layout < BUILD_LAYOUTS; layout++) {
		struct build_places at = build_symbol_vmlinux(&data, &b, layout, false);

		for (size_t len = 0; len < data.len; len++) {
			CLEANUP_FREE uint8_t *exact = malloc(len + 1);
			struct symbols *s = NULL;
			int r;

			assert_non_null(exact);
			memcpy(exact + 1, data.s, len);
			/* At an odd address, too. */
			r = kallsyms_read(exact + 1, len, &s, NULL);
			assert_true(r == -ENOENT || (!r && len > at.token_index && len > at.base));
			if (!r)
				assert_same(s, &b);
			symbols_free(s);
		}
	}
	free(b.list);
	str_done(&data);
}

/* ---- the cache ---- */

static int memory_file(const struct str *data)
{
	int fd;

	assert_int_equal(file_memfd("kernel", data->s, data->len, &fd, NULL), 0);
	return fd;
}

static void assert_open(int fd, const char *build_id, const char *dir,
			const struct build_symbols *b)
{
	struct symbols *s;
	struct error e = ERROR_INIT;

	if (symbols_open(fd, build_id, dir, "it", &s, &e))
		fail_msg("%s", e.text);
	assert_same(s, b);
	/* The index is there, too. */
	assert_string_equal(symbols_at(s, BUILD_BASE + 3)->name, "startup_64");
	assert_non_null(symbols_named(s, "_end"));
	symbols_free(s);
}

static void cached(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/cache/symbols/" BUILD_ID, folder);
	CLEANUP_FREE char *dir = mem_printf("%s/cache", folder);
	CLEANUP_FREE char *good = NULL, *again = NULL;
	struct str vmlinux = STR_INIT, rubbish = STR_INIT;
	struct build_symbols b = { 0 };
	struct symbols *s;
	struct error e = ERROR_INIT;
	int kernel, other;
	size_t len, n;

	(void)state;
	build_many(&b, true);
	build_symbol_vmlinux(&vmlinux, &b, BUILD_FROM_6_4, true);
	kernel = memory_file(&vmlinux);
	str_add(&rubbish, "no kernel at all");
	other = memory_file(&rubbish);

	assert_int_equal(lseek(kernel, 5, SEEK_SET), 5);
	assert_open(kernel, BUILD_ID, dir, &b);
	assert_int_equal(lseek(kernel, 0, SEEK_CUR), 5);
	assert_int_equal(file_read(path, 1 << 20, &good, &len, NULL), 0);
	assert_has(good, "kdelta-symbols 1 " BUILD_ID " ");
	assert_has(good, "\nffffffff81000000 T _stext\n");
	/* From the cache only: the file is none. */
	assert_open(other, BUILD_ID, dir, &b);
	/* Not without being told which. */
	assert_int_equal(symbols_open(other, NULL, dir, "it", &s, &e), -EINVAL);
	error_clear(&e);
	assert_int_equal(symbols_open(other, BUILD_ID, NULL, "it", &s, &e), -EINVAL);

	/* What is not whole is made again. */
	for (size_t at = 0; at < len; at += at < 200 ? 7 : 1777) {
		good[at] ^= 1;
		assert_int_equal(file_replace(path, good, len, NULL), 0);
		good[at] ^= 1;
		assert_null(symbols_decode(good, at, BUILD_ID));
		error_clear(&e);
		assert_int_equal(symbols_open(other, BUILD_ID, dir, "it", &s, &e), -EINVAL);
	}
	assert_open(kernel, BUILD_ID, dir, &b);
	assert_int_equal(file_read(path, 1 << 20, &again, &n, NULL), 0);
	assert_int_equal(n, len);
	assert_memory_equal(again, good, len);
	assert_null(symbols_decode(good, len, "0123456789abcdef"));

	/* It is of another kernel than was said: nothing is kept. */
	assert_open(kernel, "0123456789abcdef", dir, &b);
	free(path);
	path = mem_printf("%s/symbols/0123456789abcdef", dir);
	assert_int_equal(access(path, F_OK), -1);
	assert_open(kernel, "../../../../escaped", dir, &b);
	/* The cache cannot be written: the folder is a file. */
	assert_int_equal(file_replace(path, "x", 1, NULL), 0);
	assert_open(kernel, BUILD_ID, path, &b);
	assert_int_equal(symbols_open(-1, NULL, NULL, "it", &s, NULL), -EBADF);

	close(kernel);
	close(other);
	free(b.list);
	str_done(&vmlinux);
	str_done(&rubbish);
}

/* ---- a real kernel ---- */

static int open_kernel(const char *text, struct symbols **ret, struct error *e)
{
	struct image img = IMAGE_INIT;
	struct kernel_spec k;
	int r = kernel_spec_parse(text, &k, e);

	if (r < 0)
		return r;
	r = image_open(&k, NULL, NULL, &img, e);
	if (!r)
		r = symbols_open(img.fd, NULL, NULL, text, ret, e);
	image_done(&img);
	kernel_spec_done(&k);
	return r;
}

static void real(void **state)
{
	struct error e = ERROR_INIT;
	const struct symbol *sym;
	struct symbols *s;

	(void)state;
	if (open_kernel(getenv("KDELTA_TEST_KERNEL"), &s, &e))
		fail_msg("%s", e.text);
	assert_true(symbols_count(s) > 5000);
	sym = symbols_named(s, "schedule");
	assert_non_null(sym);
	assert_int_equal(sym->type, 'T');
	assert_ptr_equal(symbols_at(s, sym->addr), sym);
	assert_ptr_equal(symbols_at(s, sym->end - 1), sym);
	assert_ptr_not_equal(symbols_at(s, sym->end), sym);
	assert_non_null(symbols_named(s, "asm_sysvec_apic_timer_interrupt"));
	assert_non_null(symbols_named(s, "__switch_to_asm"));
	symbols_free(s);
}

static int print_symbols(const char *kernel, const char *file)
{
	CLEANUP_FREE char *theirs = NULL;
	struct error e = ERROR_INIT;
	struct symbols *s = NULL;
	size_t n = 0;
	int r = open_kernel(kernel, &s, &e);

	if (!r && !file)
		for (size_t i = 0; i < symbols_count(s); i++)
			printf("%016" PRIx64 " %c %s\n", symbols_get(s, i)->addr,
			       symbols_get(s, i)->type, symbols_get(s, i)->name);
	if (!r && file)
		r = file_read(file, 1 << 28, &theirs, NULL, &e);
	if (!r && file)
		r = symbols_verify(s, theirs, &n, &e);
	if (!r && file && n != symbols_count(s))
		r = error_set(&e, ESTALE, "%s: %zu symbols of %zu", file, n, symbols_count(s));
	if (!r && file)
		printf("%zu symbols agree\n", n);
	if (r < 0)
		fprintf(stderr, "%s\n", e.text);
	symbols_free(s);
	return r < 0;
}

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int leave_folder(void **state)
{
	CLEANUP_FREE char *command = mem_printf("rm -r %s", folder);

	(void)state;
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_layout),	    cmocka_unit_test(smallest),
		cmocka_unit_test(each_compression), cmocka_unit_test(no_tables),
		cmocka_unit_test(wrong_tables),	    cmocka_unit_test(cut),
		cmocka_unit_test(cached),
	};
	const struct CMUnitTest with_kernel[] = { cmocka_unit_test(real) };
	const char *kernel = getenv("KDELTA_TEST_KERNEL");
	int failed;

	if (argc > 1)
		return print_symbols(argv[1], argc > 2 ? argv[2] : NULL);
	failed = cmocka_run_group_tests(tests, enter_folder, leave_folder);
	/* A file only: nothing is downloaded here. tests/vm/symbols.bats has the others. */
	if (kernel && !access(kernel, R_OK))
		failed += cmocka_run_group_tests(with_kernel, NULL, NULL);
	return failed;
}
