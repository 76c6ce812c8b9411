/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"

#define CHUNK 65536u

struct sink {
	struct str buf;
	bool failed; /* to write, as opposed to read */
};

static int flush(struct sink *k, struct error *e)
{
	int r = file_write_fd(STDOUT_FILENO, str_get(&k->buf), k->buf.len, NULL);

	str_reset(&k->buf);
	if (r == 0)
		return 0;
	k->failed = true;
	return error_set(e, -r, "stdout: %s", strerror(-r));
}

static int add_line(const char *line, size_t len, void *arg, struct error *e)
{
	struct sink *k = arg;

	str_add_n(&k->buf, line, len);
	str_add_c(&k->buf, '\n');
	return k->buf.len < CHUNK ? 0 : flush(k, e);
}

int cmd_export(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta export [OPTION]... [LABEL...]",
		.summary = "Writes what was measured to stdout, as JSON Lines.",
		.description =
			"Without -e and LABEL: everything. A LABEL is all of its boots. docs/records.md\n"
			"describes the lines; `kdelta import` takes them into another store, or twice\n"
			"into the same one, and ids keep apart what is new and what is known.",
		.examples = "  kdelta export >all.jsonl\n"
			    "  kdelta export -e patch | ssh host kdelta import -\n"
			    "  kdelta export old new | jq -c 'select(.k == \"boot\")'",
	};
	struct option_list experiments = { NULL, 0, 0 };
	struct store_selection sel = { NULL, 0, NULL, 0 };
	const char *path = NULL;
	const struct option table[] = {
		{ 'e', "experiment", OPTION_TEXTS, &experiments, "NAME", NULL, 0, 0,
		  "of this experiment only; again for more" },
		CMD_STORE_OPTION(&path),
		CMD_OPTIONS_END,
	};
	struct sink k = { .buf = STR_INIT };
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	bool done;
	int r, at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (done)
		goto out;
	sel.experiments = experiments.items;
	sel.n_experiments = experiments.n;
	sel.labels = (const char *const *)(argv + at);
	sel.n_labels = (size_t)(argc - at);
	r = cmd_store(path, false, &s, &err);
	if (!r)
		r = store_export(s, &sel, add_line, &k, &err);
	if (!r)
		r = flush(&k, &err);
	/* A reader that has seen enough is no fault. */
	if (r < 0 && !(k.failed && r == -EPIPE)) {
		code = cmd_bad(&err);
		if (k.failed || (s && r != -ENOENT && r != -EINVAL))
			code = CMD_PARTIAL;
	}
	store_close(s);
out:
	str_done(&k.buf);
	option_list_done(&experiments);
	return code;
}
