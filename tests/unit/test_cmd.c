/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workload cmd and the marks of include/kdelta.h. The programs that are run are this one, by
 * /proc/self/exe and the name of what it shall do.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "workload_fixture.h"
#include "workloads/cmd/marks.h"

#include <kdelta.h>

extern const struct workload workload_cmd;

/* ---- what the programs do ---- */

static void window(void)
{
	KDELTA_START(0);
	KDELTA_STOP(0);
}

static void *in_a_thread(void *arg)
{
	KDELTA_START(2);
	for (int i = 0; i < 3; i++)
		sched_yield();
	KDELTA_STOP(2);
	return arg;
}

static int threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, in_a_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* Two processes in a window at once, of one address each: the pid tells them apart. */
static int forks(void)
{
	int there[2], back[2];
	char c = 0;

	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	KDELTA_START(0);
	if (fork() == 0) {
		KDELTA_START(1);
		_exit(write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1 || ({
			      KDELTA_STOP(1);
			      0;
		      }));
	}
	if (read(there[0], &c, 1) != 1)
		return 1;
	KDELTA_STOP(0);
	return write(back[1], &c, 1) != 1 || wait(NULL) < 0;
}

/* A child that leaves the group, the session and its parent, and would stay. */
static int leaves(const char *file)
{
	FILE *f;

	if (fork() == 0) {
		setsid();
		if (fork())
			_exit(0);
		f = fopen(file, "w");
		fprintf(f, "%d", getpid());
		fclose(f);
		for (;;)
			pause();
	}
	wait(NULL);
	while (access(file, F_OK) < 0)
		usleep(1000);
	usleep(10000);
	return 0;
}

static int nested(void)
{
	KDELTA_START(0);
	KDELTA_START(1);
	KDELTA_STOP(1);
	KDELTA_STOP(0);
	return 0;
}

static int crossed(void)
{
	KDELTA_START(0);
	KDELTA_STOP(3);
	return 0;
}

static int unstarted(void)
{
	window();
	KDELTA_STOP(4);
	return 0;
}

static int unstopped(void)
{
	window();
	KDELTA_START(5);
	return 0;
}

static int many(long n)
{
	for (long i = 0; i < n; i++)
		window();
	return 0;
}

/* Only the first time that it is called with this file. */
static int sometimes(const char *file)
{
	int fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (fd >= 0)
		window();
	return 0;
}

static int closes(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	/* Something else has the number now. */
	for (int fd = 3; fd < 256; fd++)
		dup2(0, fd);
	errno = 77;
	window();
	return errno != 77;
}

static int overwrites(void)
{
	window();
	memset(kdelta_page_, 'x', 4096);
	return 0;
}

static int program(char **argv)
{
	const char *what = argv[1];

	if (!strcmp(what, "many"))
		return many(atol(argv[2]));
	if (!strcmp(what, "leaves"))
		return leaves(argv[2]);
	if (!strcmp(what, "sometimes"))
		return sometimes(argv[2]);
	if (!strcmp(what, "stdin"))
		return getchar() != EOF || fcntl(3, F_GETFD) >= 0 ||
		       strcmp(getenv("LC_ALL"), "C") != 0 || *getenv("KDELTA_WINDOWS");
	return !strcmp(what, "threads")	     ? threads()
	       : !strcmp(what, "forks")	     ? forks()
	       : !strcmp(what, "nested")     ? nested()
	       : !strcmp(what, "crossed")    ? crossed()
	       : !strcmp(what, "unstarted")  ? unstarted()
	       : !strcmp(what, "unstopped")  ? unstopped()
	       : !strcmp(what, "closes")     ? closes()
	       : !strcmp(what, "overwrites") ? overwrites()
					     : 99;
}

/* ---- as the runner does it ---- */

/* All parts and samples; the reports of a part stand behind "(NAME) ". */
static int measure(const char *params)
{
	const struct workload *w = &workload_cmd;
	struct part part = { .name = "" };
	int r;

	fake_init(&run, w, params);
	run.sample = -1;
	r = w->setup(&run);
	while (r == 0 && w->next_part(&run, &part) == 1) {
		strcat(strcat(strcat(run.reported, "("), part.name), ") ");
		for (unsigned i = 0; i < run_u64(&run, "samples") && r == 0; i++) {
			struct batch b = { .ops = 1, .ns = 12345 };

			run.sample = (int)i;
			r = w->before(&run);
			if (r == 0)
				r = w->batch(&run, 1);
			if (r == 0)
				r = w->collect(&run, &b);
		}
		part.name[0] = '\0';
	}
	w->after(&run);
	return r;
}

/* How often a metric was reported. */
static unsigned times(const char *metric)
{
	char key[40];
	unsigned n = 0;

	snprintf(key, sizeof(key), " %s=", metric);
	for (const char *s = run.reported; (s = strstr(s, key)); s++)
		n++;
	return n;
}

static void whole_runs(void **state)
{
	(void)state;
	assert_int_equal(measure("run=true,samples=2"), 0);
	assert_string_equal(run.w->family, "program");
	assert_memory_equal(run.context, "program=true ", 13);
	assert_int_equal(strlen(run.context), 13 + 16 + 1);
	assert_int_equal(times("time"), 2);
	assert_non_null(strstr(run.reported, "time=12345 "));
	assert_int_equal(times("user") + times("system"), 4);
	assert_int_equal(times("maxrss"), 2);
	assert_int_equal(times("voluntary") + times("involuntary"), 4);
	assert_int_equal(times("window") + times("mean") + times("windows") + times("lost"), 0);
	fake_done(&run);
	/* It beats while it waits. */
	assert_int_equal(measure("run=sleep .6,samples=1,warmup=0"), 0);
	assert_true(run.beats >= 1);
	fake_done(&run);
	/* Marks are not asked for, so there are none. */
	assert_int_equal(measure("run=/proc/self/exe many 3,samples=1,windows=whole"), 0);
	assert_int_equal(times("time"), 1);
	assert_int_equal(times("windows"), 0);
	fake_done(&run);
	assert_int_equal(measure("run=/proc/self/exe stdin,samples=1,windows=whole"), 0);
}

static void windows_are_counted(void **state)
{
	(void)state;
	assert_int_equal(measure("run=/proc/self/exe many 2,samples=2"), 0);
	assert_non_null(strstr(run.reported, " windows=2 overhead="));
	assert_int_equal(times("windows"), 2);
	assert_int_equal(times("window"), 2 * 2); /* each, in the histogram */
	assert_int_equal(times("mean"), 2);
	assert_int_equal(times("time"), 0);
	fake_done(&run);
	/* Of threads, of a number that is not 0. */
	assert_int_equal(measure("run=/proc/self/exe threads,samples=1"), 0);
	assert_non_null(strstr(run.reported, "(window 2) "));
	assert_non_null(strstr(run.reported, " windows=4 "));
	fake_done(&run);
	assert_int_equal(measure("run=/proc/self/exe forks,samples=1"), 0);
	assert_non_null(strstr(run.reported, "(window 1) "));
	assert_int_equal(times("windows"), 2);
	fake_done(&run);
	/* A program between us and the one that marks has closed our descriptor. */
	assert_int_equal(measure("run=/proc/self/exe closes,samples=1,windows=marked"), 0);
	assert_non_null(strstr(run.reported, " windows=1 "));
}

static void fails(const char *params, int code, const char *words)
{
	int r = measure(params);

	if (r != -code || !strstr(run.reason, words))
		fail_msg("%s: %d, %s", params, r, run.reason);
	fake_done(&run);
}

static void failures(void **state)
{
	(void)state;
	fails("run=false", EIO, "false: exit status 1");
	fails("run=\"sh -c 'echo one >&2; echo two >&2; exit 3'\"", EIO, "sh: exit status 3: two");
	fails("run=\"sh -c 'echo so >&2; kill -9 $$'\"", EIO, "sh: ended by signal 9 (Killed): so");
	fails("run=kdelta-no-such", ENOENT,
	      "cannot run kdelta-no-such: there is no such program "
	      "in PATH");
	fails("run=./kdelta-no-such", ENOENT,
	      "cannot run ./kdelta-no-such: there is no such "
	      "program");
	fails("run=/", EACCES, "cannot run /: Permission denied");
	fails("run=sleep 9,timeout=20ms", ETIMEDOUT, "not done after 0.0 s, killed");
	fails("run=\"sh -c 'x\"", EINVAL, "does not end");
	fails("run=true | true", EINVAL, "there is no shell for \"| true\"");
	fails("run=\" \"", EINVAL, "the command line is empty");
	fails("run=true,windows=marked", ENODATA, "it marked no window");
	fails("run=/proc/self/exe nested", EBADMSG, "window 1 was started within window 0");
	fails("run=/proc/self/exe crossed", EBADMSG, "window 3 was stopped within window 0");
	fails("run=/proc/self/exe unstarted", EBADMSG,
	      "window 4 was stopped by a thread that had not started it");
	fails("run=/proc/self/exe unstopped", EBADMSG, "window 5 was started and never stopped");
	fails("run=/proc/self/exe overwrites", EBADMSG, "was overwritten");
}

/* A shell's signs in quotes are words as any other. */
static void quotes(void **state)
{
	(void)state;
	assert_int_equal(measure("run=\"test 'a|b;c' = \\\"a|b\\\"\\\\;c\",samples=1"), 0);
}

static char file[100];

static void file_begin(void)
{
	char dir[] = "/tmp/kd-cmd-XXXXXX";

	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
}

static void file_end(void)
{
	assert_int_equal(unlink(file), 0);
	*strrchr(file, '/') = '\0';
	assert_int_equal(rmdir(file), 0);
}

static void not_each_run_marks(void **state)
{
	char params[200];

	(void)state;
	file_begin();
	snprintf(params, sizeof(params), "run=/proc/self/exe sometimes %s", file);
	fails(params, EPROTO, "it marked windows in one run and none in another");
	file_end();
}

static void nobody_is_left(void **state)
{
	char params[200];
	int pid = 0;
	FILE *f;

	(void)state;
	file_begin();
	snprintf(params, sizeof(params), "run=/proc/self/exe leaves %s,samples=1,warmup=0", file);
	assert_int_equal(measure(params), 0);
	f = fopen(file, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	file_end();
	assert_true(pid > 1);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(times("time"), 1);
}

static void a_run_that_is_stopped(void **state)
{
	pid_t killer = fork();

	(void)state;
	if (killer == 0) {
		usleep(300000);
		_exit(kill(getppid(), SIGTERM) < 0);
	}
	/* The handler is there before the first command is, or this test ends by the signal. */
	fails("run=sleep 9,warmup=1", ECANCELED, "interrupted");
}

/* ---- marks without a program ---- */

struct page {
	struct kdelta_page_ head;
	struct kdelta_mark_ mark[6];
};

#define START(n) (KDELTA_IS_START_ | (n))
#define STOP(n)	 (KDELTA_IS_STOP_ | (n))

static int read_page(struct page *p, struct marks_windows *ret, struct error *e)
{
	p->head.magic = KDELTA_MAGIC_;
	error_clear(e);
	return marks_read(p, sizeof(*p), ret, e);
}

static void pairs(void **state)
{
	struct page p = {
		.head.made = 6,
		.mark = { { 10, 1, 1, START(7) },
			  { 11, 2, 1, START(7) },
			  { 12, 1, 2, START(3) },
			  { 15, 1, 1, STOP(7) },
			  { 21, 2, 1, STOP(7) },
			  { 12, 1, 2, STOP(3) } },
	};
	struct marks_windows w;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(read_page(&p, &w, &e), 0);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.lost, 0);
	assert_int_equal(w.items[0].ns, 5);
	assert_int_equal(w.items[1].ns, 10);
	assert_int_equal(w.items[1].number, 7);
	assert_int_equal(w.items[2].ns, 0);
	assert_int_equal(w.items[2].number, 3);
	free(w.items);
	p.head.made = 0;
	assert_int_equal(read_page(&p, &w, &e), 0);
	assert_int_equal(w.n, 0);
	free(w.items);
	/* A window that is open where there is no more room is lost like those behind it. */
	p.head.made = 9;
	p.head.lost = 1;
	p.mark[5] = (struct kdelta_mark_){ 30, 1, 1, START(7) };
	p.mark[2] = (struct kdelta_mark_){ 30, 3, 1, START(7) };
	assert_int_equal(read_page(&p, &w, &e), 0);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.lost, 3);
	free(w.items);
	p.head.lost = UINT64_MAX; /* nonsense is bounded by what was made */
	assert_int_equal(read_page(&p, &w, &e), 0);
	assert_int_equal(w.lost, 3 + 2);
	free(w.items);
}

static void broken_marks(void **state)
{
	static const struct {
		struct kdelta_mark_ first, second;
		const char *words;
	} bad[] = {
		{ { 5, 1, 1, START(0) }, { 4, 1, 1, STOP(0) }, "window 0 ended before it began" },
		{ { 5, 1, 1, START(0) }, { 6, 1, 1, START(0) }, "started within window 0" },
		{ { 5, 1, 1, START(0) }, { 6, 2, 1, STOP(0) }, "window 0 was started and never" },
		{ { 5, 1, 1, START(0) }, { 6, 1, 2, STOP(0) }, "window 0 was started and never" },
		{ { 5, 1, 1, START(0) }, { 0, 0, 0, 0 }, "was not written to its end" },
		{ { 5, 1, 1, START(0) }, { 0, 1, 1, STOP(0) }, "was not written to its end" },
		{ { 5, 1, 1, START(16) }, { 6, 1, 1, STOP(0) }, "no mark of the kind 0x110" },
		{ { 5, 1, 1, 0x300 }, { 6, 1, 1, STOP(0) }, "no mark of the kind 0x300" },
		{ { 5, 1, 1, 3 }, { 6, 1, 1, STOP(0) }, "no mark of the kind 0x3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct page p = { .head.made = 2, .mark = { bad[i].first, bad[i].second } };
		struct error e = ERROR_INIT;
		struct marks_windows w;

		if (read_page(&p, &w, &e) != -EBADMSG || !strstr(e.text, bad[i].words))
			fail_msg("%zu: %s", i, e.text);
		assert_null(w.items);
	}
}

/* Through the macros, in this process. */
static void overflow(void **state)
{
	struct marks m = MARKS_NONE;
	struct marks_windows w;
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(marks_open(&m, 4, &e), 0);
	assert_memory_equal(m.env, "KDELTA_WINDOWS=", strlen("KDELTA_WINDOWS="));
	setenv("KDELTA_WINDOWS", m.env + strlen("KDELTA_WINDOWS="), 1);
	kdelta_page_ = KDELTA_UNSEEN_;
	many(3);
	assert_int_equal(marks_read(m.page, m.size, &w, &e), 0);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.lost, 0);
	free(w.items);
	many(7);
	assert_int_equal(marks_read(m.page, m.size, &w, &e), 0);
	assert_int_equal(w.n, 4);
	assert_int_equal(w.lost, 6);
	free(w.items);
	/* Garbage in the variable is as none. */
	kdelta_page_ = KDELTA_UNSEEN_;
	setenv("KDELTA_WINDOWS", "0,/dev/null", 1);
	many(1);
	assert_null(kdelta_page_);
	unsetenv("KDELTA_WINDOWS");
	marks_close(&m);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(whole_runs),
		TEST(windows_are_counted),
		TEST(failures),
		TEST(quotes),
		TEST(not_each_run_marks),
		TEST(nobody_is_left),
		TEST(a_run_that_is_stopped),
		cmocka_unit_test(pairs),
		cmocka_unit_test(broken_marks),
		cmocka_unit_test(overflow),
	};

	return argc > 1 ? program(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
