/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of integer macros.
 *
 * The one idea: all names are one piece of read-only memory and the table holds offsets into it,
 * so that it needs no relocation at start and costs nothing until a script asks for a name.
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

/* Two tables, where rows of both would be six bytes of padding each. */
static const u16 offsets[] = {
#define X(name, value) offsetof(struct texts, t_##name),
#include "lang/infer/constants_table.h"
#undef X
};

static const s64 values[] = {
#define X(name, value) value,
#include "lang/infer/constants_table.h"
#undef X
};

const char *constants_name(u32 i)
{
	return i < ARRAY_SIZE(offsets) ? (const char *)&texts + offsets[i] : NULL;
}

static int compare(struct str a, const char *b)
{
	int c = strncmp(a.p, b, a.n);

	return c || !b[a.n] ? c : -1;
}

bool constants_find(struct str name, s64 *value)
{
	u32 from = 0, to = ARRAY_SIZE(offsets);

	while (name.n && from < to) {
		u32 middle = from + (to - from) / 2;
		int c = compare(name, constants_name(middle));

		if (!c) {
			*value = values[middle];
			return true;
		}
		if (c < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}
