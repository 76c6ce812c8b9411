/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>

#include "render/render.h"

/* Length and value of the well-formed sequence at s (RFC 3629); 0 if there is none. */
static size_t decode(const unsigned char *s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t v = s[0];
	size_t n, i;

	if (v < 0x80)
		n = 1;
	else if (v >= 0xc2 && v < 0xe0)
		n = 2, v &= 0x1f;
	else if (v >= 0xe0 && v < 0xf0)
		n = 3, v &= 0x0f;
	else if (v >= 0xf0 && v < 0xf5)
		n = 4, v &= 0x07;
	else
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	*ret = v;
	return n;
}

/* Line and paragraph separators, and what turns the direction of the text around. */
static bool is_trick(uint32_t v)
{
	return (v >= 0x2028 && v <= 0x202e) || (v >= 0x2066 && v <= 0x2069) || v == 0x200e ||
	       v == 0x200f || v == 0xfeff;
}

void render_safe(struct str *out, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t v;
	size_t n;

	for (; *p; p += n) {
		n = decode(p, &v);
		if (!n || v < 0x20 || (v >= 0x7f && v < 0xa0)) {
			if (!n)
				n = 1, v = *p;
			str_printf(out, "\\x%02x", (unsigned)v);
		} else if (is_trick(v)) {
			str_printf(out, "\\u{%x}", (unsigned)v);
		} else {
			str_add_n(out, (const char *)p, n);
		}
	}
}
