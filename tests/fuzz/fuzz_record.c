/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign bytes as a plan, as records, and as the lines of an import. What was taken in must come
 * out again as an export that a second store takes without complaint and gives back unchanged.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/dataset.h"
#include "model/plan.h"
#include "model/record.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int r, const char *what, const struct error *e)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, e->text);
	abort();
}

static void try_plan(const char *text, size_t len)
{
	struct plan p;

	if (plan_decode(text, len, &p, NULL) < 0)
		return;
	free(plan_encode(&p));
	plan_done(&p);
}

/* A known kind that was decoded is encoded to something that is decoded again. */
static void try_record(const char *line, size_t len)
{
	struct error e = ERROR_INIT;
	struct record r, again;
	CLEANUP_FREE char *text = NULL;

	if (record_decode(line, len, &r, NULL) < 0)
		return;
	if (r.kind != RECORD_UNKNOWN && r.kind != RECORD_WINDOW && r.kind != RECORD_PROFILE) {
		text = record_encode(&r);
		must(record_decode(text, strlen(text), &again, &e), text, &e);
		record_done(&again);
	}
	record_done(&r);
}

static void import(struct store *s, const char *text, size_t len, bool strict)
{
	const struct store_import_opts o = { .label = "fuzz", .experiment = "fuzz" };
	struct store_importer *im = store_importer_new(s, &o);
	struct error e = ERROR_INIT;
	size_t at = 0;

	while (at < len) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - text) - at : len - at;
		int r;

		error_clear(&e);
		r = store_import_line(im, text + at, n, &e);
		if (strict)
			must(r, "import", &e);
		at += n + 1;
	}
	error_clear(&e);
	/* An invocation that is cut off may turn out to belong to another boot. */
	if (store_import_end(im, NULL, &e) != -EPROTO || strict)
		must(-e.code, "end of import", &e);
	store_importer_free(im);
}

static int into_text(const char *line, size_t len, void *arg, struct error *e)
{
	(void)e;
	str_add_n(arg, line, len);
	str_add_c(arg, '\n');
	return 0;
}

static void export(struct store *s, struct str *ret)
{
	struct error e = ERROR_INIT;

	must(store_export(s, NULL, into_text, ret, &e), "export", &e);
}

static struct store *open_store(void)
{
	struct error e = ERROR_INIT;
	struct store *s;

	must(store_open(":memory:", STORE_CREATE, &s, &e), "open", &e);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *text = mem_strndup((const char *)data, size);
	struct store *s = open_store(), *t = open_store();
	struct str one = STR_INIT, two = STR_INIT;
	struct dataset d = DATASET_INIT;
	struct error e = ERROR_INIT;
	size_t len = strlen(text), at, n;

	try_plan((const char *)data, size);
	for (at = 0; at < len; at += n + 1) {
		n = strcspn(text + at, "\n");
		try_record(text + at, n);
	}
	import(s, (const char *)data, size, false);
	must(store_check(s, &e), "check", &e);
	if (store_dataset(s, NULL, &d, &e) < 0 && e.code != ENOENT)
		must(-e.code, "dataset", &e);
	dataset_done(&d);
	export(s, &one);
	import(t, str_get(&one), one.len, true);
	export(t, &two);
	if (!str_eq(str_get(&one), str_get(&two))) {
		fprintf(stderr, "first export:\n%ssecond export:\n%s", str_get(&one),
			str_get(&two));
		abort();
	}
	str_done(&one);
	str_done(&two);
	store_close(s);
	store_close(t);
	return 0;
}
