/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each workload does its operations, and each way in which one fails is an error with words. */
#include <fcntl.h>
#include <sys/resource.h>

#include "workload_fixture.h"

extern const struct workload workload_nop, workload_getppid, workload_read, workload_write,
	workload_stat, workload_open_close, workload_pipe, workload_ctx, workload_fork,
	workload_exec, workload_mock;

static void all_work(void **state)
{
	static const struct workload *const all[] = {
		&workload_nop,	&workload_getppid,    &workload_read, &workload_write,
		&workload_stat, &workload_open_close, &workload_pipe, &workload_ctx,
		&workload_fork, &workload_exec,	      &workload_mock,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		it_works(all[i], "");
}

static void unexpected_results_fail(void **state)
{
	int full = open("/dev/full", O_WRONLY), null = open("/dev/null", O_RDONLY), closed = -1;

	(void)state;
	begin(&workload_read, "");
	kit_close(run.state);
	run.state = &null;
	assert_int_equal(workload_read.batch(&run, 1), -EIO);
	assert_string_equal(run.reason, "read /dev/zero: gave 0 instead of 1");
	run.code = 0;
	run.state = &closed;
	assert_int_equal(workload_read.batch(&run, 1), -EBADF);
	fake_done(&run);
	begin(&workload_write, "");
	kit_close(run.state);
	run.state = &full;
	assert_int_equal(workload_write.batch(&run, 1), -ENOSPC);
	fake_done(&run);
	begin(&workload_stat, "");
	kit_tmpdir_sweep(NULL, getpid());
	assert_int_equal(workload_stat.batch(&run, 1), -ENOENT);
	assert_string_equal(run.reason, "stat: No such file or directory");
	fake_done(&run);
	begin(&workload_open_close, "");
	kit_tmpdir_sweep(NULL, getpid());
	assert_int_equal(workload_open_close.batch(&run, 1), -ENOENT);
	fake_done(&run);
	begin(&workload_exec, "");
	kit_close(run.state);
	run.state = &null;
	assert_int_equal(workload_exec.batch(&run, 1), -ECHILD);
	assert_string_equal(run.reason, "a child exited with 13");
	kit_close(&full);
	kit_close(&null);
}

static void dead_parties_fail(void **state)
{
	(void)state;
	alarm(20); /* a descriptor too many open shows as a batch that never ends */
	a_dead_party_fails(&workload_pipe, "", 0);
	a_dead_party_fails(&workload_ctx, "procs=2", 0);
	a_dead_party_fails(&workload_ctx, "procs=8,size=4KiB", 0);
	a_dead_party_fails(&workload_ctx, "procs=8,size=4KiB", 3);
	a_dead_party_fails(&workload_ctx, "procs=96", 94);
	a_party_dying_fails(&workload_pipe, "", 0);
	a_party_dying_fails(&workload_ctx, "procs=2", 0);
	a_party_dying_fails(&workload_ctx, "procs=8,size=4KiB", 3);
	alarm(0);
	begin(&workload_nop, "");
}

/* Writes that this process has made so far (proc(5), /proc/PID/io); -1 where it is not told. */
static long writes(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[80];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "syscw: %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void ctx_counts_hand_overs(void **state)
{
	struct rusage before, after;
	struct demand d = { 0, 0, 0, 0 };
	long at;

	(void)state;
	begin(&workload_ctx, "procs=5,size=64KiB");
	assert_int_equal(run.ops_per_n, 5);
	assert_int_equal(workload_ctx.demand(&run.args, &d), 0);
	assert_int_equal(d.tasks, 5);
	assert_int_equal(d.descriptors, 12);
	assert_int_equal(d.memory_bytes, 5 * 65536);
	/* The overhead never waits; the batch does once a turn of the ring. */
	at = writes();
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(workload_ctx.overhead(&run, 200), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_nvcsw - before.ru_nvcsw < 20);
	if (at >=
	    0) /* one hand-over's calls for each of 200 x 5; of the batch's, a fifth is ours */
		assert_int_equal(writes() - at, 1000);
	at = writes();
	assert_int_equal(workload_ctx.batch(&run, 200), 0);
	if (at >= 0)
		assert_int_equal(writes() - at, 200);
	fake_done(&run);
}

static void play(const char *script, int samples)
{
	if (script)
		setenv("KDELTA_MOCK", script, 1);
	begin(&workload_mock, "");
	for (run.sample = -1; run.sample < samples; run.sample++)
		if (workload_mock.batch(&run, 1) < 0)
			break;
}

static void mock_plays_its_script(void **state)
{
	(void)state;
	play(NULL, 2);
	assert_string_equal(run.reported, "time=100 time=100 ");
	fake_done(&run);
	play("time=1.5,2 rate=7 temp=-4 faults=3,0 hist=10*2,99", 3);
	assert_string_equal(run.reported,
			    "time=1.5 rate=7 temp=-4 faults=3 latency=10 latency=10 "
			    "time=2 rate=7 temp=-4 faults=0 latency=99 "
			    "time=1.5 rate=7 temp=-4 faults=3 latency=10 latency=10 ");
}

static void mock_fails_as_told(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	play("time=1,fail,3", 3);
	assert_int_equal(run.sample, 1);
	assert_int_equal(run.code, EIO);
	assert_string_equal(run.reason, "scripted failure");
	assert_string_equal(run.reported, "time=1 ");
	fake_done(&run);
	play("rate=skip", 3);
	assert_true(run.skipped);
	fake_done(&run);
	play("temp=nan", 3);
	assert_int_equal(run.code, EDOM);
	fake_done(&run);
	play("time=1,partydie,3", 3);
	assert_int_equal(run.code, 0);
	assert_int_equal(waitpid(run.party[0], &status, 0), run.party[0]);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	run.parties = 0;
	fake_done(&run);
	pid = fork();
	if (pid == 0) {
		signal(SIGABRT, SIG_DFL); /* cmocka catches it */
		play("time=crash", 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	pid = fork();
	if (pid == 0) {
		alarm(1);
		play("time=hang", 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	begin(&workload_nop, "");
}

static void mock_refuses_bad_scripts(void **state)
{
	static const struct {
		const char *script, *words;
	} bad[] = {
		{ "", "is empty" },
		{ "  ", "is empty" },
		{ "time", "\"time\": each of" },
		{ "speed=3", "\"speed\": each of" },
		{ "time=1 time=2", "at most once" },
		{ "time=", "time: \"\" is neither" },
		{ "time=1,,2", "time: \"\" is neither" },
		{ "time=1,exlpode", "\"exlpode\" is neither a number nor one of fail, crash" },
		{ "time=1e999", "is neither" },
		{ "time=inf", "is neither" },
		{ "time=5*3", "is neither" },
		{ "hist=5*0", "is neither" },
		{ "hist=-1", "is neither" },
		{ "time==1", "is neither" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("KDELTA_MOCK", bad[i].script, 1);
		fake_init(&run, &workload_mock, "");
		if (workload_mock.setup(&run) != -EINVAL || !strstr(run.reason, bad[i].words))
			fail_msg("'%s': %s", bad[i].script, run.reason);
		arena_done(&run.arena);
	}
	begin(&workload_nop, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(unexpected_results_fail), TEST(dead_parties_fail),
		TEST(ctx_counts_hand_overs),   TEST(mock_plays_its_script),
		TEST(mock_fails_as_told),      TEST(mock_refuses_bad_scripts),
		cmocka_unit_test(all_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
