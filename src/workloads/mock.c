/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripted samples, no clock: what drives runner, store, comparison and tables in tests and
 * examples, with results known beforehand.
 *
 * The script is the environment variable KDELTA_MOCK: lists apart by spaces, METRIC=V,V,V
 *
 *	KDELTA_MOCK='time=100,102,99 temp=41.5 hist=10*98,5000*2'
 *
 *	time	ns per operation, less is better, the headline
 *	rate	operations per second, more is better
 *	temp	a number without a better direction
 *	faults	a count, less is better
 *	hist	values of the histogram "latency", whose quantiles are p50 and p99
 *
 * Each sample takes the next value of each list; a list that is used up starts over. V of hist may
 * be VALUE*TIMES. How many samples: parameter `samples`. Without a script: time=100,100,100.
 *
 * In the place of a number a word makes that sample go wrong:
 *
 *	fail	  the operation fails, with a reason
 *	crash	  abort(3)
 *	hang	  sleeps for ever and says nothing
 *	partydie  its party (a process that waits) dies by SIGKILL; the batch itself ends well
 *	skip	  cannot be done here
 *	nan	  reports a value that is not a number, which the runner refuses
 *
 * One word of hist goes well: "clock" is the time between two readings of the clock, the shortest
 * latency there can be, which the runner refuses, too.
 */
#include "workload/kit.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/unit.h"

enum mock_word {
	MOCK_VALUE,
	MOCK_FAIL,
	MOCK_CRASH,
	MOCK_HANG,
	MOCK_PARTYDIE,
	MOCK_SKIP,
	MOCK_NAN,
	MOCK_CLOCK
};
static const char *const mock_words[] = { "",	      "fail", "crash", "hang",
					  "partydie", "skip", "nan",   "clock" };

enum { LIST_HIST = 4, LIST_N };
static const char *const mock_lists[LIST_N] = { "time", "rate", "temp", "faults", "hist" };

struct mock_entry {
	enum mock_word word;
	double value;
	uint64_t times;
};

struct mock {
	struct {
		struct mock_entry *entry;
		size_t n;
	} list[LIST_N];
	int link[2]; /* leader, party */
};

static const struct param mock_params[] = {
	{ .name = "samples",
	  .type = PARAM_UINT,
	  .def = "3",
	  .min = 1,
	  .max = 100000,
	  .help = "samples of an invocation" },
	{ .name = NULL },
};

static const struct metric mock_metrics[] = {
	{ .name = "time",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .headline = true,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 0.01,
	  .doc = "scripted time" },
	{ .name = "rate",
	  .unit = UNIT_OPS,
	  .per = "s",
	  .better = METRIC_MORE,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 0.01,
	  .doc = "scripted rate" },
	{ .name = "temp",
	  .unit = UNIT_COUNT,
	  .better = METRIC_NEITHER,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 0.01,
	  .doc = "a scripted number without a better direction" },
	{ .name = "faults",
	  .unit = UNIT_COUNT,
	  .better = METRIC_LESS,
	  .kind = METRIC_COUNT,
	  .from = METRIC_FROM_REPORTED,
	  .resolution = 1,
	  .doc = "scripted count" },
	{ .name = "p50",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_QUANTILE,
	  .hist = "latency",
	  .quantile = 0.5,
	  .doc = "median of the scripted histogram" },
	{ .name = "p99",
	  .unit = UNIT_NS,
	  .per = "op",
	  .better = METRIC_LESS,
	  .kind = METRIC_MEASURE,
	  .from = METRIC_FROM_QUANTILE,
	  .hist = "latency",
	  .quantile = 0.99,
	  .doc = "99th percentile of the scripted histogram" },
	{ .name = NULL },
};

/* VALUE or a word, in hist also with *TIMES; `text` is cut up. */
static int entry_parse(char *text, size_t list, struct mock_entry *ret)
{
	char *star = list == LIST_HIST ? strchr(text, '*') : NULL;
	size_t last = list == LIST_HIST ? MOCK_CLOCK : MOCK_NAN;
	struct error e = ERROR_INIT;

	if (star)
		*star = '\0';
	ret->times = 1;
	if (star && (unit_parse_u64(star + 1, &ret->times, &e) < 0 || ret->times < 1))
		return -EINVAL;
	for (size_t i = MOCK_FAIL; i <= last; i++) {
		if (strcmp(text, mock_words[i]) == 0) {
			ret->word = (enum mock_word)i;
			return 0;
		}
	}
	if (unit_parse_double(text, &ret->value, &e) < 0)
		return -EINVAL;
	if (list == LIST_HIST && !(ret->value >= 0 && ret->value < 0x1p63))
		return -EINVAL;
	return 0;
}

static int list_parse(struct run *run, struct mock *m, char *name)
{
	char *values = strchr(name, '=');
	size_t list = 0, room = 1;

	if (values)
		*values++ = '\0';
	while (list < LIST_N && strcmp(name, mock_lists[list]) != 0)
		list++;
	if (list == LIST_N || !values || m->list[list].n)
		return run_fail(run, EINVAL,
				"KDELTA_MOCK: \"%s\": each of time, rate, temp, faults, hist "
				"at most once, with =VALUES",
				name);
	for (const char *p = values; *p; p++)
		room += *p == ',';
	m->list[list].entry = run_alloc(run, room * sizeof(*m->list[list].entry));
	if (!m->list[list].entry)
		return run_fail(run, ENOMEM, "no memory");
	for (char *v = strsep(&values, ","); v; v = strsep(&values, ",")) {
		if (entry_parse(v, list, &m->list[list].entry[m->list[list].n++]) < 0)
			return run_fail(run, EINVAL,
					"KDELTA_MOCK: %s: \"%s\" is neither a number nor one of "
					"fail, crash, hang, partydie, skip, nan",
					name, v);
	}
	return 0;
}

static int mock_setup(struct run *run)
{
	const char *script = run_env(run, "KDELTA_MOCK");
	struct mock *m = run_alloc(run, sizeof(*m));
	char *text, *save = NULL;
	size_t lists = 0;

	script = script ? script : "time=100,100,100";
	text = run_alloc(run, strlen(script) + 1);
	if (!m || !text)
		return run_fail(run, ENOMEM, "no memory");
	run_set_state(run, m);
	strcpy(text, script);
	for (char *t = strtok_r(text, " ", &save); t; t = strtok_r(NULL, " ", &save), lists++) {
		int r = list_parse(run, m, t);

		if (r < 0)
			return r;
	}
	if (!lists)
		return run_fail(run, EINVAL, "KDELTA_MOCK is empty");
	return kit_socketpair(run, SOCK_STREAM, m->link);
}

static int waiter_start(struct party *party)
{
	struct mock *m = run_state(party->run);

	kit_close(&m->link[0]);
	return 0;
}

/* A byte from the leader means: die. */
static int waiter_serve(struct party *party)
{
	struct mock *m = run_state(party->run);
	char byte;
	int r = kit_read_or_eof(party->run, m->link[1], &byte, 1);

	if (r == 0)
		raise(SIGKILL);
	return r < 0 ? r : 0;
}

static int mock_before(struct run *run)
{
	struct mock *m = run_state(run);

	kit_close(&m->link[1]);
	return 0;
}

/* Returns when the party is dead, without an error: that the runner notices is what is tested. */
static int party_kill(struct run *run, const struct mock *m)
{
	char byte = 'x';
	int r = kit_write_all(run, m->link[0], &byte, 1);

	return r < 0 ? r : kit_read_or_eof(run, m->link[0], &byte, 1) < 0 ? -EIO : 0;
}

static int entry_play(struct run *run, const struct mock *m, size_t list,
		      const struct mock_entry *entry)
{
	switch (entry->word) {
	case MOCK_VALUE:
	case MOCK_CLOCK:
		break;
	case MOCK_FAIL:
		return run_fail(run, EIO, "scripted failure");
	case MOCK_CRASH:
		abort();
	case MOCK_HANG:
		for (;;)
			pause();
	case MOCK_PARTYDIE:
		return party_kill(run, m);
	case MOCK_SKIP:
		return run_skip(run, "scripted skip");
	case MOCK_NAN:
		return run_report(run, mock_lists[list == LIST_HIST ? 0 : list], (double)NAN);
	}
	if (list != LIST_HIST)
		return run_report(run, mock_lists[list], entry->value);
	for (uint64_t i = 0; i < entry->times; i++) {
		uint64_t from = entry->word == MOCK_CLOCK ? run_clock_ns(run) : 0;

		run_hist(run, "latency",
			 entry->word == MOCK_CLOCK ? run_clock_ns(run) - from
						   : (uint64_t)entry->value);
	}
	return 0;
}

static int mock_batch(struct run *run, uint64_t n)
{
	const struct mock *m = run_state(run);
	int sample = run_sample_index(run);
	int r = 0;

	(void)n;
	for (size_t i = 0; i < LIST_N && r == 0 && sample >= 0; i++)
		if (m->list[i].n)
			r = entry_play(run, m, i, &m->list[i].entry[(size_t)sample % m->list[i].n]);
	return r;
}

static const struct party_role mock_parties[] = {
	{ .role = "waiter", .kind = PARTY_PROCESS, .start = waiter_start, .serve = waiter_serve },
	{ .role = NULL },
};

const struct workload workload_mock = {
	.name = "mock",
	.family = "mock",
	.op = "sample",
	.doc = "Scripted samples from $KDELTA_MOCK, without a clock: for tests and examples.",
	.version = 1,
	.shape = SHAPE_ONCE,
	.params = mock_params,
	.metrics = mock_metrics,
	.parties = mock_parties,
	.setup = mock_setup,
	.before = mock_before,
	.batch = mock_batch,
};
