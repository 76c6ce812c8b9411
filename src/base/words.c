/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SPACES " \t\n\r\v\f"

static void words_take(struct words *w, char *word)
{
	w->items = mem_grow(w->items, w->n, &w->cap, sizeof(*w->items));
	w->items[w->n++] = word;
}

/* What stands in quotes, up to the closing one; returns its place, NULL if there is none. */
static const char *quoted(const char *s, char quote, struct str *word)
{
	for (; *s && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		str_add_c(word, *s);
	}
	return *s ? s : NULL;
}

/* One word; returns what follows it. */
static const char *one_word(const char *s, struct str *word, struct error *e)
{
	for (; *s && !strchr(SPACES, *s); s++) {
		if (*s == '\'' || *s == '"') {
			const char *end = quoted(s + 1, *s, word);

			if (!end) {
				error_set(e, EINVAL, "the quote at \"%.40s\" does not end", s);
				return NULL;
			}
			s = end;
			continue;
		}
		if (*s == '\\' && !*++s) {
			error_set(e, EINVAL, "a \\ at the end");
			return NULL;
		}
		str_add_c(word, *s);
	}
	return s;
}

int words_split(const char *text, struct words *ret, struct error *e)
{
	*ret = (struct words){ NULL, 0, 0 };
	for (text += strspn(text, SPACES); *text; text += strspn(text, SPACES)) {
		struct str word = STR_INIT;

		text = one_word(text, &word, e);
		if (!text) {
			str_done(&word);
			return -EINVAL;
		}
		words_take(ret, str_take(&word));
	}
	if (ret->n) {
		words_take(ret, NULL);
		ret->n--;
	}
	return 0;
}

void words_done(struct words *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->n; i++)
		free(w->items[i]);
	free(w->items);
	*w = (struct words){ NULL, 0, 0 };
}
