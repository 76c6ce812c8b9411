/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd/cmd.h"

int cmd_bad(const struct error *e)
{
	fprintf(stderr, "kdelta: %s\n", e->text);
	return CMD_USAGE;
}

int cmd_help(const struct option_doc *doc, const struct option *table)
{
	struct str out = STR_INIT;

	option_help(&out, doc, table);
	return cmd_print(&out, CMD_OK);
}

int cmd_parse(const struct option_doc *doc, const struct option *table, int argc, char **argv,
	      int *ret_args, bool *ret_done)
{
	struct error err = ERROR_INIT;
	bool help;

	*ret_done = true;
	if (option_parse(table, argc, argv, ret_args, &help, &err) < 0) {
		error_prefix(&err, "%s", argv[0]);
		return cmd_bad(&err);
	}
	if (help)
		return cmd_help(doc, table);
	*ret_done = false;
	return CMD_OK;
}

int cmd_print(struct str *out, int code)
{
	struct error err = ERROR_INIT;
	int r = file_write_fd(STDOUT_FILENO, str_get(out), out->len, &err);

	str_done(out);
	if (r < 0 && r != -EPIPE) {
		fprintf(stderr, "kdelta: stdout: %s\n", strerror(-r));
		return code ? code : CMD_PARTIAL;
	}
	return code;
}

int cmd_store(const char *path, bool create, struct store **ret, struct error *e)
{
	CLEANUP_FREE char *def = NULL;
	int r;

	if (!path) {
		r = store_default_path(&def, e);
		if (r < 0)
			return r;
		path = def;
	}
	r = store_open(path, create ? STORE_CREATE : 0, ret, e);
	if (r == -ENOENT && !create) {
		error_clear(e);
		return error_set(e, ENOENT,
				 "%s: no store yet: `kdelta vm`, `run` or `import` makes it "
				 "(--store names another)",
				 path);
	}
	return r;
}

static volatile sig_atomic_t stop_flag;

static void on_signal(int sig)
{
	stop_flag = sig;
}

const volatile sig_atomic_t *cmd_stop(void)
{
	/* Once: the next one ends the process, should it hang. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	return &stop_flag;
}

void cmd_quote(struct str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_.,:/=+@%~";

	if (*word && *word != '~' && !word[strspn(word, plain)]) {
		str_add(out, word);
		return;
	}
	str_add_c(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_add(out, "'\\''");
		else
			str_add_c(out, *word);
	}
	str_add_c(out, '\'');
}
