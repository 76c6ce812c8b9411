/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of a machine, against a tree made for each test: applied, read back, put back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/journal.h"
#include "settings/settings.h"

#define CPU "/sys/devices/system/cpu"
#define THP "/sys/kernel/mm/transparent_hugepage/enabled"
#define SYS "/proc/sys"

struct tree {
	char root[64], dir[80];
	struct settings *s;
	struct arena a;
	struct error err;
	struct str said;
	bool skip;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void hear(void *arg, const char *text)
{
	struct tree *t = arg;

	str_printf(&t->said, "%s\n", text);
}

static struct settings *another(struct tree *t, bool journal)
{
	const struct settings_config c = { t->root, t->dir, journal, hear, t };

	return settings_new(&c);
}

static int make(void **state)
{
	struct tree *t = mem_alloc(sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	snprintf(t->root, sizeof(t->root), "%.40s/settings.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(t->root));
	snprintf(t->dir, sizeof(t->dir), "%s/state", t->root);
	t->s = another(t, true);
	*state = t;
	return 0;
}

static int unmake(void **state)
{
	struct tree *t = *state;

	settings_free(t->s);
	nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_done(&t->a);
	str_done(&t->said);
	free(t);
	return 0;
}

static void text(struct tree *t, const char *path, const char *s)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", t->root, path);
	CLEANUP_FREE char *dir = mem_strdup(full);

	*strrchr(dir, '/') = '\0';
	assert_int_equal(file_mkdirs(dir, NULL), 0);
	assert_int_equal(file_replace(full, s, strlen(s), NULL), 0);
}

static void gone(struct tree *t, const char *path)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", t->root, path);

	assert_int_equal(unlink(full), 0);
}

static const char *now(struct tree *t, const char *path)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", t->root, path);
	CLEANUP_FREE char *line = file_line(full);

	return line ? arena_strdup(&t->a, line) : "(nothing)";
}

static bool journal_there(struct tree *t)
{
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", t->dir);

	return access(path, F_OK) == 0;
}

/* Wants "NAME=VALUE" words, NULL at the end. */
static int want_of(struct tree *t, struct settings *s, const char *const *words)
{
	struct setting want[8], got[8];
	size_t n = 0, i;
	int r;

	for (; words[n]; n++) {
		const char *eq = strchr(words[n], '=');

		want[n].name = arena_strndup(&t->a, words[n], (size_t)(eq - words[n]));
		want[n].value = eq + 1;
	}
	error_clear(&t->err);
	r = settings_want(s, want, n, &t->a, got, &t->skip, &t->err);
	for (i = 0; i < n && !r; i++)
		assert_string_equal(got[i].name, want[i].name);
	return r;
}

#define WANT(t, ...) want_of(t, (t)->s, (const char *const[]){ __VA_ARGS__, NULL })
#define NONE(t)	     want_of(t, (t)->s, (const char *const[]){ NULL })

static void a_sysctl_is_set_read_back_and_put_back(void **state)
{
	struct tree *t = *state;
	struct setting want = { "net.ipv4.tcp_sack", "0" }, got;

	text(t, SYS "/net/ipv4/tcp_sack", "1\n");
	text(t, SYS "/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	assert_int_equal(WANT(t, "net.ipv4.tcp_sack=0"), 0);
	assert_string_equal(now(t, SYS "/net/ipv4/tcp_sack"), "0");
	assert_true(journal_there(t));
	assert_int_equal(settings_check(t->s, &want, 1, &t->err), 0);
	/* Another value of the same: the old one is still the first. */
	assert_int_equal(WANT(t, "net.ipv4.tcp_sack=2", "net.ipv4.tcp_rmem=4096 1 2"), 0);
	assert_int_equal(settings_check(t->s, &want, 1, &t->err), -ESTALE);
	assert_string_equal(t->err.text, "setting net.ipv4.tcp_sack=0 did not stay: it reads '2'");
	assert_int_equal(settings_want(t->s, &want, 1, &t->a, &got, &t->skip, &t->err), 0);
	assert_string_equal(got.value, "0");
	assert_string_equal(now(t, SYS "/net/ipv4/tcp_rmem"), "4096 131072 6291456");
	assert_int_equal(NONE(t), 0);
	assert_string_equal(now(t, SYS "/net/ipv4/tcp_sack"), "1");
	assert_false(journal_there(t));
	assert_int_equal(settings_restore(t->s), 0);
	assert_int_equal(t->said.len, 0);
}

static void what_is_so_already_is_not_touched(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "0x10\n");
	assert_int_equal(WANT(t, "vm.x=16"), 0);
	assert_string_equal(now(t, SYS "/vm/x"), "0x10");
	assert_false(journal_there(t));
}

static void what_is_not_here_is_a_skip(void **state)
{
	static const char *const one_way[] = {
		"net/ipv4/ip_forward",
		"net/ipv4/conf/all/rp_filter",
		"net/ipv4/conf/default/rp_filter",
		"net/ipv6/conf/all/forwarding",
		"net/ipv6/conf/default/mtu",
		"net/ipv6/conf/eth0.1/disable_ipv6",
		"kernel/kexec_load_limit_panic",
	};
	size_t i;
	struct tree *t = *state;

	text(t, SYS "/vm/lines", "1\n2\n");
	text(t, SYS "/kernel/modules_disabled", "0\n");
	assert_int_equal(WANT(t, "vm.nothing=1"), -ENOENT);
	assert_true(t->skip);
	assert_string_equal(t->err.text, "setting vm.nothing=1: /proc/sys/vm/nothing: "
					 "No such file or directory");
	assert_true(WANT(t, "vm.lines=1") < 0 && t->skip);
	assert_true(WANT(t, "foo=1") < 0 && t->skip);
	assert_true(WANT(t, "kernel.modules_disabled=1") < 0 && t->skip);
	assert_non_null(strstr(t->err.text, "cannot be undone"));
	assert_string_equal(now(t, SYS "/kernel/modules_disabled"), "0");
	for (i = 0; i < ARRAY_SIZE(one_way); i++) {
		CLEANUP_FREE char *path = mem_printf(SYS "/%s", one_way[i]);
		CLEANUP_FREE char *word = NULL;
		const char *name;

		assert_int_equal(setting_name(one_way[i], &t->a, &name, &t->err), 0);
		word = mem_printf("%s=1", name);
		text(t, path, "0\n");
		if (WANT(t, word) >= 0 || !t->skip || !strstr(t->err.text, "cannot be undone"))
			fail_msg("%s: %s", word, t->err.text);
		assert_string_equal(now(t, path), "0");
	}
	text(t, SYS "/net/ipv4/conf/eth0/rp_filter", "0\n");
	assert_int_equal(WANT(t, "net.ipv4.conf.eth0.rp_filter=1"), 0);
	assert_int_equal(NONE(t), 0);
	assert_true(WANT(t, "thp=never") < 0 && t->skip);
	assert_true(WANT(t, "governor=performance") < 0 && t->skip);
	assert_true(WANT(t, "cpus=1") < 0 && t->skip);
	assert_true(WANT(t, "offload:nosuchdevice:tso=on") < 0 && t->skip);
	assert_true(WANT(t, "offload:lo:nosuch=on") < 0 && t->skip);
	assert_non_null(strstr(t->err.text, "unknown offload 'nosuch' (known: rx, tx, sg, tso"));
	assert_false(journal_there(t));
}

/* Two names of one file: the second takes away what the first was given. */
static void what_did_not_take_is_a_failure(void **state)
{
	struct tree *t = *state;
	CLEANUP_FREE char *alias = mem_printf("%s" SYS "/vm/b", t->root);

	text(t, SYS "/vm/a", "5\n");
	assert_int_equal(symlink("a", alias), 0);
	assert_int_equal(WANT(t, "vm.a=1", "vm.b=2"), -ESTALE);
	assert_false(t->skip);
	assert_string_equal(t->err.text, "setting vm.a=1 did not take: it reads '2'");
	assert_int_equal(NONE(t), 0);
	assert_string_equal(now(t, SYS "/vm/a"), "5");
}

static void of_a_pair_the_one_that_counts_comes_back(void **state)
{
	struct tree *t = *state;
	CLEANUP_FREE char *journal = mem_printf("%s/settings.json", t->dir), *line = NULL;
	size_t len;

	text(t, SYS "/vm/dirty_bytes", "0\n");
	text(t, SYS "/vm/dirty_ratio", "20\n");
	assert_int_equal(WANT(t, "vm.dirty_bytes=1000000"), 0);
	assert_int_equal(file_read(journal, 65536, &line, &len, NULL), 0);
	assert_non_null(strstr(line, "vm.dirty_ratio"));
	/* The kernel's part: one makes the other 0, and back. */
	text(t, SYS "/vm/dirty_ratio", "0\n");
	assert_int_equal(settings_restore(t->s), 1);
	assert_string_equal(now(t, SYS "/vm/dirty_ratio"), "20");
	assert_true(journal_there(t));
	text(t, SYS "/vm/dirty_bytes", "0\n");
	assert_int_equal(settings_restore(t->s), 0);
	assert_false(journal_there(t));
}

static void governors_may_differ(void **state)
{
	struct tree *t = *state;

	text(t, CPU "/cpufreq/policy0/scaling_governor", "powersave\n");
	text(t, CPU "/cpufreq/policy10/scaling_governor", "schedutil\n");
	text(t, CPU "/cpufreq/boost", "1\n");
	assert_int_equal(WANT(t, "governor=performance"), 0);
	assert_string_equal(now(t, CPU "/cpufreq/policy0/scaling_governor"), "performance");
	assert_string_equal(now(t, CPU "/cpufreq/policy10/scaling_governor"), "performance");
	assert_int_equal(settings_restore(t->s), 0);
	assert_string_equal(now(t, CPU "/cpufreq/policy0/scaling_governor"), "powersave");
	assert_string_equal(now(t, CPU "/cpufreq/policy10/scaling_governor"), "schedutil");
}

static void the_chosen_one_of_thp_is_read(void **state)
{
	struct tree *t = *state;

	text(t, THP, "always [madvise] never\n");
	assert_int_equal(WANT(t, "thp=madvise"), 0);
	assert_string_equal(now(t, THP), "always [madvise] never");
	assert_int_equal(WANT(t, "thp=never"), 0);
	assert_int_equal(settings_restore(t->s), 0);
	assert_string_equal(now(t, THP), "madvise");
}

static void cpus_go_and_come_back(void **state)
{
	struct tree *t = *state;

	text(t, CPU "/present", "0-3,5\n");
	text(t, CPU "/cpu1/online", "1\n");
	text(t, CPU "/cpu2/online", "0\n");
	text(t, CPU "/cpu3/online", "1\n");
	text(t, CPU "/cpu5/online", "1\n");
	assert_int_equal(WANT(t, "cpus=3"), 0);
	assert_string_equal(now(t, CPU "/cpu2/online"), "1");
	assert_string_equal(now(t, CPU "/cpu3/online"), "0");
	assert_string_equal(now(t, CPU "/cpu5/online"), "0");
	assert_int_equal(WANT(t, "cpus=list:2,0-1"), 0);
	assert_int_equal(WANT(t, "cpus=list:0-1,5"), 0);
	assert_string_equal(now(t, CPU "/cpu2/online"), "0");
	assert_int_equal(WANT(t, "cpus=1"), 0);
	assert_string_equal(now(t, CPU "/cpu1/online"), "0");
	assert_true(WANT(t, "cpus=5") < 0 && t->skip);
	assert_non_null(strstr(t->err.text, "wants CPU 4, which is not here"));
	assert_true(WANT(t, "cpus=0") < 0 && !t->skip);
	assert_true(WANT(t, "cpus=list:1") < 0 && t->skip);
	assert_non_null(strstr(t->err.text, "CPU 0 cannot be switched off"));
	assert_int_equal(settings_restore(t->s), 0);
	assert_string_equal(now(t, CPU "/cpu1/online"), "1");
	assert_string_equal(now(t, CPU "/cpu2/online"), "0");
	assert_string_equal(now(t, CPU "/cpu3/online"), "1");
	assert_string_equal(now(t, CPU "/cpu5/online"), "1");
}

/* ---- crashes ---- */

/* A process that changes vm.x and ends without a word. */
static long crash(struct tree *t)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int r = WANT(t, "vm.x=7", "net.y=8");

		kill(getpid(), SIGKILL);
		_exit(r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_string_equal(now(t, SYS "/vm/x"), "7");
	assert_string_equal(now(t, SYS "/net/y"), "8");
	return pid;
}

static void the_next_one_cleans_up_and_says_so(void **state)
{
	struct tree *t = *state;
	CLEANUP_FREE char *want = NULL;
	long pid;

	text(t, SYS "/vm/x", "1\n");
	text(t, SYS "/net/y", "2\n");
	/* Nothing to do: nothing is made. */
	settings_recover(t->s);
	assert_int_equal(access(t->dir, F_OK), -1);
	pid = crash(t);
	settings_recover(t->s);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	assert_string_equal(now(t, SYS "/net/y"), "2");
	want = mem_printf(
		"an agent that was killed (process %ld) had left net.y at '8': put back to "
		"'2'\nan agent that was killed (process %ld) had left vm.x at '7': put "
		"back to '1'\n",
		pid, pid);
	assert_string_equal(str_get(&t->said), want);
	assert_false(journal_there(t));
	str_reset(&t->said);
	settings_recover(t->s);
	assert_int_equal(t->said.len, 0);
}

/* Also without settings_recover(): what is found must be the machine's own, not a leftover. */
static void the_first_change_cleans_up_before(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "1\n");
	text(t, SYS "/net/y", "2\n");
	crash(t);
	assert_int_equal(WANT(t, "vm.x=3"), 0);
	assert_string_equal(now(t, SYS "/net/y"), "2");
	assert_int_equal(settings_restore(t->s), 0);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
}

static void what_cannot_be_put_back_stays_in_the_journal(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "1\n");
	text(t, SYS "/net/y", "2\n");
	crash(t);
	gone(t, SYS "/net/y");
	settings_recover(t->s);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	assert_non_null(strstr(str_get(&t->said), "had changed net.y, which cannot be put back to "
						  "'2': /proc/sys/net/y: No such file"));
	assert_true(journal_there(t));
	/* It comes again, with the leftover, while another setting is changed. */
	assert_int_equal(WANT(t, "vm.x=3"), 0);
	text(t, SYS "/net/y", "8\n");
	assert_int_equal(WANT(t, "vm.x=3", "net.y=9"), 0);
	assert_int_equal(settings_restore(t->s), 0);
	assert_string_equal(now(t, SYS "/net/y"), "2");
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	assert_false(journal_there(t));
}

static void one_agent_at_a_time(void **state)
{
	struct tree *t = *state;
	struct settings *other = another(t, true);
	const char *const words[] = { "vm.x=2", NULL }, *const none[] = { NULL };
	struct str busy = STR_INIT;

	text(t, SYS "/vm/x", "1\n");
	text(t, SYS "/net/y", "2\n");
	assert_int_equal(WANT(t, "vm.x=2"), 0);
	/* Not even where all is as it wants it. */
	assert_true(want_of(t, other, words) < 0 && t->skip);
	assert_non_null(strstr(t->err.text, "another kdelta-agent changes settings (process "));
	/* Nor for one that sets nothing: it would measure what it does not know of. */
	str_printf(&busy, "another agent (pid %ld) has settings changed: vm.x; wait for it",
		   (long)getpid());
	assert_int_equal(want_of(t, other, none), -EBUSY);
	assert_true(t->skip);
	assert_string_equal(t->err.text, str_get(&busy));
	error_clear(&t->err);
	assert_int_equal(settings_check(other, NULL, 0, &t->err), -EBUSY);
	assert_string_equal(t->err.text, str_get(&busy));
	str_done(&busy);
	/* A live one's changes are no leftovers. */
	settings_recover(other);
	assert_string_equal(now(t, SYS "/vm/x"), "2");
	assert_int_equal(t->said.len, 0);
	/* The lock alone is no change. */
	assert_int_equal(NONE(t), 0);
	assert_int_equal(want_of(t, other, none), 0);
	assert_int_equal(settings_check(other, NULL, 0, &t->err), 0);
	assert_int_equal(settings_restore(t->s), 0);
	assert_int_equal(want_of(t, other, words), 0);
	assert_int_equal(settings_restore(other), 0);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	settings_free(other);
}

/* A live one that is killed while another, which sets nothing, goes on. */
static void the_end_of_the_other_is_seen(void **state)
{
	struct tree *t = *state;
	struct settings *other = another(t, true);
	const char *const none[] = { NULL };
	int ready[2], status;
	char byte;
	pid_t pid;

	text(t, SYS "/vm/x", "1\n");
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (WANT(t, "vm.x=7") == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(want_of(t, other, none), -EBUSY);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(want_of(t, other, none), 0);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	assert_non_null(strstr(str_get(&t->said), "had left vm.x at '7': put back to '1'"));
	/* One that comes and goes while something is measured. */
	text(t, SYS "/net/y", "2\n");
	crash(t);
	assert_int_equal(settings_check(other, NULL, 0, &t->err), -EBUSY);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	error_clear(&t->err);
	assert_int_equal(settings_check(other, NULL, 0, &t->err), 0);
	/* What cannot be put back is said, and no reason to stop each time. */
	crash(t);
	gone(t, SYS "/net/y");
	assert_int_equal(want_of(t, other, none), 0);
	str_reset(&t->said);
	assert_int_equal(want_of(t, other, none), 0);
	assert_int_equal(settings_check(other, NULL, 0, &t->err), 0);
	assert_int_equal(t->said.len, 0);
	settings_free(other);
}

static void what_cannot_be_put_back_is_said_once(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "1\n");
	assert_int_equal(WANT(t, "vm.x=2"), 0);
	gone(t, SYS "/vm/x");
	assert_true(NONE(t) < 0 && !t->skip);
	assert_true(NONE(t) < 0 && !t->skip);
	assert_non_null(strstr(t->err.text, "not measured on a changed machine: vm.x cannot be "
					    "put back to '1': /proc/sys/vm/x: No such file"));
	assert_int_equal(settings_restore(t->s), 1);
	assert_string_equal(str_get(&t->said), "vm.x cannot be put back to '1': /proc/sys/vm/x: "
					       "No such file or directory\n");
}

static void a_guest_needs_no_journal(void **state)
{
	struct tree *t = *state;
	struct settings *guest = another(t, false);
	const char *const words[] = { "vm.x=2", NULL };

	text(t, SYS "/vm/x", "1\n");
	assert_int_equal(want_of(t, guest, words), 0);
	assert_int_equal(access(t->dir, F_OK), -1);
	assert_int_equal(settings_restore(guest), 0);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
	settings_free(guest);
}

static void without_a_journal_nothing_is_changed(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "1\n");
	text(t, "/state", "a file where the folder should be\n");
	assert_true(WANT(t, "vm.x=2") < 0 && t->skip);
	assert_string_equal(now(t, SYS "/vm/x"), "1");
}

static void a_journal_that_is_not_ours_is_left_alone(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{\"journal\":2,\"entries\":[]}",
		"{\"journal\":1,\"entries\":[{\"name\":\"vm.x\",\"old\":\"1\"}]}",
		"{\"journal\":1,\"entries\":[{\"name\":\"../x\",\"old\":\"1\",\"undo\":[\"vm.x\","
		"\"1\"]}]}",
		"{\"journal\":1,\"entries\":[{\"name\":\"vm.x\",\"old\":\"1\\n2\",\"undo\":[\"vm."
		"x\",\"1\"]}]}",
	};
	struct tree *t = *state;
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", t->dir);
	size_t i;

	text(t, SYS "/vm/x", "7\n");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		text(t, "/state/settings.json", bad[i]);
		str_reset(&t->said);
		settings_recover(t->s);
		assert_non_null(strstr(str_get(&t->said), "settings.json: damaged: "));
		assert_true(WANT(t, "vm.x=2") < 0 && t->skip);
		assert_string_equal(now(t, SYS "/vm/x"), "7");
		assert_true(journal_there(t));
	}
	/* Anyone could have written this. */
	text(t, "/state/settings.json",
	     "{\"journal\":1,\"entries\":[{\"name\":\"vm.x\",\"old\":\"1\",\"undo\":[\"vm.x\",\"1\"]"
	     "}]}");
	assert_int_equal(chmod(path, 0666), 0);
	str_reset(&t->said);
	settings_recover(t->s);
	assert_non_null(strstr(str_get(&t->said), "another user's"));
	assert_string_equal(now(t, SYS "/vm/x"), "7");
}

static void a_reboot_has_undone_it(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/vm/x", "7\n");
	text(t, "/state/settings.json",
	     "{\"journal\":1,\"boot_id\":\"11111111-1111-4111-8111-111111111111\",\"entries\":[{"
	     "\"name\":\"vm.x\",\"old\":\"1\",\"undo\":[\"vm.x\",\"1\"]}]}");
	settings_recover(t->s);
	assert_string_equal(now(t, SYS "/vm/x"), "7");
	assert_int_equal(t->said.len, 0);
	assert_false(journal_there(t));
}

/* A namespace that no process has: nothing of it may be written into ours. */
static void another_namespace_is_not_ours(void **state)
{
	struct tree *t = *state;

	text(t, SYS "/net/y", "8\n");
	text(t, "/state/settings.json",
	     "{\"journal\":1,\"entries\":[{\"name\":\"net.y\",\"old\":\"1\",\"undo\":[\"net.y\","
	     "\"1\"],\"ns\":\"net\",\"ns_inode\":7}]}");
	settings_recover(t->s);
	assert_string_equal(now(t, SYS "/net/y"), "8");
	assert_non_null(strstr(str_get(&t->said), "its net namespace is "));
}

static void the_folder_is_the_users(void **state)
{
	CLEANUP_FREE char *state_home = NULL, *other = NULL, *tests = NULL;

	(void)state;
	setenv("KDELTA_STATE", "/x/tests", 1);
	setenv("XDG_STATE_HOME", "/x/state", 1);
	tests = journal_dir();
	assert_string_equal(tests, "/x/tests");
	unsetenv("KDELTA_STATE");
	state_home = journal_dir();
	assert_string_equal(state_home, geteuid() == 0 && access("/run", W_OK) == 0
						? "/run/kdelta"
						: "/x/state/kdelta");
	/* The rule of XDG: a relative path is none. */
	setenv("XDG_STATE_HOME", "state", 1);
	setenv("HOME", "/x/home", 1);
	other = journal_dir();
	if (geteuid() == 0 && access("/run", W_OK) == 0)
		assert_string_equal(other, "/run/kdelta");
	else
		assert_string_equal(other, "/x/home/.local/state/kdelta");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_sysctl_is_set_read_back_and_put_back),
		TEST(what_is_so_already_is_not_touched),
		TEST(what_is_not_here_is_a_skip),
		TEST(what_did_not_take_is_a_failure),
		TEST(of_a_pair_the_one_that_counts_comes_back),
		TEST(governors_may_differ),
		TEST(the_chosen_one_of_thp_is_read),
		TEST(cpus_go_and_come_back),
		TEST(the_next_one_cleans_up_and_says_so),
		TEST(the_first_change_cleans_up_before),
		TEST(what_cannot_be_put_back_stays_in_the_journal),
		TEST(one_agent_at_a_time),
		TEST(the_end_of_the_other_is_seen),
		TEST(what_cannot_be_put_back_is_said_once),
		TEST(a_guest_needs_no_journal),
		TEST(without_a_journal_nothing_is_changed),
		TEST(a_journal_that_is_not_ours_is_left_alone),
		TEST(a_reboot_has_undone_it),
		TEST(another_namespace_is_not_ours),
		cmocka_unit_test(the_folder_is_the_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
