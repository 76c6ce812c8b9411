/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: one SQLite file that keeps kernels, experiments, boots, invocations and their numbers.
 * docs/records.md describes the wire form, including the store's envelope.
 *
 * Durable: each call commits (WAL, synchronous=FULL); an invocation is one transaction. What was
 * stored before a kill, a crash or a full disk stays. Several processes may write at once (a busy
 * timeout of a minute). A `struct store` and its sinks belong to one thread.
 *
 * Errors of all functions: -ENOSPC the disk is full; -EBUSY another process held the store for too
 * long; -EIO, -EBADMSG (damaged file), -EROFS; further ones where said. Strings handed in are
 * copied; bytes that are not UTF-8 are stored as U+FFFD, but refused in labels and names.
 * Ids are UUIDs in text. "Latest" is by the start of the last boot (or the making, without boots).
 */
#ifndef KDELTA_STORE_STORE_H
#define KDELTA_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/id.h"
#include "model/dataset.h"
#include "model/plan.h"
#include "model/record.h"

struct store;

/* ---- opening ---- */

#define STORE_CREATE 1u /* make the file and its folders if they are not there */

/* $KDELTA_STORE, $XDG_DATA_HOME/kdelta/store.db, ~/.local/share/kdelta/store.db; caller frees. */
int store_default_path(char **ret_path, struct error *e);
/*
 * Opens PATH (":memory:" for one that vanishes). An older schema is migrated. Boots that a kdelta
 * left running when it died become stopped, "kdelta was killed", their open invocations failed;
 * those of a live process are left alone. -ENOENT: not there and no STORE_CREATE. -EPROTO: written
 * by a newer kdelta. -EINVAL: not a store of ours.
 */
int store_open(const char *path, unsigned flags, struct store **ret_store, struct error *e);
void store_close(struct store *s); /* NULL allowed */
const char *store_path(const struct store *s);
/* SQLite's own check and that of foreign keys; -EBADMSG with the first finding. */
int store_check(struct store *s, struct error *e);

/* ---- kernels and labels ---- */

/*
 * The kernel of a label. A row of that label is reused when its identity agrees: release, version,
 * build-id and config hash are equal where both are known, and so is the source (the KERNEL
 * argument with its append) or, where a source is unknown, the command line; something known must
 * agree. What the reused row did not know yet is filled in. Otherwise a new row is made: the
 * label means the newest, earlier experiments keep theirs. A hidden row is not reused.
 * Leave `cmdline` NULL when only the booted kernel will tell it. -EINVAL: empty label, not UTF-8.
 */
int store_kernel_add(struct store *s, const struct ds_kernel *k, char ret_id[ID_UUID_SIZE],
		     struct error *e);
/*
 * Fills in what was unknown (NULL) and is known now, from hello; label and source are not looked
 * at. -ESTALE: release, version, build-id or config hash contradict what is stored.
 */
int store_kernel_update(struct store *s, const char *id, const struct ds_kernel *k,
			struct error *e);

struct store_label_row {
	const char *label;
	const char *release, *version, *build_id, *source; /* of its newest kernel, NULL unknown */
	uint64_t kernels, experiments; /* kernels: how many identities the label has had */
	uint64_t boots_ok, boots_failed, invocations;
	uint64_t last_ns; /* start of its last boot, or when it was made */
};
struct store_labels {
	struct arena arena;
	struct store_label_row *rows; /* the latest first */
	size_t n;
};
int store_list_labels(struct store *s, struct store_labels *ret, struct error *e);
void store_labels_done(struct store_labels *l);

/* Every kernel that a label stands or stood for, the latest first; hidden ones are left out. */
struct store_kernel_row {
	const char *label;
	const char *release, *version, *build_id, *source; /* NULL unknown */
};
struct store_kernels {
	struct arena arena;
	struct store_kernel_row *rows;
	size_t n;
};
int store_list_kernels(struct store *s, struct store_kernels *ret, struct error *e);
void store_kernels_done(struct store_kernels *k);

/* Renames a label in all experiments. -ENOENT (lists what there is), -EEXIST. */
int store_label_mv(struct store *s, const char *from, const char *to, struct error *e);
/* Hides a label's kernels from lists, comparisons and exports; the data stay. -ENOENT. */
int store_label_rm(struct store *s, const char *label, struct error *e);

/* ---- experiments ---- */

struct store_experiment {
	const char *name;      /* NULL: none */
	const char *subject;   /* what is meant to differ; NULL: not said */
	const char *order;     /* how boots are ordered, as text; NULL */
	const char *args;      /* the command line's arguments, as a JSON array in text; NULL */
	const char *reproduce; /* a command; NULL */
	uint64_t seed;
	unsigned blocks;
};
/* Makes one. -EEXIST: the name is taken; -EINVAL: name empty, not UTF-8. */
int store_experiment_begin(struct store *s, const struct store_experiment *x,
			   char ret_id[ID_UUID_SIZE], struct error *e);
/* One that goes on: more blocks of the same order, and the command that now makes all of it. */
int store_experiment_extend(struct store *s, const char *id, unsigned blocks, const char *order,
			    const char *reproduce, struct error *e);
/* By id, by name, or the latest (NULL). -ENOENT. */
int store_experiment_find(struct store *s, const char *id_or_name, char ret_id[ID_UUID_SIZE],
			  struct error *e);
/*
 * Kernels in the order of comparison: the first is the base. Adding one again changes nothing.
 * -EEXIST: the label stands for another kernel in this experiment already.
 */
int store_experiment_kernel(struct store *s, const char *experiment, const char *kernel,
			    struct error *e);

struct store_experiment_row {
	const char *id, *name, *subject, *labels; /* labels: "a, b" in the order of comparison */
	uint64_t created_ns, last_ns;
	uint64_t boots_ok, boots_failed, boots_open, invocations; /* open: planned or running */
};
struct store_experiments {
	struct arena arena;
	struct store_experiment_row *rows; /* the latest first */
	size_t n;
};
int store_list_experiments(struct store *s, struct store_experiments *ret, struct error *e);
void store_experiments_done(struct store_experiments *x);

/* ---- boots ---- */

struct store_boot {
	const char *id; /* of a boot planned before; NULL: a new one */
	const char *experiment, *kernel;
	/*
	 * Known before the start only on the machine itself: the same boot_id of the same kernel in
	 * the same experiment is the same boot, and its row is used again. NULL: hello will tell.
	 */
	const char *boot_id;
	unsigned block, position; /* planned; position in the whole order */
};
enum store_state {
	STORE_OK = 1,
	STORE_FAILED,
	STORE_STOPPED, /* by a signal or a fault of the host: says nothing of the kernel */
};
struct store_boot_end {
	enum store_state state;
	const char *reason;	  /* of a failed or stopped boot */
	const char *console;	  /* its last lines; NULL */
	unsigned kernel_warnings; /* seen on the console, beyond those in the records */
};
/* Notes a boot that is to come. It adds the kernel to the experiment as store_boot_begin() does. */
int store_boot_plan(struct store *s, const struct store_boot *b, char ret_id[ID_UUID_SIZE],
		    struct error *e);
/*
 * A boot starts, owned by this process; the plan's items (NULL: none) become planned invocations.
 * -EEXIST as store_experiment_kernel(); -EBUSY: another live kdelta is measuring this boot.
 */
int store_boot_begin(struct store *s, const struct store_boot *b, const struct plan *p,
		     char ret_id[ID_UUID_SIZE], struct error *e);
/*
 * A boot is over. Invocations still planned become failed "unfinished: REASON". A boot_id that
 * was measured well before and is measured again stays ok when the second time fails.
 */
int store_boot_end(struct store *s, const char *id, const struct store_boot_end *end,
		   struct error *e);
/* The stored end of the console; *ret NULL if none. Caller frees. */
int store_boot_console(struct store *s, const char *id, char **ret, struct error *e);

/* ---- records ---- */

struct store_tally {
	uint64_t ok, failed, skipped, skipped_implied; /* invocations; unfinished ones are failed */
	uint64_t unfinished;			       /* of the failed */
	uint64_t failures;			       /* `fail` records of the agent itself */
	bool hello, done;			       /* these records were seen */
};
enum store_ids {
	STORE_IDS_KEEP = 1, /* ids are the plan's UUIDs */
	STORE_IDS_MAP,	    /* ids that are no UUIDs become UUIDs made from boot, hello and id */
};
/*
 * Takes the records of one boot. An invocation's records come as a burst that `usage`, `fail` or
 * `skip` closes; then, in one transaction, all of it is stored, or (fail, skip) only its facts and
 * logs: no number of a failed run. An invocation that is stored already is not changed.
 * `hello` gives the boot its boot_id and command line. Kinds this version does not know are kept
 * as they are. A boot's fact taken again: "before" keeps the first, "after" the last.
 */
struct store_sink *store_sink_new(struct store *s, const char *boot, enum store_ids mode);
/*
 * `r` is a decoded record; it is kept as long as needed, the caller still owns its own.
 * -EPROTO: a record out of place (a sample without its invocation, a record behind the end of its
 * burst); it is left out, the sink goes on. -EINVAL: a histogram or metrics that cannot be
 * read; its invocation will be failed.
 */
int store_sink_record(struct store_sink *k, const struct record *r, struct error *e);
/* An open burst is dropped, its invocation failed "unfinished: WHY". The sink stays usable. */
int store_sink_end(struct store_sink *k, const char *why, struct error *e);
const struct store_tally *store_sink_tally(const struct store_sink *k);
void store_sink_free(struct store_sink *k);

/* ---- datasets ---- */

/* Which results. All empty: the latest experiment. */
struct store_selection {
	const char *const *experiments; /* ids or names */
	size_t n_experiments;
	/*
	 * Base first. LABEL is the latest experiment with boots of that label, LABEL~N the Nth
	 * before it; with `experiments`: that label in those experiments, pooled.
	 */
	const char *const *labels;
	size_t n_labels;
};
/*
 * Fills an empty dataset with the finished boots that are selected; done with dataset_done(), also
 * after an error. Kernels: in the order of `labels`, labelled as typed ("new~1"), else in the
 * experiment's order; a second kernel of the same label is "LABEL (2)". Hidden ones are left out.
 * kernel_warnings: the log records of source "kernel" and level warning or error, or the usage
 * value "kernel_warnings_count" where it is larger; of a boot, all of these and the console's.
 * Good invocations of class "exact" get their windows and profile.
 * -ENOENT: no such experiment or label (the error lists the labels there are), or no experiment.
 */
int store_dataset(struct store *s, const struct store_selection *sel, struct dataset *ret,
		  struct error *e);

/* ---- export and import ---- */

/*
 * The envelope: three kinds of line around the records of docs/records.md. Ids are UUIDs; what is
 * unknown is left out; times are nanoseconds since the epoch.
 *   kernel      id label created_ns; release version build_id cmdline config_hash source config
 *   experiment  id seed (decimal digits in a string: 64 bits) blocks created_ns kernels (ids, the
 *               base first); name subject order args reproduce
 *   boot        id experiment kernel block position state ("ok", "failed") started_ns ended_ns
 *               kernel_warnings; boot_id reason console cmdline
 * Records behind a boot are its own. Further fields there: hello "in_boot" (id of the boot: this
 * hello begins no bare stream); fail and skip "implied", "closed": false (the agent did not end
 * it; a complete import may replace it), and for one that never began "class", "context" and
 * "headline" as planned.
 */
/*
 * Native records as JSON Lines, without newline: kernels, then each experiment and its finished
 * boots (a running one is left out), each with its records. Selection as above, but all empty is
 * everything, and a label is all of its boots. The callback's negative value ends it and is
 * returned. Read in one transaction: a consistent view.
 */
int store_export(struct store *s, const struct store_selection *sel,
		 int (*line)(const char *line, size_t len, void *arg, struct error *e), void *arg,
		 struct error *e);

struct store_import_opts {
	const char *label;	/* of a bare stream; NULL: its kernel's release */
	const char *experiment; /* of a bare stream: name, made if not there; NULL: a new one */
};
struct store_import_tally {
	struct store_tally all;
	uint64_t lines, bad_lines, kernels, experiments, boots; /* boots: those of the input */
	uint64_t cut; /* bare streams that ended before `done`, exports inside an invocation */
	char experiment[ID_UUID_SIZE]; /* the last one met; "" if none */
};
/*
 * Takes an export (ids are kept: importing it twice changes nothing) or bare agent streams (hello
 * ... done), also one behind the other. A bare stream's boot_id, label and experiment say which
 * boot it is.
 */
struct store_importer *store_importer_new(struct store *s, const struct store_import_opts *o);
/*
 * One line, with or without newline; empty ones are passed over. An error names the line's number,
 * fails the invocation it stood in, and leaves the importer usable for the next line (clear `e`).
 */
int store_import_line(struct store_importer *im, const char *line, size_t len, struct error *e);
/*
 * The input is over. A bare stream without `done` is counted in `cut`; cut inside an
 * invocation, or without any complete one, its boot is failed "the records end before done".
 */
int store_import_end(struct store_importer *im, struct store_import_tally *ret, struct error *e);
void store_importer_free(struct store_importer *im);

#endif
