/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of integer macros.
 *
 * The one idea: all names are one piece of read-only memory and rows hold offsets into it, so that
 * the table needs no relocation at start and costs nothing until a script asks for a name.
 */
#include "lang/infer/constants.h"

#include <stddef.h>
#include <string.h>

static const struct texts {
#define X(name, value) char t_##name[sizeof(#name)];
#include "lang/infer/constants_table.h"
#undef X
} texts = {
#define X(name, value) #name,
#include "lang/infer/constants_table.h"
#undef X
};

static const struct {
	u16 off;
	s64 value;
} rows[] = {
#define X(name, value) { offsetof(struct texts, t_##name), value },
#include "lang/infer/constants_table.h"
#undef X
};

const char *constants_name(u32 i)
{
	return i < ARRAY_SIZE(rows) ? (const char *)&texts + rows[i].off : NULL;
}

static int compare(struct str a, const char *b)
{
	int c = strncmp(a.p, b, a.n);

	return c || !b[a.n] ? c : -1;
}

bool constants_find(struct str name, s64 *value)
{
	u32 from = 0, to = ARRAY_SIZE(rows);

	while (name.n && from < to) {
		u32 middle = from + (to - from) / 2;
		int c = compare(name, constants_name(middle));

		if (!c) {
			*value = rows[middle].value;
			return true;
		}
		if (c < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}
