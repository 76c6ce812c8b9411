/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/bisect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "image/image.h"
#include "vm/vm.h"

/* The list of kernels, as it was typed. */
struct list {
	struct bisect *b;
	struct bisect_kernel *kernels;
	unsigned n;
	/* of debian: ones: what there is; asking apt takes seconds, so once, and only if need be */
	struct image_entry *offers;
	size_t n_offers;
	bool asked_apt;
};

static int list_kernel(void *arg, unsigned node, struct bisect_kernel *ret, struct error *e)
{
	const struct bisect_kernel *k = &((struct list *)arg)->kernels[node];

	(void)e;
	*ret = (struct bisect_kernel){ .text = mem_strdup(k->text),
				       .label = mem_strdup(k->label),
				       .build_id = mem_strdup(k->build_id),
				       .shown = mem_strdup(k->shown) };
	return 0;
}

static bool is_offered(const struct list *l, const char *what)
{
	size_t i, len = strcspn(what, "=");

	for (i = 0; i < l->n_offers; i++)
		if ((l->offers[i].where == IMAGE_CACHED || l->offers[i].where == IMAGE_OFFERED) &&
		    !strncmp(l->offers[i].release, what, len) && !l->offers[i].release[len] &&
		    (!what[len] || str_eq(l->offers[i].version, what + len + 1)))
			return true;
	return false;
}

/* That it can be had is known before anything is booted. */
static int check_debian(struct list *l, const char *what, struct error *e)
{
	CLEANUP_FREE char *cache = image_cache_dir();
	int r = l->offers ? 0 : image_list(cache, false, &l->offers, &l->n_offers, e);

	if (!r && !is_offered(l, what) && !l->asked_apt) {
		image_list_free(l->offers, l->n_offers);
		l->offers = NULL;
		l->n_offers = 0;
		l->asked_apt = true;
		r = image_list(cache, true, &l->offers, &l->n_offers, e);
	}
	if (!r && !is_offered(l, what))
		r = error_set(e, ENOENT,
			      "debian:%s: apt does not offer it and it is not in the cache (see "
			      "kdelta list kernels --offered)",
			      what);
	return r;
}

/* What it is, as far as that can be told without fetching or building it. */
static int look_at(struct list *l, struct vm_kernels *v, unsigned i, char **ret_label,
		   struct error *e)
{
	struct bisect_kernel *k = &l->kernels[i];
	struct kernel_spec *spec = &v->spec[i];
	struct image img = IMAGE_INIT;
	int r = 0;

	switch (spec->source) {
	case KERNEL_GIT: {
		CLEANUP_FREE char *rev = mem_strdup(spec->what);

		*ret_label = image_label_default(spec, NULL);
		free(spec->what);
		spec->what = NULL;
		r = bisect_git_commit(l->b->tree, rev, &spec->what, e);
		if (r < 0)
			spec->what = mem_strdup(rev);
		break;
	}
	case KERNEL_DEBIAN:
		r = check_debian(l, spec->what, e);
		*ret_label = image_label_default(spec, NULL);
		break;
	default:
		r = image_open(spec, NULL, NULL, &img, e);
		*ret_label = image_label_default(spec, r ? NULL : img.release);
		if (!r)
			k->build_id = mem_strdup(img.build_id);
		/* The same path may be another kernel tomorrow. */
		if (!r && img.sha256) {
			CLEANUP_FREE char *before = l->b->identity;

			l->b->identity = mem_printf("%s%s\n", before ? before : "", img.sha256);
		}
		image_done(&img);
	}
	return r;
}

static int take_kernels(struct list *l, struct vm_kernels *v, struct error *e)
{
	CLEANUP_FREE const char **taken = mem_array(v->n, sizeof(*taken));
	unsigned i;

	l->n = v->n;
	l->kernels = mem_array(v->n, sizeof(*l->kernels));
	for (i = 0; i < v->n; i++) {
		struct bisect_kernel *k = &l->kernels[i];
		struct kernel_spec *spec = &v->spec[i];
		CLEANUP_FREE char *label = NULL, *kernel = NULL;
		int r = look_at(l, v, i, &label, e);

		if (r < 0)
			return r;
		kernel = kernel_spec_kernel(spec);
		k->text = mem_printf("%s%s%s", kernel, spec->append ? ",append=" : "",
				     spec->append ? spec->append : "");
		k->label = image_label_unique(spec->label ? spec->label : label, taken, i);
		k->shown = mem_strdup(spec->label ? spec->label : k->text);
		taken[i] = k->label;
	}
	return 0;
}

/* The command that repeats this one. */
static char *list_command(const struct bisect *b, const struct list *l, const struct vm_kernels *v)
{
	struct str words = STR_INIT;
	unsigned i;

	str_add(&words, "kdelta bisect");
	bisect_words(b, &words);
	for (i = 0; i < l->n; i++) {
		str_add_c(&words, ' ');
		cmd_quote(&words,
			  v->spec[i].source == KERNEL_GIT ? l->kernels[i].text : v->spec[i].text);
	}
	return str_take(&words);
}

static int bisect_list(struct bisect *b, struct vm_kernels *v, struct error *e)
{
	struct list l = { .b = b };
	struct bisect_subject s = { .kernel = list_kernel, .arg = &l };
	CLEANUP_FREE char *command = NULL;
	unsigned i;
	int r = take_kernels(&l, v, e), code = CMD_USAGE;

	if (!r) {
		command = list_command(b, &l, v);
		s.command = command;
		s.history.n = l.n;
		code = bisect_search(b, &s);
	}
	for (i = 0; i < l.n; i++)
		bisect_kernel_done(&l.kernels[i]);
	free(l.kernels);
	image_list_free(l.offers, l.n_offers);
	return r < 0 ? r : code;
}

int cmd_bisect(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta bisect --exact -w SPEC [OPTION]... [LABEL=]KERNEL...\n"
			 "       kdelta bisect git --exact -w SPEC --good REV --bad REV\n"
			 "       kdelta bisect judge --exact -w SPEC --good LABEL|VALUE [KERNEL]",
		.summary =
			"Finds the first of many kernels whose figure moved, in about log2 boots.",
		.description =
			"The kernels are given in their order, the good one first. The first and the\n"
			"last are measured, then those in the middle of what is left, until the first\n"
			"is found whose figure differs from that of the good end. What does not build,\n"
			"boot or run the workload is skipped, and its neighbours are tried. At the end\n"
			"stands what that one step changed, function by function.\n\n"
			"Results are stored as they come: an interrupted command, repeated, goes on.\n\n"
			"kdelta bisect git does the same with the commits of the kernel tree in this\n"
			"folder, which is only read. kdelta bisect judge is for git bisect run, which\n"
			"goes its own way through them. Both have a --help.",
		.examples =
			"  kdelta bisect --exact -w getppid debian:6.1.0-4{7,8,9}-cloud-amd64\n"
			"  kdelta bisect --exact -w fork --threshold 1000 v6.1.deb v6.6.deb v6.12.deb\n"
			"  kdelta bisect git --exact -w pipe --good v6.1 --bad v6.2\n"
			"  git bisect run kdelta bisect judge --exact -w getppid --good 335",
	};
	struct bisect b = BISECT_INIT;
	struct vm_kernels v = { .n = 0 };
	const struct option table[] = {
		BISECT_OPTION_EXACT(&b),	   BISECT_OPTIONS(&b), BISECT_OPTION_TREE(&b),
		CMD_STORE_OPTION(&b.m.store_path), CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	int at, code, r = 0;

	if (argc > 1 && !strcmp(argv[1], "git"))
		return bisect_git(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "judge"))
		return bisect_judge_main(argc - 1, argv + 1);
	code = cmd_parse(&doc, table, argc, argv, &at, &done);
	if (done)
		goto out;
	v.tree = b.tree;
	if (argc - at < 2 && b.exact)
		r = error_set(&err, EINVAL,
			      "bisect wants kernels in their order, the good one first: kdelta "
			      "bisect --exact -w SPEC GOOD ... BAD (see --help)");
	if (!r)
		r = bisect_prepare(&b, &err);
	if (!r)
		r = vm_kernels_parse(&v, argv + at, (unsigned)(argc - at), 1, &err);
	if (!r)
		r = bisect_list(&b, &v, &err);
	code = r < 0 ? cmd_bad(&err) : r;
out:
	vm_kernels_done(&v);
	bisect_done(&b);
	return code;
}
