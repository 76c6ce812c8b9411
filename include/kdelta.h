/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks what kdelta shall measure of a program of yours, in C or C++:
 *
 *	#include <kdelta.h>
 *
 *	KDELTA_START(0);
 *	work();
 *	KDELTA_STOP(0);
 *
 * Build it as ever; where kdelta is not installed, add -I and the folder of this file:
 *
 *	cc -O2 -o marked marked.c
 *	kdelta run -w cmd:run=./marked
 *
 * What lies between the two is a window: its time is measured, what the program does before and
 * behind it is not. The number says which, 0 to 15, and is a constant: windows of one number are
 * measured together, those of another apart. A thread is in one window at a time: windows do not
 * nest, and the thread that starts one stops it. Several threads, and processes that the program
 * starts, may be in windows at once. kdelta-run(1) has more.
 *
 * In a run that kdelta does not measure a mark costs an instruction that does nothing and a branch
 * that is not taken. In one that it does, the environment variable KDELTA_WINDOWS leads to memory
 * that the runner reads when the program has ended. A mark writes CLOCK_MONOTONIC_RAW there,
 * changes nothing else (nor errno), and allocates nothing; a window holds about the cost of one
 * read of that clock. On other machines than x86-64 with Linux the macros do nothing.
 *
 * As a special exception to its licence, this file may be included, without a change, in any
 * program, and what is compiled from it may be distributed with that program under whatever terms
 * its authors choose: including this file does not make a program a derived work of kdelta.
 */
#ifndef KDELTA_H
#define KDELTA_H

/* A number that is not a constant, or not from 0 to 15, does not compile. */
#define KDELTA_CHECK_(n) ((void)sizeof(char[((n) & ~15) ? -1 : 1]))

#if defined(__x86_64__) && defined(__linux__) && !defined(__ILP32__)

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* ---- what the runner shares with the program; another layout has another magic ---- */

#define KDELTA_MAGIC_ 0x314b52414d4c444bULL /* "KDLMARK1" */

struct kdelta_page_ {
	unsigned long long magic;
	unsigned long long room; /* marks that fit behind this head */
	unsigned long long made; /* marks so far; those from `room` on were lost */
	unsigned long long lost; /* the starts among the lost */
	unsigned long long unused[4];
};

#define KDELTA_IS_START_ 0x100u
#define KDELTA_IS_STOP_	 0x200u

struct kdelta_mark_ {
	unsigned long long time_ns; /* CLOCK_MONOTONIC_RAW */
	unsigned long long thread;  /* which of its process: an address */
	unsigned int process;	    /* its pid */
	unsigned int what;	    /* one of the above and the number; 0: not written yet */
};

/* ---- the program's side; every file that includes this has its own, which does no harm ---- */

struct kdelta_time_ {
	long s, ns;
};

/* By another name: in strict C <time.h> does not declare it, and may still be included later. */
#ifdef __cplusplus
extern "C" {
#endif
extern int kdelta_clock_(int clock, struct kdelta_time_ *ret) __asm__("clock_gettime");
#ifdef __cplusplus
}
#endif

#define KDELTA_UNSEEN_ ((struct kdelta_page_ *)1) /* nobody has looked yet */

static struct kdelta_page_ *kdelta_page_ __attribute__((unused)) = KDELTA_UNSEEN_;
/* The pid, 0 if it is not known: in a page that fork(2) empties. NULL: there is no such page. */
static unsigned int *kdelta_pid_ __attribute__((unused));

/* A system call, without errno. */
static __attribute__((unused)) long kdelta_call_(long number, long a, long b, long c, long d,
						 long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static __attribute__((unused)) unsigned long long kdelta_now_(void)
{
	struct kdelta_time_ t = { 0, 0 };

	kdelta_clock_(4 /* CLOCK_MONOTONIC_RAW */, &t);
	return (unsigned long long)t.s * 1000000000ULL + (unsigned long long)t.ns;
}

/* Maps a descriptor if it is the runner's memory: programs reuse numbers. 0 if it is not. */
static __attribute__((unused)) struct kdelta_page_ *kdelta_map_(long fd)
{
	struct kdelta_page_ head = { 0, 0, 0, 0, { 0, 0, 0, 0 } };
	unsigned long long size;
	char last;
	long got;

	/* pread64(2), mmap(2): PROT_READ | PROT_WRITE, MAP_SHARED. */
	if (kdelta_call_(17, fd, (long)&head, (long)sizeof(head), 0, 0) != (long)sizeof(head) ||
	    head.magic != KDELTA_MAGIC_ || !head.room || head.room > 1ULL << 28)
		return 0;
	size = sizeof(head) + head.room * sizeof(struct kdelta_mark_);
	if (kdelta_call_(17, fd, (long)&last, 1, (long)(size - 1), 0) != 1)
		return 0;
	got = kdelta_call_(9, 0, (long)size, 3, 1, fd);
	return got < 0 && got > -4096 ? 0 : (struct kdelta_page_ *)got;
}

/* Once a process: is there a runner? KDELTA_WINDOWS is "DESCRIPTOR,PATH". */
static __attribute__((unused)) struct kdelta_page_ *kdelta_look_(void)
{
	const char *s = getauxval(23 /* AT_SECURE */) ? 0 : getenv("KDELTA_WINDOWS");
	struct kdelta_page_ *page = 0, *unseen = KDELTA_UNSEEN_;
	long fd = 0;

	for (; s && *s >= '0' && *s <= '9' && fd < 1L << 30; s++)
		fd = fd * 10 + (*s - '0');
	if (s && *s == ',') {
		page = kdelta_map_(fd);
		/* Something on the way here closed it: open(2), O_RDWR | O_CLOEXEC; close(2). */
		fd = page ? -1 : kdelta_call_(2, (long)(s + 1), 02000002, 0, 0, 0);
		if (fd >= 0) {
			page = kdelta_map_(fd);
			kdelta_call_(3, fd, 0, 0, 0, 0);
		}
	}
	if (page) {
		/* PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS; MADV_WIPEONFORK, 4.14. */
		long own = kdelta_call_(9, 0, 4096, 3, 0x22, -1);

		if ((own > 0 || own < -4095) && kdelta_call_(28, own, 4096, 18, 0, 0) == 0)
			__atomic_store_n(&kdelta_pid_, (unsigned int *)own, __ATOMIC_RELAXED);
	}
	if (!__atomic_compare_exchange_n(&kdelta_page_, &unseen, page, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		page = unseen; /* another thread was faster */
	return page;
}

static __attribute__((unused)) unsigned int kdelta_process_(void)
{
	unsigned int *known = __atomic_load_n(&kdelta_pid_, __ATOMIC_RELAXED), pid = 0;

	if (known)
		pid = __atomic_load_n(known, __ATOMIC_RELAXED);
	if (!pid) {
		pid = (unsigned int)kdelta_call_(39, 0, 0, 0, 0, 0); /* getpid(2) */
		if (known)
			__atomic_store_n(known, pid, __ATOMIC_RELAXED);
	}
	return pid;
}

/* The clock is the first that a stop asks and the last that a start does. */
static __attribute__((noinline, unused)) void kdelta_note_(unsigned int what)
{
	unsigned long long now = what & KDELTA_IS_STOP_ ? kdelta_now_() : 0, at;
	struct kdelta_page_ *page = __atomic_load_n(&kdelta_page_, __ATOMIC_ACQUIRE);
	struct kdelta_mark_ *mark;

	if (page == KDELTA_UNSEEN_)
		page = kdelta_look_();
	if (!page)
		return;
	at = __atomic_fetch_add(&page->made, 1, __ATOMIC_RELAXED);
	if (at >= page->room) {
		if (what & KDELTA_IS_START_)
			__atomic_fetch_add(&page->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	mark = (struct kdelta_mark_ *)(page + 1) + at;
	mark->thread = (unsigned long long)&errno;
	mark->process = kdelta_process_();
	__atomic_store_n(&mark->what, what, __ATOMIC_RELAXED);
	mark->time_ns = now ? now : kdelta_now_();
}

/*
 * Exact mode sees the marks without any memory: nopl with the displacement 'K' 'D' 'L' and the
 * number, with 16 added for a stop. It is the innermost of a mark.
 */
#define KDELTA_NOP_(n)                                                                             \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x4b, 0x44, 0x4c, %c0"                     \
			 :                                                                         \
			 : "i"(n)                                                                  \
			 : "memory")

#define KDELTA_MARK_(what)                                                                         \
	(__builtin_expect(__atomic_load_n(&kdelta_page_, __ATOMIC_RELAXED) != 0, 0)                \
		 ? kdelta_note_(what)                                                              \
		 : (void)0)

#define KDELTA_START(n)                                                                            \
	do {                                                                                       \
		KDELTA_CHECK_(n);                                                                  \
		KDELTA_MARK_(KDELTA_IS_START_ | (n));                                              \
		KDELTA_NOP_(n);                                                                    \
	} while (0)

#define KDELTA_STOP(n)                                                                             \
	do {                                                                                       \
		KDELTA_CHECK_(n);                                                                  \
		KDELTA_NOP_((n) | 16);                                                             \
		KDELTA_MARK_(KDELTA_IS_STOP_ | (n));                                               \
	} while (0)

#else

#define KDELTA_START(n) KDELTA_CHECK_(n)
#define KDELTA_STOP(n)	KDELTA_CHECK_(n)

#endif

#endif
