/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "symbol/internal.h"

#define SHOWN_MAX 80 /* of a line that is wrong */

bool symbol_type_ok(char type)
{
	return isalpha((unsigned char)type) || type == '?';
}

bool symbol_name_ok(const char *name, size_t len)
{
	if (!len || len > SYMBOL_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return true;
}

/* Up to 16 digits; how many. */
static size_t hex(const char *s, uint64_t *ret)
{
	size_t n = 0;

	for (*ret = 0; n < 16 && isxdigit((unsigned char)s[n]); n++) {
		unsigned c = (unsigned char)s[n];

		*ret = *ret << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return n;
}

int symbol_line_next(const char **text, struct symbol_line *ret)
{
	const char *p = *text, *end = strchrnul(p, '\n');
	size_t n;

	if (!*p)
		return 0;
	n = hex(p, &ret->addr);
	p += n;
	if (!n || p[0] != ' ' || !symbol_type_ok(p[1]) || p[2] != ' ')
		return -EINVAL;
	ret->type = p[1];
	ret->name = p += 3;
	ret->name_len = strcspn(p, "\t\n");
	p += ret->name_len;
	ret->module = NULL;
	ret->module_len = 0;
	if (*p == '\t') {
		if (p[1] != '[' || end - p < 4 || end[-1] != ']')
			return -EINVAL;
		ret->module = p + 2;
		ret->module_len = (size_t)(end - 1 - ret->module);
		if (!symbol_name_ok(ret->module, ret->module_len))
			return -EINVAL;
	}
	if (!symbol_name_ok(ret->name, ret->name_len))
		return -EINVAL;
	*text = *end ? end + 1 : end;
	return 1;
}

static int bad_line(const char *text, size_t number, const char *why, struct error *e)
{
	return error_set(e, EINVAL,
			 "the guest's /proc/kallsyms, line %zu (of those sent): %s: %.*s", number,
			 why,
			 (int)strnlen(text, (size_t)(strchrnul(text, '\n') - text) < SHOWN_MAX
						    ? (size_t)(strchrnul(text, '\n') - text)
						    : SHOWN_MAX),
			 text);
}

static int hidden(struct error *e)
{
	return error_set(e, EACCES,
			 "the guest hides its symbols' addresses (kernel.kptr_restrict)");
}

int symbols_add_modules(struct symbols *s, const char *modules_text, struct error *e)
{
	const char *p = modules_text ? modules_text : "", *at, *module = NULL;
	struct symbol_line l;
	uint64_t any = 0;
	size_t lines = 0;
	int r;

	/* All of them are looked at before the first goes in. */
	for (at = p; (r = symbol_line_next(&at, &l)) > 0; any |= l.addr, p = at) {
		lines++;
		if (!l.module)
			return bad_line(p, lines, "not of a module", e);
	}
	if (r < 0)
		return bad_line(p, lines + 1, "not as \"ADDRESS TYPE NAME\t[MODULE]\"", e);
	if (!lines)
		return 0;
	if (!any)
		return hidden(e);
	for (at = modules_text; symbol_line_next(&at, &l) > 0;) {
		if (!module || strncmp(module, l.module, l.module_len) || module[l.module_len])
			module = arena_strndup(&s->strings, l.module, l.module_len);
		symbols_append(s, l.addr, l.type, l.name, l.name_len, module);
	}
	symbols_index(s);
	return 0;
}

static int differs(const struct symbol *ours, const struct symbol_line *l, size_t line,
		   struct error *e)
{
	bool moved = ours && l->addr != ours->addr && l->type == ours->type &&
		     strlen(ours->name) == l->name_len && !memcmp(ours->name, l->name, l->name_len);

	if (!ours)
		return error_set(e, ESTALE,
				 "the guest runs another kernel than the image: it has more "
				 "symbols (%016" PRIx64 " %c %.*s)",
				 l->addr, l->type, (int)l->name_len, l->name);
	return error_set(e, ESTALE,
			 "%s: symbol %zu is %016" PRIx64 " %c %.*s there, %016" PRIx64
			 " %c %s in the image",
			 moved ? "the guest's kernel lies elsewhere (started without nokaslr?)"
			       : "the guest runs another kernel than the image",
			 line, l->addr, l->type, (int)l->name_len, l->name, ours->addr, ours->type,
			 ours->name);
}

/* The next of the kernel itself, in the order of /proc/kallsyms. */
static const struct symbol *next_own(const struct symbols *s, size_t *i)
{
	while (*i < s->n && s->list[*i].module)
		++*i;
	return *i < s->n ? &s->list[(*i)++] : NULL;
}

/* All addresses are 0 where ours are not. */
static bool is_hidden(const struct symbols *s, const char *text)
{
	uint64_t theirs = 0, ours = 0;
	const struct symbol *sym;
	struct symbol_line l;
	size_t i = 0;

	while (symbol_line_next(&text, &l) > 0 && (sym = next_own(s, &i))) {
		theirs |= l.addr;
		ours |= sym->addr;
	}
	return !theirs && ours;
}

int symbols_verify(const struct symbols *s, const char *head_text, size_t *ret_compared,
		   struct error *e)
{
	const char *p = head_text ? head_text : "", *line = p;
	struct symbol_line l;
	size_t i = 0;
	int r;

	*ret_compared = 0;
	if (!*p)
		return error_set(e, ENODATA, "the guest has no /proc/kallsyms to compare with");
	if (is_hidden(s, p))
		return hidden(e);
	/* Modules stand behind the kernel's own. */
	for (; (r = symbol_line_next(&p, &l)) > 0 && !l.module; line = p) {
		const struct symbol *sym = next_own(s, &i);

		if (!sym || sym->addr != l.addr || sym->type != l.type ||
		    strlen(sym->name) != l.name_len || memcmp(sym->name, l.name, l.name_len))
			return differs(sym, &l, *ret_compared + 1, e);
		++*ret_compared;
	}
	if (r < 0)
		return bad_line(line, *ret_compared + 1, "not as \"ADDRESS TYPE NAME\"", e);
	return 0;
}
