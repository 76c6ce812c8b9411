/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/places.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/kconfig.h"

#define BZIMAGE	 "arch/x86/boot/bzImage"
#define VMLINUZ	 "vmlinuz-"
#define NAMED	 12 /* installed kernels that an error names */
#define INSTALLS 60 /* seconds: installkernel copies the configuration after the image */

static const char *const module_folders[] = { "lib/modules", "usr/lib/modules" };

static const char *root(void)
{
	const char *dir = getenv("KDELTA_ROOT");

	return dir ? dir : "";
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A file that was edited after the build is not what the kernel was built with. */
static char *read_config(const char *path, const char *kernel, time_t slack)
{
	struct stat image, config;
	char *text = NULL;

	if (stat(kernel, &image) || stat(path, &config) ||
	    config.st_mtime > image.st_mtime + slack ||
	    file_read(path, KCONFIG_MAX, &text, NULL, NULL) < 0)
		return NULL;
	return text;
}

static void set_tree(const char *folder, struct place *p)
{
	CLEANUP_FREE char *config = mem_printf("%s/.config", folder);

	p->config = read_config(config, p->kernel, 0);
	p->modules_in = IMAGE_MODULES_TREE;
	p->modules = mem_strdup(folder);
}

int place_tree(const char *folder, struct place *ret_place, struct error *e)
{
	CLEANUP_FREE char *vmlinux = mem_printf("%s/vmlinux", folder);

	*ret_place = (struct place){ .kernel = mem_printf("%s/" BZIMAGE, folder) };
	if (access(ret_place->kernel, F_OK) < 0) {
		place_done(ret_place);
		if (is_file(vmlinux))
			return error_set(e, ENOENT,
					 "a build tree without " BZIMAGE
					 ": run make in it, or give %s",
					 vmlinux);
		return error_set(e, ENOENT,
				 "a folder without " BZIMAGE
				 ": not a tree in which a kernel for x86-64 was built; run make "
				 "in it, or give the kernel itself");
	}
	set_tree(folder, ret_place);
	return 0;
}

/* ROOT/lib/modules/RELEASE; NULL if it is not there. */
static char *modules_of(const char *base, const char *release)
{
	for (size_t i = 0; i < ARRAY_SIZE(module_folders); i++) {
		char *path = mem_printf("%s/%s/%s", base, module_folders[i], release);

		if (is_folder(path))
			return path;
		free(path);
	}
	return NULL;
}

static void set_modules(const char *base, const char *release, struct place *p)
{
	p->modules = modules_of(base, release);
	if (p->modules)
		p->modules_in = IMAGE_MODULES_FOLDER;
}

char *place_image(const char *release)
{
	char *path = mem_printf("%s/boot/" VMLINUZ "%s", root(), release);

	for (size_t i = 0; i < ARRAY_SIZE(module_folders) && !is_file(path); i++) {
		free(path);
		path = mem_printf("%s/%s/%s/vmlinuz", root(), module_folders[i], release);
	}
	if (is_file(path))
		return path;
	free(path);
	return NULL;
}

static int not_installed(const char *release, struct error *e)
{
	struct str names = STR_INIT;
	size_t n, i;
	char **list = place_releases(&n);
	int r;

	for (i = 0; i < n; i++) {
		if (i < NAMED)
			str_printf(&names, "%s%s", i ? ", " : "", list[i]);
		else if (i == NAMED)
			str_add(&names, ", ...");
		free(list[i]);
	}
	free(list);
	r = error_set(e, ENOENT, "no kernel %s is installed here (%s/boot/" VMLINUZ "%s); %s%s",
		      release, root(), release,
		      n ? "there are: " : "none is: give its .deb, bzImage or build tree",
		      str_get(&names));
	str_done(&names);
	return r;
}

int place_installed(const char *release, struct place *ret_place, struct error *e)
{
	CLEANUP_FREE char *config = NULL;
	const char *name;

	*ret_place = (struct place){ .kernel = place_image(release) };
	if (!ret_place->kernel)
		return not_installed(release, e);
	name = strrchr(ret_place->kernel, '/');
	config = str_starts(name, "/" VMLINUZ)
			 ? mem_printf("%s/boot/config-%s", root(), release)
			 : mem_printf("%.*s/config", (int)(name - ret_place->kernel),
				      ret_place->kernel);
	ret_place->config = read_config(config, ret_place->kernel, INSTALLS);
	set_modules(root(), release, ret_place);
	return 0;
}

void place_around(const char *path, struct place *ret_place)
{
	static const char *const in_tree[] = { "/" BZIMAGE, "/vmlinux" };
	CLEANUP_FREE char *real = realpath(path, NULL), *at = NULL, *base = NULL;
	char *name = real ? strrchr(real, '/') : NULL;

	*ret_place = (struct place){ .kernel = mem_strdup(path) };
	if (!name)
		return;
	if (str_starts(name, "/" VMLINUZ) || str_starts(name, "/vmlinux-")) {
		at = mem_printf("%.*s/config-%s", (int)(name - real), real,
				name + strlen("/" VMLINUZ));
		ret_place->config = read_config(at, path, INSTALLS);
		base = mem_strndup(real, (size_t)(name - real));
		if (str_ends(base, "/boot")) {
			base[strlen(base) - strlen("/boot")] = '\0';
			set_modules(base, name + strlen("/" VMLINUZ), ret_place);
		}
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(in_tree) && !base; i++) {
		if (!str_ends(real, in_tree[i]))
			continue;
		base = mem_strndup(real, strlen(real) - strlen(in_tree[i]));
		at = mem_printf("%s/.config", base);
		/* A vmlinux may lie anywhere; a tree has its configuration. */
		if (is_file(at))
			set_tree(base, ret_place);
	}
}

void place_done(struct place *place)
{
	if (!place)
		return;
	free(place->kernel);
	free(place->config);
	free(place->modules);
	*place = (struct place){ .kernel = NULL };
}

static int by_version(const void *a, const void *b)
{
	return str_version_cmp(*(char *const *)a, *(char *const *)b);
}

char **place_releases(size_t *ret_n)
{
	char **list = NULL;
	size_t n = 0, cap = 0, i, k;

	for (i = 0; i <= ARRAY_SIZE(module_folders); i++) {
		const char *in = i ? module_folders[i - 1] : "boot";
		CLEANUP_FREE char *dir = mem_printf("%s/%s", root(), in);
		DIR *d = opendir(dir);
		struct dirent *entry;

		while (d && (entry = readdir(d))) {
			const char *release = entry->d_name + (i ? 0 : strlen(VMLINUZ));
			CLEANUP_FREE char *image = NULL;

			if (i ? *release == '.' : !str_starts(entry->d_name, VMLINUZ))
				continue;
			image = place_image(release);
			for (k = 0; k < n && strcmp(list[k], release) != 0; k++)
				;
			if (k < n || !image || !*release)
				continue;
			list = mem_grow(list, n, &cap, sizeof(*list));
			list[n++] = mem_strdup(release);
		}
		if (d)
			closedir(d);
	}
	if (n)
		qsort(list, n, sizeof(*list), by_version);
	*ret_n = n;
	return list;
}
