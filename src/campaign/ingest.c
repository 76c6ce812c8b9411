/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/ingest.h"

#include <errno.h>

#include "base/str.h"
#include "model/record.h"

bool campaign_complete(const struct campaign_tally *t)
{
	return !t->boots_failed && !t->boots_stopped && !t->failed &&
	       t->skipped == t->skipped_implied;
}

static int check_hello(struct ingest *in, const struct record_hello *h, struct error *e)
{
	struct ds_kernel known = { .label = NULL };
	char why[300];

	if (in->c->agent_build_id && h->agent_build_id &&
	    !str_eq(in->c->agent_build_id, h->agent_build_id))
		return error_set(e, ESTALE, "another agent answered (build-id %s, wanted %s)",
				 h->agent_build_id, in->c->agent_build_id);
	if (in->image &&
	    !image_matches(in->image, h->release, h->version, h->build_id, why, sizeof(why))) {
		in->wrong_kernel = true;
		return error_set(e, ESTALE, "another kernel booted: %s", why);
	}
	in->hello = true;
	/* What only a kernel that runs can tell. */
	known.cmdline = h->cmdline;
	known.build_id = h->build_id;
	return store_kernel_update(in->c->store, in->kernel, &known, e);
}

int ingest_line(struct ingest *in, const char *line, size_t len, struct error *e)
{
	struct error why = ERROR_INIT;
	struct record rec;
	int r = record_decode(line, len, &rec, &why);

	if (r < 0)
		return error_set(e, EBADMSG, "the channel carried no record: %s", why.text);
	if (rec.kind == RECORD_HELLO)
		r = check_hello(in, &rec.hello, e);
	else if (!in->hello && rec.kind != RECORD_FAIL)
		r = error_set(e, EBADMSG, "a record before hello");
	if (!r)
		r = store_sink_record(in->sink, &rec, e);
	if (!r && (rec.kind == RECORD_USAGE || rec.kind == RECORD_SKIP ||
		   (rec.kind == RECORD_FAIL && rec.inv)))
		progress_step(&in->c->progress, 1);
	if (!r && rec.kind == RECORD_FAIL && !rec.inv)
		r = error_set(e, EIO, "the agent failed: %s", rec.fail.reason);
	if (!r && rec.kind == RECORD_FAIL)
		progress_warn(&in->c->progress, "failed: %s %s: %s",
			      rec.fail.workload ? rec.fail.workload : "an invocation",
			      rec.fail.params ? rec.fail.params : "", rec.fail.reason);
	if (!r && rec.kind == RECORD_DONE) {
		in->done = true;
		r = 1;
	}
	record_done(&rec);
	return r;
}

int ingest_end(struct ingest *in, const char *boot, const struct store_boot_end *end,
	       struct campaign_tally *tally, struct error *e)
{
	const struct store_tally *t;
	int r = store_sink_end(in->sink, end->reason ? end->reason : "the boot ended", e);

	if (r == -EBADMSG || r == -EPROTO)
		r = 0;
	if (!r)
		r = store_boot_end(in->c->store, boot, end, e);
	t = store_sink_tally(in->sink);
	tally->ok += t->ok;
	tally->failed += t->failed;
	tally->skipped += t->skipped;
	tally->skipped_implied += t->skipped_implied;
	if (end->state == STORE_OK)
		tally->boots_ok++;
	else if (end->state == STORE_STOPPED)
		tally->boots_stopped++;
	else
		tally->boots_failed++;
	store_sink_free(in->sink);
	in->sink = NULL;
	return r;
}
