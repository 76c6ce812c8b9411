/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults: a byte is written to each page of a mapping, then the pages are given back with
 * MADV_DONTNEED, and so on. One operation is one page: its fault, and its share of giving it back.
 *
 * kind=anon allocates and clears a page at each fault. kind=file writes to a shared mapping of a
 * file in memory (memfd) whose pages exist already: what is made is the page table's entry. Writes,
 * because reads would map up to 16 pages of a file at once (fault-around); no huge pages, for the
 * same reason. That each page really was a fault is checked against what the kernel counted.
 */
#include "workload/kit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

struct pagefault {
	volatile char *map;
	size_t size, page;
};

static const struct param pagefault_params[] = {
	{ .name = "kind",
	  .type = PARAM_CHOICE,
	  .def = "anon",
	  .choices = "anon|file",
	  .sweep = "anon+file",
	  .help = "anonymous memory, or a shared mapping of a file in memory" },
	{ .name = "size",
	  .type = PARAM_BYTES,
	  .def = "4MiB",
	  .min = 4096,
	  .max = 1 << 30,
	  .help = "touched before it is given back" },
	{ .name = NULL },
};

static int pagefault_demand(const struct args *args, struct demand *demand)
{
	demand->memory_bytes = args_u64(args, "size");
	return 0;
}

static uint64_t faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
}

/* Touches n pages, starting over at the mapping's end. */
static int touch(struct run *run, const struct pagefault *p, uint64_t n)
{
	while (n) {
		size_t pages = p->size / p->page;

		if (n < pages)
			pages = n;
		for (size_t i = 0; i < pages; i++)
			p->map[i * p->page] = 1;
		if (madvise((void *)p->map, pages * p->page, MADV_DONTNEED) < 0)
			return run_fail(run, errno, "madvise: %s", strerror(errno));
		n -= pages;
	}
	return 0;
}

static int map_file(struct run *run, size_t size, int *ret_fd)
{
	*ret_fd = memfd_create("kdelta-pagefault", MFD_CLOEXEC);
	if (*ret_fd < 0)
		return run_fail(run, errno, "memfd_create: %s", strerror(errno));
	if (ftruncate(*ret_fd, (off_t)size) < 0)
		return run_fail(run, errno, "ftruncate: %s", strerror(errno));
	return 0;
}

static int pagefault_setup(struct run *run)
{
	struct pagefault *p = run_alloc(run, sizeof(*p));
	bool file = !strcmp(run_text(run, "kind"), "file");
	int fd = -1, r = 0;
	void *map;

	if (!p)
		return run_fail(run, ENOMEM, "no memory");
	p->page = (size_t)sysconf(_SC_PAGESIZE);
	p->size = run_u64(run, "size");
	if (p->size % p->page)
		return run_fail(run, EINVAL, "size must be a multiple of %zu", p->page);
	if (file)
		r = map_file(run, p->size, &fd);
	if (r < 0)
		return r;
	map = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
		   file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (map == MAP_FAILED)
		return run_fail(run, errno, "mmap of %zu bytes: %s", p->size, strerror(errno));
	kit_close(&fd);
	p->map = map;
	/* EINVAL: a kernel without huge pages. */
	if (madvise(map, p->size, MADV_NOHUGEPAGE) < 0 && errno != EINVAL)
		return run_fail(run, errno, "madvise: %s", strerror(errno));
	run_set_state(run, p);
	/* The file's pages come into being. */
	return touch(run, p, p->size / p->page);
}

static int pagefault_batch(struct run *run, uint64_t n)
{
	const struct pagefault *p = run_state(run);
	uint64_t before = faults(), got;
	int r = touch(run, p, n);

	got = faults() - before;
	if (r == 0 && got < n)
		r = run_fail(run, EIO, "%llu faults on %llu pages", (unsigned long long)got,
			     (unsigned long long)n);
	return r;
}

const struct workload workload_pagefault = {
	.name = "pagefault",
	.family = "memory",
	.op = "page",
	.doc = "A write to a page that is not mapped yet, and giving the page back.",
	.version = 1,
	.shape = SHAPE_COUNTED,
	.params = pagefault_params,
	.metrics = kit_metrics_time,
	.demand = pagefault_demand,
	.setup = pagefault_setup,
	.batch = pagefault_batch,
};
