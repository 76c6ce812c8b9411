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

struct gc {
	const char *store_path;
	bool yes, dry_run;
	char *dir;
	struct cache_entry *list;
	bool *drop; /* one an entry */
	size_t n, n_drop;
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
	store_kernels_done(&kernels);
	return 0;
}

/* "2 kernels, 56.1 MB" of those that go, or that stay. */
static void add_sum(const struct gc *g, bool drop, struct str *out)
{
	uint64_t bytes = 0;
	size_t n = 0;
	char number[40];

	for (size_t i = 0; i < g->n; i++) {
		if (g->drop[i] != drop)
			continue;
		bytes += g->list[i].size;
		n++;
	}
	str_printf(out, "%zu kernel%s", n, n == 1 ? "" : "s");
	if (!n)
		return;
	unit_format_number((double)bytes / 1e6, 3, number, sizeof(number));
	str_printf(out, ", %s MB", number);
}

/* What goes, if anything does, below a line that begins with `verb`, and how much stays. */
static void describe(const struct gc *g, const char *verb, struct str *out)
{
	char number[40];

	if (g->n_drop) {
		str_printf(out, "%s ", verb);
		add_sum(g, true, out);
		str_add(out, ", that no label came from:\n");
	}
	for (size_t i = 0; i < g->n; i++) {
		if (!g->drop[i])
			continue;
		unit_format_number((double)g->list[i].size / 1e6, 3, number, sizeof(number));
		str_add(out, "  ");
		cmd_cell(out, g->list[i].package, 0);
		str_add_c(out, ' ');
		cmd_cell(out, g->list[i].version, 0);
		str_printf(out, ", %s MB\n", number);
	}
	str_add(out, "Kept: ");
	add_sum(g, false, out);
	str_add(out, ".\n");
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
	return code;
}

static int gc(struct gc *g, struct store *s)
{
	struct error err = ERROR_INIT;
	struct str out = STR_INIT;
	int code = CMD_OK;

	if (cache_list(g->dir, &g->list, &g->n, &err) < 0 || choose(g, s, &err) < 0)
		return cmd_bad(&err);
	if (!g->n_drop) {
		str_add(&out, "Nothing to drop. Kept: ");
		add_sum(g, false, &out);
		str_add(&out, ".\n");
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
		.summary = "Drops downloaded kernels that no stored label came from.",
		.description =
			"A package in the cache stays as long as a label of the store, or an earlier\n"
			"kernel of that label, may have come from it. `kdelta label rm` lets it go.\n"
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
	mem_free_ptr(&g.drop);
	mem_free_ptr(&g.dir);
	store_close(s);
	return code;
}
