/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the forms of `kdelta bisect` share: a list of kernels (bisect.c), the commits of a git
 * repository (bisect_git.c), one kernel for `git bisect run` (bisect_judge.c). The search itself is
 * bisect_search.c; how a kernel is measured bisect_measure.c, how it is judged bisect_word.c.
 */
#ifndef KDELTA_CMD_BISECT_H
#define KDELTA_CMD_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/option.h"
#include "base/words.h"
#include "campaign/campaign.h"
#include "cmd/exact.h"
#include "cmd/measure.h"
#include "model/dataset.h"
#include "model/exact.h"
#include "plan/bisect.h"
#include "stats/verdict.h"

struct bisect {
	/* as typed */
	struct measure m;
	struct campaign_vm cv;
	struct exact_options xo;
	bool exact;
	const char *metric, *threshold_text, *tree, *config, *append, *qemu_args;
	uint64_t mem;
	/* made by bisect_prepare() */
	double threshold;
	const struct spec_point *point;
	struct words qemu_words;
	char qemu[100]; /* version */
	char *identity; /* of kernels that are files, for the experiment's name; NULL */
	/* made by bisect_open() */
	struct store *store;
	char experiment[ID_UUID_SIZE];
	char *name;
	bool goes_on; /* the experiment was there */
};

/* clang-format off */
#define BISECT_INIT { .metric = "instructions", .xo = EXACT_OPTIONS_INIT, .mem = 512u << 20 }

#define BISECT_OPTION_EXACT(b) \
	{0, "exact", OPTION_FLAG, &(b)->exact, NULL, NULL, 0, 0, \
	 "by instructions (the only way there is, so far)"}, \
	{'w', "workload", OPTION_TEXTS, &(b)->m.specs, "SPEC", NULL, 0, 0, \
	 "what to run: NAME[:PARAM=VALUE[,...]]"}, \
	{'m', "metric", OPTION_TEXT, &(b)->metric, "NAME", NULL, 0, 0, \
	 "which of its figures (default instructions)"}, \
	{0, "threshold", OPTION_TEXT, &(b)->threshold_text, "N", NULL, 0, 0, \
	 "a change has to be more than N (default 0: any that\nis real)"}

#define BISECT_OPTIONS(b) \
	{'e', "experiment", OPTION_TEXT, &(b)->m.experiment, "NAME", NULL, 0, 0, \
	 "keep results here, and go on with what is there\n(default: a name made from all of this)"}, \
	{'n', "dry-run", OPTION_FLAG, &(b)->m.dry_run, NULL, NULL, 0, 0, \
	 "only say what it would do"}, \
	{'q', "quiet", OPTION_FLAG, &(b)->m.quiet, NULL, NULL, 0, 0, \
	 "no progress on stderr"}, \
	{0, "perturb", OPTION_UINT, &(b)->xo.perturb, "K", NULL, EXACT_PERTURB_MIN, 64, \
	 "runs of each kernel, each perturbed otherwise\n(default 8)"}, \
	{0, "perturb-seed", OPTION_UINT, &(b)->xo.seed, "N", NULL, 0, UINT32_MAX, \
	 "of the perturbations (default 1)"}, \
	{0, "jobs", OPTION_UINT, &(b)->xo.jobs, "N", NULL, 1, 1024, \
	 "QEMUs at once (default: one a CPU)"}, \
	{0, "heartbeat", OPTION_TIME, &(b)->m.heartbeat_ns, "TIME", NULL, 0, 0, \
	 "silence after which a workload has failed\n(default 60s)"}, \
	{0, "mem", OPTION_BYTES, &(b)->mem, "SIZE", NULL, 0, 0, \
	 "of a guest (default 512MiB)"}, \
	{0, "cpu", OPTION_TEXT, &(b)->cv.cpu_model, "MODEL", NULL, 0, 0, \
	 "QEMU's CPU model (default: max, less what is random)"}, \
	{0, "qemu", OPTION_TEXT, &(b)->cv.qemu, "FILE", NULL, 0, 0, \
	 "the QEMU to use (default qemu-system-x86_64)"}, \
	{0, "qemu-args", OPTION_TEXT, &(b)->qemu_args, "ARGS", NULL, 0, 0, \
	 "words to add to its command line; quotes hold\nspaces"}, \
	{0, "boot-timeout", OPTION_TIME, &(b)->cv.boot_timeout_ns, "TIME", NULL, 0, 0, \
	 "to the first record (default 120s)"}, \
	{0, "silence-timeout", OPTION_TIME, &(b)->cv.silence_timeout_ns, "TIME", NULL, 0, 0, \
	 "between records (default 120s)"}

#define BISECT_OPTION_TREE(b) \
	{0, "tree", OPTION_TEXT, &(b)->tree, "DIR", NULL, 0, 0, \
	 "kernel tree of the commits (default: this folder)"}
#define BISECT_OPTION_CONFIG(b) \
	{0, "config", OPTION_TEXT, &(b)->config, "FILE", NULL, 0, 0, \
	 "configuration of all commits, or tiny (default: the\n.config of the tree, else tiny)"}, \
	{0, "append", OPTION_TEXT, &(b)->append, "WORDS", NULL, 0, 0, \
	 "for the command lines of all kernels"}
/* clang-format on */

/* ---- one kernel ---- */

struct bisect_kernel {
	char *text;	/* the KERNEL argument, without its label */
	char *label;	/* under which it is stored; no other of the search has it */
	char *build_id; /* NULL: not known before it is opened */
	char *shown;	/* what people call it: with the first line of a commit */
};
void bisect_kernel_done(struct bisect_kernel *k);

struct bisect_result {
	bool ok;     /* it has values; else `why` */
	bool stored; /* nothing was done for it now */
	char why[300];
};

/*
 * Checks the options, finds agent, workload, metric and QEMU: all that does not depend on a kernel.
 */
int bisect_prepare(struct bisect *b, struct error *e);
/* "-w getppid -m total --threshold 2 ...": what makes another command of this form the same. */
void bisect_words(const struct bisect *b, struct str *out);
/*
 * Opens the store and in it the experiment, or begins it. Its name, if none was given, is made from
 * FORM, `command` and what else decides the digits, so that the same command finds it again.
 * -EINVAL: -e names an experiment of another command.
 */
int bisect_open(struct bisect *b, const char *form, const char *command, struct error *e);
/*
 * Takes what is stored of this kernel, or measures it. What is this kernel's own fault (it does not
 * build, boot, or run the workload) is in *ret; an error is what would befall the others, too.
 * -ECANCELED: stopped by a signal.
 */
int bisect_measure(struct bisect *b, const struct bisect_kernel *k, struct bisect_result *ret,
		   struct error *e);
void bisect_done(struct bisect *b);

/* ---- what it says ---- */

struct bisect_judged {
	enum verdict verdict; /* more, fewer, same, within perturbation, or none: `why` */
	double base, new, diff;
	enum bisect_word word; /* of the new one; BISECT_SKIP: undecided, `why` */
	char why[300];
};

/*
 * Compares two labels of these experiments. good: same, within perturbation, or changed by no more
 * than the threshold; bad: more or fewer, by more. `base` NULL: with the number `value`. -ENODATA:
 * the results have different keys (the line says what differs), or one has none.
 */
int bisect_judge(const struct bisect *b, const char *const *experiments, size_t n_experiments,
		 const char *base, double value, const char *new, struct bisect_judged *ret,
		 struct error *e);
/* "335.0", "336.125": all digits up to the third, at least one. */
void bisect_number(double v, char buf[40]);
/* "instructions", or "total of getppid". */
void bisect_metric_text(const struct bisect *b, struct str *out);

/* ---- the search ---- */

struct bisect_subject {
	const char *form;    /* "bisect", "bisect git" */
	const char *command; /* what repeats it */
	struct bisect_history history;
	unsigned good;		/* the node of the good end; the bad one is the last */
	const bool *taken_good; /* nodes that need not be asked; NULL: none */
	bool commits;
	/* Fills in what kernel a node is. bisect_kernel_done(). */
	int (*kernel)(void *arg, unsigned node, struct bisect_kernel *ret, struct error *e);
	void *arg;
};

/* Searches and prints; returns the exit code. */
int bisect_search(struct bisect *b, const struct bisect_subject *s);

/* ---- commits ---- */

/* The 12 digits of one commit. The caller frees. */
int bisect_git_commit(const char *tree, const char *rev, char **ret_commit, struct error *e);
/* KERNEL of a commit, with --config and --append. */
int bisect_git_kernel(const struct bisect *b, const char *commit, struct bisect_kernel *ret,
		      struct error *e);
/* The commits between two, and what they come from; see struct bisect_history. */
struct bisect_commits {
	struct bisect_history history;
	char (*id)[65]; /* one a node */
	bool *taken_good;
	unsigned good;
	const struct bisect *b;
};
int bisect_git_history(const struct bisect *b, const char *good, const char *bad,
		       struct bisect_commits *ret, struct error *e);
void bisect_commits_done(struct bisect_commits *c);

/* ---- the forms that are words behind `bisect` ---- */

int bisect_git(int argc, char **argv);
/* Its exit codes are those of git-bisect(1): 0 good, 1 bad, 125 neither, 128 and more: an error. */
int bisect_judge_main(int argc, char **argv);

#endif
