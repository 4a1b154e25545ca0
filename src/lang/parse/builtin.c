/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names the language knows, as two tables. What a name means is elsewhere: its type in
 * infer, its instructions in gen. The tables are short, so looking a name up is a scan.
 */
#include "lang/parse/builtin.h"

#include "lang/parse/stdlib.h"

/* By id. */
static const struct builtin builtins[] = {
#define V(id, name, type, read, text) { name, BUILTIN_##id, text },
	VARIABLES(V)
#undef V
};

/* A format and up to 127 values. */
#define FORMAT_MAX 128

enum what {
	VALUE,
	STATEMENT,    /* a bit */
	UNSAFE_VALUE, /* a bit */
	UNSAFE_STATEMENT = STATEMENT | UNSAFE_VALUE,
};

/* By id. */
static const struct func funcs[] = {
#define F(id, name, least, most, what, rule, emit, args, text)                                     \
	{ name,                                                                                    \
	  FUNC_##id,                                                                               \
	  least,                                                                                   \
	  most,                                                                                    \
	  .no_value = (what)&STATEMENT,                                                            \
	  .unsafe = ((what)&UNSAFE_VALUE) != 0,                                                    \
	  .usage = args,                                                                           \
	  .help = text },
#define A(id, name, least, most, args, text)                                                       \
	{ name, FUNC_##id, least, most, .agg = true, .usage = args, .help = text },
	FUNCTIONS(F) AGGREGATIONS(A)
#undef F
#undef A
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

const struct func *func_find(struct str name)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		if (str_is_row(name, funcs[i].name))
			return &funcs[i];
	return NULL;
}

const struct builtin *builtin_at(u32 i)
{
	return i < N_BUILTINS ? &builtins[i] : NULL;
}

const struct func *func_at(u32 i)
{
	return i < N_FUNCS ? &funcs[i] : NULL;
}

static bool is_listed(struct str name, const char *const *list)
{
	while (*list)
		if (str_is(name, *list++))
			return true;
	return false;
}

bool func_absent(struct str name)
{
	static const char *const names[] = { "skboutput", NULL };

	return is_listed(name, names);
}

void builtin_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++)
		near_offer(n, builtins[i].name);
}

void func_offer(struct near *n)
{
	for (u32 i = 0; i < ARRAY_SIZE(funcs); i++)
		near_offer(n, funcs[i].name);
	stdlib_offer(n);
}
