/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"

#define VALUE_MAX 16384u

static const struct setting_kind kinds[] = {
	{
		.info = { .name = SETTING_SYSCTL,
			  .form = "a sysctl by its name, as in net.ipv4.tcp_sack",
			  .doc = "A file below /proc/sys." },
		.read = sysctl_read,
		.apply = sysctl_apply,
		.undo = sysctl_undo,
		.same = sysctl_same,
		.ns = sysctl_ns,
	},
	{
		.info = { .name = "offload",
			  .form = "offload:DEV:FEATURE",
			  .choices = "on|off",
			  .doc = "An offload of a network device, as ethtool -K names it: rx, tx, sg, "
				 "tso, gso, gro, lro, rxvlan, txvlan, ntuple, rxhash." },
		.read = offload_read,
		.apply = offload_apply,
		.ns = offload_ns,
	},
	{
		.info = { .name = "governor",
			  .form = "governor",
			  .doc = "The cpufreq governor of all CPUs: performance, powersave, ..." },
		.read = governor_read,
		.apply = governor_apply,
	},
	{
		.info = { .name = "thp",
			  .form = "thp",
			  .choices = "always|madvise|never",
			  .doc = "Transparent huge pages." },
		.read = thp_read,
		.apply = thp_apply,
	},
	{
		.info = { .name = "cpus",
			  .form = "cpus",
			  .doc = "N: the CPUs 0 to N-1 are online and no others; or list:0,2-3." },
		.read = cpus_read,
		.apply = cpus_apply,
		.same = cpus_same,
	},
};

const struct setting_kind *kind_of(const char *name, const char **ret_arg)
{
	struct arena arena = ARENA_INIT;
	const char *kind = setting_kind(name, &arena, ret_arg);
	const struct setting_kind *ret = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds) && !ret; i++)
		if (!strcmp(kinds[i].info.name, kind))
			ret = &kinds[i];
	arena_done(&arena);
	return ret;
}

void settings_list(struct arena *a, struct setting_info **ret, size_t *ret_n)
{
	size_t i;

	*ret_n = ARRAY_SIZE(kinds);
	*ret = arena_array(a, *ret_n, sizeof(**ret));
	for (i = 0; i < *ret_n; i++)
		(*ret)[i] = kinds[i].info;
}

bool kind_skips(int code)
{
	static const int codes[] = { ENOENT, ENOTDIR, EISDIR, ENODEV,  ENXIO,	   EPERM, EACCES,
				     EROFS,  EFBIG,   EILSEQ, ENOTSUP, EOPNOTSUPP, ENOLCK };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (code == codes[i] || code == -codes[i])
			return true;
	return false;
}

int kind_read(const struct facts_source *src, const char *path, char **ret_value, struct error *e)
{
	struct arena arena = ARENA_INIT;
	CLEANUP_FREE char *text = NULL;
	const char *value = NULL;
	int r = source_text(src, path, VALUE_MAX, &text, e);
	char *line;

	if (r < 0)
		return r;
	line = str_trim(text);
	if (strchr(line, '\n'))
		r = error_set(e, EFBIG, "%s: more than one line", path);
	else if (setting_value(line, &arena, &value, e) < 0)
		r = error_prefix(e, "%s", path);
	if (!r)
		*ret_value = mem_strdup(value);
	arena_done(&arena);
	return r;
}

int kind_write(const struct facts_source *src, const char *path, const char *value, struct error *e)
{
	CLEANUP_FREE char *full = mem_printf("%s%s", src->root, path);
	CLEANUP_FREE char *line = mem_printf("%s\n", value);
	CLEANUP_CLOSE int fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	size_t len = strlen(line);
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(e, ENOTSUP, "%s: not a regular file", path);
	/* In one piece: the kernel takes what one write brings. */
	do
		n = write(fd, line, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(e, errno, "%s", path);
	if ((size_t)n != len)
		return error_set(e, EIO, "%s: only %zd of %zu bytes were taken", path, n, len);
	return 0;
}
