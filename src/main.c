/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kdelta: what changed between two kernels. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/option.h"
#include "cmd/cmd.h"
#include "cmd/common.h"

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "vm", "boot kernels in virtual machines, measure, print the comparison", cmd_vm },
	{ "run", "measure the kernel that is running", cmd_run },
	{ "compare", "compare what was measured", cmd_compare },
	{ "profile", "exact results by function, and what differs", cmd_profile },
	{ "bisect", "the first of many kernels whose exact figure moved", cmd_bisect },
	{ "list", "workloads, metrics, suites, settings, kernels, labels, experiments", cmd_list },
	{ "show", "one label: identity, facts, boots", cmd_show },
	{ "label", "rename or hide a label", cmd_label },
	{ "gc", "drop kernels from the cache that no label came from", cmd_gc },
	{ "import", "add records from a file or a pipe", cmd_import },
	{ "export", "write records as JSON Lines", cmd_export },
};

static void usage(struct str *out)
{
	size_t i;

	str_add(out,
		"Usage: kdelta COMMAND [OPTION]... [ARGUMENT]...\n\n"
		"Tells whether a kernel got faster or slower, by how much, and how sure that is.\n\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		str_printf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
	str_add(out, "\n"
		     "Two kernels, compared:\n"
		     "  kdelta vm -s demo debian:6.1.0-47-cloud-amd64 debian:6.1.0-57-cloud-amd64\n"
		     "On a real machine, boot after boot:\n"
		     "  kdelta run -e patch -l old     (boot the other kernel)\n"
		     "  kdelta run -e patch -l new     (and again, in turn)\n"
		     "  kdelta compare\n\n"
		     "kdelta COMMAND --help tells more. Exit: 0 done, 1 --fail-on, 2 bad usage or\n"
		     "input, 3 done in part.\n");
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next file that is opened. */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *names[ARRAY_SIZE(commands) + 1] = { NULL };
	struct str out = STR_INIT;
	const char *close_one;
	size_t i;

	fill_standard_fds();
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		usage(&out);
		fputs(str_get(&out), stderr);
		str_done(&out);
		return CMD_USAGE;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
		names[i] = commands[i].name;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(&out);
		return cmd_print(&out, CMD_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		str_add(&out, "kdelta " KDELTA_VERSION "\n");
		return cmd_print(&out, CMD_OK);
	}
	close_one = option_closest(argv[1], names);
	if (close_one)
		fprintf(stderr, "kdelta: unknown command '%s': did you mean `kdelta %s`?\n",
			argv[1], close_one);
	else
		fprintf(stderr, "kdelta: unknown command '%s' (see kdelta --help)\n", argv[1]);
	return CMD_USAGE;
}
