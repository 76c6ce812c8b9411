/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One kernel, as `git bisect run` asks about it: good, bad, or neither. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unit.h"
#include "cmd/bisect.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "image/image.h"
#include "vm/vm.h"

/* git-bisect(1): what its `run` makes of an exit code. */
enum { JUDGE_GOOD = 0, JUDGE_BAD = 1, JUDGE_NEITHER = 125, JUDGE_ERROR = 128 };

#define TRIES 1000u /* experiments of a label to look into */

/* What is good. */
struct reference {
	const char *typed;
	bool is_label;
	double value;
	char *label; /* LABEL or LABEL~N: the one that has results */
};

/* Out of memory ends a process anywhere, with a code that git would take for "bad". */
static void mend_exit(int code, void *arg)
{
	(void)arg;
	if (code <= JUDGE_BAD || code == JUDGE_NEITHER || code >= JUDGE_ERROR)
		return;
	fflush(NULL);
	_exit(JUDGE_ERROR + code);
}

/* ---- the reference ---- */

static bool has_results(const struct bisect *b, const struct dataset *d)
{
	size_t i;

	for (i = 0; i < d->n_invocations; i++)
		if (d->invocations[i].state == DS_OK &&
		    str_eq(d->invocations[i].class, EXACT_CLASS) &&
		    str_eq(d->invocations[i].workload, b->point->workload->name) &&
		    str_eq(d->invocations[i].params, b->point->params))
			return true;
	return false;
}

/*
 * Is it there, and has it what is asked for, in this experiment (NULL: any)? 1: yes, 0: it has not.
 */
static int try_label(struct bisect *b, const char *label, const char *experiment, struct error *e)
{
	struct store_selection sel = { NULL, 0, &label, 1 };
	struct dataset d = DATASET_INIT;
	int r = store_dataset(b->store, &sel, &d, e);

	if (!r && d.n_experiments && has_results(b, &d) &&
	    (!experiment || str_eq(d.experiments[0].id, experiment))) {
		/* The batches that it was measured in are those of what is compared with it. */
		campaign_exact_know_all(&b->xo.x, &d);
		r = 1;
	}
	dataset_done(&d);
	return r;
}

/*
 * The experiments of a label from the latest on: *ret is LABEL, or LABEL~N where an older one is
 * the first to have it. As try_label(). The caller frees.
 */
static int seek_label(struct bisect *b, const char *label, const char *experiment, char **ret,
		      struct error *e)
{
	struct error none = ERROR_INIT;
	int r = try_label(b, label, experiment, e);
	unsigned i;

	*ret = mem_strdup(label);
	for (i = 1; !r && i < TRIES; i++) {
		free(*ret);
		*ret = mem_printf("%s~%u", label, i);
		r = try_label(b, *ret, experiment, &none);
		/* There are no more, or LABEL was one with ~N. */
		if (r < 0)
			return 0;
	}
	return r;
}

static int find_label(struct bisect *b, struct reference *ref, struct error *e)
{
	struct str what = STR_INIT;
	int r = seek_label(b, ref->typed, NULL, &ref->label, e);

	if (r)
		return r < 0 ? r : 0;
	bisect_metric_text(b, &what);
	r = error_set(e, ENODATA,
		      "--good %s: that label has no exact result of %s: kdelta vm --exact -w %s "
		      "%s=KERNEL makes one",
		      ref->typed, str_get(&what), b->m.specs.items[0], ref->typed);
	str_done(&what);
	return r;
}

/* A label that is there goes before a number: 6.1 can be both. */
static int find_reference(struct bisect *b, struct reference *ref, struct error *e)
{
	struct error why = ERROR_INIT;
	bool number = !unit_parse_double(ref->typed, &ref->value, NULL);
	int r = find_label(b, ref, &why);

	if (!r) {
		ref->is_label = true;
		return 0;
	}
	if (r == -ENOENT && number)
		return 0;
	return error_set(e, -r, "%s", why.text);
}

/* ---- the kernel ---- */

static int take_commit(const struct bisect *b, const struct kernel_spec *spec,
		       struct bisect_kernel *k, struct error *e)
{
	struct bisect of = { .tree = b->tree,
			     .config = spec->config ? spec->config : b->config,
			     .append = spec->append ? spec->append : b->append };
	CLEANUP_FREE char *commit = NULL;
	int r = bisect_git_commit(b->tree, spec->what, &commit, e);

	return r ? r : bisect_git_kernel(&of, commit, k, e);
}

/* Build after build stands in the same folder: the build-id tells them apart. */
static int take_file(const struct kernel_spec *spec, struct bisect_kernel *k, struct error *e)
{
	CLEANUP_FREE char *kernel = kernel_spec_kernel(spec), *label = NULL;
	struct image img = IMAGE_INIT;
	int r = image_open(spec, NULL, NULL, &img, e);
	const char *id;

	if (r < 0)
		return r;
	id = img.build_id ? img.build_id : img.sha256;
	label = image_label_default(spec, img.release);
	k->text = mem_printf("%s%s%s", kernel, spec->append ? ",append=" : "",
			     spec->append ? spec->append : "");
	k->build_id = mem_strdup(img.build_id);
	k->label = id ? mem_printf("%s_%.12s", label, id) : mem_strdup(label);
	k->shown = mem_strdup(k->label);
	image_done(&img);
	return 0;
}

static int take_kernel(const struct bisect *b, const char *text, struct bisect_kernel *k,
		       struct error *e)
{
	struct kernel_spec spec;
	int r = kernel_spec_parse(text, &spec, e);

	if (r < 0)
		return r;
	r = vm_check_append(spec.append, e);
	if (!r)
		r = spec.source == KERNEL_GIT ? take_commit(b, &spec, k, e)
					      : take_file(&spec, k, e);
	if (!r && spec.label) {
		free(k->label);
		k->label = mem_strdup(spec.label);
		free(k->shown);
		k->shown = mem_strdup(spec.label);
	}
	kernel_spec_done(&spec);
	return r;
}

/* ---- the word ---- */

static void say(const struct bisect *b, const struct reference *ref, const struct bisect_kernel *k,
		const struct bisect_judged *j, struct str *out)
{
	char new[40], base[40], diff[40];

	bisect_number(j->new, new);
	bisect_number(j->base, base);
	bisect_number(j->diff, diff);
	str_printf(out, "%s: %s: ",
		   j->word == BISECT_GOOD  ? "good"
		   : j->word == BISECT_BAD ? "bad"
					   : "undecided",
		   k->shown);
	bisect_metric_text(b, out);
	str_printf(out, ": %s, and %s", new, base);
	if (ref->is_label)
		str_printf(out, " at %s", ref->typed);
	str_printf(out, ": %s%s", j->diff > 0 ? "+" : "", diff);
	if (j->word == BISECT_SKIP)
		str_printf(out, ", %s\n", j->why);
	else
		str_printf(out, ", %s\n", verdict_name(j->verdict));
}

static int word_of(struct bisect *b, const struct reference *ref, const struct bisect_kernel *k,
		   int *ret_code, struct error *e)
{
	CLEANUP_FREE char *label = NULL;
	const char *id = b->experiment;
	struct bisect_result result;
	struct bisect_judged judged;
	struct str out = STR_INIT;
	int r = bisect_measure(b, k, &result, e);

	*ret_code = JUDGE_NEITHER;
	if (!r && !result.ok)
		str_printf(&out, "undecided: %s: %s\n", k->shown, result.why);
	if (!r && result.ok && ref->is_label) {
		/* Each from its own experiment, though both may know both labels. */
		r = seek_label(b, k->label, b->experiment, &label, e);
		r = r < 0 ? r : bisect_judge(b, NULL, 0, ref->label, 0, label, &judged, e);
	} else if (!r && result.ok) {
		r = bisect_judge(b, &id, 1, NULL, ref->value, k->label, &judged, e);
	}
	if (!r && result.ok) {
		say(b, ref, k, &judged, &out);
		if (judged.word != BISECT_SKIP)
			*ret_code = judged.word == BISECT_GOOD ? JUDGE_GOOD : JUDGE_BAD;
	}
	if (!r && cmd_print(&out, CMD_OK) != CMD_OK)
		r = error_set(e, EIO, "stdout: what was found could not be written");
	str_done(&out);
	return r;
}

static int judge(struct bisect *b, struct reference *ref, const char *kernel, int *ret_code,
		 struct error *e)
{
	struct bisect_kernel k = { .text = NULL };
	struct str words = STR_INIT;
	int r;

	str_add(&words, "kdelta bisect judge");
	bisect_words(b, &words);
	r = take_kernel(b, kernel, &k, e);
	/* The reference is looked for in the same store, before anything is built. */
	if (!r)
		r = bisect_open(b, "judge", str_get(&words), e);
	if (!r)
		r = find_reference(b, ref, e);
	if (!r)
		r = word_of(b, ref, &k, ret_code, e);
	str_done(&words);
	bisect_kernel_done(&k);
	return r;
}

static int dry_run(const struct bisect *b, const struct reference *ref, const char *kernel)
{
	struct str out = STR_INIT;

	str_printf(&out, "Would measure %s once, with %u perturbations, and compare ", kernel,
		   (unsigned)b->xo.perturb);
	bisect_metric_text(b, &out);
	str_printf(&out, ", with %s.\n", ref->typed);
	return cmd_print(&out, CMD_OK);
}

int bisect_judge_main(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta bisect judge --exact -w SPEC --good LABEL|VALUE [KERNEL]",
		.summary = "Says whether one kernel is as a good one, for git bisect run.",
		.description =
			"KERNEL is by default git:HEAD, the commit that is checked out in this folder,\n"
			"built into a cache; `.` is the kernel that was built in this folder. It is\n"
			"measured and compared with what is stored of a label (measured by\n"
			"kdelta vm --exact), or with a number.\n\n"
			"Exit: 0 good, 1 bad (more or fewer, by more than the threshold), 125 undecided,\n"
			"or it does not build, boot or run the workload (git bisect skips it), 128 and\n"
			"more an error (git bisect stops).",
		.examples = "  git bisect run kdelta bisect judge --exact -w getppid --good 335\n"
			    "  kdelta vm --exact -w pipe good=git:v6.1\n"
			    "  git bisect run kdelta bisect judge --exact -w pipe --good good\n"
			    "  make -j8 && kdelta bisect judge --exact -w getppid --good 335 .",
	};
	struct bisect b = BISECT_INIT;
	struct reference ref = { .typed = NULL };
	const struct option table[] = {
		{ 0, "good", OPTION_TEXT, &ref.typed, "LABEL|VALUE", NULL, 0, 0,
		  "what a good kernel has" },
		BISECT_OPTION_EXACT(&b),
		BISECT_OPTION_TREE(&b),
		BISECT_OPTION_CONFIG(&b),
		BISECT_OPTIONS(&b),
		CMD_STORE_OPTION(&b.m.store_path),
		CMD_OPTIONS_END,
	};
	struct error err = ERROR_INIT;
	bool done;
	int at, code, r = 0;

	on_exit(mend_exit, NULL);
	code = cmd_parse(&doc, table, argc, argv, &at, &done);
	if (done) {
		bisect_done(&b);
		return code ? JUDGE_ERROR + 1 : code;
	}
	if (b.exact && !ref.typed)
		r = error_set(&err, EINVAL,
			      "bisect judge wants --good: a label that was measured, or a number "
			      "(see --help)");
	else if (argc - at > 1)
		r = error_set(&err, EINVAL, "bisect judge takes one kernel, not %d", argc - at);
	if (!r)
		r = bisect_prepare(&b, &err);
	if (!r && b.m.dry_run)
		code = dry_run(&b, &ref, at < argc ? argv[at] : "git:HEAD");
	else if (!r)
		r = judge(&b, &ref, at < argc ? argv[at] : "git:HEAD", &code, &err);
	if (r == -ECANCELED || (r < 0 && *cmd_stop()))
		code = JUDGE_ERROR + (*cmd_stop() ? *cmd_stop() : SIGINT);
	else if (r < 0)
		code = JUDGE_ERROR + 1;
	if (r < 0)
		cmd_bad(&err);
	bisect_done(&b);
	free(ref.label);
	return code;
}
