/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "render/render.h"

static int label_mv(struct store *s, const char *from, const char *to)
{
	struct error err = ERROR_INIT;
	struct str out = STR_INIT;

	if (store_label_mv(s, from, to, &err) < 0)
		return cmd_bad(&err);
	str_add(&out, "renamed '");
	render_safe(&out, from);
	str_add(&out, "' to '");
	render_safe(&out, to);
	str_add(&out, "'\n");
	return cmd_print(&out, CMD_OK);
}

/* What would be hidden; -ENOENT where the store does not know the label. */
static int find_label(struct store *s, const char *label, struct str *ret, struct error *e)
{
	struct store_selection sel = { NULL, 0, &label, 1 };
	struct store_labels all;
	struct dataset d = DATASET_INIT;
	size_t i;
	int r = store_list_labels(s, &all, e);

	if (r < 0)
		return r;
	for (i = 0; i < all.n && strcmp(all.rows[i].label, label) != 0; i++)
		;
	if (i < all.n) {
		const struct store_label_row *l = &all.rows[i];

		str_add_c(ret, '\'');
		render_safe(ret, label);
		str_printf(ret, "' (%llu boots, %llu results)",
			   (unsigned long long)(l->boots_ok + l->boots_failed),
			   (unsigned long long)l->invocations);
		store_labels_done(&all);
		return 0;
	}
	store_labels_done(&all);
	/* The store says it best: with the labels that there are. */
	r = store_dataset(s, &sel, &d, e);
	dataset_done(&d);
	return r < 0 ? r : error_set(e, ENOENT, "no label '%s' in the store", label);
}

/* Only a plain yes is one. */
static bool ask(const char *what)
{
	char answer[16] = "";

	fprintf(stderr, "Hide %s from lists, comparisons and exports? [y/N] ", what);
	if (!fgets(answer, sizeof(answer), stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, "y") || !strcmp(answer, "yes");
}

static int label_rm(struct store *s, const char *label, bool yes)
{
	struct error err = ERROR_INIT;
	struct str what = STR_INIT;
	int code;

	if (find_label(s, label, &what, &err) < 0) {
		code = cmd_bad(&err);
	} else if (!yes && !isatty(STDIN_FILENO)) {
		error_set(&err, EINVAL, "label rm: nobody to ask here: --yes hides %s",
			  str_get(&what));
		code = cmd_bad(&err);
	} else if (!yes && !ask(str_get(&what))) {
		fprintf(stderr, "kdelta: nothing was hidden\n");
		code = CMD_USAGE;
	} else if (store_label_rm(s, label, &err) < 0) {
		code = cmd_bad(&err);
	} else {
		str_add(&what, " is hidden; its data stay in the store\n");
		return cmd_print(&what, CMD_OK);
	}
	str_done(&what);
	return code;
}

static int check_args(int n, char **args, struct error *e)
{
	static const char *const verbs[] = { "mv", "rm", NULL };
	const char *close;

	if (!n)
		return error_set(e, EINVAL, "label what? mv OLD NEW renames, rm LABEL hides");
	if (!strcmp(args[0], "mv"))
		return n == 3 ? 0 : error_set(e, EINVAL, "label mv wants OLD and NEW");
	if (!strcmp(args[0], "rm"))
		return n == 2 ? 0 : error_set(e, EINVAL, "label rm wants one LABEL");
	close = option_closest(args[0], verbs);
	return error_set(e, EINVAL, "label: unknown '%s': %s", args[0],
			 close && !strcmp(close, "mv") ? "did you mean mv OLD NEW?"
			 : close		       ? "did you mean rm LABEL?"
						       : "mv OLD NEW renames, rm LABEL hides");
}

int cmd_label(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta label mv OLD NEW\n"
			 "       kdelta label rm LABEL",
		.summary = "Renames a label in all experiments, or hides it.",
		.description =
			"rm hides a label's kernels from lists, comparisons and exports; the\n"
			"data stay in the store. It asks on a terminal and needs --yes elsewhere.",
		.examples = "  kdelta label mv 6.1.0-57-cloud-amd64 patched\n"
			    "  kdelta label rm patched --yes",
	};
	const char *path = NULL;
	bool done, yes = false;
	const struct option table[] = {
		{ 'y', "yes", OPTION_FLAG, &yes, NULL, NULL, 0, 0, "do not ask" },
		CMD_STORE_OPTION(&path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (done)
		return code;
	if (check_args(argc - at, argv + at, &err) < 0 || cmd_store(path, false, &s, &err) < 0)
		return cmd_bad(&err);
	if (!strcmp(argv[at], "mv"))
		code = label_mv(s, argv[at + 1], argv[at + 2]);
	else
		code = label_rm(s, argv[at + 1], yes);
	store_close(s);
	return code;
}
