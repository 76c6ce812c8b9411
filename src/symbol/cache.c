/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cache file is text that a person can read and compare with a System.map:
 *
 *	kdelta-symbols 1 BUILD-ID COUNT SHA256-OF-THE-LINES
 *	ffffffff81000000 T _stext
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "image/sha256.h"
#include "symbol/internal.h"

#define MAGIC	     "kdelta-symbols 1"
#define IMAGE_MAX    ((size_t)1 << 30)
#define CACHE_MAX    ((size_t)256 << 20)
#define BUILD_ID_MIN 8u
#define BUILD_ID_MAX 128u

static char *put_hex16(char *p, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[v >> shift & 15];
	return p;
}

char *symbols_encode(const struct symbols *s, const char *build_id, size_t *ret_len)
{
	char sha[SHA256_HEX_SIZE], *lines, *p, *all;
	size_t size = 1, n;

	for (size_t i = 0; i < s->n; i++)
		size += 16 + 3 + strlen(s->list[i].name) + 1;
	lines = p = mem_alloc(size);
	for (size_t i = 0; i < s->n; i++) {
		const struct symbol *sym = &s->list[i];

		p = put_hex16(p, sym->addr);
		*p++ = ' ';
		*p++ = sym->type;
		*p++ = ' ';
		p = stpcpy(p, sym->name);
		*p++ = '\n';
	}
	n = (size_t)(p - lines);
	sha256_hex(lines, n, sha);
	all = mem_printf("%s %s %zu %s\n", MAGIC, build_id, s->n, sha);
	*ret_len = strlen(all) + n;
	all = mem_resize(all, *ret_len + 1, 1);
	memcpy(all + *ret_len - n, lines, n);
	all[*ret_len] = '\0';
	free(lines);
	return all;
}

struct symbols *symbols_decode(const char *text, size_t len, const char *build_id)
{
	const char *lines = memchr(text, '\n', len), *p;
	CLEANUP_FREE char *head = NULL;
	char sha[SHA256_HEX_SIZE];
	struct symbol_line l;
	struct symbols *s;
	size_t n = 0;
	int r;

	if (!lines)
		return NULL;
	lines++;
	/* The first line follows from the others: made again, it must be the same. */
	for (p = lines; (p = memchr(p, '\n', len - (size_t)(p - text))); p++)
		n++;
	sha256_hex(lines, len - (size_t)(lines - text), sha);
	head = mem_printf("%s %s %zu %s\n", MAGIC, build_id, n, sha);
	if (strlen(head) != (size_t)(lines - text) || memcmp(head, text, strlen(head)))
		return NULL;
	s = symbols_new();
	for (p = lines; (r = symbol_line_next(&p, &l)) > 0 && !l.module;)
		symbols_append(s, l.addr, l.type, l.name, l.name_len, NULL);
	if (r || s->n != n || p != text + len || !n) {
		symbols_free(s);
		return NULL;
	}
	symbols_index(s);
	return s;
}

static bool id_ok(const char *id)
{
	size_t n = id ? strlen(id) : 0;

	return n >= BUILD_ID_MIN && n <= BUILD_ID_MAX && strspn(id, "0123456789abcdef") == n;
}

/* From the start, without moving the file's position: it may be shared. */
static int read_image(int fd, const char *name, char **ret_data, size_t *ret_len, struct error *e)
{
	CLEANUP_FREE char *buf = NULL;
	struct stat st;
	size_t have = 0;

	if (fstat(fd, &st) < 0)
		return error_errno(e, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "%s: not a file", name);
	if ((uint64_t)st.st_size > IMAGE_MAX)
		return error_set(e, EFBIG, "%s: longer than %zu MiB: no kernel", name,
				 IMAGE_MAX >> 20);
	buf = malloc((size_t)st.st_size + 1);
	if (!buf)
		return error_set(e, ENOMEM, "%s: out of memory", name);
	while (have < (size_t)st.st_size) {
		ssize_t n = pread(fd, buf + have, (size_t)st.st_size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(e, errno, "%s", name);
		if (!n)
			break;
		have += (size_t)n;
	}
	*ret_data = buf;
	*ret_len = have;
	buf = NULL;
	return 0;
}

static struct symbols *from_cache(const char *path, const char *build_id)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;

	if (file_read(path, CACHE_MAX, &text, &len, NULL) < 0)
		return NULL;
	return symbols_decode(text, len, build_id);
}

static void to_cache(const struct symbols *s, const char *dir, const char *path,
		     const char *build_id)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;

	if (file_mkdirs(dir, NULL) < 0)
		return;
	text = symbols_encode(s, build_id, &len);
	file_replace(path, text, len, NULL);
}

int symbols_open(int fd, const char *build_id, const char *cache_dir, const char *name,
		 struct symbols **ret, struct error *e)
{
	CLEANUP_FREE char *data = NULL, *own_id = NULL, *dir = NULL, *path = NULL;
	size_t len = 0;
	int r;

	if (cache_dir && id_ok(build_id)) {
		dir = mem_printf("%s/symbols", cache_dir);
		path = mem_printf("%s/%s", dir, build_id);
		*ret = from_cache(path, build_id);
		if (*ret)
			return 0;
	}
	r = read_image(fd, name, &data, &len, e);
	if (!r)
		r = symbols_from_image(data, len, name, ret, &own_id, e);
	if (!r && path && str_eq(own_id, build_id))
		to_cache(*ret, dir, path, build_id);
	return r;
}
