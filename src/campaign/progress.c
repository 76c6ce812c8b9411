/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "campaign/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unit.h"

#define BAR_CELLS   20u
#define REDRAW_NS   (100 * NSEC_PER_MSEC)
#define TRUST_SHARE 20u /* the pace is believed once a 20th is done */

void progress_start(struct progress *p, bool quiet, size_t total, uint64_t estimate_ns)
{
	memset(p, 0, sizeof(*p));
	p->on = !quiet;
	p->terminal = isatty(STDERR_FILENO) == 1;
	p->total = total ? total : 1;
	p->estimate_ns = estimate_ns;
	p->start_ns = clock_mono_ns();
}

uint64_t progress_left_ns(const struct progress *p, uint64_t now_ns)
{
	uint64_t spent = now_ns - p->start_ns;

	if (p->done * TRUST_SHARE >= p->total && p->done)
		return spent / p->done * (p->total - p->done);
	if (!p->estimate_ns)
		return UINT64_MAX;
	return p->estimate_ns > spent ? p->estimate_ns - spent : 0;
}

static void erase(const struct progress *p)
{
	if (p->on && p->terminal)
		fputs("\r\033[K", stderr);
}

static void draw(struct progress *p, bool force)
{
	uint64_t now = clock_mono_ns(), left;
	size_t full, i;
	char eta[40] = "?";

	if (!p->on || !p->terminal || (!force && now - p->drawn_ns < REDRAW_NS))
		return;
	if (!p->total) /* not started yet */
		return;
	p->drawn_ns = now;
	full = p->done * BAR_CELLS / p->total;
	left = progress_left_ns(p, now);
	if (left != UINT64_MAX)
		unit_format_time(left - left % NSEC_PER_SEC, eta, sizeof(eta));
	if (left < NSEC_PER_SEC)
		strcpy(eta, "1 s");
	erase(p);
	fputc('[', stderr);
	for (i = 0; i < BAR_CELLS; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3zu %%  %.40s  %s left", p->done * 100 / p->total, p->what, eta);
	fflush(stderr);
}

void progress_what(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->what, sizeof(p->what), fmt, ap);
	va_end(ap);
	draw(p, true);
}

void progress_step(struct progress *p, size_t steps)
{
	p->done = p->done + steps > p->total ? p->total : p->done + steps;
	draw(p, false);
}

static void say(struct progress *p, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void say(struct progress *p, const char *fmt, va_list ap)
{
	erase(p);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	draw(p, true);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->on)
		return;
	va_start(ap, fmt);
	say(p, fmt, ap);
	va_end(ap);
}

void progress_warn(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(p, fmt, ap);
	va_end(ap);
}

void progress_end(struct progress *p)
{
	erase(p);
	p->on = false;
}
