/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text without ownership: comparing and cutting. Never allocates. */
#include "base/str.h"

#include <string.h>

struct str str_of(const char *z)
{
	return (struct str){ z, (u32)strlen(z) };
}

bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(struct str a, const char *z)
{
	return (a.n == 0 || a.p[0] == z[0]) && str_eq(a, str_of(z));
}

const char *str_nth(const char *names, u64 i)
{
	for (; *names; names += strlen(names) + 1)
		if (!i--)
			return names;
	return NULL;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool str_is_any_case(struct str a, const char *z)
{
	u32 i = 0;

	while (i < a.n && z[i] && lower(a.p[i]) == lower(z[i]))
		i++;
	return i == a.n && !z[i];
}

bool str_starts(struct str s, const char *prefix)
{
	size_t n;

	/* Most texts that are asked differ at once. */
	if (s.n && s.p[0] != prefix[0] && prefix[0])
		return false;
	n = strlen(prefix);
	return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

/* Blanks come before all other characters. */
static bool is_one_of(char c, const char *blanks)
{
	if (c <= 0 || c > ' ')
		return false;
	while (*blanks && *blanks != c)
		blanks++;
	return *blanks;
}

struct str str_trim(struct str s, const char *blanks)
{
	while (s.n && is_one_of(s.p[0], blanks)) {
		s.p++;
		s.n--;
	}
	while (s.n && is_one_of(s.p[s.n - 1], blanks))
		s.n--;
	return s;
}

struct str str_cut(struct str s, char c, struct str *rest)
{
	const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
	struct str head = s;

	if (!at) {
		*rest = (struct str){ NULL, 0 };
		return s;
	}
	head.n = (u32)(at - s.p);
	*rest = (struct str){ at + 1, s.n - head.n - 1 };
	return head;
}

/* By the table of well-formed byte sequences in the Unicode standard (chapter 3, table 3-7): no
 * overlong forms, no surrogates. */
u32 str_utf8(struct str s, u32 i)
{
	const u8 *p = (const u8 *)s.p + i;
	u8 lead = p[0], low = 0x80, high = 0xbf;
	u32 n;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (n > s.n - i)
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (u32 k = 2; k < n; k++)
		if ((p[k] & 0xc0) != 0x80)
			return 0;
	return n;
}
