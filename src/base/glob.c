/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wildcards, as in a shell: one pass, and back to the last '*' where the text does not go on. */
#include "base/glob.h"

#include <string.h>

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
