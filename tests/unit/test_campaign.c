/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agents that misbehave, lines that do not belong, and a whole boot of this machine. */
#include "campaign/agent.h"

#include "store_fixture.h"

#include <sys/prctl.h>

#include "campaign/campaign.h"
#include "campaign/ingest.h"
#include "campaign/progress.h"

#define REAL_AGENT TEST_BUILD_DIR "/kdelta-agent"

/* ---- progress ---- */

static void time_left_is_from_the_pace(void **state)
{
	struct progress p = { .total = 100, .start_ns = 1000, .estimate_ns = 500 };

	(void)state;
	/* Until a 20th is done the estimate stands. */
	assert_true(progress_left_ns(&p, 1100) == 400);
	assert_true(progress_left_ns(&p, 9000) == 0);
	p.done = 4;
	assert_true(progress_left_ns(&p, 1100) == 400);
	p.done = 5;
	assert_true(progress_left_ns(&p, 1100) == 20 * 95);
	p.done = 100;
	assert_true(progress_left_ns(&p, 2000) == 0);
	p.done = 0;
	p.estimate_ns = 0;
	assert_true(progress_left_ns(&p, 1100) == UINT64_MAX);
	/* Of few steps the first one counts; of none there are none left. */
	progress_start(&p, true, 2, 0);
	progress_step(&p, 1);
	assert_true(progress_left_ns(&p, p.start_ns + 70) == 70);
	progress_step(&p, 5); /* more than were expected */
	assert_int_equal(p.done, 2);
	assert_true(progress_left_ns(&p, p.start_ns + 70) == 0);
	progress_start(&p, true, 0, 0);
	assert_int_equal(p.total, 1);
	progress_end(&p);
}

/* ---- the agent as a program ---- */

struct heard {
	struct str lines;
	size_t n;
	int stop_at, answer; /* answer this to that line */
};

static int on_line(void *arg, const char *line, size_t len, struct error *e)
{
	struct heard *h = arg;

	assert_int_equal(strlen(line), len);
	str_printf(&h->lines, "%.20s|", line);
	if (str_eq(line, "done"))
		return 1;
	if (++h->n == (size_t)h->stop_at)
		return h->answer < 0 ? error_set(e, -h->answer, "given up") : h->answer;
	return 0;
}

static char *script_path(const struct fixture *f)
{
	return mem_printf("%s/agent", f->dir);
}

static void script_write(const struct fixture *f, const char *body)
{
	CLEANUP_FREE char *path = script_path(f), *text = mem_printf("#!/bin/sh\n%s\n", body);

	OK(file_replace(path, text, strlen(text), e));
	assert_int_equal(chmod(path, 0755), 0);
}

static void script_is(const struct fixture *f, const char *body, int want, const char *words,
		      const char *lines)
{
	CLEANUP_FREE char *path = script_path(f);
	struct heard h = { .lines = STR_INIT };
	uint64_t start = clock_mono_ns();
	struct error e = ERROR_INIT;
	int r, status;

	script_write(f, body);
	r = agent_run(path, "{\"a plan\":1}", on_line, &h, NULL, &e);
	if (r != want)
		fail_msg("%s: %d: %s", body, r, e.text);
	if (!strstr(e.text, words))
		fail_msg("%s: \"%s\" without \"%s\"", body, e.text, words);
	assert_string_equal(str_get(&h.lines), lines);
	str_done(&h.lines);
	/* Neither it nor a child of it lives on: it would be ours now, and sleep. */
	while (waitpid(-1, &status, 0) > 0)
		;
	assert_true(clock_mono_ns() - start < 10 * NSEC_PER_SEC);
}

static void agents_that_misbehave(void **state)
{
	const struct fixture *f = *state;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	script_is(f, "cat; echo; printf 'a\\n\\nb\\nlast'; echo; echo done; echo more", 0, "",
		  "{\"a plan\":1}|a|b|last|done|");
	script_is(f, "echo \"$1 $2 $3 $LC_ALL\"; echo done", 0, "", "run --plan - C|done|");
	script_is(f, "echo a; exit 3", -EPIPE, "the agent ended (exit 3) before it was done", "a|");
	script_is(f, "exit 0", -EPIPE, "the agent ended (exit 0) before it was done", "");
	/* A line that its end cut short is no line. */
	script_is(f, "printf 'a\\ndon'", -EPIPE, "(exit 0) before it was done", "a|");
	script_is(f, "echo a; kill -SEGV $$", -EPIPE, "the agent was killed by signal 11", "a|");
	/* It closes its channel and goes on for ever: it was not killed by anyone but us. */
	script_is(f, "echo a; exec >&- sleep 100", -EPIPE,
		  "the agent closed its channel before it was done", "a|");
	/* Done, but it does not leave. */
	script_is(f, "echo done; exec sleep 100", 0, "", "done|");
	script_is(f, "exec no-such-interpreter", -EPIPE, "the agent ended (exit 127)", "");
	script_is(f, "head -c 5000000 /dev/zero | tr '\\0' x; sleep 100", -EFBIG,
		  "a line longer than 4194304 bytes", "");
}

static void the_callback_or_the_user_ends_it(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_FREE char *path = script_path(f);
	struct heard h = { .lines = STR_INIT, .stop_at = 2, .answer = -EBADMSG };
	volatile sig_atomic_t stop = 1;
	struct error e = ERROR_INIT;
	uint64_t start = clock_mono_ns();

	script_write(f, "echo a; echo b; echo c; exec sleep 100");
	assert_int_equal(agent_run(path, "", on_line, &h, NULL, &e), -EBADMSG);
	assert_string_equal(e.text, "given up");
	assert_string_equal(str_get(&h.lines), "a|b|");
	error_clear(&e);
	assert_int_equal(agent_run(path, "", on_line, &h, &stop, &e), -EINTR);
	assert_true(clock_mono_ns() - start < 5 * NSEC_PER_SEC);
	str_done(&h.lines);
}

static void the_agent_is_found(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_FREE char *fake = script_path(f), *path = NULL;
	struct error e = ERROR_INIT;
	struct workload_list l;

	setenv("KDELTA_AGENT", "/no/such/agent", 1);
	assert_int_equal(agent_find(&path, &e), -ENOENT);
	assert_string_equal(e.text, "KDELTA_AGENT=/no/such/agent: No such file or directory");
	error_clear(&e);
	setenv("KDELTA_AGENT", REAL_AGENT, 1);
	assert_int_equal(agent_find(&path, &e), 0);
	assert_string_equal(path, REAL_AGENT);
	free(path);
	path = NULL;
	assert_int_equal(agent_list(REAL_AGENT, &l, &e), 0);
	assert_non_null(workload_list_find(&l, "getppid"));
	assert_non_null(l.agent_build_id);
	workload_list_done(&l);
	unsetenv("KDELTA_AGENT");
	/* Beside this test there is none; it may be installed. */
	if (agent_find(&path, &e) < 0) {
		assert_int_equal(e.code, ENOENT);
		assert_non_null(strstr(e.text, "set KDELTA_AGENT"));
	}
	error_clear(&e);
	script_write(f, "echo '{\"protocol\":1,\"workloads\":7}'");
	assert_true(agent_list(fake, &l, &e) < 0);
	assert_true(str_starts(e.text, fake));
	error_clear(&e);
	script_write(f, "echo '{\"protocol\":1,'");
	assert_true(agent_list(fake, &l, &e) < 0);
	error_clear(&e);
	script_write(f, "echo oh no >&2; exit 1");
	assert_true(agent_list(fake, &l, &e) < 0);
	assert_non_null(strstr(e.text, "exit status 1: oh no"));
}

/* ---- lines on their way into the store ---- */

struct incoming {
	struct campaign c;
	struct ingest in;
	struct plan plan;
	struct store *store;
	char kernel[ID_UUID_SIZE], boot[ID_UUID_SIZE];
};

static struct incoming *incoming_new(const struct fixture *f, size_t items)
{
	struct incoming *i = mem_alloc(sizeof(*i));
	struct store_boot b = { .experiment = i->c.experiment, .kernel = i->kernel };

	i->store = i->c.store = open_store(f->path);
	begin_experiment(i->store, NULL, i->c.experiment);
	add_kernel(i->store, "k", NULL, i->kernel);
	make_plan(&i->plan, items);
	OK(store_boot_begin(i->store, &b, &i->plan, i->boot, e));
	progress_start(&i->c.progress, true, items, 0);
	i->in.c = &i->c;
	i->in.kernel = i->kernel;
	i->in.sink = store_sink_new(i->store, i->boot, STORE_IDS_KEEP);
	return i;
}

static int line(struct incoming *i, struct error *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int line(struct incoming *i, struct error *e, const char *fmt, ...)
{
	char buf[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return ingest_line(&i->in, buf, (size_t)n, e);
}

static struct campaign_tally incoming_end(struct incoming *i, enum store_state how,
					  const char *reason)
{
	struct store_boot_end end = { .state = how, .reason = reason };
	struct campaign_tally t = { 0 };

	OK(ingest_end(&i->in, i->boot, &end, &t, e));
	plan_done(&i->plan);
	store_close(i->store);
	free(i);
	return t;
}

static void a_boot_comes_in(void **state)
{
	struct incoming *i = incoming_new(*state, 3);
	struct campaign_tally t;
	const char *id = i->plan.items[0].id;

	OK(line(i, e, HELLO, "boot-1", 7));
	OK(line(i, e, INVOCATION, id));
	OK(line(i, e, SAMPLE, id, 5000));
	assert_int_equal(i->c.progress.done, 0);
	OK(line(i, e, USAGE, id));
	assert_int_equal(i->c.progress.done, 1);
	OK(line(i, e, "{\"k\":\"skip\",\"inv\":\"%s\",\"reason\":\"no room\",\"implied\":true}",
		i->plan.items[1].id));
	/* A failure without a name, as a later agent might send it. */
	OK(line(i, e, "{\"k\":\"fail\",\"inv\":\"%s\",\"reason\":\"broke\"}", i->plan.items[2].id));
	assert_int_equal(i->c.progress.done, 3);
	assert_false(i->in.done);
	{
		struct error err = ERROR_INIT;

		assert_int_equal(line(i, &err, DONE), 1);
	}
	assert_true(i->in.done);
	t = incoming_end(i, STORE_OK, NULL);
	assert_int_equal(t.ok, 1);
	assert_int_equal(t.failed, 1);
	assert_int_equal(t.skipped, 1);
	assert_int_equal(t.boots_ok, 1);
	assert_false(campaign_complete(&t));
	t.failed = 0;
	t.skipped_implied = 1;
	assert_true(campaign_complete(&t));
	t.boots_failed = 1;
	assert_false(campaign_complete(&t));
}

static void what_does_not_belong_ends_the_boot(void **state)
{
	struct incoming *i = incoming_new(*state, 2);
	const char *id = i->plan.items[0].id;
	struct campaign_tally t;
	struct store *s;

	FAILS(EBADMSG, "a record before hello", line(i, e, INVOCATION, id));
	FAILS(EBADMSG, "a record before hello", line(i, e, DONE));
	FAILS(EBADMSG, "the channel carried no record", line(i, e, "[    0.000000] Linux"));
	FAILS(EBADMSG, "the channel carried no record", line(i, e, "{\"k\":\"hello\"}"));
	FAILS(EBADMSG, "protocol 2",
	      line(i, e,
		   "{\"k\":\"hello\",\"protocol\":2,\"agent\":\"\","
		   "\"release\":\"\",\"version\":\"\"}"));
	assert_false(i->in.hello);
	FAILS(EIO, "the agent failed: no /proc",
	      line(i, e, "{\"k\":\"fail\",\"reason\":\"no /proc\"}"));
	i->c.agent_build_id = "feed";
	OK(line(i, e, HELLO, "boot-1", 7)); /* an agent without a build-id cannot be told apart */
	FAILS(ESTALE, "another agent answered (build-id beef, wanted feed)",
	      line(i, e,
		   "{\"k\":\"hello\",\"protocol\":1,\"agent\":\"\",\"agent_build_id\":\"beef\","
		   "\"release\":\"\",\"version\":\"\"}"));
	OK(line(i, e, INVOCATION, id));
	OK(line(i, e, SAMPLE, id, 5000));
	FAILS(EBADMSG, "is no measurement", line(i, e, SAMPLE, id, 0));
	t = incoming_end(i, STORE_FAILED, "it talked nonsense");
	assert_int_equal(t.ok, 0);
	assert_int_equal(t.boots_failed, 1);
	assert_false(campaign_complete(&t));
	/* Nothing of what had come is a number. */
	s = open_store(((struct fixture *)*state)->path);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM invocation WHERE state = 'failed'"), 2);
	store_close(s);
}

/* Case E14: the kernel that answers is not the one that was meant. */
static void another_kernel_is_refused(void **state)
{
	struct incoming *i = incoming_new(*state, 1);
	char release[] = "6.1.0", other[] = "6.2.0", build_id[] = "beef";
	struct image image = { .release = release };

	i->in.image = &image;
	OK(line(i, e, HELLO, "boot-1", 7));
	assert_true(i->in.hello);
	i->in.hello = false;
	image.release = other;
	FAILS(ESTALE, "another kernel booted", line(i, e, HELLO, "boot-1", 7));
	assert_true(i->in.wrong_kernel);
	assert_false(i->in.hello);
	/* The same release is not the same kernel. Case A10. */
	image.release = release;
	image.build_id = build_id;
	FAILS(ESTALE, "another kernel booted", line(i, e, HELLO, "boot-1", 7));
	incoming_end(i, STORE_FAILED, "the wrong one");
}

/* ---- this machine ---- */

static void here(const struct fixture *f, const char *agent, struct campaign_tally *ret)
{
	static const char *const specs[] = { "mock:samples=3,place=same" };
	struct campaign c = { .agent = agent };
	struct workload_list known;
	struct work w;

	OK(agent_list(REAL_AGENT, &known, e));
	OK(work_make(&w, &known, specs, 1, NULL, 0, e));
	c.work = &w;
	c.store = open_store(f->path);
	begin_experiment(c.store, NULL, c.experiment);
	progress_start(&c.progress, true, work_items(&w), 0);
	OK(campaign_local(&c, "here", ret, e));
	store_close(c.store);
	work_done(&w);
	workload_list_done(&known);
}

static void this_machine_is_measured(void **state)
{
	const struct fixture *f = *state;
	CLEANUP_FREE char *fake = script_path(f);
	struct campaign_tally t;
	struct store *s;

	setenv("KDELTA_MOCK", "time=100,102,99", 1);
	here(f, REAL_AGENT, &t);
	assert_true(campaign_complete(&t));
	assert_int_equal(t.ok, WORK_INVOCATIONS);
	s = open_store(f->path);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 3 * WORK_INVOCATIONS);
	store_close(s);
	setenv("KDELTA_MOCK", "time=100,fail", 1);
	here(f, REAL_AGENT, &t);
	assert_int_equal(t.failed, WORK_INVOCATIONS);
	assert_int_equal(t.boots_ok, 1);
	unsetenv("KDELTA_MOCK");
	script_write(f, "echo '{}'; sleep 100");
	here(f, fake, &t);
	assert_int_equal(t.boots_failed, 1);
	assert_int_equal(t.ok, 0);
	s = open_store(f->path);
	assert_int_equal(number(s, "SELECT count(*) FROM sample"), 3 * WORK_INVOCATIONS);
	store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_left_is_from_the_pace),
		TEST(agents_that_misbehave),
		TEST(the_callback_or_the_user_ends_it),
		TEST(the_agent_is_found),
		TEST(a_boot_comes_in),
		TEST(what_does_not_belong_ends_the_boot),
		TEST(another_kernel_is_refused),
		TEST(this_machine_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
