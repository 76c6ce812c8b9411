/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/git_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/common.h"
#include "kbuild/kbuild.h"

#define TELL_NS (30 * NSEC_PER_SEC) /* between lines where there is no terminal */

struct shown {
	const char *rev;
	const char *step; /* that was told last */
	uint64_t start, told;
	bool quiet, terminal;
};

static void on_progress(void *arg, const char *step, unsigned files)
{
	struct shown *s = arg;
	uint64_t now = clock_mono_ns();
	char done[40] = "";

	if (s->quiet)
		return;
	if (files)
		snprintf(done, sizeof(done), ", %u files compiled", files);
	if (s->terminal) {
		fprintf(stderr, "\r\033[Kgit:%s: %s%s, %llu s", s->rev, step, done,
			(unsigned long long)((now - s->start) / NSEC_PER_SEC));
	} else if (!s->step || strcmp(s->step, step) != 0 || now - s->told >= TELL_NS) {
		fprintf(stderr, "git:%s: %s%s\n", s->rev, step, done);
		s->told = now;
	}
	s->step = step;
}

int git_kernel_open(const struct kernel_spec *spec, const char *tree, bool quiet,
		    struct image *ret_image, char **ret_commit, struct error *e)
{
	struct kbuild_request request = { .rev = spec->what, .config = spec->config, .tree = tree };
	struct shown s = { .rev = spec->what,
			   .start = clock_mono_ns(),
			   .quiet = quiet,
			   .terminal = isatty(STDERR_FILENO) == 1 };
	struct kbuild_progress p = { .report = on_progress, .arg = &s };
	struct kbuild_result k;
	struct error err = ERROR_INIT;
	int r = kbuild_make(&request, &p, cmd_stop(), &k, &err);

	*ret_commit = NULL;
	if (s.step && s.terminal)
		fputs("\r\033[K", stderr);
	if (r == -ENOEXEC)
		fprintf(stderr, "%skdelta: %s\n", k.log_tail, err.text);
	else if (r < 0)
		error_set(e, -r, "%s", err.text);
	else if (!k.cached && !quiet)
		fprintf(stderr, "built git:%s: %s, %u files in %llu s\n", spec->what, k.release,
			k.files, (unsigned long long)((clock_mono_ns() - s.start) / NSEC_PER_SEC));
	if (!r)
		r = image_open_tree(k.dir, spec->text, ret_image, e);
	if (!r)
		*ret_commit = mem_strndup(k.commit, 12);
	kbuild_result_done(&k);
	return r;
}

void git_kernel_pin(struct kernel_spec *spec, const char *label, const char *commit)
{
	CLEANUP_FREE char *kernel = NULL;
	struct str text = STR_INIT;

	free(spec->what);
	spec->what = mem_strdup(commit);
	kernel = kernel_spec_kernel(spec);
	str_add_c(&text, '"');
	for (const char *s = label; *s; s++)
		str_printf(&text, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
	str_printf(&text, "\"=%s%s%s", kernel, spec->append ? ",append=" : "",
		   spec->append ? spec->append : "");
	free(spec->text);
	spec->text = str_take(&text);
}
