/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runner/quiet.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define HEAD_BYTES  65536u
#define STAT_BYTES  8192u
#define BUSY_TICKS  1u /* of USER_HZ, in a second: the tick itself and ourselves */
#define ALL_SYMBOLS (64u << 20)

/* USER_HZ ticks in which any CPU worked; false: /proc/stat does not say. */
static bool busy_ticks(unsigned long long *ret)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;
	char text[STAT_BYTES];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
		   &iowait, &irq, &softirq) != 7)
		return false;
	*ret = user + nice + system + irq + softirq;
	return true;
}

void quiet_wait(struct str *out)
{
	unsigned long long before = 0, now = 0;
	unsigned waited = 0, good = 0;
	bool known = busy_ticks(&before);
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *line = NULL;

	while (good < QUIET_ROUNDS && waited < QUIET_MAX) {
		clock_sleep_ns(NSEC_PER_SEC);
		waited++;
		known = known && busy_ticks(&now);
		/* Without the file nothing is known, and the whole time is waited. */
		good = known && now - before <= BUSY_TICKS ? good + 1 : 0;
		before = now;
	}
	json_object_set_new(j, "k", json_string("quiet"));
	json_object_set_new(j, "quiet", json_boolean(good >= QUIET_ROUNDS));
	json_object_set_new(j, "waited_ns", json_u64(waited * NSEC_PER_SEC));
	line = json_line(j);
	str_printf(out, "%s\n", line);
}

/* Whole lines only. */
static char *read_head(void)
{
	char *text = mem_alloc(HEAD_BYTES + 1), *end;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && have < HEAD_BYTES) {
		n = read(fd, text + have, HEAD_BYTES - have);
		have += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[have] = '\0';
	end = strrchr(text, '\n');
	if (end)
		end[1] = '\0';
	return text;
}

/* Reading all of it takes seconds, so it is done only where there are modules. */
static char *read_modules(void)
{
	CLEANUP_FREE char *loaded = file_line("/proc/modules");
	CLEANUP_FREE char *all = NULL;
	struct str out = STR_INIT;
	char *line, *save = NULL;

	if (!loaded || !*loaded || file_read("/proc/kallsyms", ALL_SYMBOLS, &all, NULL, NULL) < 0)
		return mem_strdup("");
	for (line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strchr(line, '['))
			str_printf(&out, "%s\n", line);
	return str_take(&out);
}

void quiet_symbols(struct str *out)
{
	CLEANUP_FREE char *head = read_head(), *modules = read_modules();
	CLEANUP_JSON json_t *j = json_object();
	CLEANUP_FREE char *line = NULL;

	json_object_set_new(j, "k", json_string("kallsyms"));
	json_object_set_new(j, "head", json_str(head));
	json_object_set_new(j, "modules", json_str(modules));
	line = json_line(j);
	str_printf(out, "%s\n", line);
}
