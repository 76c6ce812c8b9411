/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what a run of exact mode leaves (the agent's burst, the plugin's counts) to the burst that
 * is stored: docs/adr/0002-exact.md. Pure but for exact_plugin_find().
 */
#ifndef KDELTA_EXACT_EXACT_H
#define KDELTA_EXACT_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "model/exact.h"
#include "model/plan.h"
#include "symbol/symbol.h"

/*
 * Where kdelta-plugin.so is: $KDELTA_PLUGIN, else beside this executable, else in libexecdir.
 * -ENOENT or why it cannot be read. Caller frees.
 */
int exact_plugin_find(char **ret_path, struct error *e);

/*
 * The plugin's `contexts` from a kernel's symbols (NULL: none). *ret_missing: the first symbol that
 * is needed and not there, in words ("asm_sysvec_*"); then the text is "": contexts cannot be told
 * apart. NULL if none is missing. Caller frees the text.
 */
char *exact_contexts(const struct symbols *s, const char **ret_missing);

/* What the plugin wrote. Arena memory. */
struct exact_count {
	uint64_t addr; /* 0: all of user space */
	uint64_t count[EXACT_IN], rep_iterations[EXACT_IN];
	uint64_t target; /* 0: none */
};
struct exact_counts {
	unsigned api;
	struct exact_windows windows; /* ops are 0: the agent knows them */
	struct exact_count *list;     /* ascending */
	size_t n;
};
/*
 * Foreign bytes. What the plugin says itself is checked: the order of the lines and the last one,
 * each window's sums, and the sums of the counts against those of the windows, clean ones and
 * others apart, kernel and user space apart. -EINVAL: names the line. -ENODATA: empty, the guest
 * never finished. Afterwards sums over all counts are below 2^63.
 */
int exact_counts_parse(const char *text, size_t len, struct arena *a, struct exact_counts *ret,
		       struct error *e);

/*
 * Counts put down to symbols (NULL: none, all is unknown code); the sums stay the same. The ops of
 * the windows are taken from `c`. Edges come from counts with a target in another symbol or at a
 * symbol's first byte, other jumps are dropped. A jump that begins need not arrive: an edge has
 * never more calls than its target was executed. Arena memory; names are copied.
 */
int exact_profile_make(const struct exact_counts *c, const struct symbols *s, struct arena *a,
		       struct exact_profile *ret, struct error *e);

/*
 * The burst of one invocation: the agent's lines `burst` (invocation ... usage, fail or skip), with
 * class, context (`context` over the burst's own) and metrics of exact mode; the fact EXACT_FACT;
 * instead of samples and histograms the values of exact_metrics, of each part of its own; `window`
 * and `profile` records; in usage windows_count, clean_windows_count and api. The i-th sample of
 * the burst belongs to the i-th window of a batch, its overhead to the window of overhead before
 * that. A burst that ends in fail or skip is handed on as it is (c may be NULL). Lines are appended
 * to `out`, all or none.
 *
 * -EBADMSG: windows and samples do not agree, in number, order or time: a window's instructions and
 * iterations are its ns, within 1 % and 2000, but for time that passed idle. -EINVAL: no burst, or
 * one that cannot be read. -EFBIG: the profile is longer than a record may be.
 */
int exact_burst(const char *burst, size_t len, const struct exact_counts *c,
		const struct symbols *s, const json_t *context, const struct plan_perturb *p,
		struct str *out, struct error *e);

/*
 * Perturbation `index` (0: nothing is varied) of a seed: the same for every kernel, and in every
 * version of this program. Ranges: idle up to 20 ms in steps of 1 us, sixteenths 15 to 17, env up
 * to 3 KiB in steps of 16, slab up to 64.
 */
void exact_perturb(uint64_t seed, unsigned index, struct plan_perturb *ret);
/*
 * One clause for people and the store: "3: idle 7.121 ms, batch 19/16, env 640, slab 24"; "0:
 * none". Fits into EXACT_PERTURB_SIZE.
 */
#define EXACT_PERTURB_SIZE 128
void exact_perturb_text(const struct plan_perturb *p, char *buf, size_t size);

#endif
