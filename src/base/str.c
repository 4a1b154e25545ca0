/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Text without ownership: comparing, cutting, matching wildcards, and finding
 * the name a user probably meant. Never allocates.
 */
#include "base/str.h"

#include <stdio.h>
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

bool glob_is(struct str pattern)
{
	for (u32 i = 0; i < pattern.n; i++)
		if (strchr("*?[", pattern.p[i]))
			return true;
	return false;
}

/* Matches one "[...]" at p[*i]; moves *i to its ']'. False when unterminated or no match. */
static bool set_match(struct str p, u32 *i, char c)
{
	bool negate = false, hit = false;
	u32 k = *i + 1;

	if (k < p.n && (p.p[k] == '!' || p.p[k] == '^')) {
		negate = true;
		k++;
	}
	for (u32 first = k; k < p.n && (p.p[k] != ']' || k == first); k++) {
		if (k + 2 < p.n && p.p[k + 1] == '-' && p.p[k + 2] != ']') {
			hit |= c >= p.p[k] && c <= p.p[k + 2];
			k += 2;
		} else {
			hit |= c == p.p[k];
		}
	}
	*i = k;
	return k < p.n && hit != negate;
}

bool glob_match(struct str p, struct str t)
{
	u32 i = 0, j = 0, star = UINT32_MAX, mark = 0;

	while (j < t.n) {
		u32 k = i;

		if (i < p.n && p.p[i] == '*') {
			star = i++;
			mark = j;
		} else if (i < p.n && (p.p[i] == '?' || p.p[i] == t.p[j] ||
		                       (p.p[i] == '[' && set_match(p, &k, t.p[j])))) {
			i = k + 1;
			j++;
		} else if (star != UINT32_MAX) {
			i = star + 1;
			j = ++mark;
		} else {
			return false;
		}
	}
	while (i < p.n && p.p[i] == '*')
		i++;
	return i == p.n;
}

void near_init(struct near *n, const char *want)
{
	n->want = want;
	n->best[0] = 0;
	n->distance = UINT32_MAX;
}

/*
 * Edit distance of strings up to 127 bytes. Letters left out are the cheapest mistake ("cnt" is
 * nearer to "count" than to "cat"), one letter for another the dearest.
 */
#define COST_LEFT_OUT 3u
#define COST_TOO_MANY 4u
#define COST_WRONG    7u
#define COST_LIMIT    4u /* for each three letters, and once more */

static u32 edit_distance(const char *want, u32 nw, const char *name, u32 nn)
{
	u32 row[128];

	for (u32 j = 0; j <= nn; j++)
		row[j] = j * COST_LEFT_OUT;
	for (u32 i = 1; i <= nw; i++) {
		u32 diagonal = row[0];

		row[0] = i * COST_TOO_MANY;
		for (u32 j = 1; j <= nn; j++) {
			u32 both = diagonal + (want[i - 1] == name[j - 1] ? 0 : COST_WRONG);

			diagonal = row[j];
			row[j] = MIN(both, MIN(row[j] + COST_TOO_MANY, row[j - 1] + COST_LEFT_OUT));
		}
	}
	return row[nn];
}

void near_offer(struct near *n, const char *name)
{
	size_t na = strlen(n->want), nb = strlen(name);
	u32 d;

	if (na > 127 || nb > 127 || nb == 0)
		return;
	d = edit_distance(n->want, (u32)na, name, (u32)nb);
	if (d < n->distance) {
		n->distance = d;
		snprintf(n->best, sizeof(n->best), "%s", name);
	}
}

const char *near_best(const struct near *n)
{
	u32 limit = ((u32)strlen(n->want) / 3 + 1) * COST_LIMIT;

	return n->best[0] && n->distance <= limit ? n->best : NULL;
}
