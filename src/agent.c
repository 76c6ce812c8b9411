/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kdelta-agent: runs workloads on this kernel and writes records. A child of kdelta, init of a
 * guest, or copied to a board and started by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/str.h"
#include "base/unit.h"
#include "model/spec.h"
#include "runner/init.h"
#include "runner/runner.h"

#define EXIT_USAGE   2
#define EXIT_PARTIAL 3

static int bad(const struct error *err)
{
	fprintf(stderr, "kdelta-agent: %s\n", err->text);
	return EXIT_USAGE;
}

/* Works without /proc: the kernel tells each process the path it was started by. */
static int open_self(void)
{
	/* getauxval() gives an address as a number */
	const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static int show_help(const struct option_doc *doc, const struct option *table)
{
	struct str out = STR_INIT;

	option_help(&out, doc, table);
	fputs(str_get(&out), stdout);
	str_done(&out);
	return fflush(stdout) ? EXIT_USAGE : 0;
}

static void list_text(const struct workload_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct workload_info *w = &l->items[i];
		const struct param *p;

		printf("%-12s %s\n", w->name, w->doc);
		for (p = w->params; p->name; p++)
			printf("             %s=%s  %s\n", p->name, p->def, p->help);
	}
}

static int cmd_list(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta-agent list [--format text|json]",
		.summary = "Lists the workloads that this agent knows, with their parameters.",
	};
	const char *format = "text";
	const struct option table[] = {
		{ 0, "format", OPTION_CHOICE, &format, NULL, "text|json", 0, 0,
		  "json: all that the host needs to know" },
		{ 0, NULL, 0, NULL, NULL, NULL, 0, 0, NULL },
	};
	struct error err = ERROR_INIT;
	struct workload_list l;
	bool help;
	int at;

	if (option_parse(table, argc, argv, &at, &help, &err) < 0)
		return bad(&err);
	if (help)
		return show_help(&doc, table);
	runner_list(&l);
	if (!strcmp(format, "json")) {
		json_t *j = runner_list_encode(&l);
		char *text = json_line(j);

		puts(text);
		free(text);
		json_decref(j);
	} else {
		list_text(&l);
	}
	workload_list_done(&l);
	if (fflush(stdout) || ferror(stdout)) {
		error_errno(&err, errno, "stdout");
		return bad(&err);
	}
	return 0;
}

/* Without a host the invocations are numbered 1, 2, ... */
static int plan_of_specs(const struct option_list *specs, uint64_t time_ns, struct plan *ret,
			 struct error *e)
{
	struct spec_points points = { NULL, 0, 0 };
	struct workload_list known;
	size_t i;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	runner_list(&known);
	for (i = 0; i < specs->n && !r; i++)
		r = spec_expand(specs->items[i], &known, &ret->arena, &points, e);
	ret->class = "native";
	ret->warmup_ns = PLAN_WARMUP_NS;
	ret->batch_ns = PLAN_BATCH_NS;
	ret->heartbeat_ns = PLAN_HEARTBEAT_NS;
	ret->n = points.n;
	ret->items = arena_array(&ret->arena, points.n, sizeof(*ret->items));
	for (i = 0; i < points.n && !r; i++) {
		ret->items[i] = (struct plan_item){
			.id = arena_printf(&ret->arena, "%zu", i + 1),
			.workload = arena_strdup(&ret->arena, points.items[i].workload->name),
			.params = points.items[i].params,
			.headline = points.items[i].headline,
			.implied = points.items[i].implied,
			.time_ns = time_ns,
		};
	}
	workload_list_done(&known);
	return r;
}

static int plan_of_file(const char *path, struct plan *ret, struct error *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;
	int r;

	if (!strcmp(path, "-"))
		r = file_read_fd(STDIN_FILENO, "stdin", 64 << 20, &text, &len, e);
	else
		r = file_read(path, 64 << 20, &text, &len, e);
	return r < 0 ? r : plan_decode(text, len, ret, e);
}

static int run_plan(const struct plan *plan, bool verbose)
{
	struct runner_config c = { .out = STDOUT_FILENO, .init = false, .progress = verbose };
	struct error err = ERROR_INIT;
	int r;

	c.self = open_self();
	r = runner_run(&c, plan, &err);
	if (r >= 0)
		return r ? EXIT_PARTIAL : 0;
	if (r != -EINTR)
		error_prefix(&err, "stdout");
	bad(&err);
	return EXIT_PARTIAL;
}

static int cmd_run(int argc, char **argv)
{
	static const struct option_doc doc = {
		.usage = "kdelta-agent run [OPTION]... (-w SPEC... | --plan FILE)",
		.summary =
			"Runs workloads on this kernel and writes records (JSON Lines) to stdout.",
		.description =
			"SPEC is NAME[:PARAM=VALUE[+VALUE...][,...]]; docs/records.md describes the\n"
			"records. Exit: 0 done, 2 bad usage, 3 something failed (see its record).",
		.examples = "  kdelta-agent run -w getppid -w ctx:procs=2+8,size=0+16KiB\n"
			    "  ssh board kdelta-agent run -w pipe | kdelta import -l board -",
	};
	struct option_list specs = { NULL, 0, 0 };
	const char *plan_path = NULL;
	uint64_t time_ns = PLAN_TIME_NS, heartbeat_ns = 0;
	bool help, verbose = false;
	const struct option table[] = {
		{ 'w', "workload", OPTION_TEXTS, &specs, "SPEC", NULL, 0, 0,
		  "what to run; again for more" },
		{ 0, "plan", OPTION_TEXT, &plan_path, "FILE", NULL, 0, 0,
		  "a plan as kdelta writes it; - is stdin" },
		{ 0, "time", OPTION_TIME, &time_ns, "TIME", NULL, 0, 0,
		  "for each invocation (default 1s)" },
		{ 0, "heartbeat", OPTION_TIME, &heartbeat_ns, "TIME", NULL, 0, 0,
		  "silence that means it hangs (default 60s)" },
		{ 'v', "verbose", OPTION_FLAG, &verbose, NULL, NULL, 0, 0,
		  "say on stderr what runs" },
		{ 0, NULL, 0, NULL, NULL, NULL, 0, 0, NULL },
	};
	struct error err = ERROR_INIT;
	struct plan plan = { .arena = ARENA_INIT };
	int at, r = option_parse(table, argc, argv, &at, &help, &err);

	if (!r && help) {
		option_list_done(&specs);
		return show_help(&doc, table);
	}
	if (!r && at < argc)
		r = error_set(&err, EINVAL, "'%s': run takes no arguments (want -w %s?)", argv[at],
			      argv[at]);
	else if (!r && !specs.n == !plan_path)
		r = error_set(&err, EINVAL, "run wants -w SPEC or --plan FILE (see --help)");
	if (!r)
		r = plan_path ? plan_of_file(plan_path, &plan, &err)
			      : plan_of_specs(&specs, time_ns, &plan, &err);
	option_list_done(&specs);
	if (heartbeat_ns)
		plan.heartbeat_ns = heartbeat_ns;
	r = r < 0 ? bad(&err) : run_plan(&plan, verbose);
	plan_done(&plan);
	return r;
}

static int usage(FILE *f, int code)
{
	fputs("Usage: kdelta-agent list|run [OPTION]...\n\n"
	      "Runs workloads on this kernel and writes records; kdelta starts it by itself.\n\n"
	      "  list      the workloads it knows\n"
	      "  run       runs workloads, records on stdout\n"
	      "  --version\n\n"
	      "kdelta-agent COMMAND --help tells more.\n",
	      f);
	return code;
}

int main(int argc, char **argv)
{
	/* Words of the command line that the kernel does not know become init's arguments. */
	if (getpid() == 1 && (argc < 2 || !strcmp(argv[0], "/init")))
		init_main();
	if (argc < 2)
		return usage(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "list"))
		return cmd_list(argc - 1, argv + 1);
	if (!strcmp(argv[1], "run"))
		return cmd_run(argc - 1, argv + 1);
	if (!strcmp(argv[1], "invoke"))
		return runner_invoke(true);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return usage(stdout, 0);
	if (!strcmp(argv[1], "--version")) {
		puts("kdelta-agent " AGENT_VERSION);
		return 0;
	}
	fprintf(stderr, "kdelta-agent: unknown command '%s'\n", argv[1]);
	return usage(stderr, EXIT_USAGE);
}
