/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The variables that every script has, as a table. What one means is elsewhere: its type in infer,
 * its instructions in gen. The table is short, so looking a name up is a scan.
 */
#include "lang/parse/builtin.h"

/* By id. */
static const struct builtin builtins[] = {
#define V(id, name, type, read, text) { name, BUILTIN_##id, text },
	VARIABLES(V)
#undef V
};

s32 builtin_arg(struct str name)
{
	s32 n = 0;

	if (!str_starts(name, "arg") || name.n < 4 || name.n > 6)
		return -1;
	if (name.p[3] == '0' && name.n > 4)
		return -1;
	for (u32 i = 3; i < name.n; i++) {
		if (name.p[i] < '0' || name.p[i] > '9')
			return -1;
		n = n * 10 + (name.p[i] - '0');
	}
	return n <= 255 ? n : -1;
}

const struct builtin *builtin_find(struct str name)
{
	if (builtin_arg(name) >= 0)
		name = STR("arg0");
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++)
		if (str_is_row(name, builtins[i].name))
			return &builtins[i];
	return NULL;
}

const struct builtin *builtin_at(u32 i)
{
	return i < N_BUILTINS ? &builtins[i] : NULL;
}

void builtin_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++)
		near_offer(n, builtins[i].name);
}
