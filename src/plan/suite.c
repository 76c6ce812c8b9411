/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/suite.h"

#include <string.h>

#include "base/mem.h"

static const char *const demo[] = {
	"nop",	      "getppid",	 "read", "write", "stat",
	"open_close", "pipe:place=same", "fork", "exec",  "ctx:procs=2,size=0,place=same",
	NULL
};
static const char *const standard[] = {
	"nop",	 "getppid", "read", "write",	   "stat", "open_close", "pipe",
	"unix",	 "udp",	    "tcp",  "ring",	   "ctx",  "poll",	 "fork",
	"vfork", "thread",  "exec", "posix_spawn", "sh",   "pagefault",	 NULL
};
static const char *const ipc[] = {
	"nop", "pipe", "unix", "udp", "tcp", "ring", "ctx", "poll", NULL
};
static const char *const process[] = { "nop",	      "fork", "vfork",	   "thread", "exec",
				       "posix_spawn", "sh",   "pagefault", NULL };
static const char *const syscalls[] = { "nop",	"getppid",    "read", "write",
					"stat", "open_close", NULL };

static const struct suite suites[] = {
	{ SUITE_DEFAULT, "every workload with its default points; what runs without -w and -s",
	  standard },
	{ "demo", "one point of each, all on one CPU: seconds a boot", demo },
	{ "syscall", "system calls alone", syscalls },
	{ "ipc", "messages and switches between processes, many descriptors", ipc },
	{ "process", "processes, threads and programs that start and end, page faults", process },
};

const struct suite *suite_all(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(suites);
	return suites;
}

const struct suite *suite_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suites); i++)
		if (!strcmp(suites[i].name, name))
			return &suites[i];
	return NULL;
}
