/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An export's envelope lines (kernel, experiment, boot) come before what refers to them. A hello
 * that names no boot of an export begins a bare stream.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "base/unit.h"
#include "store/db.h"

#define CLOCK_PLAUSIBLE_NS (1577836800 * NSEC_PER_SEC) /* 2020-01-01 */
#define CLOCK_AHEAD_NS	   (86400 * NSEC_PER_SEC)

struct store_importer {
	struct store *s;
	char *label, *name; /* of bare streams; NULL: see store_import_opts */
	struct store_sink *sink;
	char boot[ID_UUID_SIZE];
	bool bare;		    /* the boot is a bare stream's, without `done` so far */
	bool lost;		    /* what follows belongs to a boot that could not be begun */
	bool after_end;		    /* behind a `done` */
	char unnamed[ID_UUID_SIZE]; /* experiment of bare streams without a name; "": none yet */
	struct store_import_tally tally;
};

struct store_importer *store_importer_new(struct store *s, const struct store_import_opts *o)
{
	struct store_importer *im = mem_alloc(sizeof(*im));

	im->s = s;
	im->label = mem_strdup(o ? o->label : NULL);
	im->name = mem_strdup(o ? o->experiment : NULL);
	return im;
}

void store_importer_free(struct store_importer *im)
{
	if (!im)
		return;
	store_sink_free(im->sink);
	free(im->label);
	free(im->name);
	free(im);
}

static void add_tally(struct store_tally *into, const struct store_tally *t)
{
	into->ok += t->ok;
	into->failed += t->failed;
	into->skipped += t->skipped;
	into->skipped_implied += t->skipped_implied;
	into->unfinished += t->unfinished;
	into->failures += t->failures;
	into->hello |= t->hello;
	into->done |= t->done;
}

/* Ends the boot that is being read. */
static int leave_boot(struct store_importer *im, struct error *e)
{
	static const char cut[] = "the records end before done";
	struct store_boot_end end = { .state = STORE_OK };
	struct store_tally t;
	bool open;
	int r, c = 0;

	if (!im->sink)
		return 0;
	open = sink_is_open(im->sink);
	r = store_sink_end(im->sink, cut, e);
	t = *store_sink_tally(im->sink);
	add_tally(&im->tally.all, &t);
	store_sink_free(im->sink);
	im->sink = NULL;
	if (!im->bare) {
		im->tally.cut += open;
		return r;
	}
	if (!t.done) {
		im->tally.cut++;
		if (open || !(t.ok + t.failed + t.skipped - t.unfinished)) {
			end.state = STORE_FAILED;
			end.reason = cut;
		}
	}
	c = store_boot_end(im->s, im->boot, &end, e);
	im->bare = false;
	return r ? r : c;
}

static int import_kernel(struct store_importer *im, const json_t *j, struct error *e)
{
	const char *id, *label;
	int r;

	if (json_get_str(j, "id", &id, e) < 0 || json_get_str(j, "label", &label, e) < 0)
		return error_prefix(e, "kernel");
	if (!text_is_uuid(id) || !*label)
		return error_set(e, EINVAL, "kernel: %s",
				 *label ? "the id is no UUID" : "no label");
	/* What is known here already stays, labels that were renamed among it. */
	r = db_run(im->s, e,
		   "INSERT INTO kernel(uuid, label, release, version, build_id, cmdline, config,"
		   " config_hash, source, created_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
		   " ?10) ON CONFLICT(uuid) DO UPDATE SET release = coalesce(release, ?3),"
		   " version = coalesce(version, ?4), build_id = coalesce(build_id, ?5),"
		   " cmdline = coalesce(cmdline, ?6), config = coalesce(config, ?7),"
		   " config_hash = coalesce(config_hash, ?8)",
		   "tttttttttu", id, label, json_opt_str(j, "release", NULL),
		   json_opt_str(j, "version", NULL), json_opt_str(j, "build_id", NULL),
		   json_opt_str(j, "cmdline", NULL), json_opt_str(j, "config", NULL),
		   json_opt_str(j, "config_hash", NULL), json_opt_str(j, "source", NULL),
		   json_opt_u64(j, "created_ns", clock_real_ns()));
	im->tally.kernels += !r;
	return r;
}

static int import_members(struct store *s, int64_t x, const json_t *kernels, struct error *e)
{
	int r = 0;
	size_t i;

	for (i = 0; !r && i < json_array_size(kernels); i++) {
		const char *id = json_string_value(json_array_get(kernels, i));
		int64_t k;

		r = row_find(s, e, "kernel", id, &k);
		/* Two stores may have given one label to two kernels: store_dataset() tells them
		 * apart. */
		if (!r)
			r = db_run(s, e,
				   "INSERT OR IGNORE INTO member(experiment, kernel, position)"
				   " VALUES (?1, ?2, (SELECT coalesce(max(position) + 1, 0)"
				   " FROM member WHERE experiment = ?1))",
				   "ii", x, k);
	}
	return r;
}

static int add_experiment(struct store_importer *im, const json_t *j, const char *id, uint64_t seed,
			  struct error *e)
{
	const char *name = json_opt_str(j, "name", NULL);
	CLEANUP_FREE char *other = NULL;
	int64_t x, same = 0;
	int r;

	r = db_number(im->s, e, &x, "SELECT n FROM experiment WHERE uuid = ?1", "t", id);
	if (r == -ENOENT) {
		r = 0;
		if (name)
			r = db_number(im->s, e, &same,
				      "SELECT count(*) FROM experiment WHERE name = ?1", "t", name);
		/* The same name in two stores: the newcomer takes a part of its id along. */
		if (!r && (same || (name && !*name)))
			name = other = mem_printf("%s-%.8s", name, id);
		if (!r)
			r = db_run(im->s, e,
				   "INSERT INTO experiment(uuid, name, subject, seed, blocks,"
				   " boot_order, args, reproduce, created_ns) VALUES"
				   " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
				   "tttuutttu", id, name, json_opt_str(j, "subject", NULL), seed,
				   json_opt_u64(j, "blocks", 0), json_opt_str(j, "order", NULL),
				   json_opt_str(j, "args", NULL),
				   json_opt_str(j, "reproduce", NULL),
				   json_opt_u64(j, "created_ns", clock_real_ns()));
		x = sqlite3_last_insert_rowid(im->s->db);
	}
	return r ? r : import_members(im->s, x, json_object_get(j, "kernels"), e);
}

static int import_experiment(struct store_importer *im, const json_t *j, struct error *e)
{
	const char *id, *seed_text;
	uint64_t seed;
	int r;

	if (json_get_str(j, "id", &id, e) < 0 || json_get_str(j, "seed", &seed_text, e) < 0 ||
	    unit_parse_u64(seed_text, &seed, e) < 0)
		return error_prefix(e, "experiment");
	if (!text_is_uuid(id))
		return error_set(e, EINVAL, "experiment: the id is no UUID");
	r = db_begin(im->s, e);
	if (r < 0)
		return r;
	r = db_end(im->s, add_experiment(im, j, id, seed, e), e);
	if (r < 0)
		return r;
	im->tally.experiments++;
	memcpy(im->tally.experiment, id, ID_UUID_SIZE);
	return 0;
}

static int add_boot(struct store_importer *im, const json_t *j, const char *id, const char *state,
		    struct error *e)
{
	const char *experiment, *kernel;
	int64_t x, k;
	int r;

	if (json_get_str(j, "experiment", &experiment, e) < 0 ||
	    json_get_str(j, "kernel", &kernel, e) < 0)
		return -EINVAL;
	r = row_find(im->s, e, "experiment", experiment, &x);
	if (!r)
		r = row_find(im->s, e, "kernel", kernel, &k);
	if (r < 0)
		return r;
	/* A boot that was continued elsewhere since then ended later. */
	return db_run(im->s, e,
		      "INSERT INTO boot(uuid, experiment, kernel, boot_id, block, position,"
		      " started_ns, ended_ns, state, reason, console, cmdline, kernel_warnings)"
		      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
		      " ON CONFLICT(uuid) DO UPDATE SET state = ?9, reason = ?10,"
		      " console = coalesce(?11, console), kernel_warnings = ?13, ended_ns = ?8"
		      " WHERE boot.owner IS NULL AND ?8 > coalesce(boot.ended_ns, 0)",
		      "tiituuuuttttu", id, x, k, json_opt_str(j, "boot_id", NULL),
		      json_opt_u64(j, "block", 0), json_opt_u64(j, "position", 0),
		      json_opt_u64(j, "started_ns", 0), json_opt_u64(j, "ended_ns", 0), state,
		      json_opt_str(j, "reason", NULL), json_opt_str(j, "console", NULL),
		      json_opt_str(j, "cmdline", NULL), json_opt_u64(j, "kernel_warnings", 0));
}

static int import_boot(struct store_importer *im, const json_t *j, struct error *e)
{
	const char *id, *state;
	int r;

	r = leave_boot(im, e);
	im->lost = true; /* until it is known better */
	im->after_end = false;
	if (r < 0)
		return r;
	if (json_get_str(j, "id", &id, e) < 0 || json_get_str(j, "state", &state, e) < 0)
		return error_prefix(e, "boot");
	if (!text_is_uuid(id) || (strcmp(state, "ok") != 0 && strcmp(state, "failed") != 0))
		return error_set(e, EINVAL, "boot: id '%s', state '%s'", id, state);
	r = db_begin(im->s, e);
	if (r < 0)
		return r;
	r = db_end(im->s, add_boot(im, j, id, state, e), e);
	if (r < 0)
		return error_prefix(e, "boot");
	memcpy(im->boot, id, ID_UUID_SIZE);
	im->sink = store_sink_new(im->s, id, STORE_IDS_KEEP);
	im->lost = false;
	im->tally.boots++;
	return 0;
}

/* The same stream may have been imported before: 1 with the ids of what it is in. */
static int known_stream(struct store_importer *im, const char *hello, const char *label,
			char experiment[ID_UUID_SIZE], char kernel[ID_UUID_SIZE],
			char boot[ID_UUID_SIZE], struct error *e)
{
	CLEANUP_STMT sqlite3_stmt *st = NULL;
	int r;

	r = db_query(im->s, e, &st,
		     "SELECT x.uuid, k.uuid, b.uuid FROM hello h JOIN boot b ON h.boot = b.n"
		     " JOIN experiment x ON b.experiment = x.n JOIN kernel k ON b.kernel = k.n"
		     " WHERE h.record = ?1 AND k.label = ?2 AND NOT k.hidden"
		     " AND (x.name = ?3 OR ?3 IS NULL) ORDER BY b.n DESC LIMIT 1",
		     "ttt", hello, label, im->name);
	if (!r)
		r = db_step(im->s, st, e);
	if (r > 0) {
		memcpy(experiment, db_text(st, 0), ID_UUID_SIZE);
		memcpy(kernel, db_text(st, 1), ID_UUID_SIZE);
		memcpy(boot, db_text(st, 2), ID_UUID_SIZE);
	}
	return r;
}

static int bare_experiment(struct store_importer *im, char ret_id[ID_UUID_SIZE], struct error *e)
{
	struct store_experiment x = { .name = im->name, .order = "as it happened" };
	struct error none = ERROR_INIT;
	int r;

	if (!im->name && *im->unnamed) {
		memcpy(ret_id, im->unnamed, ID_UUID_SIZE);
		return 0;
	}
	if (im->name && !store_experiment_find(im->s, im->name, ret_id, &none))
		return 0;
	r = store_experiment_begin(im->s, &x, ret_id, e);
	if (!r) {
		im->tally.experiments++;
		if (!im->name)
			memcpy(im->unnamed, ret_id, ID_UUID_SIZE);
	}
	return r;
}

/* A board without a clock of its own lives in 1970: then the order of import is the order. */
static uint64_t plausible_ns(uint64_t told_ns)
{
	uint64_t now_ns = clock_real_ns();

	return told_ns < CLOCK_PLAUSIBLE_NS || told_ns > now_ns + CLOCK_AHEAD_NS ? now_ns : told_ns;
}

static int begin_bare(struct store_importer *im, const struct record *rec, struct error *e)
{
	const struct record_hello *h = &rec->hello;
	CLEANUP_FREE char *line = json_line(rec->raw);
	char kernel[ID_UUID_SIZE], experiment[ID_UUID_SIZE], boot[ID_UUID_SIZE];
	struct ds_kernel k = {
		.label = im->label ? im->label : h->release,
		.release = h->release,
		.version = h->version,
		.build_id = h->build_id,
		.cmdline = h->cmdline,
	};
	struct store_boot b = { .kernel = kernel, .experiment = experiment, .boot_id = h->boot_id };
	int r, known;

	r = known = known_stream(im, line, k.label, experiment, kernel, boot, e);
	if (known > 0) {
		b.id = boot;
		r = 0;
	} else if (!r) {
		r = store_kernel_add(im->s, &k, kernel, e);
		if (!r)
			r = bare_experiment(im, experiment, e);
	}
	if (!r)
		r = boot_start(im->s, &b, NULL, plausible_ns(h->time_ns), im->boot, e);
	if (r < 0)
		return r;
	memcpy(im->tally.experiment, experiment, ID_UUID_SIZE);
	im->tally.kernels++;
	im->tally.boots++;
	im->sink = store_sink_new(im->s, im->boot, STORE_IDS_MAP);
	im->bare = true;
	return 0;
}

static int import_hello(struct store_importer *im, const struct record *rec, struct error *e)
{
	const char *in_boot = json_opt_str(rec->raw, "in_boot", NULL);
	int r = 0;

	if (in_boot && im->sink && !im->bare && str_eq(in_boot, im->boot))
		return store_sink_record(im->sink, rec, e);
	if (in_boot) {
		leave_boot(im, e);
		im->lost = true;
		return error_set(e, EINVAL, "hello of boot %s, which does not come before it",
				 in_boot);
	}
	r = leave_boot(im, e);
	im->lost = true;
	im->after_end = false;
	if (!r)
		r = begin_bare(im, rec, e);
	if (!r)
		r = store_sink_record(im->sink, rec, e);
	im->lost = r < 0;
	return r;
}

static int import_record(struct store_importer *im, const struct record *rec, struct error *e)
{
	const char *kind = json_opt_str(rec->raw, "k", "");
	int r, c = 0;

	if (!strcmp(kind, "kernel"))
		return import_kernel(im, rec->raw, e);
	if (!strcmp(kind, "experiment"))
		return import_experiment(im, rec->raw, e);
	if (!strcmp(kind, "boot"))
		return import_boot(im, rec->raw, e);
	if (rec->kind == RECORD_HELLO)
		return import_hello(im, rec, e);
	if (!im->sink && im->lost) {
		/* That its boot cannot be had was said before. */
		im->tally.bad_lines++;
		return 0;
	}
	if (!im->sink)
		return error_set(e, EINVAL, "a record of kind '%s' %s", kind,
				 im->after_end ? "behind done" : "before hello");
	r = store_sink_record(im->sink, rec, e);
	if (rec->kind == RECORD_DONE && im->bare) {
		c = leave_boot(im, e);
		im->after_end = true;
	}
	return r ? r : c;
}

int store_import_line(struct store_importer *im, const char *line, size_t len, struct error *e)
{
	struct error unwanted = ERROR_INIT;
	struct record rec;
	int r;

	if (!e)
		e = &unwanted;
	im->tally.lines++;
	while (len && strchr("\r\n\t ", line[len - 1]))
		len--;
	if (!len)
		return 0;
	r = record_decode(line, len, &rec, e);
	if (!r) {
		r = import_record(im, &rec, e);
		record_done(&rec);
	} else if (im->sink) {
		/* What cannot be read may have been a sample of the invocation around it. */
		CLEANUP_FREE char *why = mem_printf("line %llu of the import cannot be read",
						    (unsigned long long)im->tally.lines);

		sink_spoil(im->sink, why);
	}
	if (!r)
		return 0;
	im->tally.bad_lines++;
	return error_prefix(e, "line %llu", (unsigned long long)im->tally.lines);
}

int store_import_end(struct store_importer *im, struct store_import_tally *ret, struct error *e)
{
	int r = leave_boot(im, e);

	if (ret)
		*ret = im->tally;
	return r;
}
