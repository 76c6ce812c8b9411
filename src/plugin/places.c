/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/context.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct place {
	uint64_t addr, end; /* end 0: an address, else a range */
	enum context_event event;
};

struct context_places {
	struct place *list;
	size_t n;
	uint64_t first, last; /* no event is outside of these */
};

static const struct {
	const char *word;
	enum context_event event;
	bool range;
} words[] = {
	{ "hardirq_enter", CONTEXT_HARDIRQ_ENTER, false },
	{ "hardirq_exit", CONTEXT_HARDIRQ_EXIT, false },
	{ "softirq", CONTEXT_SOFTIRQ_ENTER, true },
	{ "switch", CONTEXT_SWITCH, true },
	{ "idle", CONTEXT_IS_IDLE, false },
	{ "kworker", CONTEXT_IS_KWORKER, false },
	{ "rcu", CONTEXT_IS_RCU, false },
};

/* One blank, then an address in hexadecimal. */
static bool take_address(const char **at, uint64_t *ret)
{
	const char *p = *at;
	unsigned digits = 0;
	uint64_t v = 0;

	if (*p++ != ' ')
		return false;
	for (; isxdigit((unsigned char)*p) && digits < 17; p++, digits++) {
		int c = tolower((unsigned char)*p);

		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*at = p;
	*ret = v;
	return digits > 0 && digits <= 16;
}

static const char *parse_line(const char **at, struct place *ret)
{
	size_t len = strcspn(*at, " \n"), i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i].word) == len && !memcmp(words[i].word, *at, len))
			break;
	}
	if (i == sizeof(words) / sizeof(*words))
		return "unknown word";
	*at += len;
	*ret = (struct place){ .event = words[i].event };
	if (!take_address(at, &ret->addr))
		return "no address";
	if (words[i].range && (!take_address(at, &ret->end) || ret->end <= ret->addr))
		return "no range";
	if (**at != '\n')
		return "no end of the line";
	++*at;
	return NULL;
}

void context_places_free(struct context_places *p)
{
	if (p)
		free(p->list);
	free(p);
}

int context_parse(const char *text, struct context_places **ret, unsigned *ret_line,
		  const char **ret_what)
{
	struct context_places *p = NULL;
	struct place place, *list;

	*ret = NULL;
	for (*ret_line = 1; *text; ++*ret_line) {
		*ret_what = parse_line(&text, &place);
		if (*ret_what) {
			context_places_free(p);
			return -EINVAL;
		}
		if (!p)
			p = calloc(1, sizeof(*p));
		list = p ? realloc(p->list, (p->n + 1) * sizeof(*list)) : NULL;
		if (!list) {
			context_places_free(p);
			return -ENOMEM;
		}
		p->list = list;
		list[p->n++] = place;
		if (p->n == 1 || place.addr < p->first)
			p->first = place.addr;
		if (place.addr > p->last)
			p->last = place.addr;
		if (place.end > p->last)
			p->last = place.end;
	}
	*ret = p;
	return 0;
}

static enum context_event event_of(const struct place *p, uint64_t addr, const struct insn *insn)
{
	bool inside = p->end && addr >= p->addr && addr < p->end;

	if (p->event == CONTEXT_SWITCH)
		return inside && insn->loads_stack ? CONTEXT_SWITCH : CONTEXT_NO_EVENT;
	if (addr == p->addr)
		return p->event;
	/* A return, or the jump to the thunk that is compiled for one. */
	if (inside &&
	    (insn->flow == INSN_RETURNS ||
	     (insn->flow == INSN_JUMPS && (insn->target < p->addr || insn->target >= p->end))))
		return CONTEXT_SOFTIRQ_EXIT;
	return CONTEXT_NO_EVENT;
}

enum context_event context_at(const struct context_places *p, uint64_t addr,
			      const struct insn *insn)
{
	enum context_event event;
	size_t i;

	if (addr < p->first || addr > p->last)
		return CONTEXT_NO_EVENT;
	for (i = 0; i < p->n; i++) {
		event = event_of(&p->list[i], addr, insn);
		if (event != CONTEXT_NO_EVENT)
			return event;
	}
	return CONTEXT_NO_EVENT;
}
