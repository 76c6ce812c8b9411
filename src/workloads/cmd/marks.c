/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workloads/cmd/marks.h"

#include <kdelta.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define FD_LOW 100 /* shells and programs use those below for themselves */

int marks_open(struct marks *m, size_t windows, struct error *e)
{
	struct kdelta_page_ *head;
	int fd = memfd_create("kdelta-windows", MFD_CLOEXEC);

	*m = (struct marks)MARKS_NONE;
	m->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_LOW);
	if (m->fd < 0)
		m->fd = fd;
	else
		close(fd);
	m->size = sizeof(*head) + 2 * windows * sizeof(struct kdelta_mark_);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)m->size) < 0)
		return error_errno(e, errno, "no memory for marks");
	m->page = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->page == MAP_FAILED) {
		m->page = NULL;
		return error_errno(e, errno, "no memory for marks");
	}
	head = m->page;
	head->room = 2 * windows;
	head->magic = KDELTA_MAGIC_;
	snprintf(m->env, sizeof(m->env), "KDELTA_WINDOWS=%d,/proc/%ld/fd/%d", m->fd, (long)getpid(),
		 m->fd);
	return 0;
}

void marks_close(struct marks *m)
{
	if (!m)
		return;
	if (m->page)
		munmap(m->page, m->size);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct marks)MARKS_NONE;
}

struct mark {
	uint64_t time_ns, thread;
	unsigned process, number;
	bool start;
	size_t at;
};

/* Marks of a thread together, in the order in which it made them. */
static int mark_cmp(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_thread(const struct mark *a, const struct mark *b)
{
	return a->process == b->process && a->thread == b->thread;
}

static int copy_marks(const struct kdelta_mark_ *from, size_t n, struct mark *to, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		unsigned number = from[i].what & 0xff, kind = from[i].what & ~0xffu;

		if (!from[i].what || !from[i].time_ns)
			return error_set(e, EBADMSG,
					 "a mark was not written to its end: what made it died");
		if ((kind != KDELTA_IS_START_ && kind != KDELTA_IS_STOP_) ||
		    number >= MARKS_NUMBERS)
			return error_set(e, EBADMSG,
					 "there is no mark of the kind 0x%x: something else wrote "
					 "to the memory for marks",
					 from[i].what);
		to[i] = (struct mark){ .time_ns = from[i].time_ns,
				       .thread = from[i].thread,
				       .process = from[i].process,
				       .number = number,
				       .start = kind == KDELTA_IS_START_,
				       .at = i };
	}
	qsort(to, n, sizeof(*to), mark_cmp);
	return 0;
}

/* One mark of a thread whose window `open` is open (NULL: none). */
static int check(const struct mark *open, const struct mark *m, struct error *e)
{
	if (m->start && open)
		return error_set(e, EBADMSG,
				 "window %u was started within window %u: a thread is in one "
				 "window at a time",
				 m->number, open->number);
	if (!m->start && !open)
		return error_set(e, EBADMSG,
				 "window %u was stopped by a thread that had not started it",
				 m->number);
	if (!m->start && open->number != m->number)
		return error_set(e, EBADMSG, "window %u was stopped within window %u", m->number,
				 open->number);
	if (!m->start && m->time_ns < open->time_ns)
		return error_set(e, EBADMSG, "window %u ended before it began", m->number);
	return 0;
}

int marks_read(const void *page, size_t size, struct marks_windows *ret, struct error *e)
{
	const struct kdelta_page_ *head = page;
	size_t room =
		size < sizeof(*head) ? 0 : (size - sizeof(*head)) / sizeof(struct kdelta_mark_);
	const struct mark *open = NULL;
	CLEANUP_FREE struct mark *marks = NULL;
	size_t n, i;
	bool full;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!room || head->magic != KDELTA_MAGIC_)
		return error_set(e, EBADMSG, "the memory for marks was overwritten");
	full = head->made > room;
	n = full ? room : (size_t)head->made;
	marks = mem_array(n ? n : 1, sizeof(*marks));
	r = copy_marks((const struct kdelta_mark_ *)(head + 1), n, marks, e);
	if (r < 0)
		return r;
	ret->items = mem_array(n / 2 + 1, sizeof(*ret->items));
	if (full)
		ret->lost = head->lost < head->made - room ? head->lost : head->made - room;
	for (i = 0; i <= n; i++) {
		/* A window whose end had no room any more is lost; any other must have one. */
		if (open && (i == n || !same_thread(open, &marks[i]))) {
			if (!full)
				r = error_set(e, EBADMSG, "window %u was started and never stopped",
					      open->number);
			ret->lost++;
			open = NULL;
		}
		if (i < n && !r)
			r = check(open, &marks[i], e);
		if (r < 0) {
			free(ret->items);
			memset(ret, 0, sizeof(*ret));
			return r;
		}
		if (i < n && !marks[i].start)
			ret->items[ret->n++] =
				(struct marks_window){ marks[i].time_ns - open->time_ns,
						       marks[i].number };
		open = i < n && marks[i].start ? &marks[i] : NULL;
	}
	return 0;
}
