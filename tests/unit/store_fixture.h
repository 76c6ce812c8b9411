/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the store share: a folder that vanishes, records, a whole boot, an export. */
#ifndef KDELTA_TESTS_STORE_FIXTURE_H
#define KDELTA_TESTS_STORE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/db.h"
#include "store/store.h"

#define OK(call)                                                                                   \
	do {                                                                                       \
		struct error ok_e = ERROR_INIT, *e = &ok_e;                                        \
		int ok_r = (call);                                                                 \
		if (ok_r < 0)                                                                      \
			fail_msg("%s: %d: %s", #call, ok_r, ok_e.text);                            \
	} while (0)

#define FAILS(code, text_in, call)                                                                 \
	do {                                                                                       \
		struct error f_e = ERROR_INIT, *e = &f_e;                                          \
		assert_int_equal(call, -(code));                                                   \
		if (!strstr(f_e.text, text_in))                                                    \
			fail_msg("'%s' is not in '%s'", text_in, f_e.text);                        \
	} while (0)

struct fixture {
	char dir[64];
	char path[96], other[96];
};

static inline int set_up(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/kdelta-store-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/deep/er/store.db", f->dir);
	snprintf(f->other, sizeof(f->other), "%s/other.db", f->dir);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;
	CLEANUP_FREE char *cmd = mem_printf("rm -rf '%s'", f->dir);
	int r = system(cmd);

	free(f);
	return r;
}

static inline struct store *open_store(const char *path)
{
	struct store *s;

	OK(store_open(path, STORE_CREATE, &s, e));
	return s;
}

static inline int64_t number(struct store *s, const char *sql)
{
	int64_t v = -1;

	OK(db_number(s, e, &v, sql, ""));
	return v;
}

#define METRICS                                                                                    \
	"[{\"name\":\"time\",\"unit\":\"ns\",\"per\":\"op\",\"better\":\"less\","                  \
	"\"kind\":\"measure\",\"from\":\"time\",\"headline\":true},"                               \
	"{\"name\":\"p50\",\"unit\":\"ns\",\"better\":\"less\",\"kind\":\"measure\","              \
	"\"from\":\"quantile\",\"hist\":\"lat\",\"quantile\":0.5}]"
#define INVOCATION                                                                                 \
	"{\"k\":\"invocation\",\"inv\":\"%s\",\"workload\":\"pipe\",\"workload_version\":1,"       \
	"\"family\":\"ipc\",\"op\":\"round trip\",\"params\":\"place=same\",\"class\":\"native\"," \
	"\"context\":{\"b\":2,\"a\":1},\"metrics\":" METRICS ",\"headline\":true,\"time_ns\":5}"
#define SAMPLE "{\"k\":\"sample\",\"inv\":\"%s\",\"ops\":1000,\"ns\":%d}"
#define HIST                                                                                       \
	"{\"k\":\"hist\",\"inv\":\"%s\",\"name\":\"lat\",\"hist\":{\"bits\":8,\"min\":7,"          \
	"\"max\":9,\"sum\":24,\"buckets\":[[7,1],[8,1],[9,1]]}}"
#define STRANGE "{\"k\":\"comet\",\"inv\":\"%s\",\"tail\":[1,2.5,null,\"\xc3\xbc\"]}"
#define USAGE                                                                                      \
	"{\"k\":\"usage\",\"inv\":\"%s\",\"values\":{\"clock_resolution_ns\":1,"                   \
	"\"user_ns\":12.5,\"steal_ns\":null}}"
/* So many ns behind the start of 2026. */
#define BARE_NS 1767225600000000000ll
#define HELLO                                                                                      \
	"{\"k\":\"hello\",\"protocol\":1,\"agent\":\"0\",\"release\":\"6.1.0\","                   \
	"\"version\":\"#1\",\"machine\":\"x86_64\",\"build_id\":\"abcd\",\"boot_id\":\"%s\","      \
	"\"cmdline\":\"quiet\",\"init\":false,\"time_ns\":17672256%011d}"
#define DONE "{\"k\":\"done\",\"invocations\":1,\"failed\":0,\"skipped\":0}"

/* Gives a line to a sink; returns what the sink says. */
static inline int give(struct store_sink *k, struct error *ret_e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static inline int give(struct store_sink *k, struct error *ret_e, const char *fmt, ...)
{
	struct str line = STR_INIT;
	char buf[4096];
	struct record r;
	va_list ap;
	int c;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	str_add(&line, buf);
	OK(record_decode(line.s, line.len, &r, e));
	c = store_sink_record(k, &r, ret_e);
	record_done(&r);
	str_done(&line);
	return c;
}

static inline void good_burst(struct store_sink *k, const char *id, int ns)
{
	OK(give(k, e, INVOCATION, id));
	OK(give(k, e,
		"{\"k\":\"fact\",\"inv\":\"%s\",\"when\":\"before\",\"class\":\"state\","
		"\"name\":\"swap\",\"value\":\"0\"}",
		id));
	OK(give(k, e, SAMPLE, id, ns));
	OK(give(k, e, SAMPLE, id, ns + 1000));
	OK(give(k, e, HIST, id));
	OK(give(k, e, STRANGE, id));
	OK(give(k, e,
		"{\"k\":\"log\",\"inv\":\"%s\",\"level\":\"warning\",\"source\":\"kernel\","
		"\"text\":\"WARNING: x\"}",
		id));
	OK(give(k, e, USAGE, id));
}

/* A plan of n invocations of pipe; ids at p.items[].id. */
static inline void make_plan(struct plan *p, size_t n)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	p->class = "native";
	p->n = n;
	p->items = arena_array(&p->arena, n, sizeof(*p->items));
	for (i = 0; i < n; i++) {
		char id[ID_UUID_SIZE];

		OK(id_uuid(id, e));
		p->items[i].id = arena_strdup(&p->arena, id);
		p->items[i].workload = "pipe";
		p->items[i].params = "";
	}
}

static inline void begin_experiment(struct store *s, const char *name, char id[ID_UUID_SIZE])
{
	struct store_experiment x = {
		.name = name, .subject = "kernel", .seed = UINT64_MAX - 1, .blocks = 2
	};

	OK(store_experiment_begin(s, &x, id, e));
}

static inline void add_kernel(struct store *s, const char *label, const char *build_id,
			      char id[ID_UUID_SIZE])
{
	struct ds_kernel k = { .label = label, .release = "6.1.0", .build_id = build_id };

	OK(store_kernel_add(s, &k, id, e));
}

/* One whole boot with one good invocation. */
static inline void whole_boot(struct store *s, const char *experiment, const char *kernel, int ns)
{
	struct store_boot b = { .experiment = experiment, .kernel = kernel };
	struct store_boot_end end = { .state = STORE_OK };
	char boot[ID_UUID_SIZE];
	struct store_sink *k;
	struct plan p;

	make_plan(&p, 1);
	OK(store_boot_begin(s, &b, &p, boot, e));
	k = store_sink_new(s, boot, STORE_IDS_KEEP);
	OK(give(k, e, HELLO, boot, 77));
	OK(give(k, e,
		"{\"k\":\"fact\",\"when\":\"before\",\"class\":\"environment\",\"name\":\"gov\","
		"\"value\":null,\"why\":\"no such file\"}"));
	OK(give(k, e, "{\"k\":\"log\",\"text\":\"hi\"}"));
	OK(give(k, e, "{\"k\":\"meteor\",\"of\":\"the boot\"}"));
	good_burst(k, p.items[0].id, ns);
	OK(give(k, e, DONE));
	OK(store_sink_end(k, "the stream ended", e));
	assert_int_equal(store_sink_tally(k)->ok, 1);
	assert_true(store_sink_tally(k)->hello && store_sink_tally(k)->done);
	store_sink_free(k);
	OK(store_boot_end(s, boot, &end, e));
	plan_done(&p);
}

static inline int into_text(const char *line, size_t len, void *arg, struct error *e)
{
	struct str *b = arg;

	(void)e;
	str_add_n(b, line, len);
	str_add_c(b, '\n');
	return 0;
}

static inline char *export_all(struct store *s)
{
	struct str b = STR_INIT;

	OK(store_export(s, NULL, into_text, &b, e));
	return str_take(&b);
}

/* Imports a text; returns how many lines were refused, the first error in *first. */
static inline unsigned import_text(struct store *s, const char *text,
				   const struct store_import_opts *o, struct store_import_tally *t,
				   struct error *first)
{
	struct store_importer *im = store_importer_new(s, o);
	unsigned bad = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		struct error e = ERROR_INIT;

		if (store_import_line(im, text, n, &e) < 0 && !bad++ && first)
			*first = e;
		text += n + (text[n] == '\n');
	}
	OK(store_import_end(im, t, e));
	store_importer_free(im);
	return bad;
}

#endif
