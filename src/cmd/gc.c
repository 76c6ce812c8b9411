/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unit.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/text.h"
#include "image/apt.h"
#include "image/cache.h"
#include "image/image.h"
#include "kbuild/kbuild.h"

struct gc {
	const char *store_path;
	bool yes, dry_run;
	char *dir;
	struct cache_entry *list;
	bool *drop; /* one an entry */
	size_t n;
	struct kbuild_cached *built;
	bool *drop_built;
	size_t n_built;
	size_t n_drop; /* of both */
};

static bool same_file_name(const char *a, const char *b)
{
	const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

	return !strcmp(x ? x + 1 : a, y ? y + 1 : b);
}

/*
 * Could the kernel have come from this package? When the store does not know better, yes: what was
 * dropped in error may be offered nowhere any more.
 */
static bool came_from(const struct store_kernel_row *k, const struct cache_entry *c)
{
	CLEANUP_FREE char *release = apt_release(c->package);
	struct kernel_spec spec;
	const char *version;
	bool yes = false;

	if (!k->source)
		return str_eq(k->release, release);
	/* A source that cannot be read any more, as that of a form not known here. */
	if (kernel_spec_parse(k->source, &spec, NULL) < 0)
		return str_eq(k->release, release);
	if (spec.source == KERNEL_FILE) {
		yes = same_file_name(spec.what, c->path);
	} else if (spec.source == KERNEL_DEBIAN && release) {
		version = strchr(spec.what, '=');
		yes = strcspn(spec.what, "=") == strlen(release) &&
		      str_starts(spec.what, release) &&
		      (!version || !strcmp(version + 1, c->version));
	}
	kernel_spec_done(&spec);
	return yes;
}

/* And this one, built of a commit? Of its configurations and compilers the store says too little.
 */
static bool was_built(const struct store_kernel_row *k, const struct kbuild_cached *c)
{
	bool yes = !c->release || str_eq(k->release, c->release);
	struct kernel_spec spec;
	size_t n;

	if (!k->source || kernel_spec_parse(k->source, &spec, NULL) < 0)
		return yes;
	n = strlen(spec.what);
	if (spec.source != KERNEL_GIT)
		yes = strstr(spec.what, c->name);
	else if (n >= 7 && strspn(spec.what, "0123456789abcdef") == n)
		yes = str_starts(c->name, spec.what);
	kernel_spec_done(&spec);
	return yes;
}

/* While something builds, its kernels may have no label yet. */
static void choose_built(struct gc *g, const struct store_kernels *kernels)
{
	bool busy = false;

	g->drop_built = mem_array(g->n_built + 1, sizeof(*g->drop_built));
	for (size_t i = 0; i < g->n_built; i++)
		busy = busy || g->built[i].busy;
	for (size_t i = 0; i < g->n_built; i++) {
		const struct kbuild_cached *c = &g->built[i];

		g->drop_built[i] = c->work ? !c->busy : !busy;
		for (size_t k = 0; k < kernels->n && g->drop_built[i] && !c->work; k++)
			g->drop_built[i] = !was_built(&kernels->rows[k], c);
		g->n_drop += g->drop_built[i];
	}
}

static int choose(struct gc *g, struct store *s, struct error *e)
{
	struct store_kernels kernels;
	int r = store_list_kernels(s, &kernels, e);

	if (r < 0)
		return r;
	g->drop = mem_array(g->n + 1, sizeof(*g->drop));
	for (size_t i = 0; i < g->n; i++) {
		g->drop[i] = true;
		for (size_t k = 0; k < kernels.n && g->drop[i]; k++)
			g->drop[i] = !came_from(&kernels.rows[k], &g->list[i]);
		g->n_drop += g->drop[i];
	}
	choose_built(g, &kernels);
	store_kernels_done(&kernels);
	return 0;
}

struct sum {
	size_t n;
	uint64_t bytes;
};

/* Of those that go, or that stay. */
static struct sum sum_kernels(const struct gc *g, bool drop)
{
	struct sum sum = { 0, 0 };

	for (size_t i = 0; i < g->n; i++) {
		sum.n += g->drop[i] == drop;
		sum.bytes += g->drop[i] == drop ? g->list[i].size : 0;
	}
	for (size_t i = 0; i < g->n_built; i++) {
		if (g->drop_built[i] != drop || g->built[i].work)
			continue;
		sum.n++;
		sum.bytes += g->built[i].size;
	}
	return sum;
}

static struct sum sum_works(const struct gc *g, bool drop)
{
	struct sum sum = { 0, 0 };

	for (size_t i = 0; i < g->n_built; i++) {
		if (g->drop_built[i] != drop || !g->built[i].work)
			continue;
		sum.n++;
		sum.bytes += g->built[i].size;
	}
	return sum;
}

static void add_size(uint64_t bytes, struct str *out)
{
	char number[40];

	unit_format_number((double)bytes / 1e6, 3, number, sizeof(number));
	str_printf(out, ", %s MB", number);
}

/* "2 kernels, 56.1 MB" */
static void add_sum(struct sum sum, const char *what, struct str *out)
{
	str_printf(out, "%zu %s%s", sum.n, what, sum.n == 1 ? "" : "s");
	if (sum.n)
		add_size(sum.bytes, out);
}

static void add_kept(const struct gc *g, struct str *out)
{
	struct sum works = sum_works(g, false);

	str_add(out, "Kept: ");
	add_sum(sum_kernels(g, false), "kernel", out);
	if (works.n) {
		str_add(out, "; ");
		add_sum(works, "work folder", out);
	}
	str_add(out, ".\n");
}

static void add_built(const struct gc *g, bool work, struct str *out)
{
	for (size_t i = 0; i < g->n_built; i++) {
		const struct kbuild_cached *c = &g->built[i];

		if (!g->drop_built[i] || c->work != work)
			continue;
		if (work) {
			str_printf(out, "  git/%s", c->name);
		} else {
			str_printf(out, "  git:%.12s ", c->name);
			cmd_cell(out, c->release ? c->release : "(unfinished)", 0);
		}
		add_size(c->size, out);
		str_add_c(out, '\n');
	}
}

/* What goes, if anything does, below lines that begin with `verb`, and how much stays. */
static void describe(const struct gc *g, const char *verb, struct str *out)
{
	struct sum kernels = sum_kernels(g, true), works = sum_works(g, true);

	if (kernels.n) {
		str_printf(out, "%s ", verb);
		add_sum(kernels, "kernel", out);
		str_add(out, ", that no label came from:\n");
	}
	for (size_t i = 0; i < g->n; i++) {
		if (!g->drop[i])
			continue;
		str_add(out, "  ");
		cmd_cell(out, g->list[i].package, 0);
		str_add_c(out, ' ');
		cmd_cell(out, g->list[i].version, 0);
		add_size(g->list[i].size, out);
		str_add_c(out, '\n');
	}
	add_built(g, false, out);
	if (works.n) {
		str_printf(out, "%s ", verb);
		add_sum(works, "work folder", out);
		str_add(out, ", that the next build makes again:\n");
		add_built(g, true, out);
	}
	add_kept(g, out);
}

/* Only a plain yes is one. */
static bool ask(const struct gc *g, const char *store)
{
	struct str text = STR_INIT;
	char answer[16] = "";

	describe(g, "To drop:", &text);
	fprintf(stderr, "%sDrop them from %s? Labels of other stores than %s do not count. [y/N] ",
		str_get(&text), g->dir, store);
	str_done(&text);
	if (!fgets(answer, sizeof(answer), stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, "y") || !strcmp(answer, "yes");
}

/* What could not be deleted is said, and counts as kept. */
static int drop(struct gc *g)
{
	int code = CMD_OK;

	for (size_t i = 0; i < g->n; i++) {
		if (!g->drop[i] || !unlink(g->list[i].path) || errno == ENOENT)
			continue;
		fprintf(stderr, "kdelta: %s: %s\n", g->list[i].path, strerror(errno));
		g->drop[i] = false;
		g->n_drop--;
		code = CMD_PARTIAL;
	}
	for (size_t i = 0; i < g->n_built; i++) {
		struct error err = ERROR_INIT;

		if (!g->drop_built[i] || kbuild_cache_drop(&g->built[i], &err) == 0)
			continue;
		fprintf(stderr, "kdelta: %s\n", err.text);
		error_clear(&err);
		g->drop_built[i] = false;
		g->n_drop--;
		code = CMD_PARTIAL;
	}
	return code;
}

static int gc(struct gc *g, struct store *s)
{
	struct error err = ERROR_INIT;
	struct str out = STR_INIT;
	int code = CMD_OK;

	if (cache_list(g->dir, &g->list, &g->n, &err) < 0 ||
	    kbuild_cache_list(g->dir, &g->built, &g->n_built, &err) < 0 || choose(g, s, &err) < 0)
		return cmd_bad(&err);
	if (!g->n_drop) {
		str_add(&out, "Nothing to drop. ");
		add_kept(g, &out);
	} else if (g->dry_run) {
		describe(g, "Would drop", &out);
	} else if (!g->yes && !isatty(STDIN_FILENO)) {
		error_set(&err, EINVAL,
			  "gc: nobody to ask here: -n lists what would go, --yes drops it");
		return cmd_bad(&err);
	} else if (!g->yes && !ask(g, store_path(s))) {
		fputs("kdelta: nothing was dropped\n", stderr);
		return CMD_USAGE;
	} else {
		code = drop(g);
		describe(g, "Dropped", &out);
	}
	return cmd_print(&out, code);
}

int cmd_gc(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta gc [OPTION]...",
		.summary = "Drops downloaded and built kernels that no stored label came from.",
		.description =
			"A package in the cache stays as long as a label of the store, or an earlier\n"
			"kernel of that label, may have come from it. `kdelta label rm` lets it go.\n"
			"The same holds for kernels built of a commit; the folders they are built in go,\n"
			"unless something builds there now, and the next build compiles all again.\n"
			"Results are never dropped. It asks on a terminal and needs --yes elsewhere.",
		.examples = "  kdelta gc -n\n"
			    "  kdelta gc --yes",
	};
	struct gc g = { .dir = NULL };
	const struct option table[] = {
		{ 'n', "dry-run", OPTION_FLAG, &g.dry_run, NULL, NULL, 0, 0,
		  "only say what would go" },
		{ 'y', "yes", OPTION_FLAG, &g.yes, NULL, NULL, 0, 0, "do not ask" },
		CMD_STORE_OPTION(&g.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (done)
		return code;
	if (at < argc) {
		error_set(&err, EINVAL, "gc: '%s': it takes no arguments", argv[at]);
		return cmd_bad(&err);
	}
	/* Without a store nothing says what is needed: not a reason to drop everything. */
	if (cmd_store(g.store_path, false, &s, &err) < 0)
		return cmd_bad(&err);
	g.dir = image_cache_dir();
	code = gc(&g, s);
	cache_list_free(g.list, g.n);
	kbuild_cache_free(g.built, g.n_built);
	mem_free_ptr(&g.drop);
	mem_free_ptr(&g.drop_built);
	mem_free_ptr(&g.dir);
	store_close(s);
	return code;
}
