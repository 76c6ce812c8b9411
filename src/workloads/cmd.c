/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A person's own program: whole runs of it, or the windows that it marks through <kdelta.h>
 * (include/kdelta.h). It runs where the scheduler likes, as it would without kdelta.
 *
 * Windows of number 0 are the results without the name of a part; those of each further number are
 * a part of their own ("window 1"). All come from the same runs: parts but the first run nothing.
 */
#include "workload/kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "workloads/cmd/marks.h"

struct cmd {
	struct words words;
	struct marks marks;
	struct kit_usage usage;
	bool offered; /* the program may mark windows */
	bool asked;   /* windows=marked */
	bool known;   /* by an earlier run: whether it marks any */
	bool marked;
	unsigned seen;		      /* a bit for each number */
	int number;		      /* of the part that is measured; -1: none yet */
	struct marks_windows *sample; /* of each sample, for the parts that follow */
	size_t n, cap;
};

static const struct param cmd_params[] = {
	{ .name = "run",
	  .type = PARAM_TEXT,
	  .def = "",
	  .min = 1,
	  .help = "the command line, which must be given: words in a shell's quotes, but no shell" },
	{ .name = "samples",
	  .type = PARAM_UINT,
	  .def = "5",
	  .min = 1,
	  .max = 1000,
	  .help = "measured runs in an invocation" },
	{ .name = "warmup",
	  .type = PARAM_UINT,
	  .def = "1",
	  .max = 1000,
	  .help = "runs before them that are not measured" },
	{ .name = "windows",
	  .type = PARAM_CHOICE,
	  .def = "auto",
	  .choices = "auto|whole|marked",
	  .help = "whole runs, or the windows that the program marks; auto: those if it marks any" },
	{ .name = "timeout",
	  .type = PARAM_TIME,
	  .def = "10m",
	  .min = 1000000,
	  .help = "a run that takes longer is killed and has failed" },
	{ .name = NULL },
};

#define CMD_METRIC(name_, unit_, per_, better_, kind_, resolution_, doc_)                          \
	{                                                                                          \
		.name = name_, .unit = unit_, .per = per_, .better = better_, .kind = kind_,       \
		.from = METRIC_FROM_REPORTED, .resolution = resolution_, .doc = doc_               \
	}
#define CMD_QUANTILE(name_, quantile_, doc_)                                                       \
	{                                                                                          \
		.name = name_, .unit = UNIT_NS, .per = "window", .better = METRIC_LESS,            \
		.kind = METRIC_MEASURE, .from = METRIC_FROM_QUANTILE, .hist = "window",            \
		.quantile = quantile_, .doc = doc_                                                 \
	}

static const struct metric cmd_metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .headline = true,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 1,
	  .doc = "elapsed, from fork to end; of whole runs" },
	CMD_METRIC("user", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, 1000,
		   "CPU time in user mode, with the children that it waited for; of whole runs"),
	CMD_METRIC("system", UNIT_NS, "op", METRIC_LESS, METRIC_MEASURE, 1000,
		   "CPU time in the kernel, likewise"),
	CMD_METRIC("maxrss", UNIT_BYTES, NULL, METRIC_LESS, METRIC_MEASURE, 4096,
		   "memory of its largest process, at least the agent's own; of whole runs"),
	CMD_METRIC("voluntary", UNIT_COUNT, "op", METRIC_NEITHER, METRIC_MEASURE, 1,
		   "context switches because it waited; of whole runs"),
	CMD_METRIC("involuntary", UNIT_COUNT, "op", METRIC_NEITHER, METRIC_MEASURE, 1,
		   "context switches because another was to run; of whole runs"),
	{ .name = "mean",
	  .unit = UNIT_NS,
	  .per = "window",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .headline = true,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 1,
	  .doc = "time of a marked window" },
	CMD_QUANTILE("p50", 0.5, "median of the windows of all runs"),
	CMD_QUANTILE("p99", 0.99, "99th percentile of the windows of all runs"),
	CMD_METRIC("overhead", UNIT_NS, "window", METRIC_LESS, METRIC_EVIDENCE, 0,
		   "what a window with nothing in it shows, and so does each: reading the clock"),
	CMD_METRIC("windows", UNIT_COUNT, "op", METRIC_NEITHER, METRIC_COUNT, 1,
		   "marked windows that the figures above are of"),
	CMD_METRIC("lost", UNIT_COUNT, "op", METRIC_LESS, METRIC_COUNT, 1,
		   "marked windows beyond the 262144 of a run that there is room for"),
	{ .name = NULL },
};

static int cmd_demand(const struct args *args, struct demand *demand)
{
	(void)args;
	demand->tasks = 2;
	demand->descriptors = 32;
	return 0;
}

/* Fresh memory each time: what an earlier run left behind cannot write to it. */
static int marks_renew(struct run *run, struct cmd *c)
{
	struct error e = ERROR_INIT;

	marks_close(&c->marks);
	if (c->offered && marks_open(&c->marks, MARKS_WINDOWS, &e) < 0)
		return run_fail(run, e.code, "%s", e.text);
	return 0;
}

static int run_once(struct run *run, struct cmd *c)
{
	/* An empty one hides that of a kdelta which runs this one. */
	const char *env[] = { c->offered ? c->marks.env : "KDELTA_WINDOWS=", NULL };
	const struct kit_command command = { .words = &c->words,
					     .env = env,
					     .inherit = c->marks.fd,
					     .timeout_ns = run_u64(run, "timeout") };

	return kit_command_run(run, &command, &c->usage);
}

/* What the run that has ended marked. That it marks must not change from run to run. */
static int windows_take(struct run *run, struct cmd *c, struct marks_windows *ret)
{
	struct error e = ERROR_INIT;
	int r = kit_command_sweep(run);

	memset(ret, 0, sizeof(*ret));
	if (r < 0 || !c->offered)
		return r;
	if (marks_read(c->marks.page, c->marks.size, ret, &e) < 0)
		return run_fail(run, e.code, "%s", e.text);
	if (c->asked && !ret->n)
		return run_fail(run, ENODATA,
				"it marked no window: does it include <kdelta.h>, and has it "
				"KDELTA_WINDOWS in its environment?");
	if (c->known && c->marked != (ret->n > 0))
		return run_fail(run, EPROTO, "it marked windows in one run and none in another");
	c->known = true;
	c->marked = ret->n > 0;
	for (size_t i = 0; i < ret->n; i++)
		c->seen |= 1u << ret->items[i].number;
	return 0;
}

static int warm_up(struct run *run, struct cmd *c)
{
	uint64_t n = run_u64(run, "warmup");
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++) {
		struct marks_windows windows = { NULL, 0, 0 };

		r = marks_renew(run, c);
		if (r == 0)
			r = run_once(run, c);
		if (r == 0)
			r = windows_take(run, c, &windows);
		free(windows.items);
	}
	return r;
}

static int cmd_setup(struct run *run)
{
	const char *windows = run_text(run, "windows");
	struct cmd *c = run_alloc(run, sizeof(*c));
	int r;

	if (!c)
		return run_fail(run, ENOMEM, "no memory");
	*c = (struct cmd){ .marks = MARKS_NONE, .number = -1 };
	run_set_state(run, c);
	c->offered = strcmp(windows, "whole") != 0;
	c->asked = strcmp(windows, "marked") == 0;
	r = kit_command_words(run, run_text(run, "run"), &c->words);
	if (r == 0)
		r = kit_command_setup(run, &c->words);
	return r < 0 ? r : warm_up(run, c);
}

static int cmd_next_part(struct run *run, struct part *part)
{
	struct cmd *c = run_state(run);

	if (c->number++ < 0)
		return 1;
	while (c->number < (int)MARKS_NUMBERS && !(c->seen & 1u << c->number))
		c->number++;
	snprintf(part->name, sizeof(part->name), "window %d", c->number);
	return c->number < (int)MARKS_NUMBERS;
}

static int cmd_before(struct run *run)
{
	struct cmd *c = run_state(run);

	return c->number == 0 ? marks_renew(run, c) : 0;
}

static int cmd_batch(struct run *run, uint64_t n)
{
	struct cmd *c = run_state(run);

	(void)n;
	return c->number == 0 ? run_once(run, c) : 0;
}

static int report_usage(struct run *run, const struct cmd *c, const struct batch *b)
{
	const struct {
		const char *metric;
		uint64_t value;
	} all[] = {
		{ "time", b->ns },
		{ "user", c->usage.user_ns },
		{ "system", c->usage.system_ns },
		{ "maxrss", c->usage.maxrss_bytes },
		{ "voluntary", c->usage.voluntary },
		{ "involuntary", c->usage.involuntary },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = run_report(run, all[i].metric, (double)all[i].value);
	return r;
}

/* Told by the run's clock, so the runner knows what the histogram is of. */
static double clock_cost_ns(const struct run *run)
{
	enum { READS = 1000 };
	uint64_t first = run_clock_ns(run), last = first;

	for (int i = 0; i < READS; i++)
		last = run_clock_ns(run);
	return (double)(last - first) / READS;
}

/* Those of this part's number. A number that another run has and this one has not counts 0. */
static int report_windows(struct run *run, const struct cmd *c, const struct marks_windows *w)
{
	double sum = 0;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < w->n; i++) {
		if (w->items[i].number != (unsigned)c->number)
			continue;
		sum += (double)w->items[i].ns;
		n++;
		run_hist(run, "window", w->items[i].ns);
	}
	if (!n && !(c->seen & 1u << c->number))
		return 0;
	r = n ? run_report(run, "mean", sum / (double)n) : 0;
	if (r == 0)
		r = run_report(run, "windows", (double)n);
	if (r == 0)
		r = run_report(run, "overhead", clock_cost_ns(run));
	/* It is not known of which number they were. */
	if (r == 0 && w->lost && c->number == 0)
		r = run_report(run, "lost", (double)w->lost);
	return r;
}

static int cmd_collect(struct run *run, const struct batch *b)
{
	struct cmd *c = run_state(run);
	int r;

	if (c->number > 0) {
		int i = run_sample_index(run);

		return i < 0 || (size_t)i >= c->n ? 0 : report_windows(run, c, &c->sample[i]);
	}
	c->sample = mem_grow(c->sample, c->n, &c->cap, sizeof(*c->sample));
	r = windows_take(run, c, &c->sample[c->n]);
	c->n++;
	if (r < 0)
		return r;
	return c->marked ? report_windows(run, c, &c->sample[c->n - 1]) : report_usage(run, c, b);
}

static void cmd_after(struct run *run)
{
	struct cmd *c = run_state(run);

	if (!c)
		return;
	kit_command_sweep(run);
	marks_close(&c->marks);
	for (size_t i = 0; i < c->n; i++)
		free(c->sample[i].items);
	free(c->sample);
	words_done(&c->words);
}

const struct workload workload_cmd = {
	.name = "cmd",
	.family = "program",
	.op = "run",
	.doc = "A program of your own: whole runs, or the windows that it marks (docs/cmd.md).",
	.version = 1,
	.shape = SHAPE_ONCE,
	.pinned_free = true,
	.params = cmd_params,
	.metrics = cmd_metrics,
	.demand = cmd_demand,
	.setup = cmd_setup,
	.next_part = cmd_next_part,
	.before = cmd_before,
	.batch = cmd_batch,
	.collect = cmd_collect,
	.after = cmd_after,
};
