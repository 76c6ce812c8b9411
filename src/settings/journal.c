/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/setting.h"

#define JOURNAL_VERSION 1u
#define JOURNAL_MAX	(1u << 20)
#define LOCK_WAIT_NS	(500 * NSEC_PER_MSEC) /* children of one that was killed end a bit later */

char *journal_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const char *tests = getenv("KDELTA_STATE");

	if (tests && *tests == '/')
		return mem_strdup(tests);
	/* Not everyone who is root in a user namespace may write there. */
	if (geteuid() == 0 && access("/run", W_OK) == 0)
		return mem_strdup(JOURNAL_SYSTEM_DIR);
	if (state && *state == '/')
		return mem_printf("%s/kdelta", state);
	return home && *home == '/' ? mem_printf("%s/.local/state/kdelta", home) : NULL;
}

struct journal_entry *journal_add(struct journal *j)
{
	j->items = mem_grow(j->items, j->n, &j->cap, sizeof(*j->items));
	memset(&j->items[j->n], 0, sizeof(*j->items));
	return &j->items[j->n++];
}

static void entry_done(struct journal_entry *it)
{
	free(it->name);
	free(it->old);
	free(it->undo_name);
	free(it->undo_value);
	free(it->ns);
}

void journal_drop(struct journal *j, size_t i)
{
	entry_done(&j->items[i]);
	j->n--;
	memmove(&j->items[i], &j->items[i + 1], (j->n - i) * sizeof(*j->items));
}

void journal_done(struct journal *j)
{
	size_t i;

	if (!j)
		return;
	for (i = 0; i < j->n; i++)
		entry_done(&j->items[i]);
	free(j->items);
	memset(j, 0, sizeof(*j));
}

int journal_lock(const char *dir, int *ret_fd, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/settings.lock", dir);
	uint64_t until = clock_mono_ns() + LOCK_WAIT_NS;
	CLEANUP_FREE char *holder = NULL;
	CLEANUP_CLOSE int fd = -1;
	char pid[24];
	int r;

	r = file_mkdirs(dir, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return error_errno(e, errno, "%s", path);
	while ((r = flock(fd, LOCK_EX | LOCK_NB)) < 0 &&
	       (errno == EINTR || (errno == EWOULDBLOCK && clock_mono_ns() < until)))
		clock_sleep_ns(10 * NSEC_PER_MSEC);
	if (r < 0 && errno == EWOULDBLOCK) {
		holder = file_line(path);
		return error_set(e, EBUSY, "another kdelta-agent changes settings (process %s)",
				 holder && *holder ? holder : "unknown");
	}
	if (r < 0)
		return error_errno(e, errno, "%s", path);
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	/* For people only; the lock counts. */
	if (ftruncate(fd, 0) == 0)
		(void)!write(fd, pid, strlen(pid));
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static char *boot_id_now(void)
{
	return file_line("/proc/sys/kernel/random/boot_id");
}

static int decode_entry(const json_t *j, struct journal_entry *ret, struct error *e)
{
	const json_t *undo = json_object_get(j, "undo");
	const char *undo_name = json_string_value(json_array_get(undo, 0));
	const char *undo_value = json_string_value(json_array_get(undo, 1));
	struct arena arena = ARENA_INIT;
	const char *name, *old, *normal;
	int r = json_get_str(j, "name", &name, e);

	if (!r)
		r = json_get_str(j, "old", &old, e);
	if (!r && (!undo_name || !undo_value))
		r = error_set(e, EINVAL, "\"undo\" is missing");
	if (!r)
		r = setting_name(name, &arena, &normal, e);
	if (!r)
		r = setting_name(undo_name, &arena, &normal, e);
	if (!r)
		r = setting_value(old, &arena, &normal, e);
	if (!r)
		r = setting_value(undo_value, &arena, &normal, e);
	arena_done(&arena);
	if (r < 0)
		return r;
	ret->name = mem_strdup(name);
	ret->old = mem_strdup(old);
	ret->undo_name = mem_strdup(undo_name);
	ret->undo_value = mem_strdup(undo_value);
	ret->ns = mem_strdup(json_opt_str(j, "ns", NULL));
	ret->ns_inode = json_opt_u64(j, "ns_inode", 0);
	ret->ns_cookie = json_opt_u64(j, "ns_cookie", 0);
	ret->left = true;
	return 0;
}

int journal_decode(const char *text, size_t len, const char *boot_id, struct journal *ret,
		   struct error *e)
{
	CLEANUP_JSON json_t *j = NULL;
	const char *boot;
	const json_t *list;
	uint64_t version;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (json_parse(text, len, "it", &j, e) < 0 || json_get_u64(j, "journal", &version, e) < 0)
		return -EBADMSG;
	if (version != JOURNAL_VERSION) {
		error_set(e, EBADMSG, "version %llu of another kdelta",
			  (unsigned long long)version);
		return -EBADMSG;
	}
	/* Where one of both is unknown nothing speaks for a reboot. */
	boot = json_opt_str(j, "boot_id", NULL);
	if (boot && boot_id && strcmp(boot, boot_id) != 0)
		return -ENOENT;
	ret->pid = (long)json_opt_u64(j, "pid", 0);
	list = json_object_get(j, "entries");
	for (i = 0; i < json_array_size(list); i++) {
		if (decode_entry(json_array_get(list, i), journal_add(ret), e) < 0) {
			journal_done(ret);
			return -EBADMSG;
		}
	}
	return ret->n ? 0 : -ENOENT;
}

int journal_read(const char *dir, struct journal *ret, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", dir);
	CLEANUP_FREE char *text = NULL, *boot_id = boot_id_now();
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct error own = ERROR_INIT;
	struct stat st;
	size_t len;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(e, errno, "%s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(e, EPERM, "%s: another user's", path);
	r = file_read_fd(fd, path, JOURNAL_MAX, &text, &len, e);
	if (!r)
		r = journal_decode(text, len, boot_id, ret, &own);
	if (r == -ENOENT)
		unlink(path);
	else if (r < 0)
		error_set(e, own.code, "%s: damaged: %s", path, own.text);
	return r;
}

bool journal_live(const char *dir, struct journal *ret)
{
	CLEANUP_FREE char *lock = mem_printf("%s/settings.lock", dir);
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", dir);
	CLEANUP_FREE char *text = NULL, *boot_id = boot_id_now();
	CLEANUP_CLOSE int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t len;

	memset(ret, 0, sizeof(*ret));
	/* Shared, so that those who only look never see each other. */
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return false;
	if (file_read(path, JOURNAL_MAX, &text, &len, NULL) == 0)
		(void)journal_decode(text, len, boot_id, ret, NULL);
	return true;
}

int journal_write(const char *dir, const struct journal *j, struct error *e)
{
	CLEANUP_FREE char *path = mem_printf("%s/settings.json", dir);
	CLEANUP_FREE char *boot_id = boot_id_now(), *text = NULL;
	CLEANUP_JSON json_t *o = json_object();
	json_t *list = json_array();
	size_t i;

	json_object_set_new(o, "journal", json_u64(JOURNAL_VERSION));
	json_object_set_new(o, "boot_id", json_str(boot_id));
	json_object_set_new(o, "pid", json_u64((uint64_t)getpid()));
	json_object_set_new(o, "entries", list);
	for (i = 0; i < j->n; i++) {
		const struct journal_entry *it = &j->items[i];
		json_t *one = json_object(), *undo = json_array();

		json_object_set_new(one, "name", json_str(it->name));
		json_object_set_new(one, "old", json_str(it->old));
		json_array_append_new(undo, json_str(it->undo_name));
		json_array_append_new(undo, json_str(it->undo_value));
		json_object_set_new(one, "undo", undo);
		if (it->ns) {
			json_object_set_new(one, "ns", json_str(it->ns));
			json_object_set_new(one, "ns_inode", json_u64(it->ns_inode));
			json_object_set_new(one, "ns_cookie", json_u64(it->ns_cookie));
		}
		json_array_append_new(list, one);
	}
	if (!j->n)
		return unlink(path) < 0 && errno != ENOENT ? error_errno(e, errno, "%s", path) : 0;
	text = json_pretty(o);
	return file_replace(path, text, strlen(text), e);
}
