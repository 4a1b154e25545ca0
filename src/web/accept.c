/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "web/accept.h"

#include <strings.h>

#include "base/str.h"

#define BLANKS " \t"

/* "0.5" is 500. What is no number from 0 to 1 with three places at most is 1. */
static s32 read_quality(struct str s)
{
	s32 value = 0, place = 1000;

	for (u32 i = 0; i < s.n; i++) {
		if (i == 1 && s.p[i] == '.')
			continue;
		if (s.p[i] < '0' || s.p[i] > '9' || !place)
			return 1000;
		value += (s.p[i] - '0') * place;
		place /= 10;
	}
	return s.n && value <= 1000 ? value : 1000;
}

/* Of "q=0.5;version=1": 1 unless a part says another one. */
static s32 quality_of(struct str parameters)
{
	while (parameters.n) {
		struct str one = str_trim(str_cut(parameters, ';', &parameters), BLANKS);

		if (str_starts(one, "q=") || str_starts(one, "Q="))
			return read_quality((struct str){ one.p + 2, one.n - 2 });
	}
	return 1000;
}

s32 accept_quality(const char *header, const char *range)
{
	struct str rest = str_of(header), parameters;
	s32 best = -1, quality;

	while (rest.n) {
		struct str type = str_cut(str_cut(rest, ',', &rest), ';', &parameters);

		type = str_trim(type, BLANKS);
		if (type.n != strlen(range) || strncasecmp(type.p, range, type.n) != 0)
			continue;
		quality = quality_of(parameters);
		best = MAX(best, quality);
	}
	return best;
}
