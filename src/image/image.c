/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/image.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/bzimage.h"
#include "image/deb.h"
#include "image/debian.h"
#include "image/kconfig.h"
#include "image/places.h"
#include "image/sha256.h"
#include "image/vmlinux.h"

#define FILE_MAX    ((size_t)1 << 30)
#define VMLINUX_MAX ((size_t)512 << 20)
#define NOTES_MAX   ((size_t)1 << 20)
#define UNAME_MAX   64u /* __NEW_UTS_LEN of the kernel */

char *image_cache_dir(void)
{
	const char *dir = getenv("KDELTA_CACHE");

	if (dir && *dir)
		return mem_strdup(dir);
	dir = getenv("XDG_CACHE_HOME");
	if (dir && *dir == '/') /* a relative one is to be ignored, says the XDG specification */
		return mem_printf("%s/kdelta", dir);
	dir = getenv("HOME");
	return mem_printf("%s/.cache/kdelta", dir ? dir : "");
}

static char *move(char **from)
{
	char *s = *from;

	*from = NULL;
	return s;
}

static int take_vmlinux(const uint8_t *data, size_t len, struct image *img, struct error *e)
{
	struct vmlinux v;
	int r = vmlinux_parse(data, len, &v, e);

	if (r < 0)
		return r;
	img->release = move(&v.release);
	img->version = move(&v.version);
	img->build_id = move(&v.build_id);
	img->bootable = v.pvh;
	if (!v.pvh)
		img->unbootable = "this vmlinux has no PVH entry point (CONFIG_PVH is not set), "
				  "which QEMU needs: give the bzImage of the same build";
	if (!img->config)
		kconfig_from_vmlinux(data, len, &img->config, NULL);
	vmlinux_done(&v);
	return 0;
}

static int take_bzimage(const uint8_t *data, size_t len, struct image *img, struct error *e)
{
	CLEANUP_FREE uint8_t *inside = NULL;
	struct bzimage b;
	struct vmlinux v;
	size_t n;
	int r = bzimage_parse(data, len, &b, e);

	if (r < 0) {
		bzimage_done(&b);
		return r;
	}
	img->release = move(&b.release);
	img->version = move(&b.version);
	img->bootable = b.is_64bit;
	if (!b.is_64bit)
		img->unbootable = "it is a 32-bit kernel, and the agent is a 64-bit program";
	/* An unknown compression (LZO) only leaves the build-id unknown. */
	if (!bzimage_vmlinux(data, len, &b, VMLINUX_MAX, &inside, &n, NULL)) {
		if (!vmlinux_parse(inside, n, &v, NULL))
			img->build_id = move(&v.build_id);
		vmlinux_done(&v);
		if (!img->config)
			kconfig_from_vmlinux(inside, n, &img->config, NULL);
	}
	bzimage_done(&b);
	return 0;
}

static int take_kernel(const uint8_t *data, size_t len, struct image *img, struct error *e)
{
	char hex[SHA256_HEX_SIZE];
	int r;

	if (bzimage_is(data, len))
		r = take_bzimage(data, len, img, e);
	else if (vmlinux_is(data, len))
		r = take_vmlinux(data, len, img, e);
	else
		r = error_set(e, EINVAL,
			      "not a kernel for x86-64: give a bzImage, a vmlinux or a kernel's "
			      ".deb");
	if (r < 0)
		return r;
	sha256_hex(data, len, hex);
	img->sha256 = mem_strdup(hex);
	r = file_memfd("kdelta-kernel", data, len, &img->fd, e);
	if (!r)
		img->size = len;
	return r;
}

static int take_bytes(const uint8_t *data, size_t len, struct image *img, struct error *e)
{
	struct deb d;
	int r;

	if (!len)
		return error_set(e, EINVAL, "the file is empty: copy, build or download it again");
	if (!deb_is(data, len))
		return take_kernel(data, len, img, e);
	r = deb_read(data, len, FILE_MAX, &d, e);
	if (r < 0)
		return r;
	img->config = move(&d.config);
	img->package = move(&d.package);
	img->package_version = move(&d.version);
	r = take_kernel(d.kernel, d.kernel_len, img, e);
	if (r < 0)
		error_prefix(e, "%s in the package", d.kernel_name);
	deb_done(&d);
	return r;
}

static int open_failed(const char *path, int err, struct error *e)
{
	if (err == ENOENT && isdigit((unsigned char)*path) && !strchr(path, '/'))
		return error_set(e, err, "no such file (for Debian's kernel: debian:%s)", path);
	if (err == ENOENT)
		return error_set(e, err,
				 "no such file; KERNEL is a path to a bzImage, vmlinux, .deb or "
				 "build tree, or installed:RELEASE, running, debian:RELEASE");
	if (err == EACCES)
		return error_set(e, err,
				 "this user may not read it: copy it as root, or have "
				 "its mode changed");
	return error_errno(e, err, "cannot open it");
}

/* A package stays open for its modules. */
static int read_path(const char *path, struct image *img, char **ret_data, size_t *ret_len,
		     struct error *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0)
		return open_failed(path, errno, e);
	if (fstat(fd, &st) < 0)
		return error_errno(e, errno, "cannot read it");
	if (!S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "not a regular file");
	r = file_read_fd(fd, "reading it", FILE_MAX, ret_data, ret_len, e);
	if (!r && deb_is((const uint8_t *)*ret_data, *ret_len)) {
		img->modules_in = IMAGE_MODULES_DEB;
		img->modules = mem_strdup(path);
		img->modules_fd = fd;
		fd = -1;
	}
	return r;
}

static int open_file(const char *path, struct image *img, struct error *e)
{
	CLEANUP_FREE char *data = NULL;
	size_t len = 0;
	int r = read_path(path, img, &data, &len, e);

	return r < 0 ? r : take_bytes((const uint8_t *)data, len, img, e);
}

/* Empties the place. A configuration inside the kernel is more certain than one beside it. */
static int open_place(struct place *p, struct image *img, struct error *e)
{
	int r = open_file(p->kernel, img, e);

	if (!r && !img->config)
		img->config = move(&p->config);
	if (!r && img->modules_in == IMAGE_MODULES_NONE) {
		img->modules_in = p->modules_in;
		img->modules = move(&p->modules);
	}
	if (r < 0)
		error_prefix(e, "%s", p->kernel);
	place_done(p);
	return r;
}

static int open_path(const char *path, struct image *img, struct error *e)
{
	struct stat st;
	struct place p;
	int r;

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		r = place_tree(path, &p, e);
		return r < 0 ? r : open_place(&p, img, e);
	}
	r = open_file(path, img, e);
	if (r < 0 || img->modules_in != IMAGE_MODULES_NONE)
		return r;
	place_around(path, &p);
	if (!img->config)
		img->config = move(&p.config);
	img->modules_in = p.modules_in;
	img->modules = move(&p.modules);
	place_done(&p);
	return 0;
}

static int open_installed(const char *release, struct image *img, struct error *e)
{
	struct place p;
	int r = place_installed(release, &p, e);

	return r < 0 ? r : open_place(&p, img, e);
}

/* What is installed under the running kernel's name may have come after the boot. */
static int open_running(struct image *img, struct error *e)
{
	CLEANUP_FREE char *notes = NULL, *path = NULL;
	char id[ID_BUILD_SIZE], why[300];
	struct utsname u;
	size_t n = 0;
	bool known;
	int r;

	if (uname(&u) < 0)
		return error_errno(e, errno, "uname");
	path = place_image(u.release);
	if (!path)
		return error_set(e, ENOENT,
				 "the kernel that runs, %s, is not installed here (in a container "
				 "it is another system's): give its .deb, bzImage or build tree",
				 u.release);
	r = open_installed(u.release, img, e);
	if (r < 0)
		return r;
	known = !file_read("/sys/kernel/notes", NOTES_MAX, &notes, &n, NULL) &&
		!id_build_from_notes(notes, n, id);
	if (image_matches(img, u.release, u.version, known ? id : NULL, why, sizeof(why)))
		return 0;
	return error_set(e, ESTALE,
			 "%s is another kernel than the one that runs: the running one's %s; "
			 "reboot into it, or write installed:%s for that file",
			 path, why, u.release);
}

/* The package is opened again by its path: what is there then was checked when it was put there. */
static int open_debian(const char *what, const char *cache_dir,
		       const struct image_progress *progress, struct image *img, struct error *e)
{
	CLEANUP_FREE char *data = NULL, *path = NULL;
	size_t len = 0;
	int r = debian_fetch(what, cache_dir, progress, &path, &data, &len, e);

	if (!r)
		r = take_bytes((const uint8_t *)data, len, img, e);
	if (r < 0)
		return r;
	img->modules_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (img->modules_fd >= 0) {
		img->modules_in = IMAGE_MODULES_DEB;
		img->modules = move(&path);
	}
	return 0;
}

static int open_spec(const struct kernel_spec *spec, const char *cache_dir,
		     const struct image_progress *progress, struct image *img, struct error *e)
{
	switch (spec->source) {
	case KERNEL_FILE:
		return open_path(spec->what, img, e);
	case KERNEL_DEBIAN:
		return open_debian(spec->what, cache_dir, progress, img, e);
	case KERNEL_INSTALLED:
		return open_installed(spec->what, img, e);
	case KERNEL_RUNNING:
		return open_running(img, e);
	case KERNEL_GIT:
		break;
	}
	return error_set(e, ENOTSUP, "a commit is built before it is opened");
}

/* The rest of opening; `name` stands before an error. */
static int finish(int r, const char *name, const char *source_text, struct image *img,
		  struct error *e)
{
	if (r < 0) {
		image_done(img);
		error_prefix(e, "%s", name);
		return r;
	}
	img->source_text = mem_strdup(source_text);
	img->config_hash = kconfig_hash(img->config);
	return 0;
}

int image_open(const struct kernel_spec *spec, const char *cache_dir,
	       const struct image_progress *progress, struct image *ret_image, struct error *e)
{
	CLEANUP_FREE char *own_dir = cache_dir ? NULL : image_cache_dir();
	CLEANUP_FREE char *name = kernel_spec_kernel(spec);
	int r;

	*ret_image = (struct image)IMAGE_INIT;
	r = open_spec(spec, cache_dir ? cache_dir : own_dir, progress, ret_image, e);
	return finish(r, name, spec->text, ret_image, e);
}

int image_open_tree(const char *folder, const char *name, struct image *ret_image, struct error *e)
{
	struct place p;
	int r;

	*ret_image = (struct image)IMAGE_INIT;
	r = place_tree(folder, &p, e);
	if (!r)
		r = open_place(&p, ret_image, e);
	return finish(r, name, name, ret_image, e);
}

int image_open_bytes(const void *data, size_t len, const char *name, struct image *ret_image,
		     struct error *e)
{
	*ret_image = (struct image)IMAGE_INIT;
	return finish(take_bytes(data, len, ret_image, e), name, name, ret_image, e);
}

int image_check_bootable(const struct image *image, struct error *e)
{
	if (image->bootable)
		return 0;
	return error_set(e, ENOTSUP, "%s: cannot be booted: %s", image->source_text,
			 image->unbootable);
}

static bool differ(const char *what, const char *got, const char *want, char *why, size_t size)
{
	snprintf(why, size, "%s is %s, the image's is %s", what, got ? got : "unknown", want);
	return false;
}

bool image_matches(const struct image *image, const char *release, const char *version,
		   const char *build_id, char *why, size_t why_size)
{
	if (why_size)
		*why = '\0';
	if (image->build_id && build_id)
		return !strcasecmp(image->build_id, build_id) ||
		       differ("build-id", build_id, image->build_id, why, why_size);
	if (!str_eq(image->release, release))
		return differ("release", release, image->release, why, why_size);
	if (image->version && (!version || strncmp(image->version, version, UNAME_MAX)))
		return differ("version", version, image->version, why, why_size);
	return true;
}

void image_done(struct image *image)
{
	if (!image)
		return;
	free(image->source_text);
	free(image->release);
	free(image->version);
	free(image->build_id);
	free(image->config);
	free(image->config_hash);
	free(image->package);
	free(image->package_version);
	free(image->sha256);
	free(image->modules);
	if (image->size)
		mem_close_fd(&image->fd);
	if (image->modules_in == IMAGE_MODULES_DEB)
		mem_close_fd(&image->modules_fd);
	*image = (struct image)IMAGE_INIT;
}
