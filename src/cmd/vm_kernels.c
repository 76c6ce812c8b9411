/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/vm_kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/common.h"
#include "cmd/git_kernel.h"
#include "vm/vm.h"

/* The argument without its label: what the kernel came from. */
static char *source_of(const struct kernel_spec *k)
{
	CLEANUP_FREE char *kernel = kernel_spec_kernel(k);

	return mem_printf("%s%s%s", kernel, k->append ? ",append=" : "",
			  k->append ? k->append : "");
}

struct download {
	bool quiet;
	bool said; /* that this one is complete */
};

static int on_download(void *arg, const char *what, uint64_t bytes, uint64_t of_bytes)
{
	struct download *d = arg;
	bool all = of_bytes && bytes >= of_bytes;

	if (!d->quiet && isatty(STDERR_FILENO) == 1) {
		fputs("\r\033[K", stderr);
		if (!all)
			fprintf(stderr, "%s: %llu of %llu MB", what,
				(unsigned long long)(bytes / 1000000),
				(unsigned long long)(of_bytes / 1000000));
	}
	if (!d->quiet && all && !d->said)
		fprintf(stderr, "downloaded %s, %llu MB\n", what,
			(unsigned long long)(of_bytes / 1000000));
	d->said |= all;
	return *cmd_stop() ? 1 : 0;
}

int vm_kernels_parse(struct vm_kernels *v, char **args, unsigned n, size_t boots, struct error *e)
{
	unsigned i, k;

	v->spec = mem_array(n, sizeof(*v->spec));
	v->image = mem_array(n, sizeof(*v->image));
	v->kernel = mem_array(n * boots, sizeof(*v->kernel));
	for (i = 0; i < n; i++) {
		v->image[i] = (struct image)IMAGE_INIT;
		if (kernel_spec_parse(args[i], &v->spec[i], e) < 0)
			return -EINVAL;
		v->n++;
		if (vm_check_append(v->spec[i].append, e) < 0)
			return error_prefix(e, "%s", args[i]);
		for (k = 0; k < i; k++)
			if (v->spec[i].label && str_eq(v->spec[k].label, v->spec[i].label))
				return error_set(e, EEXIST,
						 "the label '%s' is given to two kernels",
						 v->spec[i].label);
	}
	return 0;
}

static void drop_kernel(struct vm_kernels *v, unsigned i)
{
	kernel_spec_done(&v->spec[i]);
	v->n--;
	v->skipped++;
	memmove(&v->spec[i], &v->spec[i + 1], (v->n - i) * sizeof(*v->spec));
}

int vm_kernels_open(struct vm_kernels *v, bool *quiet, struct error *e)
{
	CLEANUP_FREE const char **taken = mem_array(v->n, sizeof(*taken));
	struct download d = { .quiet = *quiet };
	struct image_progress p = { .report = on_download, .arg = &d };
	unsigned i;

	for (i = 0; i < v->n; i++) {
		CLEANUP_FREE char *label = NULL, *commit = NULL;
		bool git = v->spec[i].source == KERNEL_GIT;
		int r = git ? git_kernel_open(&v->spec[i], v->tree, *quiet, &v->image[i], &commit,
					      e)
			    : image_open(&v->spec[i], NULL, &p, &v->image[i], e);

		d.said = false;
		if (git && r == -ENOEXEC) {
			drop_kernel(v, i--);
			continue;
		}
		if (!r)
			r = image_check_bootable(&v->image[i], e);
		if (r < 0)
			return r;
		label = v->spec[i].label ? mem_strdup(v->spec[i].label)
					 : image_label_default(&v->spec[i], v->image[i].release);
		taken[i] = image_label_unique(label, taken, i);
		v->kernel[i].label = taken[i];
		v->kernel[i].image = &v->image[i];
		v->kernel[i].append = v->spec[i].append;
		if (git)
			git_kernel_pin(&v->spec[i], taken[i], commit);
		v->kernel[i].source = source_of(&v->spec[i]);
		v->total++;
	}
	if (v->skipped && v->n < 2)
		return error_set(e, ENOEXEC, "too few kernels are left to compare");
	return 0;
}

/* Does one command line name a parameter that the other names as well? */
static bool has_parameter(const char *append, const char *words)
{
	while (*words) {
		size_t n = strcspn(words, "= ");
		const char *p;

		for (p = append; *p && n; p += strcspn(p, " "), p += strspn(p, " "))
			if (!strncmp(p, words, n) && (p[n] == '=' || p[n] == ' ' || !p[n]))
				return true;
		words += strcspn(words, " ");
		words += strspn(words, " ");
	}
	return false;
}

int vm_kernels_cross(struct vm_kernels *v, const struct sets *sets, struct error *e)
{
	size_t boots = sets_count(sets, true), b;
	unsigned i = v->total;

	for (b = 0; b < v->n; b++)
		if (v->spec[b].append &&
		    has_parameter(v->spec[b].append, sets_boot_words(sets, 0, &v->arena)))
			return error_set(e, EINVAL,
					 "%s: its append has a parameter that --set boot: varies",
					 v->spec[b].text);
	/* From the last to the first, so that each is read before it is written over. */
	while (*sets_boot_words(sets, 0, &v->arena) && i--) {
		struct campaign_kernel k = v->kernel[i];
		struct kernel_spec with = v->spec[i];

		for (b = boots; b > 0; b--) {
			struct campaign_kernel *to = &v->kernel[i * boots + b - 1];
			const char *words = sets_boot_words(sets, b - 1, &v->arena);

			with.append = arena_printf(&v->arena, "%s%s%s", k.append ? k.append : "",
						   k.append ? " " : "", words);
			to->label = mem_printf("%s %s", k.label, words);
			to->image = k.image;
			to->append = with.append;
			to->source = source_of(&with);
			v->total += b > 1;
			if (image_label_check(to->label, e) < 0)
				error_prefix(e, "%s", to->label);
		}
		free((char *)(uintptr_t)k.label);
		free((char *)(uintptr_t)k.source);
	}
	return error_is_set(e) ? -EINVAL : 0;
}

static void word(struct str *out, const char *option, const char *value)
{
	if (!value)
		return;
	str_printf(out, " %s ", option);
	cmd_quote(out, value);
}

void vm_words(const struct campaign_vm *cv, const struct vm_kernels *v, struct str *out)
{
	unsigned i;

	word(out, "--cpu", cv->cpu_model);
	word(out, "--qemu", cv->qemu);
	word(out, "--qemu-args", v->qemu_args);
	word(out, "--tree", v->tree);
	for (i = 0; i < v->n; i++) {
		str_add_c(out, ' ');
		cmd_quote(out, v->spec[i].text);
	}
}

void vm_kernels_done(struct vm_kernels *v)
{
	unsigned i;

	for (i = 0; i < v->total; i++) {
		free((char *)(uintptr_t)v->kernel[i].label);
		free((char *)(uintptr_t)v->kernel[i].source);
	}
	for (i = 0; i < v->n; i++) {
		image_done(&v->image[i]);
		kernel_spec_done(&v->spec[i]);
	}
	free(v->spec);
	free(v->image);
	free(v->kernel);
	arena_done(&v->arena);
}

int vm_kernels_whence(const struct vm_kernels *v, unsigned at, char *buf, size_t size,
		      struct error *e)
{
	const struct kernel_spec *k = &v->spec[at];
	CLEANUP_FREE char *cache = image_cache_dir();
	struct image_entry *list;
	size_t n, i, len = strcspn(k->what, "=");
	bool found = false;

	if (k->source == KERNEL_GIT) {
		snprintf(buf, size, "  (built if not in the cache: minutes, or seconds)");
		return 0;
	}
	if (k->source != KERNEL_DEBIAN) {
		struct image img = IMAGE_INIT;
		int r = image_open(k, NULL, NULL, &img, e);

		if (!r)
			r = image_check_bootable(&img, e);
		image_done(&img);
		*buf = '\0';
		return r;
	}
	if (image_list(cache, true, &list, &n, e) < 0)
		return -EIO;
	for (i = 0; i < n && !found; i++) {
		if (list[i].where == IMAGE_INSTALLED || strncmp(list[i].release, k->what, len) ||
		    list[i].release[len] ||
		    (k->what[len] && !str_eq(list[i].version, k->what + len + 1)))
			continue;
		found = true;
		if (list[i].where == IMAGE_CACHED)
			snprintf(buf, size, "  (in the cache)");
		else
			snprintf(buf, size, "  (to be downloaded, %llu MB)",
				 (unsigned long long)(list[i].size / 1000000));
	}
	image_list_free(list, n);
	if (!found)
		return error_set(e, ENOENT,
				 "debian:%s: apt does not offer it and it is not in the cache (see "
				 "kdelta list kernels --offered)",
				 k->what);
	return 0;
}
