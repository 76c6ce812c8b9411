/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "model/record.h"
#include "render/render.h"

#define GIVE_UP 20u /* lines of a file none of which is a record */

struct import {
	struct store *store;
	const char *store_path; /* as given; NULL */
	const char *label, *experiment;
	struct str out;
	int code;
	bool stop;			  /* the store takes no more, or interrupted */
	bool several;			  /* experiments */
	char bare_in[ID_UUID_SIZE];	  /* where bare streams without a name of their own go */
	char experiment_id[ID_UUID_SIZE]; /* the last one met */
};

/* One file on its way in. */
struct input {
	const char *name;
	struct store_importer *im;
	struct str buf;
	uint64_t good, bad;
	bool bare, cut;
};

/* The worst so far: bad input before what was done in part. */
static void note_code(struct import *m, int code)
{
	if (m->code != CMD_USAGE)
		m->code = code ? code : m->code;
}

static void say(const struct input *in, struct error *e)
{
	error_prefix(e, "%s", in->name);
	cmd_bad(e);
	error_clear(e);
}

/* Of many bad lines the first is enough. */
static void unreadable(struct import *m, struct input *in, struct error *e)
{
	if (!in->bad++)
		say(in, e);
	note_code(m, CMD_USAGE);
}

/* Faults of the store, behind which no line will fare better. */
static bool is_store_fault(int r)
{
	return r == -ENOSPC || r == -EBUSY || r == -EIO || r == -EROFS || r == -EBADMSG;
}

static bool is_blank(const char *line, size_t len)
{
	while (len && strchr("\r\t ", line[len - 1]))
		len--;
	return !len;
}

static void take_line(struct import *m, struct input *in, const char *line, size_t len, bool whole)
{
	struct error err = ERROR_INIT;
	int r = store_import_line(in->im, line, len, &err);

	if (r >= 0) {
		in->good += !is_blank(line, len);
		return;
	}
	if (is_store_fault(r)) {
		say(in, &err);
		note_code(m, CMD_PARTIAL);
		m->stop = true;
		return;
	}
	/* A stream that was cut ends anywhere, mostly in a line. */
	if (!whole && in->good) {
		in->cut = true;
		return;
	}
	unreadable(m, in, &err);
}

/* Bare streams of one command, one a file, are one experiment. */
static void begin(struct import *m, struct input *in, const char *line, size_t len)
{
	struct store_import_opts o = { m->label, m->experiment };
	CLEANUP_JSON json_t *j = NULL;

	if (!json_parse(line, len, in->name, &j, NULL))
		in->bare = str_eq(json_opt_str(j, "k", NULL), "hello");
	if (in->bare && !o.experiment && *m->bare_in)
		o.experiment = m->bare_in;
	in->im = store_importer_new(m->store, &o);
}

static void take_lines(struct import *m, struct input *in, bool at_end)
{
	size_t at = 0;

	while (at < in->buf.len && !m->stop) {
		char *from = in->buf.s + at, *end = memchr(from, '\n', in->buf.len - at);
		size_t len = end ? (size_t)(end - from) : in->buf.len - at;

		if (!end && !at_end)
			break;
		if (!in->im)
			begin(m, in, from, len);
		take_line(m, in, from, len, end != NULL);
		if (in->bad >= GIVE_UP && !in->good)
			break;
		at += len + (end != NULL);
	}
	memmove(in->buf.s, in->buf.s + at, in->buf.len - at);
	in->buf.len -= at;
}

static void read_input(struct import *m, struct input *in, int fd)
{
	const volatile sig_atomic_t *stop = cmd_stop();
	struct error err = ERROR_INIT;
	char chunk[65536];
	ssize_t n = 1;

	while (n > 0 && !m->stop && !(in->bad >= GIVE_UP && !in->good)) {
		n = *stop ? 0 : read(fd, chunk, sizeof(chunk));
		if (*stop) {
			error_set(&err, EINTR, "interrupted");
			say(in, &err);
			note_code(m, CMD_PARTIAL);
			m->stop = true;
		} else if (n < 0) {
			error_set(&err, errno, "%s", strerror(errno));
			unreadable(m, in, &err);
		} else if (n) {
			str_add_n(&in->buf, chunk, (size_t)n);
			take_lines(m, in, false);
		} else if (in->buf.len) {
			take_lines(m, in, true);
		}
		if (in->buf.len > RECORD_LINE_MAX) {
			error_set(&err, EFBIG,
				  "line %llu: longer than %u bytes: these are no records",
				  (unsigned long long)(in->good + in->bad + 1), RECORD_LINE_MAX);
			unreadable(m, in, &err);
			return;
		}
	}
}

static void add_count(struct str *out, uint64_t n, const char *one, const char *many)
{
	if (n)
		str_printf(out, ", %llu %s", (unsigned long long)n, n == 1 ? one : many);
}

/* What came of one file. */
static void report(struct import *m, const struct input *in, const struct store_import_tally *t)
{
	render_safe(&m->out, in->name);
	str_printf(&m->out, ": %llu boot%s, %llu result%s", (unsigned long long)t->boots,
		   t->boots == 1 ? "" : "s", (unsigned long long)t->all.ok,
		   t->all.ok == 1 ? "" : "s");
	add_count(&m->out, t->all.failed, "failed", "failed");
	add_count(&m->out, t->all.skipped + t->all.skipped_implied, "skipped", "skipped");
	add_count(&m->out, t->all.failures, "failure of the agent", "failures of the agent");
	str_add_c(&m->out, '\n');
	m->several |= t->experiments > 1 ||
		      (*m->experiment_id && strcmp(m->experiment_id, t->experiment) != 0);
	memcpy(m->experiment_id, t->experiment, ID_UUID_SIZE);
	if (in->bare)
		memcpy(m->bare_in, t->experiment, ID_UUID_SIZE);
}

static void end_input(struct import *m, struct input *in)
{
	struct store_import_tally t = { .lines = 0 };
	struct error err = ERROR_INIT;

	if (in->im && store_import_end(in->im, &t, &err) < 0) {
		say(in, &err);
		note_code(m, CMD_PARTIAL);
	}
	if (t.bad_lines > 1) {
		error_set(&err, EINVAL, "%llu lines in all could not be taken",
			  (unsigned long long)t.bad_lines);
		say(in, &err);
	}
	if (t.cut || in->cut) {
		error_set(&err, EPIPE, "the records end before done%s",
			  t.all.ok ? "; what was complete is kept" : "");
		say(in, &err);
		note_code(m, CMD_PARTIAL);
	}
	if (t.boots || t.kernels) {
		report(m, in, &t);
	} else if (!in->bad && !m->stop) {
		error_set(&err, EINVAL, "no records in it");
		unreadable(m, in, &err);
	}
}

static void import_file(struct import *m, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	CLEANUP_CLOSE int fd = -1;
	struct input in = { .name = is_stdin ? "stdin" : path, .buf = STR_INIT };
	struct error err = ERROR_INIT;

	if (!is_stdin) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			error_errno(&err, errno, "%s", path);
			cmd_bad(&err);
			note_code(m, CMD_USAGE);
			return;
		}
	}
	if (!m->store && cmd_store(m->store_path, true, &m->store, &err) < 0) {
		cmd_bad(&err);
		note_code(m, CMD_USAGE);
		m->stop = true;
		return;
	}
	read_input(m, &in, is_stdin ? STDIN_FILENO : fd);
	end_input(m, &in);
	store_importer_free(in.im);
	str_done(&in.buf);
}

static void add_command(struct import *m, const char *words, const char *arg, const char *rest)
{
	struct str line = STR_INIT;

	str_printf(&line, "kdelta %s", words);
	if (arg) {
		str_add_c(&line, ' ');
		cmd_quote(&line, arg);
	}
	str_add(&line, rest);
	if (m->store_path) {
		str_add(&line, " --store ");
		cmd_quote(&line, m->store_path);
	}
	str_add(&m->out, "  ");
	render_safe(&m->out, str_get(&line));
	str_add_c(&m->out, '\n');
	str_done(&line);
}

/* What a person will want to type after this. */
static void next(struct import *m)
{
	const char *id = m->experiment_id;
	struct store_selection sel = { &id, 1, NULL, 0 };
	struct dataset d = DATASET_INIT;
	const char *name;

	str_add(&m->out, "Next:\n");
	if (m->several) {
		add_command(m, "list experiments", NULL, "");
	} else if (store_dataset(m->store, &sel, &d, NULL) < 0 || !d.n_kernels) {
		add_command(m, "list labels", NULL, "");
	} else {
		name = d.n_experiments && d.experiments[0].name ? d.experiments[0].name : id;
		if (d.n_kernels == 1) {
			add_command(m, "show", d.kernels[0].label, "");
			add_command(m, "import -e", name, " -l OTHER FILE");
		}
		add_command(m, "compare -e", name, "");
	}
	dataset_done(&d);
}

int cmd_import(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta import [OPTION]... FILE...",
		.summary =
			"Takes records into the store: what kdelta-agent or kdelta export wrote.",
		.description =
			"FILE is JSON Lines; - is stdin. What was measured completely stays, whatever\n"
			"comes behind it. Importing the same file again changes nothing. The streams of\n"
			"kdelta-agent given in one command are one experiment; without -e a new one.\n"
			"Exit: 2 something could not be read, 3 a stream was cut.",
		.examples =
			"  ssh board kdelta-agent run -w pipe | kdelta import -e patch -l old -\n"
			"  kdelta import -l new boot1.jsonl boot2.jsonl\n"
			"  ssh host kdelta export | kdelta import -",
	};
	struct import m = { .out = STR_INIT, .code = CMD_OK };
	const struct option table[] = {
		{ 'l', "label", OPTION_TEXT, &m.label, "LABEL", NULL, 0, 0,
		  "what to call the kernel of an agent's stream\n(default: its release)" },
		{ 'e', "experiment", OPTION_TEXT, &m.experiment, "NAME", NULL, 0, 0,
		  "add an agent's stream to this experiment, or\nbegin it" },
		CMD_STORE_OPTION(&m.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	int at, code = cmd_parse(&doc, table, argc, argv, &at, &done);

	if (done)
		return code;
	if (at == argc)
		error_set(&err, EINVAL, "import wants FILE... (- is stdin)");
	else if ((m.label && !*m.label) || (m.experiment && !*m.experiment))
		error_set(&err, EINVAL, "import: an empty %s",
			  m.label && !*m.label ? "label" : "experiment");
	if (error_is_set(&err))
		return cmd_bad(&err);
	for (; at < argc && !m.stop; at++)
		import_file(&m, argv[at]);
	if (*m.experiment_id)
		next(&m);
	store_close(m.store);
	return cmd_print(&m.out, m.code);
}
