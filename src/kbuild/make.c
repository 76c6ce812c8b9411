/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kbuild/internal.h"
#include "kbuild/run.h"

#define MARK	  "kdelta.building" /* in the build folder: exists while make may be writing */
#define TAIL_READ (256 << 10)

struct watch {
	struct build *b;
	const char *step;
	int log, mark;
	struct str line; /* the last one, so far */
};

/* "  CC [M]  fs/fat/dir.o": the build's own word for a compiled file. */
static bool is_compiled(const char *line)
{
	return str_starts(line, "  CC ") || str_starts(line, "  AS ") ||
	       str_starts(line, "  HOSTCC ");
}

static void count_files(struct watch *w)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(w->log, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				if (w->line.len < 100)
					str_add_c(&w->line, buf[i]);
				continue;
			}
			if (is_compiled(str_get(&w->line)))
				w->b->ret->files++;
			str_reset(&w->line);
		}
	}
}

static int on_tick(void *arg)
{
	struct watch *w = arg;

	if (w->mark >= 0)
		futimens(w->mark, NULL); /* a sign of life */
	count_files(w);
	build_say(w->b, w->step, w->b->ret->files);
	return build_stopped(w->b);
}

static char *mark_path(const struct build *b)
{
	return mem_printf("%s/" MARK, b->out);
}

static void common_words(struct run_words *w, const struct build *b)
{
	run_env(w);
	run_add(w, "TMPDIR=%s/tmp", b->work);
	/* The sources are no repository, nor part of one that the cache may lie in. */
	run_add(w, "GIT_DIR=/dev/null");
	run_add(w, "make");
	run_add(w, "--no-print-directory");
	run_add(w, "-j%u", b->request->jobs);
	run_add(w, "-C");
	run_add(w, "%s", b->src);
	run_add(w, "O=%s", b->out);
	run_add(w, "LOCALVERSION=-g%.12s", b->ret->commit);
	run_add_all(w, (const char *const[]){
			       "ARCH=x86_64", "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
			       "KBUILD_BUILD_USER=kdelta", "KBUILD_BUILD_HOST=kdelta",
			       "KBUILD_BUILD_VERSION=1", NULL });
}

int make_run(struct build *b, const char *step, const char *const *args, int *ret_status,
	     struct error *e)
{
	CLEANUP_CLOSE int out = open(b->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	CLEANUP_CLOSE int in = open(b->log, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *mark = mark_path(b);
	CLEANUP_CLOSE int mark_fd = open(mark, O_WRONLY | O_CLOEXEC);
	struct watch w = { .b = b, .step = step, .log = in, .mark = mark_fd, .line = STR_INIT };
	struct proc_opts o = { .out_fd = out, .guard = true, .tick = on_tick, .arg = &w };
	struct proc_result res = { .status = -1 };
	struct run_words words = RUN_WORDS_INIT;
	int r;

	if (out < 0 || in < 0)
		return error_errno(e, errno, "%s", b->log);
	lseek(in, 0, SEEK_END);
	build_say(b, step, b->ret->files);
	common_words(&words, b);
	run_add_all(&words, args);
	r = run_words(&words, &o, &res, e);
	count_files(&w);
	if (!r && (res.status || res.signal))
		/* What a signal ended, another would not have spared: no fault of the commit. */
		r = res.signal ? error_set(e, EINTR, "make was ended by signal %d", res.signal) : 0;
	*ret_status = res.status;
	proc_result_done(&res);
	run_words_done(&words);
	str_done(&w.line);
	return r;
}

int make_begin(const struct build *b, struct error *e)
{
	CLEANUP_FREE char *mark = mark_path(b);
	CLEANUP_CLOSE int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	return fd < 0 ? error_errno(e, errno, "%s", mark) : 0;
}

void make_end(const struct build *b)
{
	CLEANUP_FREE char *mark = mark_path(b);

	unlink(mark);
}

int make_sweep(const struct build *b, struct error *e)
{
	CLEANUP_FREE char *mark = mark_path(b);
	char *const roots[] = { b->out, NULL };
	struct stat st;
	FTSENT *f;
	FTS *fts;

	if (stat(mark, &st) < 0)
		return 0;
	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		return error_errno(e, errno, "%s", b->out);
	while ((f = fts_read(fts)))
		if (f->fts_info == FTS_F && f->fts_statp->st_mtime >= st.st_mtime - KBUILD_DOUBT_S)
			unlink(f->fts_accpath);
	fts_close(fts);
	return 0;
}

char *make_log_tail(const char *log, unsigned lines)
{
	CLEANUP_CLOSE int fd = open(log, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *buf = mem_alloc(TAIL_READ + 1);
	CLEANUP_FREE char **kept = mem_array(lines, sizeof(*kept));
	struct str out = STR_INIT;
	struct stat st;
	size_t n = 0;
	ssize_t got = -1;
	char *line, *next = buf;

	if (fd >= 0 && !fstat(fd, &st))
		got = pread(fd, buf, TAIL_READ,
			    st.st_size > TAIL_READ ? st.st_size - TAIL_READ : 0);
	buf[got > 0 ? got : 0] = '\0';
	while ((line = strsep(&next, "\n")))
		if (*line && *line != '#' &&
		    !(str_starts(line, "  ") && isupper((unsigned char)line[2])))
			kept[n++ % lines] = line;
	for (size_t i = n > lines ? n - lines : 0; i < n; i++)
		str_printf(&out, "%s\n", kept[i % lines]);
	return str_take(&out);
}
